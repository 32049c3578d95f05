//! Which call a message belongs to, message by message.

use std::sync::Arc;

use switchboard_client::{Direction, RequestId, WireMessage};

use super::{Flight, Router};
use crate::name::{CallId, ServerName};
use crate::policy::CallContext;
use crate::supervisor::logs::Logs;
use crate::supervisor::{ServerConfig, WireTap};

struct Bench {
    router: Arc<Router>,
    heard: Arc<std::sync::Mutex<Vec<String>>>,
    logs: Arc<Logs>,
}

impl Bench {
    fn new() -> Self {
        let config = ServerConfig::command(ServerName::new("s").unwrap(), "x", ["y"]);
        let logs = Arc::new(Logs::new(&config, None));
        Self { router: Router::new(Arc::clone(&logs), None), heard: Arc::default(), logs }
    }

    fn flight(&self, call: u32) -> Arc<Flight> {
        let heard = Arc::clone(&self.heard);
        let context = CallContext {
            call: Some(CallId(call)),
            wire: Some(Arc::new(move |message: WireMessage<'_>| {
                let text =
                    String::from_utf8_lossy(&message.bytes[..message.bytes.len().min(30)]).into_owned();
                heard.lock().unwrap().push(format!("{call} {text}"));
            })),
            ..CallContext::default()
        };
        Flight::new(&ServerName::new("s").unwrap(), format!("call {call}"), &context)
    }

    fn see(&self, direction: Direction, text: &str) -> Vec<String> {
        self.router.see(WireMessage { direction, bytes: text.as_bytes() });
        std::mem::take(&mut *self.heard.lock().unwrap())
    }

    fn whose(&self, direction: Direction, text: &str) -> Vec<char> {
        self.see(direction, text).iter().map(|line| line.chars().next().unwrap()).collect()
    }
}

#[test]
fn what_belongs_to_no_call_goes_to_the_tap() {
    let heard: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    let (log, Bench { logs, .. }) = (Arc::clone(&heard), Bench::new());
    let tap: WireTap = Arc::new(move |server, message| {
        log.lock().unwrap().push(format!("{server} {}", String::from_utf8_lossy(message.bytes)));
    });
    let router = Router::new(logs, Some((ServerName::new("s").unwrap(), tap)));
    let bench = Bench { router, ..Bench::new() };
    let flight = bench.flight(1);
    bench.router.carries(&flight, &RequestId::Integer(1));
    let first = r#"{"id":0,"method":"initialize"}"#;
    bench.see(Direction::Sent, first);
    assert_eq!(bench.whose(Direction::Sent, r#"{"id":1,"method":"tools/call"}"#), ['1']);
    assert_eq!(*heard.lock().unwrap(), [format!("s {first}")]);
}

#[tokio::test]
async fn ids_tokens_and_questions_lead_to_the_call() {
    let bench = Bench::new();
    let (one, two) = (bench.flight(1), bench.flight(2));
    let router = Arc::clone(&bench.router);
    router
        .fly(Arc::clone(&one), async {
            router.carries(&one, &RequestId::Integer(10));
            // Started beside it by another session; a task of its own.
            let other = tokio::spawn({
                let (router, two) = (Arc::clone(&router), Arc::clone(&two));
                async move {
                    let work = async {
                        router.carries(&two, &RequestId::Integer(20));
                        std::future::pending::<()>().await;
                    };
                    router.fly(Arc::clone(&two), work).await;
                }
            });
            tokio::task::yield_now().await;
            // The tap runs in no call's task.
            let seen = std::thread::scope(|scope| {
                let table = [
                    (Direction::Sent, r#"{"id":10,"method":"tools/call"}"#),
                    (Direction::Sent, r#"{"id":20,"method":"tools/call"}"#),
                    (
                        Direction::Received,
                        r#"{"method":"notifications/progress","params":{"progressToken":10}}"#,
                    ),
                    (Direction::Received, r#"{"method":"notifications/tools/list_changed"}"#),
                    (Direction::Received, r#"{"id":1,"method":"elicitation/create"}"#),
                    (Direction::Sent, r#"{"id":1,"result":{}}"#),
                    (Direction::Sent, r#"{"method":"notifications/cancelled","params":{"requestId":20}}"#),
                    (Direction::Received, r#"{"id":10,"result":{}}"#),
                    (Direction::Received, r#"{"id":99,"result":{}}"#),
                ];
                let bench = &bench;
                scope
                    .spawn(move || table.map(|(direction, text)| bench.whose(direction, text)))
                    .join()
                    .unwrap()
            });
            assert_eq!(
                seen,
                [&['1'][..], &['2'], &['1'], &[], &['2'], &['2'], &['2'], &['1'], &[]].map(<[char]>::to_vec)
            );
            other.abort();
            let _ = other.await;
        })
        .await;
    assert_eq!(bench.whose(Direction::Received, r#"{"id":10,"result":{}}"#), [] as [char; 0]);
    // The other was cancelled; its late answer is still its own, once.
    assert_eq!(router.lingering(), 1);
    assert_eq!(bench.whose(Direction::Received, r#"{"id":20,"result":{}}"#), ['2']);
    assert_eq!(router.lingering(), 0);
    assert!(bench.logs.last_lines(1)[0].text.contains("call 2 ended 0 s after it was cancelled"));
}

#[tokio::test]
async fn a_long_message_in_pieces_is_one_calls_and_no_noise() {
    let bench = Bench::new();
    let one = bench.flight(1);
    let router = Arc::clone(&bench.router);
    router
        .fly(Arc::clone(&one), async {
            router.carries(&one, &RequestId::Integer(10));
            let piece = "x".repeat(super::PIECE_BYTES);
            let first = format!(r#"{{"id":10,"result":{{"text":"{piece}"#);
            for (text, expected) in [(first.as_str(), 1), (&piece, 1), ("the end\"}}", 1), ("noise", 0)] {
                assert_eq!(bench.see(Direction::Received, text).len(), expected);
            }
        })
        .await;
    assert_eq!(router.noise_lines(), 1);
}

#[tokio::test]
async fn what_nobody_asked_for_is_not_passed_on_for_ever() {
    let bench = Bench::new();
    let one = bench.flight(1);
    let router = Arc::clone(&bench.router);
    router
        .fly(Arc::clone(&one), async {
            router.carries(&one, &RequestId::Integer(10));
            let progress = r#"{"method":"notifications/progress","params":{"progressToken":10}}"#;
            let heard: usize = (0..5000).map(|_| bench.see(Direction::Received, progress).len()).sum();
            assert_eq!(heard, super::UNASKED);
            assert_eq!(bench.see(Direction::Received, r#"{"id":10,"result":{}}"#).len(), 1);
        })
        .await;
}
