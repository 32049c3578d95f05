//! Ending a request from this side, and its clocks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::{ElicitReply, Error};
use switchboard_testkit::scripted_http::Reply;

use crate::support::{answer, builder, connect, discovered, pipe_server, server, text_result};

#[tokio::test]
async fn dropping_a_call_closes_its_stream() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let progress = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":\
                    {\"progressToken\":$id,\"progress\":1}}\n\n";
    let server = server([("tools/call", Reply::raw(format!("{head}{progress}")).then_hold())]).await;
    let client = connect(&server).await;
    let (tx, mut rx) = tokio::sync::mpsc::unbounded_channel();
    let mut call = client
        .call("f", &())
        .on_progress(move |progress| {
            let _ = tx.send(progress.progress);
        })
        .into_future();
    tokio::select! {
        _ = &mut call => panic!("the call ended"),
        heard = rx.recv() => assert_eq!(heard, Some(1.0)),
    }
    drop(call);
    server.left(1).await;
    // Hanging up says it all: no notification follows, and the next call finds the client as it was.
    server.then("tools/call", Reply::result(&text_result("done")));
    client.call("f", &()).await.unwrap();
    let methods: Vec<String> = server.finish().iter().map(|request| request.method()).collect();
    assert!(methods.iter().all(|method| method != "notifications/cancelled"), "{methods:?}");
}

/// A server on a pipe that answers the probe; `call` says what follows a `tools/call`.
fn slow_server(
    mut call: impl FnMut(&Value) -> Vec<Value> + Send + 'static,
) -> (switchboard_transport::Pipe, Arc<Mutex<Vec<Value>>>) {
    pipe_server(move |message| {
        Some(match message["method"].as_str() {
            Some("server/discover") => vec![answer(message, &discovered())],
            Some("tools/call") => call(message),
            _ => vec![],
        })
    })
}

fn progress(request: &Value, progress: f64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/progress",
           "params": {"progressToken": request["params"]["_meta"]["progressToken"], "progress": progress}})
}

#[tokio::test(start_paused = true)]
async fn silence_ends_a_call_and_the_server_is_told() {
    let (pipe, heard) = slow_server(|_| vec![]);
    let client = builder().pipe(pipe).await.unwrap();
    let error: Error = client.call("f", &()).timeout(Duration::from_secs(5)).await.unwrap_err();
    assert!(error.is_timeout() && error.to_string().contains("after 5 s"), "{error}");
    client.close().await;
    let heard = heard.lock().unwrap();
    let cancelled = heard.iter().find(|message| message["method"] == "notifications/cancelled").unwrap();
    assert_eq!(cancelled["params"]["requestId"], heard[1]["id"]);
}

#[tokio::test(start_paused = true)]
async fn progress_starts_the_clock_anew_but_not_the_whole_time() {
    for (total, ends) in [(60, false), (7, true)] {
        // Each round of input is a new exchange, so the whole time must span them.
        let mut rounds = 0;
        let (pipe, _) = slow_server(move |request| {
            rounds += 1;
            let next = if rounds < 5 {
                json!({"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}})
            } else {
                text_result("done")
            };
            vec![progress(request, 1.0), answer(request, &next)]
        });
        let client = builder()
            .on_roots(|| async {
                // A person who thinks for an hour costs no time.
                tokio::time::advance(Duration::from_secs(3600)).await;
                vec![]
            })
            .pipe(pipe)
            .await
            .unwrap();
        let call =
            client.call("f", &()).timeout(Duration::from_secs(5)).max_total(Duration::from_secs(total));
        assert!(call.on_progress(|_| {}).await.is_ok(), "{ends}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_only_reports_progress_meets_the_total() {
    let (ours, theirs) = switchboard_transport::Pipe::in_memory(1 << 16);
    tokio::spawn(async move {
        use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
        let mut lines = BufReader::new(theirs.reader).lines();
        let mut writer = theirs.writer;
        while let Ok(Some(line)) = lines.next_line().await {
            let request: Value = serde_json::from_str(&line).unwrap();
            if request["method"] == "server/discover" {
                let line = format!("{}\n", answer(&request, &discovered()));
                writer.write_all(line.as_bytes()).await.unwrap();
                continue;
            }
            for step in 1..=100 {
                tokio::time::advance(Duration::from_secs(4)).await;
                let line = format!("{}\n", progress(&request, f64::from(step)));
                if writer.write_all(line.as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    });
    let client = builder().pipe(ours).await.unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    let error = client
        .call("f", &())
        .timeout(Duration::from_secs(5))
        .max_total(Duration::from_secs(30))
        .on_progress(move |progress| log.lock().unwrap().push(progress.progress))
        .await
        .unwrap_err();
    assert!(error.is_timeout() && error.to_string().contains("after 30 s"), "{error}");
    assert_eq!(heard.lock().unwrap().len(), 7);
}

#[tokio::test(start_paused = true)]
async fn no_clock_runs_while_a_person_is_being_asked() {
    let mut asked = false;
    let (pipe, _) = slow_server(move |request| {
        let question = json!({"resultType": "input_required", "inputRequests": {"q": {
            "method": "elicitation/create", "params": {"message": "?", "requestedSchema":
            {"type": "object", "properties": {}}}}}});
        let next = if std::mem::replace(&mut asked, true) { text_result("done") } else { question };
        vec![answer(request, &next)]
    });
    let client = builder()
        .on_elicit(|_| async {
            tokio::time::advance(Duration::from_secs(3600)).await;
            ElicitReply::Accept(json!({}))
        })
        .pipe(pipe)
        .await
        .unwrap();
    let second = Duration::from_secs(1);
    client.call("f", &()).timeout(second).max_total(second).await.unwrap();
}
