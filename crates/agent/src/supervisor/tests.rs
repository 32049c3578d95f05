//! Servers that start, end, stay silent and come back, in a time that only the tests move.

mod calls;
mod changing;
mod fake;
mod freshness;
mod life;
mod many;
mod places;
mod roots;

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use switchboard_client::InProcess;
use switchboard_protocol::model::tool::Tool;

use super::*;
use crate::outcome::ToolOutcome;
use crate::policy::CallContext;

fn name(name: &str) -> ServerName {
    ServerName::new(name).unwrap()
}

fn config(server: &str, target: &(impl InProcess + Clone + Send + Sync + 'static)) -> ServerConfig {
    ServerConfig {
        hash: format!("hash of {server}"),
        ..ServerConfig::in_process(name(server), target.clone())
    }
}

fn supervisor(servers: Vec<ServerConfig>) -> Supervisor {
    let supervisor = Supervisor::new(SupervisorOptions::default());
    supervisor.start(servers);
    supervisor
}

const SECOND: Duration = Duration::from_secs(1);

/// The paused clock goes on, and everything that is due happens.
async fn pass(time: Duration) {
    for step in [Duration::ZERO, time] {
        tokio::time::advance(step).await;
        for _ in 0..256 {
            tokio::task::yield_now().await;
        }
    }
}

/// Waits until the first server is in this state; at most an hour of the tests' time.
async fn reach(supervisor: &Supervisor, state: ServerState) -> ServerStatus {
    reach_where(supervisor, |status| status.state == state).await
}

async fn reach_where(supervisor: &Supervisor, wanted: impl Fn(&ServerStatus) -> bool) -> ServerStatus {
    let mut changes = supervisor.changes();
    let reached = tokio::time::timeout(Duration::from_secs(3600), async {
        loop {
            let status = supervisor.status().remove(0);
            if wanted(&status) {
                return status;
            }
            changes.changed().await.unwrap();
        }
    });
    reached.await.unwrap_or_else(|_| panic!("never reached: {:#?}", supervisor.status()))
}

fn a_tool(name: &str) -> Tool {
    serde_json::from_value(fake::tool(name, false)).unwrap()
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// Calls a tool, and gives its text or why there is none.
async fn call(
    supervisor: &Supervisor,
    server: &str,
    tool: &str,
    context: CallContext,
) -> Result<String, String> {
    let upstream = supervisor.upstream(&name(server)).unwrap();
    let _slot = upstream.slot(&a_tool(tool)).await;
    match upstream.call(&a_tool(tool), &raw(r#"{"n":1}"#), context).await {
        ToolOutcome::Result(result) => {
            let text =
                serde_json::to_value(&result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned();
            Ok(text)
        }
        ToolOutcome::Failed(failure) => {
            Err(format!("{} (maybe executed: {})", failure.message, failure.maybe_executed))
        }
    }
}

fn host_lines(supervisor: &Supervisor, server: &str) -> String {
    let lines = supervisor.logs(&name(server), 100).unwrap();
    let host = lines.iter().filter(|line| line.stream == LogStream::Host);
    host.map(|line| line.text.clone()).collect::<Vec<_>>().join("\n")
}

fn quiet() -> CallContext {
    CallContext::default()
}

fn shared<T>(value: T) -> Arc<std::sync::Mutex<T>> {
    Arc::new(std::sync::Mutex::new(value))
}

/// Lets others run until the server has heard so many calls.
async fn until(fake: &fake::Fake, calls: usize) {
    while fake.heard("tools/call").len() < calls {
        tokio::task::yield_now().await;
    }
}
