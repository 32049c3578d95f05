//! A call from a request of a session: revision, identity, capabilities and log level are the session's.

use std::sync::Arc;

use bytes::Bytes;
use http::Extensions;
use switchboard_protocol::frame::RequestFrame;
use switchboard_protocol::{Method, RequestId, RequestMeta};

use super::{Call, CallMeta, Params, Refusal, Target};
use crate::legacy::Session;
use crate::outbox::Outbox;

/// What a call is made from once more, with answers to what was asked.
pub(crate) struct Seed {
    id: RequestId,
    method: Method,
    target: Target,
    meta: CallMeta,
    extensions: Extensions,
    pub(crate) outbox: Option<Arc<Outbox>>,
}

impl Call {
    /// Decodes a request of a session; `body` is the message that the frame was split from.
    pub(crate) fn from_session(
        frame: RequestFrame<'_>,
        (body, extensions): (&Bytes, Extensions),
        session: &Session,
    ) -> Result<Self, Refusal> {
        let terms = session.terms();
        let mut call = Self::from_frame_with(frame, (body, extensions), &|meta: &RequestMeta<'_>, body| {
            Ok(CallMeta {
                revision: terms.revision,
                log_level: Some(session.level()),
                progress_token: meta.progress_token.clone(),
                client_info: Some(terms.client_info.clone()),
                client_capabilities: terms.client_capabilities.clone(),
                body: body.clone(),
            })
        })?;
        // No legacy request has these; whoever sends them means nothing by it.
        if let Some(target) = call.target_mut() {
            (target.input_responses, target.request_state) = (None, None);
        }
        Ok(call)
    }

    fn target_mut(&mut self) -> Option<&mut Target> {
        match &mut self.params {
            Params::CallTool(target) | Params::ReadResource(target) | Params::GetPrompt(target) => {
                Some(target)
            }
            _ => None,
        }
    }

    /// What the call is made from once more, if it is of a method that may ask.
    pub(crate) fn seed(&self) -> Option<Box<Seed>> {
        Some(Box::new(Seed {
            id: self.id.clone(),
            method: self.method,
            target: self.target()?.clone(),
            meta: self.meta.clone(),
            extensions: self.extensions.clone(),
            outbox: self.outbox.clone(),
        }))
    }
}

impl Seed {
    /// The call of the next round.
    pub(crate) fn call(&self, input_responses: Bytes, request_state: Option<String>) -> Call {
        let target = Target { input_responses: Some(input_responses), request_state, ..self.target.clone() };
        let params = match self.method {
            Method::GetPrompt => Params::GetPrompt(target),
            Method::ReadResource => Params::ReadResource(target),
            _ => Params::CallTool(target),
        };
        Call::assemble((self.id.clone(), self.method), params, self.meta.clone(), self.extensions.clone())
    }
}
