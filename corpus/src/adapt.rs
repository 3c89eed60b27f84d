//! IR text of a newer LLVM made readable for an older one, mechanically.
//!
//! Only what promises something is taken away or weakened: attributes, flags, debug records. The program
//! stays the same, and an optimiser may at most know less about it. Instructions and types that the older
//! version does not have are left alone, and its parser will say so.

use std::borrow::Cow;

/// Rewrites IR text for LLVM `major`.
pub fn adapt(ir: &str, major: u32) -> Cow<'_, str> {
    if major >= NEWEST_RULE {
        return ir.into();
    }
    let mut out = String::with_capacity(ir.len());
    for line in ir.split_inclusive('\n') {
        if major < DEBUG_RECORDS_SINCE && line.trim_start().starts_with("#dbg_") {
            continue;
        }
        adapt_line(line, major, &mut out);
    }
    out.into()
}

/// Above this version nothing is done.
const NEWEST_RULE: u32 = 22;

/// The textual form of debug records. Taken away: variables do not take part in what is judged.
const DEBUG_RECORDS_SINCE: u32 = 19;

/// Words that may be left out before the version that first has them.
const WORDS: &[(&str, u32)] = &[
    ("allocptr", 15),
    ("presplitcoroutine", 15),
    ("skipprofile", 17),
    ("dead_on_unwind", 18),
    ("writable", 18),
    ("nneg", 18),
    ("disjoint", 18),
    ("optdebug", 19),
    ("nusw", 19),
    ("samesign", 20),
    ("sanitize_realtime", 20),
    ("hybrid_patchable", 20),
    ("sanitize_type", 20),
];

/// Words with an argument in parentheses that may be left out, likewise.
const CALLS: &[(&str, u32)] = &[
    ("allockind", 15),
    ("nofpclass", 17),
    ("range", 19),
    ("initializes", 20),
    ("sanitize_realtime_blocking", 20),
];

