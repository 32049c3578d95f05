//! Dates of legacy revisions stay where the eras are told apart, so that the legacy can be deleted one day.
//!
//! `protocol/src/era/` is the only place in the code that asks for a date; folders named `legacy` are adapters.

use crate::finding::Finding;
use crate::workspace::TextFile;

/// The published revisions before 2026-07-28.
const LEGACY: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Files and folders that may name a legacy date, each with the reason.
const ALLOWED: &[(&str, &str)] = &[
    ("crates/protocol/src/era/", "the one place that tells eras apart"),
    ("conformance/suite/", "which scenarios the official suite runs"),
    ("conformance/expectations.json", "which scenarios the official suite runs"),
    ("crates/xtask/src/tidy/revisions.rs", "this rule"),
];

pub(super) fn check(file: &TextFile) -> Vec<Finding> {
    if is_allowed(file) {
        return Vec::new();
    }
    let lines = file.text.lines().enumerate();
    let hits = lines.filter_map(|(at, line)| {
        let date = LEGACY.iter().find(|date| line.contains(**date))?;
        let what =
            format!("the legacy date {date}; ask `protocol::era` instead, or allow test data in this rule");
        Some(Finding::new(&file.path, at + 1, "legacy-date", what))
    });
    hits.collect()
}

fn is_allowed(file: &TextFile) -> bool {
    file.path.ends_with(".md")
        || file.is_below("legacy")
        || ALLOWED.iter().any(|(allowed, _)| {
            if allowed.ends_with('/') { file.path.starts_with(allowed) } else { file.path == *allowed }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legacy_date_is_found_where_it_may_not_be() {
        let cases = [
            ("crates/server/src/http.rs", 1),
            ("crates/server/tests/it/main.rs", 1),
            ("crates/server/src/legacy/wire.rs", 0),
            ("crates/protocol/src/era/table.rs", 0),
            ("crates/protocol/src/era.rs", 1),
            ("CHANGELOG.md", 0),
            ("conformance/expectations.json", 0),
            ("conformance/src/bin/conformance-server.rs", 1),
        ];
        for (path, expected) in cases {
            let text = "// Since 2026-07-28.\nconst A: &str = \"2025-06-18\";\n".to_owned();
            let found = check(&TextFile { path: path.to_owned(), text });
            assert_eq!(found.len(), expected, "{path}");
            assert!(found.iter().all(|finding| finding.line == 2), "{path}");
        }
    }
}
