//! The stream, its masks and its views.

use serde_json::Value;
use switchboard_client::Direction;

use super::*;
use crate::name::CallId;
use crate::outcome::FailureKind;

fn server() -> ServerName {
    ServerName::new("s").unwrap()
}

fn invocation(arguments: Value) -> Event {
    Event::Invocation(Invocation::Started {
        call: CallId(1),
        server: server(),
        tool: "t".to_owned(),
        arguments,
    })
}

fn one_of_each_stage() -> Vec<Event> {
    let call = CallId(1);
    vec![
        Declaration::Tool {
            server: server(),
            tool: "t".to_owned(),
            title: None,
            definition: crate::Digest::of(&[]),
        }
        .into(),
        Discovery::Failed { server: server(), error: "refused".to_owned(), took_ms: 3 }.into(),
        Exposed::LeftOut {
            server: server(),
            tool: "t".to_owned(),
            reason: "no schema".to_owned(),
            fault: true,
        }
        .into(),
        Selection::Question { text: "q".to_owned() }.into(),
        Authorization::Denied {
            call,
            server: server(),
            tool: "t".to_owned(),
            reason: "no".to_owned(),
            rule: "r".to_owned(),
        }
        .into(),
        invocation(serde_json::json!({"a": 1})),
        Execution::Progress { call, done: 1.0, total: Some(2.0), message: None }.into(),
        Event::Result {
            call,
            took_ms: 5,
            outcome: ResultEvent::Failed {
                kind: FailureKind::Timeout { after_ms: Some(1000) },
                message: "slow".to_owned(),
                maybe_executed: true,
            },
        },
        Integration::Finished { text: "a".to_owned(), steps: 1, calls: 1 }.into(),
    ]
}

const STAGES: [&str; 9] = [
    "declaration",
    "discovery",
    "exposure",
    "selection",
    "authorization",
    "invocation",
    "execution",
    "result",
    "integration",
];

#[test]
fn every_stage_is_one_json_line_that_reads_back() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let journal = Journal::new().with_sink(JsonLines::new(Shared(sink)));
    one_of_each_stage().into_iter().for_each(|event| journal.record(event));
    journal.record(Selection::TextDelta { text: "a piece".to_owned() });
    let text = String::from_utf8(lines.lock().unwrap().clone()).unwrap();
    let entries: Vec<Entry> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(entries.iter().map(|entry| entry.event.stage()).collect::<Vec<_>>(), STAGES);
    assert_eq!(entries.iter().map(|entry| entry.seq).collect::<Vec<_>>(), (1..=9).collect::<Vec<_>>());
    let events: Vec<Event> = entries.into_iter().map(|entry| entry.event).collect();
    assert_eq!(events, one_of_each_stage());
    assert!(
        text.lines().next().unwrap().contains(r#""event":{"stage":"declaration","what":"tool","#),
        "{text}"
    );
}

