//! Who asks on behalf of one run: for consent to its calls, and for what servers want to know meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_client::{ElicitReply, InputRequest, InputRequiredResult, Refused};
use switchboard_llm::ChatModel;
use switchboard_protocol::model::elicitation::{Elicit, ElicitAction, ElicitForm, ElicitResult};
use switchboard_protocol::model::roots::{ListRootsResult, Root};
use switchboard_protocol::model::sampling::{CreateMessage, CreateMessageResult};
use url::Url;

use super::question::{Question, Reply};
use super::{Desk, sampling, view};
use crate::digest::Digest;
use crate::name::{CallId, RunId, ServerName};
use crate::policy::{Approval, Choice, Consent, ConsentReply};
use crate::questions::Questions;
use crate::visible;

/// How often servers may ask the model in one run.
const MOST_SAMPLINGS: u32 = 16;
/// How many questions one call may ask.
const MOST_QUESTIONS: u32 = 64;

/// What a run brings along.
pub(crate) struct RunDeskOptions {
    pub(crate) run: RunId,
    /// Whether a person can be asked at all.
    pub(crate) interactive: bool,
    /// Who is asked for servers.
    pub(crate) model: Option<Arc<dyn ChatModel>>,
    /// The folders that each server may be told of.
    pub(crate) roots: BTreeMap<ServerName, Vec<Root>>,
    /// Rounds of input that an earlier process left.
    pub(crate) rounds: BTreeMap<CallId, Round>,
    /// Keeps a round of input, so that it can go on after a restart; nothing once it is answered. Whether that could be
    /// kept: where it could not, the run ends.
    pub(crate) keep: Box<dyn Fn(CallId, Option<Round>) -> bool + Send + Sync>,
}

/// A round of input: what a server asked in the middle of a call, with the state that it wants back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Round {
    /// What it asked.
    pub(crate) asked: InputRequiredResult,
    /// Questions that the call had asked before it.
    pub(crate) questions: u32,
    /// The digest of what it asked as it was asked: what is kept of it may be masked.
    #[serde(default)]
    whole: Option<Digest>,
}

impl Round {
    pub(super) fn new(asked: InputRequiredResult, questions: u32) -> Self {
        let whole = digest(&asked);
        Self { asked, questions, whole }
    }

    /// Whether nothing of it was masked where it was kept: what the server wants back must be what it sent, and what it
    /// asked is what is answered.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole.is_some() && digest(&self.asked) == self.whole
    }
}

fn digest(asked: &InputRequiredResult) -> Option<Digest> {
    Some(Digest::of(&[b"round", &serde_json::to_vec(asked).ok()?]))
}

/// Asks on behalf of one run.
pub(crate) struct RunDesk {
    desk: Desk,
    options: RunDeskOptions,
    /// Answers about folders, which count for the session.
    told: Arc<Mutex<BTreeMap<ServerName, bool>>>,
    state: Mutex<Asked>,
}

#[derive(Default)]
struct Asked {
    /// Questions that each call has asked, to number them.
    questions: BTreeMap<CallId, u32>,
    /// Questions of the round of each call that are not answered yet.
    open: BTreeMap<CallId, usize>,
    samplings: u32,
    /// Servers that were refused the folders once are not asked about again in this run.
    refused: BTreeSet<ServerName>,
    /// The person is asked once about the folders of a server, however many of its calls want to know them.
    folders: BTreeMap<ServerName, Arc<tokio::sync::Mutex<()>>>,
}

impl RunDesk {
    pub(crate) fn new(
        desk: Desk,
        told: Arc<Mutex<BTreeMap<ServerName, bool>>>,
        options: RunDeskOptions,
    ) -> Self {
        Self { desk, options, told, state: Mutex::default() }
    }

    async fn ask(&self, id: String, question: Question) -> Option<Reply> {
        let question = question.hiding(&self.desk.masker());
        self.desk.ask(view(id, &self.options.run, question)).await
    }

    /// The handle of the question whether a call may be made.
    fn approval_id(&self, CallId(call): CallId) -> String {
        format!("{}.{call}", self.options.run)
    }

    /// The handle of the next question of a call.
    fn next_id(&self, server: &ServerName, call: Option<CallId>) -> Option<String> {
        let number = {
            let mut asked = self.lock();
            let number = asked.questions.entry(call.unwrap_or(CallId(0))).or_default();
            *number += 1;
            *number
        };
        let run = &self.options.run;
        (number <= MOST_QUESTIONS).then(|| match call {
            Some(CallId(call)) => format!("{run}.{call}.{number}"),
            None => format!("{run}.{}.{number}", handle(server)),
        })
    }

