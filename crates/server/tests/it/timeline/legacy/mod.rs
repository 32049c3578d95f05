//! The same in sessions of every revision: an id belongs to its session, and a cancellation is a
//! notification there, too.

use serde_json::{Value, json};
use switchboard_protocol::Revision;
use switchboard_testkit::dated;

use super::{File, House, OverPipe, Words};

fn call(by: &str, id: &Value, tool: &str) -> Value {
    let params = json!({"name": tool, "arguments": {"by": by}, "_meta": {"progressToken": by}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

async fn open(date: &'static str) -> OverPipe {
    let check = |line: &[u8], date| dated::check_message(date, line, "tools/call");
    let mut session = OverPipe::at(House::with(|builder| builder), Words { call, check, date });
    let params =
        json!({"protocolVersion": date, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params});
    session.say(&hello.to_string()).await;
    assert!(session.lines.fill(&mut session.pipe.reader).await.unwrap() > 0);
    let opened: Value = serde_json::from_slice(&session.lines.next_line().unwrap().unwrap()).unwrap();
    assert_eq!(opened["result"]["protocolVersion"], date, "{opened}");
    session.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    session
}

async fn check(text: &str) {
    let file: File = serde_json::from_str(text).unwrap();
    let scripts = file.scripts.iter().filter(|script| script.over == "pipe" && script.modern.is_none());
    for script in scripts {
        for revision in Revision::LEGACY {
            open(revision.date()).await.play(script).await;
        }
    }
}

#[tokio::test]
async fn requests_of_a_session_that_share_an_id_get_their_own_answers() {
    check(include_str!("../../../data/same_ids.json")).await;
}

#[tokio::test]
async fn a_cancellation_in_a_session_ends_what_it_names_and_nothing_else() {
    check(include_str!("../../../data/cancellations.json")).await;
}
