//! From a URI to variables.
//!
//! One pass from left to right without backtracking, so the time is bounded by the length of the URI
//! times the number of parts: each expression ends where the next part begins first.

use super::encoding::{decode, decode_leniently};
use super::{Expression, MAX_URI_BYTES, Modifier, Operator, Part, VarValue, Variable, Vars};

/// Layers of percent-encoding that are looked through for a traversal.
const MAX_LAYERS: usize = 8;

pub(super) fn matches(parts: &[Part], uri: &str) -> Option<Vars> {
    if uri.len() > MAX_URI_BYTES {
        return None;
    }
    let mut captures = Captures::default();
    let mut rest = uri;
    let mut in_path = true;
    for (index, part) in parts.iter().enumerate() {
        match part {
            Part::Literal(literal) => {
                rest = strip_literal(rest, literal)?;
                in_path &= !literal.contains(['?', '#']);
            }
            Part::Expression(expression) => {
                let end = end_of(expression, &parts[index + 1..], rest)?;
                let (region, after) = rest.split_at_checked(end)?;
                in_path &= !matches!(
                    expression.operator,
                    Operator::Query | Operator::QueryContinuation | Operator::Fragment
                );
                captures.read(expression, region, in_path)?;
                rest = after;
            }
        }
    }
    // A segment put together from literals and values must not climb either.
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    (rest.is_empty() && !has_dot_segment(path)).then_some(())?;
    captures.finish()
}

/// The rest after a literal, which may stand in the URI encoded or, beyond ASCII, as it is.
fn strip_literal<'a>(rest: &'a str, literal: &str) -> Option<&'a str> {
    if let Some(rest) = rest.strip_prefix(literal) {
        return Some(rest);
    }
    decode(literal).filter(|plain| !plain.is_ascii()).and_then(|plain| rest.strip_prefix(plain.as_str()))
}

/// Where the region of an expression ends: before the earliest beginning of what may follow it.
fn end_of(expression: &Expression, following: &[Part], rest: &str) -> Option<usize> {
    // The expression's own first character is not the end of it.
    let own = expression.operator.first().len();
    let from = if rest.starts_with(expression.operator.first()) { own } else { 0 };
    let mut end = rest.len();
    for (index, part) in following.iter().enumerate() {
        match part {
            Part::Expression(next) => {
                if let Some(at) = rest[from..].find(next.operator.first()) {
                    end = end.min(from + at);
                }
            }
            Part::Literal(literal) => {
                let at = if index + 1 == following.len() {
                    rest.strip_suffix(literal.as_str()).map(str::len)
                } else {
                    rest[from..]
                        .find(literal.as_str())
                        .map(|at| from + at)
                        .or_else(|| rest.find(literal.as_str()))
                };
                // Only an optional part may end the region before the literal that must come.
                return at.map(|at| end.min(at));
            }
        }
    }
    Some(end)
}

#[derive(Default)]
struct Captures {
    vars: Vars,
    /// Values of `{name:3}`, to be compared with the whole value if that occurs too.
    prefixes: Vec<(String, String)>,
}

impl Captures {
    fn read(&mut self, expression: &Expression, region: &str, in_path: bool) -> Option<()> {
        let operator = expression.operator;
        let values = match operator.first() {
            "" => region,
            // An optional part that is not there leaves its variables undefined.
            _ if region.is_empty() => return Some(()),
            first => region.strip_prefix(first)?,
        };
        if !values.chars().all(|character| may_hold(operator, in_path, character)) {
            return None;
        }
        if operator.is_named() {
            self.named(expression, values, in_path)
        } else {
            self.positional(expression, values, in_path)
        }
    }

    /// `value,value`, with the operator's separator.
    fn positional(&mut self, expression: &Expression, values: &str, in_path: bool) -> Option<()> {
        let operator = expression.operator;
        let count = expression.variables.len();
        let exploded = |variable: &Variable| variable.modifier == Modifier::Explode;
        if let [only] = expression.variables.as_slice() {
            if exploded(only) {
                let items = values.split(operator.separator());
                let items =
                    items.map(|item| value_of(item, operator, in_path)).collect::<Option<Vec<_>>>()?;
                return self.put(&only.name, VarValue::List(items));
            }
            return self.text(only, value_of(values, operator, in_path)?);
        }
        // The last variable takes the rest if it is a list; otherwise the numbers must agree. Fewer
        // values than variables leave the last ones undefined.
        let mut items = values.split(operator.separator());
        for (index, variable) in expression.variables.iter().enumerate() {
            if exploded(variable) {
                if index + 1 < count {
                    return None;
                }
                let rest = items.by_ref().map(|item| value_of(item, operator, in_path));
                let rest = rest.collect::<Option<Vec<_>>>()?;
                return if rest.is_empty() {
                    Some(())
                } else {
                    self.put(&variable.name, VarValue::List(rest))
                };
            }
            match items.next() {
                Some(item) => self.text(variable, value_of(item, operator, in_path)?)?,
                None => break,
            }
        }
        items.next().is_none().then_some(())
    }

