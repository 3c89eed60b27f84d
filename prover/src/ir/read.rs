//! A module from its text, line by line.

use super::cursor::Cursor;
use super::initialiser::initialiser;
use super::instruction::{Block, Record};
use super::metadata::Metadata;
use super::read_call::{Extension, attributes};
use super::read_instruction::{instruction, record};
use super::token::{Token, tokens};
use super::types::{DataLayout, Type};
use super::{Function, Global, IrError, Module, Parameter, unusual};
use std::collections::{BTreeMap, BTreeSet};

/// Lines with their numbers.
type Lines<'a> = std::iter::Peekable<std::iter::Enumerate<std::str::Lines<'a>>>;

pub(super) fn module(file: &str, text: &str) -> Result<Module, IrError> {
    let layout = data_layout(file, text)?;
    let mut module = Module {
        external: BTreeSet::new(),
        unfollowed: BTreeMap::new(),
        file: file.to_owned(),
        layout,
        globals: Vec::new(),
        metadata: Metadata::default(),
        functions: Vec::new(),
    };
    named_types(&mut module, text)?;
    let mut lines = text.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let malformed =
            |reason: String| IrError::Malformed { file: file.to_owned(), line: number + 1, reason };
        module.external.extend(external(line));
        if line.starts_with("define ") {
            let words = tokens(line).map_err(&malformed)?;
            let mut function = header(&words, &module.layout).map_err(&malformed)?;
            body(file, &module.layout, &mut lines, &mut function)?;
            module.functions.push(function);
        } else if line.starts_with('@') {
            let words = tokens(line).map_err(&malformed)?;
            // A function that names one that is not followed is unsupported.
            if let [Token::Global(symbol), Token::Punctuation('='), rest @ ..] = words.as_slice() {
                match global(symbol, rest, &module.layout) {
                    Ok(global) => module.globals.push(global),
                    Err(reason) => drop(module.unfollowed.insert(symbol.clone(), reason)),
                }
            }
        } else if line.starts_with('!') {
            module.metadata.take(line);
        } else if !is_known(line) {
            return Err(malformed(format!("unexpected `{}`", line.chars().take(40).collect::<String>())));
        }
    }
    unusual::refuse(text, &mut module.functions);
    // It may define symbols, and make two of them one.
    if text.lines().any(|line| line.starts_with("module asm ")) {
        for function in &mut module.functions {
            function.refused.get_or_insert_with(|| "assembly at file level".to_owned());
        }
    }
    Ok(module)
}

/// The symbol that a line declares or defines, unless only this file has it.
fn external(line: &str) -> Option<String> {
    let functions = line.starts_with("define ") || line.starts_with("declare ");
    if !functions && !line.starts_with('@') {
        return None;
    }
    let words = tokens(line).ok()?;
    let at = words.iter().position(|token| matches!(token, Token::Global(_)))?;
    let linkage = if functions { &words[..at] } else { words.get(at + 2..at + 4).unwrap_or(&[]) };
    let own = |token: &Token| matches!(token, Token::Word(word) if word == "internal" || word == "private");
    match &words[at] {
        Token::Global(name) if !linkage.iter().any(own) => Some(name.clone()),
        _ => None,
    }
}

/// Lines that say nothing about what a function does.
fn is_known(line: &str) -> bool {
    let plain = ["source_filename", "target ", "declare ", "attributes #", "%", "$", ";", "module asm "];
    line.is_empty() || plain.iter().any(|start| line.starts_with(start))
}

fn data_layout(file: &str, text: &str) -> Result<DataLayout, IrError> {
    let stated = text.lines().find_map(|line| line.strip_prefix("target datalayout = "));
    let found = stated.unwrap_or("none").trim_matches('"');
    DataLayout::parse(found).ok_or_else(|| IrError::Layout { file: file.to_owned(), found: found.to_owned() })
}

/// `%name = type ...`: all of them first, as lines above may use those below.
fn named_types(module: &mut Module, text: &str) -> Result<(), IrError> {
    for (number, line) in text.lines().enumerate().filter(|(_, line)| line.starts_with('%')) {
        let malformed = |reason| IrError::Malformed { file: module.file.clone(), line: number + 1, reason };
        let words = tokens(line).map_err(malformed)?;
        let malformed = |reason| IrError::Malformed { file: module.file.clone(), line: number + 1, reason };
        if let [Token::Local(name), Token::Punctuation('='), Token::Word(kind), rest @ ..] = words.as_slice()
            && kind == "type"
        {
            let of = Cursor::new(rest, &module.layout).type_name().map_err(malformed)?;
            module.layout.named.insert(name.clone(), of);
        }
    }
    Ok(())
}

/// `@name = LINKAGE global|constant TYPE [INITIALISER], align N`.
fn global(symbol: &str, rest: &[Token], layout: &DataLayout) -> Result<Global, &'static str> {
    let kind = rest
        .iter()
        .position(|token| matches!(token, Token::Word(word) if word == "global" || word == "constant"))
        .ok_or("which is no variable")?;
    let word = |wanted: &str| rest[..kind].contains(&Token::Word(wanted.to_owned()));
    if word("thread_local") {
        return Err("of which each thread has its own");
    }
    if word("addrspace") {
        return Err("in an address space of its own");
    }
    if word("extern_weak") {
        return Err("which may not be there");
    }
    let constant = rest[kind] == Token::Word("constant".to_owned());
    // Another definition may win over one that is not the program's last word.
    let settled = word("internal") || word("private");
    let mut cursor = Cursor::new(&rest[kind + 1..], layout);
    let unknown = "of a type that is not followed";
    let of = cursor.type_name().map_err(|_| unknown)?;
    let size_bytes = layout.size_bytes(&of).ok_or(unknown)?;
    // `extern int a[]` is as large as its definition says.
    if word("external") && is_open_ended(layout, &of) {
        return Err("which is declared without its size");
    }
    let defined = !word("external") && !word("extern_weak");
    let initial = initialiser(&mut cursor, &of).filter(|_| defined);
    let bytes = initial.clone().filter(|_| constant && settled);
    let align = rest.windows(2).find_map(|pair| match pair {
        [Token::Word(align), Token::Word(bytes)] if align == "align" => bytes.parse().ok(),
        _ => None,
    });
    let align_bytes = align.or(layout.align_bytes(&of)).ok_or(unknown)?;
    let symbol = symbol.to_owned();
    Ok(Global {
        symbol,
        size_bytes,
        align_bytes,
        constant: bytes,
        read_only: constant,
        internal: settled,
        defined,
        initial,
    })
}

