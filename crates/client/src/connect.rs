//! The first request: is the server there, is it modern, and which revision do both sides speak
//! [spec: basic/versioning].
//!
//! What counts as evidence is a table in the protocol crate. A refusal, a redirect or a failing
//! network is none: it is reported as what it is, never taken for a legacy server.

use std::sync::Arc;

use switchboard_protocol::era::{Evidence, Verdict};
use switchboard_protocol::method::{Answer, decode_result, spec};
use switchboard_protocol::model::discover::DiscoverResult;
use switchboard_protocol::{Method, Revision};

use crate::cache::Key;
use crate::core::{Core, Run, no_common_revision};
use crate::error::{Delivery, Error, Kind};
use crate::params::{Ask, Input};
use crate::request::hints;

impl Core {
    /// Asks the server what it is.
    pub(crate) async fn probe(self: &Arc<Self>) -> Result<(), Error> {
        let mut run = Run::new((self.limits.connect_time, self.limits.connect_time), self.log_level);
        let key = Key::list(&self.server, Method::Discover);
        let asked = self.cache.generation(&self.server, Method::Discover);
        let result = match self.round(&Ask::new(Method::Discover), &Input::default(), &mut run).await {
            Ok(result) => result,
            Err(error) => return Err(self.judge(error)),
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

    /// What a failed probe says about the server.
    fn judge(&self, error: Error) -> Error {
        match self.evidence(&error).verdict() {
            Verdict::Legacy => legacy(&error).at(&self.name),
            Verdict::Modern | Verdict::None => error,
        }
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
    let seen = match (error.protocol_error(), error.http_status(), error.kind()) {
        (Some(refusal), _, _) => {
            format!(
                "it answered server/discover with error {}: {}",
                refusal.code.0,
                crate::error::excerpt(&refusal.message)
            )
        }
        (None, Some(status), _) => format!("it answered server/discover with HTTP {status}"),
        (None, None, Kind::Timeout) => "it did not answer server/discover".to_owned(),
        _ => format!("it ended when asked for server/discover ({error})"),
    };
    let ours: Vec<_> = Revision::MODERN.iter().map(|revision| revision.date()).collect();
    let offered = offered(error);
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

/// The revisions that a refusal names, in the places where servers are known to name them.
fn offered(error: &Error) -> Vec<String> {
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Data {
        supported: Vec<String>,
    }
    let data = error.data().and_then(|data| serde_json::from_str::<Data>(data.get()).ok());
    data.map(|data| data.supported).unwrap_or_default()
}
