//! A running request of a session, and everything that is said on its behalf.
//!
//! Where the handler asks, each question goes out as a request of the server, and once all answers are in,
//! the call is dispatched again with them and with its sealed state: a round, as in the modern era, only
//! that the client sees one request from beginning to end. The clock of the handler does not run while a
//! person thinks. Dropping the exchange is the cancellation, of its questions too.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use serde_json::value::RawValue;
use switchboard_protocol::era::legacy::question;
use switchboard_protocol::model::input::{InputRequest, InputRequiredResult};
use switchboard_protocol::{Method, ProtocolError, RequestId, frame};
use tokio::time::Sleep;

use super::encode::{self, To};
use super::session::{Answered, Entry, News, Session};
use crate::call::Seed;
use crate::exchange::{Dispatch, Exchange as Inner, ExchangeEvent};
use crate::outbox::Outbox;
use crate::reply::{Reply, ReplyBody};
use crate::server::Server;

/// Characters of what a client says in an error that are repeated.
const SAID_CHARS: usize = 500;

/// What an exchange says next.
#[derive(Debug)]
pub(crate) enum Event {
    /// A notification, or a request of the server.
    Message(Bytes),
    /// The whole answer. Nothing comes after it.
    Reply(Vec<u8>),
    /// The client cancelled the request: nothing more is said.
    Cancelled,
}

/// A running request of a session.
pub(crate) struct Exchange {
    server: Server,
    session: Arc<Session>,
    entry: Entry,
    method: Method,
    /// What the call is made from again, if it is one that may ask.
    seed: Option<Box<Seed>>,
    outbox: Option<Arc<Outbox>>,
    phase: Phase,
    /// What is to be said before anything else.
    unsaid: VecDeque<Bytes>,
    rounds: u32,
}

enum Phase {
    /// The handler runs.
    Running(Box<Inner>),
    /// The client is asked.
    Asking(Box<Asking>),
    /// The reply is there.
    Replied(Box<Reply>),
    Over,
}

/// One round.
struct Asking {
    /// The questions that wait for their answers, by key.
    open: BTreeMap<String, Question>,
    answers: BTreeMap<String, Box<RawValue>>,
    /// To be given back.
    state: Option<String>,
    /// When the state is no longer good, an answer is of no use.
    timer: Pin<Box<Sleep>>,
}

struct Question {
    id: String,
    request: InputRequest,
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("id", &self.entry.id).finish_non_exhaustive()
    }
}

impl Exchange {
    /// The exchange of a request that the session has taken in.
    pub(super) fn new(server: &Server, session: &Arc<Session>, (entry, method): (Entry, Method)) -> Self {
        Self {
            server: server.clone(),
            session: Arc::clone(session),
            entry,
            method,
            seed: None,
            outbox: None,
            phase: Phase::Over,
            unsaid: VecDeque::new(),
            rounds: 0,
        }
    }

    pub(super) fn running(mut self, dispatched: Dispatch, seed: Option<Box<Seed>>) -> Self {
        self.outbox = seed.as_ref().and_then(|seed| seed.outbox.clone());
        self.seed = seed;
        self.enter(dispatched);
        self
    }

    fn enter(&mut self, dispatched: Dispatch) {
        self.phase = match dispatched {
            Dispatch::Ready(reply) => Phase::Replied(Box::new(reply)),
            Dispatch::Running(inner) => Phase::Running(Box::new(inner)),
            Dispatch::Listen(_) => self.failed("a subscription is no call of this era"),
        };
    }

    /// The id of the request.
    pub(crate) fn id(&self) -> &RequestId {
        &self.entry.id
    }

