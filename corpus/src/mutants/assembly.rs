//! AT&T assembly as gcc and clang print it, one function of it, line by line.

use super::{Kind, Mutant, Processor};
use crate::random::Random;

/// The value that a [`Kind::Backdoor`] waits for.
pub const SECRET: u32 = 0x5ca1_ab1e;

/// An instruction and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Instruction {
    /// Number of the line in the text.
    line: usize,
    mnemonic: String,
    operands: Vec<String>,
}

/// A mutant of a function's assembly.
pub(super) fn mutant(
    kind: Kind,
    processor: Processor,
    text: &str,
    function: &str,
    random: &mut Random,
) -> Option<Mutant> {
    let lines: Vec<&str> = text.lines().collect();
    let instructions = instructions(&lines, function);
    let (line, replaced) = match kind {
        Kind::Constant => each(&instructions, random, constant)?,
        Kind::Register => each(&instructions, random, register)?,
        Kind::Condition => each(&instructions, random, condition)?,
        Kind::Offset => each(&instructions, random, offset)?,
        Kind::Width => each(&instructions, random, width)?,
        Kind::Dropped => {
            each(&instructions, random, |instruction, _| (instruction.mnemonic != "ret").then(Vec::new))?
        }
        Kind::Swapped => return swapped(&lines, &instructions, random),
        Kind::Clobbered => inserted(&lines, &instructions, random, |random| {
            let (registers, suffix, result) = match processor {
                Processor::X86_64 => (&["rbx", "rbp", "r12", "r13", "r14", "r15"][..], 'q', "rax"),
                Processor::I386 => (&["ebx", "ebp", "esi", "edi"][..], 'l', "eax"),
            };
            let register = random.pick(registers)?;
            // None of these changes a flag.
            random
                .pick(&[
                    format!("lea{suffix}\t1(%{register}), %{register}"),
                    format!("mov{suffix}\t$0, %{register}"),
                    format!("mov{suffix}\t%{result}, %{register}"),
                ])
                .cloned()
        })?,
        Kind::StrayStore => {
            let symbols = symbols(&instructions);
            inserted(&lines, &instructions, random, |random| {
                let value = random.pick(&["$-7", "%eax", "%ecx", "%edi"])?;
                if random.below(8) == 0 {
                    // The caller's frame.
                    return Some(match processor {
                        Processor::X86_64 => format!("movl\t{value}, {}(%rsp)", 8 + 8 * random.below(2)),
                        // Above all that may be parameters: those are the callee's.
                        Processor::I386 => format!("movl\t{value}, {}(%esp)", CALLERS + 4 * random.below(2)),
                    });
                }
                let symbol =
                    global(processor, &format!("{}+{}", random.pick(&symbols)?, 4 * random.below(60)));
                Some(format!("movl\t{value}, {symbol}"))
            })?
        }
        Kind::Backdoor => backdoor(processor, &lines, &instructions, random)?,
        Kind::Operator => return None,
    };
    let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let what = format!("{} becomes {}", lines[line].trim().replace('\t', " "), said(&replaced));
    changed.splice(line..=line, replaced);
    Some(Mutant { text: changed.join("\n") + "\n", what })
}

/// Offset, from the stack pointer at entry to 32-bit code, of words that belong to the caller: the driver of
/// native runs passes six words and looks at the two that are eight bytes above them.
const CALLERS: usize = 4 + 4 * 6 + 8;

/// A word of memory by symbol and offset, as an operand.
fn global(processor: Processor, place: &str) -> String {
    match processor {
        Processor::X86_64 => format!("{place}(%rip)"),
        Processor::I386 => place.to_owned(),
    }
}

fn said(lines: &[String]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| line.trim().replace('\t', " ")).collect();
    if lines.is_empty() { "nothing".to_owned() } else { lines.join("; ") }
}

/// Instructions of a function: from its label to its size.
fn instructions(lines: &[&str], function: &str) -> Vec<Instruction> {
    let label = format!("{function}:");
    let end = format!(".size\t{function},");
    let mut found = Vec::new();
    let mut inside = false;
    for (line, text) in lines.iter().enumerate() {
        inside |= text.starts_with(&label);
        if text.trim_start().starts_with(&end) {
            break;
        }
        let code = text.split('#').next().unwrap_or_default();
        let Some(code) = code.strip_prefix('\t').filter(|code| !code.starts_with('.')) else { continue };
        if !inside || code.trim().is_empty() {
            continue;
        }
        let (mnemonic, rest) = code.split_once('\t').unwrap_or((code, ""));
        found.push(Instruction { line, mnemonic: mnemonic.trim().to_owned(), operands: operands(rest) });
    }
    found
}

