//! Tries a server out, step by step, and says which step failed and what to do.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::config::ServerTarget;
use super::connect::{self, Broken, Live};
use super::logs::Logs;
use super::server::{Server, millis};
use super::status::{TestReport, TestStep};
use crate::name::ServerName;
use crate::policy::Listing;

/// The steps so far.
struct Trial {
    report: TestReport,
    since: Instant,
}

impl Trial {
    fn new(name: &ServerName) -> Self {
        let report = TestReport {
            name: name.clone(),
            ok: true,
            steps: Vec::new(),
            next_step: None,
            login_needed: false,
        };
        Self { report, since: Instant::now() }
    }

    fn step(&mut self, step: &str, detail: impl Into<String>) {
        let took = self.since.elapsed();
        self.step_of(step, detail, took);
    }

    fn step_of(&mut self, step: &str, detail: impl Into<String>, took: Duration) {
        let (took_ms, detail) = (millis(took), detail.into());
        self.report.steps.push(TestStep { step: step.to_owned(), ok: true, took_ms, detail });
        self.since = Instant::now();
    }

    fn failed(mut self, step: &str, broken: Broken) -> TestReport {
        let took_ms = millis(self.since.elapsed());
        self.report.steps.push(TestStep {
            step: step.to_owned(),
            ok: false,
            took_ms,
            detail: broken.message,
        });
        self.report.ok = false;
        self.report.login_needed = broken.unauthorized;
        let name = crate::visible::argument(self.report.name.as_str());
        let usual = || format!("see `switchboard servers logs {name}`");
        self.report.next_step = Some(broken.next_step.unwrap_or_else(usual));
        self.report
    }
}

/// What to do about a program that is not there.
pub(super) const INSTALL: &str =
    "install the program, or correct `command`, `cwd` or PATH in the configuration";

/// Tries the server out: on its connection if it has one, else on one of its own, which is closed again.
pub(super) async fn run(server: &Arc<Server>, name: &ServerName) -> TestReport {
    let mut trial = Trial::new(name);
    if let ServerTarget::Command { .. } = &server.config.target {
        match connect::command(&server.config.target).resolve() {
            Ok(program) => trial.step("program", program.display().to_string()),
            Err(error) => {
                let message = error.to_string();
                let next_step = Some(INSTALL.to_owned());
                return trial
                    .failed("program", Broken { message, next_step, unauthorized: false, transient: false });
            }
        }
    }
    if let Some(lease) = server.lease_if_ready() {
        trial.step("start", "it runs already");
        return on_connection(trial, (&lease.live, &server.logs), None).await;
    }
    match Box::pin(server.opening().open()).await {
        Ok((live, listing, took)) => {
            trial.step("start", started(&live).await);
            let report = on_connection(trial, (&live, &server.logs), Some((listing, took))).await;
            live.client.close().await;
            report
        }
        Err(error) => trial.failed("start", mask(server, Broken::of(&error))),
    }
}

async fn started(live: &Live) -> String {
    match live.client.process_id().await {
        Some(id) => format!("process {id} answers"),
        None => "it answers".to_owned(),
    }
}

/// How many tools there are.
pub(super) fn tools_of(listing: &Listing) -> String {
    match listing.tools.len() {
        1 => "1 tool".to_owned(),
        tools => format!("{tools} tools"),
    }
}

async fn on_connection(
    mut trial: Trial,
    (live, logs): (&Live, &Logs),
    listed: Option<(Listing, Duration)>,
) -> TestReport {
    let identity = crate::identity::Identity::of(&live.client);
    trial.step_of("era", identity.to_string(), Duration::ZERO);
    let (listing, took) = match listed {
        Some(listed) => listed,
        None => match connect::tools(&live.client, logs).await {
            Ok(listing) => (listing, trial.since.elapsed()),
            Err(error) => return trial.failed("tools", Broken::of(&error)),
        },
    };
    let invalid = listing.invalid.len();
    let mut found = tools_of(&listing);
    if invalid > 0 {
        found.push_str(&format!(", and {invalid} with definitions that cannot be used"));
    }
    if live.router.noise_lines() > 0 {
        let lines = live.router.noise_lines();
        found.push_str(&format!("; {lines} lines on its standard output are no messages and were skipped"));
    }
    trial.step_of("tools", found, took);
    match live.client.tools().fresh().await {
        Ok(_) => {
            let took = trial.since.elapsed();
            trial.step("latency", format!("{} ms", millis(took)));
            trial.report
        }
        // One that has no tools need not know the method; it has answered.
        Err(error) if error.protocol_message().is_some() => {
            trial.step("latency", "it answers");
            trial.report
        }
        Err(error) => trial.failed("latency", Broken::of(&error)),
    }
}

fn mask(server: &Server, broken: Broken) -> Broken {
    let mask = |text: String| server.logs.mask(text);
    Broken { message: mask(broken.message), next_step: broken.next_step.map(mask), ..broken }
}
