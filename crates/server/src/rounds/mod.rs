//! Input rounds: a handler asks before it goes on, and the request comes again with the answers
//! [spec: basic/patterns/mrtr].
//!
//! Two forms. [`Elicited`] asks before the handler is entered. A handler that takes [`MultiRoundTrip`]
//! and returns [`Outcome`] goes through one pass of a `match` a round. In both, what has to be remembered
//! travels in the sealed `requestState` (`state.rs`); answers are held against their questions
//! (`answer.rs`); nothing is kept on the server.

mod answer;
mod elicited;
mod multi;
mod questions;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;

pub use elicited::{Elicited, Need, Question};
pub use multi::{MultiRoundTrip, Outcome};
pub use questions::{Elicitation, Questions};
pub(crate) use state::{ask, open};

/// The answers that are in, by the keys of their questions, each as text.
pub(crate) type Answers = BTreeMap<String, Box<RawValue>>;

/// The round that a request continues: its state was sealed here, for this very request.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenRound {
    pub(crate) answers: Arc<Answers>,
    /// The author's state, as text.
    pub(crate) state: Option<Box<RawValue>>,
    pub(crate) round: u32,
}
