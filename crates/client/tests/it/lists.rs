//! Lists: pages, bounds, invalid definitions, and what is kept for how long.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_client::{Cache, Client, Limits};
use switchboard_testkit::scripted_http::{Reply, ScriptedHttp};

use crate::support::{builder, connect, discovered, page, text_result, tool};

async fn plain_server<M: Into<String>>(steps: impl IntoIterator<Item = (M, Reply)>) -> ScriptedHttp {
    ScriptedHttp::play(steps).await.always("server/discover", Reply::result(&discovered()))
}

fn tools_page(names: &[&str], next_cursor: Option<&str>) -> Reply {
    Reply::result(&page("tools", names.iter().map(|name| tool(name)).collect(), next_cursor))
}

async fn names(client: &Client) -> Vec<String> {
    client.tools().await.unwrap().iter().map(|tool| tool.name.clone()).collect()
}

/// Lists the tools of a server with these pages; gives the names and the cursors that were sent.
async fn list(pages: Vec<Reply>) -> (Vec<String>, Vec<Value>) {
    let server = plain_server(pages.into_iter().map(|page| ("tools/list", page))).await;
    let client = connect(&server).await;
    let names = names(&client).await;
    let cursors = server.asked("tools/list").iter().map(|asked| asked.params()["cursor"].clone()).collect();
    server.finish();
    (names, cursors)
}

const EIGHT: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

#[tokio::test]
async fn an_empty_cursor_is_a_cursor_and_null_is_none() {
    let (names, cursors) = list(vec![tools_page(&["a"], Some("")), tools_page(&["b"], None)]).await;
    assert_eq!((names, cursors), (vec!["a".into(), "b".into()], vec![Value::Null, json!("")]));

    let mut last = page("tools", json!([tool("a")]), None);
    last["nextCursor"] = Value::Null;
    let (names, cursors) = list(vec![Reply::result(&last)]).await;
    assert_eq!((names.len(), cursors.len()), (1, 1));
}

#[tokio::test]
async fn cursors_are_given_back_byte_for_byte() {
    let odd = "eyJ\u{e9}\"\\ \u{1f600}%20";
    let (_, cursors) = list(vec![tools_page(&["a"], Some(odd)), tools_page(&["b"], None)]).await;
    assert_eq!(cursors[1], odd);
}

#[tokio::test]
async fn a_list_that_repeats_a_cursor_ends_after_few_requests_without_duplicates() {
    for cursors in [vec!["11", "11"], vec!["", ""], vec!["c1", "c2", "c1"]] {
        let pages = cursors.iter().map(|cursor| tools_page(&EIGHT, Some(cursor))).collect();
        let (names, asked) = list(pages).await;
        assert_eq!(names, EIGHT);
        assert_eq!(asked.len(), cursors.len());
    }
}

#[tokio::test]
async fn a_list_with_ever_new_pages_ends_at_a_bound_and_the_client_stays_usable() {
    let steps = (0..5).map(|number| {
        let name = format!("t{number}");
        ("tools/list", tools_page(&[&name], Some(&format!("c{number}"))))
    });
    let server = plain_server(steps).await;
    let mut limits = Limits::default();
    limits.pages = 4;
    let client = builder().limits(limits).http(server.url()).await.unwrap();
    assert_eq!(names(&client).await, ["t0", "t1", "t2", "t3"]);
    server.then("tools/call", Reply::result(&text_result("done")));
    client.call("t1", &()).await.unwrap();
}

#[tokio::test]
async fn a_cursor_that_dies_starts_the_list_over_once() {
    let dead = || Reply::error(200, &json!({"code": -32602, "message": "invalid cursor"}));
    let first = || tools_page(&["a"], Some("1"));
    let (names, cursors) = list(vec![first(), dead(), first(), tools_page(&["b"], None)]).await;
    assert_eq!(names, ["a", "b"]);
    assert_eq!(cursors, [Value::Null, json!("1"), Value::Null, json!("1")]);

    let server = plain_server([first(), dead(), first(), dead()].map(|page| ("tools/list", page))).await;
    let client = connect(&server).await;
    let error = client.tools().await.unwrap_err();
    assert!(error.to_string().contains("invalid cursor"), "{error}");
    server.finish();
}

