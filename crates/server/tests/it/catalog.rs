//! Lists, pages, cursors, and a catalog that changes while it is used.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_protocol::model::subscription::SubscriptionFilter;
use switchboard_server::{
    Args, Cache, Change, Completing, Items, Limits, Prompt, Resource, Server, State, Suggestions, Tool, Vars,
    next_change,
};

use crate::calls::{call, error, reply, text};

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
    country: Option<String>,
}

#[derive(Deserialize)]
struct Numbered {
    id: u32,
}

fn ping(name: impl Into<String>) -> Tool {
    Tool::new(name, async || "pong").describe("Answers")
}

fn paged(count: usize) -> Server {
    let limits = Limits { page_size: 3, ..Limits::default() };
    let tools = (0..count).map(|number| ping(format!("t{number}")));
    let builder = Server::builder("paged", "1").limits(limits);
    tools.fold(builder, switchboard_server::Builder::tool).build(()).unwrap()
}

async fn all_names(server: &Server) -> Vec<String> {
    let mut names = Vec::new();
    let mut params = json!({});
    loop {
        let page = reply(server, "tools/list", params).await["result"].take();
        names.extend(
            page["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()),
        );
        assert!(page["ttlMs"].is_u64() && page["cacheScope"] == "private", "{page}");
        match page.get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => return names,
        }
    }
}

#[tokio::test]
async fn every_item_is_on_exactly_one_page_in_order() {
    for count in [1, 2, 3, 4, 6, 7, 30] {
        let expected: Vec<String> = (0..count).map(|number| format!("t{number}")).collect();
        assert_eq!(all_names(&paged(count)).await, expected);
    }
}

#[tokio::test]
async fn a_cursor_is_good_for_its_list_only() {
    let server = paged(7);
    let page = reply(&server, "tools/list", json!({})).await["result"].take();
    let cursor = page["nextCursor"].as_str().unwrap();
    for bad in ["", "x", &format!("{cursor}A")] {
        assert_eq!(
            error(&reply(&server, "tools/list", json!({ "cursor": bad })).await).0,
            -32_602,
            "{bad:?}"
        );
    }
    server.catalog().insert(ping("another")).unwrap();
    let (code, message) = error(&reply(&server, "tools/list", json!({ "cursor": cursor })).await);
    assert_eq!(code, -32_602);
    assert!(message.contains("start over"), "{message}");
    assert_eq!(all_names(&server).await.len(), 8);
}

#[tokio::test]
async fn what_the_server_has_is_what_it_says_it_can_do() {
    let logs = Tool::new("logs", async |_ctx: switchboard_server::Ctx| ());
    let completes =
        Resource::template("x://{id}", async |Vars(_): Vars<Numbered>| "").complete("id", async || vec!["1"]);
    let changes = json!({ "listChanged": true });
    for (server, expected) in [
        (Server::builder("a", "1").build(()), json!({})),
        (Server::builder("a", "1").tool(ping("p")).build(()), json!({ "tools": changes })),
        (Server::builder("a", "1").tool(logs).build(()), json!({ "tools": changes, "logging": {} })),
        (
            Server::builder("a", "1").prompt(Prompt::new("p", async || "hi")).build(()),
            json!({ "prompts": changes }),
        ),
        (
            Server::builder("a", "1").resource(completes).build(()),
            json!({ "resources": { "subscribe": true, "listChanged": true }, "completions": {} }),
        ),
    ] {
        let discovered = reply(&server.unwrap(), "server/discover", json!({})).await["result"].take();
        assert_eq!(discovered["capabilities"], expected);
        assert_eq!(discovered["supportedVersions"], json!(["2026-07-28"]));
        assert_eq!(discovered["resultType"], "complete");
    }
}

#[tokio::test]
async fn methods_of_what_is_not_there_are_not_found() {
    let server = Server::builder("a", "1").tool(ping("p")).build(()).unwrap();
    for (method, params) in [
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": "x" })),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "x:y" })),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "x" }, "argument": { "name": "a", "value": "" } }),
        ),
        ("initialize", json!({})),
        ("tools/List", json!({})),
    ] {
        assert_eq!(error(&reply(&server, method, params).await).0, -32_601, "{method}");
    }
}

#[tokio::test]
async fn a_change_takes_effect_at_once_and_is_announced() {
    let server = Server::builder("a", "1").tool(ping("p")).build(()).unwrap();
    let filter = SubscriptionFilter::new().tools().prompts().resources();
    let mut changes = server.bus().subscribe(&filter);
    let catalog = server.catalog().clone();

    let items = Items::new().with(Tool::new("greet", async |State(name): State<String>| name));
    catalog.insert_all(items.with_state("Ada".to_owned())).unwrap();
    assert_eq!(text(&call(&server, "greet", json!({})).await), "Ada");
    assert_eq!(next_change(&mut *changes).await, Some(Change::Tools));

    catalog.insert(Prompt::new("hello", async || "hi")).unwrap();
    assert_eq!(next_change(&mut *changes).await, Some(Change::Prompts));

    assert!(catalog.remove_tool("p"));
    assert!(!catalog.remove_tool("p"));
    assert_eq!(error(&call(&server, "p", json!({})).await).0, -32_602);
    assert_eq!(next_change(&mut *changes).await, Some(Change::Tools));

    let refused = catalog.insert(ping("not a name")).unwrap_err();
    assert_eq!(refused.problems().len(), 1, "{refused}");
    assert_eq!(all_names(&server).await, ["greet"]);

    catalog.replace_all(Items::new().with(Resource::new("a:b", async || "x"))).unwrap();
    let mut heard = HashSet::new();
    for _ in 0..3 {
        heard.insert(next_change(&mut *changes).await.unwrap());
    }
    assert_eq!(heard, HashSet::from([Change::Tools, Change::Prompts, Change::Resources]));
    assert_eq!(all_names(&server).await, <[&str; 0]>::default(), "the list is empty, not gone");
}

