//! `switchboard tools why-hidden`: why a model does not see a tool, or may not call it.

use clap::Args;
use serde::Serialize;
use switchboard_agent::exposure::{ExposedTool, Exposure, LeftOut, LeftOutCause};
use switchboard_agent::policy::{Action, Outcome, Scope};
use switchboard_agent::{ServerName, visible};
use switchboard_llm::SchemaDialect;

use super::{View, find, nearest};
use crate::consent::ConsentArgs;
use crate::failure::Failure;
use crate::output;
use crate::servers::ServerArgs;
use crate::session::Session;
use crate::settings::Settings;

/// The options of the command.
#[derive(Args, Debug)]
pub(super) struct HiddenArgs {
    /// The tool
    #[arg(value_name = "SERVER/TOOL")]
    tool: String,

    /// The dialect of schemas that the model's provider takes: openai, openai-strict, anthropic, gemini or generic
    /// [default: that of the model that would answer]
    #[arg(long, value_name = "DIALECT")]
    dialect: Option<SchemaDialect>,
}

/// The answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    tool: String,
    hidden: bool,
    /// `no-server`, `server-disabled`, `server-untrusted`, `server-unusable`, `server-failed`, `no-tool`, `denied`,
    /// `asked`, `offered`, or what [`LeftOutCause`] says.
    cause: String,
    reason: String,
    next: String,
}

impl View<'_> {
    /// Says why a tool is hidden.
    pub(super) async fn why_hidden(
        &self,
        args: &HiddenArgs,
        consent: &ConsentArgs,
        servers: ServerArgs,
    ) -> Result<(), Failure> {
        let Some((server, tool)) = args.tool.split_once('/').filter(|(_, tool)| !tool.is_empty()) else {
            return Err(Failure::usage(
                format!("{} does not name a server and a tool", visible::quoted(&args.tool, 100)),
                "write it as SERVER/TOOL",
            ));
        };
        let unused = if servers.are_configured() { unused(self.settings, server) } else { None };
        let answer = match unused {
            Some(answer) => answer.of(&args.tool),
            // No other server has a say in it.
            None => self.asked((server, tool), (args, consent), &servers.for_tool(&args.tool)).await?,
        };
        if self.json {
            return output::json(&answer);
        }
        let Answer { tool, reason, next, .. } = &answer;
        output::text(&format!("{}: {}\n  {next}", visible::line(tool), visible::line(reason)))
    }

    /// What the servers say.
    async fn asked(
        &self,
        (server, tool): (&str, &str),
        (args, consent): (&HiddenArgs, &ConsentArgs),
        servers: &ServerArgs,
    ) -> Result<Answer, Failure> {
        let session = match self.open(servers, Some(consent), None).await {
            Ok(session) => session,
            // Without any server there is no session; if it is this one, that is the answer.
            Err(failure) if failure.server() == Some(server) => {
                let next = "see `switchboard servers status`, and what the server writes with -v";
                return Ok(Why::new("server-failed", failure.cause(), next).of(&args.tool));
            }
            Err(failure) => return Err(failure),
        };
        let answered = async {
            let exposure = session.tools().await?.for_dialect(self.dialect(args.dialect).await);
            Ok::<_, Failure>(answer((server, tool), args, (&session, &exposure)))
        };
        let answered = session.run(answered).await;
        session.close().await;
        answered.map(|why| why.of(&args.tool))
    }
}

/// An answer without its question.
struct Why {
    hidden: bool,
    cause: String,
    reason: String,
    next: String,
}

impl Why {
    fn new(cause: &str, reason: impl Into<String>, next: impl Into<String>) -> Self {
        Self { hidden: true, cause: cause.to_owned(), reason: reason.into(), next: next.into() }
    }

    fn of(self, tool: &str) -> Answer {
        let Self { hidden, cause, reason, next } = self;
        Answer { tool: tool.to_owned(), hidden, cause, reason, next }
    }
}