struct Shared(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_writer_that_fails_does_not_end_the_run() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("disk full"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let journal = Journal::new().with_sink(JsonLines::new(Full));
    journal.record(Selection::Question { text: "q".to_owned() });
    journal.record(Selection::Question { text: "q".to_owned() });
}

fn masked(secret: Option<&str>, arguments: Value) -> Value {
    let memory = Memory::default();
    let journal = Journal::new().with_sink(memory.clone());
    if let Some(secret) = secret {
        journal.mask(secret);
    }
    journal.record(invocation(arguments));
    match memory.entries().remove(0).event {
        Event::Invocation(Invocation::Started { arguments, .. }) => arguments,
        other => panic!("{other:?}"),
    }
}

#[test]
fn secrets_are_masked_wherever_they_stand() {
    use serde_json::json;
    for (arguments, expected) in [
        (json!({"password": "hunter2", "user": "me"}), json!({"password": "***", "user": "me"})),
        (json!({"a": [{"API-Key": "x", "n": 1}]}), json!({"a": [{"API-Key": "***", "n": 1}]})),
        (json!({"accessToken": 12345, "tokens": 12345}), json!({"accessToken": "***", "tokens": 12345})),
        (json!("Authorization: Bearer abc.def, and more"), json!("Authorization: Bearer ***, and more")),
        (json!("AUTHORIZATION: BEARER\tabc.def"), json!("AUTHORIZATION: BEARER\t***")),
        (json!("key sk-0123456789abcdef."), json!("key sk-***")),
        (json!("\n{\"secret\":\"s\"}"), json!(r#"{"secret":"***"}"#)),
        (json!("sk-short eye"), json!("sk-short eye")),
        (json!(r#"{"secret":"s","b":1}"#), json!(r#"{"b":1,"secret":"***"}"#)),
        (json!(r#"{ "b": 1 }"#), json!(r#"{ "b": 1 }"#)),
    ] {
        assert_eq!(masked(None, arguments.clone()), expected, "{arguments}");
    }
    assert_eq!(masked(Some("hunter22"), json!({"note": "it is hunter22!"})), json!({"note": "it is ***!"}));
    assert_eq!(masked(Some("a"), json!({"note": "banana"})), json!({"note": "banana"}));
    assert_eq!(
        masked(Some("12345678"), json!({"a": 12345678, "12345678": 1, "b": 1234567})),
        json!({"a": "***", "***": 1, "b": 1234567})
    );
    // `me:hunter22` in Base64, and in an address.
    assert_eq!(masked(Some("hunter22"), json!("Basic bWU6aHVudGVyMjI=")), json!("Basic bWU6***I="));
    assert_eq!(masked(Some("a b/c=d"), json!("http://h/?k=a%20b%2Fc%3Dd")), json!("http://h/?k=***"));
}

/// The names of all members in it.
fn names(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            found.push(name.clone());
            names(member, found);
        }),
        Value::Array(items) => items.iter().for_each(|item| names(item, found)),
        _ => {}
    }
}

#[test]
fn no_secret_tears_holes_into_what_we_write() {
    let written = |secret: Option<&str>| {
        let memory = Memory::default();
        let journal = Journal::new().with_sink(memory.clone());
        secret.into_iter().for_each(|secret| journal.mask(secret));
        one_of_each_stage().into_iter().for_each(|event| journal.record(event));
        let events = memory.entries().into_iter().map(|entry| serde_json::to_value(entry.event).unwrap());
        events.collect::<Vec<_>>()
    };
    let plain = written(None);
    let mut secrets = Vec::new();
    plain.iter().for_each(|event| names(event, &mut secrets));
    secrets.extend(["servers", "switchboard", "string", "object", "abc", "e"].map(str::to_owned));
    for secret in secrets {
        assert!(Masker::spares(&secret).is_some(), "add to mask/words.txt: {secret}");
        assert_eq!(written(Some(&secret)), plain, "{secret}");
    }
    for secret in ["", "hunter22", "sk-abcdef", "Servers1", "ser\nvers"] {
        assert_eq!(Masker::spares(secret), None, "{secret}");
    }
}

#[test]
fn whatever_a_server_says_is_masked() {
    let secret = "hunter2hunter2";
    let said = || format!("it is {secret}");
    let events: Vec<Event> = vec![
        Declaration::Tool {
            server: server(),
            tool: "t".to_owned(),
            title: Some(said()),
            definition: crate::Digest::of(&[]),
        }
        .into(),
        Exposed::LeftOut { server: server(), tool: "t".to_owned(), reason: said(), fault: true }.into(),
        Exposed::Unchecked { server: server(), tool: "t".to_owned(), reason: said() }.into(),
        Discovery::Connected {
            server: server(),
            implementation: Some(said()),
            revision: "DATE".to_owned(),
            session: false,
            tools: 1,
            took_ms: 1,
        }
        .into(),
        Authorization::Elicited {
            server: server(),
            message: said(),
            fields: vec![said()],
            host: Some(said()),
        }
        .into(),
        Authorization::Denied {
            call: CallId(1),
            server: server(),
            tool: "t".to_owned(),
            reason: said(),
            rule: "r".to_owned(),
        }
        .into(),
    ];
    let memory = Memory::default();
    let journal = Journal::new().with_sink(memory.clone());
    journal.mask(secret);
    events.into_iter().for_each(|event| journal.record(event));
    for entry in memory.entries() {
        let text = serde_json::to_string(&entry).unwrap();
        assert!(text.contains("***") && !text.contains(secret), "{text}");
    }
    assert!(!format!("{journal:?}").contains(secret));
}

#[test]
fn every_stage_has_a_line_for_the_terminal() {
    let lines: Vec<String> = one_of_each_stage()
        .into_iter()
        .filter_map(|event| line(&Entry { seq: 1, unix_ms: 0, elapsed_ms: 7, run: None, event }))
        .collect();
    insta::assert_snapshot!(lines.join("\n").trim_start(), @r#"
    7 ms  declaration    s/t
         7 ms  discovery      s failed after 3 ms: refused
         7 ms  exposure       left out s/t: no schema
         7 ms  selection      question: q
         7 ms  authorization  #1 denied: no
         7 ms  invocation     #1 s/t {"a":1}
         7 ms  execution      #1 1 of 2
         7 ms  result         #1 timed out after 1 s, 5 ms (may have been executed): slow
         7 ms  integration    finished after 1 step and 1 call
    "#);
}

#[test]
fn a_line_stays_one_line_and_short_whatever_a_server_says() {
    let text = format!("a\n\u{1b}[2J{}", "x".repeat(10_000));
    let event = Event::from(Selection::Note { text });
    let shown = line(&Entry { seq: 1, unix_ms: 0, elapsed_ms: 7, run: None, event }).unwrap();
    assert!(!shown.contains(['\n', '\u{1b}']) && shown.len() < 300, "{shown}");
}

#[test]
fn of_a_flood_on_the_wire_the_beginning_is_recorded_and_the_rest_counted() {
    let memory = Memory::default();
    let tap = Journal::new().with_sink(memory.clone()).tap(ServerName::new("loud").unwrap());
    let received = |text: &str| {
        tap(WireMessage { direction: Direction::Received, bytes: text.as_bytes() });
    };
    for _ in 0..1500 {
        received(r#"{"jsonrpc":"2.0","method":"notifications/message"}"#);
    }
    received(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    for _ in 0..500 {
        received(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        tap(WireMessage { direction: Direction::Sent, bytes: br#"{"jsonrpc":"2.0","id":1,"result":{}}"# });
    }
    received("noise");
    drop(tap);
    let left_out = |entry: &Entry| match entry.event {
        Event::Execution(Execution::WireLeftOut { messages, .. }) => Some(messages),
        _ => None,
    };
    let entries = memory.entries();
    assert_eq!(entries.iter().filter_map(left_out).collect::<Vec<_>>(), [500, 1]);
    assert_eq!(entries.len(), 1000 + 1 + 1 + 1000 + 1);
}

#[test]
fn a_journal_in_lines_ends_with_a_note_at_its_limit() {
    struct Shared(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let shared = Arc::new(Mutex::new(Vec::new()));
    let lines = JsonLines::new(Shared(Arc::clone(&shared))).max_bytes(1000);
    let journal = Journal::new().with_sink(lines);
    for _ in 0..100 {
        journal.record(Selection::Note { text: "x".repeat(100) });
    }
    let text = String::from_utf8(shared.lock().unwrap().clone()).unwrap();
    assert!(text.len() < 1400, "{} bytes", text.len());
    let last: Entry = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert!(format!("{last:?}").contains("the journal ends here"), "{last:?}");
}

#[test]
fn how_a_server_is_spoken_to_is_told_and_reads_back() {
    let revision = "DATE".to_owned();
    let opened =
        |session| Discovery::Opened { server: server(), revision: revision.clone(), session, took_ms: 9 };
    let connected = |session| Discovery::Connected {
        server: server(),
        implementation: Some("demo 1".to_owned()),
        revision: revision.clone(),
        session,
        tools: 1,
        took_ms: 2,
    };
    for (event, said) in [
        (Discovery::Connecting { server: server() }, "connecting to s"),
        (opened(false), "s speaks revision DATE, found out in 9 ms"),
        (opened(true), "s speaks revision DATE in a session, found out in 9 ms"),
        (connected(false), "s (demo 1) answers in 2 ms, revision DATE, 1 tool"),
        (connected(true), "s (demo 1) answers in 2 ms, revision DATE in a session, 1 tool"),
    ] {
        let entry = Entry { seq: 1, unix_ms: 0, elapsed_ms: 7, run: None, event: event.into() };
        let shown = line(&entry).unwrap();
        assert!(shown.ends_with(said), "{shown}");
        let text = serde_json::to_string(&entry).unwrap();
        assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), entry, "{text}");
    }
    let before =
        r#"{"stage":"discovery","what":"connected","server":"s","revision":"DATE","tools":1,"took_ms":2}"#;
    let read: Event = serde_json::from_str(before).unwrap();
    assert!(matches!(read, Event::Discovery(Discovery::Connected { session: false, .. })), "{read:?}");
}

#[test]
fn a_secret_that_comes_in_pieces_is_masked_and_what_only_begins_like_one_is_not() {
    const SECRETS: [&str; 3] = ["SECRETpwBBB2", "abcab1abcab1ä", "abcab1"];
    let texts = |pieces: &[&str]| {
        let memory = Memory::default();
        let journal = Journal::new().with_sink(memory.clone());
        SECRETS.iter().for_each(|secret| journal.mask(*secret));
        for piece in pieces {
            journal.record(Selection::TextDelta { text: (*piece).to_owned() });
            journal.record(Execution::Progress { call: CallId(1), done: 1.0, total: None, message: None });
        }
        journal.record(RunEvent::Ended {
            status: crate::store::RunStatus::Finished,
            error: None,
            usage: Default::default(),
        });
        let text = |entry: &Entry| match &entry.event {
            Event::Selection(Selection::TextDelta { text }) => Some(text.clone()),
            _ => None,
        };
        assert!(matches!(memory.entries().last().unwrap().event, Event::Run(_)), "{pieces:?}");
        memory.entries().iter().filter_map(text).collect::<Vec<_>>()
    };
    for (pieces, shown) in [
        (&["SECR", "ETpw", "BBB2 bye"][..], &["*** bye"][..]),
        (&["It is SEC", "RETpwBBB", "2"], &["It is ", "***"]),
        (&["A SECR", "ET of mine"], &["A ", "SECRET of mine"]),
        (&["all of SECRETpwBBB"], &["all of ", "SECRETpwBBB"]),
        (&["x abcab1", "abcab", "1ä y"], &["x ", "*** y"]),
        (&["x abcab1", "!"], &["x ", "***!"]),
        (&["Grüße", " an ", "alle"], &["Grüße", " an ", "alle"]),
    ] {
        assert_eq!(texts(pieces), shown, "{pieces:?}");
    }
}

#[test]
fn any_secret_cut_anywhere_is_masked() {
    const SECRET: &str = "s3c/s3c/ret ä";
    let text = format!("It is {SECRET}, and {SECRET}{SECRET}.");
    let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    for first in &cuts {
        for second in cuts.iter().filter(|second| *second > first) {
            let memory = Memory::default();
            let journal = Journal::new().with_sink(memory.clone());
            journal.mask(SECRET);
            for text in [&text[..*first], &text[*first..*second], &text[*second..]] {
                journal.record(Selection::ThinkingDelta { text: text.to_owned() });
            }
            journal.record(Selection::Note { text: "over".to_owned() });
            let pieces = memory.entries().into_iter().filter_map(|entry| match entry.event {
                Event::Selection(Selection::ThinkingDelta { text }) => Some(text),
                _ => None,
            });
            assert_eq!(pieces.collect::<String>(), "It is ***, and ******.", "{first} {second}");
        }
    }
}
