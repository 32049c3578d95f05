//! Reads files: which there are, whose they are, and what is wrong with them as a whole.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::bound::deciding_rest;
use super::{File, Found, Loader, part};
use crate::config::Untrusted;
use crate::digest;
use crate::foreign::{self, Content};
use crate::native::{self, Native};
use crate::origin::{Notice, Origin, OriginKind, Problem};
use crate::places::{self, Part, Place};
use crate::text::{self, Fault, Kind, Node};
use crate::whole;

/// The largest file, in bytes. Claude Code keeps much more than servers in its own.
const MAX_BYTES: u64 = 64 << 20;
/// How far files may include others.
const MAX_DEPTH: usize = 4;
/// The longest name of a server, in characters.
const MAX_NAME: usize = 64;
/// What the host itself is called where a server's name stands.
const HOST: &str = "switchboard";

impl Loader<'_> {
    /// Which servers of `.mcp.json` are switched off in settings. What is wrong with those is not ours to say.
    pub(super) fn settings_of_claude(&mut self) {
        if self.sources.only_explicit {
            return;
        }
        for file in places::claude_settings(self.sources) {
            if let Ok(Some(text)) = read(&file)
                && let Ok(root) = text::json(&text)
            {
                self.disabled.extend(foreign::disabled(&root));
            }
        }
    }

    /// Reads a file, if it is there, and those that it includes.
    pub(super) fn gather(&mut self, place: Place, depth: usize) {
        let canonical = fs::canonicalize(&place.file).unwrap_or_else(|_| place.file.clone());
        // Claude Code keeps several projects in one file.
        let of = if place.part == Part::OfProject { place.project.clone() } else { canonical };
        if !self.visited.insert((of, part(place.part))) {
            return;
        }
        let origin = Origin { kind: place.kind, layer: place.layer, file: place.file.clone(), line: 1 };
        let text = match read(&place.file) {
            Ok(Some(text)) => text,
            Ok(None) if !place.named => return,
            Ok(None) => return self.missing(origin),
            Err(error) => return self.unreadable(origin, None, format!("it cannot be read: {error}")),
        };
        let is_toml = place.file.extension().is_some_and(|ending| ending == "toml");
        let root = match if is_toml { text::toml(&text) } else { text::json(&text) } {
            Ok(root) if matches!(root.kind, Kind::Table(_)) => root,
            Ok(root) => {
                let message = format!("it is {}, and must be a table", root.what());
                return self.unreadable(origin, None, message);
            }
            Err(fault) => return self.unreadable(origin, Some(&fault), fault.message.clone()),
        };
        if place.kind == OriginKind::Native {
            self.native(&root, place, &origin, depth);
        } else {
            let content = foreign::read(&root, &place, &origin);
            self.foreign(content, place);
        }
    }

    /// A file that somebody named is not there.
    fn missing(&mut self, origin: Origin) {
        self.config.problems.push(Problem {
            origin,
            column: None,
            server: None,
            model: None,
            variable: None,
            message: "there is no such file".to_owned(),
            hint: "check the path that names it".to_owned(),
        });
    }

    fn unreadable(&mut self, mut origin: Origin, fault: Option<&Fault>, message: String) {
        if let Some(fault) = fault {
            origin.line = fault.at.line;
        }
        let message = match origin.kind {
            OriginKind::Native => message,
            kind => format!("this file of {} cannot be read: {message}", kind.label()),
        };
        self.config.problems.push(Problem {
            origin,
            column: fault.map(|fault| fault.at.column),
            server: None,
            model: None,
            variable: None,
            message,
            hint: "correct the file; what else there is was read".to_owned(),
        });
    }

    fn foreign(&mut self, content: Content, place: Place) {
        let Content { servers, inputs, disabled, problems, notices } = content;
        self.disabled.extend(disabled);
        self.config.warnings.extend(notices);
        self.config.problems.extend(problems);
        let file = File { place: Arc::new(place), inputs: Arc::new(inputs), native: Native::default() };
        self.add(servers, file);
    }

    fn native(&mut self, root: &Node, place: Place, origin: &Origin, depth: usize) {
        let mut native = native::read(root, origin);
        self.config.warnings.append(&mut native.notices);
        self.config.problems.append(&mut native.problems);
        let servers = std::mem::take(&mut native.servers);
        if place.foreign && !self.may_count(root, &place, origin) {
            native = Native::default();
        }
        let include = std::mem::take(&mut native.include);
        let base = place.file.parent().unwrap_or(&place.file).to_owned();
        let file = File { place: Arc::new(place), inputs: Arc::default(), native };
        let place = Arc::clone(&file.place);
        self.add(servers, file);
        for text in include {
            let origin = Origin { line: text.at.line, ..origin.clone() };
            if depth >= MAX_DEPTH {
                return self.unreadable(origin, None, "files include each other too deep".to_owned());
            }
            let file = match (text.text.strip_prefix("~/"), &self.sources.paths.home) {
                (Some(rest), Some(home)) => home.join(rest),
                _ => base.join(&text.text),
            };
            let kind = places::kind(&file);
            self.gather(Place { kind, file, part: Part::Usual, named: true, ..(*place).clone() }, depth + 1);
        }
    }

    /// Whether what a file of a project says besides servers is trusted, or is nothing.
    fn may_count(&mut self, root: &Node, place: &Place, origin: &Origin) -> bool {
        let Some((rest, parts)) = rest_of(root, origin) else { return true };
        let mut texts = Vec::new();
        parts.iter().for_each(|value| whole::texts(value, &mut texts));
        let variables = deciding_rest(&texts, place.kind);
        match self.bound(rest.hash.clone(), (place, &variables), texts) {
            Ok(hash) => {
                let details = rest.details.into_iter().chain(self.values(&variables)).collect();
                self.is_trusted(Untrusted { hash, details, ..rest }, place)
            }
            Err(message) => {
                self.unreadable(rest.origin, None, message);
                false
            }
        }
    }

    fn add(&mut self, servers: Vec<crate::raw::RawServer>, file: File) {
        for mut raw in servers {
            let name = tame(&raw.name);
            if name != raw.name {
                let message = format!("it is called {name} here: its name holds what names must not");
                let server = Some(std::mem::replace(&mut raw.name, name));
                self.config.warnings.push(Notice { origin: raw.origin.clone(), server, message });
            }
            let (place, inputs) = (Arc::clone(&file.place), Arc::clone(&file.inputs));
            self.servers.push(Found { raw, place, inputs });
        }
        self.files.push(file);
    }
}

