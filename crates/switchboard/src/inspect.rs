//! `switchboard inspect`: one raw request to a server, and its raw result.

use std::time::{Duration, Instant};

use clap::Args;
use serde_json::value::RawValue;
use switchboard_agent::{Identity, visible};
use switchboard_client::{Direction, WireMessage};

use crate::auth::AuthArgs;
use crate::cli::at_least_one;
use crate::connect;
use crate::era::EraArgs;
use crate::failure::Failure;
use crate::interrupt::unless_interrupted;
use crate::output;
use crate::screen::Screen;
use crate::servers::Target;
use crate::time_limit;

/// Send one request to a server and show its result as it came
///
/// The client adds its _meta and, over HTTP, the headers; where the server needs a session, it opens one first. The result is neither decoded nor judged: a tool that
/// reports an error is a result like any other.
#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// A URL, or a command in quotation marks
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
pub(crate) async fn command(args: InspectArgs, json: bool, screen: &Screen) -> Result<(), Failure> {
    let target = Target::parse(&args.server)?;
    let params = args.params.as_deref().map(params).transpose()?;
    let mut builder = connect::builder(args.era);
    if args.wire {
        builder = builder.on_wire(wire(screen.clone()));
    }
    if let Some(seconds) = args.timeout {
        builder = builder.timeout(Duration::from_secs(seconds.into()));
    }
    let name = target.name();
    let headers = args
        .auth
        .headers(&target.is_http().then_some(name.as_str()).into_iter().collect::<Vec<_>>(), screen)?;
    let connecting = connect::connect((&name, &target), builder, &headers, None);
    let client = unless_interrupted(connecting).await?;
    screen.note(&format!("{name}: {}", Identity::of(&client)));
    let request = client.request_raw(args.method, params.as_deref());
    let result =
        unless_interrupted(async { request.await.map_err(|error| shown(&error, args.wire, screen)) }).await;
    client.close().await;
    let result = result?;
    if json { output::json(&result) } else { output::text(&visible::json(&result)) }
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
fn shown(error: &switchboard_client::Error, wire: bool, screen: &Screen) -> Failure {
    if let Some(data) = error.data() {
        screen.labelled("data", &visible::json(data));
    }
    let otherwise =
        if wire { "the lines above are all that was said" } else { "see what was said with --wire" };
    connect::failure(error, otherwise).map_hint(|hint| time_limit::in_options(&hint))
}

/// Shows each message as it goes over the wire.
fn wire(screen: Screen) -> impl Fn(WireMessage<'_>) + Send + Sync + 'static {
    let since = Instant::now();
    move |message| {
        let arrow = match message.direction {
            Direction::Sent => "→",
            Direction::Received => "←",
        };
        let text: String = String::from_utf8_lossy(message.bytes)
            .chars()
            .map(|character| if visible::is_invisible(character) { '\u{fffd}' } else { character })
            .collect();
        screen.labelled(&format!("{:>6} ms {arrow}", since.elapsed().as_millis()), &text);
    }
}
