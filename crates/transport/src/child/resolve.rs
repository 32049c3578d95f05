//! Which file a program's name stands for, found the way the system finds it.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use super::error::SpawnError;

/// The file that would be started.
pub(super) fn program(
    program: &OsStr,
    path: Option<&OsStr>,
    directory: Option<&Path>,
) -> Result<PathBuf, SpawnError> {
    let here = std::env::current_dir().unwrap_or_default();
    let at = directory.map_or_else(|| here.clone(), |directory| here.join(directory));
    let failed =
        |kind: io::ErrorKind| Err(SpawnError::explain(program, path, directory, io::Error::from(kind)));
    if !at.is_dir() {
        return failed(io::ErrorKind::NotFound);
    }
    let candidates: Vec<PathBuf> = if program.as_encoded_bytes().contains(&b'/') {
        vec![at.join(program)]
    } else {
        std::env::split_paths(path.unwrap_or_default()).map(|folder| at.join(folder).join(program)).collect()
    };
    let files: Vec<PathBuf> = candidates.into_iter().filter(|file| file.is_file()).collect();
    match files.iter().find(|file| is_executable(file)) {
        Some(file) => Ok(file.clone()),
        None if files.is_empty() => failed(io::ErrorKind::NotFound),
        None => failed(io::ErrorKind::PermissionDenied),
    }
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    true
}
