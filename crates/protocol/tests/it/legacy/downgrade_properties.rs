//! What holds for every modern answer on its way to a revision with a session.

use proptest::prelude::{Just, Strategy, any, prop};
use proptest::{option, prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};
use switchboard_protocol::{Method, Revision};

use super::{downgrade_list, downgrade_result};

fn word() -> impl Strategy<Value = String> {
    "[a-zé\"\\\\ \n]{0,8}"
}

/// An object of these members, each of which may be absent.
fn object(
    members: Vec<(&'static str, prop::strategy::BoxedStrategy<Value>)>,
) -> impl Strategy<Value = Value> {
    let optional: Vec<_> = members
        .into_iter()
        .map(|(name, value)| option::of(value).prop_map(move |value| (name, value)))
        .collect();
    optional.prop_map(|members| {
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    })
}

/// Any JSON that is not too deep.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        word().prop_map(Value::from)
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..3).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

fn merge(mut into: Value, from: &Value) -> Value {
    let members = from.as_object().unwrap().iter().map(|(name, value)| (name.clone(), value.clone()));
    into.as_object_mut().unwrap().extend(members);
    into
}

fn meta() -> impl Strategy<Value = Value> {
    object(vec![
        ("com.example/k", anything().boxed()),
        ("traceparent", word().prop_map(Value::from).boxed()),
        ("io.modelcontextprotocol/serverInfo", Just(json!({ "name": "s", "version": "1" })).boxed()),
        ("dev.mcp/x", anything().boxed()),
    ])
}

/// The members that most definitions and blocks may have.
fn extras() -> impl Strategy<Value = Value> {
    object(vec![
        (
            "annotations",
            object(vec![
                ("audience", Just(json!(["user", "assistant"])).boxed()),
                ("priority", Just(json!(0.5)).boxed()),
                ("lastModified", word().prop_map(Value::from).boxed()),
            ])
            .boxed(),
        ),
        ("_meta", meta().boxed()),
    ])
}

fn link() -> impl Strategy<Value = Value> {
    let more = object(vec![
        ("title", word().prop_map(Value::from).boxed()),
        ("description", word().prop_map(Value::from).boxed()),
        ("mimeType", word().prop_map(Value::from).boxed()),
        ("size", any::<u32>().prop_map(Value::from).boxed()),
        ("icons", Just(json!([{ "src": "https://a/b", "theme": "dark" }])).boxed()),
    ]);
    (word(), more, extras())
        .prop_map(|(name, more, extras)| merge(merge(json!({ "uri": "a:b", "name": name }), &more), &extras))
}

fn block() -> impl Strategy<Value = Value> {
    let contents = prop_oneof![
        (word(), meta()).prop_map(|(text, meta)| json!({ "uri": "a:b", "text": text, "_meta": meta })),
        Just(json!({ "uri": "a:b", "mimeType": "x/y", "blob": "AAAA" })),
    ];
    let bare = prop_oneof![
        word().prop_map(|text| json!({ "type": "text", "text": text })),
        prop_oneof![Just("image"), Just("audio")]
            .prop_map(|kind| json!({ "type": kind, "data": "AAA=", "mimeType": "x/y" })),
        contents.prop_map(|contents| json!({ "type": "resource", "resource": contents })),
        link().prop_map(|link| merge(link, &json!({ "type": "resource_link" }))),
    ];
    (bare, extras()).prop_map(|(bare, extras)| merge(bare, &extras))
}

fn called() -> impl Strategy<Value = Value> {
    let more = object(vec![
        ("structuredContent", anything().boxed()),
        ("isError", any::<bool>().prop_map(Value::from).boxed()),
        ("_meta", meta().boxed()),
    ]);
    (prop::collection::vec(block(), 0..4), more)
        .prop_map(|(content, more)| merge(json!({ "resultType": "complete", "content": content }), &more))
}

