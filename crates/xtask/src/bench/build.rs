//! What a user's build costs: crates in the tree of the smallest servers, and CPU seconds of a clean
//! debug build and of a release rebuild after one edit.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::report::{Report, Row, Target};
use crate::{process, workspace};

const SUBJECTS: [(&str, &str, &str); 2] = [
    ("stdio", "minimal-peer-stdio", "minimal-ours-stdio"),
    ("HTTP", "minimal-peer-http", "minimal-ours-http"),
];

/// Measures all of it. Dependencies are fetched first, so that no download is timed.
///
/// # Errors
/// When a server does not build.
pub(crate) fn measure(benches: &Path, report: &mut Report) -> Result<()> {
    process::succeed(Command::new("cargo").current_dir(benches).arg("fetch"))?;
    for (name, peer, ours) in SUBJECTS {
        let limit = if name == "stdio" { 60.0 } else { 80.0 };
        let mut row = Row::new("Crates in the tree", &format!("two tools, {name}"), Target::AtMost(limit));
        if name == "HTTP" {
            row.add("floor", crates(benches, "minimal-floor")?);
        }
        row.add("peer", crates(benches, peer)?);
        row.add("ours", crates(benches, ours)?);
        report.add(row);
    }
    for (name, peer, ours) in SUBJECTS {
        let mut row =
            Row::new("CPU seconds of a clean debug build", &format!("two tools, {name}"), Target::BelowPeer);
        if name == "HTTP" {
            row.add("floor", clean_build(benches, "minimal-floor")?);
        }
        row.add("peer", clean_build(benches, peer)?);
        row.add("ours", clean_build(benches, ours)?);
        report.add(row);
    }
    let mut row =
        Row::new("CPU seconds of a release rebuild after one edit", "two tools, HTTP", Target::AtMost(15.0));
    for (name, package) in
        [("floor", "minimal-floor"), ("peer", "minimal-peer-http"), ("ours", "minimal-ours-http")]
    {
        row.add(name, rebuild(benches, package)?);
    }
    report.add(row);
    Ok(())
}

fn crates(benches: &Path, package: &str) -> Result<f64> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(benches).args([
        "tree",
        "-p",
        package,
        "-e",
        "normal,build",
        "--prefix",
        "none",
        "--no-dedupe",
    ]);
    let tree = process::output(&mut cargo)?;
    let mut lines: Vec<&str> = tree.lines().filter(|line| !line.is_empty()).collect();
    lines.sort_unstable();
    lines.dedup();
    #[expect(clippy::cast_precision_loss, reason = "a number of crates")]
    Ok(lines.len() as f64)
}

fn clean_build(benches: &Path, package: &str) -> Result<f64> {
    let target = workspace::root().join("target/benches-clean");
    fs::remove_dir_all(&target).ok();
    let seconds = build(benches, package, &target, "");
    fs::remove_dir_all(&target).ok();
    seconds
}

fn rebuild(benches: &Path, package: &str) -> Result<f64> {
    let target = workspace::root().join("target/benches");
    build(benches, package, &target, "--release")?;
    let folder = package.trim_start_matches("minimal-");
    let source = benches.join("minimal").join(folder).join("src/main.rs");
    let text = fs::read_to_string(&source)?;
    fs::write(&source, &text)?;
    build(benches, package, &target, "--release")
}

fn build(benches: &Path, package: &str, target: &Path, release: &str) -> Result<f64> {
    eprintln!("building {package} {release}");
    let target = target.display();
    let script = format!(
        "TIMEFORMAT='%U %S'; time cargo build --offline -q {release} -p {package} --target-dir '{target}' >&2"
    );
    let mut shell = Command::new("bash");
    shell.current_dir(benches).args(["-c", &script]).env("CARGO_INCREMENTAL", "0");
    let output = shell.output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{package} does not build:\n{stderr}");
    let times = stderr.trim_end().lines().last().unwrap_or_default();
    let seconds: Option<f64> = times.split_whitespace().map(|text| text.parse::<f64>().ok()).sum();
    seconds.with_context(|| format!("no times in {times:?}"))
}
