//! The part of the shell language that LLVM's RUN lines use, split into words and operators.
//!
//! Follows lit's internal shell, not `sh`: parentheses, globs and braces are ordinary characters. What lit
//! does not support in a RUN line either (`$VAR`, backquotes, here-documents) is refused.

/// A piece of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// An argument, quotes and escapes removed.
    Word(String),
    /// `|` between two commands.
    Pipe,
    /// `&&`, `||`, `;` or `&`.
    Sequence(&'static str),
    /// A redirection; the word after it is the target, except for [`RedirectKind::ErrToOut`].
    Redirect(RedirectKind),
}

/// The redirections that RUN lines use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectKind {
    /// `<`
    In,
    /// `>` or `>>` of standard output.
    Out,
    /// `2>` or `2>>`
    Err,
    /// `2>&1`
    ErrToOut,
    /// `&>` or `>&`: both into one file.
    Both,
}

/// Why a line could not be split.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// A quote that is not closed.
    #[error("unclosed {0} quote")]
    Unclosed(char),
    /// Expansion, here-documents and the like.
    #[error("shell feature not supported: {0}")]
    Unsupported(String),
}

/// Splits a command line into tokens.
pub fn split(line: &str) -> Result<Vec<Token>, SplitError> {
    let mut splitter = Splitter { rest: line.chars().peekable(), tokens: Vec::new(), word: None };
    splitter.run()?;
    Ok(splitter.tokens)
}

struct Splitter<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    tokens: Vec<Token>,
    /// The word being read and whether any of it was quoted; `None` between words.
    word: Option<(String, bool)>,
}

