//! How a client finds out that it needs a session: over a pipe, by the table of evidence, and from a verdict.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use switchboard_client::{ChildCommand, Client, Delivery, Era, EraVerdict, Error, Limits, Revision};
use switchboard_testkit::scripted_http::{Reply, ScriptedHttp};
use tokio::time::Instant;

use super::http::handshake;
use super::peer::{DATES, NEWEST, described, error, pass, peer, result, session};
use crate::support::{answer, builder, discovered, tool};

fn revision(date: &str) -> Revision {
    Revision::from_date(date).unwrap()
}

pub(super) fn unsupported(supported: &Value) -> Value {
    json!({"code": -32022, "message": "Unsupported protocol version",
           "data": {"supported": supported, "requested": "2026-07-28"}})
}

#[tokio::test(start_paused = true)]
async fn any_error_but_a_modern_one_is_followed_by_the_handshake_on_the_same_pipe() {
    for (code, message) in [
        (-32601, "Method not found"),
        (-32602, "Invalid request parameters"),
        (-32000, "Server not initialized"),
        (-32603, "oops"),
        (0, "whatever"),
    ] {
        let (pipe, mut peer) = session(NEWEST, move |asked| {
            (asked["method"] == "server/discover").then(|| Some(vec![error(asked, code, message)]))
        });
        let started = Instant::now();
        let client = builder().pipe(pipe).await.unwrap();
        assert_eq!(started.elapsed(), Duration::ZERO, "{code}");
        assert_eq!(client.revision().date(), NEWEST, "{code}");
        peer.wait("notifications/initialized", 1).await;
        assert_eq!(peer.methods(), ["server/discover", "initialize", "notifications/initialized"], "{code}");
        assert_eq!(client.call("f", &()).await.unwrap().text(), "done");
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_describes_no_server_is_followed_by_the_handshake_and_a_broken_description_is_not() {
    for (answered, shown) in [
        (json!({}), None),
        (json!({"tools": []}), None),
        (json!({"resultType": "complete"}), Some("supportedVersions")),
        (json!({"supportedVersions": ["2026-07-28"]}), Some("capabilities")),
    ] {
        let reply = answered.clone();
        let (pipe, peer) = session(NEWEST, move |asked| {
            (asked["method"] == "server/discover").then(|| Some(vec![result(asked, reply.clone())]))
        });
        match (builder().pipe(pipe).await, shown) {
            (Ok(client), None) => assert_eq!(client.revision().date(), NEWEST, "{answered}"),
            (Err(failed), Some(shown)) => {
                assert!(failed.to_string().contains(shown), "{failed}");
                assert_eq!(peer.methods(), ["server/discover"], "{answered}");
            }
            (outcome, _) => panic!("{answered}: {outcome:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_modern_error_is_never_followed_by_a_handshake() {
    for (refusal, shown) in [
        (json!({"code": -32020, "message": "headers"}), "-32020: headers"),
        (json!({"code": -32021, "message": "capability"}), "-32021: capability"),
        (
            unsupported(&json!(["2027-03-01"])),
            "it offers 2027-03-01, this client speaks 2026-07-28, 2025-11-25",
        ),
    ] {
        let (pipe, peer) = session(NEWEST, move |asked| {
            (asked["method"] == "server/discover")
                .then(|| Some(vec![json!({"jsonrpc": "2.0", "id": asked["id"], "error": refusal})]))
        });
        let failed = builder().pipe(pipe).await.unwrap_err();
        assert!(failed.to_string().contains(shown), "{failed}");
        assert!(!failed.is_legacy(), "{failed}");
        assert_eq!(peer.methods(), ["server/discover"], "{failed}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_names_legacy_revisions_is_offered_the_newest_of_them() {
    let refusals = [
        json!({"error": unsupported(&json!(["2027-03-01", "2025-06-18", "2024-11-05"]))}),
        json!({"result": {"resultType": "complete", "supportedVersions": ["2027-03-01", "2025-06-18"],
               "capabilities": {}, "ttlMs": 0, "cacheScope": "private"}}),
    ];
    for mut refusal in refusals {
        let (pipe, peer) = session("2025-06-18", move |asked| {
            if asked["method"] != "server/discover" {
                return None;
            }
            refusal["jsonrpc"] = "2.0".into();
            refusal["id"] = asked["id"].clone();
            Some(Some(vec![refusal.clone()]))
        });
        let client = builder().pipe(pipe).await.unwrap();
        assert_eq!(client.revision().date(), "2025-06-18");
        assert_eq!(peer.all("initialize")[0]["params"]["protocolVersion"], "2025-06-18");
    }
}

#[tokio::test(start_paused = true)]
async fn silence_is_followed_by_the_handshake_beside_the_probe_and_a_late_answer_is_dropped() {
    let mut limits = Limits::default();
    limits.probe_time = Duration::from_secs(3);
    for (limits, waited) in [(Limits::default(), 2), (limits, 3)] {
        let mut probe = None;
        let (pipe, peer) = session(NEWEST, move |asked| match asked["method"].as_str() {
            Some("server/discover") => {
                probe = Some(asked.clone());
                Some(Some(vec![]))
            }
            // The answer to the probe comes after that to the handshake.
            Some("notifications/initialized") => {
                Some(Some(vec![error(probe.as_ref().unwrap(), -32601, "late")]))
            }
            _ => None,
        });
        let started = Instant::now();
        let client = builder().limits(limits).pipe(pipe).await.unwrap();
        assert_eq!(started.elapsed(), Duration::from_secs(waited));
        assert_eq!(client.call("f", &()).await.unwrap().text(), "done");
        // Nobody was told that the probe is not waited for.
        let heard = ["server/discover", "initialize", "notifications/initialized", "tools/call"];
        assert_eq!(peer.methods(), heard);
        client.close().await;
    }
}

/// What a slow server says, and after how many seconds; then what is spoken with it.
type Slow = (Option<u64>, Option<u64>, &'static str);

#[tokio::test(start_paused = true)]
async fn the_first_valid_answer_wins() {
    let table: [Slow; 5] = [
        (Some(5), None, "2026-07-28"),
        (Some(5), Some(9), "2026-07-28"),
        (Some(9), Some(5), NEWEST),
        (None, Some(20), NEWEST),
        (Some(29), None, "2026-07-28"),
    ];
    for (modern, legacy, spoken) in table {
        let (pipe, peer) = peer(NEWEST, |_| Some(vec![]));
        let client = tokio::spawn(async move { builder().pipe(pipe).await });
        let started = Instant::now();
        let mut due: Vec<(u64, &str)> = [(modern, "server/discover"), (legacy, "initialize")]
            .into_iter()
            .filter_map(|(after, method)| Some((after?, method)))
            .collect();
        due.sort_unstable();
        for (after, method) in due {
            tokio::time::sleep_until(started + Duration::from_secs(after)).await;
            let asked = peer.all(method).remove(0);
            let said = if method == "initialize" { described(NEWEST) } else { discovered() };
            peer.say(result(&asked, said));
        }
        let client = client.await.unwrap().unwrap();
        assert_eq!(client.revision().date(), spoken, "{modern:?} {legacy:?}");
        client.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn errors_to_both_name_both() {
    let (pipe, _) = peer(NEWEST, |asked| Some(vec![error(asked, -32601, "no such thing")]));
    let failed = builder().server_name("S").pipe(pipe).await.unwrap_err();
    assert_eq!(
        failed.to_string(),
        "S: the server answered with error -32601: no such thing (before that, server/discover: the server \
         answered with error -32601: no such thing)"
    );
    let (pipe, peer) = peer_slow_to_refuse();
    let failed = builder().server_name("S").pipe(pipe).await.unwrap_err();
    assert!(failed.to_string().contains("before that, server/discover:"), "{failed}");
    assert_eq!(peer.methods(), ["server/discover", "initialize"]);
}

/// Answers nothing to the probe until the handshake comes, and then refuses both.
fn peer_slow_to_refuse() -> (switchboard_client::Pipe, super::peer::Peer) {
    let mut probe = None;
    peer(NEWEST, move |asked| {
        if asked["method"] == "server/discover" {
            probe = Some(asked.clone());
            return Some(vec![]);
        }
        Some(vec![error(asked, -32000, "no"), error(probe.as_ref().unwrap(), -32000, "no")])
    })
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_nothing_costs_the_time_to_connect() {
    let (pipe, peer) = peer(NEWEST, |_| Some(vec![]));
    let mut limits = Limits::default();
    limits.connect_time = Duration::from_secs(9);
    let started = Instant::now();
    let failed = builder().limits(limits).server_name("S").pipe(pipe).await.unwrap_err();
    assert_eq!(started.elapsed(), Duration::from_secs(9));
    assert!(failed.is_silent() && failed.is_timeout() && !failed.is_legacy(), "{failed}");
    assert_eq!(
        failed.to_string(),
        "S: it answered nothing within 9 s (server/discover and initialize); if it is still starting, allow it \
         more time (`connect_time` and `start_time` of Limits)"
    );
    // `initialize` must not be cancelled.
    assert_eq!(peer.methods(), ["server/discover", "initialize"]);
}

#[tokio::test(start_paused = true)]
async fn a_revision_that_is_not_spoken_ends_the_connection_with_both_named() {
    for answered in ["1999-01-01", "2026-07-28", "2027-01-01", ""] {
        let (pipe, peer) = session(NEWEST, move |asked| {
            (asked["method"] == "initialize").then(|| Some(vec![result(asked, described(answered))]))
        });
        let failed = builder().pipe(pipe).await.unwrap_err();
        assert!(failed.is_incompatible(), "{failed}");
        for shown in [format!("{answered:?}"), DATES.join(", ")] {
            assert!(failed.to_string().contains(&shown), "{failed}");
        }
        assert!(peer.all("notifications/initialized").is_empty());
    }
    let (pipe, _) = session(NEWEST, |asked| {
        let mut described = described(NEWEST);
        described.as_object_mut().unwrap().remove("protocolVersion");
        (asked["method"] == "initialize").then(|| Some(vec![result(asked, described)]))
    });
    let failed = builder().pipe(pipe).await.unwrap_err();
    assert!(failed.is_server_fault() && failed.to_string().contains("protocolVersion"), "{failed}");
}

#[tokio::test(start_paused = true)]
async fn eras_are_what_the_host_says() {
    for date in DATES {
        // A server of that date and older.
        let (pipe, peer) = session(date, |_| None);
        let client = builder().era(Era::Legacy).pipe(pipe).await.unwrap();
        assert_eq!((client.revision().date(), peer.methods()[0].as_str()), (date, "initialize"));
        assert_eq!(peer.all("initialize")[0]["params"]["protocolVersion"], NEWEST);

        let (pipe, peer) = session("2024-11-05", |_| None);
        let client = builder().era(Era::Pinned(revision(date))).pipe(pipe).await.unwrap();
        assert_eq!(client.revision().date(), "2024-11-05");
        assert_eq!(peer.all("initialize")[0]["params"]["protocolVersion"], date);
    }
    let (pipe, _) = session(NEWEST, |_| None);
    let failed = builder().era(Era::Pinned(revision("2025-03-26"))).pipe(pipe).await.unwrap_err();
    assert!(failed.to_string().contains("it speaks 2025-03-26, 2024-11-05"), "{failed}");

    let (pipe, peer) = session(NEWEST, |_| None);
    let failed = builder().era(Era::Pinned(Revision::LATEST)).pipe(pipe).await.unwrap_err();
    assert!(failed.is_legacy(), "{failed}");
    assert_eq!(peer.methods(), ["server/discover"]);
}

/// A child that answers each line by its method, as `case` arms; it notes each start in `$1`.
fn child(folder: &tempfile::TempDir, arms: &str) -> ChildCommand {
    let text = format!(
        r#"echo start >> "$1"; answer() {{ id=${{line#*\"id\":}}; id=${{id%%,*}}; printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
while IFS= read -r line; do case $line in
{arms}
esac; done"#
    );
    let notes = folder.path().join("starts").display().to_string();
    ChildCommand::new("sh").args(["-c", &text, "sh", &notes])
}

fn starts(folder: &tempfile::TempDir) -> usize {
    std::fs::read_to_string(folder.path().join("starts")).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn a_child_that_dies_on_the_probe_is_started_once_more_in_the_legacy_era() {
    let folder = tempfile::tempdir().unwrap();
    let arms = format!("*server/discover*) exit 3;;\n*'\"initialize\"'*) answer '{}';;", described(NEWEST));
    let client = builder().child(child(&folder, &arms)).await.unwrap();
    assert_eq!((client.revision().date(), starts(&folder)), (NEWEST, 2));
    client.close().await;

    let folder = tempfile::tempdir().unwrap();
    let failed =
        builder().server_name("S").child(child(&folder, "*) echo sorry >&2; exit 3;;")).await.unwrap_err();
    assert_eq!(starts(&folder), 2);
    let text = failed.to_string();
    for shown in ["ended with status 3 before it answered (server/discover and initialize)", "sorry"] {
        assert!(text.contains(shown), "{text}");
    }
}

#[tokio::test]
async fn a_child_that_crashes_is_handshaken_again_before_the_next_request() {
    let folder = tempfile::tempdir().unwrap();
    let arms = format!(
        "*server/discover*) :;;\n*'\"initialize\"'*) answer '{}';;\n*tools/call*) if [ -e {marker} ]; then \
         answer '{{\"content\":[]}}'; else : > {marker}; exit 7; fi;;",
        described("2025-06-18"),
        marker = folder.path().join("crashed").display(),
    );
    let mut limits = Limits::default();
    limits.probe_time = Duration::from_millis(1);
    let client = builder().limits(limits).child(child(&folder, &arms)).await.unwrap();
    let failed = client.call("f", &()).await.unwrap_err();
    assert_eq!(failed.delivery(), Delivery::MaybeExecuted, "{failed}");
    client.call("f", &()).await.unwrap();
    assert_eq!((client.revision().date(), starts(&folder)), ("2025-06-18", 2));
    client.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_pipe_that_ends_on_the_probe_cannot_be_opened_again() {
    let (pipe, peer) = peer(NEWEST, |_| None);
    let failed = builder().pipe(pipe).await.unwrap_err();
    assert!(failed.is_unreachable() && failed.to_string().contains("closed its output"), "{failed}");
    assert_eq!(peer.methods(), ["server/discover"]);
}

fn stored(date: &str, age: Duration) -> EraVerdict {
    let seen = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() - age;
    let text = json!({"revision": date, "seenAt": seen.as_secs()}).to_string();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_stored_legacy_verdict_saves_the_probe_until_it_expires() {
    for (hours, first) in [(1, "initialize"), (25, "server/discover")] {
        let (pipe, peer) = session(NEWEST, |_| None);
        let known = stored("2025-06-18", Duration::from_secs(hours * 3600));
        let client = builder().verdict(known).pipe(pipe).await.unwrap();
        assert_eq!(peer.methods()[0], first, "{hours} hours");
        assert!(!client.verdict().is_modern() && client.verdict().revision == NEWEST);
    }
    // A server that was upgraded, and opens no session any more.
    let (pipe, peer) = peer(NEWEST, |asked| {
        Some(match asked["method"].as_str() {
            Some("server/discover") => vec![answer(asked, &discovered())],
            _ => vec![error(asked, -32601, "no")],
        })
    });
    let client = builder().verdict(stored(NEWEST, Duration::ZERO)).pipe(pipe).await.unwrap();
    assert!(client.verdict().is_modern());
    assert_eq!(peer.methods(), ["initialize", "server/discover"]);
}

fn known_modern() -> EraVerdict {
    stored("2026-07-28", Duration::from_secs(1_000_000))
}

const LOOKED_INTO: [&str; 5] =
    ["tools/list", "server/discover", "initialize", "notifications/initialized", "tools/list"];

#[tokio::test(start_paused = true)]
async fn a_stored_modern_verdict_that_fails_is_looked_into_once() {
    // The server was replaced by an older one, which refuses before a handshake.
    let mut open = false;
    let (pipe, peer) = session(NEWEST, move |asked| {
        open |= asked["method"] == "notifications/initialized";
        (asked["method"] == "tools/list" && !open)
            .then(|| Some(vec![error(asked, -32002, "not initialized")]))
    });
    let client = builder().verdict(known_modern()).pipe(pipe).await.unwrap();
    assert_eq!(client.tools().await.unwrap().len(), 1);
    assert_eq!(peer.methods(), LOOKED_INTO);
}

#[tokio::test]
async fn over_http_a_stored_modern_verdict_that_fails_is_looked_into_once() {
    let server = replaced().await;
    let client = builder().verdict(known_modern()).http(server.url()).await.unwrap();
    assert_eq!(client.tools().await.unwrap().len(), 1);
    assert_eq!(client.revision().date(), NEWEST);
    let asked: Vec<_> = server.received().iter().map(|request| request.method()).collect();
    let asked: Vec<_> = asked.iter().map(String::as_str).filter(|method| *method != "GET").collect();
    assert_eq!(asked, LOOKED_INTO);

    // It is modern still: the error is the request's own, and nobody asks again.
    let server = ScriptedHttp::play([
        ("tools/list", Reply::error(404, &json!({"code": -32601, "message": "no tools"}))),
        ("tools/list", Reply::error(404, &json!({"code": -32601, "message": "no tools"}))),
    ])
    .await
    .always("server/discover", Reply::result(&discovered()));
    let client = builder().verdict(known_modern()).http(server.url()).await.unwrap();
    for _ in 0..2 {
        assert_eq!(client.tools().await.unwrap_err().code().unwrap().0, -32601);
    }
    assert_eq!(server.asked("server/discover").len(), 1);
    assert!(client.verdict().is_modern());
}

/// A legacy server where a modern one was.
async fn replaced() -> ScriptedHttp {
    ScriptedHttp::play([
        ("tools/list", Reply::http(400, "content-type: text/plain\r\n", "Bad Request: no session")),
        ("server/discover", Reply::http(400, "content-type: text/plain\r\n", "Bad Request: no session")),
    ])
    .await
    .of_legacy_era()
    .always("initialize", handshake(NEWEST, Some("s-1")))
    .always("notifications/initialized", Reply::http(202, "", ""))
    .always("GET", Reply::http(405, "", ""))
    .always("DELETE", Reply::http(204, "", ""))
    .always("tools/list", Reply::result(&json!({"tools": [tool("f")]})))
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_dropped_while_it_connects_leaves_nothing_behind() {
    let (pipe, mut peer) = peer(NEWEST, |_| Some(vec![]));
    let connecting = tokio::spawn(async move { builder().pipe(pipe).await });
    peer.wait("initialize", 1).await;
    connecting.abort();
    let gone: Result<Result<Client, Error>, _> = connecting.await;
    assert!(gone.is_err());
    // The pipe ends, which the server sees.
    pass(60).await;
    assert_eq!(peer.methods(), ["server/discover", "initialize"]);
}
