//! What a script may say: declarations, definitions and assertions, and one question at the end. A command that
//! prints, or takes something back, could make a solver's answer look like another one.

/// Refuses a script that is more than that. Comments, strings and escapes are refused too: no script needs them, and
/// readers do not agree on where they end.
pub(super) fn check(script: &str) -> Result<(), String> {
    let mut commands = Vec::new();
    let (mut depth, mut quoted) = (0usize, false);
    for (at, character) in script.char_indices() {
        match character {
            '\\' => return Err("a backslash".to_owned()),
            '|' => quoted = !quoted,
            _ if quoted => {}
            ';' => return Err("a comment".to_owned()),
            '"' => return Err("a string".to_owned()),
            '(' => {
                if depth == 0 {
                    let word = |rest: &str| {
                        let end = rest.find(|next: char| !(next.is_ascii_lowercase() || next == '-'));
                        rest[..end.unwrap_or(rest.len())].to_owned()
                    };
                    commands.push(word(&script[at + 1..]));
                }
                depth += 1;
            }
            ')' => depth = depth.checked_sub(1).ok_or("a bracket that closes nothing")?,
            _ if depth == 0 && !character.is_ascii_whitespace() => {
                return Err(format!("`{character}` outside of commands"));
            }
            _ => {}
        }
    }
    if depth > 0 || quoted {
        return Err("no end".to_owned());
    }
    let harmless = ["set-logic", "set-info", "declare-fun", "declare-const", "define-fun", "assert"];
    let (last, others) = commands.split_last().ok_or("no question")?;
    if last != "check-sat" {
        return Err(format!("`{last}` at the end"));
    }
    match others.iter().find(|command| !harmless.contains(&command.as_str())) {
        Some(command) => Err(format!("`{command}`")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn one_question_and_nothing_else() {
        let plain = "(set-logic QF_AUFBV)\n(declare-fun |a (b;\"| () (_ BitVec 1))\n\
                     (define-fun |/e1| () (_ BitVec 1) |a (b;\"|)\n(assert (= |/e1| #b1))\n(check-sat)\n";
        assert_eq!(check(plain), Ok(()));
        let refused = |script: &str| check(script).unwrap_err();
        assert_eq!(refused("(echo \"unsat\")"), "a string");
        assert_eq!(refused("(echo unsat)(check-sat)"), "`echo`");
        assert_eq!(refused("(check-sat)(check-sat)"), "`check-sat`");
        assert_eq!(refused("(check-sat)(exit)"), "`exit` at the end");
        assert_eq!(refused("(push)(assert a)(pop)(check-sat)"), "`push`");
        assert_eq!(refused("(assert |a\\|b|)(check-sat)"), "a backslash");
        assert_eq!(refused("unsat (check-sat)"), "`u` outside of commands");
        assert_eq!(refused("( assert a)(check-sat)"), "``");
        assert_eq!(refused("(check-sat"), "no end");
        assert_eq!(refused(""), "no question");
    }
}
