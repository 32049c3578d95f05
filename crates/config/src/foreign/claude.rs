//! Claude Code: servers that it keeps for one project, and servers of `.mcp.json` that are switched off.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Content, server, table};
use crate::origin::Origin;
use crate::text::{Kind, Node};

/// What its own file says about a project.
pub(super) fn of_project(root: &Node, project: &Path, origin: &Origin) -> Content {
    let projects = root.member("projects").map_or(&[][..], Node::members);
    let is_this = |folder: &str| Path::new(folder) == project;
    let Some((_, _, node)) = projects.iter().find(|(folder, _, _)| is_this(folder)) else {
        return Content::default();
    };
    let mut content = table(node.member("mcpServers"), origin, server);
    // What was switched off by hand there is not started here.
    let off = names(node, "disabledMcpServers");
    for server in &mut content.servers {
        if off.contains(&server.name) {
            server.settings.enabled = Some(false);
        }
    }
    content.disabled = disabled(node);
    content.disabled.extend(off);
    content
}

/// The servers of `.mcp.json` that settings switch off.
pub(crate) fn disabled(settings: &Node) -> BTreeSet<String> {
    names(settings, "disabledMcpjsonServers")
}

fn names(node: &Node, key: &str) -> BTreeSet<String> {
    match node.member(key).map(|list| &list.kind) {
        Some(Kind::List(names)) => names.iter().filter_map(Node::text).map(str::to_owned).collect(),
        _ => BTreeSet::new(),
    }
}
