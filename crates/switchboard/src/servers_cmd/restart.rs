//! `switchboard servers restart`: forgets what was found out about servers, starts them anew, and says how they are.

use std::time::Duration;

use clap::Args;

use super::fleet::{self, Begin, Fleet};
use super::{status, test};
use crate::failure::Failure;
use crate::model::Answering;
use crate::output;
use crate::screen::Screen;
use crate::settings::Settings;

/// Forget what was found out about servers, start them, and say how they are
///
/// Forgotten are their revision, and the tools of lazy ones. A host that runs elsewhere keeps its own connections.
#[derive(Args, Clone, Debug)]
pub(crate) struct RestartArgs {
    /// The servers
    #[arg(required = true)]
    names: Vec<String>,

    /// How long to wait for them, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
}

/// Runs the command.
pub(crate) async fn command(
    args: &RestartArgs,
    settings: &Settings,
    (json, screen): (bool, &Screen),
) -> Result<(), Failure> {
    let fleet = Fleet::new(settings, (&args.names, Begin::WhenTried), screen).await?;
    let store = fleet::store(settings);
    for config in fleet.supervisor.configs() {
        for kind in switchboard_agent::supervisor::DOCUMENTS {
            if let Err(error) = store.put_document(kind, &config.hash, None) {
                screen.warning(&format!("{}: what is known of it cannot be forgotten: {error}", config.name));
            }
        }
    }
    let limit = Duration::from_secs(args.timeout);
    let (servers, reports) = fleet
        .and_close(async |supervisor, names| {
            names.iter().for_each(|name| drop(supervisor.restart(name)));
            fleet::ready(supervisor, limit, screen).await;
            let mut reports = Vec::new();
            for name in names {
                reports.push(test::one(supervisor, name, limit).await);
            }
            supervisor.measure_for(Answering::dialect(settings).await);
            (supervisor.status(), reports)
        })
        .await?;
    if json {
        output::json(&servers)?;
    } else {
        output::text(&status::table(&servers))?;
    }
    test::verdict(&reports)
}
