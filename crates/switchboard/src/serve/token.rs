//! The token of `serve` where nobody chose one: made up once, and kept beside the sessions.
//!
//! So pages stay logged in when the program is started again. The file is the person's alone; whoever can read it can
//! read the sessions beside it, too. Where that cannot be had, every start makes up a new one.

use std::io;
use std::path::Path;

use crate::failure::Failure;

/// The name of the file.
const FILE: &str = "serve-token";

/// The length of a token, in characters.
const LENGTH: usize = 48;

/// The token that is kept in a folder, or a new one that is kept from now on. The second value says why it is not.
pub(super) fn kept(folder: &Path) -> Result<(String, Option<io::Error>), Failure> {
    let file = folder.join(FILE);
    if let Some(token) = read(&file) {
        return Ok((token, None));
    }
    let token = made_up()?;
    let written = write(folder, &file, &token);
    Ok((token, written.err()))
}

/// A token that nobody can guess.
pub(super) fn made_up() -> Result<String, Failure> {
    let mut bytes = [0; LENGTH / 2];
    getrandom::fill(&mut bytes).map_err(|error| {
        Failure::usage(format!("no random token can be made: {error}"), "name one with --token-file")
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Nothing if there is none, if it is not whole, or if others could have read it.
#[cfg(unix)]
fn read(file: &Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt as _;

    let about = std::fs::symlink_metadata(file).ok()?;
    let private = about.is_file() && about.permissions().mode() & 0o077 == 0;
    let token = std::fs::read_to_string(file).ok().filter(|_| private)?;
    let token = token.trim().to_owned();
    (token.len() == LENGTH && token.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(token)
}

#[cfg(unix)]
fn write(folder: &Path, file: &Path, token: &str) -> io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;

    std::fs::create_dir_all(folder)?;
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    writeln!(file, "{token}")
}

#[cfg(not(unix))]
fn read(_: &Path) -> Option<String> {
    None
}

#[cfg(not(unix))]
fn write(_: &Path, _: &Path, _: &str) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{FILE, kept};

    #[test]
    fn a_token_is_kept_as_long_as_nobody_else_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let file = data.join(FILE);
        let (first, problem) = kept(&data).unwrap();
        assert!(problem.is_none());
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(kept(&data).unwrap().0, first);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        let (second, _) = kept(&data).unwrap();
        assert_ne!(second, first);
        assert_eq!(kept(&data).unwrap().0, second);
        std::fs::write(&file, "cut").unwrap();
        assert_ne!(kept(&data).unwrap().0, second);
    }

    #[test]
    fn a_token_that_cannot_be_kept_works_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        std::fs::write(&data, "a file in its place").unwrap();
        let (token, problem) = kept(&data).unwrap();
        assert!(token.len() == 48 && problem.is_some());
    }
}
