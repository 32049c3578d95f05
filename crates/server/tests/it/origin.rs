//! `Host` and `Origin`: who may not ask at all.

use serde_json::json;
use switchboard_server::{HttpService, Server, Tool};

use crate::endpoint::Post;

async fn quick() -> &'static str {
    "quick"
}

fn server() -> Server {
    Server::builder("test", "1.0.0").tool(Tool::new("quick", quick)).build(()).unwrap()
}

async fn check(service: &HttpService, headers: serde_json::Value, status: u16) {
    let got = Post::tool("quick", json!({})).set_all(Some(&headers)).send(service).await;
    assert_eq!(got.status, status, "{headers}");
    if status == 403 {
        assert_eq!(got.code(), Some(-32600), "{headers}");
        assert_eq!(got.json().get("id"), None, "{headers}");
    }
}

#[tokio::test]
async fn by_default_only_loopback_is_served() {
    let service = server().http().into_service();
    for (headers, status) in [
        (json!({"host": "127.0.0.1:3000"}), 200),
        (json!({"host": "[::1]:3000"}), 200),
        (json!({"host": "evil.example"}), 403),
        (json!({"host": "evil.example:80", "origin": "http://evil.example"}), 403),
        (json!({"host": null}), 403),
        (json!({"host": ["localhost", "evil.example"]}), 403),
        (json!({"origin": "http://localhost:3000"}), 200),
        (json!({"origin": "http://evil.example"}), 403),
        (json!({"origin": "null"}), 403),
        (json!({"origin": ["http://localhost", "http://evil.example"]}), 403),
    ] {
        check(&service, headers, status).await;
    }
}

#[tokio::test]
async fn the_operator_may_name_more() {
    let service =
        server().http().hosts(["mcp.example.com"]).origins(["https://app.example.com"]).into_service();
    for (headers, status) in [
        (json!({"host": "mcp.example.com", "origin": "https://app.example.com"}), 200),
        (json!({"host": "mcp.example.com:8443"}), 200),
        (json!({"host": "mcp.example.com", "origin": "https://mcp.example.com"}), 403),
        (json!({"host": "www.mcp.example.com"}), 403),
    ] {
        check(&service, headers, status).await;
    }
}

#[tokio::test]
async fn an_address_that_cannot_be_listened_on_is_named() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let taken = taken.local_addr().map(|address| (address, taken)).unwrap();
    for (address, shown) in [
        (taken.0.to_string(), format!("{}: cannot listen: ", taken.0)),
        ("127.0.0.1:x".to_owned(), "127.0.0.1:x: cannot listen: ".to_owned()),
    ] {
        let refused = server().http().bind(address).await.unwrap_err();
        assert!(refused.is_io(), "{refused}");
        for text in [refused.to_string(), format!("{refused:?}")] {
            assert!(text.starts_with(&shown), "{text}");
        }
    }
}

#[tokio::test]
async fn a_public_address_needs_hosts_and_keys() {
    let public = "0.0.0.0:0";
    let refused = server().http().bind(public).await.unwrap_err();
    assert!(refused.is_public_address() && refused.to_string().contains("hosts("), "{refused}");
    let refused = server().http().hosts(["mcp.example.com"]).bind(public).await.unwrap_err();
    assert!(refused.is_public_address() && refused.to_string().contains("state_keys("), "{refused}");
    let serving = server().http().hosts(["mcp.example.com"]).single_replica().bind(public).await.unwrap();
    assert_ne!(serving.local_addr().port(), 0);
}