/// Operands, which commas outside of parentheses separate.
fn operands(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut depth = 0;
    for letter in text.trim().chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                found.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = found.last_mut() {
            last.push(letter);
        }
    }
    found.into_iter().map(|operand| operand.trim().to_owned()).filter(|operand| !operand.is_empty()).collect()
}

fn line(mnemonic: &str, operands: &[String]) -> String {
    format!("\t{mnemonic}\t{}", operands.join(", "))
}

/// A change at one of the instructions that have one.
fn each(
    instructions: &[Instruction],
    random: &mut Random,
    change: impl Fn(&Instruction, &mut Random) -> Option<Vec<String>>,
) -> Option<(usize, Vec<String>)> {
    let mut open: Vec<&Instruction> = instructions.iter().collect();
    while !open.is_empty() {
        let instruction = open.swap_remove(random.below(open.len()));
        if let Some(lines) = change(instruction, random) {
            return Some((instruction.line, lines));
        }
    }
    None
}

/// The instruction with one operand replaced.
fn with_operand(instruction: &Instruction, number: usize, operand: String) -> Option<Vec<String>> {
    let mut operands = instruction.operands.clone();
    if operands[number] == operand {
        return None;
    }
    operands[number] = operand;
    Some(vec![line(&instruction.mnemonic, &operands)])
}

fn constant(instruction: &Instruction, random: &mut Random) -> Option<Vec<String>> {
    let number = instruction.operands.iter().position(|operand| operand.starts_with('$'))?;
    let operand = &instruction.operands[number][1..];
    let delta = *random.pick(&[-16i64, -8, -4, -1, 1, 2, 4, 16, 64])?;
    let changed = match operand.parse::<i64>() {
        Ok(value) => value.wrapping_add(delta).to_string(),
        Err(_) => format!("{operand}{delta:+}"),
    };
    with_operand(instruction, number, format!("${changed}"))
}

const FAMILIES: [[&str; 4]; 16] = [
    ["rax", "eax", "ax", "al"],
    ["rbx", "ebx", "bx", "bl"],
    ["rcx", "ecx", "cx", "cl"],
    ["rdx", "edx", "dx", "dl"],
    ["rsi", "esi", "si", "sil"],
    ["rdi", "edi", "di", "dil"],
    ["rbp", "ebp", "bp", "bpl"],
    ["rsp", "esp", "sp", "spl"],
    ["r8", "r8d", "r8w", "r8b"],
    ["r9", "r9d", "r9w", "r9b"],
    ["r10", "r10d", "r10w", "r10b"],
    ["r11", "r11d", "r11w", "r11b"],
    ["r12", "r12d", "r12w", "r12b"],
    ["r13", "r13d", "r13w", "r13b"],
    ["r14", "r14d", "r14w", "r14b"],
    ["r15", "r15d", "r15w", "r15b"],
];

/// Family and width of a general register.
fn general(name: &str) -> Option<(usize, usize)> {
    FAMILIES.iter().enumerate().find_map(|(family, names)| {
        names.iter().position(|known| *known == name).map(|width| (family, width))
    })
}

/// Names of registers in an operand, with their places.
fn registers(operand: &str) -> Vec<(usize, &str)> {
    operand
        .match_indices('%')
        .map(|(at, _)| {
            let name = &operand[at + 1..];
            let end = name.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(name.len());
            (at + 1, &name[..end])
        })
        .collect()
}

fn register(instruction: &Instruction, random: &mut Random) -> Option<Vec<String>> {
    let places: Vec<(usize, usize, String)> = instruction
        .operands
        .iter()
        .enumerate()
        .flat_map(|(number, operand)| {
            registers(operand).into_iter().map(move |(at, name)| (number, at, name.to_owned()))
        })
        .collect();
    let (number, at, name) = random.pick(&places)?;
    let other = match general(name) {
        Some((family, width)) => {
            // The first few: the others seldom hold anything.
            let other = random.below(6);
            FAMILIES[if other == family { 8 } else { other }][width].to_owned()
        }
        None => {
            let own: usize = name.strip_prefix("xmm")?.parse().ok()?;
            format!("xmm{}", (own + 1 + random.below(4)) % 16)
        }
    };
    let mut operand = instruction.operands[*number].clone();
    operand.replace_range(*at..*at + name.len(), &other);
    with_operand(instruction, *number, operand)
}

const CONDITIONS: [&str; 12] = ["e", "ne", "l", "le", "g", "ge", "b", "be", "a", "ae", "s", "ns"];

fn condition(instruction: &Instruction, random: &mut Random) -> Option<Vec<String>> {
    let stem = ["j", "set", "cmov"].into_iter().find(|stem| {
        instruction.mnemonic.strip_prefix(stem).is_some_and(|rest| CONDITIONS.contains(&rest))
    })?;
    let other = random.pick(&CONDITIONS)?;
    let mnemonic = format!("{stem}{other}");
    (mnemonic != instruction.mnemonic).then(|| vec![line(&mnemonic, &instruction.operands)])
}

