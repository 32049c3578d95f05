//! Dependency walls: what each crate may use, and what it must never see.
//!
//! The table below is the layout of ARCHITECTURE.md as data. Development dependencies are free; optional ones count
//! as if they were on. What a crate may see of the workspace is an allow-list, so a new edge is a decision.

mod graph;

#[cfg(test)]
pub(super) use graph::Dependency;
pub(super) use graph::{Graph, Member};

use crate::finding::Finding;

/// The walls of one crate.
#[derive(Debug)]
pub(super) struct Wall {
    package: &'static str,
    /// Crates of the workspace that it may use directly.
    may_use: &'static [&'static str],
    /// The only other crates that it may use directly; `None` is any.
    only: Option<&'static [&'static str]>,
    /// What must not be in its tree at all, however far down.
    never: &'static [&'static str],
}

/// Types and algorithms that know neither a clock nor a socket.
const PURE: &[&str] = &[
    "base64",
    "bytes",
    "chacha20poly1305",
    "http",
    "itoa",
    "memchr",
    "serde",
    "serde_json",
    "sha2",
    "thiserror",
    "url",
];
const ANY_IO: &[&str] = &["tokio", "hyper", "reqwest", "axum"];
const HTTP_STACKS: &[&str] = &["hyper", "hyper-util", "h2", "reqwest", "axum", "tower-http"];
const LIBRARIES: &[&str] = &[
    "switchboard-sse",
    "switchboard-protocol",
    "switchboard-schema",
    "switchboard-auth",
    "switchboard-transport",
    "switchboard-server",
    "switchboard-client",
    "switchboard-llm",
];
const TESTKIT: &str = "switchboard-testkit";

/// One row a crate; a crate without a row is a finding.
pub(super) const WALLS: &[Wall] = &[
    Wall { package: "switchboard-sse", may_use: &[], only: Some(PURE), never: ANY_IO },
    Wall { package: "switchboard-protocol", may_use: &["switchboard-sse"], only: Some(PURE), never: ANY_IO },
    Wall { package: "switchboard-auth", may_use: &[], only: Some(PURE), never: ANY_IO },
    Wall {
        package: "switchboard-schema",
        may_use: &[],
        only: Some(&["jsonschema", "serde_json", "thiserror"]),
        never: ANY_IO,
    },
    Wall {
        package: "switchboard-transport",
        may_use: &["switchboard-protocol"],
        only: None,
        never: HTTP_STACKS,
    },
    Wall {
        package: "switchboard-server",
        may_use: &[
            "switchboard-sse",
            "switchboard-protocol",
            "switchboard-schema",
            "switchboard-auth",
            "switchboard-transport",
        ],
        only: None,
        never: &["switchboard-client", "reqwest", "axum"],
    },
    Wall {
        package: "switchboard-client",
        may_use: &[
            "switchboard-sse",
            "switchboard-protocol",
            "switchboard-schema",
            "switchboard-auth",
            "switchboard-transport",
        ],
        only: None,
        never: &["switchboard-server", "axum"],
    },
    Wall {
        package: "switchboard-llm",
        may_use: &["switchboard-sse"],
        only: None,
        never: &["switchboard-protocol", "axum"],
    },
    Wall {
        package: "switchboard-agent",
        may_use: LIBRARIES,
        only: None,
        never: &["switchboard-relay", "axum"],
    },
    Wall {
        package: "switchboard-relay",
        may_use: LIBRARIES,
        only: None,
        never: &["switchboard-agent", "axum"],
    },
    Wall {
        package: "switchboard-app",
        may_use: &["switchboard-agent", "switchboard-protocol", "switchboard-transport", "switchboard-llm"],
        only: None,
        never: &["switchboard-config", "switchboard-store"],
    },
    Wall {
        package: "switchboard-config",
        may_use: &[],
        only: None,
        never: &["tokio", "hyper", "reqwest", "axum"],
    },
    Wall {
        package: "switchboard-store",
        may_use: &["switchboard-agent", "switchboard-llm"],
        only: None,
        never: &["axum"],
    },
    Wall {
        package: "switchboard",
        may_use: &[
            "switchboard-sse",
            "switchboard-protocol",
            "switchboard-auth",
            "switchboard-transport",
            "switchboard-server",
            "switchboard-client",
            "switchboard-llm",
            "switchboard-agent",
            "switchboard-relay",
            "switchboard-app",
            "switchboard-config",
            "switchboard-store",
            "weather-station",
            "city-weather",
            "calculator",
        ],
        only: None,
        never: &[],
    },
    Wall { package: TESTKIT, may_use: &["switchboard-schema"], only: None, never: &[] },
    Wall { package: "xtask", may_use: &[], only: None, never: &["tokio"] },
    Wall {
        package: "switchboard-conformance",
        may_use: &["switchboard-protocol", "switchboard-server", "switchboard-client"],
        only: None,
        never: &["axum"],
    },
    Wall {
        package: "switchboard-interop",
        may_use: &["switchboard-protocol", "switchboard-server", "switchboard-client"],
        only: None,
        never: &["axum"],
    },
    Wall { package: "weather-station", may_use: &["switchboard-server"], only: None, never: &["axum"] },
    Wall { package: "city-weather", may_use: &["switchboard-server"], only: None, never: &["axum"] },
    Wall { package: "calculator", may_use: &["switchboard-server"], only: None, never: &["axum"] },
];

const RULE: &str = "wall";

/// Holds every member of the workspace against its row.
pub(super) fn check(walls: &[Wall], graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in &graph.members {
        match walls.iter().find(|wall| wall.package == member.name) {
            Some(wall) => findings.extend(check_member(wall, member, graph)),
            None => {
                let what = format!("`{}` has no row in the table of walls; say what it may use", member.name);
                findings.push(Finding::new(&member.manifest, 1, RULE, what));
            }
        }
        let testkit =
            member.dependencies.iter().any(|dependency| dependency.name == TESTKIT && dependency.normal);
        if member.published && testkit {
            let what = format!("`{TESTKIT}` is never published; make it a development dependency");
            findings.push(Finding::new(&member.manifest, member.line_of(TESTKIT), RULE, what));
        }
    }
    findings
}

fn check_member(wall: &Wall, member: &Member, graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for dependency in member.dependencies.iter().filter(|dependency| dependency.normal) {
        let name = dependency.name.as_str();
        if wall.never.contains(&name) || name == TESTKIT {
            continue; // Said below, and by the caller.
        }
        let ours = graph.members.iter().any(|member| member.name == name);
        let allowed = if ours {
            wall.may_use.contains(&name)
        } else {
            wall.only.is_none_or(|only| only.contains(&name))
        };
        if !allowed {
            let what = format!(
                "`{}` may not use `{name}`; move the code, or change the table with a reason",
                member.name
            );
            findings.push(Finding::new(&member.manifest, member.line_of(name), RULE, what));
        }
    }
    for never in wall.never {
        if let Some(path) = member.path_to(never) {
            let what = format!("`{}` must never see `{never}`, and does: {path}", member.name);
            findings.push(Finding::new(&member.manifest, member.line_of(never), RULE, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests;
