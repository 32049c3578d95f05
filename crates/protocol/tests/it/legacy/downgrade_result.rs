//! What a modern server answers, in each revision with a session.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use switchboard_protocol::Revision;
use switchboard_protocol::era::legacy::{call_tool, complete, get_prompt, read_resource};
use switchboard_testkit::dated;

const DATES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

fn read<T: DeserializeOwned>(modern: &Value) -> T {
    serde_json::from_value(modern.clone()).unwrap_or_else(|error| panic!("{error}\n{modern:#}"))
}

/// The answer in the revision, checked against the schema of the revision.
pub(super) fn downgrade(method: &str, modern: &Value, date: &str) -> Value {
    let revision = Revision::legacy(date).unwrap();
    let written = match method {
        "tools/call" => serde_json::to_value(call_tool(&read(modern), revision)),
        "resources/read" => serde_json::to_value(read_resource(&read(modern), revision)),
        "prompts/get" => serde_json::to_value(get_prompt(&read(modern), revision)),
        "completion/complete" => serde_json::to_value(complete(&read(modern))),
        other => panic!("{other}"),
    };
    let written = written.unwrap();
    dated::check_result(date, method, &written);
    for modern_only in ["resultType", "ttlMs", "cacheScope"] {
        assert_eq!(written.get(modern_only), None, "{date}: {written:#}");
    }
    written
}

/// `expected`: one value for each date, the oldest first.
fn check(method: &str, modern: &Value, expected: &[Value; 4]) {
    for (date, expected) in DATES.iter().zip(expected) {
        assert_eq!(downgrade(method, modern, date), *expected, "{method} in {date}");
    }
}

/// A result of one block, and what the block is in each revision.
fn check_block(block: &Value, expected: &[Value; 4]) {
    let called = json!({ "resultType": "complete", "content": [block] });
    check("tools/call", &called, &expected.clone().map(|block| json!({ "content": [block] })));
    let message = |block: &Value| json!([{ "role": "user", "content": block }]);
    let prompt = json!({ "resultType": "complete", "messages": message(block) });
    check("prompts/get", &prompt, &expected.clone().map(|block| json!({ "messages": message(&block) })));
}

#[test]
fn a_block_has_what_the_revision_has() {
    let annotations =
        json!({ "audience": ["user"], "priority": 0.5, "lastModified": "2025-01-12T15:00:58Z" });
    let meta = json!({ "com.example/a": 1, "io.modelcontextprotocol/x": 2 });
    let fewer = json!({ "audience": ["user"], "priority": 0.5 });
    let kept = json!({ "com.example/a": 1 });

    let text = |annotations: &Value| json!({ "type": "text", "text": "t", "annotations": annotations });
    let mut modern = text(&annotations);
    modern["_meta"] = meta.clone();
    let mut newer = text(&annotations);
    newer["_meta"] = kept.clone();
    check_block(&modern, &[text(&fewer), text(&fewer), newer.clone(), newer]);

    let image = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png", "_meta": meta });
    let plain = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
    let with_meta = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png", "_meta": kept });
    check_block(&image, &[plain.clone(), plain, with_meta.clone(), with_meta]);

    let only_newer = json!({ "type": "text", "text": "t", "annotations": { "lastModified": "2025-01-12" },
        "_meta": { "io.modelcontextprotocol/x": 2 } });
    let nothing_left = json!({ "type": "text", "text": "t" });
    let hint = json!({ "type": "text", "text": "t", "annotations": { "lastModified": "2025-01-12" } });
    check_block(&only_newer, &[nothing_left.clone(), nothing_left, hint.clone(), hint]);
}

#[test]
fn an_embedded_resource_loses_its_metadata_before_there_was_any() {
    let contents = |meta: Option<Value>| {
        let mut contents = json!({ "uri": "a:b", "mimeType": "text/plain", "text": "t" });
        if let Some(meta) = meta {
            contents["_meta"] = meta;
        }
        contents
    };
    let meta = json!({ "k": 1 });
    let modern = json!({ "type": "resource", "resource": contents(Some(meta.clone())), "_meta": meta });
    let older = json!({ "type": "resource", "resource": contents(None) });
    check_block(&modern, &[older.clone(), older, modern.clone(), modern.clone()]);

    let read =
        |meta: Option<Value>| json!({ "contents": [contents(meta), { "uri": "a:c", "blob": "AAAA" }] });
    let mut answer = read(Some(meta.clone()));
    (answer["resultType"], answer["ttlMs"], answer["cacheScope"]) =
        ("complete".into(), 5.into(), "public".into());
    let newer = read(Some(meta));
    check("resources/read", &answer, &[read(None), read(None), newer.clone(), newer]);
}

