//! `initialize`: what both sides agree on before anything else [spec: basic/lifecycle].

use bytes::Bytes;
use serde::Serialize;
use switchboard_protocol::era::legacy::name::{
    INITIALIZE, INITIALIZED, PING, SET_LEVEL, SUBSCRIBE, UNSUBSCRIBE,
};
use switchboard_protocol::era::legacy::{Features, Initialize, InitializeResult, capability, negotiate};
use switchboard_protocol::frame::{self, RequestFrame};
use switchboard_protocol::model::capability::{ClientCapabilities, Implementation};
use switchboard_protocol::model::discover::DiscoverResult;
use switchboard_protocol::{Method, ProtocolError, Revision};

use super::encode;
use super::session::Session;
use crate::server::Server;

/// Bytes of what is kept of a client's identity, and again of its capabilities. Both are repeated with
/// every request where they travel in a session id.
const TERMS_BYTES: usize = 1024;

/// Characters of a client's name, and again of its version, where its identity is too long to be kept.
const NAME_CHARS: usize = 64;

/// What a handshake agreed on. It never changes, and is small enough to travel in a token.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// The revision of the session.
    pub(crate) revision: Revision,
    /// Who the client says it is: the text of an object.
    pub(crate) client_info: Bytes,
    /// What the client can do, as far as the revision has it: the text of an object.
    pub(crate) client_capabilities: Bytes,
}

impl Terms {
    fn new(revision: Revision, request: Initialize<'_>) -> Self {
        let info = capability::identity(request.client_info, revision);
        let mut capabilities = capability::of_client(request.capabilities, revision);
        if !Features::of(revision).sampling_tools
            && let Some(sampling) = &mut capabilities.sampling
        {
            // To include context is no capability of its own yet: whoever samples may be asked for it.
            sampling.context.get_or_insert_default();
        }
        Self {
            revision,
            client_info: text(&info).unwrap_or_else(|| text(&shortened(&info)).unwrap_or_default()),
            client_capabilities: text(&capabilities).unwrap_or_else(|| {
                // What is long about them is what nobody here reads.
                text(&ClientCapabilities { experimental: None, ..capabilities })
                    .unwrap_or_else(|| Bytes::from_static(b"{}"))
            }),
        }
    }
}

/// As JSON, unless that is too long.
fn text(value: &impl Serialize) -> Option<Bytes> {
    let text = serde_json::to_vec(value).ok()?;
    (text.len() <= TERMS_BYTES).then(|| text.into())
}

fn shortened(info: &Implementation) -> Implementation {
    let clip = |text: &str| text.chars().take(NAME_CHARS).collect::<String>();
    Implementation::new(clip(&info.name), clip(&info.version))
}

/// Answers `initialize`: what was agreed on, and the whole JSON-RPC response.
///
/// # Errors
/// When the request is malformed, or no handshake is served here.
pub(crate) fn initialize(
    server: &Server,
    frame: &RequestFrame<'_>,
) -> Result<(Terms, Vec<u8>), ProtocolError> {
    let request = Initialize::decode(frame.params)?;
    let Some(newest) = server.legacy().eras.newest_legacy() else {
        return Err(ProtocolError::no_handshake(&request.protocol_version));
    };
    let revision = negotiate(&request.protocol_version, newest);
    let identity: Implementation = serde_json::from_str(server.identity())
        .map_err(|error| ProtocolError::internal(format!("the identity of the server: {error}")))?;
    let (capabilities, instructions) = server.discovered();
    let discovered = DiscoverResult { capabilities, instructions, ..DiscoverResult::default() };
    let result = InitializeResult::new(revision, discovered, identity);
    let mut out = Vec::with_capacity(512);
    frame::encode_result(&mut out, &frame.id, &result)
        .map_err(|error| ProtocolError::internal(format!("the answer does not serialise: {error}")))?;
    Ok((Terms::new(revision, request), out))
}

/// Answers a request that comes while a connection has no session; one that asks for a session opens it.
pub(crate) fn before_the_session(server: &Server, request: &RequestFrame<'_>) -> (Vec<u8>, Option<Session>) {
    let error = match &*request.method {
        PING => return (encode::empty(&request.id), None),
        INITIALIZE => match initialize(server, request) {
            Ok((terms, answer)) => return (answer, Some(Session::new(server, terms))),
            Err(error) => error,
        },
        method if is_known(method) => ProtocolError::invalid_request(format!(
            "{method} came before the session was opened: send {INITIALIZE} first, then {INITIALIZED}"
        )),
        method => ProtocolError::method_not_found(method),
    };
    (encode::error(Some(&request.id), None, error), None)
}

/// What a second handshake is answered with.
pub(super) fn is_open() -> ProtocolError {
    ProtocolError::invalid_request(format!(
        "{INITIALIZE} opens a session once, and this one is open; for other terms open another session"
    ))
}

fn is_known(method: &str) -> bool {
    matches!(method, SET_LEVEL | SUBSCRIBE | UNSUBSCRIBE)
        || !matches!(Method::from_name(method), None | Some(Method::Discover | Method::SubscriptionsListen))
}