impl Splitter<'_> {
    fn run(&mut self) -> Result<(), SplitError> {
        while let Some(c) = self.rest.next() {
            match c {
                c if c.is_whitespace() => self.end_word(),
                '\'' | '"' => self.quoted(c)?,
                '\\' => {
                    // A backslash at the very end escapes nothing.
                    let escaped = self.rest.next();
                    self.quoted_word().extend(escaped);
                }
                '$' | '`' => return Err(SplitError::Unsupported(c.into())),
                '|' | '&' | ';' | '<' | '>' => self.operator(c)?,
                c => self.word().push(c),
            }
        }
        self.end_word();
        Ok(())
    }

    fn word(&mut self) -> &mut String {
        &mut self.word.get_or_insert_default().0
    }

    fn quoted_word(&mut self) -> &mut String {
        let word = self.word.get_or_insert_default();
        word.1 = true;
        &mut word.0
    }

    fn end_word(&mut self) {
        if let Some((word, _)) = self.word.take() {
            self.tokens.push(Token::Word(word));
        }
    }

    fn quoted(&mut self, quote: char) -> Result<(), SplitError> {
        self.quoted_word();
        loop {
            match self.rest.next().ok_or(SplitError::Unclosed(quote))? {
                c if c == quote => return Ok(()),
                '\\' if quote == '"' && matches!(self.rest.peek(), Some('"' | '\\')) => {
                    let escaped = self.rest.next();
                    self.word().extend(escaped);
                }
                c => self.word().push(c),
            }
        }
    }

    fn next_is(&mut self, c: char) -> bool {
        self.rest.next_if_eq(&c).is_some()
    }

    fn operator(&mut self, c: char) -> Result<(), SplitError> {
        // A digit glued to `<` or `>` is a descriptor, not a word, unless it was quoted.
        let descriptor = match &self.word {
            Some((word, false)) if matches!(c, '<' | '>') && word.chars().all(|c| c.is_ascii_digit()) => {
                self.word.take().map(|(word, _)| word)
            }
            _ => None,
        };
        self.end_word();
        let token = match (c, descriptor.as_deref()) {
            ('|', _) if self.next_is('|') => Token::Sequence("||"),
            ('|', _) if self.next_is('&') => {
                self.tokens.push(Token::Redirect(RedirectKind::ErrToOut));
                Token::Pipe
            }
            ('|', _) => Token::Pipe,
            ('&', _) if self.next_is('&') => Token::Sequence("&&"),
            ('&', _) if self.next_is('>') => {
                self.next_is('>');
                Token::Redirect(RedirectKind::Both)
            }
            ('&', _) => Token::Sequence("&"),
            (';', _) => Token::Sequence(";"),
            ('<', None | Some("0")) if self.rest.peek() != Some(&'<') => Token::Redirect(RedirectKind::In),
            ('>', descriptor) => return self.output(descriptor.map(str::to_owned)),
            _ => return Err(SplitError::Unsupported(format!("{}{c}", descriptor.unwrap_or_default()))),
        };
        self.tokens.push(token);
        Ok(())
    }

    fn output(&mut self, descriptor: Option<String>) -> Result<(), SplitError> {
        let append = self.next_is('>');
        let duplicate = !append && self.next_is('&');
        let kind = match (descriptor.as_deref(), duplicate) {
            (None | Some("1"), false) => RedirectKind::Out,
            (Some("2"), false) => RedirectKind::Err,
            (Some("2"), true) if self.next_is('1') => RedirectKind::ErrToOut,
            (None, true) if !matches!(self.rest.peek(), Some('0'..='9' | '-')) => RedirectKind::Both,
            _ => return Err(SplitError::Unsupported(format!("{}>&", descriptor.unwrap_or_default()))),
        };
        self.tokens.push(Token::Redirect(kind));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(line: &str) -> Vec<String> {
        let text = |token| match token {
            Token::Word(word) => word,
            other => format!("{other:?}"),
        };
        split(line).unwrap().into_iter().map(text).collect()
    }

    #[test]
    fn quotes_and_escapes_are_removed_and_keep_what_they_protect() {
        assert_eq!(
            words(r#"a 'b c' d"e f"g 'h"i' "j\"k\\l\m" n\ o"#),
            ["a", "b c", "de fg", "h\"i", "j\"k\\l\\m", "n o"]
        );
        assert_eq!(words("-passes='default<O2>' ''"), ["-passes=default<O2>", ""]);
        assert_eq!(words("-passes=loop(licm) *.ll {x}"), ["-passes=loop(licm)", "*.ll", "{x}"]);
    }

    #[test]
    fn operators_need_no_spaces() {
        use RedirectKind::*;
        let redirect = Token::Redirect;
        assert_eq!(
            split("a<b 2>&1|c>d").unwrap(),
            [
                Token::Word("a".into()),
                redirect(In),
                Token::Word("b".into()),
                redirect(ErrToOut),
                Token::Pipe,
                Token::Word("c".into()),
                redirect(Out),
                Token::Word("d".into()),
            ]
        );
        assert_eq!(split("a 2> b").unwrap()[1], redirect(Err));
        assert_eq!(split("a &> b").unwrap()[1], redirect(Both));
        assert_eq!(split("a |& b").unwrap()[1..3], [redirect(ErrToOut), Token::Pipe]);
        assert_eq!(split("a && b").unwrap()[1], Token::Sequence("&&"));
    }

    #[test]
    fn a_digit_is_a_descriptor_only_when_it_is_bare_and_glued() {
        assert_eq!(words("a 2 > b")[1], "2");
        assert_eq!(words("a '2'> b")[1], "2");
        assert_eq!(words("-O2> b")[0], "-O2");
    }

    #[test]
    fn what_lit_cannot_do_is_refused() {
        assert_eq!(split("a 'b"), Err(SplitError::Unclosed('\'')));
        for line in ["echo $X", "a `b`", "cat << EOF", "a 3> b", "a 1>&2"] {
            assert!(matches!(split(line), Err(SplitError::Unsupported(_))), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(line in ".*") {
            let _ = split(&line);
        }

        #[test]
        fn single_quoting_any_word_gives_it_back(word in "[^']*") {
            prop_assert_eq!(split(&format!("'{word}'")).unwrap(), vec![Token::Word(word)]);
        }
    }
}
