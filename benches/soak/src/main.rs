//! Our server under clients that leave: tools that answer, speak, ask and never end, with the default
//! limits but for the times that a bench cannot wait for.
//!
//! `bench-soak http PORT TIMES`, `bench-soak pipes PORT TIMES` (each connection is a pipe of its own) or
//! `bench-soak stdio TIMES`. TIMES is `short`, where everything that is kept for a client expires while the
//! bench runs, or `lasting`, where what is kept for sessions stays until its place is needed.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_server::{
    Args, Call, Ctx, Elicited, Limits, Need, Question, Resource, Server, SessionLimits, Tool, ToolError,
};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    ok: bool,
}

impl<S: Sync> Question<S> for Confirm {
    async fn need(_call: &Call, _state: &S) -> Result<Need<Self>, ToolError> {
        Ok(Need::Ask("Go on?".into()))
    }
}

async fn echo(Args(asked): Args<Text>) -> String {
    asked.text
}

/// Says something, and ends a while later.
async fn speak(ctx: Ctx) -> &'static str {
    for step in 1..=3 {
        ctx.progress_message(f64::from(step), Some(4.0), "a step").await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    "spoken"
}

async fn ask(Elicited(confirm): Elicited<Confirm>) -> String {
    confirm.ok.to_string()
}

async fn wait() -> &'static str {
    std::future::pending().await
}

/// How long a handler may take, and how long a question may wait. While they run, an abandoned exchange
/// holds its place.
const SHORT: Duration = Duration::from_secs(1);

fn limits(lasting: bool) -> Limits {
    let mut sessions = SessionLimits::default();
    if !lasting {
        (sessions.idle, sessions.replay_time) = (SHORT, SHORT);
    }
    Limits { handler_timeout: Some(SHORT), request_state_ttl: SHORT, sessions, ..Limits::default() }
}

fn server(lasting: bool) -> Result<Server, Box<dyn Error>> {
    let server = Server::builder("soak", "0.1.0")
        .limits(limits(lasting))
        .tool(Tool::new("echo", echo))
        .tool(Tool::new("speak", speak))
        .tool(Tool::new("ask", ask))
        .tool(Tool::new("wait", wait))
        .resource(Resource::new("soak://one", async || "one"))
        .build(())?;
    Ok(server)
}

/// Subscribers hear of something now and then.
async fn change(server: Server) {
    let mut pulse = tokio::time::interval(Duration::from_millis(20));
    loop {
        pulse.tick().await;
        server.notifier().resource_updated("soak://one");
        server.notifier().tools_changed();
    }
}

/// Pipes at the same time. One that broke while a handler ran is there for another half second, so that
/// without a bound their number would follow the speed of the machine.
const PIPES: usize = 512;

async fn pipes(server: Server, port: &str) -> io::Result<()> {
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    eprintln!("listening on {}", listener.local_addr()?);
    let places = Arc::new(Semaphore::new(PIPES));
    loop {
        let place = Arc::clone(&places).acquire_owned().await.map_err(io::Error::other)?;
        let (stream, _) = listener.accept().await?;
        let server = server.clone();
        tokio::spawn(async move {
            let _place = place;
            let (reader, writer) = stream.into_split();
            // A client that breaks its pipe is what this is about.
            let _ = server.serve_io(reader, writer).await;
        });
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (mode, port, times) = match arguments[..] {
        [mode @ ("http" | "pipes"), port, times] => (mode, port, times),
        ["stdio", times] => ("stdio", "", times),
        _ => return Err("usage: bench-soak http|pipes PORT short|lasting | stdio short|lasting".into()),
    };
    let server = server(times == "lasting")?;
    tokio::spawn(change(server.clone()));
    match mode {
        "pipes" => pipes(server, port).await?,
        "stdio" => server.serve_stdio().await?,
        _ => {
            let serving = server.http().bind(&format!("127.0.0.1:{port}")).await?;
            eprintln!("listening on {}", serving.local_addr());
            serving.run_until(switchboard_server::until_signal()).await;
        }
    }
    Ok(())
}
