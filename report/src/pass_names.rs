//! Passes by name, class and source file. Reports say the name that `-passes=` takes; LLVM tells a plugin
//! the class, and versions before 20 its name only if some printing option is on.

const TABLE: &str = include_str!("../pass-names/table.tsv");

/// A source file of a pass, and the files of `lib/Transforms/Utils` that are a part of it: all that its own file
/// does is to call them, so that what there is to mend is there. Helpers that many passes use are not listed.
const PARTS: &str = include_str!("../pass-names/parts.tsv");

/// One pass of LLVM. A class that is registered under several names has a row for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassName {
    /// As in `-passes=`.
    pub name: &'static str,
    /// The C++ class.
    pub class: &'static str,
    /// The source file, without folder and suffix.
    pub source: &'static str,
}

/// All passes of LLVM that change IR.
pub fn all() -> impl Iterator<Item = PassName> {
    TABLE.lines().filter_map(|line| {
        let mut fields = line.split('\t');
        Some(PassName { name: fields.next()?, class: fields.next()?, source: fields.next()? })
    })
}

/// The source files that a pass is written in, without folder and suffix, those that do the work first. None if
/// the pass is not known.
pub fn files(pass: &str) -> Vec<&'static str> {
    let Some(row) = all().find(|row| row.name == pass) else { return Vec::new() };
    let parts = PARTS.lines().filter_map(|line| line.split_once('\t')).find(|(own, _)| *own == row.source);
    parts.into_iter().flat_map(|(_, parts)| parts.split('\t')).chain([row.source]).collect()
}

/// The name of a class; the first one if it has several.
pub fn of_class(class: &str) -> Option<&'static str> {
    all().find(|pass| pass.class == class).map(|pass| pass.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_whole_and_a_class_finds_its_name() {
        assert_eq!(all().count(), TABLE.lines().count());
        let names: std::collections::BTreeSet<_> = all().map(|pass| pass.name).collect();
        assert_eq!(names.len(), all().count(), "a name stands for one class");
        assert_eq!(of_class("TailCallElimPass"), Some("tailcallelim"));
        assert_eq!(of_class("NoSuchPass"), None);
    }

    #[test]
    fn the_files_that_do_the_work_come_first() {
        assert_eq!(files("simplifycfg"), ["SimplifyCFG", "SimplifyCFGPass"]);
        assert_eq!(files("tailcallelim"), ["TailRecursionElimination"]);
        assert!(files("no-such-pass").is_empty());
        for line in PARTS.lines() {
            let own = line.split('\t').next().unwrap();
            assert!(all().any(|row| row.source == own), "{own} is the file of no pass");
            assert!(line.contains('\t'), "{own} has no parts");
        }
    }
}
