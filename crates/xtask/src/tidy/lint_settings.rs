//! The crates that do no IO each have a `clippy.toml` that takes the clock, threads and the environment away.
//!
//! Such a file replaces the workspace's own for its crate, so it must repeat every setting of it.

use crate::finding::Finding;
use crate::workspace::TextFile;

/// Folders of the IO-free crates.
const IO_FREE: &[&str] = &["crates/sse", "crates/protocol", "crates/schema", "crates/auth"];

/// What none of them may call.
const DISALLOWED: &[&str] =
    &["std::time::Instant::now", "std::time::SystemTime::now", "std::thread::spawn", "std::env::var"];

const RULE: &str = "lint-settings";

pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let text_of = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    let shared = text_of("clippy.toml").unwrap_or_default();
    let mut findings = Vec::new();
    for folder in IO_FREE.iter().filter(|folder| text_of(&format!("{folder}/Cargo.toml")).is_some()) {
        let path = format!("{folder}/clippy.toml");
        let Some(own) = text_of(&path) else {
            findings.push(Finding::new(&path, 1, RULE, "is missing; copy the one of `crates/sse`"));
            continue;
        };
        let settings = shared.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        for setting in settings.filter(|setting| !own.lines().any(|line| line == *setting)) {
            let what = format!("repeat `{setting}` of the workspace's clippy.toml, which this file replaces");
            findings.push(Finding::new(&path, 1, RULE, what));
        }
        for method in DISALLOWED.iter().filter(|method| !own.contains(&format!("path = \"{method}\""))) {
            findings.push(Finding::new(&path, 1, RULE, format!("add `{method}` to disallowed-methods")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_own(own: Option<&str>, expected: &[&str]) {
        let file = |path: &str, text: &str| TextFile { path: path.to_owned(), text: text.to_owned() };
        let mut files = vec![
            file("clippy.toml", "# Why.\na = 1\nb = true\n"),
            file("crates/sse/Cargo.toml", "[package]\n"),
        ];
        files.extend(own.map(|own| file("crates/sse/clippy.toml", own)));
        let found: Vec<_> = check(&files).into_iter().map(|finding| finding.what).collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (what, expected) in found.iter().zip(expected) {
            assert!(what.contains(expected), "{what}");
        }
    }

    #[test]
    fn an_io_free_crate_repeats_the_settings_and_disallows_the_methods() {
        let methods: String =
            DISALLOWED.iter().map(|method| format!("{{ path = \"{method}\" }},\n")).collect();
        check_own(None, &["is missing"]);
        check_own(Some(&format!("a = 1\nb = true\n{methods}")), &[]);
        check_own(Some(&format!("a = 1\n{methods}")), &["b = true"]);
        let without_clock = methods.replace("std::time::Instant::now", "x");
        check_own(Some(&format!("a = 1\nb = true\n{without_clock}")), &["Instant::now"]);
    }

    #[test]
    fn a_crate_that_does_not_exist_yet_needs_no_settings() {
        assert_eq!(check(&[]), []);
    }
}
