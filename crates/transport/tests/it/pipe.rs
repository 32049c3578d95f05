//! The client's driver against a server that the test plays itself, over a pipe in memory.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_protocol::frame::encode_request;
use switchboard_protocol::session::{Delivery, End, Opening, Timeout};
use switchboard_transport::{
    Disconnected, Lines, MailboxLimits, Message, OpenError, Pipe, PipeClient, PipeExchange, PipeOptions,
};
use tokio::io::AsyncWriteExt;

/// The server's end, played by hand.
pub(crate) struct Peer {
    pipe: Pipe,
    lines: Lines,
}

impl Peer {
    pub(crate) async fn hear(&mut self) -> Value {
        loop {
            if let Some(line) = self.lines.next_line().unwrap() {
                return serde_json::from_slice(&line).unwrap();
            }
            assert!(self.lines.fill(&mut self.pipe.reader).await.unwrap() > 0, "the client is gone");
        }
    }

    pub(crate) async fn say(&mut self, message: &Value) {
        self.pipe.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn answer(&mut self, id: i64) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "result": {"id": id}})).await;
    }
}

pub(crate) fn connect(options: PipeOptions) -> (PipeClient, Peer) {
    let (here, there) = Pipe::in_memory(4096);
    (PipeClient::new(here, options), Peer { pipe: there, lines: Lines::new(1 << 20) })
}

pub(crate) async fn try_open(
    client: &PipeClient,
    opening: Opening,
    params: &Value,
) -> Result<PipeExchange, OpenError> {
    client.open(opening, |id, out| encode_request(out, id, "x/call", params)).await
}

pub(crate) async fn open(client: &PipeClient) -> PipeExchange {
    try_open(client, Opening { progress: true, ..Opening::default() }, &json!({})).await.unwrap()
}

fn progress(id: i64, value: i64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/progress",
        "params": {"progressToken": id, "progress": value}})
}

#[tokio::test]
async fn answers_find_their_exchange_in_any_order() {
    let (client, mut peer) = connect(PipeOptions::default());
    let (one, two) = (open(&client).await, open(&client).await);
    assert_eq!((peer.hear().await["id"].clone(), peer.hear().await["id"].clone()), (json!(1), json!(2)));
    peer.answer(2).await;
    peer.answer(1).await;
    for (exchange, id) in [(one, 1), (two, 2)] {
        let End::Result(result) = exchange.ended().await else { panic!("no result") };
        assert_eq!(result.get(), format!("{{\"id\":{id}}}"));
    }
}