#[test]
fn a_kind_that_the_revision_has_not_is_named_in_a_text() {
    let sound = json!({ "type": "audio", "data": "AAAAAA==", "mimeType": "audio/wav",
        "annotations": { "audience": ["user"] } });
    let note = "[Audio (audio/wav, 4 bytes) was left out: the protocol revision of this session has none]";
    let in_words = json!({ "type": "text", "text": note, "annotations": { "audience": ["user"] } });
    check_block(&sound, &[in_words, sound.clone(), sound.clone(), sound.clone()]);

    let link = json!({ "type": "resource_link", "uri": "file:///a.rs", "name": "a.rs", "title": "A",
        "description": "Starts here", "mimeType": "text/x-rust", "size": 7, "icons": [{ "src": "https://a/b" }] });
    let note = r#"[Resource "a.rs" at file:///a.rs (text/x-rust, 7 bytes): Starts here]"#;
    let in_words = json!({ "type": "text", "text": note });
    let mut without_icons = link.clone();
    without_icons.as_object_mut().unwrap().remove("icons");
    check_block(&link, &[in_words.clone(), in_words, without_icons, link.clone()]);

    let bare = json!({ "type": "resource_link", "uri": "a:b", "name": "b" });
    let in_words = json!({ "type": "text", "text": r#"[Resource "b" at a:b]"# });
    check_block(&bare, &[in_words.clone(), in_words, bare.clone(), bare.clone()]);
}

/// `content` and `structuredContent` of a result, and which texts the content has in each revision; where
/// `kept` says so the structured content stays.
fn check_structured(content: &[&str], structured: &Value, expected: [(&[&str], bool); 4]) {
    let blocks =
        |texts: &[&str]| Value::from_iter(texts.iter().map(|text| json!({ "type": "text", "text": text })));
    let modern =
        json!({ "resultType": "complete", "content": blocks(content), "structuredContent": structured });
    let expected = expected.map(|(texts, kept)| {
        let mut result = json!({ "content": blocks(texts) });
        if kept {
            result["structuredContent"] = structured.clone();
        }
        result
    });
    check("tools/call", &modern, &expected);
}

#[test]
fn structured_content_that_cannot_be_said_is_said_as_text_once() {
    let object = json!({ "a": 1, "b": [true, null] });
    let text: &[&str] = &[r#"{"a":1,"b":[true,null]}"#];
    check_structured(&[], &object, [(text, false), (text, false), (&[], true), (&[], true)]);
    check_structured(text, &object, [(text, false), (text, false), (text, true), (text, true)]);
    let pretty: &[&str] = &["{\n  \"b\": [true, null],\n  \"a\": 1\n}"];
    check_structured(pretty, &object, [(pretty, false), (pretty, false), (pretty, true), (pretty, true)]);
    let other: &[&str] = &["two values"];
    let both: &[&str] = &["two values", text[0]];
    check_structured(other, &object, [(both, false), (both, false), (other, true), (other, true)]);

    for (value, text, mirrors) in [
        (json!([1, 2]), "[1,2]", &["[1,2]", "[ 1, 2 ]\n"][..]),
        (json!("seven"), r#""seven""#, &["seven", r#""seven""#][..]),
        (json!(7.5), "7.5", &["7.5"][..]),
        (json!(null), "null", &["null"][..]),
        (json!(false), "false", &["false"][..]),
    ] {
        check_structured(&[], &value, [(&[text], false); 4]);
        for mirror in mirrors {
            check_structured(&[mirror], &value, [(&[*mirror], false); 4]);
        }
    }
}

#[test]
fn a_failure_stays_a_failure_and_foreign_metadata_stays() {
    let modern = json!({
        "resultType": "complete",
        "content": [{ "type": "text", "text": "no" }],
        "isError": true,
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "s", "version": "1" }, "com.example/k": [1] },
    });
    let expected = json!({
        "content": [{ "type": "text", "text": "no" }],
        "isError": true,
        "_meta": { "com.example/k": [1] },
    });
    check("tools/call", &modern, &[0; 4].map(|_| expected.clone()));

    let modern = json!({
        "resultType": "complete",
        "completion": { "values": ["a", "b"], "total": 3, "hasMore": true },
        "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "s", "version": "1" } },
    });
    let expected = json!({ "completion": { "values": ["a", "b"], "total": 3, "hasMore": true } });
    check("completion/complete", &modern, &[0; 4].map(|_| expected.clone()));

    let modern = json!({ "resultType": "complete", "description": "d", "messages": [], "_meta": { "k": 1 } });
    let expected = json!({ "description": "d", "messages": [], "_meta": { "k": 1 } });
    check("prompts/get", &modern, &[0; 4].map(|_| expected.clone()));
}

#[test]
fn numbers_of_structured_content_stay_as_they_were_written() {
    let modern = r#"{"content":[],"structuredContent":{"big":123456789012345678901234567890,"f":1.50}}"#;
    let modern = serde_json::from_str(modern).unwrap();
    let newest = serde_json::to_string(&call_tool(&modern, Revision::NEWEST_LEGACY)).unwrap();
    assert_eq!(
        newest,
        r#"{"content":[],"structuredContent":{"big":123456789012345678901234567890,"f":1.50}}"#
    );
    let oldest = serde_json::to_string(&call_tool(&modern, Revision::legacy(DATES[0]).unwrap())).unwrap();
    assert_eq!(
        oldest,
        r#"{"content":[{"type":"text","text":"{\"big\":123456789012345678901234567890,\"f\":1.50}"}]}"#
    );
}

#[test]
fn a_block_that_a_revision_has_not_would_be_noticed() {
    if switchboard_testkit::spec::folder().is_none() {
        return;
    }
    let sound = json!({ "content": [{ "type": "audio", "data": "AAAA", "mimeType": "audio/wav" }] });
    dated::check_result(DATES[1], "tools/call", &sound);
    let noticed = std::panic::catch_unwind(|| dated::check_result(DATES[0], "tools/call", &sound));
    assert!(noticed.is_err());
    let unknown = std::panic::catch_unwind(|| dated::check(DATES[0], "ElicitResult", &json!({})));
    assert!(unknown.is_err());
}
