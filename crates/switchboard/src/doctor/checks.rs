//! What is looked at. Nothing here changes anything that lasts.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use futures_util::future::join_all;
use switchboard_agent::journal::Masker;
use switchboard_client::ChildCommand;
use switchboard_config::{Config, Keeper, SecretString, Target};
use tokio::process::Command;

use super::Finding;
use crate::settings::{Settings, names_server};

/// Programs that servers are usually started with.
const RUNTIMES: [&str; 6] = ["node", "npx", "uv", "uvx", "python3", "docker"];
/// How long a program may take to say its version.
const VERSION: Duration = Duration::from_secs(10);
/// Less room on the disk than this, in bytes, is worth a word.
const LITTLE_ROOM: u64 = 100 << 20;
/// With less room than this, in bytes, nothing works.
const NO_ROOM: u64 = 1 << 20;

/// Everything but servers and models.
pub(super) async fn all(settings: &Settings) -> Vec<Finding> {
    let config = settings.all();
    let mut findings = configuration(&config);
    findings.extend(folders(settings));
    findings.extend(sessions(settings).await);
    findings.push(secrets(settings));
    findings.extend(spared(&config));
    findings.extend(runtimes(&config).await);
    findings
}

fn configuration(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    for problem in &config.problems {
        findings.push(Finding::failed("configuration", problem.to_string(), problem.hint.clone()));
    }
    for notice in &config.warnings {
        findings.push(Finding::warning("configuration", notice.to_string(), "correct the file"));
    }
    for one in &config.untrusted {
        let what =
            one.server.as_deref().map_or_else(|| "the file".to_owned(), |name| format!("server {name}"));
        let detail = format!("{}: {what} comes with the project and is not trusted yet", one.origin);
        let name = one.server.as_deref().map_or("--all".into(), switchboard_agent::visible::argument);
        let next = format!("look at it, then: switchboard servers trust {name}");
        findings.push(Finding::warning("configuration", detail, next));
    }
    let enabled = config.servers.iter().filter(|server| server.enabled).count();
    let found = format!("{enabled} servers, {} models", config.models.len());
    findings.push(Finding::ok("configuration", found));
    findings
}

fn folders(settings: &Settings) -> Vec<Finding> {
    let paths = match settings.paths() {
        Ok(paths) => paths,
        Err(failure) => {
            let next = "set SWITCHBOARD_CONFIG_DIR and SWITCHBOARD_DATA_DIR";
            return vec![Finding::failed("folders", failure.cause(), next)];
        }
    };
    let data = &paths.data_dir;
    let shown = data.display();
    let mut findings = vec![match writable(data) {
        Ok(()) => Finding::ok("data folder", format!("{shown} can be written")),
        Err(error) => {
            let next = "check the permissions of the folder, or set SWITCHBOARD_DATA_DIR to another one";
            Finding::failed("data folder", format!("{shown} cannot be written: {error}"), next)
        }
    }];
    findings.extend(room(data).map(|room| disk(data, room)));
    let file = paths.config_file();
    findings.push(match std::fs::File::open(&file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Finding::ok("configuration file", format!("there is none of our own at {}", file.display()))
        }
        Err(error) => {
            let detail = format!("{} cannot be read: {error}", file.display());
            Finding::failed("configuration file", detail, "check its permissions")
        }
        Ok(_) => Finding::ok("configuration file", file.display().to_string()),
    });
    findings
}

/// What is left of the disk, in bytes.
fn disk(data: &Path, room: u64) -> Finding {
    let (mebibytes, shown) = (room >> 20, data.display());
    let next = "make room on the disk, or set SWITCHBOARD_DATA_DIR to a folder on another one";
    match room {
        ..NO_ROOM => {
            Finding::failed("disk", format!("the disk is full: nothing can be kept in {shown}"), next)
        }
        NO_ROOM..LITTLE_ROOM => {
            Finding::warning("disk", format!("{mebibytes} MiB are left for {shown}"), next)
        }
        _ => Finding::ok("disk", format!("{mebibytes} MiB are left")),
    }
}

/// Opens the database of sessions, reads all of it, and tries whether it can be written.
async fn sessions(settings: &Settings) -> Option<Finding> {
    // Where there is no folder, that is said already.
    let path = settings.store_path().ok()?;
    let shown = path.display().to_string();
    let checked = tokio::task::spawn_blocking(move || switchboard_store::check(&path)).await;
    let next = "do what is said there, or set SWITCHBOARD_DATA_DIR to another folder";
    Some(match checked {
        Ok(Ok(Some(count))) => Finding::ok("sessions", format!("{shown} is sound; {count} are kept")),
        Ok(Ok(None)) => Finding::ok("sessions", format!("none are kept yet in {shown}")),
        Ok(Err(error)) => Finding::failed("sessions", error.to_string(), next),
        Err(error) => Finding::failed("sessions", format!("{shown} cannot be looked at: {error}"), next),
    })
}

