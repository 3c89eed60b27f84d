//! Passes by name, class and source file. Reports say the name that `-passes=` takes; LLVM tells a plugin
//! the class, and versions before 20 its name only if some printing option is on.

const TABLE: &str = include_str!("../pass-names/table.tsv");

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
        let names: std::collections::BTreeSet<_> = all().map(|pass| pass.name).collect();
        assert_eq!(names.len(), all().count(), "a name is there once");
    }
}