/// Whether something of this type may be followed by more of itself: an array without elements, or what ends in one.
fn is_open_ended(layout: &DataLayout, of: &Type) -> bool {
    layout.size_bytes(of) == Some(0)
        || match of {
            Type::Array(_, of) => is_open_ended(layout, of),
            Type::Struct { fields, .. } => fields.last().is_some_and(|last| is_open_ended(layout, last)),
            Type::Named(name) => layout.named.get(name).is_none_or(|of| is_open_ended(layout, of)),
            _ => false,
        }
}

/// `define ... TYPE @name(PARAMETERS) ... {`.
fn header(words: &[Token], layout: &DataLayout) -> Result<Function, String> {
    let at = words.iter().position(|token| matches!(token, Token::Global(_)));
    let at = at.ok_or("a function without a name")?;
    let Token::Global(name) = &words[at] else { return Err("a function without a name".into()) };
    // The type ends where the name begins; attributes before it may look like types of their own.
    let returns = (1..at).find_map(|start| {
        let mut cursor = Cursor::new(&words[start..at], layout);
        cursor.type_name().ok().filter(|_| cursor.rest.is_empty())
    });
    let mut function = Function {
        name: name.clone(),
        returns: returns.ok_or("a function without a result type")?,
        returns_extension: words[1..at].iter().find_map(extension).unwrap_or(Extension::None),
        parameters: Vec::new(),
        blocks: Vec::new(),
        refused: None,
    };
    let before = words[1..at].iter();
    // All but `ccc` pass parameters in places of their own.
    let mut convention = before.filter_map(|token| match token {
        Token::Word(word) if word.ends_with("cc") && word != "ccc" => Some(word),
        _ => None,
    });
    function.refused = convention.next_back().map(|word| format!("calling convention {word}"));
    let mut cursor = Cursor::new(&words[at + 1..], layout);
    cursor.expect('(')?;
    match cursor.list(')', parameter) {
        Ok(parameters) => function.parameters = parameters,
        Err(reason) => function.refused = Some(format!("parameters ({reason})")),
    }
    Ok(function)
}

fn extension(token: &Token) -> Option<Extension> {
    match token {
        Token::Word(word) if word == "zeroext" => Some(Extension::Zero),
        Token::Word(word) if word == "signext" => Some(Extension::Sign),
        _ => None,
    }
}

fn parameter(cursor: &mut Cursor) -> Result<Parameter, String> {
    if cursor.word("...") {
        return Err("variable number of arguments".into());
    }
    let of = cursor.type_name()?;
    let extension = attributes(cursor)?;
    match cursor.next()? {
        Token::Local(name) => Ok(Parameter { name: name.clone(), of, extension }),
        other => Err(format!("{other:?}")),
    }
}

fn body(file: &str, layout: &DataLayout, lines: &mut Lines, function: &mut Function) -> Result<(), IrError> {
    let mut records: Vec<Record> = Vec::new();
    while let Some((number, line)) = lines.next() {
        let malformed =
            |reason: String| IrError::Malformed { file: file.to_owned(), line: number + 1, reason };
        if line == "}" {
            return Ok(());
        }
        let mut words = tokens(line).map_err(&malformed)?;
        if opens_list(&words) {
            for (_, line) in lines.by_ref() {
                words.extend(tokens(line).map_err(&malformed)?);
                if line.trim_start().starts_with(']') {
                    break;
                }
            }
        }
        match words.as_slice() {
            [] => {}
            [Token::Word(label), Token::Punctuation(':'), ..] => {
                function.blocks.push(Block { label: label.clone(), instructions: Vec::new() });
            }
            [Token::Text(label), Token::Punctuation(':'), ..] => {
                let label = String::from_utf8_lossy(label).into_owned();
                function.blocks.push(Block { label, instructions: Vec::new() });
            }
            [Token::Hash(_), ..] => records.extend(record(&words, layout)),
            words => {
                if function.blocks.is_empty() {
                    function.blocks.push(Block { label: entry_label(function), instructions: Vec::new() });
                }
                let read = instruction(words, layout, std::mem::take(&mut records));
                if let Some(block) = function.blocks.last_mut() {
                    block.instructions.push(read);
                }
            }
        }
    }
    Err(IrError::Malformed { file: file.to_owned(), line: 0, reason: "a function without an end".into() })
}

/// A switch goes on until its list is closed.
fn opens_list(words: &[Token]) -> bool {
    matches!(words, [Token::Word(opcode), ..] if opcode == "switch")
        && !words.contains(&Token::Punctuation(']'))
}

/// An entry block without a label has the number after the unnamed parameters.
fn entry_label(function: &Function) -> String {
    let unnamed =
        function.parameters.iter().filter(|parameter| parameter.name.parse::<u32>().is_ok()).count();
    unnamed.to_string()
}