#[tokio::test]
async fn an_invalid_definition_costs_itself_only_and_says_why() {
    let tools = json!([
        {"name": "a", "inputSchema": {"type": "object"}},
        {"name": "b", "inputSchema": {"type": "object", "additionalProperties": false}},
        {"name": "c", "inputSchema": {"type": "object", "properties": {}}},
        {"name": "d", "inputSchema": {}},
        {"name": "e"},
        {"name": "f", "inputSchema": null},
        {"name": 7, "inputSchema": {"type": "object"}},
        {"name": "h", "inputSchema": {"type": "object", "properties": {
            "x": {"type": "number", "x-mcp-header": "X"}}}},
        {"name": "i", "inputSchema": {"type": "object", "properties": {
            "x": {"type": "string", "x-mcp-header": "X"}}}}
    ]);
    let server = plain_server([("tools/list", Reply::result(&page("tools", tools, None)))]).await;
    let client = connect(&server).await;
    assert_eq!(names(&client).await, ["a", "b", "c", "i"]);
    let excluded = client.excluded_tools();
    let left_out: Vec<_> = excluded.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(left_out, ["d", "e", "f", "7", "h"]);
    assert!(excluded[0].reason.contains("type \"object\""), "{excluded:?}");
    assert!(excluded[1].reason.contains("inputSchema"), "{excluded:?}");

    // Those that are left are called with nothing; one that is left out is not called at all.
    server.then("tools/call", Reply::result(&text_result("done")));
    client.call("a", &()).await.unwrap();
    let error = client.call("h", &json!({"x": 1})).await.unwrap_err();
    assert!(error.to_string().contains("\"h\" is left out"), "{error}");
    server.finish();
}

fn kept(names: &[&str], ttl_ms: i64) -> Reply {
    let mut list = page("tools", names.iter().map(|name| tool(name)).collect(), None);
    list["ttlMs"] = ttl_ms.into();
    Reply::result(&list)
}

#[tokio::test]
async fn a_list_is_asked_for_again_only_when_it_is_stale() {
    for (ttl, asked) in [(60_000, 1), (0, 3), (-1, 3)] {
        let server = plain_server((0..asked).map(|_| ("tools/list", kept(&["a"], ttl)))).await;
        let client = connect(&server).await;
        for _ in 0..3 {
            assert_eq!(names(&client).await, ["a"]);
        }
        server.finish();
    }
}

#[tokio::test]
async fn callers_with_other_credentials_get_their_own_lists_even_from_a_shared_cache() {
    let server = plain_server([
        ("tools/list", kept(&["read", "write"], 60_000)),
        ("tools/list", kept(&["read"], 60_000)),
        ("tools/list", kept(&["read", "write"], 60_000)),
    ])
    .await;
    let cache = Cache::new(&Limits::default());
    let caller = |token| builder().cache(cache.clone()).bearer(token).http(server.url());
    let (a, b) = (caller("A").await.unwrap(), caller("B").await.unwrap());
    assert_eq!(names(&a).await, ["read", "write"]);
    assert_eq!(names(&b).await, ["read"]);
    assert_eq!(names(&a).await, ["read", "write"]);
    let refreshed = caller("A2").await.unwrap();
    assert_eq!(names(&refreshed).await, ["read", "write"]);
    // The same credentials share.
    assert_eq!(names(&caller("B").await.unwrap()).await, ["read"]);
    server.finish();
}

#[tokio::test]
async fn hints_that_are_missing_or_unknown_keep_nothing_and_share_nothing() {
    for hints in [json!({}), json!({"ttlMs": 60_000, "cacheScope": "shared"})] {
        let mut list = json!({"resultType": "complete", "tools": [tool("a")]});
        for (name, value) in hints.as_object().unwrap() {
            list[name] = value.clone();
        }
        let server = plain_server((0..2).map(|_| ("tools/list", Reply::result(&list)))).await;
        let cache = Cache::new(&Limits::default()).share_public();
        for token in ["A", "B"] {
            let client = builder().cache(cache.clone()).bearer(token).http(server.url()).await.unwrap();
            client.tools().await.unwrap();
        }
        server.finish();
    }
}

