//! A disk that is full from some write on, or for one write alone: nothing leaves that could not be told of later.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use switchboard_client::ElicitAction;
use switchboard_server::{Call, Elicited, Need, Question as Asks, ToolError};

use super::*;
use crate::desk::Question;
use crate::store::StoreError;
use crate::supervisor::{ServerConfig, Supervisor, SupervisorOptions};

/// Keeps in memory what is not among the writes that fail.
struct Full {
    kept: MemoryStore,
    written: AtomicUsize,
    fails: Mutex<Range<usize>>,
    /// How far runs were, each time that was written.
    runs: Mutex<Vec<Option<String>>>,
}

impl Full {
    fn failing(fails: Range<usize>) -> Arc<Self> {
        let (written, runs) = (AtomicUsize::default(), Mutex::default());
        Arc::new(Self { kept: MemoryStore::default(), written, fails: Mutex::new(fails), runs })
    }

    fn write(&self) -> Result<&MemoryStore, StoreError> {
        let number = self.written.fetch_add(1, Ordering::SeqCst);
        let fails = self.fails.lock().unwrap().contains(&number);
        if fails { Err(StoreError::new("the disk is full")) } else { Ok(&self.kept) }
    }
}

impl Store for Full {
    fn document(&self, kind: &str, key: &str) -> Result<Option<String>, StoreError> {
        self.kept.document(kind, key)
    }

    fn documents(&self, kind: &str) -> Result<Vec<(String, String)>, StoreError> {
        self.kept.documents(kind)
    }

    fn put_document(&self, kind: &str, key: &str, text: Option<&str>) -> Result<(), StoreError> {
        self.write()?.put_document(kind, key, text)
    }

    fn sessions(&self) -> Result<Vec<SessionRecord>, StoreError> {
        self.kept.sessions()
    }

    fn listed(&self, limit: usize) -> Result<Vec<(SessionRecord, Option<RunStatus>)>, StoreError> {
        self.kept.listed(limit)
    }

    fn session(&self, id: &str) -> Result<Option<SessionRecord>, StoreError> {
        self.kept.session(id)
    }

    fn put_session(&self, session: &SessionRecord) -> Result<(), StoreError> {
        self.write()?.put_session(session)
    }

    fn remove_session(&self, id: &str) -> Result<(), StoreError> {
        self.write()?.remove_session(id)
    }

    fn hold(&self, session: &str) -> Result<(), StoreError> {
        self.kept.hold(session)
    }

    fn release(&self, session: &str) {
        self.kept.release(session);
    }

    fn append(&self, session: &str, entry: &Entry) -> Result<(), StoreError> {
        self.write()?.append(session, entry)
    }

    fn last_seq(&self, session: &str) -> Result<u64, StoreError> {
        self.kept.last_seq(session)
    }

    fn entries(&self, session: &str, after: u64, limit: usize) -> Result<Vec<Entry>, StoreError> {
        self.kept.entries(session, after, limit)
    }

    fn put_run(&self, run: &RunRecord) -> Result<(), StoreError> {
        self.runs.lock().unwrap().push(run.turn.clone());
        self.write()?.put_run(run)
    }

    fn run(&self, id: &str) -> Result<Option<RunRecord>, StoreError> {
        self.kept.run(id)
    }

    fn runs(&self, session: &str) -> Result<Vec<RunRecord>, StoreError> {
        self.kept.runs(session)
    }

    fn run_with_key(&self, idempotency_key: &str) -> Result<Option<RunRecord>, StoreError> {
        self.kept.run_with_key(idempotency_key)
    }

    fn put_artefact(&self, artefact: &ArtefactRecord, bytes: &[u8]) -> Result<(), StoreError> {
        self.write()?.put_artefact(artefact, bytes)
    }

    fn share_artefact(&self, session: &str, id: &str) -> Result<(), StoreError> {
        self.write()?.share_artefact(session, id)
    }

    fn artefact(&self, id: &str) -> Result<Option<ArtefactRecord>, StoreError> {
        self.kept.artefact(id)
    }

    fn artefact_of(&self, session: &str, id: &str) -> Result<Option<ArtefactRecord>, StoreError> {
        self.kept.artefact_of(session, id)
    }

    fn artefacts(&self, session: &str) -> Result<Vec<ArtefactRecord>, StoreError> {
        self.kept.artefacts(session)
    }