#[tokio::test]
async fn notifications_come_in_order_and_before_the_answer() {
    let (client, mut peer) = connect(PipeOptions::default());
    let mut exchange = open(&client).await;
    let mut all = String::new();
    for message in [progress(1, 1), progress(1, 2), json!({"jsonrpc": "2.0", "id": 1, "result": {}})] {
        all.push_str(&format!("{message}\n"));
    }
    peer.pipe.writer.write_all(all.as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    while let Some(message) = exchange.next().await {
        seen.push(match message {
            Message::Progress(progress) => progress.progress.to_string(),
            Message::Ended(End::Result(_)) => "result".into(),
            other => format!("{other:?}"),
        });
    }
    assert_eq!(seen, ["1", "2", "result"]);
}

#[tokio::test]
async fn dropping_an_exchange_cancels_it_and_a_late_answer_harms_nobody() {
    let (client, mut peer) = connect(PipeOptions::default());
    drop(open(&client).await);
    assert_eq!(peer.hear().await["method"], "x/call");
    let cancelled = peer.hear().await;
    assert_eq!(
        (&cancelled["method"], &cancelled["params"]["requestId"]),
        (&json!("notifications/cancelled"), &json!(1))
    );
    peer.answer(1).await;
    let next = open(&client).await;
    assert_eq!(peer.hear().await["id"], 2);
    peer.answer(2).await;
    assert!(matches!(next.ended().await, End::Result(_)));
    assert_eq!((client.counters().late, client.pending()), (1, 0));
}

#[tokio::test]
async fn an_exchange_that_has_ended_is_not_cancelled() {
    let (client, mut peer) = connect(PipeOptions::default());
    let mut exchange = open(&client).await;
    peer.hear().await;
    peer.answer(1).await;
    assert!(matches!(exchange.next().await, Some(Message::Ended(_))));
    drop(exchange);
    let _next = open(&client).await;
    assert_eq!(peer.hear().await["id"], 2);
}

#[tokio::test(start_paused = true)]
async fn silence_ends_an_exchange_and_tells_the_server() {
    let (client, mut peer) = connect(PipeOptions::default());
    let opening = Opening { idle: Some(Duration::from_secs(30)), ..Opening::default() };
    let exchange = try_open(&client, opening, &json!({})).await.unwrap();
    assert!(matches!(exchange.ended().await, End::TimedOut(Timeout::Idle)));
    peer.hear().await;
    assert_eq!(peer.hear().await["params"], json!({"requestId": 1, "reason": "timeout"}));
}

#[tokio::test]
async fn the_end_of_the_stream_ends_everything_and_says_what_may_have_been_executed() {
    let (client, mut peer) = connect(PipeOptions::default());
    let sent = open(&client).await;
    peer.hear().await;
    // More than the pipe holds: the second of these cannot have been sent.
    let large = json!({"text": "x".repeat(100_000)});
    let partly = try_open(&client, Opening::default(), &large).await.unwrap();
    let unsent = try_open(&client, Opening::default(), &large).await.unwrap();
    assert!(peer.lines.fill(&mut peer.pipe.reader).await.unwrap() > 0);
    let last = json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string();
    peer.pipe.writer.write_all(last.as_bytes()).await.unwrap();
    drop(peer);
    assert!(matches!(sent.ended().await, End::Result(_)), "a last line needs no line end");
    assert!(matches!(partly.ended().await, End::ConnectionLost(Delivery::MaybeExecuted)));
    assert!(matches!(unsent.ended().await, End::ConnectionLost(Delivery::NotSent)));
    let refused = try_open(&client, Opening::default(), &large).await.unwrap_err();
    assert!(matches!(refused, OpenError::Disconnected(_)), "{refused}");
}

#[tokio::test]
async fn a_banner_on_stdout_is_kept_for_a_person() {
    let (client, mut peer) = connect(PipeOptions::default());
    let exchange = open(&client).await;
    peer.pipe.writer.write_all(b"Server v1 ready\n\n").await.unwrap();
    peer.answer(1).await;
    assert!(matches!(exchange.ended().await, End::Result(_)));
    assert_eq!(client.noise(), ("Server v1 ready".into(), 1));
}

#[tokio::test]
async fn a_slow_reader_is_told_what_it_missed_and_never_misses_the_end() {
    let mailbox = MailboxLimits { messages: 3, bytes: 1000 };
    let (client, mut peer) = connect(PipeOptions { mailbox, ..PipeOptions::default() });
    let opening = Opening { listen: true, ..Opening::default() };
    let mut listen = try_open(&client, opening, &json!({})).await.unwrap();
    let probe = open(&client).await;
    for _ in 0..10 {
        peer.say(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed",
            "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}}))
            .await;
    }
    peer.answer(1).await;
    peer.answer(2).await;
    assert!(matches!(probe.ended().await, End::Result(_)));
    let mut seen = Vec::new();
    while let Some(message) = listen.next().await {
        seen.push(match message {
            Message::Subscription { .. } => "change".to_owned(),
            Message::Lagged { missed } => format!("missed {missed}"),
            Message::Ended(_) => "end".to_owned(),
            other => format!("{other:?}"),
        });
    }
    assert_eq!(seen, ["change", "change", "change", "missed 7", "end"]);
}

#[tokio::test]
async fn whatever_a_notification_carries_counts_against_the_bytes_that_may_wait() {
    let long = "x".repeat(600);
    for (method, params) in [
        ("notifications/progress", json!({"message": long})),
        ("notifications/progress", json!({"_meta": {"x": long}})),
        ("notifications/message", json!({"data": long})),
        ("notifications/message", json!({"data": 1, "logger": long})),
        ("notifications/message", json!({"data": 1, "_meta": {"x": long}})),
    ] {
        let mailbox = MailboxLimits { messages: 100, bytes: 1000 };
        let (client, mut peer) = connect(PipeOptions { mailbox, ..PipeOptions::default() });
        let opening = Opening { progress: true, log: true, ..Opening::default() };
        let mut exchange = try_open(&client, opening, &json!({})).await.unwrap();
        for value in 1..=3 {
            let mut params = params.clone();
            params["level"] = json!("info");
            params["progressToken"] = json!(1);
            params["progress"] = json!(value);
            peer.say(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
        }
        peer.answer(1).await;
        let probe = open(&client).await;
        peer.answer(2).await;
        assert!(matches!(probe.ended().await, End::Result(_)));
        let mut kept = 0;
        while let Some(message) = exchange.next().await {
            kept += usize::from(matches!(message, Message::Progress(_) | Message::Log(_)));
        }
        assert_eq!(kept, 1, "{method} {params}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_makes_callers_wait_and_then_fail() {
    let (client, mut peer) = connect(PipeOptions { unsent_bytes: 10_000, ..PipeOptions::default() });
    let large = json!({"text": "x".repeat(50_000)});
    let _stuck = try_open(&client, Opening::default(), &large).await.unwrap();
    let opening = Opening { total: Some(Duration::from_secs(5)), ..Opening::default() };
    let refused = try_open(&client, opening, &json!({})).await.unwrap_err();
    assert!(matches!(refused, OpenError::Congested { unsent } if unsent > 10_000), "{refused}");
    let (opened, heard) = tokio::join!(open(&client), peer.hear());
    assert_eq!((heard["id"].clone(), opened.id()), (json!(1), 2.into()));
}

#[tokio::test]
async fn closing_ends_the_servers_input_and_still_takes_its_last_answers() {
    let (client, mut peer) = connect(PipeOptions::default());
    let exchange = open(&client).await;
    client.close();
    peer.hear().await;
    assert_eq!(peer.lines.fill(&mut peer.pipe.reader).await.unwrap(), 0);
    assert!(try_open(&client, Opening::default(), &json!({})).await.is_err());
    peer.answer(1).await;
    assert!(matches!(exchange.ended().await, End::Result(_)));
    drop(peer);
    assert_eq!(client.disconnected().await, Disconnected::Closed);
}

#[tokio::test]
async fn the_connection_closes_with_its_last_user() {
    let (client, mut peer) = connect(PipeOptions::default());
    let exchange = open(&client).await;
    drop(client);
    peer.hear().await;
    peer.answer(1).await;
    assert!(matches!(exchange.ended().await, End::Result(_)));
    assert_eq!(peer.lines.fill(&mut peer.pipe.reader).await.unwrap(), 0);
}

#[tokio::test]
async fn a_log_message_of_nobody_goes_to_the_connections_sink() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let options = PipeOptions {
        on_log: Some(Arc::new(move |message| sink.lock().unwrap().push(message.data.get().to_owned()))),
        ..PipeOptions::default()
    };
    let (client, mut peer) = connect(options);
    let exchange = open(&client).await;
    peer.say(&json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "hi"}}))
        .await;
    peer.answer(1).await;
    assert!(matches!(exchange.ended().await, End::Result(_)));
    assert_eq!(*seen.lock().unwrap(), ["\"hi\""]);
}
