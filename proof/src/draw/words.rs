//! What a proof says of nodes and edges, as lines of text.

use crate::{
    Edge, Extend, Function, MachinePlace, Node, NodeRole, Operation, PathSet, Paths, Place, Predicate,
    Region, Relation, Side, SourcePlace, Sum, SumTerm, Term,
};

/// What stands above the picture of a function.
pub(super) fn title(function: &Function) -> String {
    let code = &function.machine;
    format!(
        "{}: {} {:#x} to {:#x}, {} nodes, {} edges, {} obligations",
        function.name,
        code.section,
        code.low_pc,
        code.high_pc,
        function.nodes.len(),
        function.edges.len(),
        function.obligations.len()
    )
}

/// A node: where both programs are, then what holds there.
pub(super) fn node_lines(function: &Function, node: &Node) -> Vec<String> {
    let role = match node.role {
        NodeRole::Entry => "entry",
        NodeRole::Inner => "node",
        NodeRole::Exit => "exit",
    };
    let source = function.source_points.get(node.source_point as usize);
    let location = source.and_then(|point| point.location.as_ref());
    let line = location.map_or(String::new(), |at| format!(", line {}:{}", at.line, at.column));
    let mut lines = vec![format!(
        "{role} {}: {}{line} | {}",
        node.id,
        source_point(function, node.source_point),
        machine_point(function, node.machine_point)
    )];
    let (mut same, mut kept) = (Vec::new(), Vec::new());
    for invariant in &node.invariants {
        match invariant {
            Predicate::MemoryEqual { region, except } if except.is_empty() => same.push(region_name(region)),
            Predicate::Zero { sum } => match unchanged(sum) {
                Some(name) => kept.push(name),
                None => lines.push(zero(function, sum)),
            },
            other => lines.push(predicate(function, other)),
        }
    }
    if !kept.is_empty() {
        lines.push(format!("as at entry: {}", kept.join(", ")));
    }
    if !same.is_empty() {
        lines.push(format!("same memory: {}", same.join(", ")));
    }
    lines
}

/// An edge: what each side does on it.
pub(super) fn edge_lines(function: &Function, edge: &Edge) -> Vec<String> {
    vec![
        format!("to {} | source: {}", edge.to, path_set(&edge.source, |point| source_point(function, point))),
        format!("     machine: {}", path_set(&edge.machine, |point| machine_point(function, point))),
    ]
}

fn source_point(function: &Function, number: u32) -> String {
    match function.source_points.get(number as usize).map(|point| &point.place) {
        Some(SourcePlace::Instruction { block, instruction }) => format!("%{block}+{instruction}"),
        Some(SourcePlace::Exit) => "returned".to_owned(),
        None => "?".to_owned(),
    }
}

fn machine_point(function: &Function, number: u32) -> String {
    match function.machine_points.get(number as usize).map(|point| &point.place) {
        Some(MachinePlace::Instruction { pc }) => format!("{pc:#x}"),
        Some(MachinePlace::Exit) => "returned".to_owned(),
        None => "?".to_owned(),
    }
}

/// How many paths, and what they go through.
fn path_set(set: &PathSet, name: impl Fn(u32) -> String) -> String {
    let count = set.paths.count();
    if count == 0 || set.paths == Paths::Empty {
        return "stays".to_owned();
    }
    let rounds = if set.mu > 1 { format!(", at most {} rounds", set.mu) } else { String::new() };
    let paths = if count == 1 { String::new() } else { format!("{count} paths{rounds}: ") };
    format!("{paths}{}", shorter(&through(&set.paths, &name)))
}

/// Points in order; alternatives in braces.
fn through(paths: &Paths, name: &impl Fn(u32) -> String) -> String {
    match paths {
        Paths::Empty => String::new(),
        Paths::Step(from, to) => format!("{} \u{2192} {}", name(*from), name(*to)),
        Paths::Series(parts) => {
            // Where one part ends the next begins: the point is said once.
            let mut text = String::new();
            for part in parts {
                let next = through(part, name);
                match (text.is_empty(), part) {
                    (true, _) => text = next,
                    (false, Paths::Step(_, to)) => text += &format!(" \u{2192} {}", name(*to)),
                    (false, _) => text += &format!("; {next}"),
                }
            }
            text
        }
        Paths::Parallel(branches) => {
            let texts: Vec<String> = branches.iter().map(|branch| through(branch, name)).collect();
            format!("{{{}}}", texts.join(" | "))
        }
        Paths::Repeat { times, body } => format!("{times} \u{d7} ({})", through(body, name)),
    }
}

/// A long path with its middle left out: its length is what matters then.
fn shorter(text: &str) -> String {
    const MOST: usize = 76;
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= MOST {
        return text.to_owned();
    }
    let (head, tail) = (&letters[..MOST / 2], &letters[letters.len() - MOST / 3..]);
    format!("{} \u{2026} {}", head.iter().collect::<String>(), tail.iter().collect::<String>())
}

