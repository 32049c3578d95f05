//! Columns: objects of objects as a table, lists of objects as a table, everything else as an outline.
//!
//! Whatever a server sends, the text and the work for it stay bounded: names and values are cut where they would widen
//! a column, and nothing is laid out behind the longest text.

use std::collections::{HashMap, HashSet};

use super::LONGEST_TEXT;
use super::node::Node;
use crate::visible;

/// What stands in a cell that has no value.
const ABSENT: &str = "-";

/// The widest table, in characters. What would be wider is an outline.
const WIDEST: usize = 160;

/// The most members of an object or items of a list that make a table's columns.
const MOST_COLUMNS: usize = 12;

/// The most rows of a table: more would not fit into the longest text anyway.
const MOST_ROWS: usize = 20_000;

/// The widest column of names in an outline, in characters. A longer name is cut.
const WIDEST_NAME: usize = 60;

/// The value on as many lines as it takes, as far as they fit into the longest text.
pub(super) fn lay_out(node: &Node) -> String {
    let mut lines = Lines::default();
    outline(node, 0, &mut lines);
    lines.lines.join("\n")
}

/// Lines of a text that does not grow far beyond the longest one; what is over is left to `super::cut`.
#[derive(Default)]
struct Lines {
    lines: Vec<String>,
    bytes: usize,
}

impl Lines {
    fn push(&mut self, line: String) {
        if !self.are_full() {
            self.bytes += line.len() + 1;
            self.lines.push(line);
        }
    }

    fn are_full(&self) -> bool {
        self.bytes > LONGEST_TEXT
    }
}

fn outline(node: &Node, indent: usize, lines: &mut Lines) {
    if lines.are_full() {
        return;
    }
    let margin = " ".repeat(indent);
    if let Some(table) = matrix(node).or_else(|| records(node)) {
        table.iter().for_each(|line| lines.push(format!("{margin}{line}")));
        return;
    }
    match node {
        Node::Scalar(scalar) => {
            block(&scalar.lines().unwrap_or_else(|| vec![scalar.show("")]), indent, lines);
        }
        Node::List(items) if items.is_empty() => lines.push(format!("{margin}(empty list)")),
        Node::Map(members) if members.is_empty() => lines.push(format!("{margin}(empty object)")),
        Node::List(items) => {
            for item in items {
                match item {
                    Node::Scalar(scalar) if scalar.lines().is_none() => {
                        lines.push(format!("{margin}- {}", scalar.show("")));
                    }
                    nested => {
                        lines.push(format!("{margin}-"));
                        outline(nested, indent + 2, lines);
                    }
                }
            }
        }
        Node::Map(members) => {
            let shown = |name: &str| visible::short(name, WIDEST_NAME);
            let scalars = members.iter().filter(|(_, member)| member.is_short());
            let width = scalars.map(|(name, _)| shown(name).chars().count()).max().unwrap_or(0);
            for (name, member) in members {
                match member {
                    Node::Scalar(scalar) if scalar.lines().is_none() => {
                        lines.push(format!(
                            "{margin}{}  {}",
                            visible::padded(&shown(name), width),
                            scalar.show(name)
                        ));
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

/// A text of several lines, each with its margin.
fn block(several: &[String], indent: usize, lines: &mut Lines) {
    let margin = " ".repeat(indent);
    several.iter().for_each(|line| lines.push(format!("{margin}{line}").trim_end().to_owned()));
}

/// An object whose members are all scalars, with its name; the members by name.
struct Row<'a> {
    name: &'a str,
    members: &'a [(String, Node)],
}

/// An object of objects of scalars: a column for each of the outer ones, a row for each field.
fn matrix(node: &Node) -> Option<Vec<String>> {
    let Node::Map(members) = node else { return None };
    if members.len() < 2 || members.len() > MOST_COLUMNS {
        return None;
    }
    let columns: Vec<Row<'_>> = members
        .iter()
        .map(|(name, member)| Some(Row { name, members: flat(member)? }))
        .collect::<Option<_>>()?;
    let fields = fields(&columns, MOST_ROWS)?;
    let head: Vec<String> =
        std::iter::once(String::new()).chain(columns.iter().map(|row| visible::line(row.name))).collect();
    let cells: Vec<HashMap<&str, &Node>> = columns.iter().map(Row::by_name).collect();
    let rows = fields.iter().map(|field| {
        std::iter::once(visible::line(field)).chain(cells.iter().map(|column| cell(column, field))).collect()
    });
    align(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
}

/// A list of objects of scalars: a row for each, a column for each field.
fn records(node: &Node) -> Option<Vec<String>> {
    let Node::List(items) = node else { return None };
    if items.is_empty() || items.len() > MOST_ROWS {
        return None;
    }
    let rows: Vec<Row<'_>> =
        items.iter().map(|item| Some(Row { name: "", members: flat(item)? })).collect::<Option<_>>()?;
    let fields = fields(&rows, MOST_COLUMNS)?;
    if fields.is_empty() {
        return None;
    }
    let head = fields.iter().map(|field| visible::line(field)).collect();
    let body = rows.iter().map(|row| {
        let row = row.by_name();
        fields.iter().map(|field| cell(&row, field)).collect()
    });
    align(&std::iter::once(head).chain(body).collect::<Vec<_>>())
}

impl<'a> Row<'a> {
    /// The first of each name is the one that counts.
    fn by_name(&self) -> HashMap<&'a str, &'a Node> {
        self.members.iter().rev().map(|(name, member)| (name.as_str(), member)).collect()
    }
}

fn flat(node: &Node) -> Option<&[(String, Node)]> {
    match node {
        Node::Map(members) if members.iter().all(|(_, member)| member.is_short()) => Some(members),
        _ => None,
    }
}

/// All names, in the order in which they come first; nothing if there are more than `most`.
fn fields<'a>(rows: &[Row<'a>], most: usize) -> Option<Vec<&'a str>> {
    let mut known = HashSet::new();
    let mut fields: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flat_map(|row| row.members) {
        if known.insert(name.as_str()) {
            fields.push(name);
        }
        if fields.len() > most {
            return None;
        }
    }
    Some(fields)
}

fn cell(row: &HashMap<&str, &Node>, field: &str) -> String {
    match row.get(field) {
        Some(Node::Scalar(scalar)) => scalar.show(field),
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
            row.iter().zip(&widths).map(|(cell, width)| visible::padded(cell, *width)).collect();
        cells.join("  ").trim_end().to_owned()
    };
    Some(rows.iter().map(line).collect())
}