    /// `name=value&name=value`, in any order.
    fn named(&mut self, expression: &Expression, values: &str, in_path: bool) -> Option<()> {
        let operator = expression.operator;
        let mut lists: Vec<(&str, Vec<String>)> = Vec::new();
        for item in values.split(operator.separator()) {
            let (name, value) = item.split_once('=').unwrap_or((item, ""));
            let variable = expression.variables.iter().find(|variable| variable.name == name)?;
            let value = decode(value).filter(|value| is_safe(value, operator, in_path))?;
            if variable.modifier != Modifier::Explode {
                self.text(variable, value)?;
            } else if let Some((_, list)) = lists.iter_mut().find(|(known, _)| *known == name) {
                list.push(value);
            } else {
                lists.push((&variable.name, vec![value]));
            }
        }
        lists.into_iter().try_for_each(|(name, list)| self.put(name, VarValue::List(list)))
    }

    fn text(&mut self, variable: &Variable, value: String) -> Option<()> {
        match variable.modifier {
            Modifier::Prefix(length) if value.chars().count() > length => None,
            Modifier::Prefix(_) => {
                self.prefixes.push((variable.name.clone(), value));
                Some(())
            }
            Modifier::Whole | Modifier::Explode => self.put(&variable.name, VarValue::Text(value)),
        }
    }

    /// A variable that occurs twice must have one value.
    fn put(&mut self, name: &str, value: VarValue) -> Option<()> {
        match self.vars.value(name) {
            Some(known) => (*known == value).then_some(()),
            None => {
                self.vars.insert(name, value);
                Some(())
            }
        }
    }

    fn finish(mut self) -> Option<Vars> {
        for (name, prefix) in std::mem::take(&mut self.prefixes) {
            match self.vars.text(&name) {
                Some(whole) if whole.starts_with(&prefix) => {}
                Some(_) => return None,
                None => self.vars.insert(name, prefix),
            }
        }
        Some(self.vars)
    }
}

/// A value that is not named: decoded, not empty, and within its place.
fn value_of(text: &str, operator: Operator, in_path: bool) -> Option<String> {
    let value = decode(text)?;
    (!value.is_empty() && is_safe(&value, operator, in_path)).then_some(value)
}

/// The characters that may stand in an expression's region. Beyond ASCII, URIs are taken as people
/// write them.
fn may_hold(operator: Operator, in_path: bool, character: char) -> bool {
    match operator {
        Operator::Simple if !in_path => !character.is_control() && !matches!(character, ' ' | '#'),
        Operator::Fragment => !character.is_control() && character != ' ',
        Operator::Reserved => !character.is_control() && !matches!(character, ' ' | '?' | '#'),
        Operator::Path => !character.is_control() && !matches!(character, ' ' | '?' | '#' | '[' | ']' | '\\'),
        Operator::Query | Operator::QueryContinuation => {
            !character.is_control() && !matches!(character, ' ' | '#')
        }
        Operator::Simple | Operator::Label | Operator::Parameter => {
            !character.is_control() && !matches!(character, ' ' | '/' | '?' | '#' | '[' | ']' | '\\')
        }
    }
}

/// Whether a decoded value stays in its place, however often it was encoded.
fn is_safe(value: &str, operator: Operator, in_path: bool) -> bool {
    !any_layer(value, |layer| {
        let separated = layer.iter().any(|byte| matches!(byte, b'/' | b'\\'));
        layer.contains(&0) || (in_path && ((separated && operator != Operator::Reserved) || is_dotted(layer)))
    })
}

fn has_dot_segment(path: &str) -> bool {
    any_layer(path, is_dotted)
}

/// Whether any layer of percent-encoding is bad. So many layers that they are not looked through are, too:
/// they serve no honest purpose.
fn any_layer(text: &str, is_bad: impl Fn(&[u8]) -> bool) -> bool {
    let mut layer = text.as_bytes().to_vec();
    for _ in 0..MAX_LAYERS {
        if is_bad(&layer) {
            return true;
        }
        let next = decode_leniently(&layer);
        if next == layer {
            return false;
        }
        layer = next;
    }
    true
}

/// Whether a segment is `.` or `..`.
fn is_dotted(path: &[u8]) -> bool {
    path.split(|byte| matches!(byte, b'/' | b'\\')).any(|segment| matches!(segment, b"." | b".."))
}
