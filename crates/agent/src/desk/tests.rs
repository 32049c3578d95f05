//! The desk: who is asked, what they may answer, and whose answer counts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::json;
use switchboard_client::{CreateMessage, Elicit, ElicitAction, Refused};
use switchboard_llm::{ChatModel, ChatRequest, Finish, ModelEvent, ModelStream};
use switchboard_protocol::model::roots::Root;

use super::*;
use crate::journal::Memory;
use crate::name::{CallId, ServerName};
use crate::questions::Questions;

/// A model that repeats the last thing that it was told.
struct Echo;

impl ChatModel for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn chat(&self, request: ChatRequest) -> ModelStream {
        let said = format!("{:?}", request.messages.last().unwrap());
        let events = [ModelEvent::TextDelta(said), ModelEvent::Finish(Finish::Stop)];
        Box::pin(futures_util::stream::iter(events.map(Ok)))
    }
}

struct World {
    desk: Desk,
    run: Arc<RunDesk>,
    journal: Memory,
}

fn server() -> ServerName {
    ServerName::new("files").unwrap()
}

fn world(interactive: bool) -> World {
    let journal = Memory::default();
    let desk = Desk::new(Journal::new().with_sink(journal.clone()));
    let options = RunDeskOptions {
        run: "r1".into(),
        interactive,
        model: Some(Arc::new(Echo)),
        roots: [(server(), vec![Root { uri: "file:///work".to_owned(), ..Root::default() }])].into(),
        rounds: BTreeMap::new(),
        keep: Box::new(|_, _| true),
    };
    let told = Arc::new(Mutex::new(BTreeMap::new()));
    World { run: Arc::new(RunDesk::new(desk.clone(), told, options)), desk, journal }
}

/// How many questions are to be written down, how many are seen, and how many lines are in the journal, whenever
/// something is to be written down.
struct Book {
    desk: Desk,
    journal: Memory,
    pages: Arc<Mutex<Vec<[usize; 3]>>>,
}

impl DeskKeeper for Book {
    fn keep(&self, run: &RunId) {
        let (all, seen) = (self.desk.to_keep_of(run).len(), self.desk.pending_of(run).len());
        self.pages.lock().unwrap().push([all, seen, self.journal.entries().len()]);
    }

    fn changed(&self) {}
}

#[tokio::test]
async fn nobody_sees_a_question_that_is_not_written_down() {
    let World { desk, run, journal } = world(true);
    let pages = Arc::default();
    desk.kept_by(Book { desk: desk.clone(), journal, pages: Arc::clone(&pages) });
    let asked = tokio::spawn(async move { run.roots(&server()).await });
    let view = next(&desk).await;
    desk.answer(&view.id, Reply::Roots { allow: true }).unwrap();
    asked.await.unwrap();
    assert_eq!(*pages.lock().unwrap(), [[1, 0, 0], [0, 0, 2]]);
}

/// The next question, once it is there.
async fn next(desk: &Desk) -> PendingView {
    let mut changes = desk.changes();
    loop {
        if let Some(view) = desk.pending().into_iter().next() {
            return view;
        }
        changes.changed().await.unwrap();
    }
}

/// As text: fields are asked in the order in which they are written.
const FORM: &str = r#"{
    "mode": "form",
    "message": "Where to?\u202e",
    "requestedSchema": {"type": "object", "required": ["city", "nights"], "properties": {
        "city": {"type": "string", "minLength": 2},
        "nights": {"type": "integer", "minimum": 1, "default": 2},
        "mail": {"type": "string", "format": "email"},
        "smoker": {"type": "boolean"},
        "bed": {"type": "string", "enum": ["single", "double"]},
        "extras": {"type": "array", "items": {"type": "string", "enum": ["sea", "wifi"]}, "maxItems": 1}
    }}
}"#;

fn form() -> Elicit {
    serde_json::from_str(FORM).unwrap()
}

fn url(url: &str) -> Elicit {
    serde_json::from_value(json!({"mode": "url", "message": "Please log in", "url": url})).unwrap()
}