fn predicate(function: &Function, predicate: &Predicate) -> String {
    match predicate {
        Predicate::Zero { sum } => zero(function, sum),
        Predicate::Compare { relation, left, right } => {
            let (sign, order) = match relation {
                Relation::Ult => ("<", "unsigned"),
                Relation::Ule => ("\u{2264}", "unsigned"),
                Relation::Slt => ("<", "signed"),
                Relation::Sle => ("\u{2264}", "signed"),
            };
            format!("{} {sign} {} ({order})", side(function, left), side(function, right))
        }
        Predicate::MemoryEqual { region, except } => {
            let gaps: Vec<String> =
                except.iter().map(|(offset, length)| format!("[{offset}, {})", offset + length)).collect();
            format!("same memory: {} but for {}", region_name(region), gaps.join(", "))
        }
    }
}

fn region_name(region: &Region) -> String {
    match region {
        Region::Global { symbol } => symbol.clone(),
        Region::Stack => "the frame".to_owned(),
        Region::Rest => "the rest".to_owned(),
    }
}

/// The register or slot that is as it was at entry, if that is what the sum says.
fn unchanged(sum: &Sum) -> Option<String> {
    let [left, right] = sum.terms.as_slice() else { return None };
    let opposite = left.coefficient.0.wrapping_add(right.coefficient.0) & mask(sum.width_bits) == 0;
    let (now, then) = match (&left.term, &right.term) {
        (Term::Machine { place: now }, Term::Entry { place: then })
        | (Term::Entry { place: then }, Term::Machine { place: now }) => (now, then),
        _ => return None,
    };
    let unit = left.coefficient.0 == 1 || right.coefficient.0 == 1;
    (opposite && unit && sum.constant.0 == 0 && now == then).then(|| place(now))
}

/// `sum = 0` with one term, the machine's if it has one, on the left.
fn zero(function: &Function, sum: &Sum) -> String {
    let minus_one = mask(sum.width_bits);
    let unit = |term: &&SumTerm| term.coefficient.0 == 1 || term.coefficient.0 == minus_one;
    let machine = |term: &&SumTerm| matches!(term.term, Term::Machine { .. });
    let units = || sum.terms.iter().filter(unit);
    if let ([only], 0) = (sum.terms.as_slice(), sum.constant.0)
        && only.coefficient.0.is_power_of_two()
        && only.coefficient.0 != 1
    {
        let of = 1u128 << (sum.width_bits - only.coefficient.0.trailing_zeros());
        return format!("{} is a multiple of {of}", term(function, only));
    }
    let Some(defined) = units().find(machine).or_else(|| units().next()) else {
        return format!("{} = 0 mod 2^{}", side(function, sum), sum.width_bits);
    };
    // With coefficient 1 the others change sides; with -1 they are there already.
    let sign = if defined.coefficient.0 == 1 { minus_one } else { 1 };
    let moved = |value: u128| value.wrapping_mul(sign) & minus_one;
    let mut rest = sum.clone();
    rest.terms.retain(|term| term != defined);
    rest.terms.iter_mut().for_each(|term| term.coefficient.0 = moved(term.coefficient.0));
    rest.constant.0 = moved(sum.constant.0);
    format!("{} = {}", term(function, defined), side(function, &rest))
}

