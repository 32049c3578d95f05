//! A rule as one line: `allow files/write_* where path inside ~/docs if not destructive mode headless`.
//!
//! A word with a space in it stands in quotation marks, as JSON (`"a b"`) or as it is (`'a b'`).

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use super::{Action, Hints, InvalidRule, Presence, Rule};
use crate::policy::argument::ArgumentTest;
use crate::visible;

/// What may follow the names.
const CLAUSES: [&str; 5] = ["where", "if", "mode", "principal", "because"];

impl FromStr for Rule {
    type Err = InvalidRule;

    fn from_str(text: &str) -> Result<Self, InvalidRule> {
        let invalid = |problem: &str| InvalidRule::new(text, problem);
        let (action, pattern) =
            text.trim().split_once(char::is_whitespace).ok_or_else(|| invalid("it lacks the pattern"))?;
        let action = match action {
            "allow" => Action::Allow,
            "ask" => Action::Ask,
            "deny" => Action::Deny,
            _ => return Err(invalid("it does not begin with an action")),
        };
        parse(action, pattern)
    }
}

pub(super) fn parse(action: Action, text: &str) -> Result<Rule, InvalidRule> {
    let invalid = |problem: String| InvalidRule::new(text, problem);
    let (pattern, rest) = pattern(text.trim()).map_err(invalid)?;
    let (server, tool) = pattern.split_once('/').unwrap_or((&pattern, "*"));
    if server.is_empty() || tool.is_empty() {
        return Err(invalid("it lacks the server or the tool".to_owned()));
    }
    if is_masked(server, tool) {
        return Err(invalid(MASKED.to_owned()));
    }
    let mut rule = Rule::plain(action, server, tool);
    let mut words = Words(rest);
    while let Some(Word { text: clause, .. }) = words.next_word().map_err(invalid)? {
        clauses(&mut rule, &clause, &mut words).map_err(invalid)?;
    }
    Ok(rule)
}

/// Why a pattern with a masked name is refused: as one it would be about everything.
pub(super) const MASKED: &str = "*** stands for a secret that is not shown, and not for a name";

/// Whether a name was masked where it was copied from.
pub(super) fn is_masked(server: &str, tool: &str) -> bool {
    server.contains("***") || tool.contains("***")
}

/// The names, and what follows them. They end where a clause begins, since a tool's name may have spaces.
fn pattern(text: &str) -> Result<(String, &str), String> {
    if text.starts_with(['"', '\'']) {
        let mut words = Words(text);
        let word = words.next_word()?.map(|word| word.text).unwrap_or_default();
        return Ok((word, words.0));
    }
    let mut starts = std::iter::once(0).chain(text.match_indices(char::is_whitespace).map(|(at, _)| at));
    let end = starts.find(|at| {
        let next = text[*at..].split_whitespace().next();
        next.is_some_and(|next| CLAUSES.contains(&next))
    });
    let (pattern, rest) = text.split_at(end.unwrap_or(text.len()));
    Ok((pattern.trim_end().to_owned(), rest))
}

fn clauses(rule: &mut Rule, clause: &str, words: &mut Words<'_>) -> Result<(), String> {
    let twice = || format!("it says `{clause}` twice");
    match clause {
        "where" => loop {
            rule.arguments.push(argument(words)?);
            if !words.takes("and") {
                return Ok(());
            }
        },
        "if" => loop {
            hint(&mut rule.annotations, words)?;
            if !words.takes("and") {
                return Ok(());
            }
        },
        "mode" => match (rule.mode, words.expect("the mode")?.text.as_str()) {
            (Some(_), _) => return Err(twice()),
            (None, "interactive") => rule.mode = Some(Presence::Interactive),
            (None, "headless") => rule.mode = Some(Presence::Headless),
            (None, _) => return Err("a mode is interactive or headless".to_owned()),
        },
        "principal" if rule.principal.is_some() => return Err(twice()),
        "principal" => rule.principal = Some(words.expect("the principal")?.text),
        "because" if rule.reason.is_some() => return Err(twice()),
        "because" => rule.reason = Some(words.expect("the reason")?.text),
        other => return Err(format!("it does not say what {} is", visible::quoted(other, 50))),
    }
    Ok(())
}

fn hint(hints: &mut Hints, words: &mut Words<'_>) -> Result<(), String> {
    let wanted = !words.takes("not");
    let name = words.expect("an annotation")?.text;
    let hint = match name.as_str() {
        "read_only" => &mut hints.read_only,
        "destructive" => &mut hints.destructive,
        "idempotent" => &mut hints.idempotent,
        "open_world" => &mut hints.open_world,
        _ => {
            return Err("an annotation is read_only, destructive, idempotent or open_world".to_owned());
        }
    };
    match hint.replace(wanted) {
        None => Ok(()),
        Some(_) => Err(format!("it says `{name}` twice")),
    }
}

