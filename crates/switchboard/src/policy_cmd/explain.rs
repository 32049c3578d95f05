//! `policy explain`: what would become of a call, and everything that has a say in it.

use serde_json::Value;
use switchboard_agent::exposure::{Exposure, LeftOut};
use switchboard_agent::policy::{Explanation, Fate, Otherwise, Outcome, Scope};
use switchboard_agent::turn::read_arguments;
use switchboard_agent::{HOST_SERVER, ServerName, host_exposure, is_host_tool, visible};
use switchboard_llm::SchemaDialect;

use super::{View, pin};
use crate::consent::ConsentArgs;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::servers::ServerArgs;
use crate::session::Session;
use crate::settings::{Settings, nearest};
use crate::tools;

impl View<'_> {
    pub(super) async fn explain(
        &self,
        (name, arguments): (&str, Option<&str>),
        (consent, scope): (&ConsentArgs, &Scope),
        servers: &ServerArgs,
    ) -> Result<(), Failure> {
        let arguments = arguments.map(read).transpose()?;
        let explained = match of_host(name, true) {
            Some(explained) => explained,
            None => {
                let explained = self.of_servers((name, arguments.as_ref()), (consent, scope), servers).await;
                explained.or_else(|failure| of_host(name, false).ok_or(failure))?
            }
        };
        if self.json { output::json(&explained) } else { output::text(&shown(&explained)) }
    }

    async fn of_servers(
        &self,
        (name, arguments): (&str, Option<&Value>),
        (consent, scope): (&ConsentArgs, &Scope),
        servers: &ServerArgs,
    ) -> Result<Explanation, Failure> {
        let session = self.open(servers, Some(consent)).await.map_err(|failure| of_broken(name, failure))?;
        let explained = async {
            let exposure = session.tools().await?;
            let tool = tools::find(&exposure, name)
                .map_err(|failure| unknown(name, (&session, &exposure), self.settings).unwrap_or(failure))?;
            let authority = session.agent().authority();
            Ok::<_, Failure>(authority.explain((tool.server(), tool.tool()), arguments, scope))
        };
        let explained = session.run(explained).await;
        session.close().await;
        explained
    }
}

/// A tool of the host itself; `for_sure` if no server's tool can be meant.
fn of_host(name: &str, for_sure: bool) -> Option<Explanation> {
    let tools = host_exposure(SchemaDialect::Generic);
    let own = name.strip_prefix(HOST_SERVER).and_then(|rest| rest.strip_prefix('/'));
    let is_it = |tool: &str, exposed: &str| match own {
        Some(own) => own == tool,
        None => exposed == name || (!for_sure && tool == name),
    };
    let tool = tools.tools().iter().find(|tool| is_it(&tool.tool().name, tool.name()))?;
    Some(Explanation::of_host_tool(tool.tool()))
}

/// Why a tool cannot be explained whose server was named, if more is known than that it is not there.
fn unknown(name: &str, (session, exposure): (&Session, &Exposure), settings: &Settings) -> Option<Failure> {
    let (server, tool) = name.split_once('/')?;
    if server == HOST_SERVER {
        let own = host_exposure(SchemaDialect::Generic);
        let own: Vec<&str> = own.tools().iter().map(|tool| tool.tool().name.as_str()).collect();
        let message = format!("the host itself has no tool {}", visible::quoted(tool, 100));
        return Some(Failure::usage(message, format!("it has {}", own.join(", "))));
    }
    let is_left_out = |one: &&LeftOut| one.server.as_str() == server && one.tool == tool;
    if let Some(LeftOut { reason, .. }) = exposure.left_out().iter().find(is_left_out) {
        let message = format!("no model is offered {}: {}", visible::line(name), visible::line(reason));
        let hint = format!("see more with: switchboard tools why-hidden {}", visible::argument(name));
        return Some(Failure::usage(message, hint).on_server(server));
    }
    if exposure.servers().iter().any(|(known, _)| known.as_str() == server) {
        return None;
    }
    if let Some(failed) = session.failed().iter().find(|failed| failed.server.as_str() == server) {
        return Some(broken(server, &failed.message));
    }
    Some(of_configuration(server, exposure, settings))
}

/// What it means that a server cannot be reached, if it is the one that was named.
fn of_broken(name: &str, failure: Failure) -> Failure {
    match name.split_once('/') {
        Some((server, _)) if failure.is(Exit::Unreachable) && failure.server() == Some(server) => {
            broken(server, failure.cause())
        }
        _ => failure,
    }
}

