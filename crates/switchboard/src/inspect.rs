//! `switchboard inspect`: one raw request to a server, and its raw result.

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::value::RawValue;
use switchboard_agent::supervisor::{self, Offers, ServerConfig, SupervisorOptions, WireTap};
use switchboard_agent::{Identity, ServerName, visible};
use switchboard_client::{Direction, Error};

use crate::auth::AuthArgs;
use crate::cli::at_least_one;
use crate::era::{self, EraArgs};
use crate::failure::{Exit, Failure, LOGIN};
use crate::hosting::{self, HostingOptions, Keeps};
use crate::interrupt::Stop;
use crate::output;
use crate::screen::Screen;
use crate::servers::{ServerArgs, ServerSpec, Target};
use crate::servers_cmd::fleet;
use crate::settings::Settings;
use crate::time_limit;

/// Send one request to a server and show its result as it came
///
/// The client adds its _meta and, over HTTP, the headers; where the server needs a session, it opens one first. The result is neither decoded nor judged: a tool that
/// reports an error is a result like any other.
#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// A server of the configuration by its name, a URL, or a command in quotation marks
    #[arg(value_name = "SERVER")]
    server: String,

    /// The method, such as tools/list
    #[arg(value_name = "METHOD")]
    method: String,

    /// The parameters, a JSON object
    #[arg(value_name = "JSON")]
    params: Option<String>,

    /// Show every message with its direction and time on stderr
    #[arg(long)]
    wire: bool,

    /// How long the server may be silent before the request ends with exit code 6; 60 if absent
    #[arg(long, value_name = "SECONDS", value_parser = at_least_one)]
    timeout: Option<u32>,

    #[command(flatten)]
    era: EraArgs,

    #[command(flatten)]
    auth: AuthArgs,
}

/// Runs the command.
pub(crate) async fn command(
    args: InspectArgs,
    json: bool,
    (settings, screen): (&Settings, &Screen),
) -> Result<(), Failure> {
    let target = target(&args.server, settings, screen).await?;
    let params = args.params.as_deref().map(params).transpose()?;
    let name = target.name();
    let over_http: Vec<&str> = target.is_http().then_some(name.as_str()).into_iter().collect();
    let headers = args.auth.headers(&over_http, (settings, screen))?;
    // The host's own name is no server's.
    let named = ServerName::new(name.as_str()).or_else(|_| ServerName::new(format!("{name}-2")));
    let named = named.map_err(|error| Failure::usage(error.to_string(), "check how it is written"))?;
    let mut config = hosting::config(&ServerSpec { name: named, target }, args.era, &headers);
    config.idle_timeout =
        args.timeout.map(|seconds| Duration::from_secs(seconds.into())).or(config.idle_timeout);
    let servers = ServerArgs::default();
    let options = HostingOptions {
        keeps: Keeps::Servers,
        offers: Offers::none(),
        ..HostingOptions::new(settings, &servers)
    };
    let (mut options, last_words) = hosting::supervisor_options(&options, fleet::store(settings), screen);
    options.wire = args.wire.then(|| wire(screen.clone()));
    let asked = asked(&args, params.as_deref(), (&config, &options), screen);
    let result = Stop::listen()?.unless(asked).await;
    drop(options);
    last_words.arrive().await;
    let result = result?;
    if json { output::whole_json(&result) } else { output::whole_text(&visible::json(&result)) }
}

async fn asked(
    args: &InspectArgs,
    params: Option<&RawValue>,
    (config, options): (&ServerConfig, &SupervisorOptions),
    screen: &Screen,
) -> Result<Box<RawValue>, Failure> {
    let client = supervisor::connect(config, options).await;
    let client = client.map_err(|error| unreachable(&error, config))?;
    screen.note(&format!("{}: {}", config.name, Identity::of(&client)));
    let answered = client.request_raw(args.method.as_str(), params).await;
    let answered = answered.map_err(|error| shown(&error, args.wire, screen));
    client.close().await;
    answered
}

