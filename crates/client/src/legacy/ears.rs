//! What a server says of its own accord in a session: its questions, and its announcements. Carriers hand
//! it in and never wait; how much may wait here is bounded, and what breaks a rule is told once or twice.
//!
//! Questions wait in their order for the session's one answering task. What needs no person is answered
//! past them: a ping at once, and a question that this client did not declare, or that is malformed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::value::RawValue;
use switchboard_protocol::era::legacy::{answered_revision, name as legacy_name, question};
use switchboard_protocol::error::{ErrorCode, ProtocolError};
use switchboard_protocol::frame::{self, Frame, NotificationFrame, RequestFrame};
use switchboard_protocol::model::input::InputRequest;
use switchboard_protocol::model::notification::{Cancelled, ResourceUpdated, name};
use switchboard_protocol::{RequestId, Revision};
use tokio::sync::Notify;

use super::Pauses;
use super::listen::Dirty;
use super::urls::Urls;
use crate::core::LogFn;
use crate::error::excerpt;
use crate::inputs::Inputs;
use crate::limits::Limits;

/// So many broken rules of one session are worth a warning; the rest would only repeat it.
const WARNINGS: u64 = 8;
/// Answers that may wait until the server reads: some ten thousand of the usual size.
const UNSENT_BYTES: usize = 1024 * 1024;

/// What a server asks.
pub(super) struct Question {
    pub(super) id: RequestId,
    pub(super) request: InputRequest,
    /// What it counts against the bound.
    bytes: usize,
}

/// What the answering task does next.
pub(super) enum Step {
    /// This goes out.
    Reply(Vec<u8>),
    /// Somebody is asked.
    Ask(Question),
    /// The server does not want to know any more.
    Forget,
    /// The session is over.
    End,
}

/// The ears of one session.
pub(crate) struct Ears {
    state: Mutex<State>,
    changed: Notify,
    server: Arc<str>,
    inputs: Inputs,
    on_log: Option<LogFn>,
    max_questions: usize,
    max_bytes: usize,
    pub(super) pauses: Arc<Pauses>,
    pub(super) urls: Urls,
}

#[derive(Default)]
struct State {
    phase: Phase,
    questions: VecDeque<Question>,
    bytes: usize,
    /// Answers that need nobody.
    replies: VecDeque<Vec<u8>>,
    reply_bytes: usize,
    /// The question that somebody is being asked, and whether it is still wanted.
    asking: Option<(RequestId, bool)>,
    listeners: Vec<Weak<Dirty>>,
    /// There is no stream at the moment on which the server could say anything.
    deaf: bool,
    faults: u64,
    /// The last one.
    broken_rule: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Handshake,
    Open(Revision),
    Over,
}

impl Ears {
    pub(super) fn new(core: &crate::core::Core) -> Arc<Self> {
        let limits: &Limits = &core.limits;
        Arc::new(Self {
            state: Mutex::default(),
            changed: Notify::new(),
            server: Arc::clone(&core.name),
            inputs: core.inputs.clone(),
            on_log: core.on_log.clone(),
            max_questions: limits.questions.max(1),
            max_bytes: limits.message_bytes,
            pauses: Arc::clone(&core.legacy.pauses),
            urls: Urls::default(),
        })
    }

    // Nothing panics and no code of others runs between taking the lock and leaving it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what is no answer to a request of this client.
    pub(crate) fn hear(&self, said: Frame<'_>) {
        match said {
            Frame::Request(request) => self.request(request),
            Frame::Notification(notification) => self.notification(&notification),
            Frame::Response(response) => {
                let id = response.id.map_or_else(|| "none".to_owned(), |id| id.to_string());
                self.fault(&format!("an answer names a request that is not open ({})", excerpt(&id)));
            }
        }
    }

    /// Whether there is a stream on which the server says something of its own accord.
    pub(super) fn hears(&self) -> bool {
        !self.lock().deaf
    }

    pub(crate) fn set_deaf(&self, deaf: bool) {
        self.lock().deaf = deaf;
    }

    /// Messages may have been lost; the session goes on.
    pub(crate) fn gap(&self) {
        self.tell(|dirty| dirty.miss());
    }

    /// The session is over.
    pub(super) fn end(&self) {
        {
            let mut state = self.lock();
            state.phase = Phase::Over;
            state.questions.clear();
            state.replies.clear();
            (state.bytes, state.reply_bytes) = (0, 0);
        }
        self.tell(|dirty| dirty.end());
        self.changed.notify_one();
    }

