//! Where something comes from, and what is to be said about it.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

/// Which product's file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OriginKind {
    /// Our own TOML file.
    Native,
    /// `.mcp.json` of a project.
    McpJson,
    /// Claude Code.
    ClaudeCode,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Visual Studio Code.
    VsCode,
    /// Cursor.
    Cursor,
    /// Codex.
    Codex,
}

impl OriginKind {
    /// Whether the product replaces nothing in a text, so that only what surely is a reference is one.
    pub(crate) fn is_literal(self) -> bool {
        matches!(self, Self::ClaudeDesktop | Self::Codex)
    }

    /// The product as people call it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Native => "switchboard",
            Self::McpJson => ".mcp.json",
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::VsCode => "VS Code",
            Self::Cursor => "Cursor",
            Self::Codex => "Codex",
        }
    }
}

/// How far a file reaches. A higher layer wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// For everyone on this machine.
    System,
    /// For one person.
    User,
    /// For one folder.
    Project,
    /// Named by a variable of the environment.
    Environment,
    /// Named on the command line.
    Flags,
}

/// The place that an entry comes from. Shown as `FILE:LINE`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Origin {
    /// Which product's file it is.
    pub kind: OriginKind,
    /// How far the file reaches.
    pub layer: Layer,
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// Something that should be known, and stops nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// Where it is.
    pub origin: Origin,
    /// The server that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What it is.
    pub message: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.origin)?;
        if let Some(server) = &self.server {
            write!(f, "server {server}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// Why a file, or one entry of it, cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where it is.
    pub origin: Origin,
    /// The column, from 1, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The server that cannot be used because of it; without one it is the file or a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The model that cannot be used because of it. All others can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The variable, secret, input or file that a value needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.origin)?;
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        f.write_str(": ")?;
        if let Some(server) = &self.server {
            write!(f, "server {server}: ")?;
        }
        f.write_str(&self.message)
    }
}
