//! TOML with the places of its values.

use toml_edit::{Document, Item, TableLike, Value};

use super::node::{Fault, Kind, Lines, Node, Position};

/// Reads a file.
///
/// # Errors
/// When it is not TOML; the fault has the place.
pub(crate) fn parse(text: &str) -> Result<Node, Fault> {
    let lines = Lines::of(text);
    let document = Document::parse(text).map_err(|error| Fault {
        at: error.span().map_or(Position { line: 1, column: 1 }, |span| lines.position(span.start)),
        message: error.message().lines().next().unwrap_or("it is not TOML").to_owned(),
    })?;
    let start = Position { line: 1, column: 1 };
    Ok(Node { kind: table(document.as_table(), &lines, start), at: start })
}

fn table(table: &dyn TableLike, lines: &Lines<'_>, at: Position) -> Kind {
    let members = table.iter().filter(|(_, item)| !item.is_none()).map(|(name, item)| {
        let key = table.key(name).and_then(toml_edit::Key::span);
        let span = key.or_else(|| item.span());
        let place = span.map_or(at, |span| lines.position(span.start));
        (name.to_owned(), place, node(item, lines, place))
    });
    Kind::Table(members.collect())
}

fn node(item: &Item, lines: &Lines<'_>, near: Position) -> Node {
    let at = item.span().map_or(near, |span| lines.position(span.start));
    let kind = match item {
        Item::None => Kind::Null,
        Item::Value(item) => return value(item, lines, near),
        Item::Table(inner) => table(inner, lines, at),
        Item::ArrayOfTables(tables) => {
            let nodes = tables.iter().map(|inner| {
                let at = inner.span().map_or(at, |span| lines.position(span.start));
                Node { kind: table(inner, lines, at), at }
            });
            Kind::List(nodes.collect())
        }
    };
    Node { kind, at }
}

fn value(item: &Value, lines: &Lines<'_>, near: Position) -> Node {
    let at = item.span().map_or(near, |span| lines.position(span.start));
    let kind = match item {
        Value::String(string) => Kind::Text(string.value().clone()),
        Value::Integer(integer) => Kind::Number((*integer.value()).into()),
        Value::Float(float) => {
            let float = *float.value();
            serde_json::Number::from_f64(float).map_or_else(|| Kind::Text(float.to_string()), Kind::Number)
        }
        Value::Boolean(boolean) => Kind::Bool(*boolean.value()),
        Value::Datetime(datetime) => Kind::Text(datetime.value().to_string()),
        Value::Array(array) => Kind::List(array.iter().map(|element| value(element, lines, at)).collect()),
        Value::InlineTable(inner) => table(inner, lines, at),
    };
    Node { kind, at }
}
