//! Who sees what: hidden is absent, in lists, calls, reads, prompts, completions and subscriptions, and in
//! the same words.

use std::time::Duration;

use http::Extensions;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_server::{
    Builder, Cache, Caller, CallerId, Item, Limits, Principal, Prompt, Resource, Server, Tool, Vars,
};

use crate::calls::{exchange, request};
use crate::endpoint::Post;

/// A caller sees the items whose last letter it knows.
#[derive(Clone, Debug)]
struct Letters(&'static str);

fn by_letter(caller: &Caller<'_>, item: &Item<'_>) -> bool {
    let known = caller.principal::<Letters>().map_or("", |letters| letters.0);
    item.name().ends_with(|letter| known.contains(letter))
}

fn who(letters: &'static str) -> Extensions {
    let mut extensions = Extensions::new();
    extensions.insert(Principal(Letters(letters)));
    extensions.insert(CallerId(letters.to_owned()));
    extensions
}

async fn ask(server: &Server, letters: &'static str, (method, params): (&str, Value)) -> Value {
    exchange(server, &request(method, params), who(letters)).await.pop().unwrap()
}

#[derive(Deserialize)]
struct Numbered {
    id: String,
}

async fn numbered(Vars(Numbered { id }): Vars<Numbered>) -> String {
    id
}

/// What everybody sees.
fn open() -> Builder<()> {
    Server::builder("visible", "1")
        .authenticated::<Letters>()
        .tool(Tool::new("open", async || "open"))
        .resource(Resource::new("o:open", async || "open"))
        .resource(Resource::template("open://{id}/z", numbered))
        .prompt(Prompt::new("open", async || "open"))
}

/// And what only those see who know the letter `a`.
fn with_hidden() -> Server {
    let completes = Resource::template("t://{id}/a", numbered).complete("id", async || vec!["1"]);
    open()
        .tool(Tool::new("tool.a", async || "called").visible(by_letter))
        .resource(Resource::new("r:a", async || "read").visible(by_letter))
        .resource(completes.visible(by_letter))
        .prompt(Prompt::new("prompt.a", async || "expanded").visible(by_letter))
        .build(())
        .unwrap()
}

fn every_request() -> Vec<(&'static str, Value)> {
    let argument = json!({ "name": "id", "value": "" });
    vec![
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/list", json!({})),
        ("tools/call", json!({ "name": "tool.a" })),
        ("resources/read", json!({ "uri": "r:a" })),
        ("resources/read", json!({ "uri": "t://1/a" })),
        ("prompts/get", json!({ "name": "prompt.a" })),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/resource", "uri": "t://{id}/a" }, "argument": argument }),
        ),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "prompt.a" }, "argument": argument }),
        ),
        (
            "subscriptions/listen",
            json!({ "notifications": { "resourceSubscriptions": ["r:a", "t://1/a", "o:open"] } }),
        ),
    ]
}

#[tokio::test]
async fn what_is_hidden_answers_as_if_it_were_not_there() {
    let (server, without) = (with_hidden(), open().resource(completes_something()).build(()).unwrap());
    for (method, params) in every_request() {
        let hidden = ask(&server, "xyz", (method, params.clone())).await;
        let absent = ask(&without, "xyz", (method, params.clone())).await;
        // The one that only makes the other server complete is not what is compared.
        assert_eq!(hidden, without_extra(absent), "{method} {params}");
        let seen = ask(&server, "a", (method, params.clone())).await;
        if !params.to_string().contains("ref/prompt") {
            assert_ne!(hidden, seen, "{method} {params}");
        }
    }
}

/// Both servers are to have the same capabilities.
fn completes_something() -> Resource {
    Resource::template("extra://{id}/z", numbered).complete("id", async || vec!["1"])
}

fn without_extra(mut reply: Value) -> Value {
    if let Some(list) = reply.pointer_mut("/result/resourceTemplates").and_then(Value::as_array_mut) {
        list.retain(|template| template["uriTemplate"] != "extra://{id}/z");
    }
    reply
}

#[tokio::test]
async fn a_hidden_resource_leaves_its_uri_to_the_next_that_matches() {
    let server = Server::builder("visible", "1")
        .resource(Resource::new("t://1/b", async || "fixed").visible(by_letter))
        .resource(Resource::template("t://{id}/{letter}", async || "first").visible(by_letter))
        .resource(Resource::template("t://{+id}", async || "second"))
        .build(())
        .unwrap();
    for (letters, expected) in [("b", "fixed"), ("}", "first"), ("b}", "fixed"), ("", "second")] {
        let read = ask(&server, letters, ("resources/read", json!({ "uri": "t://1/b" }))).await;
        assert_eq!(read["result"]["contents"][0]["text"], expected, "{letters}");
    }
}

/// Tools `0a`, `1b`, `2a`, … with pages of two.
fn lettered(count: usize) -> Server {
    let tools = (0..count).map(|number| {
        let letter = if number % 2 == 0 { 'a' } else { 'b' };
        Tool::new(format!("{number}{letter}"), async || "")
    });
    let builder = plain_pages().visible(by_letter).list_cache(Cache::Private(Duration::from_secs(9)));
    tools.fold(builder, Builder::tool).build(()).unwrap()
}

fn plain_pages() -> Builder<()> {
    Server::builder("visible", "1").limits(Limits { page_size: 2, ..Limits::default() })
}

