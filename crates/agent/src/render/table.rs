//! Columns: objects of objects as a table, lists of objects as a table, everything else as an outline.

use super::node::Node;
use crate::visible;

/// What stands in a cell that has no value.
const ABSENT: &str = "-";

/// The widest table, in characters. What would be wider is an outline.
const WIDEST: usize = 160;

/// The most members of an object or items of a list that make a table's columns.
const MOST_COLUMNS: usize = 12;

/// The value on as many lines as it takes.
pub(super) fn lay_out(node: &Node) -> String {
    let mut lines = Vec::new();
    outline(node, 0, &mut lines);
    lines.join("\n")
}

fn outline(node: &Node, indent: usize, lines: &mut Vec<String>) {
    let margin = " ".repeat(indent);
    if let Some(table) = matrix(node).or_else(|| records(node)) {
        lines.extend(table.into_iter().map(|line| format!("{margin}{line}")));
        return;
    }
    match node {
        Node::Scalar(scalar) => lines.push(format!("{margin}{}", scalar.show(""))),
        Node::List(items) if items.is_empty() => lines.push(format!("{margin}(empty list)")),
        Node::Map(members) if members.is_empty() => lines.push(format!("{margin}(empty object)")),
        Node::List(items) => {
            for item in items {
                match item {
                    Node::Scalar(scalar) => lines.push(format!("{margin}- {}", scalar.show(""))),
                    nested => {
                        lines.push(format!("{margin}-"));
                        outline(nested, indent + 2, lines);
                    }
                }
            }
        }
        Node::Map(members) => {
            let shown = |name: &str| visible::line(name);
            let scalars = members.iter().filter(|(_, member)| matches!(member, Node::Scalar(_)));
            let width = scalars.map(|(name, _)| shown(name).chars().count()).max().unwrap_or(0);
            for (name, member) in members {
                match member {
                    Node::Scalar(scalar) => {
                        lines.push(format!("{margin}{:<width$}  {}", shown(name), scalar.show(name)));
                    }
                    nested => {
                        lines.push(format!("{margin}{}", shown(name)));
                        outline(nested, indent + 2, lines);
                    }
                }
            }
        }
    }
}

type Row<'a> = (&'a str, &'a [(String, Node)]);

/// An object of objects of scalars: a column for each of the outer ones, a row for each field.
fn matrix(node: &Node) -> Option<Vec<String>> {
    let Node::Map(members) = node else { return None };
    let columns: Vec<Row<'_>> =
        members.iter().map(|(name, member)| Some((name.as_str(), flat(member)?))).collect::<Option<_>>()?;
    if columns.len() < 2 || columns.len() > MOST_COLUMNS {
        return None;
    }
    let fields = fields(&columns);
    let head: Vec<String> =
        std::iter::once(String::new()).chain(columns.iter().map(|(name, _)| visible::line(name))).collect();
    let rows = fields.iter().map(|field| {
        std::iter::once(visible::line(field))
            .chain(columns.iter().map(|column| cell(column.1, field)))
            .collect()
    });
    align(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}

/// A list of objects of scalars: a row for each, a column for each field.
fn records(node: &Node) -> Option<Vec<String>> {
    let Node::List(items) = node else { return None };
    let rows: Vec<Row<'_>> = items.iter().map(|item| Some(("", flat(item)?))).collect::<Option<_>>()?;
    let fields = fields(&rows);
    if rows.is_empty() || fields.is_empty() || fields.len() > MOST_COLUMNS {
        return None;
    }
    let head = fields.iter().map(|field| visible::line(field)).collect();
    let body = rows.iter().map(|row| fields.iter().map(|field| cell(row.1, field)).collect());
    align(&std::iter::once(head).chain(body).collect::<Vec<_>>())
}

fn flat(node: &Node) -> Option<&[(String, Node)]> {
    match node {
        Node::Map(members) if members.iter().all(|(_, member)| matches!(member, Node::Scalar(_))) => {
            Some(members)
        }
        _ => None,
    }
}

/// All names, in the order in which they come first.
fn fields<'a>(rows: &[Row<'a>]) -> Vec<&'a str> {
    let mut fields: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flat_map(|(_, members)| *members) {
        if !fields.contains(&name.as_str()) {
            fields.push(name);
        }
    }
    fields
}

fn cell(members: &[(String, Node)], field: &str) -> String {
    match members.iter().find(|(name, _)| name == field) {
        Some((name, Node::Scalar(scalar))) => scalar.show(name),
        _ => ABSENT.to_owned(),
    }
}

fn align(rows: &[Vec<String>]) -> Option<Vec<String>> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    if widths.iter().map(|width| width + 2).sum::<usize>() > WIDEST {
        return None;
    }
    let line = |row: &Vec<String>| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    Some(rows.iter().map(line).collect())
}