    fn artefact_bytes(&self, id: &str, offset: u64, length: usize) -> Result<Vec<u8>, StoreError> {
        self.kept.artefact_bytes(id, offset, length)
    }
}

/// A model that makes the same calls at first, and then is content.
pub(super) struct Calls(pub(super) Asked);

impl Selector for Calls {
    fn name(&self) -> &str {
        "calls"
    }

    fn select(&self, step: Step) -> BoxStream<'_, Result<Selected, AgentError>> {
        let events = if step.number == 1 { calls(self.0) } else { say("Done.") };
        stream::iter(events.into_iter().map(|event| Ok(Selected::Event(event)))).boxed()
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sure {
    #[expect(dead_code, reason = "what is said makes no difference")]
    sure: bool,
}

impl<S: Sync> Asks<S> for Sure {
    async fn need(_: &Call, _: &S) -> Result<Need<Self>, ToolError> {
        Ok(Need::Ask("Sure?".into()))
    }
}

/// How often each tool was executed.
#[derive(Clone, Default)]
pub(super) struct Made(Arc<[AtomicUsize; 2]>);

impl Made {
    pub(super) fn server(&self) -> Server {
        let (plain, sure) = (self.clone(), self.clone());
        let plain = Tool::new("plain", move || std::future::ready(plain.count(0)));
        let sure = Tool::new("sure", move |_: Elicited<Sure>| std::future::ready(sure.count(1)));
        Server::builder("orders", "1.0").tool(plain).tool(sure).build(()).unwrap()
    }

    fn count(&self, tool: usize) -> &'static str {
        self.0[tool].fetch_add(1, Ordering::SeqCst);
        "Ordered."
    }

    pub(super) fn now(&self) -> [usize; 2] {
        [0, 1].map(|tool| self.0[tool].load(Ordering::SeqCst))
    }
}

pub(super) type Asked = &'static [(&'static str, &'static str)];

/// A host with one server, which is configured as `hash`; not configured, where that is empty.
pub(super) async fn orders(
    (server, hash): (&Server, &str),
    policy: Policy,
    (asked, store): (Asked, Arc<dyn Store>),
) -> Host {
    let server = ServerConfig::in_process(name("orders"), server.clone());
    let supervisor = Supervisor::new(SupervisorOptions::default());
    supervisor.start(vec![match hash {
        "" => server,
        _ => ServerConfig { hash: hash.to_owned(), origin: "a file".to_owned(), ..server },
    }]);
    supervisor.ready(Duration::from_secs(60)).await.unwrap();
    Host::builder(OneModel(ModelChoice::other(Calls(asked))))
        .supervisor(supervisor)
        .policy(policy)
        .store(store)
        .build()
}

/// The form, filled in.
pub(super) fn sure() -> Reply {
    let content = serde_json::from_value(serde_json::json!({"sure": true})).unwrap();
    Reply::Form { action: ElicitAction::Accept, content }
}

/// Says yes to everything until the run is over. Gives the tools whose calls were asked about, too.
async fn agreed(session: &Session, run: &RunId) -> (RunView, Vec<String>) {
    let mut asked = Vec::new();
    loop {
        let enough = |view: &RunView| !view.requests.is_empty() || view.status.is_over();
        let view = session.until(run, enough).await.unwrap();
        let Some(request) = view.requests.first() else { return (view, asked) };
        let reply = match &request.question {
            Question::Approval(approval) => {
                asked.push(approval.tool.clone());
                Reply::Approval { digest: approval.digest, choice: Choice::AllowOnce, rule: None }
            }
            Question::Form { .. } => sure(),
            other => panic!("{other:?}"),
        };
        // Whoever is late has been answered by the end of the run.
        let _ = session.answer(&request.id, reply);
    }
}

