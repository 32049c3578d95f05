//! The first request: is the server there, is it modern, and which revision do both sides speak
//! [spec: basic/versioning].
//!
//! What counts as evidence is a table in the protocol crate. A refusal, a redirect or a failing
//! network is none: it is reported as what it is, never taken for a legacy server. What follows from
//! evidence of the legacy era, if that may be spoken, is in `legacy`.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use switchboard_protocol::era::{Evidence, Verdict};
use switchboard_protocol::error::ProtocolError;
use switchboard_protocol::method::{Answer, decode_result, spec};
use switchboard_protocol::model::discover::DiscoverResult;
use switchboard_protocol::{Era as Family, Method, Revision};
use tokio::time::Instant;

use crate::cache::Key;
use crate::core::{Core, Run};
use crate::era::Era;
use crate::error::{Delivery, Error, Kind};
use crate::no_answer;
use crate::params::{Ask, Input};
use crate::request::hints;
use crate::verdict::EraVerdict;

impl Core {
    /// Finds out what the server is, as far as its host leaves that open.
    pub(crate) async fn connect(self: &Arc<Self>, era: Era, known: Option<EraVerdict>) -> Result<(), Error> {
        match era {
            Era::Modern => self.connect_modern(known).await,
            Era::Pinned(revision) if revision.era() == Family::Modern => {
                self.connect_modern(None).await?;
                let found = self.learned.revision();
                if found == revision {
                    return Ok(());
                }
                let why = format!("the server speaks {found}, and only {revision} is to be spoken");
                Err(Error::new(Kind::Incompatible, Delivery::Rejected, why).at(&self.name))
            }
            #[cfg(feature = "legacy")]
            era => Box::pin(crate::legacy::connect(self, era, known)).await,
            #[cfg(not(feature = "legacy"))]
            Era::Auto => self.connect_modern(known).await,
            #[cfg(not(feature = "legacy"))]
            Era::Legacy | Era::Pinned(_) => {
                Err(Error::misuse("legacy revisions are not supported in this build")
                    .hint("build it with the feature legacy")
                    .at(&self.name))
            }
        }
    }

    async fn connect_modern(self: &Arc<Self>, known: Option<EraVerdict>) -> Result<(), Error> {
        match known.filter(EraVerdict::is_modern).and_then(|known| known.revision()) {
            Some(revision) => {
                self.learned.set_revision(revision);
                Ok(())
            }
            None => self.probe().await,
        }
    }