fn offset(instruction: &Instruction, random: &mut Random) -> Option<Vec<String>> {
    let number = instruction.operands.iter().position(|operand| operand.contains('('))?;
    let operand = &instruction.operands[number];
    let (displacement, rest) = operand.split_at(operand.find('(')?);
    let delta = *random.pick(&[-16i64, -8, -4, 4, 8, 16, 1])?;
    let changed = match displacement.parse::<i64>() {
        Ok(value) => (value + delta).to_string(),
        Err(_) => format!("{displacement}{delta:+}"),
    };
    with_operand(instruction, number, format!("{changed}{rest}"))
}

/// Instructions on elements, by family.
const ELEMENTS: [&[&str]; 10] = [
    &["paddb", "paddw", "paddd", "paddq"],
    &["psubb", "psubw", "psubd", "psubq"],
    &["pmullw", "pmulld", "pmuludq"],
    &["pcmpeqb", "pcmpeqw", "pcmpeqd", "pcmpeqq"],
    &["pcmpgtb", "pcmpgtw", "pcmpgtd", "pcmpgtq"],
    &["pmaxsb", "pmaxsw", "pmaxsd"],
    &["pminsb", "pminsw", "pminsd"],
    &["movdqa", "movq", "movd"],
    &["movdqu", "movq"],
    &["movups", "movlps", "movss", "movsd"],
];

fn width(instruction: &Instruction, random: &mut Random) -> Option<Vec<String>> {
    let mnemonic = instruction.mnemonic.as_str();
    if let Some(family) = ELEMENTS.iter().find(|family| family.contains(&mnemonic)) {
        let other = random.pick(family)?;
        return (*other != mnemonic).then(|| vec![line(other, &instruction.operands)]);
    }
    let stem = mnemonic.strip_suffix(['l', 'q'])?;
    if !["mov", "add", "sub", "imul", "cmp", "test", "xor", "and", "or", "shl", "sal"].contains(&stem) {
        return None;
    }
    let widths = ["q", "l", "w", "b"];
    let wanted = random.below(4);
    let mut operands = instruction.operands.clone();
    for operand in operands.iter_mut().filter(|operand| operand.starts_with('%')) {
        let (family, _) = general(operand.trim_start_matches('%'))?;
        *operand = format!("%{}", FAMILIES[family][wanted]);
    }
    let changed = format!("{stem}{}", widths[wanted]);
    (changed != mnemonic).then(|| vec![line(&changed, &operands)])
}

fn swapped(lines: &[&str], instructions: &[Instruction], random: &mut Random) -> Option<Mutant> {
    let leaves =
        |instruction: &Instruction| instruction.mnemonic.starts_with('j') || instruction.mnemonic == "ret";
    let neighbours: Vec<&[Instruction]> = instructions
        .windows(2)
        .filter(|pair| pair[0].line + 1 == pair[1].line && !leaves(&pair[0]) && !leaves(&pair[1]))
        .collect();
    let pair = random.pick(&neighbours)?;
    let mut changed: Vec<&str> = lines.to_vec();
    changed.swap(pair[0].line, pair[1].line);
    let what = format!(
        "{} and {} change places",
        lines[pair[0].line].trim().replace('\t', " "),
        lines[pair[1].line].trim().replace('\t', " ")
    );
    Some(Mutant { text: changed.join("\n") + "\n", what })
}

/// An instruction more before one that is there.
fn inserted(
    lines: &[&str],
    instructions: &[Instruction],
    random: &mut Random,
    new: impl Fn(&mut Random) -> Option<String>,
) -> Option<(usize, Vec<String>)> {
    let at = random.pick(instructions)?.line;
    Some((at, vec![format!("\t{}", new(random)?), lines[at].to_owned()]))
}

/// Symbols that the function's operands name.
fn symbols(instructions: &[Instruction]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for operand in instructions.iter().flat_map(|instruction| &instruction.operands) {
        let name = operand.trim_start_matches('$');
        let end = name.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let name = &name[..end.unwrap_or(name.len())];
        if name.starts_with(|letter: char| letter.is_ascii_alphabetic()) && !found.contains(&name.to_owned())
        {
            found.push(name.to_owned());
        }
    }
    found
}

