//! Several messages in one array, which one revision has [spec: basic, Batching].

use bytes::Bytes;
use switchboard_protocol::ProtocolError;
use switchboard_protocol::era::legacy::batch::{self, BatchError};

/// The messages of a batch, each as its part of the body. They are no more than JSON yet.
///
/// # Errors
/// What the sender is owed, without an id: the text is no JSON array, an empty one, or too long a one.
pub(crate) fn split(body: &Bytes, most: usize) -> Result<Vec<Bytes>, ProtocolError> {
    let text = std::str::from_utf8(body)
        .map_err(|_| ProtocolError::parse_error("The message is not valid UTF-8"))?;
    let messages = batch::split(text, most).map_err(|error| match error {
        BatchError::TooMany { .. } => ProtocolError::invalid_request(error.to_string()),
        BatchError::Malformed(_) => ProtocolError::parse_error(error.to_string()),
    })?;
    if messages.is_empty() {
        return Err(ProtocolError::invalid_request("The batch is empty: send at least one message"));
    }
    Ok(messages.into_iter().map(|message| body.slice_ref(message.get().as_bytes())).collect())
}
