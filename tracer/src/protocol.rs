//! What goes between us and the script inside a debugger.
//!
//! One line of JSON per message. The script connects to a socket in the session's folder and says `hello`; from
//! then on each request of ours gets exactly one answer, in order. It ends when we close the socket. An answer of
//! another kind than the request asks for, or a line that is no answer at all, ends the session with an error.
//!
//! 1. `start` runs the program up to its very first instruction; the answer has the distance between the
//!    addresses in the file and those in memory. All other addresses that are sent are those of the file.
//! 2. `break`, `break_line`, `remove`, `ignore`, `watch` change what happens later.
//! 3. `resume` and `step` move; the answer says where the program stopped, or how it ended. `look` stays.
//! 4. `memory` and `backtrace` ask; `passed` ends an `ignore` and says what came of it; `count` runs to the end.
//!
//! `failed` is an answer to everything and leaves the session as it was.

use serde::{Deserialize, Serialize};

use crate::value::{Known, Value, Variable};

/// What we ask.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request<'a> {
    /// Runs a program up to its first instruction.
    Start {
        /// The file.
        program: &'a str,
        /// Its arguments.
        args: &'a [String],
        /// Where it runs.
        folder: &'a str,
        /// Its entry point in the file.
        entry: u64,
        /// Size of its addresses.
        word_bytes: u32,
        /// Which of the cores that we may use.
        cpu: usize,
    },
    /// Stops at these addresses.
    Break {
        /// In the file.
        addresses: &'a [u64],
    },
    /// Stops where the debugger thinks that a line begins.
    BreakLine {
        /// As it would be typed.
        file: &'a str,
        /// The line.
        line: u32,
    },
    /// No longer stops at these addresses.
    Remove {
        /// In the file.
        addresses: &'a [u64],
    },
    /// Goes on at these breakpoints so many times before it stops there.
    Ignore {
        /// In the file.
        addresses: &'a [u64],
        /// How often.
        times: u32,
    },
    /// How often the program came to these breakpoints since they are ignored, which they no longer are.
    Passed {
        /// In the file.
        addresses: &'a [u64],
    },
    /// The memory that [`Want::memory`] is about.
    Watch {
        /// Begin in the file, and length.
        ranges: &'a [(u64, u64)],
    },
    /// Runs to the next breakpoint, or to the end.
    Resume {
        /// What to say then.
        want: Want,
    },
    /// One step.
    Step {
        /// How long.
        by: By,
        /// What to say then.
        want: Want,
    },
    /// Says where the program is.
    Look {
        /// What to say.
        want: Want,
    },
    /// Reads memory.
    Memory {
        /// In the file.
        address: u64,
        /// How much.
        length: u64,
    },
    /// The functions of the user that are active, innermost first.
    Backtrace,
    /// Runs to the end of the program and counts how often it comes to these addresses. They must have no breakpoints.
    Count {
        /// In the file.
        addresses: &'a [u64],
    },
}

impl Request<'_> {
    /// Its name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Request::Start { .. } => "start",
            Request::Break { .. } => "break",
            Request::BreakLine { .. } => "break by line",
            Request::Remove { .. } => "remove",
            Request::Ignore { .. } => "ignore",
            Request::Passed { .. } => "passed",
            Request::Watch { .. } => "watch",
            Request::Resume { .. } => "resume",
            Request::Step { .. } => "step",
            Request::Look { .. } => "look",
            Request::Memory { .. } => "memory",
            Request::Backtrace => "backtrace",
            Request::Count { .. } => "count",
        }
    }
}

/// What is said of a stop beside its place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Want {
    /// All variables of the frame.
    pub variables: bool,
    /// A digest of each watched range.
    pub memory: bool,
}

/// How far a step goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// One instruction, into calls.
    Instruction,
    /// To another line, into calls of functions with debug information.
    Line,
}

/// What comes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The script is there.
    Hello {
        /// Name of the debugger.
        debugger: String,
        /// Its version, in its words.
        version: String,
    },
    /// The program is there.
    Started {
        /// Address in memory less address in the file.
        bias: u64,
        /// Its process.
        process: i32,
    },
    /// Done.
    Done,
    /// Where a line begins.
    Broken(Vec<u64>),
    /// The program stopped.
    Stopped(Stop),
    /// The program ended.
    Exited(i64),
    /// A signal ended the program.
    Killed(i64),
    /// Bytes.
    Memory(Vec<u8>),
    /// Active functions.
    Frames(Vec<Frame>),
    /// How often the program came to each address.
    Counted(Vec<u64>),
    /// It could not be done.
    Failed(String),
}

/// A stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// Why.
    pub why: Why,
    /// The next instruction, in the file.
    pub pc: u64,
    /// What the debugger shows as the line.
    pub line: Option<u32>,
    /// The function.
    pub function: Option<String>,
    /// All variables of the frame, if they were asked for.
    pub variables: Vec<Variable>,
    /// A digest of each watched range, if they were asked for.
    pub memory: Vec<u64>,
}

