//! Every file starts by saying what it is for.

use crate::finding::Finding;
use crate::workspace::TextFile;

pub(super) fn check(file: &TextFile) -> Option<Finding> {
    let first = file.text.lines().next().unwrap_or_default();
    let documented = first.strip_prefix("//!").is_some_and(|doc| !doc.trim().is_empty())
        || first.starts_with("#![doc = include_str!(");
    (!documented).then(|| {
        let what = "start the file with `//!`: what it is for, what it does not do, where to look next";
        Finding::new(&file.path, 1, "module-doc", what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_must_be_a_module_doc_that_says_something() {
        let cases = [
            ("//! What it is for.\nfn f() {}\n", true),
            ("#![doc = include_str!(\"../README.md\")]\n", true),
            ("// A comment is no doc.\n", false),
            ("//!\n//! Late.\n", false),
            ("\n//! A blank line first.\n", false),
            ("", false),
        ];
        for (text, documented) in cases {
            let file = TextFile { path: "a.rs".to_owned(), text: text.to_owned() };
            assert_eq!(check(&file).is_none(), documented, "{text:?}");
        }
    }
}
