//! Pieces of an answer that is still being written. A model writes words in pieces, and so a secret: what may be the
//! beginning of a known one is held back until the next piece shows whether it is.

use super::event::{Event, Selection};
use super::mask::Masker;
use crate::name::RunId;

/// What is held back.
pub(super) struct Held {
    run: Option<RunId>,
    is_thinking: bool,
    text: String,
}

/// What is to be written now that this event comes: what was held back before it, and of itself what is settled.
pub(super) fn settle(
    held: &mut Option<Held>,
    (run, event): (&Option<RunId>, Event),
    masker: &Masker,
) -> [Option<(Option<RunId>, Event)>; 2] {
    let (is_thinking, text) = match event {
        Event::Selection(Selection::TextDelta { text }) => (false, text),
        Event::Selection(Selection::ThinkingDelta { text }) => (true, text),
        // What a server or a person does meanwhile does not end an answer.
        other => {
            let ends = matches!(other, Event::Selection(_) | Event::Run(_));
            let before = held.take_if(|held| ends && held.run == *run);
            return [before.map(Held::piece), Some((run.clone(), other))];
        }
    };
    let mut next = Held { run: run.clone(), is_thinking, text };
    let before = match held.take() {
        Some(before) if before.run == *run && before.is_thinking == is_thinking => {
            next.text.insert_str(0, &before.text);
            None
        }
        other => other,
    };
    let rest = next.text.split_off(masker.settled(&next.text));
    *held = (!rest.is_empty()).then(|| Held { run: run.clone(), is_thinking, text: rest });
    [before.map(Held::piece), (!next.text.is_empty()).then(|| next.piece())]
}

impl Held {
    fn piece(self) -> (Option<RunId>, Event) {
        let Self { run, is_thinking, text } = self;
        let selection = match is_thinking {
            true => Selection::ThinkingDelta { text },
            false => Selection::TextDelta { text },
        };
        (run, selection.into())
    }
}
