//! Where the references in a text are.

/// How deep a default may hold references with defaults.
const MAX_DEPTH: usize = 8;

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Literal(&'a str),
    Reference(Reference<'a>),
}

/// `${…}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference<'a> {
    pub(crate) scope: Scope<'a>,
    pub(crate) name: &'a str,
    /// What stands behind `:-`; it may hold references.
    pub(crate) default: Option<&'a str>,
    /// All before the default.
    pub(crate) head: &'a str,
}

/// What a reference is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope<'a> {
    Plain,
    Env,
    Input,
    Secret,
    File,
    Unknown(&'a str),
}

impl Reference<'_> {
    /// The reference with its default.
    pub(crate) fn whole(&self) -> String {
        match self.default {
            Some(default) => format!("${{{}:-{default}}}", self.head),
            None => self.written(),
        }
    }

    /// The reference without its default.
    pub(crate) fn written(&self) -> String {
        format!("${{{}}}", self.head)
    }
}

/// Takes a text apart. In a `literal` one nothing was ever replaced by the product that it was written for, so what
/// does not look like a reference of ours stays as it is, and two dollars are one only in front of what does.
///
/// # Errors
/// When a reference does not end, or has no name.
pub(crate) fn parse(text: &str, literal: bool) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        pieces.push(Piece::Literal(&rest[..at]));
        let from = &rest[at..];
        if literal {
            rest = take_literal(from, &mut pieces);
        } else if let Some(after) = from.strip_prefix("$$") {
            pieces.push(Piece::Literal("$"));
            rest = after;
        } else if let Some(body) = from.strip_prefix("${") {
            let (reference, after) = referred(body)?;
            pieces.push(Piece::Reference(reference));
            rest = after;
        } else {
            pieces.push(Piece::Literal("$"));
            rest = &from[1..];
        }
    }
    pieces.push(Piece::Literal(rest));
    pieces.retain(|piece| *piece != Piece::Literal(""));
    Ok(pieces)
}

/// Takes the dollars that a text begins with, and the reference behind them. Returns what comes next.
fn take_literal<'a>(text: &'a str, pieces: &mut Vec<Piece<'a>>) -> &'a str {
    let rest = text.trim_start_matches('$');
    let dollars = text.len() - rest.len();
    let Some(Ok((reference, after))) = rest.strip_prefix('{').map(referred) else {
        pieces.push(Piece::Literal(&text[..dollars]));
        return rest;
    };
    pieces.push(Piece::Literal(&text[..dollars / 2]));
    if dollars.is_multiple_of(2) {
        return rest;
    }
    pieces.push(Piece::Reference(reference));
    after
}

/// The reference whose inside a text begins with, and what comes behind it.
fn referred(body: &str) -> Result<(Reference<'_>, &str), String> {
    let end = end(body)?;
    Ok((reference(&body[..end])?, &body[end + 1..]))
}

/// A part of a text that is written anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Literal(String),
    Reference(String),
}

/// Writes a text so that [`parse`] reads these parts out of it again.
pub(crate) fn written(parts: Vec<Said>, literal: bool) -> String {
    // From its end, since what a dollar means depends on what comes behind it.
    let mut written = String::new();
    for part in parts.into_iter().rev() {
        let text = match part {
            Said::Literal(text) => text,
            Said::Reference(text) => {
                written.insert_str(0, &text);
                continue;
            }
        };
        let mut text = text.as_str();
        while !text.is_empty() {
            let plain = text.rfind('$').map_or(0, |at| at + 1);
            written.insert_str(0, &text[plain..]);
            let before = text[..plain].trim_end_matches('$');
            let dollars = plain - before.len();
            let is_read = if literal {
                written.starts_with("${")
                    || written.strip_prefix('{').map(referred).is_some_and(|read| read.is_ok())
            } else {
                dollars > 1 || written.starts_with(['{', '$'])
            };
            written.insert_str(0, &"$".repeat(if is_read { 2 * dollars } else { dollars }));
            text = before;
        }
    }
    written
}

/// Where the brace is that closes the reference.
fn end(body: &str) -> Result<usize, String> {
    let mut depth = 0;
    let mut before = ' ';
    for (at, character) in body.char_indices() {
        match character {
            '{' if before == '$' => depth += 1,
            '}' if depth == 0 => return Ok(at),
            '}' => depth -= 1,
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err("its references are nested too deep".to_owned());
        }
        before = character;
    }
    Err("a ${ has no }".to_owned())
}

fn reference(body: &str) -> Result<Reference<'_>, String> {
    let (head, default) = match body.split_once(":-") {
        Some((head, default)) => (head, Some(default)),
        None => (body, None),
    };
    let (scope, name) = match head.split_once(':') {
        None => (Scope::Plain, head),
        Some(("env", name)) => (Scope::Env, name),
        Some(("input", name)) => (Scope::Input, name),
        Some(("secret", name)) => (Scope::Secret, name),
        Some(("file", name)) => (Scope::File, name),
        // An editor with several folders names the one that is meant; here there is one.
        Some(("workspaceFolder", _)) => (Scope::Plain, "workspaceFolder"),
        Some((scope, name)) => (Scope::Unknown(scope), name),
    };
    let is_name = |name: &str| {
        name == "/"
            || name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.starts_with(char::is_numeric)
    };
    let fits = match scope {
        Scope::Plain => is_name(name),
        Scope::Unknown(scope) => is_name(scope),
        // Windows has variables such as `ProgramFiles(x86)`.
        Scope::Env | Scope::Input | Scope::Secret | Scope::File => !name.contains('$'),
    };
    if name.is_empty() || !fits {
        return Err(format!("`${{{body}}}` is no reference"));
    }
    Ok(Reference { scope, name, default, head })
}
