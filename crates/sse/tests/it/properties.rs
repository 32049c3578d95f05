//! Properties over arbitrary streams.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof};
use proptest::{option, proptest, sample};
use switchboard_sse::{Decoder, Event, EventRef, encode_comment, encode_event, encode_event_with};

const LIMIT: usize = 200;

/// Streams made of the pieces that matter, so that most of them mean something.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        sample::select(vec![
            "\n",
            "\r",
            "\r\n",
            "\n\n",
            "data",
            "data:",
            "data: ",
            "event: ",
            "id: ",
            "id",
            "retry: 12",
            ": ",
            ":",
            "\u{feff}",
            "\0",
            "message",
            "é",
            "{\"a\":1}",
            "retry: x",
            "data: abc\n\n",
        ])
        .prop_map(|piece| piece.as_bytes().to_vec()),
        vec(any::<u8>(), 0..6),
    ];
    vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn decode(chunks: &[&[u8]]) -> (Vec<Event>, Option<String>, Option<Duration>, bool) {
    let mut decoder = Decoder::new(LIMIT);
    let mut events = Vec::new();
    let mut failed = false;
    for chunk in chunks {
        decoder.push(Bytes::copy_from_slice(chunk));
        loop {
            match decoder.next_event() {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(_) => {
                    failed = true;
                    break;
                }
            }
        }
    }
    (events, decoder.last_event_id().map(str::to_owned), decoder.retry(), failed)
}

fn cut<'a>(wire: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = wire;
    let mut chunks = Vec::new();
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (chunk, after) = rest.split_at((*size).min(rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

/// Line ends inside data come back as LF.
fn lines_by_lf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

fn field() -> impl Strategy<Value = String> {
    "[^\r\n\0]{1,12}"
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn any_chunking_gives_the_same_events(wire in streams(), sizes in vec(1_usize..12, 1..10)) {
        assert_eq!(decode(&cut(&wire, &sizes)), decode(&[&wire]));
    }

    #[test]
    fn no_event_has_empty_data_or_more_than_the_limit(wire in streams()) {
        for event in decode(&[&wire]).0 {
            assert!(!event.data.is_empty() && event.data.len() <= LIMIT);
        }
    }

    #[test]
    fn what_is_encoded_is_decoded(
        messages in vec(
            (option::of(field()), option::of(field()), option::of(0_u64..100_000), "(?s).{1,40}", any::<bool>()),
            0..6,
        ),
        sizes in vec(1_usize..20, 1..10),
    ) {
        let mut wire = BytesMut::new();
        let mut expected = Vec::new();
        for (event, id, retry, data, comment) in messages {
            if comment {
                encode_comment(&mut wire, &data);
            }
            let retry = retry.map(Duration::from_millis);
            let sent = EventRef {
                event: event.as_deref(),
                id: id.as_deref(),
                retry,
                data: Some(data.as_bytes()),
            };
            encode_event_with(&mut wire, &sent).unwrap();
            let event = event.filter(|name| name != "message");
            expected.push(Event { event, data: lines_by_lf(&data).into(), id, retry });
        }
        assert_eq!(decode(&cut(&wire, &sizes)).0, expected);
    }

    #[test]
    fn the_short_form_writes_the_same_bytes(data in prop_oneof![Just(String::new()), "(?s).{0,40}"]) {
        let (mut short, mut long) = (BytesMut::new(), BytesMut::new());
        encode_event(&mut short, data.as_bytes());
        let event = EventRef { data: Some(data.as_bytes()), ..EventRef::default() };
        encode_event_with(&mut long, &event).unwrap();
        assert_eq!(short, long);
    }

    #[test]
    fn a_field_that_would_break_its_line_is_refused(before in "[a-z]{0,3}", bad in sample::select(vec!["\n", "\r"])) {
        let text = format!("{before}{bad}data: forged");
        let mut wire = BytesMut::new();
        let named = EventRef { event: Some(&text), ..EventRef::default() };
        let with_id = EventRef { id: Some(&text), ..EventRef::default() };
        assert_eq!(encode_event_with(&mut wire, &named).unwrap_err().field, "event");
        assert_eq!(encode_event_with(&mut wire, &with_id).unwrap_err().field, "id");
        assert!(wire.is_empty());
    }
}
