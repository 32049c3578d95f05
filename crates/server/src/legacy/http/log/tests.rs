//! What a stream keeps, for whom, and for how long.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::{EventId, Log, Next, Reader};
use crate::legacy::http::budget::{BASE_BYTES, Budget};

fn log(limit: usize) -> (Arc<Log>, Arc<Budget>) {
    let budget = Arc::new(Budget::new(limit));
    (Log::new(7, &budget), budget)
}

fn push(log: &Log, messages: &[&str]) {
    messages.iter().for_each(|message| log.push(Bytes::copy_from_slice(message.as_bytes())));
}

/// What a reader gets by now: numbers with texts, and `end`.
fn read(reader: &mut Reader) -> String {
    let mut cx = Context::from_waker(Waker::noop());
    let mut seen = Vec::new();
    loop {
        match reader.poll_next(&mut cx) {
            Poll::Ready(Next::Event(id, message)) => {
                seen.push(format!("{}{}", id.number, String::from_utf8_lossy(&message)));
            }
            Poll::Ready(Next::End) => return [seen, vec!["end".into()]].concat().join(" "),
            Poll::Pending => return seen.join(" "),
        }
    }
}

#[test]
fn ids_are_read_as_they_are_written() {
    let id = EventId { stream: 0xab, number: 12 };
    assert_eq!((id.to_string().as_str(), EventId::parse("ab-12")), ("ab-12", Some(id)));
    for text in ["", "-", "ab", "ab-", "-1", "xy-1", "ab-1-2", "ab--1", "ab-99999999999999999999"] {
        assert_eq!(EventId::parse(text), None, "{text}");
    }
}

#[test]
fn a_stream_is_taken_up_after_any_event_of_it() {
    let (log, _) = log(1 << 20);
    let mut first = log.attach(None).unwrap();
    push(&log, &["a", "b", "c"]);
    assert_eq!(read(&mut first), "1a 2b 3c");
    for (after, expected) in [(0, "1a 2b 3c"), (2, "3c"), (3, "")] {
        assert_eq!(read(&mut log.attach(Some(after)).unwrap()), expected, "{after}");
    }
    assert!(log.attach(Some(4)).is_none());
    assert_eq!(read(&mut first), "end", "another one reads now");
    let mut last = log.attach(None).unwrap();
    push(&log, &["d"]);
    log.end();
    push(&log, &["e"]);
    assert_eq!(read(&mut last), "4d end");
    assert_eq!(read(&mut log.attach(Some(1)).unwrap()), "2b 3c 4d end");
}

#[test]
fn without_room_what_was_said_goes_first_and_the_last_never() {
    let (log, budget) = log(BASE_BYTES + 8);
    let mut reader = log.attach(None).unwrap();
    push(&log, &["aaaa", "bbbb", "cccc", "dddd"]);
    assert_eq!(read(&mut reader), "1aaaa 2bbbb 3cccc 4dddd", "a client that is there misses nothing");
    drop(reader);
    push(&log, &["eeee", "ffff", "gggg"]);
    assert!(!budget.is_over());
    let kept = read(&mut log.attach(Some(0)).unwrap());
    assert!(kept.ends_with("7gggg") && kept.len() < 20, "{kept}");
    push(&log, &["x".repeat(100).as_str()]);
    assert!(read(&mut log.attach(Some(0)).unwrap()).starts_with("8xxx"));
    drop(log);
    budget.charge(0);
    assert!(!budget.is_over());
}

#[test]
fn streams_that_have_ended_give_way() {
    let budget = Arc::new(Budget::new(3 * BASE_BYTES));
    let (first, second) = (Log::new(1, &budget), Log::new(2, &budget));
    for log in [&first, &second] {
        push(log, &["answer"]);
        log.end();
    }
    let open = Log::new(3, &budget);
    push(&open, &["news"]);
    assert!(first.attach(Some(0)).is_none());
    assert_eq!(read(&mut open.attach(Some(0)).unwrap()), "1news");
}

#[test]
fn a_writer_waits_for_a_reader_and_not_for_nobody() {
    let (log, _) = log(1 << 24);
    let mut cx = Context::from_waker(Waker::noop());
    let much = "x".repeat(super::AHEAD_BYTES + 1);
    push(&log, &[&much]);
    assert!(log.poll_room(&mut cx).is_ready());
    let mut reader = log.attach(Some(0)).unwrap();
    assert!(log.poll_room(&mut cx).is_pending());
    read(&mut reader);
    assert!(log.poll_room(&mut cx).is_ready());
}