/// Why a program stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// A breakpoint.
    Breakpoint,
    /// A step ended.
    Step,
    /// It did not move.
    Look,
    /// It got a signal.
    Signal(String),
}

/// An active function of the user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// Its name.
    pub function: String,
    /// Where it is, in the file.
    pub pc: u64,
    /// The line.
    pub line: u32,
}

/// Reads an answer.
pub fn parse(line: &[u8]) -> Result<Answer, String> {
    let wire: Wire = serde_json::from_slice(line).map_err(|reason| {
        let start: String = String::from_utf8_lossy(line).chars().take(80).collect();
        format!("not an answer ({reason}): {start}")
    })?;
    wire.meant()
}

/// An answer as it is written.
#[derive(Debug, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
enum Wire {
    Hello {
        debugger: String,
        version: String,
    },
    Started {
        bias: u64,
        process: i32,
    },
    Done {},
    Broken {
        addresses: Vec<u64>,
    },
    Stopped {
        why: String,
        signal: Option<String>,
        pc: u64,
        line: Option<u32>,
        function: Option<String>,
        #[serde(default)]
        variables: Vec<WireVariable>,
        #[serde(default)]
        memory: Vec<String>,
    },
    Exited {
        code: i64,
    },
    Killed {
        signal: i64,
    },
    Memory {
        bytes: String,
    },
    Frames {
        frames: Vec<Frame>,
    },
    Counted {
        hits: Vec<u64>,
    },
    Failed {
        reason: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireVariable {
    name: String,
    line: u32,
    state: State,
    kind: Option<Kind>,
    text: Option<String>,
    bits: Option<u32>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum State {
    Known,
    OptimisedOut,
    Unreadable,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Integer,
    Pointer,
    Bytes,
}

impl Wire {
    fn meant(self) -> Result<Answer, String> {
        Ok(match self {
            Wire::Hello { debugger, version } => Answer::Hello { debugger, version },
            Wire::Started { bias, process } => Answer::Started { bias, process },
            Wire::Done {} => Answer::Done,
            Wire::Broken { addresses } => Answer::Broken(addresses),
            Wire::Exited { code } => Answer::Exited(code),
            Wire::Killed { signal } => Answer::Killed(signal),
            Wire::Memory { bytes } => Answer::Memory(unhex(&bytes)?),
            Wire::Frames { frames } => Answer::Frames(frames),
            Wire::Counted { hits } => Answer::Counted(hits),
            Wire::Failed { reason } => Answer::Failed(reason),
            Wire::Stopped { why, signal, pc, line, function, variables, memory } => Answer::Stopped(Stop {
                why: match (why.as_str(), signal) {
                    ("breakpoint", None) => Why::Breakpoint,
                    ("step", None) => Why::Step,
                    ("look", None) => Why::Look,
                    ("signal", Some(signal)) => Why::Signal(signal),
                    _ => return Err(format!("stopped for an unknown reason: {why}")),
                },
                pc,
                line,
                function,
                variables: variables.into_iter().map(WireVariable::meant).collect::<Result<_, _>>()?,
                memory: memory.iter().map(|digest| number(digest)).collect::<Result<_, _>>()?,
            }),
        })
    }
}

impl WireVariable {
    fn meant(self) -> Result<Variable, String> {
        let WireVariable { name, line, state, kind, text, bits } = self;
        let value = match (state, kind, text) {
            (State::OptimisedOut, None, None) => Value::OptimisedOut,
            (State::Unreadable, None, words) => Value::Unreadable(words.unwrap_or_default()),
            (State::Known, Some(kind), Some(text)) => Value::Known(known(kind, &text, bits)?),
            _ => return Err(format!("a variable that is neither known nor missing: {name}")),
        };
        Ok(Variable { name, line, value })
    }
}

fn known(kind: Kind, text: &str, bits: Option<u32>) -> Result<Known, String> {
    match kind {
        Kind::Pointer => Ok(Known::Pointer(number(text)?)),
        Kind::Bytes => Ok(Known::Bytes(unhex(text)?)),
        Kind::Integer => {
            let value: i128 = text.parse().map_err(|_| format!("not a number: {text}"))?;
            let bits = bits.filter(|bits| (1..=64).contains(bits)).ok_or("an integer without a width")?;
            if value < -(1 << (bits - 1)) || value >= 1 << bits {
                return Err(format!("{value} does not fit into {bits} bits"));
            }
            Ok(Known::Integer { value, bits })
        }
    }
}

fn number(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text, 16).map_err(|_| format!("not a hexadecimal number: {text}"))
}

fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pair = |pair: &[u8]| match *pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    text.as_bytes().chunks(2).map(pair).collect::<Option<_>>().ok_or_else(|| "bytes that are none".to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stopped(variable: &str) -> Result<Answer, String> {
        let line = format!(r#"{{"answer":"stopped","why":"step","pc":16,"variables":[{variable}]}}"#);
        parse(line.as_bytes())
    }

    fn value(variable: &str) -> Result<Value, String> {
        match stopped(variable)? {
            Answer::Stopped(stop) => Ok(stop.variables[0].value.clone()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_keep_their_kind() {
        let known = r#"{"name":"i","line":3,"state":"known","kind":"integer","text":"-5","bits":32}"#;
        assert_eq!(value(known).unwrap().integer(), Some(-5));
        let largest = r#"{"name":"u","line":3,"state":"known","kind":"integer","text":"18446744073709551615","bits":64}"#;
        assert_eq!(value(largest).unwrap().integer(), Some(u64::MAX.into()));
        let pointer = r#"{"name":"p","line":3,"state":"known","kind":"pointer","text":"ffffd000","bits":32}"#;
        assert_eq!(value(pointer).unwrap(), Value::Known(Known::Pointer(0xffffd000)));
        let gone = r#"{"name":"i","line":3,"state":"optimised_out"}"#;
        assert_eq!(value(gone).unwrap(), Value::OptimisedOut);
        let unreadable = r#"{"name":"i","line":3,"state":"unreadable","text":"why"}"#;
        assert_eq!(value(unreadable).unwrap(), Value::Unreadable("why".into()));
    }

    #[test]
    fn what_is_no_answer_is_refused_with_a_reason() {
        for (line, reason) in [
            ("", "not an answer"),
            ("{}", "not an answer"),
            (r#"{"answer":"stopped","why":"boredom","pc":1}"#, "unknown reason"),
            (r#"{"answer":"stopped","why":"signal","pc":1}"#, "unknown reason"),
            (r#"{"answer":"memory","bytes":"123"}"#, "bytes that are none"),
            (r#"{"answer":"done","more":1}"#, "not an answer"),
        ] {
            let error = parse(line.as_bytes()).unwrap_err();
            assert!(error.contains(reason), "{line}: {error}");
        }
        for (variable, reason) in [
            (r#"{"name":"i","line":3,"state":"known"}"#, "neither known nor missing"),
            (r#"{"name":"i","line":3,"state":"optimised_out","kind":"bytes","text":""}"#, "neither"),
            (
                r#"{"name":"i","line":3,"state":"known","kind":"integer","text":"five","bits":32}"#,
                "not a number",
            ),
            (r#"{"name":"i","line":3,"state":"known","kind":"integer","text":"5"}"#, "without a width"),
            (r#"{"name":"i","line":3,"state":"known","kind":"integer","text":"256","bits":8}"#, "fit into 8"),
        ] {
            let error = stopped(variable).unwrap_err();
            assert!(error.contains(reason), "{variable}: {error}");
        }
    }

    const WORDS: [&str; 30] = [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"answer\"",
        "\"stopped\"",
        "\"why\"",
        "\"step\"",
        "\"pc\"",
        "\"variables\"",
        "\"name\"",
        "\"line\"",
        "\"state\"",
        "\"known\"",
        "\"kind\"",
        "\"integer\"",
        "\"text\"",
        "\"bits\"",
        "\"memory\"",
        "\"bytes\"",
        "0",
        "-1",
        "64",
        "170141183460469231731687303715884105728",
        "null",
        "\"ff\"",
        "\"\\ud800\"",
        "1e400",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Whatever a debugger prints, it is an answer or an error.
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn no_words_make_it_panic(words in proptest::collection::vec(0..WORDS.len(), 0..60)) {
            let text: String = words.iter().map(|word| WORDS[*word]).collect();
            let _ = parse(text.as_bytes());
        }

        /// A message that is cut or has one byte changed is refused or still a message, and never panics.
        #[test]
        fn no_damage_makes_it_panic(cut in 0usize..300, at in 0usize..300, byte in any::<u8>()) {
            let whole = br#"{"answer":"stopped","why":"signal","signal":"SIGSEGV","pc":4198400,"line":7,"function":"f","variables":[{"name":"i","line":3,"state":"known","kind":"integer","text":"-5","bits":32}],"memory":["00ff00ff00ff00ff"]}"#;
            let mut line = whole.to_vec();
            if at < line.len() {
                line[at] = byte;
            }
            line.truncate(cut);
            let _ = parse(&line);
        }

        #[test]
        fn integers_of_every_width_come_through(bits in 1u32..=64, raw in any::<u64>(), signed in any::<bool>()) {
            let low = raw & (u64::MAX >> (64 - bits));
            let number = if signed { i128::from((low << (64 - bits)) as i64 >> (64 - bits)) } else { i128::from(low) };
            let text = format!(r#"{{"name":"v","line":1,"state":"known","kind":"integer","text":"{number}","bits":{bits}}}"#);
            prop_assert_eq!(value(&text).unwrap().integer(), Some(number));
        }
    }
}
