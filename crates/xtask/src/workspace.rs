//! Where the workspace is, and the text files in it.
//!
//! The tree is walked rather than asked from git, so that the chores also run in an exported copy and see files
//! that are not committed yet.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// Endings of the files that the checks read.
const TEXT: &[&str] = &["rs", "toml", "json", "md", "sh", "yaml", "yml", "html", "css", "js"];

/// Folders that hold nothing written by us. Hidden ones are skipped too, except `.ci` and `.cargo`.
const SKIPPED: &[&str] = &["target", "node_modules"];

/// Where the conformance runs leave their results.
pub(crate) const CONFORMANCE_RESULTS: &str = "conformance/results";

/// One text file of the workspace.
#[derive(Debug)]
pub(crate) struct TextFile {
    /// Relative to the workspace, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl TextFile {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether the whole file is test code: `tests.rs`, or anything below a folder `tests`.
    pub(crate) fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.split('/').any(|part| part == "tests")
    }

    /// Whether this file itself lies in a folder of that name.
    pub(crate) fn is_below(&self, folder: &str) -> bool {
        self.path.rsplit('/').skip(1).any(|part| part == folder)
    }
}

/// The root of the workspace. Cargo sets the variable when it runs us; without it we were built in place.
pub(crate) fn root() -> PathBuf {
    let manifest =
        std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    Path::new(&manifest).ancestors().nth(2).map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Every text file below `root`, sorted by path.
///
/// # Errors
/// A folder or a file that cannot be read, by name.
pub(crate) fn text_files(root: &Path) -> Result<Vec<TextFile>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type()?;
            if kind.is_dir() && is_ours(&name) && entry.path() != root.join(CONFORMANCE_RESULTS) {
                folders.push(entry.path());
            } else if kind.is_file() && is_text(&folder, &name) {
                files.push(read(root, &entry.path())?);
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn is_ours(folder: &str) -> bool {
    !SKIPPED.contains(&folder) && (!folder.starts_with('.') || [".ci", ".cargo"].contains(&folder))
}

fn is_text(folder: &Path, name: &str) -> bool {
    folder.file_name().is_some_and(|folder| folder == ".ci")
        || name.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && TEXT.contains(&ending))
}

fn read(root: &Path, path: &Path) -> Result<TextFile> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let relative = path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
    Ok(TextFile { path: relative, text: String::from_utf8_lossy(&bytes).into_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> TextFile {
        TextFile { path: path.to_owned(), text: String::new() }
    }

    #[test]
    fn test_files_are_known_by_name_and_by_folder() {
        let cases = [
            ("crates/a/src/lib.rs", false),
            ("crates/a/src/frame/tests.rs", true),
            ("crates/a/tests/it/main.rs", true),
            ("crates/testkit/src/lib.rs", false),
            ("crates/a/src/tests/data.rs", true),
        ];
        for (path, expected) in cases {
            assert_eq!(file(path).is_test(), expected, "{path}");
        }
    }

    #[test]
    fn a_file_is_below_its_folders_and_not_below_its_own_name() {
        assert!(file("crates/a/src/legacy/wire.rs").is_below("legacy"));
        assert!(!file("crates/a/src/legacy").is_below("legacy"));
    }

    #[test]
    fn the_workspace_contains_this_file() {
        let files = text_files(&root()).unwrap();
        assert!(files.iter().any(|file| file.path == "crates/xtask/src/workspace.rs"));
        assert!(files.iter().all(|file| !file.path.starts_with("target/")));
    }
}
