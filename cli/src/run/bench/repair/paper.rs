//! The figures of the debug-headers paper: tables II and III, with clang 12 and gcc 8.4 for i386.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::args::KernelCompiler;

/// T, U, V, O, M and I of one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Figures {
    pub t: usize,
    pub u: usize,
    pub v: usize,
    pub o: usize,
    pub m: usize,
    pub i: usize,
}

/// By kernel, of the compiler of the same family.
pub fn read(path: &Path, compiler: KernelCompiler) -> Result<BTreeMap<String, Figures>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let family = match compiler {
        KernelCompiler::Gcc12 => "gcc",
        KernelCompiler::Clang19 => "clang",
    };
    let mut found = BTreeMap::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let wrong = || format!("{}:{}: not a row of figures", path.display(), number + 1);
        let fields: Vec<&str> = line.split('\t').collect();
        let [of, name, numbers @ ..] = &fields[..] else { anyhow::bail!(wrong()) };
        let numbers: Vec<usize> =
            numbers.iter().map(|text| text.parse()).collect::<Result<_, _>>().with_context(wrong)?;
        let [t, u, v, o, m, i] = numbers[..] else { anyhow::bail!(wrong()) };
        if *of == family {
            found.insert((*name).to_owned(), Figures { t, u, v, o, m, i });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_are_those_of_the_paper() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../regress/repair/paper.tsv");
        let clang = read(&path, KernelCompiler::Clang19).unwrap();
        assert_eq!(clang["s000"], Figures { t: 19, u: 14, v: 1, o: 17, m: 0, i: 14 });
        // The averages below table II, rounded as there.
        let mean =
            |of: fn(&Figures) -> usize| clang.values().map(of).sum::<usize>() as f64 / clang.len() as f64;
        assert_eq!(
            [mean(|f| f.t), mean(|f| f.u), mean(|f| f.o), mean(|f| f.m)].map(f64::round),
            [27.0, 18.0, 36.0, 6.0]
        );
        assert_eq!(read(&path, KernelCompiler::Gcc12).unwrap().len(), 42);
    }
}