/// What a file of ours says besides servers, as something to be trusted or not.
fn rest_of(root: &Node, origin: &Origin) -> Option<(Untrusted, Vec<Value>)> {
    let parts = root.members().iter().filter(|(key, _, _)| !["servers", "$schema"].contains(&key.as_str()));
    let parts: Vec<_> = parts.collect();
    let (_, first, _) = parts.first()?;
    let names: Vec<&str> = parts.iter().map(|(key, _, _)| key.as_str()).collect();
    let values: Vec<(&str, Value)> =
        parts.iter().map(|(key, _, node)| (key.as_str(), node.value())).collect();
    let written: Vec<String> = values.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let file = origin.file.to_string_lossy();
    let hash = digest::of(&[file.as_ref(), "", &written.join("\n")]);
    let origin = Origin { line: first.line, ..origin.clone() };
    let (shown, details) = (names.join(", "), whole::settings(&values, origin.kind));
    let rest = Untrusted { server: None, origin, shown, details, hash, changed: false };
    Some((rest, values.into_iter().map(|(_, value)| value).collect()))
}

/// The text of a file; nothing if there is none.
fn read(file: &Path) -> io::Result<Option<String>> {
    let metadata = match fs::metadata(file) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    // A pipe or a device might never end.
    if !metadata.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut text = String::new();
    fs::File::open(file)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {MAX_BYTES} bytes")));
    }
    // Editors on Windows begin files with a mark that is no part of the text.
    Ok(Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)))
}

/// The name as servers can be called: what has a meaning in rules and addresses becomes '-', and so does what
/// cannot be seen.
fn tame(name: &str) -> String {
    let bad = |c: char| c.is_control() || matches!(c, '/' | '=' | '*') || is_hidden(c);
    let name: String = name.trim().chars().map(|c| if bad(c) { '-' } else { c }).take(MAX_NAME).collect();
    let name = name.trim_end();
    match name {
        "" => "server".to_owned(),
        HOST => format!("{HOST}-server"),
        name => name.to_owned(),
    }
}

/// Characters that are not seen, or turn the text around.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
