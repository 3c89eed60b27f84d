//! Which passes an `opt` has, under which manager, and RUN lines of the legacy manager in the new one's words.
//!
//! The names come from `opt` itself (`-print-passes`, `--help-hidden`), never from a table of ours: they
//! differ between LLVM versions.

use std::collections::{BTreeMap, BTreeSet};

/// The passes of one `opt`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PassNames {
    /// Passes of the new manager and what each of them runs on.
    new: BTreeMap<String, Level>,
    /// Flags that name a pass of the legacy manager.
    legacy: BTreeSet<String>,
}

/// What a pass runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A module.
    Module,
    /// A strongly connected component of the call graph.
    Cgscc,
    /// A function.
    Function,
    /// A loop, or a nest of loops.
    Loop,
}

/// How the passes of a command line are named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Manager {
    /// With `-passes=`, `-O2` and the like, or not at all.
    New,
    /// As flags, all of which the new manager has too: the arguments that say the same to it.
    Translated(Vec<String>),
    /// As flags, some of which only the legacy manager has: these.
    Legacy(Vec<String>),
}

impl PassNames {
    /// Reads what `opt -print-passes` and `opt --help-hidden` print.
    pub fn parse(print_passes: &str, help_hidden: &str) -> PassNames {
        PassNames { new: new_passes(print_passes), legacy: legacy_passes(help_hidden) }
    }

    /// The passes of the new manager, in alphabetical order.
    pub fn new_manager(&self) -> impl Iterator<Item = (&str, Level)> {
        self.new.iter().map(|(name, level)| (name.as_str(), *level))
    }

    /// The passes that only the legacy manager has, in alphabetical order.
    pub fn legacy_only(&self) -> impl Iterator<Item = &str> {
        self.legacy.iter().map(String::as_str).filter(|name| !self.new.contains_key(*name))
    }

    /// How the arguments of an `opt` command name their passes.
    pub fn manager(&self, args: &[String]) -> Manager {
        if args.iter().any(|arg| is_pipeline(arg)) {
            return Manager::New;
        }
        let is_pass = |arg: &&String| flag(arg).is_some_and(|name| self.legacy.contains(name));
        let passes: Vec<&str> = args.iter().filter(is_pass).filter_map(|arg| flag(arg)).collect();
        if passes.is_empty() {
            return Manager::New;
        }
        let unknown: Vec<String> =
            passes.iter().filter(|pass| !self.new.contains_key(**pass)).map(|pass| (*pass).into()).collect();
        if !unknown.is_empty() {
            return Manager::Legacy(unknown);
        }
        let mut translated: Vec<String> = args.iter().filter(|arg| !is_pass(arg)).cloned().collect();
        translated.push(format!("-passes={}", self.pipeline(&passes)));
        Manager::Translated(translated)
    }

    /// A pipeline of passes of any levels, each wrapped in the adaptors that it needs in a module pipeline.
    /// A pass alone is left to `opt`, which knows best.
    fn pipeline(&self, passes: &[&str]) -> String {
        // It asks for an analysis of the module that only the legacy manager makes by itself, and crashes without.
        const NEEDS_PROFILE: &str = "codegenprepare";
        match passes {
            [pass] if *pass != NEEDS_PROFILE => return (*pass).into(),
            _ => {}
        }
        let profile = passes.contains(&NEEDS_PROFILE).then(|| "require<profile-summary>".to_owned());
        let wrapped = passes.iter().map(|pass| match self.new[*pass] {
            Level::Module => (*pass).to_owned(),
            Level::Cgscc => format!("cgscc({pass})"),
            Level::Function => format!("function({pass})"),
            // These two ask for MemorySSA, and abort without.
            Level::Loop if matches!(*pass, "licm" | "lnicm") => format!("function(loop-mssa({pass}))"),
            Level::Loop => format!("function(loop({pass}))"),
        });
        profile.into_iter().chain(wrapped).collect::<Vec<_>>().join(",")
    }
}

/// The name of a flag that takes no value here.
fn flag(arg: &str) -> Option<&str> {
    let name = arg.strip_prefix("--").or(arg.strip_prefix('-'))?;
    (!name.is_empty() && !name.contains('=')).then_some(name)
}

fn is_pipeline(arg: &str) -> bool {
    let Some(name) = arg.strip_prefix("--").or(arg.strip_prefix('-')) else { return false };
    let name = name.split('=').next().unwrap_or(name);
    name == "passes" || name == "p"
}