fn content(value: serde_json::Value) -> Reply {
    let serde_json::Value::Object(content) = value else { panic!("{value}") };
    Reply::Form { action: ElicitAction::Accept, content: Some(content) }
}

fn not_this(answered: Result<RunId, AnswerError>) -> String {
    match answered {
        Err(AnswerError::NotThis(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_form_takes_what_fits_every_field_and_fills_in_what_has_a_default() {
    let World { desk, run, journal } = world(true);
    let asked = tokio::spawn(async move { run.elicit(&server(), Some(CallId(3)), form()).await });
    let view = next(&desk).await;
    assert_eq!(view.id, "r1.3.1");
    let Question::Form { message, schema, .. } = &view.question else { panic!("{view:?}") };
    assert_eq!((message.as_str(), schema.properties.0[0].0.as_str()), ("Where to?\\u{202e}", "city"));
    for (wrong, why) in [
        (json!({}), "\"city\" is required"),
        (json!({"city": "X"}), "\"city\" must have at least 2"),
        (json!({"city": "Rome", "nights": 0}), "\"nights\" must be at least 1"),
        (json!({"city": "Rome", "nights": 1.5}), "\"nights\" must be an integer"),
        (json!({"city": "Rome", "mail": "nobody"}), "\"mail\" is no valid email"),
        (json!({"city": "Rome", "smoker": "no"}), "\"smoker\" must be true or false"),
        (json!({"city": "Rome", "bed": "king"}), "\"bed\" must be one of"),
        (json!({"city": "Rome", "extras": ["sea", "wifi"]}), "\"extras\" has 2 choices"),
        (json!({"city": "Rome", "other": 1}), "no field \"other\""),
    ] {
        let problem = not_this(desk.answer(&view.id, content(wrong)));
        assert!(problem.contains(why), "{problem:?} lacks {why:?}");
    }
    not_this(desk.answer(&view.id, Reply::Url { action: ElicitAction::Accept }));
    assert_eq!(desk.pending().len(), 1, "it still waits");
    desk.answer(&view.id, content(json!({"city": "Rome", "bed": "double"}))).unwrap();
    let told = asked.await.unwrap();
    assert_eq!(told.action, ElicitAction::Accept);
    let told = serde_json::Value::Object(told.content.unwrap());
    assert_eq!(told, json!({"city": "Rome", "bed": "double", "nights": 2}));
    assert_eq!(desk.answer(&view.id, content(json!({}))), Err(AnswerError::Taken("r1.3.1".to_owned())));
    let lines: Vec<_> = journal.entries().iter().filter_map(crate::journal::line).collect();
    assert!(lines[0].contains("question r1.3.1 waits: files asks the person for city, nights"), "{lines:?}");
    assert!(lines[1].ends_with("question r1.3.1 answered: accept"), "{lines:?}");
    assert_eq!(journal.entries()[1].run, Some("r1".into()));
}

#[tokio::test]
async fn a_question_is_declined_closed_or_withdrawn() {
    for (reply, action) in [
        (Reply::Form { action: ElicitAction::Decline, content: None }, ElicitAction::Decline),
        (Reply::Form { action: ElicitAction::Cancel, content: None }, ElicitAction::Cancel),
    ] {
        let World { desk, run, .. } = world(true);
        let asked = tokio::spawn(async move { run.elicit(&server(), None, form()).await });
        let view = next(&desk).await;
        assert_eq!(view.id, "r1.files.1");
        desk.answer(&view.id, reply).unwrap();
        assert_eq!(asked.await.unwrap().action, action);
    }
    let World { desk, run, journal } = world(true);
    let asked = tokio::spawn(async move { run.elicit(&server(), Some(CallId(1)), form()).await });
    let view = next(&desk).await;
    asked.abort();
    assert!(asked.await.unwrap_err().is_cancelled());
    assert!(desk.pending().is_empty());
    assert!(matches!(desk.answer(&view.id, content(json!({}))), Err(AnswerError::Unknown(_))));
    assert!(journal.entries().iter().any(|entry| matches!(
        &entry.event,
        crate::journal::Event::Authorization(Authorization::Withdrawn { request, .. }) if *request == view.id
    )));
}

#[tokio::test]
async fn an_address_is_shown_with_its_host_and_what_is_none_is_declined() {
    let World { desk, run, .. } = world(true);
    let asking = Arc::clone(&run);
    let address = "https://user@evil.example/login?next=bank.example";
    let asked = tokio::spawn(async move { asking.elicit(&server(), Some(CallId(1)), url(address)).await });
    let view = next(&desk).await;
    let Question::Url { host, url: shown, .. } = &view.question else { panic!("{view:?}") };
    assert_eq!((host.as_str(), shown.as_str()), ("evil.example", address));
    desk.answer(&view.id, Reply::Url { action: ElicitAction::Accept }).unwrap();
    let told = asked.await.unwrap();
    assert_eq!((told.action, told.content), (ElicitAction::Accept, None));
    for address in ["not an address", "javascript:alert(1)", "file:///etc/passwd"] {
        let told = run.elicit(&server(), Some(CallId(1)), url(address)).await;
        assert_eq!(told.action, ElicitAction::Decline, "{address}");
    }
}

fn sampling(text: &str, max_tokens: u64) -> CreateMessage {
    let messages = json!([{"role": "user", "content": {"type": "text", "text": text}}]);
    serde_json::from_value(json!({"messages": messages, "maxTokens": max_tokens})).unwrap()
}

#[tokio::test]
async fn a_server_asks_the_model_only_when_the_person_allows_this_very_request() {
    let World { desk, run, .. } = world(true);
    for allow in [true, false] {
        let asking = Arc::clone(&run);
        let asked = tokio::spawn(async move {
            asking.sample(&server(), Some(CallId(2)), sampling("Say hello", 1_000_000)).await
        });
        let view = next(&desk).await;
        let Question::Sampling { messages, max_tokens, digest, .. } = &view.question else {
            panic!("{view:?}")
        };
        assert_eq!((messages[0].text.as_str(), *max_tokens), ("Say hello", 4096));
        let other = crate::digest::Digest::of(&[]);
        not_this(desk.answer(&view.id, Reply::Sampling { digest: other, allow: true }));
        desk.answer(&view.id, Reply::Sampling { digest: *digest, allow }).unwrap();
        match asked.await.unwrap() {
            Ok(said) => {
                assert!(allow && said.model == "echo");
                assert!(serde_json::to_string(&said).unwrap().contains("Say hello"));
            }
            Err(Refused(why)) => assert!(!allow && why.contains("declined"), "{why}"),
        }
    }
    let image = json!([{"role": "user", "content": {"type": "image", "data": "", "mimeType": "image/png"}}]);
    let image = serde_json::from_value(json!({"messages": image, "maxTokens": 1})).unwrap();
    assert!(run.sample(&server(), None, image).await.is_err());
    let flood = sampling(&"x".repeat(1 << 20), 1);
    assert!(run.sample(&server(), None, flood).await.is_err());
    assert!(desk.pending().is_empty());
}

#[tokio::test]
async fn folders_are_told_once_they_are_allowed_and_not_asked_about_again() {
    let World { desk, run, .. } = world(true);
    let asking = Arc::clone(&run);
    let asked = tokio::spawn(async move { asking.roots(&server()).await });
    let view = next(&desk).await;
    assert_eq!(view.id, "r1.roots.files");
    desk.answer(&view.id, Reply::Roots { allow: true }).unwrap();
    assert_eq!(asked.await.unwrap().roots.len(), 1);
    assert_eq!(run.roots(&server()).await.roots.len(), 1);

    let World { desk, run, .. } = world(true);
    let asking = Arc::clone(&run);
    let asked = tokio::spawn(async move { asking.roots(&server()).await });
    desk.answer(&next(&desk).await.id, Reply::Roots { allow: false }).unwrap();
    assert!(asked.await.unwrap().roots.is_empty());
    assert!(run.roots(&server()).await.roots.is_empty());
}

#[tokio::test]
async fn two_calls_that_want_the_folders_ask_once() {
    for first_goes in [false, true] {
        let World { desk, run, journal } = world(true);
        let ask = || {
            let asking = Arc::clone(&run);
            tokio::spawn(async move { asking.roots(&server()).await })
        };
        let first = ask();
        next(&desk).await;
        let second = ask();
        tokio::task::yield_now().await;
        if first_goes {
            first.abort();
            tokio::task::yield_now().await;
        }
        desk.answer(&next(&desk).await.id, Reply::Roots { allow: true }).unwrap();
        assert_eq!(second.await.unwrap().roots.len(), 1);
        match first.await {
            Ok(told) => assert!(!first_goes && told.roots.len() == 1),
            Err(error) => assert!(first_goes && error.is_cancelled()),
        }
        let asked = journal.entries().iter().filter(|entry| entry.event.stage() == "authorization").count();
        assert_eq!(asked, if first_goes { 4 } else { 2 }, "asked, taken back, asked again, and answered");
    }
}

#[tokio::test]
async fn who_asks_no_more_takes_only_its_own_question_away() {
    let World { desk, .. } = world(true);
    let question = Question::Login { server: server(), hint: "Log in".to_owned() };
    let ask = || {
        let (desk, view) = (desk.clone(), view("q".to_owned(), &"r1".into(), question.clone()));
        tokio::spawn(async move { desk.ask(view).await })
    };
    let first = ask();
    next(&desk).await;
    let second = ask();
    assert_eq!(first.await.unwrap(), None, "another asks it now");
    assert_eq!(desk.pending().len(), 1);
    desk.answer("q", Reply::Login { done: true }).unwrap();
    assert_eq!(second.await.unwrap(), Some(Reply::Login { done: true }));
}

#[tokio::test]
async fn an_answer_before_the_run_asks_again_counts_for_what_was_shown_only() {
    let address = |url: &str| Question::Url {
        server: server(),
        call: Some(CallId(1)),
        message: "Please log in".to_owned(),
        url: url.to_owned(),
        host: "bank.example".to_owned(),
        hidden: false,
    };
    for (asked, counts) in [("https://bank.example/a", true), ("https://bank.example/b", false)] {
        let World { desk, .. } = world(true);
        let view = |question| view("q".to_owned(), &"r1".into(), question);
        desk.restore(vec![view(address("https://bank.example/a"))]);
        desk.answer("q", Reply::Url { action: ElicitAction::Accept }).unwrap();
        let asking = desk.clone();
        let asked = view(address(asked));
        let told = tokio::spawn(async move { asking.ask(asked).await });
        if !counts {
            assert_eq!(next(&desk).await.id, "q");
            desk.answer("q", Reply::Url { action: ElicitAction::Decline }).unwrap();
        }
        let action = if counts { ElicitAction::Accept } else { ElicitAction::Decline };
        assert_eq!(told.await.unwrap(), Some(Reply::Url { action }));
    }
}

#[tokio::test]
async fn handles_of_servers_differ_from_each_other_and_from_those_of_calls() {
    let mut ids = std::collections::BTreeSet::new();
    for name in ["a.b", "a-b", "a_b", "1", "roots"] {
        let World { desk, run, .. } = world(true);
        let asked = ServerName::new(name).unwrap();
        let asked = tokio::spawn(async move { run.elicit(&asked, None, form()).await });
        let id = next(&desk).await.id;
        assert!(id != "r1.1.1" && !id.starts_with("r1.roots."), "{id}");
        assert!(ids.insert(id));
        asked.abort();
    }
}

#[tokio::test]
async fn where_nobody_can_be_asked_everything_is_declined_at_once() {
    let World { desk, run, .. } = world(false);
    assert_eq!(run.elicit(&server(), None, form()).await.action, ElicitAction::Decline);
    assert!(run.sample(&server(), None, sampling("x", 1)).await.is_err());
    assert!(run.roots(&server()).await.roots.is_empty());
    assert!(desk.pending().is_empty());
}

#[tokio::test]
async fn a_call_that_asks_without_end_is_cut_off() {
    let World { desk, run, .. } = world(true);
    for _ in 0..64 {
        let asking = Arc::clone(&run);
        let asked = tokio::spawn(async move { asking.elicit(&server(), Some(CallId(1)), form()).await });
        let decline = Reply::Form { action: ElicitAction::Decline, content: None };
        desk.answer(&next(&desk).await.id, decline).unwrap();
        asked.await.unwrap();
    }
    assert_eq!(run.elicit(&server(), Some(CallId(1)), form()).await.action, ElicitAction::Cancel);
}

const SECRET: &str = "c4nary-S3cret";

/// A form of a server that repeats what it was given.
fn repeating() -> Elicit {
    let fields = json!({
        "user": {"type": "string", "title": format!("Not {SECRET}?"), "default": SECRET},
        "note": {"type": "string", "default": SECRET},
        "one": {"type": "string", "enum": ["a", SECRET]},
        "bearer": {"type": "string", "default": "password"},
    });
    let schema = json!({"type": "object", "required": ["user"], "properties": fields});
    serde_json::from_value(json!({"mode": "form", "message": "Who?", "requestedSchema": schema})).unwrap()
}

#[tokio::test]
async fn what_stands_in_the_place_of_a_secret_is_no_answer_to_a_form() {
    for (filled, sent) in [
        (json!({"user": "me"}), Some(json!({"user": "me", "bearer": "password"}))),
        (json!({"user": "me", "one": "a"}), Some(json!({"user": "me", "one": "a", "bearer": "password"}))),
        (json!({"user": "me", "one": "***"}), None),
    ] {
        let World { desk, run, journal } = world(true);
        desk.0.journal.mask(SECRET);
        let asked = tokio::spawn(async move { run.elicit(&server(), Some(CallId(1)), repeating()).await });
        let view = next(&desk).await;
        let shown = serde_json::to_string(&view).unwrap();
        assert!(
            !shown.contains(SECRET) && shown.contains("Not ***?") && view.question.hides_secret(),
            "{shown}"
        );
        assert!(!serde_json::to_string(&journal.entries()).unwrap().contains(SECRET));
        assert!(not_this(desk.answer(&view.id, content(json!({})))).contains("\"user\" is required"));
        desk.answer(&view.id, content(filled)).unwrap();
        assert_eq!(asked.await.unwrap().content.map(serde_json::Value::Object), sent);
    }
}

#[tokio::test]
async fn a_question_to_the_model_is_shown_as_it_will_be_asked() {
    let text = "Repeat: bearer hunter22, sk-0123456789abcdef, {\"password\":\"p\"}";
    for (text, shown) in [(text.to_owned(), text), (format!("Say {SECRET}"), "Say ***")] {
        let World { desk, run, journal } = world(true);
        desk.0.journal.mask(SECRET);
        let asking = text.clone();
        let asked =
            tokio::spawn(async move { run.sample(&server(), Some(CallId(2)), sampling(&asking, 9)).await });
        let view = next(&desk).await;
        let Question::Sampling { messages, digest, hidden, .. } = &view.question else { panic!("{view:?}") };
        assert_eq!((messages[0].text.as_str(), *hidden), (shown, shown != text));
        let asks = |event: &crate::journal::Event| matches!(event, crate::journal::Event::Authorization(Authorization::Requested { question, .. }) if **question == view.question);
        assert!(journal.entries().iter().any(|entry| asks(&entry.event)));
        desk.answer(&view.id, Reply::Sampling { digest: *digest, allow: true }).unwrap();
        assert!(asked.await.unwrap().is_ok());
    }
}

#[test]
fn a_round_that_was_masked_is_not_whole() {
    let round = |state: &str| {
        let asked = json!({"resultType": "input_required", "requestState": state, "inputRequests": {}});
        Round::new(serde_json::from_value(asked).unwrap(), 1)
    };
    for (state, whole) in [("abc", true), ("***", true), (SECRET, false)] {
        let journal = Journal::new();
        journal.mask(SECRET);
        let kept = journal.masked_json(serde_json::to_string(&round(state)).unwrap());
        assert_eq!(serde_json::from_str::<Round>(&kept).unwrap().is_whole(), whole, "{kept}");
    }
}
