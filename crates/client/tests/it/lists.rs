//! Lists that several callers share. Their pages and how long they are kept are scripts (`tests/data`).

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_client::{Cache, Client, ErrorCode, Limits};
use switchboard_testkit::scripted_http::{Reply, ScriptedHttp};

use crate::support::{builder, connect, discovered, page, pass, tool};

async fn plain_server<M: Into<String>>(steps: impl IntoIterator<Item = (M, Reply)>) -> ScriptedHttp {
    ScriptedHttp::play(steps).await.always("server/discover", Reply::result(&discovered()))
}

async fn names(client: &Client) -> Vec<String> {
    client.tools().await.unwrap().iter().map(|tool| tool.name.clone()).collect()
}

fn kept(names: &[&str], ttl_ms: i64) -> Reply {
    let mut list = page("tools", names.iter().map(|name| tool(name)).collect(), None);
    list["ttlMs"] = ttl_ms.into();
    Reply::result(&list)
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
async fn a_server_that_knows_no_templates_has_none_and_one_that_knows_no_resources_is_at_fault() {
    let unknown = || Reply::error(404, &json!({"code": -32601, "message": "Method not found"}));
    let server = plain_server([("resources/templates/list", unknown()), ("resources/list", unknown())]).await;
    let client = connect(&server).await;
    assert!(client.resource_templates().await.unwrap().is_empty());
    assert_eq!(client.resources().await.unwrap_err().code(), Some(ErrorCode::METHOD_NOT_FOUND));
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
    let short = Duration::from_secs(5);
    let impatient = client.prompts().timeout(short).into_future();
    let patient = client.prompts().into_future();
    let asked = async {
        server.heard("prompts/list", 1).await;
        pass(short).await;
    };
    let (impatient, patient, ()) = tokio::join!(impatient, patient, asked);
    assert!(impatient.unwrap_err().is_timeout());
    patient.unwrap();
    server.finish();
}

#[tokio::test]
async fn a_list_that_is_larger_than_the_limit_over_all_pages_is_an_error_that_names_it() {
    let described = |name: &str| {
        let mut tool = tool(name);
        tool["description"] = "x".repeat(900).into();
        json!([tool])
    };
    for (list_bytes, fits) in [(10_000, true), (1_500, false), (500, false)] {
        let server =
            plain_server([("tools/list", Reply::result(&page("tools", described("a"), Some("n"))))]).await;
        if list_bytes > 500 {
            server.then("tools/list", Reply::result(&page("tools", described("b"), None)));
        }
        let mut limits = Limits::default();
        limits.list_bytes = list_bytes;
        let client = builder().limits(limits).http(server.url()).await.unwrap();
        match client.tools().await {
            Ok(tools) => assert!(fits && tools.len() == 2, "{list_bytes}"),
            Err(error) => {
                assert!(!fits && error.is_limit() && !error.is_transient(), "{error}");
                let shown = error.to_string();
                assert!(shown.contains(&format!("larger than list_bytes ({list_bytes} bytes)")), "{shown}");
            }
        }
        server.finish();
    }
}

#[tokio::test]
async fn one_page_cannot_hold_more_than_the_limit() {
    let tools: Vec<_> = (0..50).map(|number| tool(&format!("t{number}"))).collect();
    let server = plain_server([("tools/list", Reply::result(&page("tools", tools.into(), None)))]).await;
    let mut limits = Limits::default();
    limits.items = 10;
    let client = builder().limits(limits).http(server.url()).await.unwrap();
    assert_eq!(names(&client).await.len(), 10);
    server.finish();
}
