//! The rehearsal of the day on which the legacy goes: everything is built and tested without the feature `legacy`,
//! and what the compiler wrote down about it must name no file of a folder `legacy`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use cargo_metadata::Message;

use crate::{process, workspace};

/// Every default feature but `legacy`, and no test that is about the legacy. The chores are no part of the product.
const SELECTION: &[&str] = &[
    "--workspace",
    "--exclude",
    "xtask",
    "--no-default-features",
    "--features",
    "switchboard-server/serve,switchboard-server/validate",
];

/// Builds and tests without the legacy.
///
/// # Errors
/// What does not build or fails, or the legacy files that were compiled nevertheless.
pub(crate) fn run(cargo: impl Fn() -> Command) -> Result<()> {
    let libraries = compiled(cargo().args(["build", "--no-default-features"]))?;
    let tests = compiled(cargo().args(["test", "--no-run"]).args(SELECTION))?;
    println!("{} files of the default program and {} of all tests, none of them legacy", libraries, tests);
    process::succeed(cargo().args(["nextest", "run", "--no-fail-fast"]).args(SELECTION))
}

/// Runs a build, and returns how many source files of the workspace went into it.
fn compiled(build: &mut Command) -> Result<usize> {
    let line = process::command_line(build);
    build.args(["--message-format", "json-render-diagnostics"]).stdout(Stdio::piped());
    let output = build.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` ended with {}", output.status);
    }
    let mut sources = Vec::new();
    for message in Message::parse_stream(&output.stdout[..]) {
        if let Message::CompilerArtifact(artifact) = message? {
            for file in artifact.filenames.iter().chain(&artifact.executable) {
                sources.extend(dependencies(file.as_std_path()));
            }
        }
    }
    sources.sort();
    sources.dedup();
    let legacy: Vec<_> = sources.iter().filter(|source| is_legacy(source)).collect();
    if let Some(first) = legacy.first() {
        bail!("`{line}` compiled {} legacy files, such as {}", legacy.len(), first.display());
    }
    if sources.is_empty() {
        bail!("`{line}` left no list of its sources, so nothing is proved");
    }
    Ok(sources.len())
}

/// The sources of the workspace that an artifact was made from, as the compiler listed them beside it.
///
/// A program that lies outside of `deps` has one list for every way in which it is built, which need not be that of
/// this one; its sources are in the lists of its libraries and of its tests.
fn dependencies(artifact: &Path) -> Vec<PathBuf> {
    if !artifact.parent().is_some_and(|folder| folder.ends_with("deps")) {
        return Vec::new();
    }
    let root = workspace::root();
    let stem = artifact.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = stem.strip_prefix("lib").map_or(stem.clone(), ToOwned::to_owned);
    let list = fs::read_to_string(artifact.with_file_name(format!("{stem}.d"))).unwrap_or_default();
    let words = list.lines().filter_map(|line| line.split_once(": ")).flat_map(|(_, words)| words.split(' '));
    words.map(|word| root.join(word)).filter(|path| path.starts_with(&root) && path.exists()).collect()
}

fn is_legacy(source: &Path) -> bool {
    source.parent().is_some_and(|folder| folder.components().any(|part| part.as_os_str() == "legacy"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legacy_file_lies_in_a_folder_of_that_name() {
        assert!(is_legacy(Path::new("crates/server/src/legacy/http/mod.rs")));
        assert!(!is_legacy(Path::new("crates/server/src/legacy")));
        assert!(!is_legacy(Path::new("crates/server/src/http.rs")));
    }
}
