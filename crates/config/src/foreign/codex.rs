//! Codex: tables in TOML, with names of variables in the place of secrets.

use std::time::Duration;

use super::{flag, list, pairs, text_of};
use crate::origin::{Origin, Problem};
use crate::raw::{RawServer, RawTarget, Settings, Text};
use crate::text::{Kind, Node};

/// Longer than any limit that is meant, in seconds.
const MAX_SECONDS: f64 = 1e9;

/// One of its servers.
pub(super) fn server(name: &str, node: &Node, origin: Origin) -> Result<RawServer, Problem> {
    let settings = Settings {
        enabled: flag(node, "enabled"),
        required: flag(node, "required"),
        startup_timeout: seconds(node, "startup_timeout_sec", 1.0)
            .or_else(|| seconds(node, "startup_timeout_ms", 1000.0)),
        hard_timeout: seconds(node, "tool_timeout_sec", 1.0),
        include: names(node, "enabled_tools"),
        exclude: names(node, "disabled_tools"),
        ..Settings::default()
    };
    let written = node.value();
    let mut server = RawServer { name: name.to_owned(), origin, target: None, settings, written };
    server.target = Some(if let Some(command) = node.member("command") {
        RawTarget::Command {
            command: text_of(&server, "command", command)?,
            args: list(&server, node, "args")?,
            env: variables(&server, node)?,
            env_file: None,
            cwd: node.member("cwd").map(|cwd| text_of(&server, "cwd", cwd)).transpose()?,
        }
    } else if let Some(url) = node.member("url") {
        RawTarget::Http {
            url: text_of(&server, "url", url)?,
            headers: headers(&server, node)?,
            transport: None,
        }
    } else {
        return Err(super::no_target(&server, node));
    });
    Ok(server)
}

/// Those that are set, and those that are handed on if they are there.
fn variables(server: &RawServer, node: &Node) -> Result<Vec<(String, Text)>, Problem> {
    let mut variables = pairs(server, node, "env")?;
    for Text { text: name, at } in list(server, node, "env_vars")? {
        if variables.iter().all(|(other, _)| *other != name) {
            let text = format!("${{env:{name}:-}}");
            variables.push((name, Text { text, at }));
        }
    }
    Ok(variables)
}

fn headers(server: &RawServer, node: &Node) -> Result<Vec<(String, Text)>, Problem> {
    let mut headers = pairs(server, node, "http_headers")?;
    let variable =
        |text: Text, before: &str| Text { text: format!("{before}${{env:{}}}", text.text), at: text.at };
    for (name, text) in pairs(server, node, "env_http_headers")? {
        headers.push((name, variable(text, "")));
    }
    if let Some(token) = node.member("bearer_token_env_var") {
        let token = text_of(server, "bearer_token_env_var", token)?;
        headers.push(("Authorization".to_owned(), variable(token, "Bearer ")));
    }
    Ok(headers)
}

fn seconds(node: &Node, key: &str, of_one: f64) -> Option<Duration> {
    match &node.member(key)?.kind {
        Kind::Number(number) => {
            let seconds = number.as_f64()? / of_one;
            (0.0..=MAX_SECONDS).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
        }
        _ => None,
    }
}

fn names(node: &Node, key: &str) -> Option<Vec<String>> {
    match &node.member(key)?.kind {
        Kind::List(names) => Some(names.iter().filter_map(Node::text).map(str::to_owned).collect()),
        _ => None,
    }
}
