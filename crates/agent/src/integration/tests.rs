//! Results and failures against the messages that `tests/data/results.json` says, and kept content against
//! `tests/data/content.json`.

use std::sync::Arc;

use serde::Deserialize;
use switchboard_protocol::model::content::ContentBlock;

use super::*;
use crate::artefact::{ArtefactSink, NewArtefact, SessionArtefacts};
use crate::journal::Journal;
use crate::name::{CallId, ServerName};
use crate::outcome::CallFailure;
use crate::store::{MemoryStore, Store, StoreError};

#[derive(Deserialize)]
struct Case {
    what: String,
    result: serde_json::Value,
    message: String,
    #[serde(default)]
    failed: bool,
}

fn decoded(result: &serde_json::Value) -> CallToolResult {
    serde_json::from_str(&result.to_string()).unwrap()
}

#[test]
fn every_result_gives_the_message_that_the_table_says() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../../tests/data/results.json")).unwrap();
    for case in cases {
        let result = decoded(&case.result);
        let message = integrate(&ToolOutcome::Result(Box::new(result)), &Limits::default());
        assert_eq!(message.text, case.message, "{}", case.what);
        assert_eq!(message.failed, case.failed, "{}", case.what);
        assert_eq!(message.left_out_bytes, None, "{}", case.what);
        assert!(message.images.is_empty() && !message.readable, "{}", case.what);
    }
}

fn check_failure(failure: CallFailure, expected: &str) {
    let message = integrate(&ToolOutcome::Failed(failure), &Limits::default());
    assert_eq!(message.text, expected);
    assert!(message.failed);
}

#[test]
fn failures_are_kept_apart() {
    let protocol = CallFailure::new(FailureKind::Protocol { code: -32602 }, "Unknown tool: f");
    check_failure(protocol, "The server refused the call (error -32602): Unknown tool: f");
    let transport = CallFailure::new(FailureKind::Transport, "HTTP 502 from http://h.example");
    check_failure(transport, "The server could not be reached: HTTP 502 from http://h.example");
    let ended =
        CallFailure::new(FailureKind::Transport, "the last it wrote was:\n  File \"a.py\"\nOh\u{1b}[2J");
    let shown = "The server could not be reached: the last it wrote was:\n  File \"a.py\"\nOh\\u{1b}[2J";
    check_failure(ended, shown);
    let timeout = FailureKind::timeout(Some(std::time::Duration::from_millis(1500)));
    check_failure(
        CallFailure::new(timeout, "").maybe_executed(true),
        "The call timed out after 1.500 s. It may have been executed all the same.",
    );
    let said = "tools/call timed out after 1 s, and may have been executed";
    check_failure(
        CallFailure::new(timeout, said).maybe_executed(true),
        "The call timed out after 1.500 s: tools/call timed out after 1 s, and may have been executed",
    );
    let limit = CallFailure::new(FailureKind::Limit, "not complete after 10 rounds of input");
    check_failure(limit, "The call reached a limit: not complete after 10 rounds of input");
    check_failure(
        CallFailure::new(FailureKind::Limit, "a message longer than 9 bytes").maybe_executed(true),
        "The call reached a limit: a message longer than 9 bytes. It may have been executed all the same.",
    );
    let malformed = CallFailure::new(FailureKind::Malformed, "missing field `content`");
    check_failure(malformed, "The server returned a malformed result: missing field `content`");
}

#[test]
fn a_failure_is_bounded_whatever_the_server_says() {
    let failure = CallFailure::new(FailureKind::Protocol { code: -32603 }, "x\n".repeat(100_000));
    let message = integrate(&ToolOutcome::Failed(failure), &Limits::default());
    assert!(message.text.len() < 2 * Limits::default().error_bytes, "{}", message.text.len());
    assert!(message.left_out_bytes.is_some());
}