fn adapt_line(line: &str, major: u32, out: &mut String) {
    // Behaviour "min" of module flags came with 15; "max" is the nearest that there was.
    let line = match (major < 15, line.split_once("!{i32 8, !\"")) {
        (true, Some((front, back))) => Cow::Owned(format!("{front}!{{i32 7, !\"{back}")),
        _ => Cow::Borrowed(line),
    };
    let mut rest: &str = &line;
    let mut previous = "";
    while let Some(c) = rest.chars().next() {
        let end = match c {
            ';' => rest.len(),
            '"' => rest[1..].find('"').map_or(rest.len(), |at| at + 2),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (piece, after) = rest.split_at(end);
        rest = after;
        if !piece.starts_with(is_word) {
            out.push_str(piece);
            continue;
        }
        match replacement(previous, piece, after, major) {
            Some((with, used)) => {
                out.push_str(&with);
                rest = &after[used..];
                // No word is left in place of one that only separated two others.
                if with.is_empty() && out.ends_with([' ', '\t']) {
                    rest = rest.trim_start_matches(' ');
                }
            }
            None => {
                out.push_str(piece);
                previous = piece;
            }
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || "_.$%@!#-".contains(c)
}

/// What a word becomes, with the number of bytes behind it that it takes along.
fn replacement(previous: &str, word: &str, after: &str, major: u32) -> Option<(String, usize)> {
    let newer = |table: &[(&str, u32)]| table.iter().any(|&(name, since)| name == word && major < since);
    let argument = after.strip_prefix('(').and_then(balanced);
    match (word, argument) {
        ("memory", Some(effects)) if major < 16 => Some((old_effects(effects), effects.len() + 2)),
        ("captures", Some(argument)) if major < 21 => {
            let old = if argument == "none" { "nocapture" } else { "" };
            Some((old.into(), argument.len() + 2))
        }
        // Flags that are older elsewhere: `add nuw` stays.
        ("nuw" | "nsw", _) if major < 19 && matches!(previous, "trunc" | "getelementptr") => {
            Some((String::new(), 0))
        }
        ("nuw", _) if major < 19 && previous == "inbounds" => Some((String::new(), 0)),
        (_, Some(argument)) if newer(CALLS) => Some((String::new(), argument.len() + 2)),
        _ if newer(WORDS) => Some((String::new(), 0)),
        _ => None,
    }
}

/// The text up to the parenthesis that closes one opened just before it.
fn balanced(text: &str) -> Option<&str> {
    let mut depth = 1usize;
    let close = text.find(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    Some(&text[..close])
}

/// `memory(...)` in the attributes that LLVM 15 and older have; nothing where they cannot say it.
fn old_effects(effects: &str) -> String {
    let access = |access: &str| match access {
        "none" => Some("readnone"),
        "read" => Some("readonly"),
        "write" => Some("writeonly"),
        "readwrite" => Some(""),
        _ => None,
    };
    let parts: Vec<(&str, &str)> =
        effects.split(',').map(|part| part.split_once(':').unwrap_or(("", part))).collect();
    let places: Vec<&str> = parts.iter().map(|(place, _)| place.trim()).collect();
    let place = match places[..] {
        [""] => "",
        ["argmem"] => "argmemonly ",
        ["inaccessiblemem"] => "inaccessiblememonly ",
        ["argmem", "inaccessiblemem"] => "inaccessiblemem_or_argmemonly ",
        _ => return String::new(),
    };
    let (_, first) = parts[0];
    let same = parts.iter().all(|(_, access)| access.trim() == first.trim());
    match access(first.trim()).filter(|_| same) {
        Some(access) => format!("{place}{access}").trim_end().into(),
        None => place.trim_end().into(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn newer_words_go_and_older_ones_stay() {
        let line = "  %x = zext nneg i8 %nneg to i32, !dbg !1 ; nneg\n";
        assert_eq!(adapt(line, 16), "  %x = zext i8 %nneg to i32, !dbg !1 ; nneg\n");
        assert_eq!(adapt(line, 19), line);
        assert_eq!(adapt("%x = trunc nuw i32 %y to i8", 16), "%x = trunc i32 %y to i8");
        assert_eq!(adapt("%x = add nuw i32 %y, 1", 16), "%x = add nuw i32 %y, 1");
        assert_eq!(adapt("getelementptr inbounds nuw i8, ptr %p", 16), "getelementptr inbounds i8, ptr %p");
    }

    #[test]
    fn arguments_in_parentheses_go_too() {
        assert_eq!(
            adapt("declare range(i8 0, 5) i8 @f(ptr captures(none) %p)", 16),
            "declare i8 @f(ptr nocapture %p)"
        );
        assert_eq!(adapt("call nofpclass(nan inf) float @range(i8 0)", 16), "call float @range(i8 0)");
    }

    #[test]
    fn memory_effects_are_translated_where_they_can_be() {
        let adapted = |effects: &str| adapt(&format!("{{ memory({effects}) nounwind }}"), 15).into_owned();
        assert_eq!(adapted("none"), "{ readnone nounwind }");
        assert_eq!(adapted("argmem: read"), "{ argmemonly readonly nounwind }");
        assert_eq!(
            adapted("argmem: readwrite, inaccessiblemem: readwrite"),
            "{ inaccessiblemem_or_argmemonly nounwind }"
        );
        assert_eq!(
            adapted("argmem: read, inaccessiblemem: write"),
            "{ inaccessiblemem_or_argmemonly nounwind }"
        );
        assert_eq!(adapted("read, argmem: none"), "{ nounwind }");
        assert_eq!(adapt("{ memory(none) }", 16), "{ memory(none) }");
    }

    #[test]
    fn debug_records_and_module_flags() {
        assert_eq!(adapt("  #dbg_value(i32 %x, !1, !DIExpression(), !2)\n  ret void\n", 16), "  ret void\n");
        assert_eq!(adapt("!5 = !{i32 8, !\"PIC Level\", i32 2}", 14), "!5 = !{i32 7, !\"PIC Level\", i32 2}");
        assert_eq!(adapt("!5 = !{i32 8, !\"PIC Level\", i32 2}", 15), "!5 = !{i32 8, !\"PIC Level\", i32 2}");
    }

    #[test]
    fn names_and_strings_are_left_alone() {
        for line in ["@writable = global i32 0", "\"nneg disjoint\"", "call void @memory(i32 1)", "%range(x)"]
        {
            assert_eq!(adapt(line, 14), line);
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in r#"(memory|range|captures|[ (),:"]|nneg|argmem|none|\n|é|;|.)*"#) {
            adapt(&text, 14);
        }

        #[test]
        fn adapting_twice_changes_nothing_more(text in r#"(memory\((none|argmem: read)\)|range\(i8 0, 5\)|nneg|i32|%x|, | )*"#) {
            let once = adapt(&text, 14).into_owned();
            prop_assert_eq!(adapt(&once, 14), once.clone());
        }
    }
}