    /// A question of a call is answered. With the last one of its round the call goes on: from then on nobody knows how
    /// far it is, should the host end.
    async fn answered(&self, call: Option<CallId>) {
        let Some(call) = call else { return };
        let last = {
            let mut asked = self.lock();
            let Some(open) = asked.open.get_mut(&call) else { return };
            *open = open.saturating_sub(1);
            let last = *open == 0;
            if last {
                asked.open.remove(&call);
            }
            last
        };
        if last && !(self.options.keep)(call, None) {
            // What is kept says that the answer is still to be given. It is not sent, and the run ends here.
            std::future::pending::<()>().await;
        }
    }

    async fn form(&self, server: &ServerName, call: Option<CallId>, asked: ElicitForm) -> ElicitResult {
        let Some(id) = self.next_id(server, call) else { return said(ElicitAction::Cancel) };
        let question = Question::Form {
            server: server.clone(),
            call,
            message: visible::text(&asked.message),
            schema: asked.requested_schema.clone(),
            hidden: false,
        };
        let question = question.hiding(&self.desk.masker());
        let shown = question.form();
        let reply = self.ask(id, question).await;
        let reply = reply.map_or(ElicitReply::Cancel, |reply| reply.elicited());
        // It was checked when it was given, by what was shown. What does not fit, also because a secret was not shown, is
        // never sent.
        let told = reply.result(&shown.unwrap_or_else(|| asked.clone()));
        let fits = |told: &ElicitResult| {
            let content = told.content.clone().map_or(Value::Null, Value::Object);
            told.action != ElicitAction::Accept || ElicitReply::Accept(content).check(&asked).is_ok()
        };
        told.ok().filter(fits).unwrap_or_else(|| said(ElicitAction::Cancel))
    }

