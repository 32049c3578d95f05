//! Several messages in one array, which one revision has [spec: basic, Batching].

use std::fmt;

use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Why a text is no batch that can be taken.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// A list of millions of nothings would take many times the room of its text.
    #[error("The batch has more than {most} messages, which is the limit here: send it in parts")]
    TooMany {
        /// How many there may be.
        most: usize,
    },
    /// It is no array.
    #[error("The message is not valid JSON: {0}")]
    Malformed(#[from] serde_json::Error),
}

/// The messages of a batch, each as its part of the text. They are no more than JSON yet: whether one of them
/// is a message, and whether there may be none, is for whoever takes them.
///
/// ```
/// use switchboard_protocol::era::legacy::batch::split;
///
/// let messages = split(r#" [{"id": 1}, 2] "#, 2)?;
/// assert_eq!(messages.iter().map(|message| message.get()).collect::<Vec<_>>(), [r#"{"id": 1}"#, "2"]);
/// assert!(split("[1, 2, 3]", 2).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When it is no array, or has more than `most` messages.
pub fn split(text: &str, most: usize) -> Result<Vec<&RawValue>, BatchError> {
    let mut decoder = serde_json::Deserializer::from_str(text);
    let messages = decoder.deserialize_seq(Messages { most })?;
    decoder.end()?;
    messages.ok_or(BatchError::TooMany { most })
}

struct Messages {
    most: usize,
}

impl<'de> Visitor<'de> for Messages {
    /// `None` if there are too many.
    type Value = Option<Vec<&'de RawValue>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut messages = Vec::new();
        while let Some(message) = array.next_element::<&RawValue>().map_err(A::Error::custom)? {
            if messages.len() < self.most {
                messages.push(message);
                continue;
            }
            while array.next_element::<&RawValue>().map_err(A::Error::custom)?.is_some() {}
            return Ok(None);
        }
        Ok(Some(messages))
    }
}
