//! The task of a run: chooses who answers, takes the tools that are there now, carries the turn to its end.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::live::{Keeper, Live, Progress};
use super::schema;
use super::view::{RunOutcome, RunView};
use super::{Ended, REMEMBERED, RunRequest, Session, json};
use crate::agent::Agent;
use crate::answer::Answer;
use crate::artefact::SessionArtefacts;
use crate::desk::{Desk, Round, RunDesk, RunDeskOptions};
use crate::error::{AgentError, ErrorKind};
use crate::exposure::Exposure;
use crate::host::ModelChoice;
use crate::integration;
use crate::journal::{Discovery, RunEvent, Selection};
use crate::limits::Limits;
use crate::name::{CallId, ServerName};
use crate::policy::Scope;
use crate::store::{RunStatus, unix_ms};
use crate::supervisor::ServerState;
use crate::turn::{Turn, TurnOptions};

/// How often the model may correct an answer that does not fit the schema.
const CORRECTIONS: u32 = 1;

/// The work on a run. If it is dropped half-way, because the process ends, the run waits to be resumed: its questions
/// stay on the desk.
struct Task {
    live: Arc<Live>,
    desk: Desk,
    work: Option<BoxFuture<'static, ()>>,
}

impl Future for Task {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(work) = &mut self.work else { return Poll::Ready(()) };
        let done = work.poll_unpin(context);
        if done.is_ready() {
            self.work = None;
        }
        done
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if self.work.is_some() {
            self.desk.leave(self.live.id());
            self.live.leave();
        }
    }
}

impl Session {
    /// Works on a run in a task of its own.
    pub(super) fn start(&self, live: Arc<Live>) {
        let (session, desk) = (self.clone(), self.0.desk.clone());
        let worked = Arc::clone(&live);
        let work = async move {
            let done = AssertUnwindSafe(session.work(&worked)).catch_unwind().await;
            let (result, output) = done.unwrap_or_else(|_| {
                let message = "the host has a fault of its own; its log says more";
                (Err(AgentError::new(ErrorKind::Storage, message)), None)
            });
            session.end(&worked, result, output);
        };
        tokio::spawn(Task { live, desk, work: Some(work.boxed()) });
        self.bump();
    }

    /// Works until the run is over, or cannot be kept any more.
    async fn work(&self, live: &Arc<Live>) -> (Result<Answer, AgentError>, Option<Value>) {
        let work = self.attempt(live);
        tokio::pin!(work);
        tokio::select! {
            never = self.tell_of_servers(live) => match never {},
            done = &mut work => done.map_or_else(|error| (Err(error), None), |(answer, output)| (Ok(answer), output)),
            message = self.0.feed.failed() => {
                // What was finished stays; nothing is done that could not be told of later.
                live.interrupt.trigger();
                let _ = work.await;
                (Err(unkept(&message)), None)
            }
        }
    }

    async fn attempt(&self, live: &Arc<Live>) -> Result<(Answer, Option<Value>), AgentError> {
        let (name, servers) = self.chosen(&live.request);
        let choice = tokio::select! {
            choice = self.0.host.select_model(name.as_deref()) => choice?,
            () = live.interrupt.triggered() => return Err(AgentError::new(ErrorKind::Interrupted, "interrupted")),
        };
        self.tell_of_model(live, &choice);
        let progress = live.progress();
        live.can_go_on()?;
        let agent = self.agent(live, &choice, servers.as_deref(), &progress)?;
        let exposure = agent.tools().await?;
        self.offered(&exposure)?;
        let limits = live.request.limits(self.0.host.limits());
        let turn = match progress.turn {
            Some(saved) => {
                let saved = saved.reopened(|call| progress.rounds.get(&call).map(Round::is_whole));
                Turn::restore(Arc::clone(&exposure), limits.clone(), saved)
            }
            None => {
                let keeper = self.keeper(live, limits.clone());
                let attachments = agent.with_resources(&live.request.attachments).await?;
                let attachments = keeper.attach(&attachments);
                let options = agent.turn(Arc::clone(&exposure), self.conversation(), live.request.text());
                Turn::begin(TurnOptions { attachments, ..options })
            }
        };
        self.answer_that_fits(live, &agent, turn).await
    }

    /// Says why the model was chosen, unless that was said with the question before.
    fn tell_of_model(&self, live: &Live, choice: &ModelChoice) {
        let told = std::mem::replace(&mut self.lock().told_model, choice.note.clone());
        if let Some(text) = choice.note.clone().filter(|text| told.as_ref() != Some(text)) {
            self.0.journal.for_run(live.id().clone()).record(Selection::Note { text });
        }
    }

