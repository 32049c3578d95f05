//! Which requests are of the modern era, by what their parameters say.

use serde_json::value::RawValue;
use switchboard_protocol::era::legacy::names_revision;

#[test]
fn whatever_names_a_revision_in_its_meta_is_modern() {
    for (params, expected) in [
        (r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#, true),
        (r#"{"a":1,"_meta":{"b":{},"io.modelcontextprotocol/protocolVersion":""},"c":2}"#, true),
        (r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":null}}"#, true),
        (r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":[1]}}"#, true),
        (r#"{"_meta":{"io.modelcontextprotocol\/protocolVersion":"x"}}"#, true),
        (r#"{"_meta":{"\u0069o.modelcontextprotocol\u002fprotocolVersion":"x"}}"#, true),
        (r#"{"\u005fmeta":{"io.modelcontextprotocol/protocolVersion":"x"}}"#, true),
        (r#"{"_meta":{"\ud800":1,"io.modelcontextprotocol/protocolVersion":"x"}}"#, true),
        (
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":1,"io.modelcontextprotocol/protocolVersion":2}}"#,
            true,
        ),
        ("{}", false),
        (r#"{"_meta":{}}"#, false),
        (r#"{"_meta":null}"#, false),
        (r#"{"_meta":"io.modelcontextprotocol/protocolVersion"}"#, false),
        (r#"{"_meta":{"a":{"io.modelcontextprotocol/protocolVersion":"x"}}}"#, false),
        (r#"{"_meta":{"io.modelcontextprotocol/protocolversion":"x"}}"#, false),
        (r#"{"_meta":{"io.modelcontextprotocol/protocolVersion ":"x"}}"#, false),
        (r#"{"arguments":{"_meta":{"io.modelcontextprotocol/protocolVersion":"x"}}}"#, false),
        (r#"{"io.modelcontextprotocol/protocolVersion":"x"}"#, false),
        (r#"{"text":"io.modelcontextprotocol/protocolVersion"}"#, false),
        (r#""io.modelcontextprotocol/protocolVersion""#, false),
        (r#"[{"_meta":{"io.modelcontextprotocol/protocolVersion":"x"}}]"#, false),
    ] {
        let raw = RawValue::from_string(params.to_owned()).unwrap();
        assert_eq!(names_revision(Some(&raw)), expected, "{params}");
    }
    assert!(!names_revision(None));
}