/// Writes a file and removes it. A folder that is not there yet is made by whoever needs it first, so its parent counts.
fn writable(folder: &Path) -> std::io::Result<()> {
    let first = folder.ancestors().find(|folder| folder.exists());
    if let Some(file) = first.filter(|there| !there.is_dir()) {
        return Err(std::io::Error::other(format!("{} is no folder", file.display())));
    }
    let there = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(folder);
    switchboard_config::try_folder(there)
}

#[cfg(unix)]
fn room(folder: &Path) -> Option<u64> {
    let there = folder.ancestors().find(|folder| folder.is_dir())?;
    let disk = rustix::fs::statvfs(there).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn room(_: &Path) -> Option<u64> {
    None
}

fn secrets(settings: &Settings) -> Finding {
    let store = match settings.secrets() {
        Ok(store) => store,
        Err(failure) => return Finding::failed("secrets", failure.cause(), "set SWITCHBOARD_DATA_DIR"),
    };
    let keeper = store.keeper();
    match (store.list(), keeper) {
        (Err(error), _) => Finding::failed("secrets", error.to_string(), error.hint()),
        (Ok(known), Keeper::Keychain) => {
            Finding::ok("secrets", format!("new ones go into {keeper}; {} are kept", known.len()))
        }
        (Ok(known), Keeper::File) => {
            let found = format!("there is no keychain, or it is not wanted: new ones go into {keeper}");
            Finding::ok("secrets", format!("{found}; {} are kept", known.len()))
        }
    }
}

/// Secrets of the configuration that are not masked where they appear.
fn spared(config: &Config) -> Vec<Finding> {
    let (word, mut seen) = (switchboard_agent::visible::name, BTreeSet::new());
    let of_servers = config.servers.iter().flat_map(|server| {
        let whose = format!("server {}", word(&server.name));
        server.secrets.iter().map(move |secret| (whose.clone(), secret))
    });
    let of_models = config.secrets.iter().map(|secret| ("a model".to_owned(), secret));
    let mut finding = |(whose, secret): (String, &SecretString)| {
        let names = !secret.expose().is_empty() && names_server(config, secret);
        let why = Masker::spares(secret.expose()).or(names.then_some("it is part of the name of a server"))?;
        let is_new = seen.insert((whose.clone(), why));
        let detail = format!("a secret of {whose} is not masked where it appears: {why}");
        is_new.then(|| Finding::warning("secrets", detail, "choose another value for it"))
    };
    of_servers.chain(of_models).filter_map(&mut finding).collect()
}

/// The usual programs, and those that servers of the configuration need.
async fn runtimes(config: &Config) -> Vec<Finding> {
    let mut needed = BTreeSet::new();
    for server in config.servers.iter().filter(|server| server.enabled) {
        if let Target::Command { command, .. } = &server.target {
            needed.insert(command.as_str());
        }
    }
    let looked = RUNTIMES.iter().map(|&program| runtime(program, needed.contains(program)));
    join_all(looked).await
}

async fn runtime(program: &str, needed: bool) -> Finding {
    match ChildCommand::new(program).resolve() {
        Ok(path) => {
            let version = version(&path).await.map(|version| format!(" ({version})")).unwrap_or_default();
            Finding::ok(program, format!("{}{version}", path.display()))
        }
        Err(error) if needed => {
            let next = format!("install {program}, or correct PATH: servers of the configuration need it");
            Finding::failed(program, error.to_string(), next)
        }
        Err(_) => Finding::ok(program, "not there, and no server needs it"),
    }
}

/// The first line of what it says about itself.
async fn version(program: &Path) -> Option<String> {
    let asked = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(VERSION, asked).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().next().filter(|_| output.status.success())?.trim().to_owned();
    (!line.is_empty()).then(|| switchboard_agent::visible::short(&line, 60))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{disk, writable};
    use crate::doctor::Health;

    #[test]
    fn a_full_disk_stops_everything_and_a_small_one_is_warned_of() {
        for (room, health) in [
            (0, Health::Failed),
            ((1 << 20) - 1, Health::Failed),
            (1 << 20, Health::Warning),
            (100 << 20, Health::Ok),
        ] {
            let found = disk(Path::new("/data"), room);
            assert_eq!(found.health, health, "{room}");
            assert_eq!(found.next_step.is_some(), health != Health::Ok, "{room}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_tried_where_it_would_be() {
        let folder = tempfile::tempdir().unwrap();
        assert!(writable(&folder.path().join("not/yet/there")).is_ok());
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        for path in [file.clone(), file.join("in/it")] {
            assert!(writable(&path).unwrap_err().to_string().contains("file is no folder"));
        }
        let read_only = Path::new("/proc/self");
        if read_only.is_dir() {
            assert!(writable(read_only).is_err());
        }
    }
}
