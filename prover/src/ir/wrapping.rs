//! What `-fwrapv` says of addresses, for compilers that it says nothing to.
//!
//! In gcc (since 8) and in clang from 20 on `-fwrapv` is about numbers only: that the address of an element lies in its
//! array is still promised, unless there is `-fwrapv-pointer` as well. clang before 20 takes `-fwrapv` for both, and
//! makes no `inbounds` of the addresses of elements. So where `-fno-wrapv-pointer` is given too (as clang 20 spells
//! it), an older clang compiles without either flag, and the promise that sums, differences, products and shifts of
//! numbers do not overflow is dropped from what it makes. That this is all that the flag changes is a test over the
//! kernels (`tests/wrapping.rs`).

use std::borrow::Cow;

/// The first clang that knows `-fno-wrapv-pointer`.
const KNOWS_POINTERS: u32 = 20;

const POINTERS: &str = "-fno-wrapv-pointer";

/// Flags as a clang gets them, and whether the promises about numbers are to be dropped from what it makes.
pub(super) fn flags(major: u32, flags: &[String]) -> (Vec<String>, bool) {
    let last = |names: [&str; 2]| flags.iter().rfind(|flag| names.contains(&flag.as_str())).cloned();
    if major >= KNOWS_POINTERS || last([POINTERS, "-fwrapv-pointer"]).as_deref() != Some(POINTERS) {
        return (flags.to_vec(), false);
    }
    let wraps = last(["-fwrapv", "-fno-wrapv"]).as_deref() == Some("-fwrapv");
    let known = |flag: &&String| flag.as_str() != POINTERS && !(wraps && flag.as_str() == "-fwrapv");
    (flags.iter().filter(known).cloned().collect(), wraps)
}

/// A module in which numbers wrap around: no `nsw` and no `nuw` on arithmetic; those of addresses stay. What a call of
/// `llvm.abs` says of the least number goes, too.
pub(super) fn numbers_wrap(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| match line.split_once(" = ") {
        Some((result, operation)) if line.starts_with("  %") => match without_promise(operation) {
            Cow::Borrowed(_) => Cow::Borrowed(line),
            Cow::Owned(operation) => Cow::Owned(format!("{result} = {operation}")),
        },
        _ => Cow::Borrowed(line),
    });
    lines.collect()
}

/// The part of an instruction after its result.
fn without_promise(operation: &str) -> Cow<'_, str> {
    for opcode in ["add ", "sub ", "mul ", "shl "] {
        let Some(promises) = operation.strip_prefix(opcode) else { continue };
        let mut rest = promises;
        while let Some(further) = rest.strip_prefix("nsw ").or_else(|| rest.strip_prefix("nuw ")) {
            rest = further;
        }
        return match rest.len() == promises.len() {
            true => Cow::Borrowed(operation),
            false => Cow::Owned(format!("{opcode}{rest}")),
        };
    }
    if operation.contains("@llvm.abs.") && operation.contains(", i1 true)") {
        return Cow::Owned(operation.replacen(", i1 true)", ", i1 false)", 1));
    }
    Cow::Borrowed(operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn an_older_clang_gets_neither_flag() {
        let both = texts(&["-fwrapv", "-DN=3", POINTERS]);
        assert_eq!(flags(19, &both), (texts(&["-DN=3"]), true));
        assert_eq!(flags(20, &both), (both.clone(), false));
        assert_eq!(flags(19, &texts(&["-fwrapv"])), (texts(&["-fwrapv"]), false));
        // Numbers do not wrap without it, or when it is taken back.
        assert_eq!(flags(19, &texts(&[POINTERS])), (Vec::new(), false));
        let taken_back = texts(&["-fwrapv", POINTERS, "-fno-wrapv"]);
        assert_eq!(flags(19, &taken_back), (texts(&["-fwrapv", "-fno-wrapv"]), false));
        // The pointers' own flag taken back is for clang to refuse.
        let pointers_wrap = texts(&["-fwrapv", POINTERS, "-fwrapv-pointer"]);
        assert_eq!(flags(19, &pointers_wrap), (pointers_wrap.clone(), false));
    }

    #[test]
    fn only_promises_about_numbers_go() {
        let text = "  %3 = add nuw nsw i32 %1, %2, !dbg !7\n  %4 = getelementptr inbounds i32, ptr %p, i64 %i\n\
                    \x20 %5 = shl nsw i32 %3, 2\n  %6 = sub i32 %5, 1\n  %7 = mul nsw i64 %a, 3\n\
                    \x20 %8 = call i32 @llvm.abs.i32(i32 %5, i1 true)\n@g = global i32 add nsw (i32 1, i32 2)\n";
        let wrapped = "  %3 = add i32 %1, %2, !dbg !7\n  %4 = getelementptr inbounds i32, ptr %p, i64 %i\n\
                       \x20 %5 = shl i32 %3, 2\n  %6 = sub i32 %5, 1\n  %7 = mul i64 %a, 3\n\
                       \x20 %8 = call i32 @llvm.abs.i32(i32 %5, i1 false)\n@g = global i32 add nsw (i32 1, i32 2)\n";
        assert_eq!(numbers_wrap(text), wrapped);
    }
}
