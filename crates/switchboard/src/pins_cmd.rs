//! `switchboard pins`: what each tool looked like when it was agreed to, what changed since, and agreeing to that.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;
use switchboard_agent::policy::{PinState, Pins, ServerPins};
use switchboard_agent::{ServerName, visible};

use crate::consent::ConsentArgs;
use crate::failure::Failure;
use crate::kept;
use crate::output;
use crate::policy_cmd;
use crate::screen::Screen;
use crate::servers::ServerArgs;
use crate::session::{Options, Session};
use crate::settings::Settings;
use crate::stdin;

/// Look at what changed about the tools of configured servers, and agree to it
///
/// When a configured server is listed for the first time, its tools are pinned as they are. A tool that changes later,
/// or comes anew, asks again before it is called, whatever the rules say.
#[derive(Args, Debug)]
pub(crate) struct PinsArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the pins
    List {
        /// Only those of this server
        #[arg(value_name = "SERVER")]
        server: Option<String>,
    },
    /// Ask servers for their tools and show what changed since they were pinned
    Diff {
        /// Only this server
        #[arg(value_name = "SERVER")]
        server: Option<String>,
    },
    /// Agree to tools as they are now
    Accept {
        /// The server
        #[arg(value_name = "SERVER", required_unless_present = "from")]
        server: Option<String>,

        /// The tool; all that changed if absent
        #[arg(value_name = "TOOL")]
        tool: Option<String>,

        /// Take the pins from a file that `pins export` wrote; '-' reads them from stdin
        #[arg(long, value_name = "FILE", conflicts_with = "server")]
        from: Option<PathBuf>,
    },
    /// Print the pins as JSON, for another machine
    Export {
        /// Only those of this server
        #[arg(value_name = "SERVER")]
        server: Option<String>,
    },
}

/// A tool of a server with `--json`.
#[derive(Serialize)]
struct Entry<'a> {
    server: &'a str,
    tool: &'a str,
    #[serde(flatten)]
    state: &'a PinState,
}

/// A tool that was accepted, with `--json`.
#[derive(Serialize)]
struct Accepted<'a> {
    server: &'a str,
    tools: &'a [String],
}

/// A tool and how it stands.
type State = (String, PinState);

/// Runs the command.
pub(crate) async fn command(
    args: PinsArgs,
    (json, verbose): (bool, bool),
    (settings, screen): (&Settings, &Screen),
) -> Result<(), Failure> {
    let view = View { json, verbose, settings, screen };
    match args.action {
        Action::List { server } => view.list(server.as_deref()),
        Action::Diff { server } => view.diff(server).await,
        Action::Accept { from: Some(file), .. } => view.import(&file).await,
        Action::Accept { server, tool, .. } => view.accept(server.unwrap_or_default(), tool.as_deref()).await,
        Action::Export { server } => output::json(&view.kept(server.as_deref())?),
    }
}

struct View<'a> {
    json: bool,
    verbose: bool,
    settings: &'a Settings,
    screen: &'a Screen,
}

