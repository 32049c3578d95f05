//! The loop of a run: does what the turn says, waits for whatever comes first, and tells the turn.
//!
//! Decisions and calls run side by side. A decision that is not there at once waits for a person, which the turn is
//! told: meanwhile no time counts, and other calls are made.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::time::sleep_until;

use super::Agent;
use crate::answer::Answer;
use crate::artefact::{HostTools, is_host_tool};
use crate::error::{AgentError, ErrorKind};
use crate::exposure::Exposure;
use crate::integration::Returned;
use crate::name::CallId;
use crate::policy::{Denial, DenialReason, Permit, Proposal, exchange};
use crate::turn::{Output, Step, Turn};

/// Whoever keeps a turn while it goes on.
pub(crate) trait Watch: Send + Sync {
    /// The turn has changed, and nothing was done about it yet; `leaves` is leave for the call that is made next.
    ///
    /// # Errors
    /// When that cannot be kept: then nothing may be done about it.
    fn turned(&self, turn: &Turn, leaves: Option<&Permit>) -> Result<(), AgentError>;

    /// Waits until somebody cancels a single call.
    fn cancelled(&self) -> BoxFuture<'_, CallId>;
}

/// Nobody keeps it.
pub(super) struct Unwatched;

impl Watch for Unwatched {
    fn turned(&self, _: &Turn, _: Option<&Permit>) -> Result<(), AgentError> {
        Ok(())
    }

    fn cancelled(&self) -> BoxFuture<'_, CallId> {
        std::future::pending().boxed()
    }
}

/// What the loop waits for.
enum Done {
    Decided(CallId, Result<Permit, Denial>),
    Made(CallId, Returned),
    /// It was not made, because its tool is another one in what the tools are now.
    Changed(CallId, Arc<Exposure>, Returned),
}

impl Done {
    fn tell(self, turn: &mut Turn) {
        match self {
            Self::Decided(call, decision) => turn.handle_decision(call, decision),
            Self::Made(call, returned) => turn.handle_outcome(call, returned),
            Self::Changed(call, exposure, unmade) => turn.handle_changed(call, &exposure, unmade),
        }
    }
}

/// The decisions and calls that go on.
#[derive(Default)]
struct Work<'a> {
    running: FuturesUnordered<Abortable<BoxFuture<'a, Done>>>,
    handles: HashMap<CallId, AbortHandle>,
}

impl<'a> Work<'a> {
    fn add(&mut self, call: CallId, work: BoxFuture<'a, Done>) {
        let (handle, registration) = AbortHandle::new_pair();
        self.handles.insert(call, handle);
        self.running.push(Abortable::new(work, registration));
    }

    /// Drops what goes on for a call, which withdraws the question, or cancels the call at its server.
    fn cancel(&mut self, call: CallId) {
        if let Some(handle) = self.handles.remove(&call) {
            handle.abort();
        }
    }

    /// What comes next; `None` if nothing goes on.
    async fn next(&mut self) -> Option<Done> {
        while let Some(done) = self.running.next().await {
            if let Ok(done) = done {
                return Some(done);
            }
        }
        None
    }

    /// Drops what was cancelled, for as long as this is waited for. While the model is asked nothing else goes on: all
    /// calls are answered.
    async fn let_go(&mut self) {
        while self.running.next().await.is_some() {}
        std::future::pending().await
    }
}

