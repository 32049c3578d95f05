//! Prepared lists in each revision with a session, letter by letter.

use serde_json::Value;
use switchboard_protocol::era::legacy::list;
use switchboard_protocol::{Method, Revision};
use switchboard_testkit::dated;

/// The list in the revision, checked against the schema of the revision.
pub(super) fn downgrade(method: Method, prepared: &str, date: &str) -> String {
    let revision = Revision::legacy(date).unwrap();
    let written = String::from_utf8(list(method, prepared.as_bytes(), revision).unwrap()).unwrap();
    let value: Value = serde_json::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    dated::check_result(date, method.name(), &value);
    written
}

/// A page with one item, and the item in each revision, the oldest first.
fn check(method: Method, member: &str, item: &str, expected: [&str; 4]) {
    let prepared = format!(
        r#"{{"resultType":"complete","{member}":[{item}],"nextCursor":"c","ttlMs":0,"cacheScope":"private","_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"s","version":"1"}}}}}}"#
    );
    for (date, item) in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"].iter().zip(expected) {
        let expected = format!(r#"{{"{member}":[{item}],"nextCursor":"c"}}"#);
        assert_eq!(downgrade(method, &prepared, date), expected, "{date}");
    }
}

#[test]
fn a_tool_has_what_the_revision_has() {
    check(
        Method::ListTools,
        "tools",
        r#"{"name":"t","title":"T","description":"d","inputSchema":{"type":"object","properties":{"n":{"minimum":1.50e2}}},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"icons":[{"src":"https://a/b"}],"_meta":{"io.modelcontextprotocol/x":1,"com.example/k":1.0},"x-more":1}"#,
        [
            r#"{"name":"t","description":"d","inputSchema":{"type":"object","properties":{"n":{"minimum":1.50e2}}}}"#,
            r#"{"name":"t","description":"d","inputSchema":{"type":"object","properties":{"n":{"minimum":1.50e2}}},"annotations":{"readOnlyHint":true}}"#,
            r#"{"name":"t","title":"T","description":"d","inputSchema":{"type":"object","properties":{"n":{"minimum":1.50e2}}},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"com.example/k":1.0}}"#,
            r#"{"name":"t","title":"T","description":"d","inputSchema":{"type":"object","properties":{"n":{"minimum":1.50e2}}},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"icons":[{"src":"https://a/b"}],"_meta":{"com.example/k":1.0}}"#,
        ],
    );
}

#[test]
fn an_output_schema_that_describes_no_object_is_left_out() {
    for schema in [
        r#"{"type":"array"}"#,
        r#"{"type":["object"]}"#,
        r##"{"$ref":"#/$defs/x"}"##,
        "true",
        r#"{"anyOf":[]}"#,
        "null",
    ] {
        let item = format!(r#"{{"name":"t","inputSchema":{{"type":"object"}},"outputSchema":{schema}}}"#);
        check(Method::ListTools, "tools", &item, [r#"{"name":"t","inputSchema":{"type":"object"}}"#; 4]);
    }
}

#[test]
fn a_property_that_allows_all_or_nothing_says_so_with_an_object() {
    check(
        Method::ListTools,
        "tools",
        r#"{"name":"t","inputSchema":{"$schema":"s","type":"object","properties":{"a":true,"b":false,"c":{"items":true}},"required":["a"]}}"#,
        [r#"{"name":"t","inputSchema":{"$schema":"s","type":"object","properties":{"a":{},"b":{"not":{}},"c":{"items":true}},"required":["a"]}}"#;
            4],
    );
}

#[test]
fn a_resource_and_a_template_have_what_the_revision_has() {
    let rest = r#""mimeType":"text/plain","#;
    for (method, member, uri) in [
        (Method::ListResources, "resources", r#""size":7,"uri":"a:b""#),
        (Method::ListResourceTemplates, "resourceTemplates", r#""uriTemplate":"a:{b}""#),
    ] {
        let item = |title: &str, hints: &str, icons: &str, meta: &str| {
            format!(
                r#"{{{uri},"name":"n"{title},{rest}"annotations":{{"priority":0.10{hints}}}{icons}{meta}}}"#
            )
        };
        let (title, hints, icons) =
            (r#","title":"T""#, r#","lastModified":"2025-01-12""#, r#","icons":[{"src":"https://a/b"}]"#);
        let (modern_meta, meta) = (r#","_meta":{"dev.mcp/x":1,"k":{}}"#, r#","_meta":{"k":{}}"#);
        let oldest = item("", "", "", "");
        check(
            method,
            member,
            &item(title, hints, icons, modern_meta),
            [&oldest, &oldest, &item(title, hints, "", meta), &item(title, hints, icons, meta)],
        );
    }
}

#[test]
fn what_is_empty_once_the_rest_is_gone_goes_too() {
    check(
        Method::ListResources,
        "resources",
        r#"{"uri":"a:b","name":"n","annotations":{"lastModified":"2025-01-12"},"_meta":{"dev.mcp/x":1}}"#,
        [
            r#"{"uri":"a:b","name":"n"}"#,
            r#"{"uri":"a:b","name":"n"}"#,
            r#"{"uri":"a:b","name":"n","annotations":{"lastModified":"2025-01-12"}}"#,
            r#"{"uri":"a:b","name":"n","annotations":{"lastModified":"2025-01-12"}}"#,
        ],
    );
}

#[test]
fn a_prompt_and_its_arguments_have_what_the_revision_has() {
    check(
        Method::ListPrompts,
        "prompts",
        r#"{"name":"p","title":"P","arguments":[{"name":"a","title":"A","required":true},{"title":"B","name":"b"}],"icons":[]}"#,
        [
            r#"{"name":"p","arguments":[{"name":"a","required":true},{"name":"b"}]}"#,
            r#"{"name":"p","arguments":[{"name":"a","required":true},{"name":"b"}]}"#,
            r#"{"name":"p","title":"P","arguments":[{"name":"a","title":"A","required":true},{"title":"B","name":"b"}]}"#,
            r#"{"name":"p","title":"P","arguments":[{"name":"a","title":"A","required":true},{"title":"B","name":"b"}],"icons":[]}"#,
        ],
    );
}

#[test]
fn an_empty_page_and_escaped_names_are_no_trouble() {
    for (prepared, expected) in [
        (r#"{"resultType":"complete","tools":[]}"#, r#"{"tools":[]}"#),
        (r#" { "tools" : [ ] , "ttlMs" : 1 } "#, r#"{"tools":[]}"#),
        (r#"{"tools":[],"_meta":{"k\u0022\n":"\u00e9"}}"#, r#"{"tools":[],"_meta":{"k\"\n":"\u00e9"}}"#),
        (r#"{"tools":[],"_meta":null,"cache\u0053cope":"public"}"#, r#"{"tools":[]}"#),
    ] {
        assert_eq!(downgrade(Method::ListTools, prepared, "2025-11-25"), expected, "{prepared}");
    }
    let odd = r#"{"tools":[{"name":"t","inputSchema":true}]}"#;
    assert_eq!(list(Method::ListTools, odd.as_bytes(), Revision::NEWEST_LEGACY).unwrap(), odd.as_bytes());
    for broken in ["", "[]", "{", r#"{"tools":7}"#, r#"{"tools":[7]}"#] {
        list(Method::ListTools, broken.as_bytes(), Revision::NEWEST_LEGACY).unwrap_err();
    }
}