#[tokio::test]
async fn a_subscription_is_granted_for_what_is_there() {
    let server = Server::builder("a", "1")
        .tool(ping("p"))
        .resource(Resource::template("x://{id}", async |Vars(_): Vars<Numbered>| ""))
        .limits(Limits { listen_uris: 2, ..Limits::default() })
        .build(())
        .unwrap();
    let wanted = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": false,
        "resourceSubscriptions": ["x://1", "y://1", "x://2", "x://3"]
    });
    let granted = reply(&server, "subscriptions/listen", json!({ "notifications": wanted })).await;
    assert_eq!(
        granted["granted"],
        json!({ "toolsListChanged": true, "resourceSubscriptions": ["x://1", "x://2"] })
    );
}

fn library() -> Server {
    let shelf =
        Resource::template("books://{id}/text", async |Vars(book): Vars<Numbered>| book.id.to_string());
    let cities = async |typed: Completing| {
        let all = (0..250).map(|number| format!("{}{number}", typed.value));
        let country = typed.context.arguments.and_then(|given| given.get("country").cloned());
        all.map(|city| country.as_ref().map_or(city.clone(), |country| format!("{city} {country}")))
            .collect::<Vec<_>>()
    };
    Server::builder("library", "1")
        .resource(shelf.mime("text/plain"))
        .resource(
            Resource::new("books://7/text", async || "seven")
                .cache(Cache::Public(std::time::Duration::from_secs(1))),
        )
        .resource(Resource::new("books://cover", async || vec![1u8, 2, 3]).mime("image/png"))
        .prompt(
            Prompt::new("visit", async |Args(City { city, country }): Args<City>| {
                format!("{city} {country:?}")
            })
            .complete("city", cities)
            .complete("country", async || Suggestions { values: vec!["CH".into()], total: Some(9) }),
        )
        .build(())
        .unwrap()
}

#[tokio::test]
async fn resources_are_found_by_uri_the_fixed_ones_first() {
    let server = library();
    for (uri, expected) in [
        ("books://42/text", json!({ "uri": "books://42/text", "mimeType": "text/plain", "text": "42" })),
        ("books://7/text", json!({ "uri": "books://7/text", "text": "seven" })),
        ("books://cover", json!({ "uri": "books://cover", "mimeType": "image/png", "blob": "AQID" })),
    ] {
        let read = reply(&server, "resources/read", json!({ "uri": uri })).await;
        assert_eq!(read["result"]["contents"], json!([expected]), "{read}");
    }
    let public = reply(&server, "resources/read", json!({ "uri": "books://7/text" })).await;
    assert_eq!(
        (&public["result"]["ttlMs"], &public["result"]["cacheScope"]),
        (&json!(1000), &json!("public"))
    );
    for uri in ["books://x", "books://notanumber/text", ""] {
        let missing = reply(&server, "resources/read", json!({ "uri": uri })).await;
        assert_eq!(error(&missing).0, -32_602);
        assert_eq!(missing["error"]["data"]["uri"], uri);
    }
}

#[tokio::test]
async fn prompts_take_texts_and_say_what_they_lack() {
    let server = library();
    let listed = reply(&server, "prompts/list", json!({})).await;
    assert_eq!(
        listed["result"]["prompts"][0]["arguments"],
        json!([{ "name": "city", "required": true }, { "name": "country", "required": false }])
    );
    let good =
        reply(&server, "prompts/get", json!({ "name": "visit", "arguments": { "city": "Bern" } })).await;
    assert_eq!(
        good["result"]["messages"][0],
        json!({ "role": "user", "content": { "type": "text", "text": "Bern None" } })
    );
    for arguments in [json!({}), json!({ "city": 4 })] {
        let bad = reply(&server, "prompts/get", json!({ "name": "visit", "arguments": arguments })).await;
        let (code, message) = error(&bad);
        assert_eq!(code, -32_602);
        assert!(message.contains("/city"), "{message}");
    }
}

async fn completed(server: &Server, reference: Value, argument: &str) -> Value {
    let params = json!({
        "ref": reference, "argument": { "name": argument, "value": "b" },
        "context": { "arguments": { "country": "CH" } }
    });
    reply(server, "completion/complete", params).await
}

#[tokio::test]
async fn completion_is_cut_at_a_hundred_and_says_so() {
    let server = library();
    let prompt = json!({ "type": "ref/prompt", "name": "visit" });
    let cities = completed(&server, prompt.clone(), "city").await;
    let completion = &cities["result"]["completion"];
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!(completion["values"][1], "b1 CH");
    assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(250), &json!(true)));
    let countries = completed(&server, prompt.clone(), "country").await;
    assert_eq!(countries["result"]["completion"], json!({ "values": ["CH"], "total": 9, "hasMore": true }));
    let plain = completed(&server, json!({ "type": "ref/resource", "uri": "books://{id}/text" }), "id").await;
    assert_eq!(plain["result"]["completion"], json!({ "values": [], "total": 0, "hasMore": false }));
    for (reference, argument) in [
        (prompt, "street"),
        (json!({ "type": "ref/prompt", "name": "nothing" }), "city"),
        (json!({ "type": "ref/resource", "uri": "books://{other}" }), "other"),
        (json!({ "type": "ref/resource", "uri": "books://cover" }), "id"),
    ] {
        assert_eq!(error(&completed(&server, reference, argument).await).0, -32_602, "{argument}");
    }
}