fn tool() -> impl Strategy<Value = Value> {
    let schema = prop_oneof![
        Just(json!({ "type": "object" })),
        Just(json!({ "type": "object", "properties": { "a": true, "b": { "type": "string" } } })),
        Just(json!({ "type": "object", "properties": { "a": false }, "additionalProperties": false })),
    ];
    let more = object(vec![
        ("title", word().prop_map(Value::from).boxed()),
        ("description", word().prop_map(Value::from).boxed()),
        ("outputSchema", prop_oneof![schema.clone(), Just(json!({ "type": "array" }))].boxed()),
        ("icons", Just(json!([{ "src": "https://a/b" }])).boxed()),
        ("_meta", meta().boxed()),
        ("annotations", Just(json!({ "title": "t", "readOnlyHint": true })).boxed()),
        ("x-other", anything().boxed()),
    ]);
    (word(), schema, more)
        .prop_map(|(name, schema, more)| merge(json!({ "name": name, "inputSchema": schema }), &more))
}

fn page(member: &'static str, item: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    (prop::collection::vec(item, 0..4), option::of(word()), meta()).prop_map(move |(items, cursor, meta)| {
        let mut page = json!({ "resultType": "complete", member: items, "ttlMs": 7, "cacheScope": "public", "_meta": meta });
        if let Some(cursor) = cursor {
            page["nextCursor"] = cursor.into();
        }
        page
    })
}

fn dates() -> impl Strategy<Value = (&'static str, &'static str)> {
    let count = Revision::LEGACY.len();
    (0..count, 0..count).prop_map(|(one, other)| {
        // Newest first.
        (Revision::LEGACY[one.min(other)].date(), Revision::LEGACY[one.max(other)].date())
    })
}

/// No name that only the modern revision has, anywhere but in what the author of the server wrote.
fn has_modern_members(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(name, value)| {
            matches!(name.as_str(), "resultType" | "ttlMs" | "cacheScope")
                || name.starts_with("io.modelcontextprotocol/")
                || name != "structuredContent" && has_modern_members(value)
        }),
        Value::Array(items) => items.iter().any(has_modern_members),
        _ => false,
    }
}

fn check_result(method: &str, modern: &Value, (newer, older): (&str, &str)) {
    let direct = downgrade_result::downgrade(method, modern, older);
    assert!(!has_modern_members(&direct), "{direct:#}");
    let through =
        downgrade_result::downgrade(method, &downgrade_result::downgrade(method, modern, newer), older);
    assert_eq!(through, direct, "by way of {newer} to {older}");
}

fn check_list(method: Method, modern: &Value, (newer, older): (&str, &str)) {
    let text = modern.to_string();
    let direct = downgrade_list::downgrade(method, &text, older);
    assert!(!has_modern_members(&serde_json::from_str(&direct).unwrap()), "{direct}");
    let through = downgrade_list::downgrade(method, &downgrade_list::downgrade(method, &text, newer), older);
    assert_eq!(through, direct, "by way of {newer} to {older}");
}

proptest! {
    /// Every answer conforms to the revision it is for, says nothing that only the modern one has, and is the
    /// same whether it comes directly or by way of a revision in between.
    #[test]
    fn a_result_conforms_and_its_way_does_not_matter(modern in called(), dates in dates()) {
        check_result("tools/call", &modern, dates);
    }

    #[test]
    fn a_prompt_conforms_and_its_way_does_not_matter(block in block(), meta in meta(), dates in dates()) {
        let messages = json!([{ "role": "user", "content": block }]);
        check_result("prompts/get", &json!({ "messages": messages, "_meta": meta }), dates);
    }

    #[test]
    fn a_list_of_tools_conforms_and_its_way_does_not_matter(page in page("tools", tool()), dates in dates()) {
        check_list(Method::ListTools, &page, dates);
    }

    #[test]
    fn a_list_of_resources_conforms_and_its_way_does_not_matter(page in page("resources", link()), dates in dates()) {
        check_list(Method::ListResources, &page, dates);
    }

    /// No text makes it panic, and what is no list is an error.
    #[test]
    fn any_text_is_survived(text in ".{0,40}", anything in anything()) {
        let _ = switchboard_protocol::era::legacy::list(Method::ListTools, text.as_bytes(), Revision::NEWEST_LEGACY);
        let value = anything.to_string();
        let list = switchboard_protocol::era::legacy::list(Method::ListPrompts, value.as_bytes(), Revision::NEWEST_LEGACY);
        prop_assert_eq!(list.is_ok(), anything.is_object());
        let empty = list.map_or(true, |written| written == b"{}");
        prop_assert!(empty);
    }
}