impl Agent {
    /// Carries a turn to its end.
    pub(super) async fn drive(&self, turn: &mut Turn, watch: &dyn Watch) -> Result<Answer, AgentError> {
        let mut work = Work::default();
        let mut questions = self.open_questions.subscribe();
        // A turn begins with tools that were just listed.
        let mut listed = 1;
        loop {
            turn.handle_timeout(now());
            self.record(turn);
            let output = turn.poll_output();
            let leaves = match &output {
                Some(Output::Invoke(permit)) => Some(permit),
                _ => None,
            };
            // Before anything is done, so that what is kept says that it may have been.
            if let (Err(unkept), false) = (watch.turned(turn, leaves), turn.is_over()) {
                turn.handle_interrupt();
                return Err(unkept);
            }
            match output {
                Some(Output::AskModel(step)) if step.number > listed => {
                    listed = step.number;
                    turn.handle_tools(self.tools_now().await?);
                }
                Some(Output::AskModel(step)) => self.ask_in_time(turn, step, &mut work).await?,
                Some(Output::AskConsent(proposal)) => self.decide(turn, proposal, &mut work),
                Some(Output::Invoke(permit)) => {
                    work.add(permit.proposal().call, Box::pin(self.make(permit)));
                }
                Some(Output::Cancel(call)) => work.cancel(call),
                Some(Output::Finished(answer)) => return Ok(answer),
                Some(Output::Stopped(reason)) => return Err(reason.into()),
                None => tokio::select! {
                    done = work.next() => {
                        turn.handle_timeout(now());
                        match done {
                            Some(done) => done.tell(turn),
                            // Would be a fault of ours: the turn waits for something that was never asked for.
                            None => return Err(standstill()),
                        }
                    }
                    call = watch.cancelled() => turn.handle_cancel(call),
                    Ok(()) = questions.changed() => {
                        turn.handle_timeout(now());
                        turn.handle_questions(*questions.borrow_and_update());
                    }
                    () = at(turn.poll_timeout()) => {}
                },
            }
        }
    }

    /// Makes a call, and keeps what it gives.
    async fn make(&self, permit: Permit) -> Done {
        let Proposal { call, server, .. } = permit.proposal();
        let (call, server) = (*call, server.clone());
        let returned = match &self.keeper {
            Some(keeper) if is_host_tool(&server) => {
                self.gate.invoke_own(permit, &HostTools::new(keeper.clone())).await
            }
            Some(keeper) => keeper.keep(self.gate.invoke(permit).await, &server, call).await,
            None => Returned::new(self.gate.invoke(permit).await, &self.limits),
        };
        if !returned.outcome().has_changed() {
            return Done::Made(call, returned);
        }
        match self.tools_of(&server).await {
            Some(now) => Done::Changed(call, now, returned),
            None => Done::Made(call, returned),
        }
    }

    /// Decides about a call. An answer about a tool that is another one by now counts for nothing.
    async fn authorize(&self, proposal: Proposal) -> Done {
        let (call, server) = (proposal.call, proposal.server.clone());
        let decision = self.gate.authorize(proposal, &self.scope).await;
        let other = decision.as_ref().is_err_and(|denial| denial.reason == DenialReason::OtherThanShown);
        match if other { self.tools_of(&server).await } else { None } {
            Some(now) => Done::Changed(call, now, Returned::new(exchange::changed(), &self.limits)),
            None => Done::Decided(call, decision),
        }
    }

    /// Asks the model, but no longer than the time of the run.
    async fn ask_in_time(&self, turn: &mut Turn, step: Step, work: &mut Work<'_>) -> Result<(), AgentError> {
        let answered = tokio::select! {
            answered = self.ask(step) => Some(answered?),
            () = work.let_go() => None,
            () = at(turn.poll_timeout()) => None,
        };
        turn.handle_timeout(now());
        if let Some((answer, notes)) = answered {
            notes.into_iter().for_each(|note| turn.handle_note(note));
            turn.handle_answer(answer);
        }
        Ok(())
    }

    fn decide<'a>(&'a self, turn: &mut Turn, proposal: Proposal, work: &mut Work<'a>) {
        let call = proposal.call;
        let mut decision: BoxFuture<'a, _> = Box::pin(self.authorize(proposal));
        // A waker that does nothing is enough here: whatever is not ready is polled again below, with a real one.
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match Pin::new(&mut decision).poll(&mut context) {
            Poll::Ready(done) => done.tell(turn),
            Poll::Pending => {
                turn.handle_asked(call);
                work.add(call, decision);
            }
        }
    }
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Waits for a time that may never come.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}

fn standstill() -> AgentError {
    AgentError::new(ErrorKind::ModelFailed, "the run came to a standstill")
}
