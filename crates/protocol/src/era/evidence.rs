//! What an answer to the first modern request says about the server's era.
//!
//! A legacy server is known by a 4xx without a recognised modern error in its body [spec: basic/versioning,
//! Backward Compatibility]: it says that the message was not understood. A 4xx that says nothing about the
//! message but something about the caller, the moment, the size or the connection is no such answer. Servers
//! of either era give it, and so does whatever stands in front of them, before anybody read the message. The
//! same holds for redirects, server faults and network failures. Where the body is no evidence of the legacy
//! era, it is none of the modern one either: a gateway may well speak for a server that it never reached. So
//! nobody in between can talk a modern pair into the legacy era with an answer that both sides would take
//! for an outage.

use crate::error::ProtocolError;

/// What was seen in answer to a modern request.
#[derive(Clone, Copy, Debug)]
pub enum Evidence<'a> {
    /// A result came back.
    Result,
    /// A result came back that has nothing of a description of a modern server: neither `resultType` nor
    /// `supportedVersions`. Some servers answer whatever they do not know with success.
    OtherResult,
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
            Self::Error(error) => Self::of_error(error),
            Self::Status(status, body) if about_message(status) => {
                body.map_or(Verdict::Legacy, Self::of_error)
            }
            Self::OtherResult | Self::Silence | Self::Exit => Verdict::Legacy,
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

/// Whether a server that did not understand a message may answer it with this status.
fn about_message(status: u16) -> bool {
    match status {
        // Who calls, and whether they may.
        401 | 402 | 403 | 407 | 451 => false,
        // When, and how often.
        408 | 423 | 425 | 429 => false,
        // Over which connection.
        421 | 426 => false,
        // How large: a probe is small, so it is a proxy that finds it too large.
        413 | 414 | 431 => false,
        // 400, 404 and 405 are what the specification expects; 406, 415 and 422 are frameworks that judge the
        // message before the server does. The rest is rare, and the handshake that follows shows the truth.
        400..=499 => true,
        // 501 among them: the specification's word is 4xx, and a gateway says it of its own accord.
        _ => false,
    }
}

#[cfg(test)]
mod tests;
