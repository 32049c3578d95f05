//! What a stream keeps, for whom, and for how long.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::{Just, Strategy, prop_assert, prop_oneof, proptest};
use proptest::{collection, option};

use super::{EventId, Log, Next, Reader};
use crate::legacy::http::budget::{BASE_BYTES, Budget};

const TIME: Duration = Duration::from_secs(60);

fn log(limit: usize) -> (Arc<Log>, Arc<Budget>) {
    let budget = Arc::new(Budget::new(limit, TIME));
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
    let budget = Arc::new(Budget::new(3 * BASE_BYTES, TIME));
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
fn a_stream_that_somebody_holds_does_not_keep_the_ends_of_others_in_memory() {
    let (first, budget) = log(1 << 20);
    first.end();
    for stream in 8..10_000 {
        Log::new(stream, &budget).end();
    }
    assert_eq!(budget.remembered(), 1);
    drop(first);
    assert_eq!(budget.remembered(), 0);
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

#[derive(Clone, Debug)]
enum Step {
    Push(usize),
    Attach(Option<u64>),
    Read(usize),
    Leave,
    Forget,
    End,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..400_usize).prop_map(Step::Push),
        2 => option::of(0..40_u64).prop_map(Step::Attach),
        4 => (1..5_usize).prop_map(Step::Read),
        1 => Just(Step::Leave),
        1 => Just(Step::Forget),
        1 => Just(Step::End),
    ]
}

/// Says how long each message is, so that a reader can tell which one it got.
fn message(number: u64, length: usize) -> Bytes {
    Bytes::from(format!("{number}:{}", "x".repeat(length)))
}

proptest! {
    /// Whatever happens to a stream, a reader gets every message under its own number, in order, and without
    /// a gap while it is there; and the budget is whole again afterwards.
    #[test]
    fn a_reader_gets_what_was_said_in_order(steps in collection::vec(step(), 1..120), limit in 0..8_000_usize) {
        let budget = Arc::new(Budget::new(limit, TIME));
        let log = Log::new(1, &budget);
        let mut cx = Context::from_waker(Waker::noop());
        let mut reader: Option<(Reader, Option<u64>)> = None;
        let (mut pushed, mut is_open) = (0, true);
        for step in steps {
            match step {
                Step::Push(length) => {
                    pushed += u64::from(is_open);
                    log.push(message(pushed, length));
                }
                Step::Attach(after) => {
                    if let Some(attached) = log.attach(after) {
                        prop_assert!(after.is_none_or(|after| after <= pushed));
                        reader = Some((attached, None));
                    }
                }
                Step::Read(count) => {
                    let Some((reader, last)) = &mut reader else { continue };
                    for _ in 0..count {
                        let Poll::Ready(Next::Event(id, text)) = reader.poll_next(&mut cx) else { break };
                        prop_assert!(last.is_none_or(|last| id.number == last + 1), "{:?} {:?}", last, id);
                        let number = format!("{}:", id.number);
                        prop_assert!(text.starts_with(number.as_bytes()));
                        *last = Some(id.number);
                    }
                }
                Step::Leave => reader = None,
                Step::Forget => log.forget(),
                Step::End => {
                    is_open = false;
                    log.end();
                }
            }
        }
        drop(reader);
        drop(log);
        budget.charge(limit);
        prop_assert!(!budget.is_over());
        budget.charge(1);
        prop_assert!(budget.is_over());
    }
}
