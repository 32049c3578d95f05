//! Whether a path is inside a folder, as the file system of this machine sees it.
//!
//! `..` and links are followed as far as things exist, `~` and `file://` are understood, and a relative path begins
//! where the server runs. Servers read paths in more than one way (some take `a/../b` apart before they look at links,
//! some do not decode an address), so a path counts as inside only if it is in every reading, and as outside only if
//! it is in every reading. A link that somebody makes between this look and the server's is not seen.
//!
//! What is in `/proc`, and the open files in `/dev`, is of the process that looks: the server sees its own there. So
//! nobody can say where a path leads that passes through one of them. Nor where a text leads that is not plainly a
//! path; `inside/plain.rs` says what is.

mod plain;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use url::Url;

use super::{Fit, InvalidArgumentTest, Place};
use crate::visible;

/// The longest path that is looked at, in bytes.
const LONGEST: usize = 16 * 1024;

/// Links that are followed for one path.
const LINKS: u32 = 40;

/// Where each process finds something else.
const OF_THE_PROCESS: [&str; 5] = ["/proc", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"];

pub(super) fn check_list(folders: &[String]) -> Result<(), InvalidArgumentTest> {
    if folders.is_empty() {
        return Err(InvalidArgumentTest::new("inside needs a folder"));
    }
    let is_one = |folder: &str| {
        let from_home = folder == "~" || folder.starts_with("~/");
        (from_home || Path::new(folder).is_absolute()) && !folder.contains('\0')
    };
    match folders.iter().find(|folder| !is_one(folder)) {
        None => Ok(()),
        Some(folder) => Err(InvalidArgumentTest::new(format!(
            "the folder {} must begin with / or ~/",
            visible::quoted(folder, 200)
        ))),
    }
}

pub(super) fn fit(folders: &[String], text: &str, place: Place<'_>) -> Fit {
    let Some(readings) = readings(text, place) else { return Fit::Unknown };
    // Both ways to read `..`: as the file system does, and as text.
    let paths: Vec<Option<PathBuf>> = readings
        .iter()
        .flat_map(|path| [resolved(path), lexical(path).and_then(|path| resolved(&path))])
        .collect();
    let fits: Vec<Fit> = folders
        .iter()
        .map(|folder| {
            let folder = expanded(folder, place).and_then(|folder| followed(&folder));
            folder.map_or(Fit::Unknown, |folder| all_in(&folder, &paths))
        })
        .collect();
    if fits.contains(&Fit::Holds) {
        Fit::Holds
    } else if fits.contains(&Fit::Unknown) {
        Fit::Unknown
    } else {
        Fit::Fails
    }
}

fn all_in(folder: &Path, paths: &[Option<PathBuf>]) -> Fit {
    let mut fits = paths.iter().map(|path| path.as_ref().map_or(Fit::Unknown, |path| is_in(folder, path)));
    let first = fits.next().unwrap_or(Fit::Unknown);
    if fits.all(|fit| fit == first) { first } else { Fit::Unknown }
}

/// The folder that a path is in, or the path if it is a folder: for a rule that a person may want.
pub(in crate::policy) fn folder_of(text: &str, place: Place<'_>) -> Option<PathBuf> {
    let readings = readings(text, place)?;
    let [path] = readings.as_slice() else { return None };
    let path = resolved(path)?;
    if path.is_dir() { Some(path) } else { path.parent().map(Path::to_path_buf) }
}

fn is_in(folder: &Path, path: &Path) -> Fit {
    if path.starts_with(folder) {
        Fit::Holds
    } else if lower(path).starts_with(lower(folder)) {
        // The same folder where case does not count, and another one where it does.
        Fit::Unknown
    } else {
        Fit::Fails
    }
}

fn lower(path: &Path) -> PathBuf {
    PathBuf::from(path.to_string_lossy().to_lowercase())
}

/// What the text may mean, as absolute paths; `None` where that is anybody's guess.
fn readings(text: &str, place: Place<'_>) -> Option<Vec<PathBuf>> {
    if text.is_empty() || text.len() > LONGEST || text.starts_with("//") || text.starts_with("\\\\") {
        return None;
    }
    let paths = spelled(text, place)?;
    let is_there = |path: &PathBuf| !climbs(path) && path.symlink_metadata().is_ok();
    (!plain::is_bracketed(text) || paths.iter().all(is_there)).then_some(paths)
}

fn climbs(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
}

/// The same, with brackets taken literally.
fn spelled(text: &str, place: Place<'_>) -> Option<Vec<PathBuf>> {
    if text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:")) {
        return of_address(text);
    }
    if text.contains("://") || !plain::is_plain(text) {
        return None;
    }
    let path = Path::new(text);
    if text.starts_with('~') {
        // Who does not know `~` takes it for a folder of that name, and climbs out of it elsewhere.
        return if climbs(path) { None } else { expanded(text, place).map(|path| vec![path]) };
    }
    if path.is_absolute() {
        return Some(vec![path.to_path_buf()]);
    }
    place.folder.filter(|folder| folder.is_absolute()).map(|folder| vec![folder.join(path)])
}