async fn walk(server: &Server, letters: &'static str) -> (Vec<String>, Vec<String>) {
    let (mut names, mut cursors) = (Vec::new(), Vec::new());
    let mut params = json!({});
    loop {
        let page = ask(server, letters, ("tools/list", params)).await["result"].take();
        assert_eq!((&page["cacheScope"], &page["ttlMs"]), (&json!("private"), &json!(9_000)));
        let tools = page["tools"].as_array().unwrap();
        names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        let Some(cursor) = page.get("nextCursor").and_then(Value::as_str) else { return (names, cursors) };
        assert_eq!(tools.len(), 2, "only the last page is short");
        cursors.push(cursor.to_owned());
        params = json!({ "cursor": cursor });
    }
}

#[tokio::test]
async fn every_caller_has_pages_of_what_it_sees() {
    for count in 0..9_usize {
        let server = with_one_for_nobody(lettered(count));
        for (letters, step, first) in [("a", 2, 0), ("b", 2, 1), ("ab", 1, 0)] {
            let (names, cursors) = walk(&server, letters).await;
            let expected: Vec<usize> = (first..count).step_by(step).collect();
            let numbers: Vec<usize> =
                names.iter().map(|name| name.trim_end_matches(['a', 'b']).parse().unwrap()).collect();
            assert_eq!(numbers, expected, "{letters} of {count}");
            assert_eq!(cursors.len(), expected.len().div_ceil(2).saturating_sub(1), "{letters} of {count}");
        }
        assert!(walk(&server, "").await.0.is_empty(), "the list is empty, not gone");
    }
}

fn with_one_for_nobody(server: Server) -> Server {
    server.catalog().insert(Tool::new("nobody", async || "").visible(|_, _| false)).unwrap();
    server
}

#[tokio::test]
async fn a_cursor_is_good_for_one_view_only() {
    let server = lettered(9);
    let (_, cursors) = walk(&server, "a").await;
    for (letters, is_good) in [("a", true), ("b", false), ("ab", false), ("aa", false), ("", false)] {
        let page = ask(&server, letters, ("tools/list", json!({ "cursor": cursors[0] }))).await;
        assert_eq!(page.get("result").is_some(), is_good, "{letters}: {page}");
        assert!(is_good || page["error"]["message"].as_str().unwrap().contains("start over"));
    }
}

#[tokio::test]
async fn a_predicate_that_panics_hides() {
    let server = Server::builder("visible", "1")
        .tool(Tool::new("t", async || "").visible(|_, _| panic!("no idea")))
        .build(())
        .unwrap();
    let called = ask(&server, "", ("tools/call", json!({ "name": "t" }))).await;
    assert_eq!(called["error"]["message"], "Unknown tool: t");
    assert_eq!(ask(&server, "", ("tools/list", json!({}))).await["result"]["tools"], json!([]));
}

#[tokio::test]
async fn all_predicates_must_agree_and_may_look_at_the_request() {
    let of_client = |caller: &Caller<'_>, _: &Item<'_>| {
        caller.client_info().is_some_and(|info| info.name == "test")
            && caller.revision().date() == "2026-07-28"
    };
    let of_head = |caller: &Caller<'_>, item: &Item<'_>| {
        let parts = caller.extension::<http::request::Parts>();
        *item == Item::Tool("t") && parts.is_some_and(|parts| parts.headers.contains_key("x-beta"))
    };
    let server = Server::builder("visible", "1")
        .tool(Tool::new("t", async || "beta").visible(of_client))
        .visible(of_head)
        .build(())
        .unwrap();
    let service = server.http().into_service();
    let post = || Post::tool("t", json!({}));
    assert_eq!(post().set("x-beta", "1").send(&service).await.text(), "beta");
    assert_eq!(post().send(&service).await.code(), Some(-32_602));
    assert_eq!(ask(&server, "", ("tools/list", json!({}))).await["result"]["tools"], json!([]));
}

#[test]
fn what_is_not_for_all_is_not_cached_for_all() {
    let public = Cache::Public(Duration::from_secs(1));
    let hidden = || Tool::new("t", async || "").visible(by_letter);
    let resource = || Resource::new("r:a", async || "").cache(public);
    let builder = || Server::builder("visible", "1");
    for (builder, expected) in [
        (builder().tool(hidden()).list_cache(public), &["tool \"t\": not every caller sees it"][..]),
        (builder().visible(by_letter).list_cache(public), &["callers do not see the same lists"]),
        (builder().visible(by_letter).resource(resource()), &["must not be cached publicly"]),
        (builder().resource(resource().visible(by_letter)), &["must not be cached publicly"]),
        (builder().tool(hidden()).list_cache(Cache::Private(Duration::from_secs(1))), &[]),
        (builder().tool(hidden()).resource(resource()), &[]),
    ] {
        let built = builder.build(());
        let problems = built.as_ref().err().map_or(&[][..], |error| error.problems());
        assert_eq!(problems.len(), expected.len(), "{problems:?}");
        for (problem, expected) in problems.iter().zip(expected) {
            assert!(problem.contains(expected), "{problem}");
        }
    }
    let server = builder().list_cache(public).build(()).unwrap();
    let refused = server.catalog().insert(hidden()).unwrap_err();
    assert!(refused.to_string().contains("lists must not be cached publicly"), "{refused}");
}
