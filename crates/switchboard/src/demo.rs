//! `switchboard demo`: runs the example servers, over HTTP on loopback or over stdio.
//!
//! `run --demo` starts the same servers through [`Running`] and talks to them over real HTTP.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use city_weather::Api;
use clap::{Args, ValueEnum};
use serde::Serialize;
#[cfg(feature = "legacy")]
use switchboard_client::Revision;
#[cfg(feature = "legacy")]
use switchboard_server::Eras;
use switchboard_server::{BuildError, Builder, ServeError, Server, Serving};
use url::Url;
use weather_station::Station;

#[cfg(feature = "legacy")]
use crate::era;
use crate::failure::{Exit, Failure};
use crate::interrupt::Stop;
use crate::output;
use crate::screen::Screen;

/// How long calls that run may take to end when the demo ends.
const GRACE: Duration = Duration::from_secs(3);

/// Run the demo servers: a simulated weather station, city weather and a calculator
///
/// Prints one NAME=URL line for each, fit for `switchboard run --server NAME=URL`, and serves until ctrl-c,
/// SIGTERM, or the end of stdin where that is a terminal or a pipe.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Which server
    #[arg(value_enum, default_value_t = Which::All)]
    which: Which,

    /// Speak over stdin and stdout instead of HTTP; one server only
    #[arg(long, conflicts_with = "listen")]
    stdio: bool,

    /// Where to listen; several servers take this port and those after it. A free port of each if absent
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,

    #[command(flatten)]
    making: Making,
}

/// How the servers are made.
#[derive(Args, Clone, Debug)]
struct Making {
    /// Base URL of the service that city weather asks; Open-Meteo if absent
    #[arg(long, value_name = "URL", env = "CITY_WEATHER_URL", hide_env_values = true)]
    city_api: Option<Url>,

    /// Speak no revision of the protocol after this one: a legacy one makes servers that need a session
    #[cfg(feature = "legacy")]
    #[arg(long, value_name = "DATE", value_parser = era::dates())]
    newest: Option<Revision>,
}

impl Making {
    /// As the libraries make them.
    fn usual(city_api: Option<&Url>) -> Self {
        Self {
            city_api: city_api.cloned(),
            #[cfg(feature = "legacy")]
            newest: None,
        }
    }

    fn build<S: Send + Sync + 'static>(&self, builder: Builder<S>, state: S) -> Result<Server, BuildError> {
        #[cfg(feature = "legacy")]
        let builder = match self.newest {
            Some(newest) => builder.eras(Eras::up_to(newest)),
            None => builder,
        };
        builder.build(state)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    Station,
    City,
    Calculator,
    All,
}

/// One of the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Example {
    Station,
    City,
    Calculator,
}

const ALL: [Example; 3] = [Example::Station, Example::City, Example::Calculator];

impl Which {
    fn examples(self) -> &'static [Example] {
        match self {
            Self::All => &ALL,
            Self::Station => &ALL[..1],
            Self::City => &ALL[1..2],
            Self::Calculator => &ALL[2..],
        }
    }
}

impl Example {
    fn name(self) -> &'static str {
        match self {
            Self::Station => "station",
            Self::City => "city",
            Self::Calculator => "calculator",
        }
    }

    async fn server(self, making: &Making) -> Result<Server, Failure> {
        let broken = |error: String| {
            Failure::usage(
                format!("the demo server {} does not start: {error}", self.name()),
                "see the cause",
            )
        };
        let server = match self {
            Self::Station => {
                let station =
                    weather_station::api::start().await.map_err(|error| broken(error.to_string()))?;
                let station = Station::at(&format!("http://{station}/"));
                making.build(weather_station::builder(), station)
            }
            Self::City => {
                let api = Api::at(making.city_api.as_ref().map(Url::as_str));
                making.build(city_weather::builder(), api)
            }
            Self::Calculator => making.build(calculator::builder(), ()),
        };
        server.map_err(|error| broken(error.to_string()))
    }
}

/// Demo servers that listen. Dropping them ends them at once; [`Running::shutdown`] is the gentle way.
#[derive(Debug)]
pub(crate) struct Running {
    servers: Vec<(&'static str, Serving)>,
}

/// The name and the address of a demo server.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) url: String,
}

