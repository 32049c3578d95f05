//! `cargo xtask browser`: drives the web page of a real `switchboard serve` in a headless Chromium.
//!
//! What is played is in `crates/app/browser`; what it needs is pinned there and installed below `target/browser`. A
//! picture of each page, wide and narrow, light and dark, is left in `target/browser/pictures`, to be looked at. The
//! browser is that of the machine; where there is none, it is installed as a package of Debian.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use cargo_metadata::MetadataCommand;

use crate::{interop, process, workspace};

/// Names under which the browser is found in `PATH`.
const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

/// The oldest Node that the tests run on.
const OLDEST_NODE: u32 = 20;

/// Arguments of `cargo xtask browser`.
#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Only tests whose name contains this.
    #[arg(value_name = "TEXT")]
    only: Option<String>,
    /// The browser; by default the first Chromium in `PATH`.
    #[arg(long, value_name = "PROGRAM", env = "CHROMIUM")]
    chromium: Option<PathBuf>,
}

/// Runs the tests that were asked for; `false` if one failed.
///
/// # Errors
/// If our programs cannot be built, or Node or the browser is missing and cannot be installed.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let root = workspace::root();
    node()?;
    let chromium = match &args.chromium {
        Some(chromium) => chromium.clone(),
        None => found_or_installed()?,
    };
    let target = build(&root)?;
    let (tests, folder) = (root.join("crates/app/browser"), target.join("browser"));
    let npm = folder.join("npm");
    interop::npm(&tests, &npm)?;
    let pictures = folder.join("pictures");
    fs::create_dir_all(&pictures).with_context(|| format!("cannot make {}", pictures.display()))?;
    let mut node = Command::new("node");
    node.arg(tests.join("main.mjs")).arg(npm);
    node.arg(target.join("debug/switchboard")).arg(target.join("debug/examples/playground"));
    node.arg(chromium).arg(&pictures).args(&args.only);
    let status = node.status().context("cannot start `node`")?;
    println!("pictures: {}", pictures.display());
    Ok(status.success())
}

/// Builds the program and the server that it is tested with, and gives the folder that cargo builds into.
fn build(root: &Path) -> Result<PathBuf> {
    let cargo = || {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(root).args(["build", "--quiet"]);
        cargo
    };
    process::succeed(cargo().args(["-p", "switchboard", "--bin", "switchboard"]))?;
    process::succeed(cargo().args(["-p", "switchboard-app", "--example", "playground"]))?;
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec();
    let metadata = metadata.context("cannot find the folder that cargo builds into")?;
    Ok(metadata.target_directory.into_std_path_buf())
}

fn node() -> Result<()> {
    let version = process::output(Command::new("node").arg("--version"))?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|major| major.parse().ok());
    let major: u32 = major.with_context(|| format!("`node --version` says `{}`", version.trim()))?;
    ensure!(major >= OLDEST_NODE, "the browser tests need Node {OLDEST_NODE} or newer, this is {major}");
    Ok(())
}

fn found_or_installed() -> Result<PathBuf> {
    if let Some(found) = found() {
        return Ok(found);
    }
    println!("installing chromium");
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.args(["-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3"]);
        process::succeed(apt.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    apt(&["update", "--quiet"])?;
    apt(&["install", "--yes", "--quiet", "--no-install-recommends", "chromium", "fonts-dejavu-core"])?;
    found().context("chromium was installed and is not in PATH; name it with --chromium")
}

fn found() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    let programs = BROWSERS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    programs.into_iter().find(|program| program.is_file())
}
