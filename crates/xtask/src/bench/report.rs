//! The table: one row a measurement, three servers, ratios, and whether the target is met.

use std::fmt::Write as _;

use super::curve::{self, Curve};

/// What is demanded of ours.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// Nothing; the figure is for scale.
    None,
    /// A number.
    AtMost(f64),
    /// So many times the floor in the same run.
    TimesFloor(f64),
    /// Less than the peer in the same run.
    BelowPeer,
}

/// One measurement of the three servers.
#[derive(Debug)]
pub(crate) struct Row {
    section: &'static str,
    name: String,
    target: Target,
    floor: Option<f64>,
    peer: Option<f64>,
    ours: Option<f64>,
}

impl Row {
    pub(crate) fn new(section: &'static str, name: &str, target: Target) -> Self {
        Self { section, name: name.to_owned(), target, floor: None, peer: None, ours: None }
    }

    pub(crate) fn add(&mut self, server: &str, value: f64) {
        match server {
            "floor" => self.floor = Some(value),
            "peer" => self.peer = Some(value),
            _ => self.ours = Some(value),
        }
    }

    pub(crate) fn ours(&self) -> Option<f64> {
        self.ours
    }

    fn limit(&self) -> Option<f64> {
        match self.target {
            Target::AtMost(limit) if limit.is_finite() => Some(limit),
            Target::None | Target::AtMost(_) => None,
            Target::TimesFloor(times) => self.floor.map(|floor| floor * times),
            Target::BelowPeer => self.peer,
        }
    }

    fn is_missed(&self) -> bool {
        self.ours.zip(self.limit()).is_some_and(|(ours, limit)| ours > limit)
    }

    fn markdown(&self) -> String {
        let cell = |value: Option<f64>| value.map_or_else(|| "–".into(), number);
        let ratio = |base: Option<f64>| {
            self.ours.zip(base).map_or_else(|| "–".into(), |(ours, base)| format!("{:.2}×", ours / base))
        };
        let verdict = match self.limit() {
            None => "–".to_owned(),
            Some(limit) if self.is_missed() => {
                let over = self.ours.map_or(0.0, |ours| (ours / limit - 1.0) * 100.0);
                format!("≤ {}: **missed by {over:.0} %**", number(limit))
            }
            Some(limit) => format!("≤ {}: met", number(limit)),
        };
        format!(
            "| {} | {} | {} | {} | {} | {} | {verdict} |",
            self.name,
            cell(self.floor),
            cell(self.peer),
            cell(self.ours),
            ratio(self.floor),
            ratio(self.peer),
        )
    }
}

/// All measurements of a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
    curves: Vec<Curve>,
}

impl Report {
    pub(crate) fn add(&mut self, row: Row) {
        eprintln!("{}", row.markdown());
        self.rows.push(row);
    }

    pub(crate) fn add_curve(&mut self, curve: Curve) {
        eprint!("{}", curve.markdown());
        self.curves.push(curve);
    }

    pub(crate) fn misses(&self) -> usize {
        let curves = self.curves.iter().filter(|curve| curve.is_missed()).count();
        curves + self.rows.iter().filter(|row| row.is_missed()).count()
    }

    /// The whole page; sections of `before` that this run did not measure stay as they were.
    pub(crate) fn markdown(&self, before: &str) -> String {
        let mut text = String::from(INTRODUCTION);
        for section in SECTIONS {
            let rows: Vec<&Row> = self.rows.iter().filter(|row| row.section == *section).collect();
            if rows.is_empty() {
                text.push_str(section_of(before, section));
                continue;
            }
            let _ = write!(text, "\n## {section}\n\n{HEAD}");
            for row in rows {
                let _ = writeln!(text, "{}", row.markdown());
            }
        }
        if self.curves.is_empty() {
            text.push_str(section_of(before, SOAK));
        } else {
            let _ = write!(text, "\n## {SOAK}\n\n{}", curve::HEAD);
            self.curves.iter().for_each(|curve| text.push_str(&curve.markdown()));
        }
        text
    }
}

/// The sections of the page, in order.
const SECTIONS: &[&str] = &[
    "Instructions per request, HTTP",
    "Instructions per request, stdio",
    "Allocations per request",
    "CPU seconds of the server per 100 000 requests",
    "Requests per second",
    "Crates in the tree",
    "CPU seconds of a clean debug build",
    "CPU seconds of a release rebuild after one edit",
    HOST,
];

/// The section of the host.
pub(crate) const HOST: &str = "Host";

/// The section of the curves, which is the last one.
const SOAK: &str = "Resident memory while clients leave";

/// A section of an earlier page, from the line before its heading to its end.
fn section_of<'a>(page: &'a str, section: &str) -> &'a str {
    let Some(start) = page.find(&format!("\n## {section}\n")) else { return "" };
    let rest = &page[start..];
    rest.get(1..).and_then(|tail| tail.find("\n## ")).map_or(rest, |length| &rest[..=length])
}

const HEAD: &str = "| case | floor | rmcp 3.11 | ours | ours / floor | ours / rmcp | target |\n\
                    | --- | --- | --- | --- | --- | --- | --- |\n";

const INTRODUCTION: &str = "\
# Results

Written by `cargo xtask bench`. The floor is a server written by hand on bare hyper, or a blocking loop over
pipes, with no library of the protocol; rmcp is the official Rust SDK, set up as well as its documentation
allows (router built once, JSON answers, raw pipes). Instructions and allocations are repeatable; CPU seconds
and rates are medians of interleaved rounds on one machine, of which only the ratios mean something. All rows are
of the modern era but those that say \"in a session\": there the client has shaken hands first, as one of the
newest legacy revision.

The host is `switchboard` with a model that plays a script and servers as children that are ours, unless the row says
otherwise; its times are milliseconds by one clock, its memory that of its process alone, in millions of bytes.
";

#[expect(clippy::cast_possible_truncation, reason = "figures of a table")]
fn number(value: f64) -> String {
    if value < 100.0 {
        return format!("{value:.2}");
    }
    let digits = (value.round() as i64).to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::{Report, Row, Target, number, section_of};

    #[test]
    fn numbers_are_grouped() {
        for (value, text) in
            [(1.234, "1.23"), (99.0, "99.00"), (123.4, "123"), (1234.6, "1 235"), (5_184_000.0, "5 184 000")]
        {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn sections_that_were_not_measured_stay() {
        let mut report = Report::default();
        report.add(Row::new("Crates in the tree", "old row", Target::None));
        report.add(Row::new("Requests per second", "kept row", Target::None));
        let before = report.markdown("");
        let mut report = Report::default();
        report.add(Row::new("Crates in the tree", "new row", Target::None));
        let after = report.markdown(&before);
        assert!(
            after.contains("kept row") && after.contains("new row") && !after.contains("old row"),
            "{after}"
        );
        assert_eq!(section_of(&after, "Requests per second"), section_of(&before, "Requests per second"));
        assert_eq!(section_of(&after, "no such section"), "");
    }

    #[test]
    fn a_target_is_judged_against_its_base() {
        for (target, missed) in [
            (Target::None, false),
            (Target::AtMost(12.0), false),
            (Target::AtMost(11.0), true),
            (Target::TimesFloor(1.6), true),
            (Target::TimesFloor(2.0), false),
            (Target::BelowPeer, false),
        ] {
            let mut row = Row::new("section", "row", target);
            row.add("floor", 6.0);
            row.add("peer", 30.0);
            row.add("ours", 12.0);
            assert_eq!(row.is_missed(), missed, "{target:?}");
        }
    }
}
