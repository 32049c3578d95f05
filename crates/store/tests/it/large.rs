//! Results of many megabytes: what they cost the model and the host, and what can be read of them afterwards.
//!
//! Host and server are this very program, running the tests `host` and `server` with a part in their environment, so
//! that what each of them holds can be told apart.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use switchboard_agent::host::{ModelChoice, OneModel};
use switchboard_agent::policy::{Mode, Policy};
use switchboard_agent::store::Store;
use switchboard_agent::supervisor::{Secret, ServerConfig, ServerTarget, Supervisor, SupervisorOptions};
use switchboard_agent::turn::Step;
use switchboard_agent::{
    AgentError, Host, Limits, RunRequest, Selected, Selector, ServerName, SessionOptions,
};
use switchboard_llm::{Finish, Message, ModelEvent, ToolCallRequest};
use switchboard_server::{Server, Tool};

use crate::support::sqlite;

const PART: &str = "SWITCHBOARD_TEST_LARGE_PART";
const FOLDER: &str = "SWITCHBOARD_TEST_LARGE_FOLDER";
const URL: &str = "SWITCHBOARD_TEST_LARGE_URL";
const BYTES: &str = "SWITCHBOARD_TEST_LARGE_BYTES";

/// One line of the text, which a JSON string cannot hold as it is.
const LINE: &str = "a line of text, \"é\"\n";

/// Longer than anything takes on any machine.
const PATIENCE: Duration = Duration::from_secs(3600);

/// The most memory that a host may have used.
const MOST_KB: u64 = 200 * 1024;

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn is(part: &str) -> bool {
    env(PART) == part
}

fn bytes() -> usize {
    env(BYTES).parse().unwrap()
}

/// A text of this size, with something to find near its end.
fn text(bytes: usize) -> String {
    let mut text = LINE.repeat(bytes / LINE.len());
    text.truncate(text.len() - LINE.len());
    text.push_str("NEEDLE\n");
    text
}

fn big(bytes: usize) -> Server {
    let give = move || async move { text(bytes) };
    Server::builder("big", "1.0").tool(Tool::new("give", give).describe("Gives much")).build(()).unwrap()
}

#[tokio::test]
async fn server() {
    if is("server") {
        println!();
        big(bytes()).serve_stdio().await.unwrap();
    }
}

/// A model that asks for the text, searches it, reads a part of it, and says what it was told.
#[derive(Default)]
struct Reader(Mutex<Vec<String>>);

impl Selector for Reader {
    fn name(&self) -> &str {
        "reader"
    }

