//! Each data file is one stream; it is replayed as given, cut at every offset, byte by byte, and with each kind
//! of line end.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use switchboard_sse::{Decoder, Event};

#[derive(Deserialize)]
struct Stream {
    why: String,
    chunks: Vec<String>,
    events: Vec<Expected>,
    /// For each event, the chunk after which it must be out.
    complete_after_chunk: Vec<usize>,
    #[serde(default)]
    ids_after_chunk: Vec<Option<String>>,
    #[serde(default)]
    retry_ms: Option<u64>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Expected {
    #[serde(default)]
    event: Option<String>,
    data: String,
    #[serde(default)]
    id: Option<String>,
}

impl From<Event> for Expected {
    fn from(event: Event) -> Self {
        Self { data: String::from_utf8(event.data.to_vec()).unwrap(), event: event.event, id: event.id }
    }
}

fn drain(decoder: &mut Decoder) -> Vec<Expected> {
    std::iter::from_fn(|| decoder.next_event().unwrap()).map(Expected::from).collect()
}

fn check(json: &str) {
    let stream: Stream = serde_json::from_str(json).unwrap();
    as_given(&stream);
    let wire = stream.chunks.concat();
    let lines = wire.replace("\r\n", "\n").replace('\r', "\n");
    for (name, wire) in [
        ("as given", wire),
        ("CRLF", lines.replace('\n', "\r\n")),
        ("CR", lines.replace('\n', "\r")),
        ("LF", lines),
    ] {
        for cut in 0..=wire.len() {
            replay(&stream, name, &[&wire.as_bytes()[..cut], &wire.as_bytes()[cut..]]);
        }
        let single: Vec<&[u8]> = wire.as_bytes().chunks(1).collect();
        replay(&stream, name, &single);
    }
}

fn as_given(stream: &Stream) {
    let mut decoder = Decoder::new(4096);
    let mut seen = Vec::new();
    for (index, chunk) in stream.chunks.iter().enumerate() {
        decoder.push(chunk.clone());
        seen.extend(drain(&mut decoder));
        let due = stream.complete_after_chunk.iter().filter(|after| **after <= index).count();
        assert_eq!(seen.len(), due, "after chunk {index}: {}", stream.why);
        if let Some(id) = stream.ids_after_chunk.get(index) {
            assert_eq!(decoder.last_event_id(), id.as_deref(), "after chunk {index}");
        }
    }
    assert_eq!(decoder.retry(), stream.retry_ms.map(Duration::from_millis));
}

fn replay(stream: &Stream, name: &str, chunks: &[&[u8]]) {
    let mut decoder = Decoder::new(4096);
    let mut seen = Vec::new();
    for chunk in chunks {
        decoder.push(Bytes::copy_from_slice(chunk));
        seen.extend(drain(&mut decoder));
    }
    assert_eq!(seen, stream.events, "{name}, first chunk {} bytes: {}", chunks[0].len(), stream.why);
    assert_eq!(decoder.retry(), stream.retry_ms.map(Duration::from_millis));
}

#[test]
fn a_crlf_cut_between_chunks_is_one_line_end() {
    check(include_str!("../data/line-ends-cut-between-chunks.json"));
}

#[test]
fn priming_events_set_id_and_retry_and_nameless_events_are_messages() {
    check(include_str!("../data/priming-and-nameless-events.json"));
}

#[test]
fn the_corners_of_the_grammar_are_read_as_it_says() {
    check(include_str!("../data/grammar-corners.json"));
}

#[test]
fn an_event_is_out_with_the_first_byte_of_its_closing_line_end() {
    let mut decoder = Decoder::new(64);
    decoder.push("data: x\r");
    assert!(drain(&mut decoder).is_empty());
    decoder.push("\r");
    assert_eq!(drain(&mut decoder).len(), 1);
    decoder.push("\ndata: y\n\n");
    assert_eq!(drain(&mut decoder).len(), 1, "the LF belongs to the CR and opens nothing");
}

#[test]
fn one_line_of_data_in_one_chunk_is_not_copied() {
    let chunk = Bytes::from_static(b"data: the same memory\n\n");
    let mut decoder = Decoder::new(64);
    decoder.push(chunk.clone());
    let event = decoder.next_event().unwrap().unwrap();
    assert_eq!(event.data.as_ptr(), chunk[6..].as_ptr());
}