fn broken(server: &str, message: &str) -> Failure {
    let message = format!("it does not work, so nothing is known of its tools: {message}");
    let hint = format!("see what is wrong with: switchboard servers test {}", visible::argument(server));
    Failure::new(Exit::Unreachable, message, hint).on_server(server)
}

/// Why a server is not there.
fn of_configuration(server: &str, exposure: &Exposure, settings: &Settings) -> Failure {
    let config = settings.config();
    let word = visible::argument(server);
    let about = |message: &str, hint: String| Failure::usage(message, hint).on_server(server);
    if let Some(problem) = config.problems.iter().find(|one| one.server.as_deref() == Some(server)) {
        return Failure::usage(problem.to_string(), problem.hint.clone()).on_server(server);
    }
    if config.untrusted.iter().any(|one| one.server.as_deref() == Some(server)) {
        let hint =
            format!("look at it with: switchboard servers list, then: switchboard servers trust {word}");
        return about("it comes with the project and is not trusted yet", hint);
    }
    match config.servers.iter().find(|one| one.name == server) {
        Some(entry) if entry.enabled => {
            return about("it is not used here", "name it with --servers".to_owned());
        }
        Some(_) => return about("it is disabled", format!("run: switchboard servers enable {word}")),
        None => {}
    }
    let names = exposure.servers().iter().map(|(name, _)| ServerName::as_str(name));
    let known: Vec<&str> = names.chain(config.servers.iter().map(|one| one.name.as_str())).collect();
    let hint = match nearest(server, &known) {
        Some(nearest) => format!("did you mean {nearest}? See all with: switchboard servers list"),
        None => "see what there is with: switchboard servers list".to_owned(),
    };
    Failure::usage(format!("no server is called {}", visible::quoted(server, 100)), hint)
}

fn read(arguments: &str) -> Result<Value, Failure> {
    const HINT: &str = "write a JSON object, such as '{}'";
    let value: Value = serde_json::from_str(arguments)
        .map_err(|error| Failure::usage(format!("the arguments are not JSON: {error}"), HINT))?;
    if !value.is_object() {
        return Err(Failure::usage("the arguments are not a JSON object", HINT));
    }
    // What a run refuses to call is not explained as if it were called.
    read_arguments(arguments).map_err(|problem| Failure::usage(format!("the arguments {problem}"), HINT))
}

fn outcome(outcome: Outcome, when: &str) -> String {
    let becomes = match outcome {
        Outcome::Allowed => "is called",
        Outcome::Asked => "asks the person",
        Outcome::Denied => "is not called",
        Outcome::EndsRun => "is not called, and the run ends with exit code 2",
    };
    if when.is_empty() { becomes.to_owned() } else { format!("{becomes} if {}", visible::line(when)) }
}

/// An explanation for people.
fn shown(explained: &Explanation) -> String {
    let mut out = format!(
        "{}/{} {}\n  by         {}",
        explained.server,
        visible::name(&explained.tool),
        outcome(explained.outcome, &explained.when),
        visible::line(&explained.by)
    );
    let mut row = |label: &str, text: &str| {
        out.push_str(&format!("\n  {label:<10} {}", text.replace('\n', "\n             ")));
    };
    for other in &explained.otherwise {
        let Otherwise { outcome: becomes, by, when } = other;
        row("otherwise", &format!("it {}   ({})", outcome(*becomes, when), visible::line(by)));
    }
    if !explained.when.is_empty() {
        let name = visible::argument(&format!("{}/{}", explained.server, explained.tool));
        row("of a call", &format!("give its arguments: switchboard policy explain {name} '{{…}}'"));
    }
    for rule in &explained.rules {
        let label = match rule.fate {
            Fate::Decides => "decides",
            Fate::Loses => "loses",
            Fate::NoMatch => "no match",
        };
        let note =
            if rule.note.is_empty() { String::new() } else { format!("   ({})", visible::line(&rule.note)) };
        row(label, &format!("{}{note}", rule.rule));
    }
    // The host's own tools have none.
    if !is_host_tool(&explained.server) {
        row("pin", &pin(&explained.pin));
    }
    for grant in &explained.grants {
        let note = if grant.covers { "covers the call" } else { grant.note };
        row("answer", &format!("{}   ({note})", visible::line(&grant.grant.to_string())));
    }
    out
}