/// The path of a `file://` address: decoded, and as it stands there.
fn of_address(text: &str) -> Option<Vec<PathBuf>> {
    let rest = text.get("file:".len()..)?.strip_prefix("//")?;
    if !plain::is_plain_address(text) {
        return None;
    }
    let url = Url::parse(text).ok()?;
    if url.query().is_some() || url.fragment().is_some() {
        return None;
    }
    let decoded = url.to_file_path().ok()?;
    if !plain::is_plain(decoded.to_str()?) {
        return None;
    }
    let mut readings = vec![decoded];
    let as_it_stands = rest.get(rest.find('/')?..)?;
    let as_it_stands = PathBuf::from(as_it_stands);
    if !cfg!(windows) && as_it_stands != readings[0] {
        readings.push(as_it_stands);
    }
    Some(readings)
}

/// The path with its `~`. Another person's home is not known.
fn expanded(text: &str, place: Place<'_>) -> Option<PathBuf> {
    let Some(rest) = text.strip_prefix('~') else { return Some(PathBuf::from(text)) };
    let home = place.home.filter(|home| home.is_absolute())?;
    if rest.is_empty() {
        return Some(home.to_path_buf());
    }
    Some(home.join(rest.strip_prefix('/')?.trim_start_matches('/')))
}

/// Takes `..` as text.
fn lexical(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out.is_absolute().then_some(out)
}

/// Follows links and `..` as far as things exist. `None` where it cannot be known.
fn resolved(path: &Path) -> Option<PathBuf> {
    followed(path).filter(|path| !is_of_the_process(path))
}

fn is_of_the_process(path: &Path) -> bool {
    OF_THE_PROCESS.iter().any(|place| path.starts_with(place))
}

/// The same, but whatever passes through `/proc` and its like stays there, by its name. So a rule can be about such a
/// folder: any path that passes through one may be in it, and no other path is.
fn followed(path: &Path) -> Option<PathBuf> {
    let mut done = PathBuf::new();
    let mut todo: VecDeque<OsString> = VecDeque::new();
    let mut links = 0;
    begin(path, &mut done, &mut todo);
    while let Some(part) = todo.pop_front() {
        if part == ".." {
            done.pop();
            continue;
        }
        let next = done.join(&part);
        if is_of_the_process(&next) {
            return Some(todo.iter().fold(next, |path, part| path.join(part)));
        }
        match std::fs::symlink_metadata(&next) {
            Ok(found) if found.is_symlink() => {
                links += 1;
                if links > LINKS {
                    return None;
                }
                let target = std::fs::read_link(&next).ok()?;
                begin(&target, &mut done, &mut todo);
            }
            Ok(_) => done = next,
            Err(error) => match error.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => done = next,
                _ => return None,
            },
        }
    }
    done.is_absolute().then_some(done)
}

/// Puts the parts of a path in front of what is to do; an absolute one begins anew.
fn begin(path: &Path, done: &mut PathBuf, todo: &mut VecDeque<OsString>) {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            // Either replaces what was there, but for a prefix that a root keeps.
            Component::Prefix(_) | Component::RootDir => done.push(part.as_os_str()),
            Component::CurDir => {}
            Component::ParentDir => parts.push(OsString::from("..")),
            Component::Normal(name) => parts.push(name.to_os_string()),
        }
    }
    parts.into_iter().rev().for_each(|part| todo.push_front(part));
}