    /// Carries the turn to its end, and asks for a correction where the answer does not fit the schema.
    async fn answer_that_fits(
        &self,
        live: &Arc<Live>,
        agent: &Agent,
        mut turn: Turn,
    ) -> Result<(Answer, Option<Value>), AgentError> {
        let keeper = Keeper::new(self.clone(), Arc::clone(live));
        loop {
            let result = agent.run_turn(&mut turn, &keeper).await;
            self.lock().conversation = turn.conversation().clone();
            // What joined meanwhile keeps its place in the next run.
            self.offered(turn.exposure())?;
            let answer = result?;
            let Some(schema) = &live.request.output_schema else { return Ok((answer, None)) };
            let problem = match schema::fit(&answer.text, schema) {
                Ok(output) => return Ok((answer, Some(output))),
                Err(problem) => problem,
            };
            let misfits = live.progress().misfits + 1;
            if misfits > CORRECTIONS {
                let message = format!("the answer does not fit the schema: {problem}");
                return Err(AgentError::new(ErrorKind::ModelFailed, message)
                    .hint("use a stronger model, or a simpler schema"));
            }
            let text = format!(
                "Your answer was not what was asked for: {problem}. Answer again, with the JSON alone."
            );
            turn.handle_misfit(text);
            live.keep(self, |progress| {
                progress.misfits = misfits;
                progress.turn = Some(turn.snapshot());
            });
        }
    }

    /// Keeps what the tools of a run give.
    fn keeper(&self, live: &Arc<Live>, limits: Limits) -> integration::Keeper {
        let journal = self.0.journal.for_run(live.id().clone());
        let store = Arc::clone(self.0.host.store());
        integration::Keeper::new(Arc::new(SessionArtefacts::new(store, &self.0.id, journal)), limits)
    }

    /// Writes down how the state of a server changes while a run goes on.
    async fn tell_of_servers(&self, live: &Arc<Live>) -> Infallible {
        let Some(supervisor) = self.0.host.supervisor() else { return std::future::pending().await };
        let journal = self.0.journal.for_run(live.id().clone());
        let mut changes = supervisor.changes();
        let mut known: HashMap<ServerName, ServerState> =
            supervisor.status().into_iter().map(|status| (status.name, status.state)).collect();
        while changes.changed().await.is_ok() {
            for status in supervisor.status() {
                if known.insert(status.name.clone(), status.state) == Some(status.state) {
                    continue;
                }
                let (server, state) = (status.name, status.state.as_str().to_owned());
                journal.record(Discovery::State { server, state, error: status.last_error });
            }
        }
        std::future::pending().await
    }

    /// The model and the servers of a run.
    fn chosen(&self, request: &RunRequest) -> (Option<String>, Option<Vec<String>>) {
        let state = self.lock();
        let model = request.model.clone().or_else(|| state.record.model.clone());
        (model, request.servers.clone().or_else(|| state.record.servers.clone()))
    }

    /// The agent of one run: who answers, with which servers, under which policy.
    fn agent(
        &self,
        live: &Arc<Live>,
        choice: &ModelChoice,
        servers: Option<&[String]>,
        progress: &Progress,
    ) -> Result<Agent, AgentError> {
        let host = &self.0.host;
        let (interactive, offered) = {
            let state = self.lock();
            (state.interactive, state.record.offered.clone())
        };
        let desk = Arc::new(self.run_desk(live, choice, interactive, progress));
        let limits = live.request.limits(host.limits());
        let scope = Scope::run()
            .in_session(self.0.id.as_str())
            .with_run_grants(progress.grants.clone())
            .with_permitted(progress.rounds.keys().filter_map(|call| progress.permitted.get(call).copied()));
        live.set_scope(scope.clone());
        let builder = Agent::builder(Arc::clone(&choice.selector))
            .store(Arc::clone(host.store()))
            .pins(host.pins().clone())
            .scope(scope)
            .keeper(self.keeper(live, limits.clone()))
            .policy(live.request.policy(host.policy())?)
            .leave_out(live.request.rules()?)
            .shared_consent(Arc::clone(&desk) as _)
            .questions(desk)
            .limits(limits)
            .journal(self.0.journal.for_run(live.id().clone()))
            .instructions(host.instructions())
            .offered(choice.dialect, offered)
            .without_servers(interactive)
            .interrupt(live.interrupt.clone());
        host.servers().introduce(builder, servers)?.build()
    }

