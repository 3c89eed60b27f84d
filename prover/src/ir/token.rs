//! Words of LLVM's textual IR, one line at a time.

/// One word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// Keyword, type, number or anything else without a mark.
    Word(String),
    /// `%name`, without the mark.
    Local(String),
    /// `@name`, without the mark.
    Global(String),
    /// `!name` or `!12`, without the mark; a lone `!` is empty.
    Metadata(String),
    /// `#0` or `#dbg_value`, without the mark.
    Hash(String),
    /// `"..."` or `c"..."`, unescaped.
    Text(Vec<u8>),
    /// A bracket, comma and so on.
    Punctuation(char),
}

/// The words of a line, without its comment; the text from the first character on that begins no word if
/// there is one.
pub(super) fn tokens(line: &str) -> Result<Vec<Token>, String> {
    let mut found = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let refused = || rest.to_owned();
        let (token, after) = match first {
            ';' => break,
            '%' | '@' | '!' | '#' => {
                let (name, after) = name(&rest[1..]).ok_or_else(refused)?;
                let token = match first {
                    '%' => Token::Local(name),
                    '@' => Token::Global(name),
                    '!' => Token::Metadata(name),
                    _ => Token::Hash(name),
                };
                (token, after)
            }
            '"' => quoted(rest).map(|(text, after)| (Token::Text(text), after)).ok_or_else(refused)?,
            'c' if rest[1..].starts_with('"') => {
                quoted(&rest[1..]).map(|(text, after)| (Token::Text(text), after)).ok_or_else(refused)?
            }
            _ if is_word(first) => {
                let end = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
                (Token::Word(rest[..end].to_owned()), &rest[end..])
            }
            '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ',' | '=' | ':' | '*' | '|' => {
                (Token::Punctuation(first), &rest[1..])
            }
            _ => return Err(refused()),
        };
        found.push(token);
        rest = after.trim_start();
    }
    Ok(found)
}

/// Letters of names and numbers, as LLVM's lexer has them.
fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '$' | '-' | '+')
}

/// A plain or quoted name. Only a metadata mark may stand alone.
fn name(rest: &str) -> Option<(String, &str)> {
    if rest.starts_with('"') {
        let (text, after) = quoted(rest)?;
        return Some((String::from_utf8(text).ok()?, after));
    }
    let end = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
    Some((rest[..end].to_owned(), &rest[end..]))
}

/// Text in quotes; a backslash and two hexadecimal digits are a byte, two backslashes are one.
fn quoted(rest: &str) -> Option<(Vec<u8>, &str)> {
    let bytes = rest.as_bytes();
    let (mut text, mut at) = (Vec::new(), 1);
    loop {
        match *bytes.get(at)? {
            b'"' => return Some((text, &rest[at + 1..])),
            b'\\' if bytes.get(at + 1) == Some(&b'\\') => {
                text.push(b'\\');
                at += 2;
            }
            b'\\' => {
                text.push(u8::from_str_radix(rest.get(at + 1..at + 3)?, 16).ok()?);
                at += 3;
            }
            byte => {
                text.push(byte);
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Token {
        Token::Word(text.into())
    }

    #[test]
    fn a_line_is_cut_into_its_words() {
        let found = tokens(r#"  %.0 = add nsw i32 %"a b", -7, !dbg !19 ; comment"#).unwrap();
        let expected = [
            Token::Local(".0".into()),
            Token::Punctuation('='),
            word("add"),
            word("nsw"),
            word("i32"),
            Token::Local("a b".into()),
            Token::Punctuation(','),
            word("-7"),
            Token::Punctuation(','),
            Token::Metadata("dbg".into()),
            Token::Metadata("19".into()),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn quotes_hide_comments_and_escapes_are_bytes() {
        assert_eq!(tokens(r#"c"a;\22\\\00""#).unwrap(), [Token::Text(b"a;\"\\\0".to_vec())]);
        assert_eq!(tokens(r#"!{!"x"}"#).unwrap()[0], Token::Metadata(String::new()));
    }

    #[test]
    fn what_begins_no_word_is_refused() {
        assert_eq!(tokens("add i32 ^ 1"), Err("^ 1".into()));
        assert_eq!(tokens(r#"%"open"#), Err(r#"%"open"#.into()));
        assert_eq!(tokens(r#""\2""#), Err(r#""\2""#.into()));
    }
}
