//! Pipes: a server in memory, and children that start, end, crash and are started again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use switchboard_client::{
    Change, ChildCommand, ClientBuilder, Delivery, Direction, Era, Limits, SubscriptionFilter,
};

use crate::support::{answer, builder, discovered, pipe_server, text_result};

#[tokio::test]
async fn a_call_over_a_pipe_needs_no_listing_and_is_seen_by_the_tap() {
    let (pipe, heard) = pipe_server(|message| {
        Some(match message["method"].as_str() {
            Some("server/discover") => vec![answer(message, &discovered())],
            Some("tools/call") => vec![answer(message, &text_result("done"))],
            _ => vec![],
        })
    });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let client = builder()
        .on_wire(move |message| log.lock().unwrap().push(message.direction))
        .pipe(pipe)
        .await
        .unwrap();
    client.call("f", &json!({"a": 1})).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [Direction::Sent, Direction::Received].repeat(2));
    for message in heard.lock().unwrap().iter() {
        switchboard_testkit::wire::check_client_message(message.to_string().as_bytes());
    }
    client.close().await;
    assert!(client.call("f", &()).await.unwrap_err().is_cancelled());
}

/// What some servers write in place of an answer.
const BROKEN: [&str; 3] = [
    r#"{"jsonrpc":"2.0","id":$id,"result":{"ttlMs":NaN}}"#,
    r#"{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"te"#,
    r#"[{"jsonrpc":"2.0","id":$id,"result":{}}]"#,
];

#[tokio::test(start_paused = true)]
async fn what_is_no_message_in_place_of_an_answer_ends_the_request_at_once_and_says_why() {
    for (broken, method) in
        BROKEN.iter().flat_map(|broken| ["server/discover", "tools/call"].map(|m| (broken, m)))
    {
        let (pipe, _) = pipe_server(move |message| {
            if message["method"] == method {
                let broken = broken.replace("$id", &message["id"].to_string());
                return Some(vec!["id: 1 {".into(), broken.into()]);
            }
            Some(vec![answer(message, &discovered())])
        });
        let started = tokio::time::Instant::now();
        let error = match builder().pipe(pipe).await {
            Ok(client) => client.call("f", &()).await.unwrap_err(),
            Err(error) => error,
        };
        assert!(error.is_server_fault() && started.elapsed() < Duration::from_secs(1), "{error}");
        let why = if broken.starts_with('[') { "Batches are not part" } else { "not valid JSON: " };
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[tokio::test]
async fn an_error_to_the_probe_is_legacy_and_a_modern_one_is_not() {
    for (code, legacy) in [(-32601, true), (-32602, true), (-32000, true), (-32021, false)] {
        let (pipe, _) = pipe_server(move |message| {
            Some(vec![
                json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": "no"}}),
            ])
        });
        let error = builder().era(Era::Modern).pipe(pipe).await.unwrap_err();
        assert_eq!(error.is_legacy(), legacy, "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_silent_is_given_its_time() {
    let (pipe, _) = pipe_server(|_| Some(vec![]));
    let mut limits = Limits::default();
    limits.connect_time = Duration::from_secs(9);
    let started = tokio::time::Instant::now();
    let error = builder().era(Era::Modern).limits(limits).pipe(pipe).await.unwrap_err();
    assert!(!error.is_legacy() && error.is_silent(), "{error}");
    assert!(error.to_string().contains("it answered nothing within 9 s; if it is still starting"), "{error}");
    assert_eq!(started.elapsed(), Duration::from_secs(9));
}

#[tokio::test(start_paused = true)]
async fn a_subscription_over_a_pipe_ends_with_the_pipe() {
    let (pipe, _) = pipe_server(|message| {
        let subscribed = |method: &str| {
            json!({"jsonrpc": "2.0", "method": method, "params": {"notifications": {"toolsListChanged": true},
                   "_meta": {"io.modelcontextprotocol/subscriptionId": message["id"]}}})
        };
        match message["method"].as_str() {
            Some("server/discover") => Some(vec![answer(message, &discovered())]),
            Some("subscriptions/listen") => Some(vec![
                subscribed("notifications/subscriptions/acknowledged"),
                subscribed("notifications/tools/list_changed"),
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": message["id"]}}),
            ]),
            _ => None,
        }
    });
    let client = builder().pipe(pipe).await.unwrap();
    let mut changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
    let heard = [changes.next().await, changes.next().await, changes.next().await];
    assert_eq!(heard, [Some(Change::Tools), Some(Change::Resync), Some(Change::Tools)]);
    client.close().await;
    while changes.next().await.is_some() {}
    assert!(changes.failure().unwrap().is_cancelled());
}

/// A shell script that answers each line by its method, as `case` arms.
fn script(arms: &str) -> ChildCommand {
    let discovered = discovered().to_string();
    let text = format!(
        r#"answer() {{ id=${{line#*\"id\":}}; id=${{id%%,*}}; printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
while IFS= read -r line; do case $line in
*server/discover*) answer '{discovered}';;
{arms}
esac; done"#
    );
    ChildCommand::new("sh").args(["-c", &text])
}

const DONE: &str = r#"answer '{"resultType":"complete","content":[]}'"#;

#[tokio::test]
async fn a_child_is_called_and_leaves_in_order() {
    let client = builder().child(script(&format!("*tools/call*) {DONE};;"))).await.unwrap();
    client.call("f", &()).await.unwrap();
    client.close().await;
    assert!(client.call("f", &()).await.unwrap_err().is_cancelled());
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let error = builder().command("switchboard-no-such-program", ["--x"]).await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::NotSent);
    assert!(error.to_string().contains("switchboard-no-such-program"), "{error}");
    assert!(!error.is_legacy(), "{error}");
}

#[tokio::test]
async fn a_child_that_dies_at_once_shows_what_it_said() {
    let child = ChildCommand::new("sh").args(["-c", "read line; echo 'no module named x' >&2; exit 3"]);
    let error = builder().child(child).await.unwrap_err();
    assert!(error.to_string().contains("no module named x"), "{error}");
}

#[tokio::test]
async fn a_crashed_child_is_started_again_for_the_next_request() {
    check_crash(builder()).await;
    // Somebody who listens sees the same.
    check_crash(builder().on_wire(|_| {})).await;
}

async fn check_crash(builder: ClientBuilder) {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("crashed");
    let arms = format!(
        "*tools/call*) if [ -e {0} ]; then {DONE}; else : > {0}; echo 'out of cheese' >&2; exit 7; fi;;",
        marker.display()
    );
    let client = builder.child(script(&arms)).await.unwrap();
    let error = client.call("f", &()).await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::MaybeExecuted, "{error}");
    for shown in ["exit status: 7", "out of cheese"] {
        assert!(error.to_string().contains(shown), "{error}");
    }
    // Not repeated by itself, since it may have been executed; the next one finds a new child.
    client.call("f", &()).await.unwrap();
    client.close().await;
}

#[tokio::test]
async fn a_subscription_is_opened_again_on_the_next_child() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("crashed");
    let said = |method: &str, params: &str| {
        format!(
            r#"printf '{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":%s}}{params}}}}}\n' "$id""#
        )
    };
    let arms = format!(
        r#"*subscriptions/listen*) id=${{line#*\"id\":}}; id=${{id%%,*}}; {}; if [ -e {marker} ]; then {}; fi;;
*tools/call*) : > {marker}; exit 7;;"#,
        said("subscriptions/acknowledged", r#","notifications":{"toolsListChanged":true}"#),
        said("tools/list_changed", ""),
        marker = marker.display(),
    );
    let mut limits = Limits::default();
    limits.reconnect_wait = Duration::from_millis(1);
    let client = builder().limits(limits).child(script(&arms)).await.unwrap();
    let mut changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
    client.call("f", &()).await.unwrap_err();
    // What changed while nobody listened is not known, so it is said that something may have.
    assert_eq!([changes.next().await, changes.next().await], [Some(Change::Resync), Some(Change::Tools)]);
    client.close().await;
}