    async fn visit(
        &self,
        server: &ServerName,
        call: Option<CallId>,
        (message, url): (String, String),
    ) -> ElicitResult {
        // Nothing but the web: a browser does other things with other addresses.
        let web = Url::parse(&url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let host = web.and_then(|url| url.host_str().map(str::to_owned));
        let (Some(host), Some(id)) = (host, self.next_id(server, call)) else {
            return said(ElicitAction::Decline);
        };
        let question = Question::Url {
            server: server.clone(),
            call,
            message: visible::text(&message),
            url: visible::line(&url),
            host: visible::line(&host),
            hidden: false,
        };
        match self.ask(id, question).await {
            Some(Reply::Url { action }) => said(action),
            _ => said(ElicitAction::Cancel),
        }
    }

    async fn model(
        &self,
        server: &ServerName,
        call: Option<CallId>,
        asked: CreateMessage,
    ) -> Result<CreateMessageResult, Refused> {
        let refused = |why: &str| Err(Refused(why.to_owned()));
        let Some(model) = &self.options.model else { return refused("there is no language model here") };
        if !self.options.interactive {
            return refused("nobody can be asked here");
        }
        {
            let mut state = self.lock();
            state.samplings += 1;
            if state.samplings > MOST_SAMPLINGS {
                return refused("servers have asked the model often enough in this run");
            }
        }
        let question = sampling::question(server, call, &asked)?;
        let Some(id) = self.next_id(server, call) else { return refused("the call asks too much") };
        match self.ask(id, question).await {
            Some(Reply::Sampling { allow: true, .. }) => sampling::sample(&**model, &asked).await,
            _ => refused("the person declined it"),
        }
    }

    async fn folders(&self, server: &ServerName) -> Vec<Root> {
        let roots = self.options.roots.get(server).filter(|roots| !roots.is_empty());
        let Some(roots) = roots.filter(|_| self.options.interactive) else { return Vec::new() };
        let asking = Arc::clone(self.lock().folders.entry(server.clone()).or_default());
        let _asking = asking.lock().await;
        let known = self.told().get(server).copied();
        let allowed = match known {
            Some(allowed) => allowed,
            None if self.lock().refused.contains(server) => false,
            None => {
                let id = format!("{}.roots.{}", self.options.run, handle(server));
                let question = Question::Roots { server: server.clone(), roots: roots.clone() };
                let allowed = match self.ask(id, question).await {
                    Some(Reply::Roots { allow }) => allow,
                    _ => false,
                };
                if allowed {
                    self.told().insert(server.clone(), true);
                } else {
                    self.lock().refused.insert(server.clone());
                }
                allowed
            }
        };
        if allowed { roots.clone() } else { Vec::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Asked> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn told(&self) -> MutexGuard<'_, BTreeMap<ServerName, bool>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A server's name as a part of a handle: without what has a meaning in an address, and like no call and no other
/// server.
fn handle(server: &ServerName) -> String {
    let name = server.as_str();
    // What it would be mistaken for.
    let taken = name == "roots" || name.bytes().all(|byte| byte.is_ascii_digit());
    let mut handle = String::with_capacity(name.len());
    for (at, character) in name.char_indices() {
        if (character.is_ascii_alphanumeric() || character == '-') && !(taken && at == 0) {
            handle.push(character);
        } else {
            handle.push_str(&format!("_{:x}_", u32::from(character)));
        }
    }
    handle
}

/// How many questions of a round a person answers or allows.
fn persons(asked: &InputRequiredResult) -> usize {
    let questions = asked.input_requests.iter().flatten();
    questions.filter(|(_, question)| !matches!(question, InputRequest::ListRoots(_))).count()
}

fn said(action: ElicitAction) -> ElicitResult {
    ElicitResult { action, content: None }
}

impl Consent for RunDesk {
    fn ask<'a>(&'a self, approval: &'a Approval) -> BoxFuture<'a, ConsentReply> {
        async move {
            if !self.options.interactive {
                return approval.reply(Choice::Unanswered);
            }
            let call = approval.proposal().call;
            // It does not go on where it was.
            self.kept_round(call, false);
            let id = self.approval_id(call);
            let question = Question::Approval(Box::new(approval.view()));
            match self.ask(id, question).await {
                Some(Reply::Approval { choice, rule: Some(rule), .. }) => approval.reply_where(choice, rule),
                Some(Reply::Approval { choice, .. }) => approval.reply(choice),
                _ => approval.reply(Choice::Unanswered),
            }
        }
        .boxed()
    }

    fn settle(&self, call: CallId, by: &str) -> bool {
        let early = self.desk.settle(&self.approval_id(call), by);
        !matches!(early, Some(Reply::Approval { choice: Choice::Deny, .. }))
    }
}

impl Questions for RunDesk {
    fn elicit<'a>(
        &'a self,
        server: &'a ServerName,
        call: Option<CallId>,
        asked: Elicit,
    ) -> BoxFuture<'a, ElicitResult> {
        async move {
            let said = match asked {
                _ if !self.options.interactive => said(ElicitAction::Decline),
                Elicit::Form(asked) => self.form(server, call, asked).await,
                Elicit::Url(asked) => self.visit(server, call, (asked.message, asked.url)).await,
            };
            self.answered(call).await;
            said
        }
        .boxed()
    }

    fn sample<'a>(
        &'a self,
        server: &'a ServerName,
        call: Option<CallId>,
        asked: CreateMessage,
    ) -> BoxFuture<'a, Result<CreateMessageResult, Refused>> {
        async move {
            let said = self.model(server, call, asked).await;
            self.answered(call).await;
            said
        }
        .boxed()
    }

    fn roots<'a>(&'a self, server: &'a ServerName) -> BoxFuture<'a, ListRootsResult> {
        self.folders(server).map(|roots| ListRootsResult { roots }).boxed()
    }

    fn kept_round(&self, call: CallId, goes_on: bool) -> Option<InputRequiredResult> {
        let Round { asked, questions, .. } = self.options.rounds.get(&call)?.clone();
        if !goes_on {
            let run = &self.options.run;
            for number in (questions.saturating_add(1)..=MOST_QUESTIONS).take(persons(&asked)) {
                self.desk.settle(&format!("{run}.{}.{number}", call.0), "the call is another one by now");
            }
            return None;
        }
        let mut state = self.lock();
        state.questions.insert(call, questions);
        state.open.insert(call, persons(&asked));
        Some(asked)
    }

    fn input_required(&self, _: &ServerName, call: Option<CallId>, asked: &InputRequiredResult) {
        let Some(call) = call else { return };
        let (questions, open) = {
            let mut state = self.lock();
            let questions = state.questions.get(&call).copied().unwrap_or_default();
            let open = persons(asked);
            if open > 0 {
                state.open.insert(call, open);
            }
            (questions, open)
        };
        if open > 0 {
            // Before anybody is asked. The questions before it are counted, for the handles to stay the same.
            (self.options.keep)(call, Some(Round::new(asked.clone(), questions)));
        }
    }
}
