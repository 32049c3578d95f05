//! Who is let in, and what a page of ours may do.

use std::sync::Arc;

use reqwest::StatusCode;
use serde_json::{Value, json};
use switchboard_agent::Host;
use switchboard_agent::Router;
use switchboard_agent::host::{ModelChoice, OneModel};
use switchboard_agent::policy::Mode;
use switchboard_agent::store::{MemoryStore, Store};
use switchboard_agent::supervisor::{Supervisor, SupervisorOptions};
use switchboard_app::{ListenOptions, bind};
use switchboard_store::SqliteStore;
use tokio::io::AsyncWriteExt as _;

use crate::support::{Events, Listening, TOKEN, client, json_of};

async fn check(listening: &Listening, headers: &[(&str, &str)], status: u16, code: Option<&str>) {
    let request = headers
        .iter()
        .fold(listening.bare("GET", "/sessions"), |request, (name, value)| request.header(*name, *value));
    let got = json_of(request.send().await.unwrap(), status).await;
    assert_eq!(got["error"]["code"].as_str(), code, "{headers:?}");
}

#[tokio::test]
async fn only_who_has_the_token_is_let_in() {
    let listening = Listening::asking([]).await;
    let login = listening.bare("POST", "/login").json(&json!({ "token": TOKEN })).send().await.unwrap();
    assert_eq!(login.status(), StatusCode::NO_CONTENT);
    let cookie = login.headers()["set-cookie"].to_str().unwrap().to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains(TOKEN));
    let again = listening.bare("POST", "/login").json(&json!({ "token": TOKEN })).send().await.unwrap();
    assert_ne!(again.headers()["set-cookie"].to_str().unwrap(), cookie, "what a page holds is its own");
    let cookie = cookie.split(';').next().unwrap();
    let bearer = format!("Bearer {TOKEN}");
    let foreign = cookie.replace(listening.authority().rsplit(':').next().unwrap(), "1");
    let refused = Some("login_needed");
    check(&listening, &[], 401, refused).await;
    check(&listening, &[("authorization", "Bearer another")], 401, refused).await;
    check(&listening, &[("authorization", &format!("Basic {TOKEN}"))], 401, refused).await;
    check(&listening, &[("authorization", &bearer)], 200, None).await;
    check(&listening, &[("cookie", cookie)], 200, None).await;
    check(&listening, &[("cookie", &format!("other=1; {cookie}"))], 200, None).await;
    check(&listening, &[("cookie", &format!("{cookie}x"))], 401, refused).await;
    check(&listening, &[("cookie", &foreign)], 401, refused).await;
    // Who names a wrong token is not let in by a cookie.
    check(&listening, &[("cookie", cookie), ("authorization", "Bearer another")], 401, refused).await;
    let login = listening.bare("POST", "/login").json(&json!({ "token": "another" }));
    json_of(login.send().await.unwrap(), 401).await;
    let long = "x".repeat(10_000);
    json_of(listening.bare("POST", "/login").json(&json!({ "token": long })).send().await.unwrap(), 413)
        .await;
}

/// Two hosts on one port number would log each other out, so this asks about the value alone.
async fn lets_in(listening: &Listening, cookie: &str) -> bool {
    let value = cookie.split(';').next().unwrap().split_once('=').unwrap().1;
    let port = listening.authority().rsplit(':').next().unwrap();
    let request = listening.bare("GET", "/models").header("cookie", format!("switchboard-{port}={value}"));
    request.send().await.unwrap().status() == StatusCode::OK
}

#[tokio::test]
async fn a_page_stays_logged_in_as_long_as_what_the_host_keeps() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let first = Listening::start([], Mode::Yes, Arc::clone(&store)).await;
    let login = first.bare("POST", "/login").json(&json!({ "token": TOKEN })).send().await.unwrap();
    let cookie = login.headers()["set-cookie"].to_str().unwrap().to_owned();
    let restarted = Listening::start([], Mode::Yes, store).await;
    assert!(lets_in(&restarted, &cookie).await, "the host was started again");
    let other = Listening::allowing([]).await;
    assert!(!lets_in(&other, &cookie).await, "another host with the same token");
}

