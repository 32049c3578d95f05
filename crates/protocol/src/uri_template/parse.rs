//! The grammar of templates [RFC 6570, section 2], and which of them are ambiguous.

use super::encoding;
use super::{
    Expression, Fault, MAX_TEMPLATE_BYTES, MAX_VARIABLES, Modifier, Operator, Part, UriTemplate,
    UriTemplateError, Variable,
};

/// The largest prefix that the RFC allows.
const MAX_PREFIX: usize = 9999;

pub(super) fn parse(template: &str) -> Result<UriTemplate, UriTemplateError> {
    let fail = |position, fault| Err(UriTemplateError { position, fault });
    if template.len() > MAX_TEMPLATE_BYTES {
        return fail(MAX_TEMPLATE_BYTES, Fault::TooLong);
    }
    let mut parts = Vec::new();
    let mut variables = 0;
    let mut position = 0;
    while position < template.len() {
        let rest = &template[position..];
        if let Some(inner) = rest.strip_prefix('{') {
            let Some(end) = inner.find('}') else { return fail(position, Fault::Unclosed) };
            let expression =
                expression(&inner[..end]).map_err(|fault| UriTemplateError { position, fault })?;
            variables += expression.variables.len();
            if variables > MAX_VARIABLES {
                return fail(position, Fault::TooManyVariables);
            }
            if let Some(fault) = ambiguity(parts.last(), &expression) {
                return fail(position, fault);
            }
            parts.push(Part::Expression(expression));
            position += end + 2;
        } else {
            let end = rest.find('{').unwrap_or(rest.len());
            parts.push(Part::Literal(
                literal(&rest[..end])
                    .map_err(|(at, fault)| UriTemplateError { position: position + at, fault })?,
            ));
            position += end;
        }
    }
    Ok(UriTemplate { source: template.to_owned(), parts })
}

/// A literal as it stands in a URI: what is not allowed there but may be written in a template (text
/// beyond ASCII) is encoded.
fn literal(text: &str) -> Result<String, (usize, Fault)> {
    let mut out = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        match character {
            '}' => return Err((at, Fault::Unopened)),
            ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '|' => return Err((at, Fault::BadLiteral(character))),
            character if character.is_control() => return Err((at, Fault::BadLiteral(character))),
            '%' if !encoding::is_triplet(&text.as_bytes()[at..]) => return Err((at, Fault::BadLiteral('%'))),
            character if character.is_ascii() => out.push(character),
            character => encoding::encode(character.encode_utf8(&mut [0; 4]), false, &mut out),
        }
    }
    Ok(out)
}

fn expression(text: &str) -> Result<Expression, Fault> {
    let Some(first) = text.chars().next() else { return Err(Fault::Empty) };
    let operator = match first {
        '+' => Operator::Reserved,
        '#' => Operator::Fragment,
        '.' => Operator::Label,
        '/' => Operator::Path,
        ';' => Operator::Parameter,
        '?' => Operator::Query,
        '&' => Operator::QueryContinuation,
        '=' | ',' | '!' | '@' | '|' => return Err(Fault::ReservedOperator(first)),
        _ => Operator::Simple,
    };
    let list = if operator == Operator::Simple { text } else { &text[1..] };
    if list.is_empty() {
        return Err(Fault::Empty);
    }
    let variables = list.split(',').map(variable).collect::<Result<Vec<_>, _>>()?;
    Ok(Expression { operator, variables })
}

fn variable(text: &str) -> Result<Variable, Fault> {
    let (name, modifier) = if let Some(name) = text.strip_suffix('*') {
        (name, Modifier::Explode)
    } else if let Some((name, length)) = text.split_once(':') {
        let digits = length.bytes().all(|byte| byte.is_ascii_digit()) && !length.starts_with('0');
        let length = length.parse().ok().filter(|length| digits && (1..=MAX_PREFIX).contains(length));
        (name, Modifier::Prefix(length.ok_or(Fault::BadModifier)?))
    } else {
        (text, Modifier::Whole)
    };
    if is_name(name) {
        Ok(Variable { name: name.to_owned(), modifier })
    } else {
        Err(Fault::BadName(name.chars().take(40).collect()))
    }
}

/// Names joined by single dots, of letters, digits, `_` and encoded characters.
fn is_name(name: &str) -> bool {
    name.split('.').all(|part| {
        let mut rest = part;
        while let Some(first) = rest.bytes().next() {
            let width = if encoding::is_triplet(rest.as_bytes()) {
                3
            } else if first.is_ascii_alphanumeric() || first == b'_' {
                1
            } else {
                return false;
            };
            rest = &rest[width..];
        }
        !part.is_empty()
    })
}

/// Two expressions side by side are clear only if the second begins with a character that the first
/// cannot hold.
fn ambiguity(before: Option<&Part>, next: &Expression) -> Option<Fault> {
    let Some(Part::Expression(before)) = before else { return None };
    let clear = match (before.operator, next.operator) {
        // A simple value, a label, a path or a parameter holds no slash, question mark or number sign.
        (
            Operator::Simple | Operator::Label | Operator::Path | Operator::Parameter,
            Operator::Query | Operator::Fragment,
        )
        | (Operator::Simple | Operator::Label | Operator::Parameter, Operator::Path)
        | (Operator::Simple | Operator::Label | Operator::Path, Operator::Parameter)
        // Reserved text could hold both; it is read as ending at the first.
        | (Operator::Reserved, Operator::Query | Operator::Fragment)
        | (Operator::Query | Operator::QueryContinuation, Operator::Fragment) => true,
        _ => false,
    };
    if clear {
        return None;
    }
    let last = before.variables.last().map(|variable| variable.name.clone()).unwrap_or_default();
    let first = next.variables.first().map(|variable| variable.name.clone()).unwrap_or_default();
    Some(Fault::Ambiguous(last, first))
}