#[test]
fn a_long_result_keeps_head_and_tail_and_says_what_is_missing() {
    let text = format!("BEGIN{}END", "é漢".repeat(1000));
    for bytes in 0..64 {
        let limits = Limits { result_bytes: bytes, ..Limits::default() };
        let result = CallToolResult::of(vec![ContentBlock::text(text.clone())]);
        let message = integrate(&ToolOutcome::Result(Box::new(result)), &limits);
        let left_out = message.left_out_bytes.unwrap();
        assert!(message.text.contains(&format!("[… {left_out} of {} bytes left out here", text.len())));
        assert!(text.len() - left_out <= bytes);
        if bytes == 63 {
            assert!(message.text.starts_with("BEGIN") && message.text.ends_with("END"));
        }
    }
}

fn keeper(store: &Arc<dyn Store>, limits: &Limits) -> Keeper {
    let sink = SessionArtefacts::new(Arc::clone(store), "session", Journal::new());
    Keeper::new(Arc::new(sink), limits.clone())
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::default())
}

async fn kept(keeper: &Keeper, result: CallToolResult) -> Returned {
    let server = ServerName::new("s").unwrap();
    keeper.keep(ToolOutcome::Result(Box::new(result)), &server, CallId(7)).await
}

/// The text with the ids of artefacts as `#1`, `#2` and so on, in the order of the records.
fn numbered(mut text: String, records: &[ArtefactRecord]) -> String {
    for (at, record) in records.iter().enumerate() {
        text = text.replace(&record.id, &format!("#{}", at + 1));
    }
    text
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptCase {
    what: String,
    result: serde_json::Value,
    /// What a model reads that takes no pictures, and one that does.
    text_only: String,
    vision: String,
    /// The types of the pictures that the second is given.
    #[serde(default)]
    pictures: Vec<String>,
    /// What is kept: kind, media type, audience, content.
    kept: Vec<(String, Option<String>, Option<Audience>, String)>,
    #[serde(default)]
    readable: bool,
}

#[tokio::test]
async fn every_kind_of_content_is_kept_and_given_as_far_as_the_model_takes_it() {
    let cases: Vec<KeptCase> = serde_json::from_str(include_str!("../../tests/data/content.json")).unwrap();
    for case in cases {
        let (store, what) = (memory(), &case.what);
        let limits = Limits { image_bytes: 10, images: 2, ..Limits::default() };
        let returned = kept(&keeper(&store, &limits), decoded(&case.result)).await;
        let records = returned.artefacts();
        let found: Vec<_> = records
            .iter()
            .map(|record| {
                let bytes = store.artefact_bytes(&record.id, 0, usize::MAX).unwrap();
                assert_eq!(record.bytes, bytes.len() as u64);
                assert_eq!((record.call, record.server.as_deref()), (Some(7), Some("s")), "{what}");
                let bytes = String::from_utf8_lossy(&bytes).into_owned();
                (record.kind.clone(), record.mime_type.clone(), record.audience, bytes)
            })
            .collect();
        assert_eq!(found, case.kept, "{what}");
        let text_only = returned.content.fit(usize::MAX, &mut Pictures::none());
        assert_eq!(numbered(text_only.text, records), case.text_only, "{what}, text only");
        assert!(text_only.images.is_empty(), "{what}");
        let mut pictures = Pictures { taken: true, left: 2 };
        let vision = returned.content.fit(usize::MAX, &mut pictures);
        assert_eq!(numbered(vision.text, records), case.vision, "{what}, vision");
        let types: Vec<_> = vision.images.iter().map(|image| image.media_type.clone()).collect();
        assert_eq!(types, case.pictures, "{what}");
        assert_eq!(vision.readable, case.readable, "{what}");
        assert_eq!(vision.failed, returned.content.failed, "{what}");
    }
}

/// A result of which most is left out, and how large it is in the end.
async fn large(text: usize, budget: usize) -> (Returned, ToolMessage, Arc<dyn Store>) {
    let (store, limits) = (memory(), Limits::default());
    let mut result = CallToolResult::of(vec![
        ContentBlock::text("short"),
        ContentBlock::text("é".repeat(text / 2)),
        ContentBlock::image("iVBORw0KGgo=".repeat(10_000), "image/png"),
    ]);
    let json = format!("[{}0]", "1,".repeat(text / 2));
    result.structured_content = serde_json::value::RawValue::from_string(json).ok();
    let returned = kept(&keeper(&store, &limits), result).await;
    let message = returned.content.fit(budget, &mut Pictures::none());
    (returned, message, store)
}

#[tokio::test]
async fn a_large_result_costs_no_more_than_its_budget_and_stays_whole() {
    for text in [100_000, 400_000] {
        for budget in [0, 100, 5_000, 32_768] {
            let (returned, message, store) = large(text, budget).await;
            // Marks and lines come on top.
            assert!(message.text.len() < budget + 1500, "{budget}: {}", message.text.len());
            assert!(message.left_out_bytes.is_some() && message.readable);
            let records = returned.artefacts();
            let kinds: Vec<&str> = records.iter().map(|record| record.kind.as_str()).collect();
            assert_eq!(kinds, ["text", "text", "image", "structured"]);
            assert!(records[1].bytes as usize >= text - 1);
            assert!(store.artefact(&records[1].id).unwrap().is_some());
            if budget >= 5_000 {
                assert!(message.text.starts_with("short\né"), "what is short stays whole");
                assert!(message.text.contains(&format!("kept as {}: read on from offset", records[1].id)));
            }
            let ToolOutcome::Result(small) = returned.outcome() else { panic!() };
            let json = serde_json::to_string(small).unwrap();
            assert!(json.len() < 300_000, "{}", json.len());
            assert!(json.contains(&records[1].id) && json.contains(&records[2].id));
        }
    }
}

#[tokio::test]
async fn a_flood_of_blocks_is_kept_together() {
    let store = memory();
    let blocks = (0..10_000).map(|at| ContentBlock::text(format!("block {at}"))).collect();
    let returned = kept(&keeper(&store, &Limits::default()), CallToolResult::of(blocks)).await;
    assert_eq!(returned.artefacts().len(), 65);
    let message = returned.content.fit(32_768, &mut Pictures::none());
    let rest = &returned.artefacts()[64];
    assert!(
        message.text.ends_with(&format!("block 63\n[9936 further parts, id {}]", rest.id)),
        "{}",
        message.text
    );
    let bytes = store.artefact_bytes(&rest.id, 0, usize::MAX).unwrap();
    let blocks: Vec<ContentBlock> = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(blocks.last(), Some(&ContentBlock::text("block 9999")));
}

/// A disk that is full.
struct Full;

impl ArtefactSink for Full {
    fn keep(&self, _: NewArtefact<'_>) -> Result<ArtefactRecord, StoreError> {
        Err(StoreError::new("the disk is full"))
    }

    fn record(&self, _: &str) -> Result<Option<ArtefactRecord>, StoreError> {
        Ok(None)
    }

    fn bytes(&self, _: &str, _: u64, _: usize) -> Result<Vec<u8>, StoreError> {
        Err(StoreError::new("the disk is full"))
    }
}

#[tokio::test]
async fn what_cannot_be_kept_is_said_and_the_rest_goes_on() {
    let keeper = Keeper::new(Arc::new(Full), Limits::default());
    let returned = kept(&keeper, CallToolResult::of(vec![ContentBlock::text("x".repeat(100_000))])).await;
    let message = returned.content.fit(1_000, &mut Pictures::none());
    assert!(message.text.contains("bytes left out here: the limit is"), "{}", message.text);
    assert!(message.text.ends_with("[a part of the result could not be kept: the disk is full]"));
    assert!(!message.readable && returned.problem.is_some());
}

#[tokio::test]
async fn what_one_run_keeps_has_an_end_that_is_said() {
    let store = memory();
    let keeper = keeper(&store, &Limits { kept_bytes: 1_000, ..Limits::default() });
    // Whatever went before, what has room is kept.
    for (bytes, is_kept) in [(800, true), (800, false), (200, true), (1, false)] {
        // The keepers of the calls of a run are one.
        let keeper = keeper.clone();
        let returned = kept(&keeper, CallToolResult::of(vec![ContentBlock::text("x".repeat(bytes))])).await;
        assert_eq!(returned.artefacts().len(), usize::from(is_kept), "{bytes}");
        assert_eq!(returned.problem.is_none(), is_kept, "{bytes}");
        let text = returned.content.fit(2_000, &mut Pictures::none()).text;
        assert_eq!(text.contains("of one run, 1000 bytes are kept (kept_bytes)"), !is_kept, "{text}");
    }
}

#[tokio::test]
async fn a_known_secret_is_masked_before_it_is_kept() {
    let (store, journal) = (memory(), Journal::new());
    journal.mask("hunter2hunter2");
    let sink = SessionArtefacts::new(Arc::clone(&store), "session", journal);
    let keeper = Keeper::new(Arc::new(sink), Limits::default());
    let returned = kept(&keeper, CallToolResult::of(vec![ContentBlock::text("key=hunter2hunter2")])).await;
    let bytes = store.artefact_bytes(&returned.artefacts()[0].id, 0, 100).unwrap();
    assert_eq!(bytes, b"key=***");
}

#[test]
fn results_that_say_the_same_are_the_same_whatever_their_ids() {
    let print = |result: &CallToolResult| fingerprint(result);
    let text = |text: &str| CallToolResult::of(vec![ContentBlock::text(text)]);
    let long = "x".repeat(400_000);
    assert_eq!(print(&text("a")), print(&text("a")));
    assert_ne!(print(&text("a")), print(&text("b")));
    assert_ne!(print(&text("a")), print(&CallToolResult::error("a")));
    assert_ne!(print(&text(&long)), print(&text(&format!("{long}y"))));
}

#[test]
fn shares_are_fair() {
    for (asked, budget, given) in [
        (vec![], 10, vec![]),
        (vec![5, 5], 20, vec![5, 5]),
        (vec![100, 1, 100], 21, vec![10, 1, 10]),
        (vec![100, 100], 0, vec![0, 0]),
        (vec![usize::MAX, 3], usize::MAX, vec![usize::MAX - 3, 3]),
    ] {
        assert_eq!(shares(&asked, budget), given, "{asked:?} {budget}");
    }
}

#[tokio::test]
async fn attachments_are_texts_with_a_name_pictures_or_lines() {
    let attachments = [
        Attachment {
            name: "notes\n.txt".to_owned(),
            media_type: "text/plain".to_owned(),
            content: AttachmentContent::Text("buy tea".to_owned()),
        },
        Attachment {
            name: "photo.png".to_owned(),
            media_type: "image/png".to_owned(),
            content: AttachmentContent::Base64("iVBORw0KGgo=".to_owned()),
        },
        Attachment {
            name: "a.zip".to_owned(),
            media_type: "application/zip".to_owned(),
            content: AttachmentContent::Base64("UEsDBA==".to_owned()),
        },
    ];
    let attached = keeper(&memory(), &Limits::default()).attach(&attachments);
    let message = attached.0.fit(10_000, &mut Pictures { taken: true, left: 1 });
    assert_eq!(
        numbered(message.text, attached.0.artefacts()),
        "[attached file notes\\u{a}.txt, text/plain, 7 bytes]\nbuy tea\n\
         [attached file photo.png, image/png, 8 bytes, id #2, attached]\n\
         [attached file a.zip, application/zip, 4 bytes, id #3]"
    );
    assert_eq!(message.images.len(), 1);
    let unseen = Attached::new(&attachments, &Limits::default()).0.fit(10_000, &mut Pictures::none());
    assert!(unseen.text.contains("[attached file photo.png, image/png, 8 bytes]"), "{}", unseen.text);
}
