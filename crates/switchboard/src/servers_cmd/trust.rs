//! `servers trust`: decisions about what projects name.

use clap::Args;
use serde::Serialize;
use switchboard_config::{TrustStore, Untrusted};

use super::View;
use crate::failure::Failure;
use crate::output;
use crate::settings::show_untrusted;

/// Options of `servers trust`.
#[derive(Args, Debug)]
pub(super) struct TrustArgs {
    /// The servers
    #[arg(value_name = "NAME", required_unless_present = "all")]
    names: Vec<String>,

    /// Everything that this project names: servers, and the rest of its .switchboard.toml
    #[arg(long, conflicts_with = "names")]
    all: bool,

    /// Take the decision back
    #[arg(long)]
    revoke: bool,
}

#[derive(Serialize)]
struct Trusted {
    trusted: Vec<Untrusted>,
    revoked: usize,
}

impl View<'_> {
    pub(super) fn trust(&self, args: &TrustArgs) -> Result<(), Failure> {
        if args.revoke {
            return self.revoke(args);
        }
        let open = self.settings.all().untrusted;
        let is_meant =
            |one: &Untrusted| args.all || one.server.as_ref().is_some_and(|name| args.names.contains(name));
        let trusted: Vec<Untrusted> = open.iter().filter(|one| is_meant(one)).cloned().collect();
        let is_open = |name: &&String| !open.iter().any(|one| one.server.as_ref() == Some(name));
        if let Some(name) = args.names.iter().find(is_open) {
            return Err(Failure::usage(
                format!("nothing that waits for a decision is called {name:?}"),
                "see what there is with: switchboard servers list",
            ));
        }
        for one in &trusted {
            show_untrusted(one, self.screen);
        }
        self.settings.trust(&trusted)?;
        if self.json {
            return output::json(&Trusted { trusted, revoked: 0 });
        }
        let things =
            if trusted.len() == 1 { "1 entry is" } else { &format!("{} entries are", trusted.len()) };
        output::text(&format!("{things} trusted from now on"))
    }

    fn revoke(&self, args: &TrustArgs) -> Result<(), Failure> {
        let data_dir = &self.settings.paths()?.data_dir;
        let mut store = TrustStore::open(data_dir);
        let names: Vec<Option<&str>> =
            if args.all { vec![None] } else { args.names.iter().map(|name| Some(name.as_str())).collect() };
        let mut revoked = 0;
        for name in names {
            revoked += store.revoke(None, name).map_err(|error| {
                Failure::usage(
                    format!("the decisions in {} cannot be changed: {error}", data_dir.display()),
                    "check the permissions of the folder",
                )
            })?;
        }
        if self.json {
            return output::json(&Trusted { trusted: Vec::new(), revoked });
        }
        output::text(&format!("{revoked} taken back"))
    }
}
