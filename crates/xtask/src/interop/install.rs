//! Installs what is pinned below `interop/` into `target/interop`, once for each state of its lock file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use cargo_metadata::MetadataCommand;

use super::Places;
use super::data::{Entry, Install, Peer, Registry};
use crate::process;

/// What of a folder for npm is copied to where it is installed.
const NPM_FILES: &[&str] = &["package.json", "package-lock.json", ".npmrc"];

/// Our programs.
pub(super) struct Ours {
    folder: PathBuf,
}

impl Ours {
    pub(super) fn client(&self) -> PathBuf {
        self.folder.join("interop-client")
    }

    pub(super) fn server(&self) -> PathBuf {
        self.folder.join("interop-server")
    }

    pub(super) fn corpus(&self) -> PathBuf {
        self.folder.join("interop-corpus")
    }

    pub(super) fn wire(&self) -> PathBuf {
        self.folder.join("interop-wire")
    }
}

/// Builds our programs.
///
/// # Errors
/// If they do not build.
pub(super) fn ours(root: &Path) -> Result<Ours> {
    let mut cargo = cargo();
    cargo.current_dir(root).args(["build", "--quiet", "-p", "switchboard-interop", "--bins"]);
    process::succeed(&mut cargo)?;
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec();
    let metadata = metadata.context("cannot find the folder that cargo builds into")?;
    Ok(Ours { folder: metadata.target_directory.into_std_path_buf().join("debug") })
}

/// The two programs of a peer, as the words before their arguments.
pub(super) struct Theirs {
    pub(super) client: Vec<String>,
    pub(super) server: Vec<String>,
}

/// Installs a peer.
///
/// # Errors
/// If the tool that installs it is missing or fails.
pub(super) fn peer(places: &Places, peer: &Peer) -> Result<Theirs> {
    let source = places.sources.join("peers").join(&peer.name);
    let target = places.installed.join("peers").join(&peer.name);
    let program = |interpreter: &Path, file: PathBuf| vec![text(interpreter), text(&file)];
    match peer.install {
        Install::Cargo => {
            let mut cargo = cargo();
            cargo.current_dir(&source).args(["build", "--quiet", "--locked", "--target-dir"]).arg(&target);
            // Ours is for the toolchain and the checkout, not for a workspace of its own.
            process::succeed(cargo.env_remove("CARGO_TARGET_DIR"))?;
            let folder = target.join("debug");
            Ok(Theirs {
                client: vec![text(&folder.join("client"))],
                server: vec![text(&folder.join("server"))],
            })
        }
        Install::Npm => {
            npm(&source, &target)?;
            for file in ["client.mjs", "server.mjs", "reference.mjs"] {
                if source.join(file).exists() {
                    copy(&source.join(file), &target.join(file))?;
                }
            }
            let node = Path::new("node");
            Ok(Theirs {
                client: program(node, target.join("client.mjs")),
                server: program(node, target.join("server.mjs")),
            })
        }
        Install::Pypi => {
            python(places, &source.join("requirements.txt"), &target)?;
            let python = target.join("bin/python");
            Ok(Theirs {
                client: program(&python, source.join("client.py")),
                server: program(&python, source.join("server.py")),
            })
        }
    }
}

/// Installs the servers of the corpus that npm has, all in one folder.
///
/// # Errors
/// If npm fails.
pub(super) fn npm_corpus(places: &Places) -> Result<()> {
    npm(&places.sources.join("corpus/npm"), &npm_folder(places))
}

fn npm_folder(places: &Places) -> PathBuf {
    places.installed.join("corpus/npm")
}

/// Installs one server of the corpus, and returns the words that start it.
///
/// # Errors
/// If it cannot be installed, or has no such program.
pub(super) fn subject(places: &Places, entry: &Entry) -> Result<Vec<String>> {
    match entry.registry {
        Registry::Pypi => {
            let target = places.installed.join("corpus/python").join(&entry.name);
            let lock = places.sources.join("corpus/python").join(format!("{}.txt", entry.name));
            python(places, &lock, &target)?;
            Ok(vec![text(&target.join("bin").join(&entry.program))])
        }
        Registry::Npm => {
            let folder = npm_folder(places).join("node_modules").join(&entry.package);
            let manifest = fs::read_to_string(folder.join("package.json"))
                .with_context(|| format!("{} is not installed", entry.package))?;
            let manifest: serde_json::Value = serde_json::from_str(&manifest)?;
            // A package with one program may name it by its path alone.
            let bin = manifest["bin"].as_str().or_else(|| manifest["bin"][&entry.program].as_str());
            let bin = bin.with_context(|| format!("{} has no program {}", entry.package, entry.program))?;
            Ok(vec!["node".to_owned(), text(&folder.join(bin))])
        }
    }
}

/// Installs what the lock file of a folder pins into another.
///
/// # Errors
/// If npm fails.
pub(crate) fn npm(source: &Path, target: &Path) -> Result<()> {
    let lock = source.join("package-lock.json");
    let stamp = target.join("node_modules/.installed-lock.json");
    if is_installed(&lock, &stamp)? {
        return Ok(());
    }
    eprintln!("installing {}", source.display());
    fs::create_dir_all(target)?;
    for file in NPM_FILES {
        copy(&source.join(file), &target.join(file))?;
    }
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    // What npm prints is not ours: standard output may be JSON.
    process::output(Command::new("npm").args(arguments).current_dir(target))?;
    copy(&lock, &stamp)
}

fn python(places: &Places, lock: &Path, target: &Path) -> Result<()> {
    let stamp = target.join("installed.txt");
    if is_installed(lock, &stamp)? {
        return Ok(());
    }
    let uv = uv(places)?;
    eprintln!("installing {}", lock.display());
    process::output(
        Command::new(&uv).args(["venv", "--quiet", "--clear", "--python", "python3"]).arg(target),
    )?;
    let python = target.join("bin/python");
    let mut sync = Command::new(&uv);
    sync.args(["pip", "sync", "--quiet", "--python"]).arg(python).arg(lock);
    process::output(&mut sync)?;
    copy(lock, &stamp)
}

/// The installer, itself installed from its pin: dozens of environments with pip take longer than all else.
fn uv(places: &Places) -> Result<PathBuf> {
    let (lock, target) = (places.sources.join("uv.txt"), places.installed.join("uv"));
    let stamp = target.join("installed.txt");
    if !is_installed(&lock, &stamp)? {
        process::output(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&target))?;
        let mut pip = Command::new(target.join("bin/python"));
        process::output(pip.args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(&lock))?;
        copy(&lock, &stamp)?;
    }
    Ok(target.join("bin/uv"))
}

fn is_installed(lock: &Path, stamp: &Path) -> Result<bool> {
    let lock = fs::read(lock).with_context(|| format!("{} is missing", lock.display()))?;
    Ok(fs::read(stamp).is_ok_and(|installed| installed == lock))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