impl View<'_> {
    fn kept(&self, server: Option<&str>) -> Result<Vec<ServerPins>, Failure> {
        let pins = Pins::new(kept::store(self.settings)?);
        let mut all = pins.list().map_err(|error| kept::failure(&error))?;
        all.retain(|pins| server.is_none_or(|server| pins.server.as_str() == server));
        match server {
            Some(server) if all.is_empty() => Err(Failure::usage(
                format!("no tool of {} is pinned", visible::quoted(server, 60)),
                "see what is with: switchboard pins list",
            )),
            _ => Ok(all),
        }
    }

    fn list(&self, server: Option<&str>) -> Result<(), Failure> {
        let all = self.kept(server)?;
        if self.json {
            return output::json(&all);
        }
        if all.is_empty() {
            self.screen.note("no tools are pinned yet");
            self.screen.hint(
                "they are when a configured server is listed for the first time: switchboard tools list",
            );
            return Ok(());
        }
        let lines = all.iter().flat_map(|pins| {
            pins.tools.iter().map(|(name, tool)| {
                format!("{}/{}   {}", pins.server, visible::name(name), tool.pin.short(16))
            })
        });
        output::text(&lines.collect::<Vec<_>>().join("\n"))
    }

    async fn diff(&self, server: Option<String>) -> Result<(), Failure> {
        let session = self.open(server.into_iter().collect()).await?;
        let states = self.states(&session).await;
        session.close().await;
        let states = states?;
        let changed = || {
            states
                .iter()
                .flat_map(|(server, states)| states.iter().map(move |(tool, state)| (server, tool, state)))
        };
        let changed = || changed().filter(|(_, _, state)| !state.is_same());
        if self.json {
            let entries =
                changed().map(|(server, tool, state)| Entry { server: server.as_str(), tool, state });
            return output::json(&entries.collect::<Vec<_>>());
        }
        let shown: Vec<String> = changed()
            .map(|(server, tool, state)| {
                format!("{server}/{}: {}", visible::name(tool), policy_cmd::pin(state))
            })
            .collect();
        if shown.is_empty() {
            self.screen.note("all tools are as they were agreed to");
            return Ok(());
        }
        output::text(&shown.join("\n\n"))
    }

    async fn accept(&self, server: String, tool: Option<&str>) -> Result<(), Failure> {
        let session = self.open(vec![server.clone()]).await?;
        let accepted = self.accepted(&session, tool).await;
        session.close().await;
        let accepted = accepted?;
        if self.json {
            return output::json(&Accepted { server: &server, tools: &accepted });
        }
        if accepted.is_empty() {
            self.screen.note("all tools are as they were agreed to");
        }
        let lines = accepted.iter().map(|tool| format!("agreed to {server}/{}", visible::name(tool)));
        output::text(&lines.collect::<Vec<_>>().join("\n"))
    }

    async fn accepted(&self, session: &Session, tool: Option<&str>) -> Result<Vec<String>, Failure> {
        let mut accepted = Vec::new();
        let pins = session.agent().authority().pins();
        for (server, states) in self.states(session).await? {
            let is_known = |tool: &str| states.iter().any(|(name, _)| name == tool);
            if let Some(tool) = tool.filter(|tool| !is_known(tool)) {
                let message = format!("{server} has no tool {}", visible::quoted(tool, 100));
                return Err(Failure::usage(message, "see what changed with: switchboard pins diff"));
            }
            let means = |name: &str| tool.is_none_or(|tool| tool == name);
            let other = || states.iter().filter(|(name, state)| means(name) && !state.is_same());
            for (name, state) in other() {
                if !self.json {
                    let shown = policy_cmd::pin(state);
                    self.screen.note(&format!("{server}/{}: {shown}", visible::name(name)));
                }
            }
            let names = other().map(|(name, _)| name.as_str());
            let agreed = pins.accept_all(&server, names).map_err(|error| kept::failure(&error))?;
            accepted.extend(agreed.into_iter().map(str::to_owned));
        }
        Ok(accepted)
    }

    async fn import(&self, file: &std::path::Path) -> Result<(), Failure> {
        let text = match file.to_str() {
            Some("-") => stdin::text("-", ("the pins", None)).await?,
            _ => std::fs::read_to_string(file).map_err(|error| {
                Failure::usage(
                    format!("{} cannot be read: {error}", file.display()),
                    "check the path after --from",
                )
            })?,
        };
        let all: Vec<ServerPins> = serde_json::from_str(&text).map_err(|error| {
            Failure::usage(format!("these are no pins: {error}"), "write them with: switchboard pins export")
        })?;
        let pins = Pins::new(kept::store(self.settings)?);
        for server in &all {
            pins.import(server).map_err(|error| kept::failure(&error))?;
        }
        let servers: Vec<&str> = all.iter().map(|pins| pins.server.as_str()).collect();
        if self.json {
            return output::json(&serde_json::json!({ "servers": servers }));
        }
        output::text(&format!("took the pins of {}", servers.join(", ")))
    }

    /// How the tools of all servers stand that are there.
    async fn states(&self, session: &Session) -> Result<Vec<(ServerName, Vec<State>)>, Failure> {
        let exposure = session.run(session.tools()).await?;
        let pins = session.agent().authority().pins();
        let state = |server: &ServerName| {
            let states = pins.states(server).map_err(|error| kept::failure(&error))?;
            Ok((server.clone(), states))
        };
        exposure.servers().iter().map(|(server, _)| state(server)).collect()
    }

    async fn open(&self, names: Vec<String>) -> Result<Session, Failure> {
        let (servers, consent) = (ServerArgs::named(names), ConsentArgs::default());
        let options = Options {
            settings: self.settings,
            servers: &servers,
            consent: Some(&consent),
            verbose: self.verbose,
            time_limit: None,
        };
        Session::open(&options, self.screen).await
    }
}