fn side(function: &Function, sum: &Sum) -> String {
    let mut text = String::new();
    for part in &sum.terms {
        let factor = signed(part.coefficient.0, sum.width_bits);
        let size = factor.unsigned_abs();
        let factor_text = if size == 1 { String::new() } else { format!("{size}\u{b7}") };
        text += match (text.is_empty(), factor < 0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        text += &format!("{factor_text}{}", term(function, part));
    }
    let constant = signed(sum.constant.0, sum.width_bits);
    match (text.is_empty(), constant) {
        (true, constant) => constant.to_string(),
        (false, 0) => text,
        (false, constant) if constant < 0 => format!("{text} - {}", constant.unsigned_abs()),
        (false, constant) => format!("{text} + {constant}"),
    }
}

fn term(function: &Function, part: &SumTerm) -> String {
    let text = whole(function, &part.term);
    match part.extend {
        Extend::None => text,
        Extend::Zero => format!("zext({text})"),
        Extend::Sign => format!("sext({text})"),
        Extend::Truncate => format!("trunc({text})"),
    }
}

fn whole(function: &Function, term: &Term) -> String {
    match term {
        Term::Machine { place: of } => place(of),
        Term::Entry { place: of } => format!("{} at entry", place(of)),
        Term::Address { symbol } => format!("&{symbol}"),
        Term::Global { side, symbol, offset_bytes, width_bits } => {
            let whose = if *side == Side::Source { "" } else { "machine's " };
            format!("{whose}{symbol}[{offset_bytes}:{}]", width_bits / 8)
        }
        Term::Element { side, symbol, value: index, stride_bytes, row, offset_bytes, width_bits } => {
            let whose = if *side == Side::Source { "" } else { "machine's " };
            let index = value(function, *index);
            let row = row.as_ref().map_or(String::new(), |row| {
                format!("{}*{} + ", row.stride_bytes, value(function, row.value))
            });
            format!("{whose}{symbol}[{row}{stride_bytes}*{index}{offset_bytes:+}:{}]", width_bits / 8)
        }
        Term::Value { value: number } => value(function, *number),
        Term::Fold { operation, of, width_bits } => {
            let parts: Vec<String> = of.iter().map(|part| extended(function, part, *width_bits)).collect();
            match operation {
                Operation::Product => parts.join("\u{b7}"),
                Operation::Greatest => format!("max({})", parts.join(", ")),
                Operation::Least => format!("min({})", parts.join(", ")),
            }
        }
    }
}

/// A part of what is taken together, its sign above if it is narrower.
fn extended(function: &Function, part: &Term, width_bits: u32) -> String {
    let part_bits = match part {
        Term::Value { value } => function.values.get(*value as usize).map(|value| value.width_bits),
        Term::Machine { place } => Some(place.width_bits()),
        _ => None,
    };
    let text = whole(function, part);
    if part_bits.is_some_and(|bits| bits < width_bits) { format!("sext({text})") } else { text }
}

fn value(function: &Function, number: u32) -> String {
    match function.values.get(number as usize) {
        Some(value) => value.name.clone(),
        None => format!("value {number}"),
    }
}

fn place(place: &Place) -> String {
    match place {
        Place::Register { name, low_bit: 0, width_bits: 64 } => name.clone(),
        Place::Register { name, low_bit: 0, width_bits: 32 } if name.starts_with('e') => name.clone(),
        Place::Register { name, low_bit, width_bits } => {
            format!("{name}[{}:{low_bit}]", low_bit + width_bits - 1)
        }
        Place::StackSlot { offset_bytes: 0, .. } => "return address".to_owned(),
        Place::StackSlot { offset_bytes, width_bits } => {
            format!("frame{offset_bytes:+}:{}", width_bits / 8)
        }
    }
}

fn mask(width_bits: u32) -> u128 {
    u128::MAX >> (128 - width_bits.clamp(1, 128))
}

/// The representative of a residue that is nearest to 0.
fn signed(value: u128, width_bits: u32) -> i128 {
    let unused = 128 - width_bits.clamp(1, 128);
    ((value << unused) as i128) >> unused
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Word;

    fn register(name: &str, coefficient: u128) -> SumTerm {
        let place = Place::Register { name: name.to_owned(), low_bit: 0, width_bits: 32 };
        SumTerm { coefficient: Word(coefficient), term: Term::Machine { place }, extend: Extend::None }
    }

    fn function() -> Function {
        let text = include_bytes!("../../../regress/proofs/equal/s000-gcc12-nopic.json");
        crate::Proof::from_json(text).unwrap().functions[0].clone()
    }

    #[test]
    fn a_relation_is_solved_for_what_it_defines() {
        let function = function();
        let global = Term::Address { symbol: "X".to_owned() };
        let address = SumTerm { coefficient: Word(4), term: global, extend: Extend::None };
        let terms = vec![address, register("eax", mask(32))];
        let sum = Sum { width_bits: 32, terms, constant: Word(mask(32) - 15) };
        assert_eq!(zero(&function, &sum), "eax = 4\u{b7}&X - 16");
        let terms = vec![register("eax", 1), register("ecx", 2)];
        let sum = Sum { width_bits: 32, terms, constant: Word(3) };
        assert_eq!(zero(&function, &sum), "eax = -2\u{b7}ecx - 3");
        let sum = Sum { width_bits: 32, terms: vec![register("eax", 1 << 30)], constant: Word(0) };
        assert_eq!(zero(&function, &sum), "eax is a multiple of 4");
        let sum = Sum { width_bits: 32, terms: vec![register("eax", 6)], constant: Word(2) };
        assert_eq!(zero(&function, &sum), "6\u{b7}eax + 2 = 0 mod 2^32");
    }

    #[test]
    fn a_path_is_said_once_and_long_ones_are_cut() {
        let name = |point: u32| point.to_string();
        let body = Paths::Series(vec![Paths::Step(1, 2), Paths::Step(2, 1)]);
        assert_eq!(through(&body, &name), "1 \u{2192} 2 \u{2192} 1");
        let repeated = Paths::Repeat { times: 4, body: Box::new(body) };
        assert_eq!(through(&repeated, &name), "4 \u{d7} (1 \u{2192} 2 \u{2192} 1)");
        let long = Paths::Series((0..60).map(|point| Paths::Step(point, point + 1)).collect());
        assert!(shorter(&through(&long, &name)).chars().count() < 80);
    }
}
