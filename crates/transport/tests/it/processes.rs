//! Looking at processes from outside, and waiting for things to become true.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::data::rows;

/// Nothing here takes longer than this; a test that hangs fails instead.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A server that is hard to get rid of; it prints the id of the process that matters.
#[derive(Deserialize)]
pub(crate) struct Stubborn {
    pub(crate) name: String,
    pub(crate) script: String,
    /// Whether the process itself ends at once.
    #[serde(default)]
    pub(crate) leaves: bool,
}

pub(crate) fn stubborn() -> Vec<Stubborn> {
    rows(include_str!("../data/stubborn_servers.json"), "servers")
}

/// Waits until a condition holds that nobody can be asked to report.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let mut tick = tokio::time::interval(Duration::from_millis(10));
    let waiting = async {
        while !holds() {
            tick.tick().await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, waiting).await.is_ok(), "still not true: {what}");
}

/// Whether a process is there at all, a zombie included.
pub(crate) fn exists(id: u32) -> bool {
    Path::new("/proc").join(id.to_string()).exists()
}

/// Whether a process runs; one that nobody has reaped yet does not.
pub(crate) fn runs(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// One of the examples of this crate, which are built with the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(
        path.exists(),
        "{} is built by `cargo test` and `cargo nextest run` without target filters",
        path.display()
    );
    path
}
