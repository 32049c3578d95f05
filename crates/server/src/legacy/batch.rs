//! Several messages in one array, which one revision has [spec: basic, Batching].

use std::fmt;

use bytes::Bytes;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;
use switchboard_protocol::ProtocolError;

/// The messages of a batch, each as its part of the body. They are no more than JSON yet.
///
/// # Errors
/// What the sender is owed, without an id: the text is no JSON array, an empty one, or too long a one.
pub(crate) fn split(body: &Bytes, most: usize) -> Result<Vec<Bytes>, ProtocolError> {
    let text = std::str::from_utf8(body)
        .map_err(|_| ProtocolError::parse_error("The message is not valid UTF-8"))?;
    let mut decoder = serde_json::Deserializer::from_str(text);
    let items = decoder.deserialize_seq(Items { most }).and_then(|items| decoder.end().map(|()| items));
    match items {
        Ok(Some(items)) if items.is_empty() => {
            Err(ProtocolError::invalid_request("The batch is empty: send at least one message"))
        }
        Ok(Some(items)) => Ok(items.into_iter().map(|item| body.slice_ref(item.get().as_bytes())).collect()),
        Ok(None) => Err(ProtocolError::invalid_request(format!(
            "The batch has more than {most} messages, which is the limit of this server: send it in parts"
        ))),
        Err(error) => Err(ProtocolError::parse_error(format!("The message is not valid JSON: {error}"))),
    }
}

struct Items {
    most: usize,
}

impl<'de> Visitor<'de> for Items {
    /// `None` if there are too many.
    type Value = Option<Vec<&'de RawValue>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut messages: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = messages.next_element::<&RawValue>().map_err(A::Error::custom)? {
            if items.len() < self.most {
                items.push(item);
                continue;
            }
            while messages.next_element::<&RawValue>().map_err(A::Error::custom)?.is_some() {}
            return Ok(None);
        }
        Ok(Some(items))
    }
}