fn new_passes(print_passes: &str) -> BTreeMap<String, Level> {
    let mut level = None;
    let mut passes = BTreeMap::new();
    for line in print_passes.lines() {
        match line.strip_suffix(':') {
            Some(heading) if !line.starts_with(' ') => level = heading_level(heading),
            _ => {
                let (Some(level), Some(name)) = (level, line.split(['<', ' ']).find(|word| !word.is_empty()))
                else {
                    continue;
                };
                // A name that is listed twice is the outermost one: that is what opt's parser tries first.
                passes.entry(name.into()).or_insert(level);
            }
        }
    }
    passes
}

/// The level of a section of `-print-passes`; sections of analyses and of machine passes have none.
fn heading_level(heading: &str) -> Option<Level> {
    Some(match heading.strip_suffix(" with params").unwrap_or(heading) {
        "Module passes" => Level::Module,
        "CGSCC passes" => Level::Cgscc,
        "Function passes" => Level::Function,
        "Loop passes" | "LoopNest passes" => Level::Loop,
        _ => return None,
    })
}

/// The list under "Optimizations available" in the help text.
fn legacy_passes(help_hidden: &str) -> BTreeSet<String> {
    let mut lines = help_hidden.lines().skip_while(|line| !line.contains("Optimizations available"));
    let Some(heading) = lines.next() else { return BTreeSet::new() };
    let indent = |line: &str| line.len() - line.trim_start().len();
    let entries = lines.take_while(|line| indent(line) > indent(heading));
    entries.filter_map(|line| line.split_whitespace().next()).filter_map(flag).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PRINT_PASSES: &str = "Module passes:\n  globaldce\n  internalize\nModule analyses:\n  callgraph\n\
        CGSCC passes with params:\n  inline<only-mandatory>\nFunction passes:\n  adce\n  codegenprepare\n\
        Loop passes:\n  loop-reduce\nMachine function passes (WIP):\n  finalize-isel\n";
    const HELP: &str = "OPTIONS:\n\n  Optimizations available (use \"-passes=\")\n      --adce      - Aggressive\n      \
        --loop-reduce  - LSR\n      --sink-it - Only old\n      --inline - Inliner\n  --atomic-counter=<value> - not a pass\n      \
        --callgraph - later\n";

    fn names() -> PassNames {
        PassNames::parse(PRINT_PASSES, HELP)
    }

    fn manager(args: &str) -> Manager {
        names().manager(&args.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn sections_give_the_level_and_analyses_are_no_passes() {
        let passes: Vec<_> = names().new_manager().map(|(name, level)| format!("{name} {level:?}")).collect();
        assert_eq!(
            passes,
            [
                "adce Function",
                "codegenprepare Function",
                "globaldce Module",
                "inline Cgscc",
                "internalize Module",
                "loop-reduce Loop"
            ]
        );
    }

    #[test]
    fn the_list_of_legacy_passes_ends_where_its_indentation_does() {
        let legacy: Vec<_> = names().legacy.into_iter().collect();
        assert_eq!(legacy, ["adce", "inline", "loop-reduce", "sink-it"]);
        assert_eq!(names().legacy_only().collect::<Vec<_>>(), ["sink-it"]);
    }

    #[test]
    fn lines_of_the_new_manager_stay() {
        for args in ["-passes=adce -S", "--passes=adce -adce", "-p adce", "-O2 -S", "-S", "-adce=1"] {
            assert_eq!(manager(args), Manager::New, "{args}");
        }
    }

    #[test]
    fn legacy_flags_become_a_pipeline_in_their_order_and_the_rest_stays() {
        assert_eq!(
            manager("-S --loop-reduce -mtriple=x86_64 -adce -inline"),
            Manager::Translated(
                ["-S", "-mtriple=x86_64", "-passes=function(loop(loop-reduce)),function(adce),cgscc(inline)"]
                    .map(str::to_owned)
                    .to_vec()
            )
        );
    }

    #[test]
    fn a_single_pass_needs_no_adaptor() {
        assert_eq!(manager("-loop-reduce"), Manager::Translated(vec!["-passes=loop-reduce".into()]));
    }

    #[test]
    fn what_crashes_without_an_analysis_gets_it() {
        let help = "  Optimizations available\n      --codegenprepare - x\n";
        let names = PassNames::parse("Function passes:\n  codegenprepare\n", help);
        let expected = "-passes=require<profile-summary>,function(codegenprepare)".to_owned();
        assert_eq!(names.manager(&["-codegenprepare".to_owned()]), Manager::Translated(vec![expected]));
    }

    #[test]
    fn what_only_the_legacy_manager_has_is_named() {
        assert_eq!(manager("-adce -sink-it"), Manager::Legacy(vec!["sink-it".into()]));
    }

    proptest! {
        #[test]
        fn no_output_of_opt_panics(passes in ".*", help in ".*", args in proptest::collection::vec(".*", 0..4)) {
            PassNames::parse(&passes, &help).manager(&args);
        }
    }
}
