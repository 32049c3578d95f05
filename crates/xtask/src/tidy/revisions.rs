//! Dates of legacy revisions stay where SUNSET.md says, so that the legacy can be deleted one day.
//!
//! The list in that file is the only one: a date outside of it is a finding, and so is an entry of it under which no
//! date is left.

use crate::finding::Finding;
use crate::workspace::TextFile;

/// The published revisions before 2026-07-28.
const LEGACY: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The file that has the list, in a block of its own.
const SUNSET: &str = "SUNSET.md";
const OPENING: &str = "```files";
const CLOSING: &str = "```";

const RULE: &str = "legacy-date";

/// One line of the list: a file, a folder (`…/`), any folder of a name (`**/legacy/`), or an ending (`*.md`).
#[derive(Debug, PartialEq, Eq)]
struct Entry<'a> {
    pattern: &'a str,
    line: usize,
}

pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let Some(sunset) = files.iter().find(|file| file.path == SUNSET) else {
        return vec![Finding::new(SUNSET, 1, RULE, "the list of what may name a legacy date is missing")];
    };
    let entries = entries(&sunset.text);
    let mut used = vec![false; entries.len()];
    let mut findings = Vec::new();
    for file in files {
        let Some((line, date)) = first_date(&file.text) else { continue };
        let mut allowed = false;
        for (entry, used) in entries.iter().zip(&mut used) {
            let holds = entry.holds(file);
            *used |= holds;
            allowed |= holds;
        }
        if !allowed {
            let what = format!("the legacy date {date}; ask `protocol::era` instead, or list it in {SUNSET}");
            findings.push(Finding::new(&file.path, line, RULE, what));
        }
    }
    let stale = entries.iter().zip(used).filter(|(_, used)| !used);
    findings.extend(stale.map(|(entry, _)| {
        let what = format!("no legacy date is left under {}; take it off the list", entry.pattern);
        Finding::new(SUNSET, entry.line, RULE, what)
    }));
    findings
}

fn entries(text: &str) -> Vec<Entry<'_>> {
    let lines = text.lines().enumerate().skip_while(|(_, line)| *line != OPENING).skip(1);
    let lines = lines.take_while(|(_, line)| *line != CLOSING);
    lines
        .filter_map(|(at, line)| Some(Entry { pattern: line.split_whitespace().next()?, line: at + 1 }))
        .collect()
}

impl Entry<'_> {
    fn holds(&self, file: &TextFile) -> bool {
        let path = &file.path;
        if let Some(folder) = self.pattern.strip_prefix("**/").and_then(|rest| rest.strip_suffix('/')) {
            return file.is_below(folder);
        }
        if let Some(ending) = self.pattern.strip_prefix('*') {
            return path.ends_with(ending);
        }
        path == self.pattern || (self.pattern.ends_with('/') && path.starts_with(self.pattern))
    }
}

fn first_date(text: &str) -> Option<(usize, &'static str)> {
    text.lines()
        .enumerate()
        .find_map(|(at, line)| LEGACY.iter().find(|date| line.contains(**date)).map(|date| (at + 1, *date)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str =
        "# Sunset\n\n```files\n**/legacy/   adapters\ncrates/protocol/src/era/\n*.md\nsuite.json\n```\n";

    fn check_paths(paths: &[&str], expected: &[(&str, usize)]) {
        let text = "// Since 2026-07-28.\nconst A: &str = \"2025-06-18\";\n";
        let mut files =
            vec![TextFile { path: SUNSET.to_owned(), text: format!("{LIST}Since 2024-11-05.\n") }];
        files.extend(paths.iter().map(|path| TextFile { path: (*path).to_owned(), text: text.to_owned() }));
        let found = check(&files);
        let found: Vec<_> = found.iter().map(|finding| (finding.path.as_str(), finding.line)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_legacy_date_is_found_where_the_list_does_not_allow_it() {
        let allowed = ["crates/server/src/legacy/wire.rs", "crates/protocol/src/era/table.rs", "suite.json"];
        check_paths(&allowed, &[]);
        for path in ["crates/server/src/http.rs", "crates/protocol/src/era.rs", "a/suite.json", "a/legacy"] {
            let paths = [&allowed[..], &[path]].concat();
            check_paths(&paths, &[(path, 2)]);
        }
    }

    #[test]
    fn an_entry_without_a_date_under_it_is_found() {
        check_paths(&["crates/protocol/src/era/mod.rs", "suite.json"], &[(SUNSET, 4)]);
    }
}