/// A server of the configuration by its name, or what the text says.
async fn target(text: &str, settings: &Settings, screen: &Screen) -> Result<Target, Failure> {
    let names_one = |config: &switchboard_config::Config| {
        let servers = config.servers.iter().map(|server| server.name.as_str());
        let others = config.problems.iter().filter_map(|problem| problem.server.as_deref());
        let untrusted = config.untrusted.iter().filter_map(|one| one.server.as_deref());
        servers.chain(others).chain(untrusted).any(|name| name == text)
    };
    if !names_one(settings.config()) {
        return Target::parse(text);
    }
    let chosen = settings.servers(&[text.to_owned()], (screen, None)).await?;
    match chosen.servers.into_iter().next() {
        Some(server) => Ok(Target::Configured(Box::new(server))),
        None => Target::parse(text),
    }
}

fn params(text: &str) -> Result<Box<RawValue>, Failure> {
    let params: Box<RawValue> =
        serde_json::from_str(text).map_err(|error| not_an_object(&error.to_string()))?;
    if params.get().starts_with('{') { Ok(params) } else { Err(not_an_object("it is another JSON value")) }
}

fn not_an_object(why: &str) -> Failure {
    Failure::usage(
        format!("the parameters are no JSON object: {why}"),
        r#"write them like '{"name": "get_climate"}'"#,
    )
}

/// The data of an error may be large, so it is no part of the message; here somebody wants to see it.
fn shown(error: &Error, wire: bool, screen: &Screen) -> Failure {
    if let Some(data) = error.data() {
        screen.labelled("data", &visible::json(data));
    }
    let otherwise =
        if wire { "the lines above are all that was said" } else { "see what was said with --wire" };
    failure(exit(error), error, otherwise).map_hint(|hint| time_limit::in_options(&hint))
}

/// Any failure but a login or a mistake of the person means that the server cannot be reached.
fn unreachable(error: &Error, config: &ServerConfig) -> Failure {
    let exit = match exit(error) {
        exit @ (Exit::Login | Exit::Usage | Exit::Interrupted) => exit,
        _ => Exit::Unreachable,
    };
    let otherwise = if config.target.is_command() {
        "check that the program is installed and that its name or path is right"
    } else {
        "check that it is a server of the Model Context Protocol"
    };
    failure(exit, error, otherwise)
}

/// What a failed request means. `otherwise` is what to do where the library does not say.
fn failure(exit: Exit, error: &Error, otherwise: &str) -> Failure {
    let hint = match exit {
        Exit::Login => LOGIN.to_owned(),
        _ if error.is_legacy() => era::NO_SESSION.to_owned(),
        _ => error.next_action().map_or_else(|| otherwise.to_owned(), era::in_options),
    };
    Failure::new(exit, error.cause(), hint)
}

fn exit(error: &Error) -> Exit {
    if error.is_unauthorized() {
        Exit::Login
    } else if error.is_cancelled() {
        Exit::Interrupted
    } else if error.is_unreachable() || error.is_incompatible() || error.http_status().is_some() {
        Exit::Unreachable
    } else if error.is_timeout() || error.is_limit() {
        Exit::Limit
    } else if error.code().is_some() || error.is_server_fault() {
        Exit::Tool
    } else {
        Exit::Usage
    }
}

/// Shows each message as it goes over the wire.
fn wire(screen: Screen) -> WireTap {
    let since = Instant::now();
    Arc::new(move |_, message| {
        let arrow = match message.direction {
            Direction::Sent => "→",
            Direction::Received => "←",
        };
        let text: String = String::from_utf8_lossy(message.bytes)
            .chars()
            .map(|character| if visible::is_invisible(character) { '\u{fffd}' } else { character })
            .collect();
        screen.labelled(&format!("{:>6} ms {arrow}", since.elapsed().as_millis()), &text);
    })
}