    /// Asks the server what it is; a legacy one is an error.
    async fn probe(self: &Arc<Self>) -> Result<(), Error> {
        let started = Instant::now();
        match self.first_answer().await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.judge(error, started.elapsed()).await),
        }
    }

    /// One modern request, and what is learned from its answer.
    pub(crate) async fn discover_first(self: &Arc<Self>, ask: &Ask, run: &mut Run) -> Result<(), Error> {
        let key = Key::list(&self.server, Method::Discover);
        let asked = self.cache.generation(&self.server, Method::Discover);
        let result = self.round(ask, &Input::default(), run).await?;
        let discovered = match decode_result::<spec::Discover>(&result) {
            Ok(Answer::Complete(discovered)) => discovered,
            Ok(Answer::InputRequired(_)) => {
                return Err(
                    Error::server_fault("the server asked for input on server/discover").at(&self.name)
                );
            }
            Err(error) if is_modern(&result) => {
                return Err(Error::server_fault(error.to_string()).at(&self.name));
            }
            Err(error) => {
                let why = format!("{UNDESCRIBED} ({error})");
                return Err(Error::new(Kind::Undescribed, Delivery::Rejected, why).at(&self.name));
            }
        };
        self.learned.set_revision(self.choose(&discovered)?);
        self.keep_description((key, asked), &result);
        self.learned.set_discovered(discovered);
        Ok(())
    }

    fn keep_description(&self, (key, asked): (Key, crate::cache::Generation), result: &RawValue) {
        let kept = result.to_owned();
        let bytes = kept.get().len();
        self.cache.keep(key, (self.partition, hints(result)), asked, (Arc::new(kept), bytes));
    }

    fn choose(&self, discovered: &DiscoverResult) -> Result<Revision, Error> {
        let offered = discovered.supported_versions.iter().map(String::as_str);
        Revision::newest_common(offered)
            .ok_or_else(|| self.no_common_revision(discovered.supported_versions.clone()).at(&self.name))
    }

    /// How long the first answer may take: a program is given more time while it shows signs of life.
    pub(crate) fn start_bound(&self) -> Duration {
        let patience = self.limits.connect_time;
        if self.link.is_child() { patience.max(self.limits.start_time) } else { patience }
    }

    async fn first_answer(self: &Arc<Self>) -> Result<(), Error> {
        let patience = self.limits.connect_time;
        let time = self.start_bound();
        let mut run = Run::new((time, time), self.log_level);
        let ask = Ask::new(Method::Discover);
        tokio::select! {
            biased;
            answer = self.discover_first(&ask, &mut run) => answer,
            () = self.link.quiet(patience) => Err(Error::timeout(&ask.method, patience, true)),
        }
    }

    /// What a failed probe says about the server. Only an answer proves the legacy era; what is no
    /// answer is told as what it most likely is.
    async fn judge(&self, error: Error, waited: Duration) -> Error {
        let evidence = self.evidence(&error);
        if evidence.verdict() != Verdict::Legacy {
            return error;
        }
        let judged = match (evidence, self.link.url()) {
            (Evidence::Silence, _) => {
                no_answer::silent(&error, self.shown_wait(waited), &self.link.traces().await, None)
            }
            (Evidence::Exit, _) => no_answer::ended(&error, &self.link.traces().await, None),
            (Evidence::Status(status, None), Some(url)) => {
                no_answer::nothing_there(&error, status, url, None)
            }
            _ => legacy(&error),
        };
        judged.at(&self.name)
    }

    /// The bound that was reached, without the moment that it took to notice; a wait that was
    /// prolonged in whole seconds.
    pub(crate) fn shown_wait(&self, waited: Duration) -> Duration {
        let bound = self.limits.connect_time;
        if waited < bound + Duration::from_secs(1) { bound } else { Duration::from_secs(waited.as_secs()) }
    }

    /// What the failure of a first request shows.
    pub(crate) fn evidence<'a>(&self, error: &'a Error) -> Evidence<'a> {
        let over_http = self.link.is_http();
        match (error.http_status(), error.protocol_error(), error.kind()) {
            (Some(status), refusal, _) => Evidence::Status(status, refusal),
            (None, Some(refusal), _) => Evidence::Error(refusal),
            (None, None, Kind::Undescribed) => Evidence::OtherResult,
            (None, None, Kind::Timeout) if !over_http => Evidence::Silence,
            (None, None, Kind::Lost | Kind::Gone) if !over_http => Evidence::Exit,
            _ => Evidence::Unreachable,
        }
    }

    /// The dates that this client speaks with its server, newest first.
    fn spoken(&self) -> String {
        let dates = Revision::modern_dates().into_iter();
        #[cfg(feature = "legacy")]
        let dates = dates.chain(self.legacy.dates());
        dates.collect::<Vec<_>>().join(", ")
    }

    /// The error that names both sides' revisions.
    pub(crate) fn no_common_revision(&self, offered: Vec<String>) -> Error {
        let theirs =
            if offered.is_empty() { "none".to_owned() } else { crate::error::excerpt(&offered.join(", ")) };
        let known: Vec<_> = offered.iter().filter_map(|date| Revision::from_date(date)).collect();
        let legacy = !known.is_empty() && known.iter().all(|revision| revision.era() == Family::Legacy);
        let (kind, hint) = if legacy {
            ("the server speaks only legacy revisions", ALLOW_LEGACY)
        } else {
            ("there is no revision that both sides speak", "update the older of the two")
        };
        let error = Error::new(
            Kind::Incompatible,
            Delivery::Rejected,
            format!("{kind}: it offers {theirs}, this client speaks {}", self.spoken()),
        )
        .hint(hint)
        .offering(offered);
        if legacy { error.legacy() } else { error }
    }
}

/// What helps with a server that needs a session, where none is opened.
const ALLOW_LEGACY: &str = "use a newer version of the server, or a client that speaks legacy revisions (Era::Auto, with the feature legacy)";

const UNDESCRIBED: &str = "it answered server/discover with a result that describes no server";

/// Whether an answer to the first request has anything that only a modern server says.
fn is_modern(result: &RawValue) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Marks {
        result_type: Option<IgnoredAny>,
        supported_versions: Option<IgnoredAny>,
    }
    serde_json::from_str::<Marks>(result.get())
        .is_ok_and(|marks| marks.result_type.is_some() || marks.supported_versions.is_some())
}

/// The error that says by name that the server is of the legacy era.
fn legacy(error: &Error) -> Error {
    let seen = match (error.protocol_error(), error.http_status()) {
        (Some(refusal), _) => {
            format!(
                "it answered server/discover with error {}: {}",
                refusal.code.0,
                crate::error::excerpt(&refusal.message)
            )
        }
        (None, Some(status)) => format!("it answered server/discover with HTTP {status}"),
        (None, None) if error.kind() == Kind::Undescribed => UNDESCRIBED.to_owned(),
        (None, None) => format!("it did not answer server/discover ({error})"),
    };
    let offered = error.protocol_error().and_then(ProtocolError::supported_versions).unwrap_or_default();
    let theirs = if offered.is_empty() {
        String::new()
    } else {
        format!(", and offers {}", crate::error::excerpt(&offered.join(", ")))
    };
    let found = Error::new(
        Kind::Incompatible,
        Delivery::Rejected,
        format!(
            "the server speaks a legacy revision of the protocol: {seen}{theirs}; this client speaks {}",
            Revision::modern_dates().join(", ")
        ),
    )
    .hint(ALLOW_LEGACY)
    .offering(offered)
    .legacy();
    match error.http_status() {
        Some(status) => found.status(status, None),
        None => found,
    }
}
