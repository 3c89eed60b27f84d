//! A pass's own regression tests: the plain RUN lines of LLVM's tests that run it.

use std::path::PathBuf;

use crate::Result;
use crate::llvm_tests::LlvmTest;
use crate::pass_names::{Manager, PassNames};
use crate::regress::RegressInput;
use crate::run_line::{NotPlain, OptLine, RunLine};

/// A RUN line in the words of the new pass manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnLine {
    /// `TailCallElim/basic.ll:1`.
    pub name: String,
    /// The test file.
    pub test: PathBuf,
    /// The command.
    pub line: OptLine,
    /// The passes and adaptors that it names, in order, without parameters.
    pub passes: Vec<String>,
}

/// A RUN line that is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// As [`OwnLine::name`].
    pub name: String,
    /// Why.
    pub reason: String,
}

/// All lines that the new pass manager can run and that should succeed, and the others with the reason.
pub fn lines(tests: &[LlvmTest], names: &PassNames) -> Result<(Vec<OwnLine>, Vec<LeftOut>)> {
    let (mut lines, mut left_out) = (Vec::new(), Vec::new());
    for test in tests {
        for (run, class) in test.lines()? {
            let name = format!("{}:{}", test.name, run.line);
            match plain(class, names) {
                Ok(line) => {
                    let passes = line.raw_args().iter().flat_map(|arg| passes_in(arg)).collect();
                    lines.push(OwnLine { name, test: test.path.clone(), line, passes });
                }
                Err(reason) => left_out.push(LeftOut { name, reason }),
            }
        }
    }
    Ok((lines, left_out))
}

/// The inputs of our own that are IR and need no preparing, as lines: each is run as its header says.
pub fn own_lines(inputs: &[RegressInput], major: u32) -> Vec<OwnLine> {
    let fits = |input: &&RegressInput| {
        let is_ir = input.path.extension().is_some_and(|extension| extension == "ll");
        is_ir && input.header.prepare.is_none() && input.header.llvm.contains(major)
    };
    let line = |input: &RegressInput| {
        let pipeline = input.header.pass.as_ref().unwrap_or(&input.pass);
        let text = format!("opt -S {} '-passes={pipeline}' %s", input.header.args.join(" "));
        let line = RunLine { line: 1, text }.classify().ok()?;
        let passes = line.raw_args().iter().flat_map(|arg| passes_in(arg)).collect();
        let file = input.path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("regress/passes/{}/{}{file}", input.pass, if input.clean { "clean/" } else { "" });
        Some(OwnLine { name, test: input.path.clone(), line, passes })
    };
    inputs.iter().filter(fits).filter_map(line).collect()
}

fn plain(
    class: std::result::Result<OptLine, NotPlain>,
    names: &PassNames,
) -> std::result::Result<OptLine, String> {
    let line = class.map_err(|reason| reason.to_string())?;
    if line.expects_failure {
        return Err("expects opt to fail".to_owned());
    }
    match names.manager(line.raw_args()) {
        Manager::New => Ok(line),
        Manager::Translated(args) => Ok(line.with_args(args)),
        Manager::Legacy(passes) => Err(format!("only the legacy manager has {}", passes.join(", "))),
    }
}

/// The names in a `-passes=` argument: `loop-mssa` and `licm` of `-passes='loop-mssa(licm<no-x>)'`.
fn passes_in(arg: &str) -> Vec<String> {
    let name = arg.trim_start_matches('-');
    let Some(pipeline) = name.strip_prefix("passes=").or_else(|| name.strip_prefix("p=")) else {
        return Vec::new();
    };
    // Parameters are not passes, even if one is called like that.
    let mut depth = 0usize;
    let mut outside = String::new();
    for c in pipeline.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            c if depth == 0 => outside.push(c),
            _ => {}
        }
    }
    outside.split([',', '(', ')']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn names_are_told_from_parameters() {
        assert_eq!(passes_in("-passes=loop-mssa(licm<gvn;no-x<a,b>>),gvn"), ["loop-mssa", "licm", "gvn"]);
        assert_eq!(passes_in("--passes=adce"), ["adce"]);
        assert_eq!(passes_in("-p=adce"), ["adce"]);
        assert!(passes_in("-S").is_empty());
        assert!(passes_in("-passes=").is_empty());
    }

    #[test]
    fn inputs_of_our_own_are_lines() {
        let folder = tempfile::tempdir().unwrap();
        let pass = folder.path().join("gvn");
        fs::create_dir_all(pass.join("clean")).unwrap();
        let write = |name: &str, text: &str| fs::write(pass.join(name), text).unwrap();
        write("a.ll", "; metaloc: pass=function(gvn<no-pre>)\n; metaloc: args=-x -y\n");
        write("b.c", "");
        write("c.ll", "; metaloc: prepare=sroa\n");
        write("d.ll", "; metaloc: llvm=14..16\n");
        write("clean/e.ll", "");
        let found = own_lines(&crate::regress::inputs(folder.path()).unwrap(), 19);
        let shown: Vec<_> = found.iter().map(|line| (line.name.as_str(), line.passes.join(" "))).collect();
        let expected =
            [("regress/passes/gvn/a.ll", "function gvn"), ("regress/passes/gvn/clean/e.ll", "gvn")];
        assert_eq!(shown, expected.map(|(name, passes)| (name, passes.to_owned())));
        let args = found[0].line.args_for(&found[0].test);
        let path = pass.join("a.ll").to_string_lossy().into_owned();
        assert_eq!(args, ["-S", "-x", "-y", "-passes=function(gvn<no-pre>)", path.as_str()]);
    }

    #[test]
    fn lines_of_both_managers_are_found_and_others_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ll");
        let text = "; RUN: opt -passes='function(gvn,adce)' -S %s\n; RUN: opt -adce -S < %s\n; RUN: opt -old %s\n\
                    ; RUN: llc %s\n; RUN: not opt -passes=gvn %s\n";
        fs::write(&path, text).unwrap();
        let tests = [LlvmTest { path, name: "X/a.ll".into() }];
        let names = PassNames::parse(
            "Function passes:\n  adce\n  gvn\n",
            "  Optimizations available\n      --adce  - x\n      --old  - y\n",
        );
        let (found, left_out) = lines(&tests, &names).unwrap();
        let reasons: Vec<_> =
            left_out.iter().map(|line| (line.name.as_str(), line.reason.as_str())).collect();
        let expected_reasons = [
            ("X/a.ll:3", "only the legacy manager has old"),
            ("X/a.ll:4", "runs llc, not opt"),
            ("X/a.ll:5", "expects opt to fail"),
        ];
        assert_eq!(reasons, expected_reasons);
        let found: Vec<_> = found.into_iter().map(|line| (line.name, line.passes)).collect();
        let expected = |name: &str, passes: &[&str]| {
            (name.to_owned(), passes.iter().map(|pass| (*pass).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(found[0], expected("X/a.ll:1", &["function", "gvn", "adce"]));
        assert_eq!(found[1].1, ["adce"]);
    }
}