impl Running {
    /// Starts all of them on free loopback ports.
    pub(crate) async fn start(city_api: Option<&Url>) -> Result<Self, Failure> {
        Self::listen(&ALL, None, &Making::usual(city_api)).await
    }

    async fn listen(
        examples: &[Example],
        first: Option<SocketAddr>,
        making: &Making,
    ) -> Result<Self, Failure> {
        let mut servers = Vec::new();
        for (example, offset) in examples.iter().zip(0..) {
            let address = address(first, offset)?;
            let server = example.server(making).await?;
            let serving = server.http().bind(address).await.map_err(|error| refused(address, &error))?;
            servers.push((example.name(), serving));
        }
        Ok(Self { servers })
    }

    /// Where they are.
    pub(crate) fn named(&self) -> Vec<Named> {
        self.servers.iter().map(|&(name, ref serving)| Named { name, url: serving.url() }).collect()
    }

    /// Lets running calls end, all servers side by side.
    pub(crate) async fn shutdown(self) {
        futures_util::future::join_all(self.servers.into_iter().map(|(_, serving)| serving.shutdown(GRACE)))
            .await;
    }
}

fn refused(address: SocketAddr, error: &ServeError) -> Failure {
    if error.is_public_address() {
        let message = format!("{address} can be reached from other machines, and the demo is for this one");
        return Failure::usage(message, "listen on 127.0.0.1");
    }
    Failure::usage(error.to_string(), "choose another address with --listen, or leave it out")
}

fn address(first: Option<SocketAddr>, offset: u16) -> Result<SocketAddr, Failure> {
    let Some(mut address) = first else { return Ok((Ipv4Addr::LOCALHOST, 0).into()) };
    if address.port() != 0 {
        let port = address.port().checked_add(offset).ok_or_else(|| {
            Failure::usage(
                format!("there is no port {offset} above {}", address.port()),
                "choose a lower port",
            )
        })?;
        address.set_port(port);
    }
    Ok(address)
}

/// Runs the command.
pub(crate) async fn command(args: DemoArgs, json: bool, screen: &Screen) -> Result<(), Failure> {
    let examples = args.which.examples();
    if args.stdio {
        let [example] = examples else {
            return Err(Failure::usage("stdio carries one server only", "name station, city or calculator"));
        };
        let server = example.server(&args.making).await?;
        return server.serve_stdio().await.map_err(|error| {
            Failure::new(
                Exit::Unreachable,
                format!("the pipe failed: {error}"),
                "check what started this server",
            )
        });
    }
    let end = ended()?;
    let running = Running::listen(examples, args.listen, &args.making).await?;
    for named in running.named() {
        if json {
            output::json(&named)?;
        } else {
            output::text(&format!("{}={}", named.name, named.url))?;
        }
    }
    screen.note("serving; ctrl-c ends it");
    end.await;
    running.shutdown().await;
    Ok(())
}

/// Waits for ctrl-c, SIGTERM, or the end of stdin.
fn ended() -> Result<impl Future<Output = ()>, Failure> {
    let stop = Stop::listen()?;
    Ok(async move {
        tokio::select! {
            () = stop.requested() => {}
            () = stdin_ended() => {}
        }
    })
}

/// Waits for the end of stdin where somebody can end it. `/dev/null` and files end at once, which means nothing.
async fn stdin_ended() {
    if !somebody_holds_stdin() {
        return std::future::pending().await;
    }
    let drained = tokio::task::spawn_blocking(|| io::copy(&mut io::stdin().lock(), &mut io::sink()));
    // An error ends it like an end does.
    let _ = drained.await;
}

#[cfg(unix)]
fn somebody_holds_stdin() -> bool {
    use std::fs::File;
    use std::io::IsTerminal as _;
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::FileTypeExt as _;

    let stdin = io::stdin();
    if stdin.is_terminal() {
        return true;
    }
    let file_type = stdin
        .as_fd()
        .try_clone_to_owned()
        .and_then(|owned| File::from(owned).metadata())
        .map(|metadata| metadata.file_type());
    file_type.is_ok_and(|file_type| file_type.is_fifo() || file_type.is_socket())
}

#[cfg(not(unix))]
fn somebody_holds_stdin() -> bool {
    true
}