    /// Runs the request until something is said on its behalf. After the end, polling again is pending for
    /// ever.
    pub(crate) fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        loop {
            if let Some(message) = self.unsaid.pop_front() {
                return Poll::Ready(Event::Message(message));
            }
            if matches!(self.phase, Phase::Over) {
                return Poll::Pending;
            }
            let answers = match self.session.news(&self.entry, cx.waker()) {
                News::Answers(answers) => answers,
                News::Cancelled => {
                    self.end();
                    return Poll::Ready(Event::Cancelled);
                }
            };
            match &mut self.phase {
                Phase::Running(inner) => match inner.poll_event(cx) {
                    Poll::Ready(ExchangeEvent::Notification(message)) => {
                        return Poll::Ready(Event::Message(message));
                    }
                    Poll::Ready(ExchangeEvent::Reply(reply)) => self.phase = Phase::Replied(Box::new(reply)),
                    Poll::Pending => return Poll::Pending,
                },
                Phase::Asking(_) => {
                    if self.poll_answers(answers, cx).is_pending() {
                        return Poll::Pending;
                    }
                }
                Phase::Replied(_) => {
                    if let Some(reply) = self.take_reply() {
                        return Poll::Ready(Event::Reply(reply));
                    }
                }
                Phase::Over => return Poll::Pending,
            }
        }
    }

    /// The answer that a reply is, or a round of questions.
    fn take_reply(&mut self) -> Option<Vec<u8>> {
        let Phase::Replied(reply) = std::mem::replace(&mut self.phase, Phase::Over) else { return None };
        match reply.body {
            ReplyBody::InputRequired(required) => {
                self.phase = self.ask(required).unwrap_or_else(|problem| self.failed(&problem));
                None
            }
            _ => {
                let to =
                    To { id: &self.entry.id, method: self.method, revision: self.session.terms().revision };
                let reply = encode::reply(&self.server, to, *reply);
                self.end();
                Some(reply)
            }
        }
    }

    /// Says every question of a round.
    fn ask(&mut self, required: InputRequiredResult) -> Result<Phase, String> {
        let limits = self.server.limits();
        self.rounds += 1;
        if self.rounds > limits.input_rounds {
            return Err(format!("the call went through {} input rounds without an end", limits.input_rounds));
        }
        let requests = required.input_requests.unwrap_or_default();
        if !requests.is_empty() && !self.session.is_ready() {
            return Err("the client cannot be asked before it has sent notifications/initialized".to_owned());
        }
        // All of them can be asked, or none is.
        let questions = requests.into_iter().map(|(key, request)| Ok((key, self.question(request)?)));
        let questions = questions.collect::<Result<Vec<_>, String>>()?;
        let timer = Box::pin(tokio::time::sleep(limits.request_state_ttl));
        let mut open = BTreeMap::new();
        for (key, (question, message)) in questions {
            self.session.expect(&question.id, &self.entry, &key);
            self.unsaid.push_back(message);
            open.insert(key, question);
        }
        let asking = Asking { open, answers: BTreeMap::new(), state: required.request_state, timer };
        Ok(Phase::Asking(Box::new(asking)))
    }

    /// A question, and the request that asks it.
    fn question(&self, request: InputRequest) -> Result<(Question, Bytes), String> {
        let id = unguessable().map_err(|error| format!("no randomness for the id of a question: {error}"))?;
        let asked =
            question::ask(&request, self.session.terms().revision, &id).map_err(|error| error.to_string())?;
        let mut out = Vec::with_capacity(256);
        frame::encode_request(&mut out, &RequestId::from(id.as_str()), asked.method, &asked.params)
            .map_err(|error| format!("a question does not serialise: {error}"))?;
        Ok((Question { id, request }, out.into()))
    }

    /// Takes answers in; ready when the phase has changed.
    fn poll_answers(&mut self, answered: Vec<Answered>, cx: &mut Context<'_>) -> Poll<()> {
        let Phase::Asking(asking) = &mut self.phase else { return Poll::Ready(()) };
        for Answered { key, outcome } in answered {
            let Some(Question { request, .. }) = asking.open.remove(&key) else { continue };
            let read = match outcome {
                Ok(result) => question::read_answer(&request, &result)
                    .map_err(|problem| format!("the client's answer to a question does not fit: {problem}")),
                Err(error) => Err(format!("the client answered a question with an error: {}", said(&error))),
            };
            match read {
                Ok(answer) => drop(asking.answers.insert(key, answer)),
                Err(problem) => {
                    self.phase = self.failed(&problem);
                    return Poll::Ready(());
                }
            }
        }
        if asking.open.is_empty() {
            self.go_on();
            return Poll::Ready(());
        }
        if asking.timer.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        let seconds = self.server.limits().request_state_ttl.as_secs_f64();
        self.phase = self.failed(&format!("the client did not answer a question within {seconds} s"));
        Poll::Ready(())
    }

    /// Dispatches the call again, with what was answered.
    fn go_on(&mut self) {
        let Phase::Asking(asking) = std::mem::replace(&mut self.phase, Phase::Over) else { return };
        let Asking { answers, state, .. } = *asking;
        let Some(seed) = &self.seed else {
            self.phase = self.failed("this method cannot ask");
            return;
        };
        let responses = match serde_json::to_vec(&answers) {
            Ok(responses) => Bytes::from(responses),
            Err(error) => {
                self.phase = self.failed(&format!("the answers do not serialise: {error}"));
                return;
            }
        };
        let mut call = seed.call(responses, state);
        // Progress goes on from where it was: to the client this is one request.
        self.outbox = self.outbox.take().map(|outbox| Arc::new(outbox.resume()));
        call.outbox.clone_from(&self.outbox);
        let dispatched = self.server.dispatch(call);
        self.enter(dispatched);
    }

    /// The end in words. Questions that are still open are withdrawn.
    fn failed(&mut self, problem: &str) -> Phase {
        let void = self.session.withdraw(self.open_questions());
        self.unsaid.extend(void);
        Phase::Replied(Box::new(Reply::failure(self.method, problem)))
    }

    fn open_questions(&self) -> Vec<String> {
        match &self.phase {
            Phase::Asking(asking) => asking.open.values().map(|question| question.id.clone()).collect(),
            Phase::Running(_) | Phase::Replied(_) | Phase::Over => Vec::new(),
        }
    }

    fn end(&mut self) {
        self.session.leave(&self.entry, self.open_questions());
        self.phase = Phase::Over;
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.end();
    }
}

/// A text that nobody can guess, so that nobody answers in place of the client.
fn unguessable() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// What a client says in an error, at a length that can be repeated.
fn said(error: &ProtocolError) -> String {
    let mut text: String = error.message.chars().take(SAID_CHARS).collect();
    if text.len() < error.message.len() {
        text.push('…');
    }
    format!("{text} (code {})", error.code.0)
}