    /// The answer to the handshake names this revision, in which everything behind it is said.
    pub(super) fn open(&self, revision: Revision) {
        let mut state = self.lock();
        if state.phase == Phase::Handshake {
            state.phase = Phase::Open(revision);
        }
    }

    /// A result may be the answer to the handshake.
    pub(super) fn open_by(&self, result: &RawValue) {
        let waits = self.lock().phase == Phase::Handshake;
        if let Some(revision) = waits.then(|| answered_revision(result)).flatten() {
            self.open(revision);
        }
    }

    /// Whoever listens for changes hears of them from now on.
    pub(super) fn listener(&self, dirty: &Arc<Dirty>) {
        let over = {
            let mut state = self.lock();
            state.listeners.retain(|known| known.strong_count() > 0);
            state.listeners.push(Arc::downgrade(dirty));
            state.phase == Phase::Over
        };
        if over {
            dirty.end();
        }
    }

    fn tell(&self, tell: impl Fn(&Dirty)) {
        let listeners = self.lock().listeners.clone();
        listeners.iter().filter_map(Weak::upgrade).for_each(|dirty| tell(&dirty));
    }

    fn request(&self, request: RequestFrame<'_>) {
        let RequestFrame { id, method, params } = request;
        if *method == *legacy_name::PING {
            return self.reply(encode(&id, Ok("{}")));
        }
        let phase = self.lock().phase;
        let revision = match phase {
            Phase::Over => return,
            Phase::Open(revision) => revision,
            Phase::Handshake => {
                self.fault(&format!("it sent {} before it answered the handshake", excerpt(&method)));
                let refusal = "Invalid request: before the handshake is answered, only ping may be sent";
                return self.reply(encode(&id, Err(ProtocolError::invalid_request(refusal))));
            }
        };
        match self.read(&method, params, revision) {
            Ok(None) => self.reply(encode(&id, Ok("{}"))),
            Ok(Some(request)) => {
                let bytes = params.map_or(0, |params| params.get().len());
                self.queue(Question { id, request, bytes });
            }
            Err(refusal) => self.reply(encode(&id, Err(refusal))),
        }
    }

    /// A question that may be asked; `None` for a ping.
    fn read(
        &self,
        method: &str,
        params: Option<&RawValue>,
        revision: Revision,
    ) -> Result<Option<InputRequest>, ProtocolError> {
        let request = match question::read_question(method, params, revision)? {
            question::Asked::Ping => return Ok(None),
            question::Asked::Input { request, .. } => request,
        };
        match self.inputs.refusal(&request) {
            None => Ok(Some(request)),
            Some((code, why)) => {
                self.fault(&format!("it sent {}: {why}", excerpt(method)));
                Err(ProtocolError::new(code.0, why))
            }
        }
    }

    fn queue(&self, question: Question) {
        let refusal = {
            let mut state = self.lock();
            let waits = state.questions.iter().any(|waiting| waiting.id == question.id)
                || state.asking.as_ref().is_some_and(|(id, _)| *id == question.id);
            if waits {
                drop(state);
                // An answer would be taken for the answer to the first.
                return self.fault("it uses the id of a request that waits for its answer");
            }
            let full = state.questions.len() >= self.max_questions
                || state.bytes.saturating_add(question.bytes) > self.max_bytes;
            if full {
                Some(question.id)
            } else {
                state.bytes += question.bytes;
                state.questions.push_back(question);
                None
            }
        };
        match refusal {
            None => self.changed.notify_one(),
            Some(id) => {
                self.fault("more of its requests wait for an answer than are kept");
                let why = format!("At most {} requests may wait for an answer", self.max_questions);
                self.reply(encode(&id, Err(ProtocolError::new(ErrorCode::INTERNAL_ERROR.0, why))));
            }
        }
    }

    /// Every request is answered, a refused one too. Only a server that reads no answers gets no more.
    fn reply(&self, reply: Vec<u8>) {
        let full = {
            let mut state = self.lock();
            let full = state.reply_bytes > UNSENT_BYTES;
            if !full && state.phase != Phase::Over {
                state.reply_bytes += weight(&reply);
                state.replies.push_back(reply);
            }
            full
        };
        if full {
            self.fault("it asks faster than it reads the answers");
        } else {
            self.changed.notify_one();
        }
    }

