//! JSON as people write it: with comments and trailing commas where the product takes them.

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::node::{Fault, Kind, Lines, Node, Position};

/// Reads a file. Comments and trailing commas are taken everywhere: whoever writes them means them, and no value
/// becomes another by it.
///
/// # Errors
/// When it is not JSON; the fault has the place.
pub(crate) fn parse(text: &str) -> Result<Node, Fault> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options).map_err(|error| Fault {
        at: Position { line: error.line_display(), column: error.column_display() },
        message: lower(&error.kind().to_string()),
    })?;
    // An empty file says nothing, which is nothing wrong.
    let empty = || Node { kind: Kind::Table(Vec::new()), at: Position { line: 1, column: 1 } };
    Ok(parsed.value.map_or_else(empty, |value| node(value, &Lines::of(text))))
}

fn lower(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

fn node(value: Value<'_>, lines: &Lines<'_>) -> Node {
    let at = lines.position(value.range().start);
    let kind = match value {
        Value::NullKeyword(_) => Kind::Null,
        Value::BooleanLit(literal) => Kind::Bool(literal.value),
        Value::NumberLit(literal) => number(literal.value),
        Value::StringLit(literal) => Kind::Text(literal.value.into_owned()),
        Value::Array(array) => {
            Kind::List(array.elements.into_iter().map(|element| node(element, lines)).collect())
        }
        Value::Object(object) => {
            let members = object.properties.into_iter().map(|member| {
                let place = lines.position(member.range.start);
                let key = match member.name {
                    ObjectPropName::String(literal) => literal.value.into_owned(),
                    ObjectPropName::Word(word) => word.value.to_owned(),
                };
                (key, place, node(member.value, lines))
            });
            Kind::Table(members.collect())
        }
    };
    Node { kind, at }
}

/// A number that does not fit is kept as its text: it is then of the wrong kind for whoever reads a number.
fn number(text: &str) -> Kind {
    text.parse().map_or_else(|_| Kind::Text(text.to_owned()), Kind::Number)
}
