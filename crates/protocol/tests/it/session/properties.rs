//! Whatever the order of things: every exchange ends exactly once, ids are never used again, and
//! at most one message ends a request.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::{collection, prop_assert, prop_assert_eq, proptest};
use switchboard_protocol::frame::{Frame, encode_raw_result, encode_request};
use switchboard_protocol::id::RequestId;
use switchboard_protocol::session::{
    ClientLimits, ClientSession, Event, ExchangeId, Incoming, Opening, ServerLimits, ServerSession,
};

use super::beginning;

#[derive(Clone, Debug)]
enum Step {
    Open { idle: Option<u8>, total: Option<u8> },
    Cancel(u8),
    Say(u8, Said),
    Wait(u8),
    Write(u16),
    Close,
}

#[derive(Clone, Copy, Debug)]
enum Said {
    Result,
    StringId,
    Error,
    Broken,
    Progress,
    Cancelled,
    Noise,
}

fn step() -> impl Strategy<Value = Step> {
    let said = prop_oneof![
        proptest::strategy::Just(Said::Result),
        proptest::strategy::Just(Said::StringId),
        proptest::strategy::Just(Said::Error),
        proptest::strategy::Just(Said::Broken),
        proptest::strategy::Just(Said::Progress),
        proptest::strategy::Just(Said::Cancelled),
        proptest::strategy::Just(Said::Noise),
    ];
    prop_oneof![
        8 => (any::<Option<u8>>(), any::<Option<u8>>()).prop_map(|(idle, total)| Step::Open { idle, total }),
        4 => (0..12_u8).prop_map(Step::Cancel),
        16 => (0..12_u8, said).prop_map(|(id, said)| Step::Say(id, said)),
        4 => any::<u8>().prop_map(Step::Wait),
        4 => any::<u16>().prop_map(Step::Write),
        1 => proptest::strategy::Just(Step::Close),
    ]
}

fn line(id: u8, said: Said) -> String {
    match said {
        Said::Result => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
        Said::StringId => format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{}}}}"#),
        Said::Error => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":1,"message":""}}}}"#),
        Said::Broken => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}},"error":{{}}}}"#),
        Said::Progress => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":{id}}}}}"#
        ),
        Said::Cancelled => {
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
        }
        Said::Noise => "noise".into(),
    }
}

/// What messages are made of, in whatever company: noise alone hardly gets past the parser.
const MEMBERS: &[&str] = &[
    r#""id":1"#,
    r#""id":"a""#,
    r#""id":null"#,
    r#""id":18446744073709551615"#,
    r#""method":"x""#,
    r#""method":"notifications/progress""#,
    r#""method":"notifications/message""#,
    r#""method":"notifications/cancelled""#,
    r#""params":{"progressToken":1,"progress":1e308,"requestId":1,"level":"info","data":0}"#,
    r#""params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}"#,
    r#""params":[]"#,
    r#""result":{}"#,
    r#""result":null"#,
    r#""error":{"code":1e300}"#,
    r#""error":{"code":-1,"message":"no"}"#,
];

proptest! {
    #[test]
    fn every_exchange_ends_exactly_once(steps in collection::vec(step(), 1..120)) {
        let mut now = beginning();
        let mut session = ClientSession::new(ClientLimits { pending: 8, noise_bytes: 64 });
        let mut ends: HashMap<ExchangeId, u32> = HashMap::new();
        for step in steps.into_iter().chain([Step::Close]) {
            match step {
                Step::Open { idle, total } => {
                    let seconds = |value: Option<u8>| value.map(|value| Duration::from_secs(value.into()));
                    let opening = Opening {
                        idle: seconds(idle), total: seconds(total), progress: true, ..Opening::default()
                    };
                    let opened =
                        session.open(now, opening, |id, out| encode_request(out, id, "x", &()));
                    if let Ok(id) = opened {
                        prop_assert!(ends.insert(id, 0).is_none(), "an id was used twice");
                    }
                }
                Step::Cancel(nth) => {
                    let known = ends.iter().find(|(id, _)| id.request_id() == RequestId::from(i64::from(nth)));
                    if let Some(id) = known.map(|(id, _)| *id) {
                        let before = session.pending();
                        session.cancel(id, "no");
                        // The caller who cancels is told by nobody: that is its end.
                        *ends.get_mut(&id).unwrap() += u32::try_from(before - session.pending()).unwrap();
                    }
                }
                Step::Say(id, said) => session.handle_message(now, &line(id, said)),
                Step::Wait(seconds) => {
                    now += Duration::from_secs(seconds.into());
                    session.handle_timeout(now);
                }
                Step::Write(count) => session.handle_transmitted(count.into()),
                Step::Close => session.handle_closed(),
            }
            while let Some(event) = session.poll_event() {
                match event {
                    Event::Ended { id, .. } => *ends.get_mut(&id).unwrap() += 1,
                    Event::Progress { id, .. } => prop_assert_eq!(ends[&id], 0, "progress after the end"),
                    _ => {}
                }
            }
        }
        prop_assert!(ends.values().all(|count| *count == 1), "{ends:?}");
        prop_assert_eq!((session.pending(), session.poll_timeout()), (0, None));
    }

    #[test]
    fn at_most_one_message_ends_a_request(steps in collection::vec((0..4_u8, 0..4_i64), 1..120)) {
        let mut session = ServerSession::new(ServerLimits { open: 3 });
        let (mut requested, mut cancelled) = (0_usize, 0_usize);
        for (what, id) in steps {
            let message = match what {
                0 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x"}}"#),
                1 => line(u8::try_from(id).unwrap(), Said::Cancelled),
                2 => "noise".into(),
                _ => {
                    session.respond(&RequestId::from(id), |id, out| encode_raw_result(out, id, b"{}"));
                    continue;
                }
            };
            match session.handle_message(&message) {
                Incoming::Request(_) => requested += 1,
                Incoming::Cancel(_) => cancelled += 1,
                _ => {}
            }
        }
        let sent = session.poll_transmit().unwrap_or_default().split(|byte| *byte == b'\n');
        let results = sent
            .filter(|line| matches!(Frame::decode(line), Ok(Frame::Response(answer)) if answer.outcome.is_ok()));
        prop_assert_eq!(results.count(), requested - cancelled - session.open());
    }

    #[test]
    fn nothing_that_a_peer_writes_panics(
        noise in collection::vec(any::<u8>(), 0..200),
        members in collection::vec(select(MEMBERS), 0..5),
    ) {
        let now = beginning();
        let mut client = ClientSession::new(ClientLimits::default());
        let opening = Opening { progress: true, log: true, listen: true, ..Opening::default() };
        client.open(now, opening, |id, out| encode_request(out, id, "x", &())).unwrap();
        let mut server = ServerSession::new(ServerLimits::default());
        let message = format!(r#"{{"jsonrpc":"2.0",{}}}"#, members.join(","));
        for bytes in [noise.as_slice(), message.as_bytes()] {
            let text = String::from_utf8_lossy(bytes);
            client.handle_message(now, &text);
            client.handle_invalid_utf8(bytes);
            server.handle_message(&text);
            server.handle_invalid_utf8(bytes);
        }
    }
}
