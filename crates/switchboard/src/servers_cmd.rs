//! `switchboard servers`: which servers are configured, where, and in which state; and changes to that.
//!
//! Only our own file is ever written. A server of another file is switched on and off by an entry of ours.

mod change;
pub(crate) mod fleet;
mod list;
mod logs;
mod restart;
mod status;
pub(crate) mod test;
mod transfer;
mod trust;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::screen::Screen;
use crate::settings::Settings;

/// See and change which servers are configured
#[derive(Args, Debug)]
pub(crate) struct ServersArgs {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the servers of all files, each with its state and its place; the same as no action
    List,
    /// Add a server to your configuration
    Add(change::AddArgs),
    /// Remove a server from your configuration
    Remove {
        /// The server
        #[arg(value_name = "NAME")]
        name: String,

        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Use a server again
    Enable {
        /// The server
        #[arg(value_name = "NAME")]
        name: String,

        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Do not use a server, also one of another product's file, which stays as it is
    Disable {
        /// The server
        #[arg(value_name = "NAME")]
        name: String,

        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Copy servers of another product into your configuration
    ///
    /// Those of the usual places are used from where they are without that: `switchboard servers list` shows them.
    Import(transfer::ImportArgs),
    /// Write all servers in the shape of a product to stdout
    Export(transfer::ExportArgs),
    Status(status::StatusArgs),
    Test(test::TestArgs),
    Logs(logs::LogsArgs),
    Restart(restart::RestartArgs),
    /// Let what a project names be used; the decision counts until the entry changes
    Trust(trust::TrustArgs),
}

/// Which of our files is changed.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(super) struct PlaceArgs {
    /// Change .switchboard.toml of this folder, for everybody who works in it, in the place of your own file
    #[arg(long)]
    project: bool,
}

impl PlaceArgs {
    fn file(self, settings: &Settings) -> Result<PathBuf, Failure> {
        let sources = settings.sources()?;
        Ok(if self.project { sources.project_file() } else { sources.paths.config_file() })
    }
}

/// Runs the command.
pub(crate) async fn command(
    args: ServersArgs,
    json: bool,
    (settings, screen): (&Settings, &Screen),
) -> Result<(), Failure> {
    let view = View { json, settings, screen };
    match args.action.unwrap_or(Action::List) {
        Action::List => view.list(),
        Action::Add(args) => view.add(args),
        Action::Remove { name, place } => view.remove(&name, place),
        Action::Enable { name, place } => view.enable(&name, true, place),
        Action::Disable { name, place } => view.enable(&name, false, place),
        Action::Import(args) => view.import(&args),
        Action::Export(args) => view.export(&args),
        Action::Trust(args) => view.trust(&args),
        Action::Status(args) => status::command(&args, settings, (json, screen)).await,
        Action::Test(args) => test::command(&args, settings, (json, screen)).await,
        Action::Logs(args) => logs::command(&args, settings, (json, screen)),
        Action::Restart(args) => restart::command(&args, settings, (json, screen)).await,
    }
}

/// How results are to be shown.
struct View<'a> {
    json: bool,
    settings: &'a Settings,
    screen: &'a Screen,
}
