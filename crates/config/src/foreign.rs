//! The files that people have for other hosts, read in place and never rewritten.
//!
//! Most products use one shape, a table of servers with `command` or `url`; [`servers`] reads it leniently, since what
//! one product adds to it must not stop another. A product's own ways are in the file that is called like it.

mod claude;
mod codex;
mod vscode;

pub(crate) use claude::disabled;

use std::collections::BTreeSet;

use crate::entry::HttpTransport;
use crate::inputs::Input;
use crate::nearest::nearest;
use crate::origin::{Notice, Origin, OriginKind, Problem};
use crate::places::{Part, Place};
use crate::raw::{RawServer, RawTarget, Settings, Text};
use crate::text::{Kind, Node, Position};

/// Keys that tell how a server is reached, for whoever mistyped one.
const TARGET_KEYS: [&str; 2] = ["command", "url"];
/// What products call the address.
const URL_KEYS: [&str; 3] = ["url", "serverUrl", "httpUrl"];

/// What one file says.
#[derive(Debug, Default)]
pub(crate) struct Content {
    pub(crate) servers: Vec<RawServer>,
    pub(crate) inputs: Vec<Input>,
    /// Servers of `.mcp.json` that are switched off here.
    pub(crate) disabled: BTreeSet<String>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) notices: Vec<Notice>,
}

/// Where products have their servers.
const TABLES: [&str; 2] = ["mcpServers", "servers"];

/// Reads the file of another host.
pub(crate) fn read(root: &Node, place: &Place, origin: &Origin) -> Content {
    match (place.kind, place.part) {
        (OriginKind::Codex, _) => table(root.member("mcp_servers"), origin, codex::server),
        (OriginKind::ClaudeCode, Part::OfProject) => claude::of_project(root, &place.project, origin),
        (_, Part::Settings) => root.member("mcp").map(|mcp| usual(mcp, origin)).unwrap_or_default(),
        // Settings of an editor that somebody named.
        (OriginKind::VsCode, _) if TABLES.iter().all(|key| root.member(key).is_none()) => {
            usual(root.member("mcp").unwrap_or(root), origin)
        }
        _ => usual(root, origin),
    }
}

/// The shape of most products, and the one of VS Code: whoever moves a file from one to the other means the same.
fn usual(root: &Node, origin: &Origin) -> Content {
    let found = TABLES.iter().find_map(|key| root.member(key));
    let mut content = table(found, origin, server);
    content.inputs = vscode::inputs(root);
    // Files that hold much more are not searched for typing errors.
    let is_only_this = matches!(origin.kind, OriginKind::McpJson | OriginKind::Cursor | OriginKind::VsCode);
    if found.is_none() && is_only_this && !matches!(root.kind, Kind::Table(ref members) if members.is_empty())
    {
        let meant = root.members().iter().find_map(|(key, at, _)| Some((*at, nearest(key, TABLES)?)));
        let (at, message) = match meant {
            Some((at, meant)) => (at, format!("there are no servers in it: did you mean `{meant}`?")),
            None => (root.at, "there are no servers in it: they belong below `mcpServers`".to_owned()),
        };
        content.notices.push(notice(origin, at, None, message));
    }
    content
}

fn notice(origin: &Origin, at: Position, server: Option<&str>, message: impl Into<String>) -> Notice {
    let origin = Origin { line: at.line, ..origin.clone() };
    Notice { origin, server: server.map(str::to_owned), message: message.into() }
}

/// Reads a table of servers. A server that cannot be read is a problem of its own.
fn table(
    table: Option<&Node>,
    origin: &Origin,
    server: impl Fn(&str, &Node, Origin) -> Result<RawServer, Problem>,
) -> Content {
    let mut content = Content::default();
    for (name, at, node) in table.map_or(&[][..], Node::members) {
        if let Some(helper) = node.member("headersHelper") {
            let message = "`headersHelper` is not run: give the headers, or variables in them";
            content.notices.push(notice(origin, helper.at, Some(name), message));
        }
        match server(name, node, Origin { line: at.line, ..origin.clone() }) {
            Ok(server) => content.servers.push(server),
            Err(problem) => content.problems.push(problem),
        }
    }
    content
}

/// A server in the shape of most products.
fn server(name: &str, node: &Node, origin: Origin) -> Result<RawServer, Problem> {
    let settings = Settings {
        // Several products write one of these next to the command.
        enabled: flag(node, "enabled").or_else(|| flag(node, "disabled").map(|disabled| !disabled)),
        ..Settings::default()
    };
    let written = node.value();
    let mut server = RawServer { name: name.to_owned(), origin, target: None, settings, written };
    server.target = Some(target(&server, node)?);
    Ok(server)
}

