//! The first request: is the server there, is it modern, and which revision do both sides speak
//! [spec: basic/versioning].
//!
//! What counts as evidence is a table in the protocol crate. A refusal, a redirect or a failing
//! network is none: it is reported as what it is, never taken for a legacy server.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use switchboard_protocol::era::{Evidence, Verdict};
use switchboard_protocol::error::ProtocolError;
use switchboard_protocol::method::{Answer, decode_result, spec};
use switchboard_protocol::model::discover::DiscoverResult;
use switchboard_protocol::{Method, Revision};
use tokio::time::Instant;

use crate::cache::Key;
use crate::core::{Core, Run, no_common_revision};
use crate::error::{Delivery, Error, Kind};
use crate::no_answer;
use crate::params::{Ask, Input};
use crate::request::hints;

impl Core {
    /// Asks the server what it is.
    pub(crate) async fn probe(self: &Arc<Self>) -> Result<(), Error> {
        let key = Key::list(&self.server, Method::Discover);
        let asked = self.cache.generation(&self.server, Method::Discover);
        let started = Instant::now();
        let result = match self.first_answer().await {
            Ok(result) => result,
            Err(error) => return Err(self.judge(error, started.elapsed()).await),
        };
        let discovered = match decode_result::<spec::Discover>(&result) {
            Ok(Answer::Complete(discovered)) => discovered,
            Ok(Answer::InputRequired(_)) => {
                return Err(
                    Error::server_fault("the server asked for input on server/discover").at(&self.name)
                );
            }
            Err(error) => return Err(Error::server_fault(error.to_string()).at(&self.name)),
        };
        self.learned.set_revision(self.choose(&discovered)?);
        let hints = hints(&result);
        let bytes = result.get().len();
        self.cache.keep(key, (self.partition, hints), asked, (Arc::new(result), bytes));
        self.learned.set_discovered(discovered);
        Ok(())
    }

    fn choose(&self, discovered: &DiscoverResult) -> Result<Revision, Error> {
        let offered = discovered.supported_versions.iter().map(String::as_str);
        Revision::newest_common(offered)
            .ok_or_else(|| no_common_revision(discovered.supported_versions.clone()).at(&self.name))
    }

    /// A program is given more time while it shows signs of life.
    async fn first_answer(self: &Arc<Self>) -> Result<Box<RawValue>, Error> {
        let patience = self.limits.connect_time;
        let time = if self.link.is_child() { patience.max(self.limits.start_time) } else { patience };
        let mut run = Run::new((time, time), self.log_level);
        let (ask, input) = (Ask::new(Method::Discover), Input::default());
        tokio::select! {
            biased;
            answer = self.round(&ask, &input, &mut run) => answer,
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
                no_answer::silent(&error, self.shown_wait(waited), &self.link.traces().await)
            }
            (Evidence::Exit, _) => no_answer::ended(&error, &self.link.traces().await),
            (Evidence::Status(status, None), Some(url)) => no_answer::nothing_there(&error, status, url),
            _ => legacy(&error),
        };
        judged.at(&self.name)
    }

    /// The bound that was reached, without the moment that it took to notice; a wait that was
    /// prolonged in whole seconds.
    fn shown_wait(&self, waited: Duration) -> Duration {
        let bound = self.limits.connect_time;
        if waited < bound + Duration::from_secs(1) { bound } else { Duration::from_secs(waited.as_secs()) }
    }

    fn evidence<'a>(&self, error: &'a Error) -> Evidence<'a> {
        let over_http = self.link.is_http();
        match (error.http_status(), error.protocol_error(), error.kind()) {
            (Some(status), refusal, _) => Evidence::Status(status, refusal),
            (None, Some(refusal), _) => Evidence::Error(refusal),
            (None, None, Kind::Timeout) if !over_http => Evidence::Silence,
            (None, None, Kind::Lost | Kind::Gone) if !over_http => Evidence::Exit,
            _ => Evidence::Unreachable,
        }
    }
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
        (None, None) => format!("it did not answer server/discover ({error})"),
    };
    let ours: Vec<_> = Revision::MODERN.iter().map(|revision| revision.date()).collect();
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
            ours.join(", ")
        ),
    )
    .hint("use a newer version of the server; sessions with a handshake are not supported yet")
    .offering(offered)
    .legacy();
    match error.http_status() {
        Some(status) => found.status(status, None),
        None => found,
    }
}