#[tokio::test]
async fn callers_at_the_same_time_share_one_request() {
    let server = plain_server([("prompts/list", Reply::result(&page("prompts", json!([]), None)))]).await;
    let client = connect(&server).await;
    let ask = || client.prompts();
    let (first, second, third) = tokio::join!(ask(), ask(), ask());
    let (first, second, third) = (first.unwrap(), second.unwrap(), third.unwrap());
    assert!(Arc::ptr_eq(&first, &second) && Arc::ptr_eq(&second, &third));
    server.finish();
}

#[tokio::test]
async fn the_first_of_several_waiting_callers_may_leave() {
    let server = plain_server([("prompts/list", Reply::result(&page("prompts", json!([]), None)))]).await;
    let client = connect(&server).await;
    let mut first = client.prompts().into_future();
    let mut second = client.prompts().into_future();
    assert!(futures_util::poll!(&mut first).is_pending());
    assert!(futures_util::poll!(&mut second).is_pending());
    drop(first);
    second.await.unwrap();
    server.finish();
}

#[tokio::test]
async fn what_was_read_is_kept_by_its_uri() {
    let contents = |uri: &str| {
        Reply::result(&json!({"resultType": "complete", "ttlMs": 60_000, "cacheScope": "private",
                              "contents": [{"uri": uri, "text": "t"}]}))
    };
    let server =
        plain_server([("resources/read", contents("x://1")), ("resources/read", contents("x://2"))]).await;
    let client = connect(&server).await;
    for uri in ["x://1", "x://2", "x://1", "x://2"] {
        assert_eq!(client.read(uri).await.unwrap().contents[0].uri, uri);
    }
    assert_eq!(server.asked("resources/read")[0].header("mcp-name"), Some("x://1"));
    server.finish();
}

#[tokio::test]
async fn the_other_lists_are_merged_too() {
    let server = plain_server([
        (
            "resources/list",
            Reply::result(&page("resources", json!([{"uri": "x://1", "name": "1"}]), Some("n"))),
        ),
        ("resources/list", Reply::result(&page("resources", json!([{"uri": "x://2", "name": "2"}]), None))),
        (
            "resources/templates/list",
            Reply::result(&page("resourceTemplates", json!([{"uriTemplate": "x://{a}", "name": "t"}]), None)),
        ),
        ("prompts/list", Reply::result(&page("prompts", json!([{"name": "p"}]), None))),
    ])
    .await;
    let client = connect(&server).await;
    assert_eq!(client.resources().await.unwrap().len(), 2);
    assert_eq!(client.resource_templates().await.unwrap()[0].uri_template, "x://{a}");
    assert_eq!(client.prompts().await.unwrap()[0].name, "p");
    server.finish();
}

#[tokio::test]
async fn an_invalid_definition_takes_no_name_from_a_valid_one() {
    let tools = json!([{"name": "a", "inputSchema": {}}, tool("a")]);
    let server = plain_server([("tools/list", Reply::result(&page("tools", tools, None)))]).await;
    let client = connect(&server).await;
    assert_eq!(names(&client).await, ["a"]);
    assert_eq!(client.excluded_tools().len(), 1);
}

#[tokio::test]
async fn addresses_that_differ_in_their_query_are_different_servers_and_it_is_not_shown() {
    let server =
        plain_server([("tools/list", kept(&["a"], 60_000)), ("tools/list", kept(&["b"], 60_000))]).await;
    let cache = Cache::new(&Limits::default());
    for (query, name) in [("key=s3cret", "a"), ("key=other", "b"), ("key=s3cret", "a")] {
        let url = format!("{}?{query}", server.url());
        let client = builder().cache(cache.clone()).http(url).await.unwrap();
        assert_eq!(names(&client).await, [name]);
        assert!(!client.server_name().contains("key") && !format!("{client:?}").contains("s3cret"));
    }
    server.finish();
}

#[tokio::test]
async fn a_patient_caller_does_not_fail_with_an_impatient_one() {
    let server = plain_server([
        ("prompts/list", Reply::raw("").then_hold()),
        ("prompts/list", Reply::result(&page("prompts", json!([]), None))),
    ])
    .await;
    let client = connect(&server).await;
    let impatient = client.prompts().timeout(std::time::Duration::from_millis(50)).into_future();
    let patient = client.prompts().into_future();
    let (impatient, patient) = tokio::join!(impatient, patient);
    assert!(impatient.unwrap_err().is_timeout());
    patient.unwrap();
    server.finish();
}
