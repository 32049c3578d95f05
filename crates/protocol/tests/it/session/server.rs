//! `client`, `answer`, `error` and `notify` act; `request`, `cancel`, `sent`, `open`, `dropped` and
//! `unsaid` expect.

use switchboard_protocol::ProtocolError;
use switchboard_protocol::frame::{encode_error, encode_notification, encode_raw_result};
use switchboard_protocol::id::RequestId;
use switchboard_protocol::session::{Incoming, ServerLimits, ServerSession};

use super::{each_transcript, latin1, next_line, steps};

#[test]
fn the_server_plays_its_transcripts() {
    each_transcript("server", |name, text| {
        let mut session = ServerSession::new(ServerLimits::default());
        let mut incoming = String::new();
        for (place, verb, rest) in steps(name, text) {
            if !matches!(verb, "request" | "cancel") {
                assert_eq!(incoming, "", "before {place}");
            }
            match verb {
                "limit" => session = ServerSession::new(ServerLimits { open: rest.parse().unwrap() }),
                "latin1" => session.handle_invalid_utf8(&latin1(rest)),
                "client" => incoming = describe(&session.handle_message(rest)),
                "request" | "cancel" => {
                    assert_eq!(std::mem::take(&mut incoming), format!("{verb} {rest}"), "{place}");
                }
                "open" => assert_eq!(session.open().to_string(), rest, "{place}"),
                _ => exchange(&mut session, &place, verb, rest),
            }
        }
    });
}

fn exchange(session: &mut ServerSession, place: &str, verb: &str, rest: &str) {
    let (id, body) = rest.split_once(' ').unwrap_or((rest, ""));
    let id = || serde_json::from_str::<RequestId>(id).unwrap();
    let said = |out: &mut Vec<u8>| encode_notification(out, "x/said", None::<&()>).unwrap();
    match verb {
        "answer" | "dropped" => {
            let sent = session.respond(&id(), |id, out| encode_raw_result(out, id, body.as_bytes()));
            assert_eq!(sent, verb == "answer", "{place}");
        }
        "error" => {
            let error = ProtocolError::new(body.parse().unwrap(), "no");
            assert!(session.respond(&id(), |id, out| encode_error(out, Some(id), &error)), "{place}");
        }
        "notify" => assert!(session.notify(&id(), said), "{place}"),
        "unsaid" => assert!(!session.notify(&id(), said), "{place}"),
        "sent" if rest == "nothing" => assert_eq!(session.poll_transmit(), None, "{place}"),
        "sent" => {
            let line = next_line(session.poll_transmit()).unwrap_or_default();
            assert_eq!(line.trim_end(), rest, "{place}");
            session.handle_transmitted(line.len());
        }
        other => panic!("{place}: unknown verb {other}"),
    }
}

fn describe(incoming: &Incoming<'_>) -> String {
    match incoming {
        Incoming::Request(request) => format!("request {} {}", request.id, request.method),
        Incoming::Cancel(id) => format!("cancel {id}"),
        _ => String::new(),
    }
}
