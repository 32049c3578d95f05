//! The client's driver in a session, in which the server asks and announces, too.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use switchboard_protocol::session::Opening;
use switchboard_transport::{Disconnected, OpenError, PipeOptions, Unsolicited};

use crate::pipe::{connect, open, try_open};

const PATIENCE: Duration = Duration::from_secs(5);

#[tokio::test]
async fn what_the_server_says_of_its_own_accord_goes_to_the_sink_in_order() {
    let (client, mut peer) = connect(PipeOptions::default());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    client.enter_legacy(Arc::new(move |said| {
        log.lock().unwrap().push(match said {
            Unsolicited::Agreed(revision) => format!("agreed {revision}"),
            Unsolicited::Request { id, method, .. } => format!("{method} {id}"),
            Unsolicited::Notification { method, params } => format!("{method} {params:?}"),
        });
    }));
    let exchange = open(&client).await;
    peer.hear().await;
    peer.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await;
    peer.say(&json!({"jsonrpc": "2.0", "method": "x/changed"})).await;
    peer.answer(1).await;
    exchange.ended().await;
    assert_eq!(*heard.lock().unwrap(), ["ping 1", "x/changed None"]);

    let reply = br#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    client
        .send(PATIENCE, |out| {
            out.extend_from_slice(reply);
            Ok(())
        })
        .await
        .unwrap();
    assert_eq!(peer.hear().await, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));

    // No handshake was made after all.
    client.leave_legacy();
    peer.say(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping"})).await;
    let exchange = open(&client).await;
    peer.hear().await;
    peer.answer(2).await;
    exchange.ended().await;
    assert_eq!((heard.lock().unwrap().len(), client.counters().requests), (2, 1));

    drop(peer);
    client.disconnected().await;
    let refused = client.send(PATIENCE, |_| Ok(())).await.unwrap_err();
    assert!(matches!(refused, OpenError::Disconnected(Disconnected::EndOfStream)), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn messages_without_an_answer_wait_for_a_server_that_does_not_read_and_then_fail() {
    let (client, _peer) = connect(PipeOptions { unsent_bytes: 10_000, ..PipeOptions::default() });
    let large = json!({"text": "x".repeat(50_000)});
    let _stuck = try_open(&client, Opening::default(), &large).await.unwrap();
    let refused = client.send(PATIENCE, |_| Ok(())).await.unwrap_err();
    assert!(matches!(refused, OpenError::Congested { unsent } if unsent > 10_000), "{refused}");
}