    fn notification(&self, notification: &NotificationFrame<'_>) {
        let text = notification.params.map_or("{}", RawValue::get);
        match &*notification.method {
            name::TOOLS_CHANGED | name::PROMPTS_CHANGED | name::RESOURCES_CHANGED => {
                self.tell(|dirty| dirty.list(&notification.method));
            }
            name::RESOURCE_UPDATED => {
                if let Ok(updated) = serde_json::from_str::<ResourceUpdated>(text) {
                    self.tell(|dirty| dirty.resource(&updated.uri));
                }
            }
            name::MESSAGE => {
                if let (Some(on_log), Ok(message)) = (&self.on_log, serde_json::from_str(text)) {
                    on_log(message);
                }
            }
            name::CANCELLED => {
                if let Ok(cancelled) = serde_json::from_str::<Cancelled>(text) {
                    self.cancel(&cancelled.request_id);
                }
            }
            legacy_name::ELICITATION_COMPLETE => self.urls.done(text),
            // Progress of a request that has ended, and whatever else nobody waits for.
            _ => {}
        }
    }

    /// The server does not want to know any more; it gets no answer then.
    fn cancel(&self, id: &RequestId) {
        {
            let mut state = self.lock();
            if let Some(place) = state.questions.iter().position(|waiting| waiting.id == *id)
                && let Some(question) = state.questions.remove(place)
            {
                state.bytes -= question.bytes;
            }
            if let Some((asking, wanted)) = &mut state.asking
                && asking == id
            {
                *wanted = false;
            }
        }
        self.changed.notify_one();
    }

    fn fault(&self, what: &str) {
        let faults = {
            let mut state = self.lock();
            state.faults += 1;
            state.broken_rule = Some(excerpt(what));
            state.faults
        };
        if faults <= WARNINGS {
            tracing::warn!(server = %self.server, rule = %what, "the server breaks a rule of its session");
        } else {
            tracing::debug!(server = %self.server, rule = %what, "the server breaks a rule of its session");
        }
    }

    /// The rule that the server broke last.
    pub(super) fn broken_rule(&self) -> Option<String> {
        self.lock().broken_rule.clone()
    }

    /// The next answer that needs nobody; `None` when the session is over.
    pub(super) async fn next_reply(&self) -> Option<Vec<u8>> {
        loop {
            {
                let mut state = self.lock();
                if state.phase == Phase::Over {
                    return None;
                }
                if let Some(reply) = state.next_reply() {
                    return Some(reply);
                }
            }
            self.changed.notified().await;
        }
    }

    /// What the one answering task does next. It waits on nothing else of these ears.
    pub(super) async fn step(&self) -> Step {
        loop {
            if let Some(step) = self.lock().step() {
                return step;
            }
            self.changed.notified().await;
        }
    }

    /// Nobody is being asked any more; says whether the answer is still wanted.
    pub(super) fn asked(&self) -> bool {
        let mut state = self.lock();
        state.asking.take().is_some_and(|(_, wanted)| wanted) && state.phase != Phase::Over
    }

    pub(super) fn inputs(&self) -> &Inputs {
        &self.inputs
    }
}

impl State {
    fn next_reply(&mut self) -> Option<Vec<u8>> {
        let reply = self.replies.pop_front()?;
        self.reply_bytes -= weight(&reply);
        Some(reply)
    }

    fn step(&mut self) -> Option<Step> {
        if self.phase == Phase::Over {
            return Some(Step::End);
        }
        if let Some(reply) = self.next_reply() {
            return Some(Step::Reply(reply));
        }
        match &self.asking {
            Some((_, true)) => None,
            Some((_, false)) => {
                self.asking = None;
                Some(Step::Forget)
            }
            None => {
                let question = self.questions.pop_front()?;
                self.bytes -= question.bytes;
                self.asking = Some((question.id.clone(), true));
                Some(Step::Ask(question))
            }
        }
    }
}

/// What an answer counts while it waits.
fn weight(reply: &[u8]) -> usize {
    reply.len() + size_of::<Vec<u8>>()
}

/// An answer as a whole message.
pub(super) fn encode(id: &RequestId, outcome: Result<&str, ProtocolError>) -> Vec<u8> {
    let mut message = Vec::new();
    match outcome {
        Ok(result) => frame::encode_raw_result(&mut message, id, result.as_bytes()),
        Err(error) => frame::encode_error(&mut message, Some(id), &error),
    }
    message
}