    fn select(&self, step: Step) -> BoxStream<'_, Result<Selected, AgentError>> {
        let mut told = self.0.lock().unwrap();
        if let Some(Message::Tool { text, .. }) = step.request.messages.last() {
            told.push(text.clone());
        }
        let id = told.first().and_then(|text| text.split("kept as ").nth(1)).and_then(|rest| rest.get(..12));
        let call = |name: &str, arguments: String| {
            let request = ToolCallRequest::new("", name, arguments);
            vec![ModelEvent::CallEnd { call: 0, request }, ModelEvent::Finish(Finish::ToolCalls)]
        };
        let events = match (told.len(), id) {
            (0, _) => call("big__give", "{}".to_owned()),
            (1, Some(id)) => {
                call("switchboard__search_artefact", format!(r#"{{"id":"{id}","pattern":"NEEDLE"}}"#))
            }
            (2, Some(id)) => {
                let range = format!(r#"{{"id":"{id}","offset":{},"length":100}}"#, LINE.len() * 1000);
                call("switchboard__read_artefact", range)
            }
            _ => {
                let said = serde_json::to_string(&*told).unwrap();
                vec![ModelEvent::TextDelta(said), ModelEvent::Finish(Finish::Stop)]
            }
        };
        stream::iter(events.into_iter().map(|event| Ok(Selected::Event(event)))).boxed()
    }
}

fn target() -> ServerTarget {
    if !env(URL).is_empty() {
        return ServerTarget::Http { url: env(URL), headers: Vec::new() };
    }
    let program = std::env::current_exe().unwrap().to_string_lossy().into_owned();
    ServerTarget::Command {
        program,
        args: ["--exact", "large::server", "--nocapture"].map(str::to_owned).to_vec(),
        env: vec![(PART.to_owned(), Secret::new("server")), (BYTES.to_owned(), Secret::new(env(BYTES)))],
        env_remove: Vec::new(),
        cwd: None,
    }
}

/// Asks the question, and says what the model was told and how much memory that took at most.
#[tokio::test(flavor = "multi_thread")]
async fn host() {
    if !is("host") {
        return;
    }
    let store: Arc<dyn Store> = Arc::new(sqlite(env(FOLDER).as_ref()));
    let mut options = SupervisorOptions::default();
    options.store = Arc::clone(&store);
    let supervisor = Supervisor::new(options);
    let mut server = ServerConfig::new(ServerName::new("big").unwrap(), target());
    // This is about memory: it may take as long as it takes on this machine.
    (server.idle_timeout, server.hard_timeout) = (Some(PATIENCE), Some(PATIENCE));
    supervisor.start(vec![server]);
    let host = Host::builder(OneModel(ModelChoice::other(Reader::default())))
        .supervisor(supervisor.clone())
        .policy(Policy::new(Mode::Yes))
        .store(Arc::clone(&store))
        .build();
    let session = host.open(SessionOptions::default()).unwrap();
    let run = session.ask(RunRequest::new("Give me much")).unwrap();
    let over = session.ended(&run).await.unwrap();
    supervisor.close().await;
    let kept = store.artefacts(session.id()).unwrap();
    let kept = kept.iter().filter(|artefact| artefact.call.is_some()).map(|artefact| artefact.bytes).max();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches("kB").trim().parse().unwrap();
    let answer = over.outcome.answer.as_deref().unwrap_or_else(|| panic!("no answer: {:?}", over.outcome));
    let told: Vec<String> = serde_json::from_str(answer).unwrap();
    println!("\nRESULT {}", serde_json::json!({ "told": told, "peak_kb": peak, "kept": kept }));
}

#[derive(serde::Deserialize)]
struct Seen {
    told: Vec<String>,
    peak_kb: u64,
    kept: Option<u64>,
}

fn hosted(bytes: usize, url: &str) -> Seen {
    let folder = tempfile::tempdir().unwrap();
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "large::host", "--nocapture"])
        .envs([(PART, "host"), (BYTES, &bytes.to_string()), (URL, url)])
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let result = said
        .lines()
        .find_map(|line| line.strip_prefix("RESULT "))
        .unwrap_or_else(|| panic!("{said}\n{}", String::from_utf8_lossy(&ran.stderr)));
    serde_json::from_str(result).unwrap()
}

/// The same with a server over HTTP, in this process.
async fn over_http(bytes: usize) -> Seen {
    let serving = big(bytes).http().bind("127.0.0.1:0").await.unwrap();
    let url = serving.url();
    let seen = tokio::task::spawn_blocking(move || hosted(bytes, &url)).await.unwrap();
    drop(serving);
    seen
}

fn check_read(seen: &Seen, bytes: usize, how: &str) {
    let [given, found, part] = &seen.told[..] else { panic!("{how}: {:?}", seen.told) };
    let limits = Limits::default();
    assert!(given.len() < limits.result_bytes + 1000, "{how}: {}", given.len());
    assert!(given.starts_with(LINE) && given.contains("NEEDLE"), "{how}: head and tail are given");
    assert_eq!(seen.kept, Some(text(bytes).len() as u64), "{how}");
    assert!(found.contains("matches 1") && found.contains("NEEDLE"), "{how}: {found}");
    assert!(part.contains(&LINE.repeat(4)), "{how}: {part}");
    assert!(seen.peak_kb < MOST_KB, "{how}: the host used {} kB", seen.peak_kb);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_megabytes_cost_the_model_its_budget_and_the_host_little_and_can_be_read() {
    const BYTES: usize = 50 * 1000 * 1000;
    check_read(&hosted(BYTES, ""), BYTES, "stdio");
    check_read(&over_http(BYTES).await, BYTES, "http");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_megabytes_are_refused_in_clear_words_and_the_run_goes_on() {
    const BYTES: usize = 100 * 1000 * 1000;
    for (how, seen) in [("stdio", hosted(BYTES, "")), ("http", over_http(BYTES).await)] {
        let [told] = &seen.told[..] else { panic!("{how}: {:?}", seen.told) };
        assert!(told.contains("reached a limit") && told.contains("67108864"), "{how}: {told}");
        assert!(seen.peak_kb < MOST_KB && seen.kept.is_none(), "{how}: {} kB", seen.peak_kb);
    }
}
