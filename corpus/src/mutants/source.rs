//! Operators of C, in the bodies of loops: those of a loop's own condition would leave the arrays.

use super::Mutant;
use crate::random::Random;

/// Operators as the kernels write them, with what may stand there instead.
const OPERATORS: [(&str, &[&str]); 10] = [
    (" + ", &[" - ", " * ", " | ", " ^ "]),
    (" - ", &[" + ", " ^ "]),
    (" * ", &[" + ", " - ", " & "]),
    (" += ", &[" -= ", " *= ", " ^= "]),
    (" -= ", &[" += "]),
    (" *= ", &[" += "]),
    (" < ", &[" <= ", " > ", " != "]),
    (" > ", &[" >= ", " < "]),
    (" >= ", &[" > "]),
    (" == ", &[" != "]),
];

/// One operator changed.
pub(super) fn mutant(text: &str, random: &mut Random) -> Option<Mutant> {
    let mut places: Vec<(usize, &str, &[&str])> = Vec::new();
    let (mut start, mut indexing) = (0, 0i32);
    for line in text.split_inclusive('\n') {
        let outside = line.starts_with("//") || line.starts_with('#') || line.contains("for (");
        // A comment may have half-open ranges, with brackets that do not close.
        for (at, letter) in line.char_indices().filter(|_| !outside) {
            match letter {
                '[' => indexing += 1,
                ']' => indexing -= 1,
                _ => {}
            }
            // An index elsewhere may leave the array: then the source means nothing.
            if indexing > 0 {
                continue;
            }
            for (operator, others) in OPERATORS {
                if line[at..].starts_with(operator) {
                    places.push((start + at, operator, others));
                }
            }
        }
        start += line.len();
    }
    let (at, operator, others) = *random.pick(&places)?;
    let other = random.pick(others)?;
    let mut changed = text.to_owned();
    changed.replace_range(at..at + operator.len(), other);
    let line = text[..at].lines().count().max(1);
    Some(Mutant { text: changed, what: format!("line {line}:{operator}becomes{other}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "// for i in [0,9): a + b\nint f(void) {\n  for (int i = 0; i < 9; i++) {\n    a[i + 1] = b[i] * 3;\n  }\n}\n";

    #[test]
    fn only_operators_of_the_body_change() {
        for seed in 0..50 {
            let mutant = mutant(TEXT, &mut Random::new(seed)).unwrap();
            let (changed, what) = (mutant.text, mutant.what);
            let star = TEXT.find(" * ").unwrap();
            assert_eq!(changed[..star], TEXT[..star], "{what}");
            assert_ne!(changed, TEXT);
            assert!(what.starts_with("line 4: * becomes"), "{what}");
        }
    }

    #[test]
    fn nothing_to_change_is_no_mutant() {
        assert_eq!(mutant("int f(void) { return 0; }\n", &mut Random::new(1)), None);
    }
}