    /// Who asks the person for a run.
    fn run_desk(
        &self,
        live: &Arc<Live>,
        choice: &ModelChoice,
        interactive: bool,
        progress: &Progress,
    ) -> RunDesk {
        let (session, kept) = (self.clone(), Arc::clone(live));
        let options = RunDeskOptions {
            run: live.id().clone(),
            interactive,
            model: choice.chat.clone(),
            roots: self.0.host.roots(),
            rounds: progress.rounds.clone(),
            keep: Box::new(move |call: CallId, round| {
                kept.keep(&session, |progress| match round {
                    Some(round) => drop(progress.rounds.insert(call, round)),
                    None => drop(progress.rounds.remove(&call)),
                });
                session.is_kept().is_ok()
            }),
        };
        RunDesk::new(self.0.desk.clone(), Arc::clone(&self.0.told), options)
    }

    /// Whether everything could be kept so far.
    ///
    /// # Errors
    /// When the disk could not be written: nothing leaves then that could not be told of later.
    pub(super) fn is_kept(&self) -> Result<(), AgentError> {
        self.0.feed.failure().map_or(Ok(()), |message| Err(unkept(&message)))
    }

    /// Keeps the order in which tools were first offered.
    fn offered(&self, exposure: &Exposure) -> Result<(), AgentError> {
        let mut state = self.lock();
        let known = state.record.offered.len();
        let mut seen: HashSet<String> = state.record.offered.iter().cloned().collect();
        let new = exposure.tools().iter().map(|tool| tool.name().to_owned());
        let new: Vec<_> = new.filter(|name| seen.insert(name.clone())).collect();
        state.record.offered.extend(new);
        if state.record.offered.len() > known && !state.closed {
            self.0.host.store().put_session(&state.record)?;
        }
        Ok(())
    }

    /// Writes down how a run ended, and makes room for the next.
    pub(super) fn end(&self, live: &Arc<Live>, result: Result<Answer, AgentError>, output: Option<Value>) {
        let journal = self.0.journal.for_run(live.id().clone());
        self.0.desk.clear(live.id(), "the run is over");
        let status = match &result {
            Ok(_) => RunStatus::Finished,
            Err(_) if live.is_cancelled() => RunStatus::Cancelled,
            Err(_) => RunStatus::Failed,
        };
        let mut outcome = RunOutcome { output, ..RunOutcome::of(&result, live.calls()) };
        // From here on, for whoever reads of the end to find it so.
        let mut state = self.lock();
        journal.record(RunEvent::Ended {
            status,
            error: outcome.error.as_ref().map(|error| error.message.clone()),
            usage: outcome.usage,
        });
        if state.closed {
            // It is deleted, and nothing of it is to come back.
            return;
        }
        outcome.last_seq = Some(self.0.journal.last_seq());
        outcome.messages = Some(state.conversation.messages().len());
        self.keep_conversation(&mut state);
        outcome.mask(&self.0.journal);
        let record = live.finish(self, status, &outcome);
        state.unkept = self.0.feed.failure().map(|_| record);
        if state.current.as_ref().is_some_and(|current| current.id() == live.id()) {
            state.current = None;
        }
        if state.ended.len() >= REMEMBERED {
            state.ended.pop_front();
        }
        let (mut status, mut result) = (status, result);
        if let (Some(message), true) = (self.0.feed.failure(), result.is_ok()) {
            // The answer is shown all the same; but whoever waits must know that it will not be there tomorrow.
            let error = unkept(&message);
            outcome.error = Some((&error).into());
            (status, result) = (RunStatus::Failed, Err(error));
        }
        let view = RunView { status, outcome, requests: Vec::new(), ..live.view(self) };
        state.ended.push_back(Ended { view, result: Arc::new(result) });
        drop(state);
        self.bump();
    }

    fn keep_conversation(&self, state: &mut super::State) {
        state.record.updated_ms = unix_ms();
        match json(&state.conversation) {
            Ok(text) => state.record.conversation = self.0.journal.masked_json(text),
            Err(error) => tracing::error!(%error, "a conversation cannot be written as JSON"),
        }
        if let Err(error) = self.0.host.store().put_session(&state.record) {
            self.0.feed.fail(&error);
        }
    }
}

fn unkept(message: &str) -> AgentError {
    AgentError::new(ErrorKind::Storage, format!("the run ends here: {message}"))
        .hint("make room or mend the disk, then ask again")
}