#[tokio::test]
async fn who_logs_out_is_out_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::open(&folder.path().join("sessions.db")).unwrap();
    for store in [Arc::new(MemoryStore::default()) as Arc<dyn Store>, Arc::new(sqlite)] {
        let first = Listening::start([], Mode::Yes, Arc::clone(&store)).await;
        let mut cookies = Vec::new();
        for _ in 0..2 {
            let login = first.bare("POST", "/login").json(&json!({ "token": TOKEN })).send().await.unwrap();
            let cookie = login.headers()["set-cookie"].to_str().unwrap();
            cookies.push(cookie.split(';').next().unwrap().to_owned());
        }
        let logout = first.bare("POST", "/logout").header("cookie", &cookies[0]).send().await.unwrap();
        assert_eq!(logout.status(), StatusCode::NO_CONTENT);
        assert!(logout.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
        let restarted = Listening::start([], Mode::Yes, store).await;
        for listening in [&first, &restarted] {
            assert!(!lets_in(listening, &cookies[0]).await, "the one that logged out");
            assert!(lets_in(listening, &cookies[1]).await, "another page");
        }
    }
}

#[tokio::test]
async fn a_stream_ends_with_the_login_that_it_was_opened_with() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.db");
    let store = || Arc::new(SqliteStore::open(&file).unwrap()) as Arc<dyn Store>;
    let listening = Listening::start([], Mode::Yes, store()).await;
    let elsewhere = Listening::start([], Mode::Yes, store()).await;
    let mut cookies = Vec::new();
    for _ in 0..2 {
        let login = listening.bare("POST", "/login").json(&json!({ "token": TOKEN })).send().await.unwrap();
        let cookie = login.headers()["set-cookie"].to_str().unwrap();
        cookies.push(cookie.split(';').next().unwrap().to_owned());
    }
    let open = async |name: &str, value: &str| {
        Events::of(listening.bare("GET", "/events").header(name, value).send().await.unwrap())
    };
    let mut ends = open("cookie", &cookies[0]).await;
    let again = listening.bare("POST", "/login").header("cookie", &cookies[0]);
    let again = again.json(&json!({ "token": TOKEN })).send().await.unwrap();
    let kept = again.headers()["set-cookie"].to_str().unwrap();
    assert!(kept.starts_with(&cookies[0]), "a browser has one cookie for all its pages");
    let mut stays =
        [open("cookie", &cookies[1]).await, open("authorization", &format!("Bearer {TOKEN}")).await];
    assert!(lets_in(&elsewhere, &cookies[0]).await);
    listening.bare("POST", "/logout").header("cookie", &cookies[0]).send().await.unwrap();
    while ends.next().await.is_some() {}
    assert!(!lets_in(&elsewhere, &cookies[0]).await, "another process with the same store");
    let run = listening.run("Hi", 200).await;
    for events in &mut stays {
        events.until(|event| event.kind == "sessions" && event.data[0]["id"] == run["session"]).await;
    }
}

#[tokio::test]
async fn pages_of_other_sites_are_kept_out() {
    let listening = Listening::asking([]).await;
    let bearer = format!("Bearer {TOKEN}");
    let own = format!("http://{}", listening.authority());
    let port = listening.authority().rsplit(':').next().unwrap().to_owned();
    let (localhost, other_port) =
        (format!("localhost:{port}"), format!("127.0.0.1:{}", port.parse::<u32>().unwrap() ^ 1));
    for (header, value, status) in [
        ("host", "evil.example", 421),
        ("host", other_port.as_str(), 421),
        ("host", localhost.as_str(), 200),
        ("origin", own.as_str(), 200),
        ("origin", "http://evil.example", 403),
        ("origin", "null", 403),
        ("sec-fetch-site", "same-origin", 200),
        ("sec-fetch-site", "none", 200),
        ("sec-fetch-site", "same-site", 403),
        ("sec-fetch-site", "cross-site", 403),
    ] {
        let code = match status {
            421 => Some("wrong_host"),
            403 => Some("foreign_origin"),
            _ => None,
        };
        check(&listening, &[("authorization", &bearer), (header, value)], status, code).await;
    }
    // A link elsewhere may lead to the page, and to nothing else.
    for (path, status) in [("/", 200), ("/sessions", 403), ("/login", 403)] {
        let request = listening.bare("GET", path).header("sec-fetch-site", "cross-site");
        let response = request.header("sec-fetch-mode", "navigate").send().await.unwrap();
        assert_eq!(response.status(), status, "{path}");
    }
}

