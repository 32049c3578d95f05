//! Servers from other products into our file, and from all files into the shape of another product.
//!
//! References are carried over in the words of the other side; what cannot be is said in a note, and the value stays
//! as it is written.

mod write;

use std::path::{Path, PathBuf};

use crate::config::Untrusted;
use crate::edit::NewServer;
use crate::expand::{self, Reference, Said, Scope};
use crate::load::{Found, found};
use crate::origin::{Layer, Origin, OriginKind, Problem};
use crate::places;
use crate::raw::{RawTarget, Text};
use crate::shown;
use crate::sources::Sources;

pub use write::{Exported, Format, export};

/// A server that can be taken over.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Import {
    /// Its name.
    pub name: String,
    /// Where it is written.
    pub origin: Origin,
    /// The command or the address, with what looks like a secret masked.
    pub shown: String,
    /// The server in our words.
    pub server: NewServer,
    /// What could not be carried over as it is.
    pub notes: Vec<String>,
}

/// What can be taken over of a product.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Imports {
    /// Its servers, the ones that count most first.
    pub servers: Vec<Import>,
    /// What is not taken over, since it comes with a project and nobody has trusted it yet.
    pub untrusted: Vec<Untrusted>,
    /// What is wrong with the files.
    pub problems: Vec<Problem>,
    /// The files that were looked for, whether they are there or not.
    pub looked_for: Vec<PathBuf>,
}

/// The servers of one product, or of the file that [`Sources::explicit`] names.
#[must_use]
pub fn imports(sources: &Sources, kinds: &[OriginKind]) -> Imports {
    let (all, mut untrusted, problems) = found(sources);
    untrusted.retain(|one| one.server.is_some() && (kinds.is_empty() || kinds.contains(&one.origin.kind)));
    let mut imports: Vec<Import> = Vec::new();
    for found in all {
        let is_meant = kinds.is_empty() || kinds.contains(&found.raw.origin.kind);
        let is_new = imports.iter().all(|import| import.name != found.raw.name);
        if let Some(target) = found.raw.target.as_ref().filter(|_| is_meant && is_new) {
            imports.push(import(&found, target));
        }
    }
    let mut looked_for: Vec<PathBuf> = Vec::new();
    for place in places::all(sources) {
        if (kinds.is_empty() || kinds.contains(&place.kind)) && !looked_for.contains(&place.file) {
            looked_for.push(place.file);
        }
    }
    Imports { servers: imports, untrusted, problems, looked_for }
}

fn import(found: &Found, target: &RawTarget) -> Import {
    let raw = &found.raw;
    let mut carried = Carried { found, notes: Vec::new() };
    let mut server = NewServer { disabled: raw.settings.enabled == Some(false), ..NewServer::default() };
    match target {
        RawTarget::Command { command, args, env, env_file, cwd } => {
            server.command = Some(carried.program(command));
            server.args = args.iter().map(|arg| carried.text(arg)).collect();
            server.env = carried.pairs(env);
            server.env_file = env_file.as_ref().map(|file| carried.path(file));
            server.cwd = cwd.as_ref().map(|cwd| carried.path(cwd));
        }
        RawTarget::Http { url, headers, transport } => {
            server.url = Some(carried.text(url));
            server.headers = carried.pairs(headers);
            server.sse = *transport == Some(crate::entry::HttpTransport::Sse);
        }
    }
    let notes = carried.notes;
    Import { name: raw.name.clone(), origin: raw.origin.clone(), shown: shown::target(target), server, notes }
}

/// Texts of one server in our words.
struct Carried<'a> {
    found: &'a Found,
    notes: Vec<String>,
}

impl Carried<'_> {
    fn pairs(&mut self, pairs: &[(String, Text)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, text)| (name.clone(), self.text(text))).collect()
    }

    /// A program by a path in a project is meant from the folder of the project.
    fn program(&mut self, text: &Text) -> String {
        let is_path = text.text.contains(['/', '\\']);
        let of_project = self.found.raw.origin.layer == Layer::Project;
        if is_path && of_project { self.path(text) } else { self.text(text) }
    }

    /// A path is meant from where the file is, and our file is elsewhere.
    fn path(&mut self, text: &Text) -> String {
        let path = self.text(text);
        if path.starts_with(['/', '~', '$']) {
            return path;
        }
        let base = self.found.place.base();
        base.join(path).components().collect::<std::path::PathBuf>().to_string_lossy().into_owned()
    }

    fn text(&mut self, text: &Text) -> String {
        let kind = self.found.raw.origin.kind;
        if kind == OriginKind::Native {
            return text.text.clone();
        }
        self.rewritten(&text.text)
    }

    fn rewritten(&mut self, text: &str) -> String {
        let is_literal = self.found.raw.origin.kind.is_literal();
        expand::rewritten(text, (is_literal, false), &mut |reference| self.reference(reference))
    }

    fn reference(&mut self, reference: &Reference<'_>) -> Said {
        let place = &self.found.place;
        let text = |path: &Path| Said::Literal(path.to_string_lossy().into_owned());
        let default = reference.default.map(|default| format!(":-{}", self.rewritten(default)));
        let default = default.unwrap_or_default();
        let name = reference.name;
        match reference.scope {
            Scope::Plain if expand::is_folder(place.kind, name) => match name {
                "workspaceFolderBasename" => text(Path::new(place.project.file_name().unwrap_or_default())),
                "userHome" => Said::Reference("${HOME}".to_owned()),
                "cwd" => Said::Reference("${PWD}".to_owned()),
                "pathSeparator" | "/" => Said::Literal(std::path::MAIN_SEPARATOR_STR.to_owned()),
                _ => text(&place.project),
            },
            Scope::Input => {
                self.notes
                    .push(format!("what was asked for is a secret now: switchboard secrets set {name}"));
                Said::Reference(format!("${{secret:{name}{default}}}"))
            }
            _ => Said::Reference(format!("${{{}{default}}}", reference.head)),
        }
    }
}
