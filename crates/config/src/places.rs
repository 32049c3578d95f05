//! Which files there may be, and in which order they count.
//!
//! Places of other products are computed from the home, for the platform that this runs on.

use std::path::{Path, PathBuf};

use crate::origin::{Layer, OriginKind};
use crate::sources::Sources;

/// Our own file in a project.
pub(crate) const PROJECT_FILE: &str = ".switchboard.toml";
/// Names a file that counts more than those of projects.
const CONFIG_FILE: &str = "SWITCHBOARD_CONFIG";

/// A file that there may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) kind: OriginKind,
    pub(crate) layer: Layer,
    pub(crate) file: PathBuf,
    /// The folder that it is about.
    pub(crate) project: PathBuf,
    pub(crate) part: Part,
    /// Whether it came with the project, so that somebody else may have written it.
    pub(crate) foreign: bool,
    /// Whether somebody named it, so that it must be there.
    pub(crate) named: bool,
}

impl Place {
    /// The folder that paths begin in.
    pub(crate) fn base(&self) -> &Path {
        match self.kind {
            OriginKind::Native | OriginKind::McpJson => self.file.parent().unwrap_or(&self.file),
            // Files in a folder of settings speak of the project around it.
            _ => &self.project,
        }
    }
}

/// Where the servers are in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Where the product has them.
    Usual,
    /// Those that Claude Code keeps for this project.
    OfProject,
    /// Below `mcp`, in settings of an editor.
    Settings,
}

/// A platform, as far as places are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Platform {
    Linux,
    Mac,
    Windows,
}

impl Platform {
    pub(crate) fn here() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::Mac
        } else {
            Self::Linux
        }
    }
}

/// All places, the one that counts most first.
pub(crate) fn all(sources: &Sources) -> Vec<Place> {
    let mut places = named(sources);
    if !sources.only_explicit {
        let user = of_user(sources, Platform::here());
        let is_users =
            |place: &Place| user.iter().any(|other| other.file == place.file && other.part == place.part);
        places.extend(of_project(sources).into_iter().filter(|place| !is_users(place)));
        places.extend(user);
        let system = sources.paths.system_file.clone();
        places.extend(system.map(|file| own(Layer::System, file, &sources.directory)));
    }
    places
}

/// The files that somebody named.
fn named(sources: &Sources) -> Vec<Place> {
    let of_env = (sources.env)(CONFIG_FILE).filter(|file| !file.is_empty() && !sources.only_explicit);
    let flag = sources.explicit.clone().map(|file| (Layer::Flags, file));
    let env = of_env.map(|file| (Layer::Environment, PathBuf::from(file)));
    let places = flag.into_iter().chain(env).map(|(layer, file)| {
        let file = sources.directory.join(file);
        Place { kind: kind(&file), layer, named: true, ..own(layer, file, &sources.directory) }
    });
    places.collect()
}

fn own(layer: Layer, file: PathBuf, project: &Path) -> Place {
    Place {
        kind: OriginKind::Native,
        layer,
        file,
        project: project.to_owned(),
        part: Part::Usual,
        foreign: false,
        named: false,
    }
}

/// The folder that the person works in, and those above it up to the one with the repository.
pub(crate) fn project_folders(sources: &Sources) -> Vec<&Path> {
    let above: Vec<&Path> = sources.directory.ancestors().collect();
    let root = above.iter().position(|folder| folder.join(".git").exists()).unwrap_or_default();
    above.into_iter().take(root + 1).collect()
}

fn of_project(sources: &Sources) -> Vec<Place> {
    let claude_code = claude_code(sources);
    let folders = project_folders(sources);
    let mut places = Vec::new();
    for folder in folders {
        let place = |kind, file: &[&str]| Place {
            kind,
            foreign: true,
            ..own(Layer::Project, join(folder, file), folder)
        };
        places.push(place(OriginKind::Native, &[PROJECT_FILE]));
        // It is in the person's own file, so nobody else wrote it.
        places.extend(claude_code.clone().map(|file| Place {
            kind: OriginKind::ClaudeCode,
            part: Part::OfProject,
            ..own(Layer::Project, file, folder)
        }));
        places.push(place(OriginKind::McpJson, &[".mcp.json"]));
        places.push(place(OriginKind::VsCode, &[".vscode", "mcp.json"]));
        places
            .push(Place { part: Part::Settings, ..place(OriginKind::VsCode, &[".vscode", "settings.json"]) });
        places.push(place(OriginKind::Cursor, &[".cursor", "mcp.json"]));
        places.push(place(OriginKind::Codex, &[".codex", "config.toml"]));
    }
    places
}

