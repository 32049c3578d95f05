//! Why a server could not be started, said so that the next action is clear.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// A server process could not be started.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct SpawnError {
    message: String,
    #[source]
    source: io::Error,
}

impl SpawnError {
    /// Whether there is no such program.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }

    /// Whether the program may not be executed.
    #[must_use]
    pub fn is_permission_denied(&self) -> bool {
        self.source.kind() == io::ErrorKind::PermissionDenied
    }

    pub(super) fn without_streams(program: &OsStr) -> Self {
        let source = io::Error::other("the process has no standard streams");
        Self { message: format!("Cannot start {}: {source}", program.display()), source }
    }

    pub(super) fn explain(
        program: &OsStr,
        path: Option<&OsStr>,
        directory: Option<&Path>,
        source: io::Error,
    ) -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        let directory = directory.map_or_else(|| here.clone(), |directory| here.join(directory));
        let message = if directory.is_dir() {
            let looked = looked_up(program, path, &directory);
            // That it was not found is what the rest says better.
            match source.kind() {
                io::ErrorKind::NotFound => format!("Cannot start {}: {looked}", program.display()),
                _ => format!("Cannot start {}: {source}; {looked}", program.display()),
            }
        } else {
            format!(
                "Cannot start {}: its working directory {} does not exist",
                program.display(),
                directory.display()
            )
        };
        Self { message, source }
    }
}

/// Where the program was looked for, and what was found there.
fn looked_up(program: &OsStr, path: Option<&OsStr>, directory: &Path) -> String {
    let at = directory.display();
    if program.as_encoded_bytes().contains(&b'/') {
        let resolved = directory.join(program);
        let state = if resolved.exists() {
            "which exists: is it executable, and is the interpreter in its first line there?"
        } else {
            "which does not exist; give an absolute path, or a name to be found in PATH"
        };
        return format!("it resolves to {}, {state} (working directory {at})", resolved.display());
    }
    let searched = path.unwrap_or_default();
    let hits: Vec<PathBuf> =
        std::env::split_paths(searched).map(|dir| dir.join(program)).filter(|file| file.exists()).collect();
    match hits.first() {
        Some(found) => format!(
            "PATH has {}: is it executable, and is the interpreter in its first line there? (working directory {at})",
            found.display()
        ),
        None => format!(
            "it is in no directory of PATH; install it, or give its absolute path (PATH={}, working directory {at})",
            searched.display()
        ),
    }
}