#[tokio::test]
async fn a_read_survives_a_crash_and_restarts_are_bounded() {
    let arms = r#"*resources/read*) exit 7;;"#;
    let mut limits = Limits::default();
    limits.restarts = 2;
    let client = builder().limits(limits).child(script(arms)).await.unwrap();
    let failures = AtomicUsize::new(0);
    loop {
        let error = client.read("x://1").await.unwrap_err();
        failures.fetch_add(1, Ordering::Relaxed);
        assert!(error.is_unreachable(), "{error}");
        if error.to_string().contains("within a minute") {
            assert_eq!(error.delivery(), Delivery::NotSent);
            break;
        }
        assert!(failures.load(Ordering::Relaxed) < 4);
    }
    client.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_subscription_ends_when_its_pipe_cannot_come_back() {
    let (pipe, _) = pipe_server(|message| match message["method"].as_str() {
        Some("server/discover") => Some(vec![answer(message, &discovered())]),
        Some("subscriptions/listen") => {
            Some(vec![json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                "params": {"notifications": {"toolsListChanged": true},
                           "_meta": {"io.modelcontextprotocol/subscriptionId": message["id"]}}})])
        }
        _ => None,
    });
    let client = builder().pipe(pipe).await.unwrap();
    let mut changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
    let error = client.call("f", &()).await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::MaybeExecuted, "{error}");
    assert_eq!(changes.next().await, None);
    let failure = changes.failure().unwrap();
    assert!(failure.is_unreachable() && failure.to_string().contains("cannot be opened again"), "{failure}");
}