fn argument(words: &mut Words<'_>) -> Result<ArgumentTest, String> {
    let path = words.expect("the argument")?.text;
    let test = words.expect("the test of an argument")?.text;
    let operand = words.expect("what the argument is held against")?;
    let made = match test.as_str() {
        "inside" => ArgumentTest::inside(&path, operand.texts()),
        "host_in" => {
            let hosts = operand.text.split(',').map(|host| host.trim().to_owned()).collect();
            ArgumentTest::host_in(&path, hosts)
        }
        "equals" => ArgumentTest::equals(&path, operand.value()),
        "matches" => ArgumentTest::matches(&path, &operand.text),
        "max_bytes" => {
            let bytes = operand.text.parse().map_err(|_| "max_bytes needs a whole number".to_owned())?;
            ArgumentTest::max_bytes(&path, bytes)
        }
        other => {
            return Err(format!(
                "{} is no test; the tests are inside, host_in, equals, matches and max_bytes",
                visible::quoted(other, 50)
            ));
        }
    };
    made.map_err(|error| error.to_string())
}

/// The words of a line that are still to be read.
struct Words<'a>(&'a str);

/// A word, and how it was written.
struct Word {
    text: String,
    /// It is JSON: a text in quotation marks, an array, an object.
    json: Option<Value>,
    quoted: bool,
}

impl Word {
    /// As a value: what is JSON, else a text.
    fn value(self) -> Value {
        match self.json {
            Some(value) => value,
            None if self.quoted => Value::String(self.text),
            None => serde_json::from_str(&self.text).unwrap_or(Value::String(self.text)),
        }
    }
}

impl Word {
    /// As texts: those of an array, or the one.
    fn texts(self) -> Vec<String> {
        match self.json {
            Some(Value::Array(texts)) if texts.iter().all(Value::is_string) => {
                texts.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            _ => vec![self.text],
        }
    }
}

impl Words<'_> {
    fn next_word(&mut self) -> Result<Option<Word>, String> {
        let text = self.0.trim_start();
        self.0 = text;
        let Some(first) = text.chars().next() else { return Ok(None) };
        if matches!(first, '"' | '{' | '[') {
            let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
            let value = values.next().and_then(Result::ok);
            let rest = &text[values.byte_offset()..];
            match value.filter(|_| rest.is_empty() || rest.starts_with(char::is_whitespace)) {
                Some(value) => {
                    self.0 = rest;
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    return Ok(Some(Word { text, json: Some(value), quoted: true }));
                }
                None if first == '"' => return Err("a quotation mark is not closed".to_owned()),
                // Such as a regular expression.
                None => {}
            }
        }
        if first == '\'' {
            let Some((word, rest)) = text[1..].split_once('\'') else {
                return Err("a quotation mark is not closed".to_owned());
            };
            self.0 = rest;
            return Ok(Some(Word { text: word.to_owned(), json: None, quoted: true }));
        }
        let (word, rest) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
        self.0 = rest;
        Ok(Some(Word { text: word.to_owned(), json: None, quoted: false }))
    }

    fn expect(&mut self, what: &str) -> Result<Word, String> {
        self.next_word()?.ok_or_else(|| format!("it lacks {what}"))
    }

    /// Reads this very word if it comes next.
    fn takes(&mut self, word: &str) -> bool {
        let text = self.0.trim_start();
        let found =
            text.strip_prefix(word).filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
        if let Some(rest) = found {
            self.0 = rest;
        }
        found.is_some()
    }
}

pub(super) fn write(rule: &Rule, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Rule { action, server, tool, annotations, arguments, mode, principal, reason } = rule;
    write!(f, "{action} {}", names(&format!("{server}/{tool}")))?;
    for (index, test) in arguments.iter().enumerate() {
        write!(f, " {} {test}", if index == 0 { "where" } else { "and" })?;
    }
    for (index, (name, wanted)) in annotations.said().enumerate() {
        write!(f, " {} {}{name}", if index == 0 { "if" } else { "and" }, if wanted { "" } else { "not " })?;
    }
    mode.map_or(Ok(()), |mode| write!(f, " mode {mode}"))?;
    principal.as_ref().map_or(Ok(()), |principal| write!(f, " principal {}", word(principal)))?;
    reason.as_ref().map_or(Ok(()), |reason| write!(f, " because {}", word(reason)))
}

/// Both names, in quotation marks where they would be read as something else.
fn names(pattern: &str) -> String {
    let is_plain = !pattern.starts_with(['"', '\''])
        && pattern.trim() == pattern
        && !pattern.contains(visible::is_invisible)
        && !pattern.split_whitespace().any(|word| CLAUSES.contains(&word));
    if is_plain { pattern.to_owned() } else { quoted(pattern) }
}

/// A text as one word.
pub(in crate::policy) fn word(text: &str) -> String {
    let is_plain = !text.is_empty()
        && !text.starts_with(['"', '\'', '{', '['])
        && !text.contains(|character: char| character.is_whitespace() || visible::is_invisible(character))
        && !matches!(text, "and" | "not");
    if is_plain { text.to_owned() } else { quoted(text) }
}

/// A value as one word.
pub(in crate::policy) fn value(value: &Value) -> String {
    match value {
        Value::String(text) if serde_json::from_str::<Value>(text).is_err() => word(text),
        other => visible::json_line(&other.to_string()),
    }
}

fn quoted(text: &str) -> String {
    visible::json_line(&Value::String(text.to_owned()).to_string())
}
