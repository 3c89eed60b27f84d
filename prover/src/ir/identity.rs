//! What identifies a program that is proved: its IR without debug information, which has the paths that its files were
//! found by and is numbered by how many paths there are. Which lines and variables there are follows from what is in the
//! files, and of that the text has checksums.
//!
//! Invariant: programs that differ in what they do differ here.

use std::collections::BTreeSet;

const CHECKSUM: &str = "checksum: \"";

/// The text that stands for the IR of a C file: the same by whatever path, and from whatever folder, the file is named. A
/// program that sees its own path (`__FILE__`) has it in a constant, and constants stay.
pub fn identity(text: &str) -> String {
    let mut checksums = BTreeSet::new();
    let mut program = String::with_capacity(text.len());
    for line in text.lines() {
        if line.starts_with('!') {
            let rest = line.split_once(CHECKSUM).map(|(_, rest)| rest);
            checksums.extend(rest.and_then(|rest| rest.split_once('"')).map(|(sum, _)| sum));
        } else if !is_about_files(line) {
            program.push_str(without_attachments(line));
            program.push('\n');
        }
    }
    for sum in checksums {
        program.push_str(sum);
        program.push('\n');
    }
    program
}

fn is_about_files(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("source_filename = ")
        || line.starts_with("; ModuleID = ")
        || line.starts_with("#dbg_")
        || line.contains(" @llvm.dbg.")
}

/// A line without `, !dbg !7`, and without the ` !dbg !7 {` of a function.
fn without_attachments(line: &str) -> &str {
    let mut line = line.strip_suffix(" {").unwrap_or(line);
    while let Some((before, number)) = line.rsplit_once(" !")
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && let Some((before, kind)) = before.rsplit_once(" !")
        && kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._".contains(&byte))
    {
        line = before.strip_suffix(',').unwrap_or(before);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::identity;

    fn text(path: &str, first: u32, checksum: &str, body: &str) -> String {
        let second = first + 1;
        format!(
            "; ModuleID = '<stdin>'\nsource_filename = \"{path}\"\n\n@a = global i32 0, align 4, !dbg !{first}\n\
             define i32 @f(i32 %n) #0 !dbg !{second} {{\n    #dbg_value(i32 %n, !{first}, !DIExpression(), !{second})\n  \
             {body}, !dbg !{second}, !llvm.loop !{first}\n}}\n!llvm.dbg.cu = !{{!{first}}}\n\
             !{first} = !DIFile(filename: \"{path}\", directory: \"\", checksumkind: CSK_MD5, checksum: \"{checksum}\")\n"
        )
    }

    #[test]
    fn a_program_is_the_same_by_any_path() {
        let one = identity(&text("k.c", 3, "ab", "ret i32 %n"));
        assert_eq!(one, identity(&text("/d/k.c", 4, "ab", "ret i32 %n")));
        assert_eq!(
            one.lines().collect::<Vec<_>>(),
            ["", "@a = global i32 0, align 4", "define i32 @f(i32 %n) #0", "  ret i32 %n", "}", "ab"]
        );
    }

    #[test]
    fn other_contents_are_another_program() {
        let one = identity(&text("k.c", 3, "ab", "ret i32 %n"));
        assert_ne!(one, identity(&text("k.c", 3, "cd", "ret i32 %n")));
        assert_ne!(one, identity(&text("k.c", 3, "ab", "ret i32 0")));
        let constant = "@s = constant [7 x i8] c\", !a !7\"\n";
        assert_eq!(identity(constant), constant);
    }
}
