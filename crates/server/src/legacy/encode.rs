//! Answers as the session's revision has them.

use serde::Serialize;
use switchboard_protocol::era::legacy;
use switchboard_protocol::error::Origin;
use switchboard_protocol::frame;
use switchboard_protocol::{ErrorCode, Method, ProtocolError, RequestId, Revision};

use crate::reply::{Reply, ReplyBody};
use crate::server::Server;

/// What an answer is to: everything about it that does not depend on what it says.
#[derive(Clone, Copy)]
pub(super) struct To<'a> {
    pub(super) id: &'a RequestId,
    pub(super) method: Method,
    pub(super) revision: Revision,
}

/// The whole JSON-RPC response that says that there is nothing to say.
pub(super) fn empty(id: &RequestId) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    frame::encode_raw_result(&mut out, id, b"{}");
    out
}

/// The whole JSON-RPC response with an error, by the codes of the legacy era.
pub(crate) fn error(id: Option<&RequestId>, method: Option<Method>, error: ProtocolError) -> Vec<u8> {
    let mut out = Vec::with_capacity(192);
    frame::encode_error(&mut out, id, &legacy::error(error, method));
    out
}

/// The whole JSON-RPC response with a reply that is no question.
pub(super) fn reply(server: &Server, to: To<'_>, reply: Reply) -> Vec<u8> {
    let mut out = Vec::new();
    let To { id, method, revision } = to;
    let done = match reply.body {
        ReplyBody::CallTool(said) => write(&mut out, id, &legacy::call_tool(&said, revision)),
        ReplyBody::ReadResource(said) => write(&mut out, id, &legacy::read_resource(&said, revision)),
        ReplyBody::GetPrompt(said) => write(&mut out, id, &legacy::get_prompt(&said, revision)),
        ReplyBody::Complete(said) => write(&mut out, id, &legacy::complete(&said)),
        ReplyBody::Prepared(list) => match server.legacy().lists.convert(method, &list, revision) {
            Ok(converted) => {
                frame::encode_raw_result(&mut out, id, &converted);
                Ok(())
            }
            Err(fault) => Err(fault),
        },
        ReplyBody::Error(fault, origin) => return refusal(server, to, (fault, origin)),
        ReplyBody::InputRequired(_) => {
            return error(Some(id), Some(method), ProtocolError::internal("A question is no answer here"));
        }
    };
    match done {
        Ok(()) => out,
        Err(fault) => {
            tracing::error!(%fault, "a result does not serialise");
            let fault = ProtocolError::internal("The result does not serialise as JSON");
            error(Some(id), Some(method), fault)
        }
    }
}

/// A question that the client cannot be asked is the failure of the tool: the model can say so.
fn refusal(server: &Server, to: To<'_>, (fault, origin): (ProtocolError, Origin)) -> Vec<u8> {
    let cannot_be_asked = fault.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
    if cannot_be_asked && origin == Origin::Handler && to.method == Method::CallTool {
        let said = legacy::error(fault, Some(to.method)).message;
        return reply(server, to, Reply::tool_error(said));
    }
    error(Some(to.id), Some(to.method), fault)
}

fn write(out: &mut Vec<u8>, id: &RequestId, result: &impl Serialize) -> Result<(), serde_json::Error> {
    out.reserve(512);
    frame::encode_result(out, id, result)
}