/// Why the server is not even started, from the configuration alone.
fn unused(settings: &Settings, server: &str) -> Option<Why> {
    let config = settings.all();
    let untrusted = config.untrusted.iter().find(|one| one.server.as_deref() == Some(server));
    if let Some(untrusted) = untrusted {
        let reason = format!("the server is not started: {} is not trusted", untrusted.origin);
        return Some(Why::new(
            "server-untrusted",
            reason,
            format!("look at it, then: switchboard servers trust {server}"),
        ));
    }
    if let Some(problem) = config.problems.iter().find(|problem| problem.server.as_deref() == Some(server)) {
        return Some(Why::new("server-unusable", problem.to_string(), problem.hint.clone()));
    }
    match config.servers.iter().find(|entry| entry.name == server) {
        Some(entry) if !entry.enabled => {
            let reason = format!("the server is switched off in {}", entry.origin);
            Some(Why::new("server-disabled", reason, format!("switchboard servers enable {server}")))
        }
        Some(_) => None,
        None => {
            let names: Vec<&str> = config.servers.iter().map(|entry| entry.name.as_str()).collect();
            let known = if names.is_empty() { "none is configured".to_owned() } else { names.join(", ") };
            let reason = format!("no server is called {}", visible::quoted(server, 100));
            Some(Why::new("no-server", reason, format!("the servers are: {}", visible::line(&known))))
        }
    }
}

/// Why a tool is hidden, once the servers were asked.
fn answer(
    (server, tool): (&str, &str),
    args: &HiddenArgs,
    (session, exposure): (&Session, &Exposure),
) -> Why {
    if let Some(failed) = session.failed().iter().find(|failed| failed.server.as_str() == server) {
        let next = "see `switchboard servers status`, and what the server writes with -v";
        return Why::new("server-failed", failed.message.clone(), next);
    }
    if let Ok(found) = find(exposure, &format!("{server}/{tool}")) {
        return offered(found, session);
    }
    let is_it = |left: &&LeftOut| left.server.as_str() == server && left.tool == tool;
    if let Some(left) = exposure.left_out().iter().find(is_it) {
        let cause = match left.cause {
            LeftOutCause::Invalid => "invalid",
            LeftOutCause::NotLowerable => "not-lowerable",
            LeftOutCause::Filtered => "filtered",
            LeftOutCause::Clash => "clash",
            _ => "left-out",
        };
        return Why::new(cause, left.reason.clone(), left.cause.next_action());
    }
    let known = ServerName::new(server).is_ok_and(|name| exposure.server_names().contains(&&name));
    if !known {
        let names: Vec<String> = exposure.server_names().iter().map(ToString::to_string).collect();
        let reason = format!("no server is called {}", visible::quoted(server, 100));
        return Why::new("no-server", reason, format!("the servers are: {}", names.join(", ")));
    }
    let next = match nearest(exposure, &args.tool) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => {
            format!("see what it has with: switchboard tools list --servers {}", visible::argument(server))
        }
    };
    Why::new("no-tool", format!("{server} lists no tool {}", visible::quoted(tool, 100)), next)
}

/// What becomes of a call of a tool that is offered.
fn offered(tool: &ExposedTool, session: &Session) -> Why {
    let explained = session.agent().authority().explain((tool.server(), tool.tool()), None, &Scope::run());
    let (name, by) = (tool.name(), explained.by);
    let (cause, reason) = match (explained.rules_say, explained.outcome) {
        (Action::Deny, _) => ("denied", format!("it is offered as {name}, but a call is not made: {by}")),
        (_, Outcome::Allowed) => (
            "offered",
            format!("it is not hidden: it is offered as {name}, and called without asking ({by})"),
        ),
        _ => (
            "asked",
            format!("it is not hidden: it is offered as {name}, and you are asked before a call ({by})"),
        ),
    };
    let next = format!("see the rules with: switchboard policy explain {}", super::argument(tool));
    Why { hidden: cause == "denied", ..Why::new(cause, reason, next) }
}
