//! The pass that a name means: `-passes=` name, class, or source file.
//!
//! What exists is what this `opt` lists with `-print-passes`, and what of its `--help-hidden` only the legacy
//! manager has. Classes and source files come from a table
//! (`report/pass-names/table.tsv`, see the script beside it), because installed LLVMs do not tell them.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use metaloc_corpus::pass_names::PassNames;
use metaloc_report::pass_names::{self, PassName};
use metaloc_toolchain::Llvm;
use metaloc_toolchain::process::Task;

/// A pass of a certain LLVM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pass {
    /// Name without parameters, as reports have it.
    pub name: String,
    /// What goes into `-passes=`: the name, with parameters if some were given.
    pub pipeline: String,
    /// Only the legacy manager has it: it is named as a flag, and `opt` takes no pass plugin then.
    pub legacy: bool,
    /// All names of the pass's class: LLVM registers some classes twice and reports either name. Empty if the
    /// class is not known.
    pub aliases: Vec<String>,
}

/// The passes of one `opt`.
#[derive(Debug)]
pub struct Passes {
    version: String,
    names: BTreeSet<String>,
    legacy: BTreeSet<String>,
}

impl Pass {
    /// True if this is a name of the pass.
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }

    /// True if an error that a report blames on `name` is one of this pass. A pass whose class is not known may
    /// be reported by that; since no other pass is run on purpose, nothing is left out then.
    pub fn reports_as(&self, name: &str) -> bool {
        self.aliases.is_empty() || self.is_named(name)
    }

    /// True if parameters were given.
    pub fn has_parameters(&self) -> bool {
        self.pipeline != self.name
    }
}

impl Passes {
    /// Asks `opt`.
    pub fn of(llvm: &Llvm) -> Result<Passes> {
        let listed = Task::new(&llvm.opt).arg("-print-passes").run()?;
        let help = Task::new(&llvm.opt).arg("--help-hidden").run()?;
        let known = PassNames::parse(&listed.stdout_text(), &help.stdout_text());
        let names: BTreeSet<_> = known.new_manager().map(|(name, _)| name.to_owned()).collect();
        if !listed.exit.success() || names.is_empty() {
            bail!("{} -print-passes: {}, no passes listed", llvm.opt.display(), listed.exit);
        }
        let legacy = known.legacy_only().map(str::to_owned).collect();
        Ok(Passes { version: llvm.version.clone(), names, legacy })
    }

    /// The passes that `typed` means: one, or all those of a source file.
    pub fn resolve(&self, typed: &str) -> Result<Vec<Pass>> {
        let (base, parameters) = match typed.find('<') {
            Some(at) => typed.split_at(at),
            None => (typed, ""),
        };
        if !parameters.is_empty() && !parameters.ends_with('>') {
            bail!("{typed}: the parameters of a pass end with '>'");
        }
        let mut names = self.names_for(base);
        names.dedup();
        if names.is_empty() {
            return Err(self.unknown(base));
        }
        let pass = |name: String| Pass {
            pipeline: format!("{name}{parameters}"),
            legacy: !self.names.contains(&name),
            aliases: aliases(&name),
            name,
        };
        Ok(names.into_iter().map(pass).collect())
    }

    fn names_for(&self, base: &str) -> Vec<String> {
        if self.names.contains(base) || self.legacy.contains(base) {
            return vec![base.to_owned()];
        }
        let existing = |matches: &dyn Fn(&PassName) -> bool| -> Vec<String> {
            let exists = |name: &str| self.names.contains(name) || self.legacy.contains(name);
            let rows = pass_names::all().filter(|row| matches(row) && exists(row.name));
            rows.map(|row| row.name.to_owned()).collect()
        };
        let by_class = existing(&|row| row.class == base || row.class.strip_suffix("Pass") == Some(base));
        if !by_class.is_empty() {
            return by_class;
        }
        let stem = base.strip_suffix(".cpp").unwrap_or(base);
        let stem = stem.rsplit('/').next().unwrap_or(stem);
        existing(&|row| row.source == stem)
    }

    fn unknown(&self, typed: &str) -> anyhow::Error {
        let known_elsewhere =
            pass_names::all().find(|row| [row.name, row.class, row.source].contains(&typed));
        if let Some(row) = known_elsewhere {
            return anyhow::anyhow!(
                "LLVM {} has no pass {} for -passes= (class {}, source file {}.cpp)",
                self.version,
                row.name,
                row.class,
                row.source
            );
        }
        let nearest = self.nearest(typed);
        anyhow::anyhow!("LLVM {} has no pass {typed}; nearest are {}", self.version, nearest.join(", "))
    }

