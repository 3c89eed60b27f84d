//! The `for` loops of a C file with their counters, read from its text.
//!
//! Enough for benchmark kernels: comments and literals are skipped, macros are not expanded. A counter is what the third
//! clause counts.

use crate::program::Point;

/// A `for` loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLoop {
    /// Its counter.
    pub counter: String,
    /// Line where it begins; that of the counter's declaration if the first clause declares it.
    pub line: u32,
    /// Whether the first clause declares the counter.
    pub declares: bool,
    /// The first clause: from its bracket to the semicolon.
    pub first: (Point, Point),
    /// The condition: from semicolon to semicolon.
    pub condition: (Point, Point),
    /// Last line of the body.
    pub last_line: u32,
}

impl SourceLoop {
    /// Whether a line belongs to the loop.
    pub fn has_line(&self, line: u32) -> bool {
        (self.line..=self.last_line).contains(&line)
    }
}

/// All `for` loops, in the order of their beginnings.
pub fn for_loops(text: &str) -> Vec<SourceLoop> {
    let text = Text::new(text);
    (0..text.chars.len()).filter(|at| text.word(*at, "for")).filter_map(|at| text.for_loop(at)).collect()
}

/// A file with comments and literals blanked out.
struct Text {
    chars: Vec<char>,
    points: Vec<Point>,
}

impl Text {
    fn new(text: &str) -> Text {
        let (mut line, mut column) = (1, 1);
        let points = text.chars().map(|one| {
            let point = Point { line, column };
            if one == '\n' {
                (line, column) = (line + 1, 1);
            } else {
                column += 1;
            }
            point
        });
        let points = points.collect();
        let mut chars: Vec<char> = text.chars().collect();
        let mut at = 0;
        while at < chars.len() {
            let end = match (chars[at], chars.get(at + 1)) {
                ('/', Some('/')) => (at..chars.len()).find(|end| chars[*end] == '\n'),
                ('/', Some('*')) => (at + 3..chars.len())
                    .find(|end| chars[end - 1] == '*' && chars[*end] == '/')
                    .map(|end| end + 1),
                (quote @ ('"' | '\''), _) => (at + 1..chars.len())
                    .find(|end| chars[*end] == quote && chars[end - 1] != '\\')
                    .map(|end| end + 1),
                _ => {
                    at += 1;
                    continue;
                }
            };
            let end = end.unwrap_or(chars.len());
            chars[at..end].iter_mut().filter(|one| **one != '\n').for_each(|one| *one = ' ');
            at = end;
        }
        Text { chars, points }
    }

    fn word(&self, at: usize, word: &str) -> bool {
        let part_of_name =
            |at: usize| self.chars.get(at).is_some_and(|one| one.is_alphanumeric() || *one == '_');
        word.chars().enumerate().all(|(offset, one)| self.chars.get(at + offset) == Some(&one))
            && !part_of_name(at + word.len())
            && (at == 0 || !part_of_name(at - 1))
    }

    fn for_loop(&self, at: usize) -> Option<SourceLoop> {
        let open = self.next(at + 3)?;
        let close = self.closing(open, '(', ')')?;
        let semicolons: Vec<usize> = (open..close).filter(|at| self.chars[*at] == ';').collect();
        let [first, second] = semicolons[..] else { return None };
        let body = self.next(close + 1)?;
        let last = match self.chars[body] {
            '{' => self.closing(body, '{', '}')?,
            _ => (body..self.chars.len()).find(|at| self.chars[*at] == ';')?,
        };
        let counter = counter(&self.chars[second + 1..close])?;
        let init: String = self.chars[open + 1..first].iter().collect();
        let declares = init.split('=').next().is_some_and(|left| left.trim() != counter);
        Some(SourceLoop {
            declares,
            line: self.points[at].line,
            first: (self.points[open], self.points[first]),
            condition: (self.points[first], self.points[second]),
            last_line: self.points[last].line,
            counter,
        })
    }

    /// The next character that is no blank.
    fn next(&self, at: usize) -> Option<usize> {
        (at..self.chars.len()).find(|at| !self.chars[*at].is_whitespace())
    }

    fn closing(&self, open: usize, opens: char, closes: char) -> Option<usize> {
        let mut depth = 0;
        (open..self.chars.len()).find(|at| {
            depth += i32::from(self.chars[*at] == opens) - i32::from(self.chars[*at] == closes);
            depth == 0
        })
    }
}

/// The first name of a clause such as `i++`, `--i` or `i += n`.
fn counter(clause: &[char]) -> Option<String> {
    let name: String = clause
        .iter()
        .skip_while(|one| !one.is_alphabetic() && **one != '_')
        .take_while(|one| one.is_alphanumeric() || **one == '_')
        .collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nests_and_lone_statements() {
        let text = "// for (x; y; z)\nint f(int n) {\n  for (int i = 0; i < n; i++) {\n    for (j = i; j; --j)\n      a[i] = 1;\n  }\n  char c = ';'; for (;;) break;\n}\n";
        let loops = for_loops(text);
        let shape: Vec<_> =
            loops.iter().map(|one| (one.counter.as_str(), one.line, one.last_line, one.declares)).collect();
        assert_eq!(shape, [("i", 3, 6, true), ("j", 4, 5, false)]);
        assert_eq!(loops[0].condition, (Point { line: 3, column: 17 }, Point { line: 3, column: 24 }));
        assert!(loops[0].has_line(5) && !loops[1].has_line(6));
    }

    #[test]
    fn what_is_cut_off_is_no_loop() {
        for text in [
            "for",
            "for (",
            "for (a; b; c",
            "for (a; b; c)",
            "for (a; b; c) {",
            "for (a; b; c) x",
            "for (a; b)",
        ] {
            assert_eq!(for_loops(text), [], "{text}");
        }
    }
}
