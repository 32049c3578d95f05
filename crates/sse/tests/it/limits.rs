//! What a peer can make the decoder hold.

use switchboard_sse::{Decoder, EventTooLarge};

const LIMIT: usize = 100;

/// Feeds `wire` in pieces of `size` and returns the number of events before the end or the error.
fn check(wire: &str, size: usize) -> (usize, Option<EventTooLarge>) {
    let mut decoder = Decoder::new(LIMIT);
    let mut events = 0;
    for chunk in wire.as_bytes().chunks(size) {
        decoder.push(chunk.to_vec());
        loop {
            match decoder.next_event() {
                Ok(Some(_)) => events += 1,
                Ok(None) => break,
                Err(error) => {
                    decoder.push("data: after the end\n\n");
                    assert_eq!(decoder.next_event(), Err(error), "the error stays");
                    return (events, Some(error));
                }
            }
        }
    }
    (events, None)
}

#[test]
fn an_event_over_the_limit_fails_in_every_chunking_after_the_events_before_it() {
    let too_large = Some(EventTooLarge { limit: LIMIT });
    let cases = [
        ("one long line", format!("data: ok\n\ndata: {}\n\n", "x".repeat(95)), (1, too_large)),
        ("a line without end", format!("data: ok\n\ndata: {}", "x".repeat(500)), (1, too_large)),
        ("many short lines", format!("data: ok\n\n{}", "data: x\n".repeat(50)), (1, too_large)),
        ("many empty lines of data", "data\n".repeat(30), (0, too_large)),
        ("unknown fields", "x: y\n".repeat(30), (0, too_large)),
        ("exactly the limit", format!("data: {}\n\n", "x".repeat(94)), (1, None)),
        ("events without end", "data: x\n\n".repeat(500), (500, None)),
        ("comments do not count", format!("data: x\n{}\n", ": ping\n".repeat(500)), (1, None)),
        ("nor does a long one", format!("data: x\n:{}\n\n", " ping".repeat(500)), (1, None)),
    ];
    for (name, wire, expected) in cases {
        for size in [1, 2, 3, 7, 64, wire.len()] {
            assert_eq!(check(&wire, size), expected, "{name} in pieces of {size}");
        }
    }
}

#[test]
fn the_error_names_the_limit_and_what_to_do() {
    let text = EventTooLarge { limit: 4096 }.to_string();
    assert!(text.contains("max_event_bytes (4096 bytes)") && text.contains("larger limit"), "{text}");
}