#[tokio::test]
async fn the_page_may_load_nothing_from_elsewhere() {
    let listening = Listening::asking([]).await;
    let page = listening.bare("GET", "/").send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    for part in ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.headers()["x-content-type-options"], "nosniff");
    assert_eq!(page.headers()["referrer-policy"], "no-referrer");
    let script = listening.bare("GET", "/assets/main.js").send().await.unwrap();
    let tag = script.headers()["etag"].clone();
    let again = listening.bare("GET", "/assets/main.js").header("if-none-match", tag).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    for (path, status) in [("/assets/none.js", 404), ("/assets/..%2fCargo.toml", 404), ("/nothing", 404)] {
        json_of(listening.request("GET", path).send().await.unwrap(), status).await;
    }
    let wrong = listening.request("PUT", "/sessions").send().await.unwrap();
    assert!(wrong.headers().contains_key("allow"));
    assert_eq!(json_of(wrong, 405).await["error"]["code"], "method_not_allowed");
}

#[tokio::test]
async fn an_address_that_others_reach_needs_a_token_that_was_chosen() {
    let host = || Host::builder(OneModel(ModelChoice::other(Router::new()))).build();
    let supervisor = || Supervisor::new(SupervisorOptions::default());
    let options = |address: &str, token: &str, chosen_token| ListenOptions {
        address: address.parse().unwrap(),
        token: token.to_owned(),
        chosen_token,
        public_urls: Vec::new(),
    };
    for (address, token, chosen, refused) in [
        ("0.0.0.0:0", TOKEN, false, Some("no token was chosen")),
        ("[::]:0", TOKEN, false, Some("no token was chosen")),
        ("127.0.0.1:0", "short", true, Some("shorter")),
        ("127.0.0.1:0", TOKEN, false, None),
    ] {
        let bound = bind(host(), supervisor(), options(address, token, chosen)).await;
        match refused {
            Some(why) => assert!(bound.unwrap_err().to_string().contains(why), "{address}"),
            None => drop(bound.unwrap()),
        }
    }
    let public = ListenOptions {
        public_urls: vec!["ftp://chat.example".to_owned()],
        ..options("127.0.0.1:0", TOKEN, true)
    };
    assert!(bind(host(), supervisor(), public).await.is_err());
}

#[tokio::test]
async fn a_public_address_is_one_of_ours() {
    let host = Host::builder(OneModel(ModelChoice::other(Router::new()))).build();
    let options = ListenOptions {
        address: ([127, 0, 0, 1], 0).into(),
        token: TOKEN.to_owned(),
        chosen_token: true,
        public_urls: vec!["https://chat.example".to_owned()],
    };
    let bound = bind(host, Supervisor::new(SupervisorOptions::default()), options).await.unwrap();
    let url = format!("http://{}/login", bound.address());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let served = tokio::spawn(bound.serve(async {
        let _ = stopped.await;
    }));
    let login = client().post(url).header("host", "chat.example").header("origin", "https://chat.example");
    let response = login.json(&json!({ "token": TOKEN })).send().await.unwrap();
    let cookie = response.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    assert_eq!(json_of(response, 204).await, Value::Null);
    stop.send(()).unwrap();
    served.await.unwrap();
}

#[tokio::test]
async fn whoever_sends_half_of_something_keeps_nothing_open() {
    for half in
        ["GET / HTTP/1.1\r\nhost: ", "POST /login HTTP/1.1\r\nhost: HOST\r\ncontent-length: 9\r\n\r\n{"]
    {
        let host = Host::builder(OneModel(ModelChoice::other(Router::new()))).build();
        let options = ListenOptions {
            address: ([127, 0, 0, 1], 0).into(),
            token: TOKEN.to_owned(),
            chosen_token: false,
            public_urls: Vec::new(),
        };
        let bound = bind(host, Supervisor::new(SupervisorOptions::default()), options).await.unwrap();
        let address = bound.address();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let served = tokio::spawn(bound.serve(async {
            let _ = stopped.await;
        }));
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.write_all(half.replace("HOST", &address.to_string()).as_bytes()).await.unwrap();
        // Connections are taken in the order in which they come: once this one is answered, the first has been taken.
        let page = client().get(format!("http://{address}/")).send().await.unwrap();
        assert_eq!(page.status(), StatusCode::OK);
        // The paused clock jumps where only time is waited for.
        tokio::time::pause();
        stop.send(()).unwrap();
        served.await.unwrap();
        tokio::time::resume();
    }
}
