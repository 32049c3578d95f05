//! The messages so far, with every provider id used once.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use switchboard_llm::Message;

/// A conversation that questions can be added to.
///
/// ```
/// use switchboard_agent::Conversation;
///
/// let conversation = Conversation::with_instructions("Answer in one sentence.");
/// assert_eq!(conversation.messages().len(), 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    messages: Vec<Message>,
    used_ids: BTreeSet<String>,
    /// Whether a message names something that the host's own tools read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    readable: bool,
}

impl Conversation {
    /// A conversation that begins with instructions of the host.
    #[must_use]
    pub fn with_instructions(text: &str) -> Self {
        Self { messages: vec![Message::system(text)], ..Self::default() }
    }

    /// The messages, oldest first.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Its first messages. Ids that were used stay used, so that none names two calls.
    pub(crate) fn until(mut self, messages: usize) -> Self {
        self.messages.truncate(messages);
        self
    }

    pub(super) fn push(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// Whether there is something that the host's own tools read. Once there is, they stay on offer.
    pub(super) fn is_readable(&self) -> bool {
        self.readable
    }

    pub(super) fn has_readable(&mut self) {
        self.readable = true;
    }

    /// Calls so far; each has claimed one id.
    pub(super) fn calls(&self) -> u32 {
        u32::try_from(self.used_ids.len()).unwrap_or(u32::MAX)
    }

    /// The provider's id if it is new here, else one that is.
    pub(super) fn claim_id(&mut self, id: &str) -> String {
        if !id.is_empty() && self.used_ids.insert(id.to_owned()) {
            return id.to_owned();
        }
        let mut number = self.used_ids.len() + 1;
        loop {
            let fresh = format!("call_{number}");
            if self.used_ids.insert(fresh.clone()) {
                return fresh;
            }
            number += 1;
        }
    }
}