/// Asks on a disk on which these writes fail, then makes room and goes on in another process. Whether a write failed.
fn check(mode: Mode, asked: Asked, fails: Range<usize>) -> bool {
    let case = format!("{mode:?} {asked:?} {fails:?}");
    let made = Made::default();
    let server = made.server();
    let store = Full::failing(fails.clone());
    let host = || orders((&server, "one"), Policy::new(mode), (asked, Arc::clone(&store) as _));
    let before = process(async {
        let session = host().await.open(interactive()).unwrap();
        match session.ask(RunRequest::new("Order")) {
            Ok(run) => Some(agreed(&session, &run).await.0),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Storage, "{case}");
                None
            }
        }
    });
    let has_failed = store.written.load(Ordering::SeqCst) > fails.start;
    *store.fails.lock().unwrap() = 0..0;
    let Some(before) = before else { return true };
    if before.status != RunStatus::Finished || fails.end == usize::MAX {
        let code = before.outcome.error.map(|error| error.code);
        assert_eq!(code.as_deref(), has_failed.then_some("storage"), "{case}");
    }
    let left = made.now();
    if !store.run(before.id.as_str()).unwrap().unwrap().status.is_over() {
        let (after, asked_again) = process(async {
            let session = host().await.session_of(&before.id).unwrap();
            session.resume();
            agreed(&session, &before.id).await
        });
        assert_eq!(after.status, RunStatus::Finished, "{case}: {after:?}");
        for call in &after.outcome.calls {
            let is_made = left[usize::from(call.tool == "sure")] > 0;
            assert!(
                !(is_made && asked_again.contains(&call.tool)),
                "{case}: {} is asked about again",
                call.tool
            );
            let status = call.status.as_str();
            assert!(matches!(status, "ok" | "unknown"), "{case}: {call:?}");
        }
    }
    assert!(made.now().iter().all(|&times| times <= 1), "{case}: {:?} then {:?}", left, made.now());
    has_failed
}

pub(super) const PLAIN: (&str, &str) = ("orders__plain", "{}");
pub(super) const SURE: (&str, &str) = ("orders__sure", "{}");

#[test]
fn no_call_is_made_that_could_not_be_told_of_later() {
    let (asks, yes) = (Mode::Interactive, Mode::Yes);
    for (mode, asked) in [(asks, &[SURE][..]), (asks, &[PLAIN, SURE]), (yes, &[PLAIN])] {
        let mut first = 0;
        while check(mode, asked, first..usize::MAX) {
            check(mode, asked, first..first + 1);
            first += 1;
        }
        assert!(first > 10, "{mode:?} {asked:?}: {first} writes");
    }
}

#[tokio::test]
async fn a_run_that_ended_for_want_of_room_has_ended_once_there_is_room() {
    let (made, mut first, mut has_failed) = (Made::default(), 0, true);
    let server = made.server();
    while has_failed {
        let store = Full::failing(first..usize::MAX);
        let policy = Policy::new(Mode::Interactive);
        let session = orders((&server, "one"), policy, (&[PLAIN], Arc::clone(&store) as _)).await;
        let session = session.open(interactive()).unwrap();
        let asked = session.ask(RunRequest::new("Order"));
        if let Ok(run) = &asked {
            agreed(&session, run).await;
        }
        has_failed = store.written.load(Ordering::SeqCst) > first;
        *store.fails.lock().unwrap() = 0..0;
        let next = session.ask(RunRequest::new("Order")).unwrap();
        assert_eq!(agreed(&session, &next).await.0.status, RunStatus::Finished, "{first}");
        for run in store.runs(session.id()).unwrap() {
            assert!(run.status.is_over(), "{first}: {run:?}");
        }
        first += 1;
    }
}

#[tokio::test]
async fn a_run_that_has_not_changed_is_not_written_again() {
    let (made, store) = (Made::default(), Full::failing(0..0));
    let server = made.server();
    let host = orders((&server, "one"), Policy::new(Mode::Yes), (&[PLAIN], Arc::clone(&store) as _)).await;
    let session = host.open(interactive()).unwrap();
    let run = session.ask(RunRequest::new("Order")).unwrap();
    agreed(&session, &run).await;
    let mut kept = store.runs.lock().unwrap().clone();
    // The end writes once more, to take what waits off the desk.
    assert_eq!(kept.pop(), Some(None));
    kept.pop();
    let without_time = |text: String| {
        let mut progress: serde_json::Value = serde_json::from_str(&text).unwrap();
        progress["turn"]["active_ms"] = 0.into();
        progress
    };
    let kept: Vec<_> = kept.into_iter().map(|text| text.map(without_time)).collect();
    assert!(kept.windows(2).all(|pair| pair[0] != pair[1]), "{kept:#?}");
}