/// The files of the person.
pub(crate) fn of_user(sources: &Sources, platform: Platform) -> Vec<Place> {
    let mut places = vec![own(Layer::User, sources.paths.config_file(), &sources.directory)];
    let mut add = |kind, part, file: Option<PathBuf>| {
        let file = file.map(|file| own(Layer::User, file, &sources.directory));
        places.extend(file.map(|place| Place { kind, part, ..place }));
    };
    let home = sources.paths.home.as_deref();
    let below = |parts: &[&str]| home.map(|home| join(home, parts));
    let applications = match platform {
        Platform::Linux => set(sources, "XDG_CONFIG_HOME").or_else(|| below(&[".config"])),
        Platform::Mac => below(&["Library", "Application Support"]),
        Platform::Windows => set(sources, "APPDATA").or_else(|| below(&["AppData", "Roaming"])),
    };
    let application = |parts: &[&str]| applications.as_deref().map(|folder| join(folder, parts));
    add(OriginKind::ClaudeCode, Part::Usual, claude_code(sources));
    add(OriginKind::ClaudeDesktop, Part::Usual, application(&["Claude", "claude_desktop_config.json"]));
    for edition in ["Code", "Code - Insiders"] {
        add(OriginKind::VsCode, Part::Usual, application(&[edition, "User", "mcp.json"]));
        add(OriginKind::VsCode, Part::Settings, application(&[edition, "User", "settings.json"]));
    }
    add(OriginKind::Cursor, Part::Usual, below(&[".cursor", "mcp.json"]));
    let codex = set(sources, "CODEX_HOME").or_else(|| below(&[".codex"]));
    add(OriginKind::Codex, Part::Usual, codex.map(|folder| folder.join("config.toml")));
    places
}

fn claude_code(sources: &Sources) -> Option<PathBuf> {
    let folder = set(sources, "CLAUDE_CONFIG_DIR").or_else(|| sources.paths.home.clone());
    folder.map(|folder| folder.join(".claude.json"))
}

/// The settings of Claude Code that may switch servers of `.mcp.json` off.
pub(crate) fn claude_settings(sources: &Sources) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in project_folders(sources) {
        files.extend(["settings.local.json", "settings.json"].map(|file| folder.join(".claude").join(file)));
    }
    let of_home = || sources.paths.home.as_ref().map(|home| home.join(".claude"));
    let folder = set(sources, "CLAUDE_CONFIG_DIR").or_else(of_home);
    files.extend(folder.map(|folder| folder.join("settings.json")));
    files
}

fn set(sources: &Sources, name: &str) -> Option<PathBuf> {
    (sources.env)(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Whose file it is, by its name.
pub(crate) fn kind(file: &Path) -> OriginKind {
    let name = |path: Option<&Path>| {
        path.and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned()
    };
    let folder = name(file.parent());
    match (name(Some(file)).as_str(), folder.as_str()) {
        (_, ".codex") => OriginKind::Codex,
        (name, _) if name.ends_with(".toml") => OriginKind::Native,
        ("claude_desktop_config.json", _) => OriginKind::ClaudeDesktop,
        (".claude.json", _) => OriginKind::ClaudeCode,
        (_, ".vscode" | "User") => OriginKind::VsCode,
        (_, ".cursor") => OriginKind::Cursor,
        _ => OriginKind::McpJson,
    }
}

pub(crate) fn join(base: &Path, parts: &[&str]) -> PathBuf {
    parts.iter().fold(base.to_owned(), |path, part| path.join(part))
}

#[cfg(test)]
mod tests;
