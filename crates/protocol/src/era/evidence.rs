//! What an answer to the first modern request says about the server's era.
//!
//! Only what a modern or a legacy server alone would say is evidence. Refusals (401, 403, 429),
//! server faults, redirects and network failures say nothing, so that nobody between the two can
//! talk a modern pair into the legacy era [spec: basic/versioning, Backward Compatibility].

use crate::error::ProtocolError;

/// What was seen in answer to a modern request.
#[derive(Clone, Copy, Debug)]
pub enum Evidence<'a> {
    /// A result came back.
    Result,
    /// A JSON-RPC error came back that belongs to the request, over a pipe or with status 200.
    Error(&'a ProtocolError),
    /// An HTTP status that is no success, with the JSON-RPC error in its body, if one was there.
    Status(u16, Option<&'a ProtocolError>),
    /// A pipe stayed silent for the probe's time.
    Silence,
    /// The child process ended before it answered.
    Exit,
    /// The network failed: no connection, no TLS, no name.
    Unreachable,
}

/// What follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The server speaks a modern revision.
    Modern,
    /// The server speaks only legacy revisions.
    Legacy,
    /// Nothing follows; the failure is reported as what it is.
    None,
}

impl Evidence<'_> {
    /// The table of evidence.
    #[must_use]
    pub fn verdict(self) -> Verdict {
        match self {
            Self::Result => Verdict::Modern,
            Self::Error(error) | Self::Status(400 | 404 | 405, Some(error)) => Self::of_error(error),
            Self::Status(400 | 404 | 405, None) | Self::Silence | Self::Exit => Verdict::Legacy,
            Self::Status(..) | Self::Unreachable => Verdict::None,
        }
    }

    // Over HTTP a modern server also says with 404 and -32601 that it lacks a method
    // [spec: basic/transports/streamable-http, Protocol Version Header]. `server/discover` is one
    // that it must have, so for the probe the code alone is no proof.
    fn of_error(error: &ProtocolError) -> Verdict {
        if error.code.is_modern() { Verdict::Modern } else { Verdict::Legacy }
    }
}
