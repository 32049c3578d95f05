//! Servers that began to work, or that do not: each change is said once.

use std::collections::HashMap;

use switchboard_agent::supervisor::{ServerState, ServerStatus};
use switchboard_agent::{ServerName, visible};

/// The most characters of a server's own words.
const MOST_WORDS: usize = 300;

/// What was said of each server last.
#[derive(Debug, Default)]
pub(super) struct News {
    said: HashMap<ServerName, ServerState>,
}

/// Something to say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// All is well.
    Good(String),
    /// Something does not work.
    Bad(String),
    /// What to do about it.
    Hint(String),
}

impl News {
    /// What is new since it was asked last.
    pub(super) fn of(&mut self, servers: &[ServerStatus]) -> Vec<Line> {
        let mut ready = Vec::new();
        let mut lines = Vec::new();
        for server in servers {
            let state = match server.state {
                ServerState::Ready => ServerState::Ready,
                // Who is tried again does not work either.
                ServerState::Failed | ServerState::Restarting if server.last_error.is_some() => {
                    ServerState::Failed
                }
                // Who rests works as before.
                _ => continue,
            };
            if self.said.insert(server.name.clone(), state) == Some(state) {
                continue;
            }
            if state == ServerState::Ready {
                ready.push(format!("{}{}", server.name, tools(server)));
                continue;
            }
            let error = server.last_error.as_deref().unwrap_or_default();
            lines.push(Line::Bad(format!(
                "{} does not work: {}; going on without it",
                server.name,
                visible::short(error, MOST_WORDS)
            )));
            lines.extend(server.next_step.clone().map(Line::Hint));
        }
        if !ready.is_empty() {
            lines.insert(0, Line::Good(format!("ready: {}", ready.join(", "))));
        }
        lines
    }
}

fn tools(server: &ServerStatus) -> String {
    match server.tools_shown() {
        None => String::new(),
        Some(one) if one == "1" => " (1 tool)".to_owned(),
        Some(tools) => format!(" ({tools} tools)"),
    }
}

#[cfg(test)]
mod tests {
    use switchboard_agent::ServerName;
    use switchboard_agent::supervisor::{ServerState, ServerStatus};

    use super::{Line, News};

    fn server(name: &str, state: ServerState) -> ServerStatus {
        let mut server = ServerStatus::disabled(ServerName::new(name).unwrap());
        server.state = state;
        match state {
            ServerState::Ready => server.tools = Some(2),
            _ => server.last_error = Some("no\u{1b}pe".to_owned()),
        }
        server.next_step = Some("look".to_owned());
        server
    }

    #[test]
    fn each_change_is_said_once() {
        let mut news = News::default();
        let mut check = |servers: &[ServerStatus], expected: &[Line]| assert_eq!(news.of(servers), expected);
        check(&[server("a", ServerState::Starting)], &[]);
        let bad = || Line::Bad("b does not work: no\\u{1b}pe; going on without it".to_owned());
        let hint = || Line::Hint("look".to_owned());
        let good = |name: &str| Line::Good(format!("ready: {name} (2 tools)"));
        let both = [server("a", ServerState::Ready), server("b", ServerState::Failed)];
        check(&both, &[good("a"), bad(), hint()]);
        check(&both, &[]);
        check(&[server("b", ServerState::Restarting)], &[]);
        check(&[server("a", ServerState::Idle), server("b", ServerState::Ready)], &[good("b")]);
        check(&[server("a", ServerState::Ready)], &[]);
        check(&[server("b", ServerState::Failed)], &[bad(), hint()]);
    }
}
