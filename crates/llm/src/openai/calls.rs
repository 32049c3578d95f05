//! Puts the fragments of streamed calls together.
//!
//! A fragment belongs to a call by its index, else by its id, else by its place. Servers leave out any of the
//! three, repeat them, or use one index for all calls; the rules are in [`CallAssembler::owner`]. Nothing is
//! decided about a call before the answer has ended.

use std::collections::{HashSet, VecDeque};

use serde_json::value::RawValue;

use super::wire::WireCall;
use crate::error::ModelError;
use crate::message::ToolCallRequest;
use crate::model::ModelEvent;
use crate::wire::call::{MAX_CALLS, complete, too_many_calls};

#[derive(Debug, Default)]
pub(super) struct CallAssembler {
    calls: Vec<PartialCall>,
}

#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    end: ObjectEnd,
    announced: bool,
    extra: Option<Box<RawValue>>,
}

/// A call with what its provider wants back beside it.
#[derive(Debug)]
pub(super) struct FinishedCall {
    pub(super) request: ToolCallRequest,
    pub(super) extra: Option<Box<RawValue>>,
}

/// One fragment, without what is empty.
#[derive(Debug)]
pub(super) struct Fragment {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra: Option<Box<RawValue>>,
    /// The call is complete as it stands and never continues another one.
    whole: bool,
    /// The place of the fragment in its chunk.
    place: usize,
}

impl Fragment {
    pub(super) fn new(call: WireCall, place: usize, whole: bool) -> Self {
        let function = call.function.unwrap_or_default();
        Self {
            index: call.index,
            id: call.id,
            name: function.name,
            arguments: function.arguments,
            extra: call.extra_content,
            whole,
            place,
        }
    }
}

impl CallAssembler {
    /// Takes the next fragment and reports what can be shown of it.
    pub(super) fn push(
        &mut self,
        fragment: Fragment,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        let position = match self.owner(&fragment) {
            Some(position) => position,
            None if self.calls.len() == MAX_CALLS => return Err(too_many_calls()),
            None => {
                self.calls.push(PartialCall::default());
                self.calls.len() - 1
            }
        };
        self.calls[position].take(fragment, position, events);
        Ok(())
    }

    /// The call that a fragment continues, or `None` if it opens a new one.
    fn owner(&self, fragment: &Fragment) -> Option<usize> {
        if fragment.whole {
            return None;
        }
        let last = self.calls.len().checked_sub(1);
        let named = !fragment.name.is_empty();
        let position = match fragment.index {
            Some(index) => self
                .calls
                .iter()
                .rposition(|call| call.index == Some(index))
                // The index came late.
                .or_else(|| last.filter(|last| !named && self.calls[*last].index.is_none()))?,
            None if !fragment.id.is_empty() => self
                .calls
                .iter()
                .rposition(|call| call.id == fragment.id)
                // The id came late.
                .or_else(|| last.filter(|last| !named && self.calls[*last].id.is_empty()))?,
            None if named && fragment.place > 0 => return None,
            None => last?,
        };
        let call = &self.calls[position];
        let other = |mine: &str, theirs: &str| !mine.is_empty() && !theirs.is_empty() && mine != theirs;
        let opens = other(&call.id, &fragment.id)
            || other(&call.name, &fragment.name)
            // The same index, id or tool once more, after a call that is already whole.
            || (named && !fragment.arguments.is_empty() && call.end.reached);
        (!opens).then_some(position)
    }

    /// The calls in their final form, with their positions. `cut_off` says that the answer ended for want of tokens, so that the last
    /// call may lack its arguments altogether.
    pub(super) fn finish(self, used_ids: &mut HashSet<String>, cut_off: bool) -> Vec<(usize, FinishedCall)> {
        let last = self.calls.len().saturating_sub(1);
        self.calls
            .into_iter()
            .enumerate()
            .filter(|(_, call)| !(call.name.is_empty() && call.arguments.trim().is_empty()))
            .map(|(position, call)| (position, call.finish(used_ids, cut_off && position == last)))
            .collect()
    }
}

impl PartialCall {
    fn take(&mut self, fragment: Fragment, position: usize, events: &mut VecDeque<ModelEvent>) {
        self.index = self.index.or(fragment.index);
        // What is known stays: servers repeat the fields, or send them again as empty strings.
        if self.id.is_empty() {
            self.id = fragment.id;
        }
        if self.name.is_empty() {
            self.name = fragment.name;
        }
        self.extra = fragment.extra.or(self.extra.take());
        self.end.scan(&fragment.arguments);
        self.arguments.push_str(&fragment.arguments);
        let delta = if self.announced {
            fragment.arguments
        } else if self.name.is_empty() {
            return;
        } else {
            self.announced = true;
            events.push_back(ModelEvent::CallStart { call: position, name: self.name.clone() });
            self.arguments.clone()
        };
        if !delta.is_empty() {
            events.push_back(ModelEvent::CallArgumentsDelta { call: position, delta });
        }
    }

    fn finish(self, used_ids: &mut HashSet<String>, cut_off: bool) -> FinishedCall {
        let request = complete((self.id, self.name), &self.arguments, used_ids, cut_off);
        FinishedCall { request, extra: self.extra }
    }
}

/// Notices the end of the first JSON object in a text that arrives in pieces, each byte looked at once.
#[derive(Debug, Default)]
struct ObjectEnd {
    depth: usize,
    in_string: bool,
    escaped: bool,
    reached: bool,
}

impl ObjectEnd {
    fn scan(&mut self, piece: &str) {
        for byte in piece.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.reached |= self.depth == 0;
                }
                _ => {}
            }
        }
    }
}
