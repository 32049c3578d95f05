//! A table of texts: rows by name, read from a page, laid over another, and written again.

use std::collections::BTreeMap;

/// One table. Columns are known; rows stay in the order in which they came.
#[derive(Debug)]
pub(in crate::interop) struct Table {
    corner: &'static str,
    columns: Vec<String>,
    rows: Vec<(String, BTreeMap<String, String>)>,
}

impl Table {
    pub(super) fn new(corner: &'static str, columns: Vec<String>) -> Self {
        Self { corner, columns, rows: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn set(&mut self, row: &str, column: &str, text: String) {
        let at = self.rows.iter().position(|(name, _)| name == row).unwrap_or_else(|| {
            self.rows.push((row.to_owned(), BTreeMap::new()));
            self.rows.len() - 1
        });
        self.rows[at].1.insert(column.to_owned(), text);
    }

    /// Takes what the page has below this heading.
    pub(super) fn read(&mut self, page: &str, heading: &str) {
        let heading = format!("## {heading}");
        let section = page.lines().skip_while(|line| *line != heading).skip(1);
        let mut lines =
            section.take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with('|'));
        let Some(head) = lines.next().map(cells) else { return };
        for row in lines.skip(1).map(cells) {
            for (column, text) in head.iter().zip(&row).skip(1) {
                let absent = text.is_empty() || !self.columns.contains(column);
                if let (false, Some(name)) = (absent, row.first()) {
                    self.set(name, column, text.clone());
                }
            }
        }
    }

    /// Lays another table over this one.
    pub(super) fn merge(&mut self, newer: Self) {
        for (row, texts) in newer.rows {
            for (column, text) in texts {
                self.set(&row, &column, text);
            }
        }
    }

    /// Puts the rows into this order, and drops those that it does not have.
    pub(super) fn keep(&mut self, names: &[String]) {
        self.rows.retain(|(name, _)| names.contains(name));
        self.rows.sort_by_key(|(name, _)| names.iter().position(|known| known == name));
    }

    /// Drops rows without a text.
    pub(super) fn drop_empty(&mut self) {
        self.rows.retain(|(_, texts)| texts.values().any(|text| !text.is_empty()));
    }

    pub(super) fn markdown(&self) -> String {
        let head = self.columns.iter().map(String::as_str);
        let mut text = line(std::iter::once(self.corner).chain(head));
        text.push_str(&line(std::iter::repeat_n("---", self.columns.len() + 1)));
        for (name, texts) in &self.rows {
            let texts = self.columns.iter().map(|column| texts.get(column).map_or("", String::as_str));
            text.push_str(&line(std::iter::once(name.as_str()).chain(texts)));
        }
        text
    }

    /// For a terminal.
    pub(in crate::interop) fn plain(&self) -> String {
        let width = |of: &str| of.chars().count();
        let first = self.rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
        let columns = self.columns.iter().map(|column| {
            let texts = self.rows.iter().filter_map(|(_, texts)| texts.get(column)).map(|text| width(text));
            texts.max().unwrap_or(0).max(width(column))
        });
        let columns: Vec<usize> = columns.collect();
        let mut text = format!("\n{:<first$}", "");
        let cell = |text: &str, width: &usize| format!("  {text:<width$}");
        text.extend(self.columns.iter().zip(&columns).map(|(column, width)| cell(column, width)));
        for (name, texts) in &self.rows {
            text.push_str(&format!("\n{name:<first$}"));
            let texts = self.columns.iter().map(|column| texts.get(column).map_or("", String::as_str));
            text.extend(texts.zip(&columns).map(|(text, width)| cell(text, width)));
        }
        text.push_str("\n\n");
        text
    }
}

/// A text cannot end its cell or its line.
fn line<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let cells = texts.map(|text| text.replace(['\\', '|'], "/").replace(['\n', '\r'], " "));
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(|cell| cell.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(&str, &str, &str)]) -> Table {
        let mut table = Table::new("name", vec!["a".to_owned(), "b".to_owned()]);
        for (row, column, text) in rows {
            table.set(row, column, (*text).to_owned());
        }
        table
    }

    #[test]
    fn what_was_written_is_read_again_and_overlaid_cell_by_cell() {
        let page = format!(
            "# Page\n\n## Other\n\n| x |\n\n## Here\n\n{}",
            table(&[("r", "a", "1"), ("r", "b", "2")]).markdown()
        );
        let mut read = table(&[]);
        read.read(&page, "Here");
        read.merge(table(&[("r", "b", "3"), ("s", "a", "|\n")]));
        assert_eq!(read.markdown(), "| name | a | b |\n| --- | --- | --- |\n| r | 1 | 3 |\n| s | /  |  |\n");
    }

    #[test]
    fn rows_that_are_no_longer_known_or_say_nothing_go() {
        let mut rows = table(&[("gone", "a", "1"), ("second", "a", ""), ("first", "a", "1")]);
        rows.keep(&["first".to_owned(), "second".to_owned()]);
        assert_eq!(rows.rows.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["first", "second"]);
        rows.drop_empty();
        assert_eq!(rows.rows.len(), 1);
    }
}