fn target(server: &RawServer, node: &Node) -> Result<RawTarget, Problem> {
    if !matches!(node.kind, Kind::Table(_)) {
        let message = format!("it is {}, and must be a table with `command` or `url`", node.what());
        return Err(server.problem(node.at, message, "correct the entry"));
    }
    let kind = node.member("type").or_else(|| node.member("transport"));
    let (is_http, transport) = match kind.and_then(Node::text) {
        Some("stdio") => (false, None),
        Some("sse") => (true, Some(HttpTransport::Sse)),
        Some("http" | "streamable-http" | "streamableHttp" | "streamable_http") => {
            (true, Some(HttpTransport::Http))
        }
        Some(other) => {
            let at = kind.map_or(node.at, |kind| kind.at);
            let message = format!("it speaks {other:?}, which is no transport that can be used");
            return Err(server.problem(at, message, "the transports are stdio, http and sse"));
        }
        None => (node.member("command").is_none(), None),
    };
    if is_http {
        let url = URL_KEYS.iter().find_map(|key| node.member(key));
        let url = text_of(server, "url", url.ok_or_else(|| no_target(server, node))?)?;
        return Ok(RawTarget::Http { url, headers: pairs(server, node, "headers")?, transport });
    }
    let command = node.member("command").ok_or_else(|| no_target(server, node))?;
    Ok(RawTarget::Command {
        command: text_of(server, "command", command)?,
        args: list(server, node, "args")?,
        env: pairs(server, node, "env")?,
        env_file: node.member("envFile").map(|file| text_of(server, "envFile", file)).transpose()?,
        cwd: node.member("cwd").map(|cwd| text_of(server, "cwd", cwd)).transpose()?,
    })
}

fn no_target(server: &RawServer, node: &Node) -> Problem {
    let meant = node.members().iter().find_map(|(key, at, _)| {
        let meant = nearest(key, TARGET_KEYS).filter(|meant| meant != key)?;
        Some((*at, format!("`{key}` is not known: did you mean `{meant}`?")))
    });
    let (at, hint) = meant.unwrap_or((
        Position { line: server.origin.line, column: 1 },
        "give it the program as `command`, or the address as `url`".to_owned(),
    ));
    server.problem(at, "it has neither `command` nor `url`", hint)
}

pub(crate) fn flag(node: &Node, key: &str) -> Option<bool> {
    match node.member(key)?.kind {
        Kind::Bool(flag) => Some(flag),
        _ => None,
    }
}

/// A text; numbers and truth values are taken as they are written.
pub(crate) fn text_of(server: &RawServer, key: &str, node: &Node) -> Result<Text, Problem> {
    let text = match &node.kind {
        Kind::Text(text) => text.clone(),
        Kind::Number(number) => number.to_string(),
        Kind::Bool(flag) => flag.to_string(),
        Kind::Null | Kind::List(_) | Kind::Table(_) => {
            let message = format!("`{key}` is {}, and must be a text", node.what());
            return Err(server.problem(node.at, message, "correct the entry"));
        }
    };
    Ok(Text { text, at: node.at })
}

/// A list of texts.
pub(crate) fn list(server: &RawServer, node: &Node, key: &str) -> Result<Vec<Text>, Problem> {
    let Some(list) = node.member(key) else { return Ok(Vec::new()) };
    match &list.kind {
        Kind::List(elements) => elements.iter().map(|element| text_of(server, key, element)).collect(),
        Kind::Null => Ok(Vec::new()),
        _ => {
            let message = format!("`{key}` is {}, and must be a list of texts", list.what());
            Err(server.problem(list.at, message, "write each argument as an element of its own"))
        }
    }
}

/// A table of texts. What is null is left out.
pub(crate) fn pairs(server: &RawServer, node: &Node, key: &str) -> Result<Vec<(String, Text)>, Problem> {
    let Some(table) = node.member(key) else { return Ok(Vec::new()) };
    match &table.kind {
        Kind::Table(members) => members
            .iter()
            .filter(|(_, _, node)| node.kind != Kind::Null)
            .map(|(name, _, node)| Ok((name.clone(), text_of(server, &format!("{key}.{name}"), node)?)))
            .collect(),
        Kind::Null => Ok(Vec::new()),
        _ => {
            let message = format!("`{key}` is {}, and must be a table of texts", table.what());
            Err(server.problem(table.at, message, "write it as names and values"))
        }
    }
}
