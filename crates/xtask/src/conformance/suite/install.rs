//! Installs the pinned suite with npm, once for each state of the lock file, and makes it start on Node 20.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::process;

/// The first major version of Node that starts the suite as it is.
const COMPLETE_NODE: u32 = 22;
/// The oldest one that starts it with the import below removed.
const OLDEST_NODE: u32 = 20;

/// A function that older versions of Node lack. Only a subcommand that we do not use calls it, but the import is
/// static, so the suite would not start.
const MISSING_IMPORT: &str = "globSync as a,";

/// Installs the suite into `folder` and returns the program for Node to start.
///
/// # Errors
/// If Node is missing or too old, npm fails, or the suite has another form than the pinned one.
pub(super) fn install(folder: &Path) -> Result<PathBuf> {
    let node = major(&process::output(Command::new("node").arg("--version"))?)?;
    ensure!(node >= OLDEST_NODE, "the conformance suite needs Node {OLDEST_NODE} or newer, this is {node}");
    let lock = fs::read(folder.join("package-lock.json")).context("the suite's lock file is missing")?;
    let stamp = folder.join("node_modules/.installed-lock.json");
    if !fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        println!("installing the conformance suite");
        let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        process::succeed(Command::new("npm").args(arguments).current_dir(folder))?;
        fs::write(&stamp, lock)?;
    }
    let program = folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    if node >= COMPLETE_NODE { Ok(program) } else { without_missing_import(&program) }
}

/// Writes a copy of the program beside it that lacks the import.
fn without_missing_import(program: &Path) -> Result<PathBuf> {
    let text = fs::read_to_string(program).with_context(|| format!("cannot read {}", program.display()))?;
    let patched = program.with_file_name("index.node20.js");
    fs::write(&patched, remove_import(&text)?)
        .with_context(|| format!("cannot write {}", patched.display()))?;
    Ok(patched)
}

fn remove_import(text: &str) -> Result<String> {
    if text.matches(MISSING_IMPORT).count() != 1 {
        bail!(
            "the suite does not import `{MISSING_IMPORT}` exactly once; run it on Node {COMPLETE_NODE}, or mend this"
        );
    }
    Ok(text.replacen(MISSING_IMPORT, "", 1))
}

fn major(version: &str) -> Result<u32> {
    let major = version.trim().trim_start_matches('v').split('.').next().unwrap_or_default();
    major.parse().with_context(|| format!("`node --version` says `{}`", version.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_what_node_says() {
        assert_eq!(major("v20.20.2\n").unwrap(), 20);
        assert_eq!(major("v22.0.0").unwrap(), 22);
        assert!(major("segmentation fault").is_err());
    }

    #[test]
    fn only_the_missing_import_is_removed_and_only_if_it_is_the_one() {
        let text = "import{existsSync as i,globSync as a,readFileSync as c}from\"fs\";a(i);";
        assert_eq!(remove_import(text).unwrap(), "import{existsSync as i,readFileSync as c}from\"fs\";a(i);");
        assert!(remove_import("import{a}from\"fs\";").is_err());
        assert!(remove_import(&text.repeat(2)).is_err());
    }
}