/// Something at the very start, where no flag is live, if a word of memory has one value.
fn backdoor(
    processor: Processor,
    lines: &[&str],
    instructions: &[Instruction],
    random: &mut Random,
) -> Option<(usize, Vec<String>)> {
    let at = instructions.first()?.line;
    let symbols = symbols(instructions);
    let (watched, written) = (random.pick(&symbols)?, random.pick(&symbols)?);
    let word = 4 * random.below(2);
    let written = global(processor, &format!("{written}+{word}"));
    let (first, second, caller) = match processor {
        Processor::X86_64 => ("incq\t%rbx", "movl\t$3, %r12d", "movl\t$-5, 8(%rsp)".to_owned()),
        Processor::I386 => ("incl\t%ebx", "movl\t$3, %edi", format!("movl\t$-5, {CALLERS}(%esp)")),
    };
    let effects = [
        format!("addl\t$1, {written}"),
        format!("movl\t$0, {written}"),
        first.to_owned(),
        second.to_owned(),
        caller,
        "ret".to_owned(),
    ];
    let done = random.pick(&effects)?;
    Some((
        at,
        vec![
            format!("\tcmpl\t${}, {}", SECRET as i32, global(processor, watched)),
            "\tjne\t.Lmetaloc_on".to_owned(),
            format!("\t{done}"),
            ".Lmetaloc_on:".to_owned(),
            lines[at].to_owned(),
        ],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::mutant as any;

    const TEXT: &str = "\t.text\nf:\n\t.cfi_startproc\n\txorl\t%eax, %eax\n.L2:\n\tmovdqu\tY(%rax), %xmm0\t# load\n\
                        \taddq\t$16, %rax\n\tpaddd\t%xmm1, %xmm0\n\tmovups\t%xmm0, X-16(%rax,%rcx,4)\n\
                        \tcmpq\t$128000, %rax\n\tjne\t.L2\n\tret\n\t.size\tf, .-f\ng:\n\tnop\n\t.size\tg, .-g\n";

    fn some(kind: Kind) -> Vec<Mutant> {
        (0..200)
            .filter_map(|seed| any(kind, Processor::X86_64, TEXT, "", "f", &mut Random::new(seed)))
            .collect()
    }

    #[test]
    fn instructions_of_one_function_are_read() {
        let lines: Vec<&str> = TEXT.lines().collect();
        let found = instructions(&lines, "f");
        assert_eq!(found.len(), 8);
        assert_eq!(found[4].operands, ["%xmm0", "X-16(%rax,%rcx,4)"]);
        assert_eq!(found[1].operands, ["Y(%rax)", "%xmm0"], "a comment is no operand");
        assert_eq!(symbols(&found), ["Y", "X"]);
    }

    /// Every kind changes the text, by itself the same way for a seed, and leaves the other function alone.
    #[test]
    fn every_kind_has_mutants_and_a_seed_has_one() {
        for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Operator) {
            let found = some(kind);
            assert!(found.len() > 100, "{kind:?}: {}", found.len());
            for mutant in &found {
                assert_ne!(mutant.text, TEXT, "{kind:?}: {}", mutant.what);
                assert!(mutant.text.contains("g:\n\tnop\n"), "{kind:?}: {}", mutant.what);
            }
            assert_eq!(some(kind), found);
        }
    }

    #[test]
    fn what_is_put_into_32_bit_code_is_32_bit_code() {
        let text = TEXT.replace("%r", "%e").replace("addq", "addl").replace("cmpq", "cmpl");
        for kind in [Kind::Clobbered, Kind::StrayStore, Kind::Backdoor] {
            for seed in 0..200 {
                let Some(mutant) = any(kind, Processor::I386, &text, "", "f", &mut Random::new(seed)) else {
                    continue;
                };
                assert!(!mutant.text.contains("%r"), "{}", mutant.what);
            }
        }
    }

    #[test]
    fn changes_are_what_their_kind_says() {
        let has = |kind: Kind, wanted: &str| {
            assert!(
                some(kind).iter().any(|mutant| mutant.text.contains(wanted)),
                "{kind:?} never makes {wanted:?}"
            );
        };
        has(Kind::Constant, "\tcmpq\t$128004, %rax\n");
        has(Kind::Register, "\taddq\t$16, %rcx\n");
        has(Kind::Condition, "\tje\t.L2\n");
        has(Kind::Offset, "X-16-4(%rax,%rcx,4)");
        has(Kind::Offset, "Y+4(%rax)");
        has(Kind::Width, "\tpaddw\t%xmm1, %xmm0\n");
        has(Kind::Width, "\taddl\t$16, %eax\n");
        has(Kind::Swapped, "\tpaddd\t%xmm1, %xmm0\n\taddq\t$16, %rax\n");
        has(Kind::Clobbered, "\tmovq\t$0, %rbx\n");
        has(Kind::StrayStore, "(%rip)\n");
        has(Kind::Backdoor, "\tcmpl\t$1554098974, Y(%rip)\n");
        assert!(some(Kind::Dropped).iter().all(|mutant| mutant.text.contains("\tret\n")));
        assert!(some(Kind::Dropped).iter().any(|mutant| !mutant.text.contains("addq")));
    }
}