    /// The three names most like `typed`.
    fn nearest(&self, typed: &str) -> Vec<String> {
        let typed = typed.to_lowercase();
        let spellings = self.names.iter().map(String::as_str);
        let rows = pass_names::all().filter(|row| self.names.contains(row.name));
        let spellings = spellings.chain(rows.flat_map(|row| [row.class, row.source]));
        let unique: BTreeSet<&str> = spellings.collect();
        let mut ranked: Vec<_> =
            unique.into_iter().map(|name| (edit_distance(&typed, &name.to_lowercase()), name)).collect();
        ranked.sort();
        ranked.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
    }
}

fn aliases(name: &str) -> Vec<String> {
    let class = pass_names::all().find(|row| row.name == name).map(|row| row.class);
    pass_names::all().filter(|row| Some(row.class) == class).map(|row| row.name.to_owned()).collect()
}

/// Levenshtein's: insertions, deletions and replacements of characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// The passes that all of `typed` mean, each once.
pub fn resolve_all(llvm: &Llvm, typed: &[String]) -> Result<Vec<Pass>> {
    let passes = Passes::of(llvm).context("cannot list the passes")?;
    let mut resolved: Vec<Pass> = Vec::new();
    for typed in typed {
        for pass in passes.resolve(typed)? {
            if !resolved.contains(&pass) {
                resolved.push(pass);
            }
        }
    }
    Ok(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "Module passes:\n  always-inline\nModule analyses:\n  callgraph\nFunction passes:\n  \
                           tailcallelim\n  brand-new\n  loop-unroll<O0;O1>\nLoop passes:\n  loop-unroll-full\n  licm\n\
                           Loop passes with params:\n  simple-loop-unswitch<no-nontrivial;nontrivial>\n\
                           Machine function passes (WIP):\n  dead-mi-elimination\n";

    fn passes() -> Passes {
        let known = PassNames::parse(LISTING, "");
        let names = known.new_manager().map(|(name, _)| name.to_owned()).collect();
        Passes { version: "16.0.6".to_owned(), names, legacy: BTreeSet::from(["safe-stack".to_owned()]) }
    }

    fn names(typed: &str) -> Vec<String> {
        passes().resolve(typed).unwrap().into_iter().map(|pass| pass.name).collect()
    }

    #[test]
    fn analyses_and_machine_passes_are_no_passes() {
        let names = passes().names;
        assert!(names.contains("tailcallelim") && names.contains("simple-loop-unswitch"));
        assert!(!names.contains("callgraph") && !names.contains("dead-mi-elimination"));
    }

    #[test]
    fn name_class_and_source_file_mean_the_same_pass() {
        let spellings = [
            "tailcallelim",
            "TailCallElimPass",
            "TailCallElim",
            "TailRecursionElimination",
            "TailRecursionElimination.cpp",
            "llvm/lib/Transforms/Scalar/TailRecursionElimination.cpp",
        ];
        for spelling in spellings {
            assert_eq!(names(spelling), ["tailcallelim"], "{spelling}");
        }
    }

    #[test]
    fn a_class_is_meant_before_a_source_file_of_that_name() {
        assert_eq!(names("LoopUnrollPass"), ["loop-unroll"]);
        assert_eq!(names("LoopUnrollPass.cpp"), ["loop-unroll", "loop-unroll-full"]);
    }

    #[test]
    fn parameters_are_kept_for_the_pipeline() {
        let [pass] = &passes().resolve("SimpleLoopUnswitchPass<nontrivial>").unwrap()[..] else { panic!() };
        assert_eq!(pass.pipeline, "simple-loop-unswitch<nontrivial>");
        assert!(pass.has_parameters() && pass.is_named("simple-loop-unswitch") && !pass.is_named("licm"));
        assert!(passes().resolve("licm<x").is_err());
    }

    #[test]
    fn unknown_names_get_the_nearest() {
        let error = passes().resolve("tailcalelim").unwrap_err().to_string();
        assert!(
            error.starts_with("LLVM 16.0.6 has no pass tailcalelim; nearest are tailcallelim, "),
            "{error}"
        );
        let error = passes().resolve("codegenprepare").unwrap_err().to_string();
        assert!(error.starts_with("LLVM 16.0.6 has no pass codegenprepare for -passes="), "{error}");
    }

    #[test]
    fn distances() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("same", "same"), 0);
    }

    #[test]
    fn reports_of_a_pass_that_is_not_in_the_table_are_not_lost() {
        let [pass] = &passes().resolve("brand-new").unwrap()[..] else { panic!() };
        assert!(pass.reports_as("BrandNewPass") && !pass.is_named("BrandNewPass"));
    }

    #[test]
    fn what_only_the_legacy_manager_has_is_named_as_a_flag() {
        assert!(passes().resolve("safe-stack").unwrap()[0].legacy);
        assert!(!passes().resolve("licm").unwrap()[0].legacy);
    }
}
