//! Which revisions are spoken, where a person chooses: `--era` of whoever connects, `--newest` of the demo.
//!
//! The choices come from the libraries; this build may know fewer of them.

use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use switchboard_agent::ServerName;
use switchboard_client::{Era, Revision};

/// What to do about a server that needs a session, where none is opened.
#[cfg(feature = "legacy")]
pub(crate) const NO_SESSION: &str = "leave --era out, or give --era auto, so that a session may be opened; or use a newer version of the server";
#[cfg(not(feature = "legacy"))]
pub(crate) const NO_SESSION: &str = "this build of switchboard opens no sessions, so it only reaches servers of a modern \
                                     revision: build it with the feature legacy, which is on by default, or use a \
                                     newer version of the server";

/// How long it may take to find out how a server is spoken to, before a word is said about it.
const UNNOTICED: Duration = Duration::from_secs(1);

/// The option of every command that connects.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct EraArgs {
    /// Which revisions of the protocol to speak, for servers that do not let it be found out
    #[arg(long, value_name = "ERA", value_parser = eras())]
    era: Option<Era>,
}

impl EraArgs {
    /// These options and those of a subcommand, which win.
    pub(crate) fn and(self, inner: Self) -> Self {
        Self { era: inner.era.or(self.era) }
    }

    /// What was chosen.
    pub(crate) fn era(self) -> Era {
        self.era.unwrap_or_default()
    }

    /// What was chosen, else what the configuration says.
    pub(crate) fn era_or(self, configured: Option<Era>) -> Era {
        self.era.or(configured).unwrap_or_default()
    }
}

/// What to say about a program that opened a session late, as it was asked for a modern revision first; nothing if that
/// went fast.
pub(crate) fn detour(server: &ServerName, took: Duration) -> Option<String> {
    (took > UNNOTICED).then(|| {
        format!(
            "{server} was asked for a modern revision first, and had opened a session after {:.1} s; `--era legacy` asks \
             for one at once",
            took.as_secs_f64()
        )
    })
}

fn eras() -> impl TypedValueParser<Value = Era> {
    let named = [
        ("auto", "Asks the server, and opens a session where that is needed; the default"),
        ("modern", "Opens no session: a server that needs one is an error"),
        #[cfg(feature = "legacy")]
        ("legacy", "Opens a session at once: spares servers that end, or log errors, when they are asked"),
    ];
    let named = named.map(|(name, help)| PossibleValue::new(name).help(help));
    let dates = revisions().map(|revision| PossibleValue::new(revision.date()).help(pinned(revision)));
    PossibleValuesParser::new(named.into_iter().chain(dates)).map(|text| match text.as_str() {
        "modern" => Era::Modern,
        "legacy" => Era::Legacy,
        date => Revision::from_date(date).map_or(Era::Auto, Era::Pinned),
    })
}

/// What it means to name one revision.
fn pinned(revision: Revision) -> &'static str {
    match revision.era() {
        switchboard_protocol::Era::Modern => "Speaks this revision only",
        switchboard_protocol::Era::Legacy => {
            "Opens a session at once, and offers this revision as the newest"
        }
    }
}

/// Reads the date of a revision that this build speaks.
#[cfg(feature = "legacy")]
pub(crate) fn dates() -> impl TypedValueParser<Value = Revision> {
    let dates = revisions().map(|revision| PossibleValue::new(revision.date()));
    PossibleValuesParser::new(dates).map(|date| Revision::from_date(&date).unwrap_or(Revision::LATEST))
}

/// Every revision that this build speaks, newest first.
fn revisions() -> impl Iterator<Item = Revision> {
    #[cfg(feature = "legacy")]
    let legacy = Revision::LEGACY;
    #[cfg(not(feature = "legacy"))]
    let legacy: &[Revision] = &[];
    Revision::MODERN.iter().chain(legacy).copied()
}

/// The hints of the client library, in the words of this program.
pub(crate) fn in_options(hint: &str) -> String {
    if hint.contains("(Era::Auto, with the feature legacy)") {
        return NO_SESSION.to_owned();
    }
    hint.replace("(Era::Auto)", "(--era auto)")
        .replace(", allow it more time (`connect_time` and `start_time` of Limits)", ", run this again")
}
