//! The chain: which link is taken and what it says about it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_llm::chain::{
    ChainRequest, Configured, Link, LocalKind, LocalServer, Probe, Resolution, key_for, key_variables,
    resolve,
};
use switchboard_llm::scripted::{Script, ScriptedModel};
use switchboard_llm::{KeyHeader, ModelConfig, ModelError, Provider, Secret};
use tokio::net::TcpListener;

use crate::support::nobody;

const WITHIN: Duration = Duration::from_secs(5);

async fn check(request: &ChainRequest, variables: &[(&str, &str)]) -> Result<Resolution, ModelError> {
    let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
    resolve(request, |name| variables.get(name).map(|value| (*value).to_owned())).await
}

fn flags(model: Option<&str>, base_url: Option<&str>) -> ChainRequest {
    ChainRequest {
        model: model.map(str::to_owned),
        base_url: base_url.map(str::to_owned),
        configured: Vec::new(),
        probe: Probe::Disabled,
    }
}

async fn answering(get: &[(&str, Value)]) -> ScriptedModel {
    let get = get.iter().map(|(path, value)| ((*path).to_owned(), value.clone())).collect();
    ScriptedModel::start(Script { get, ..Script::default() }).await.unwrap()
}

fn looking(places: &[(LocalKind, SocketAddr)], model: Option<&str>) -> ChainRequest {
    let places =
        places.iter().map(|(kind, address)| LocalServer { kind: *kind, address: *address }).collect();
    ChainRequest { probe: Probe::At { places, within: WITHIN }, ..flags(model, None) }
}

fn list(names: &[&str]) -> Value {
    let data: Vec<Value> = names.iter().map(|name| json!({ "id": name, "object": "model" })).collect();
    json!({ "object": "list", "data": data })
}

#[tokio::test]
async fn flags_come_before_the_environment_and_the_environment_has_an_order() {
    let environment = |variable| Link::Environment { variable };
    let openai = ("OPENAI_API_KEY", "k1");
    let router = ("OPENROUTER_API_KEY", "k2");
    let base = ("OPENAI_BASE_URL", "http://10.0.0.1/v1");
    let name = ("OPENAI_MODEL", "m2");
    for (request, variables, link, url, model, key) in [
        (flags(Some("m"), Some("http://h/v1")), vec![], Link::Flags, "http://h/v1", "m", None),
        (
            flags(Some("m"), Some("http://h/v1")),
            vec![openai, router, base],
            Link::Flags,
            "http://h/v1",
            "m",
            Some("k1"),
        ),
        (flags(None, Some("http://h/v1")), vec![name], Link::Flags, "http://h/v1", "m2", None),
        (
            flags(Some("m"), Some("https://openrouter.ai/api/v1")),
            vec![openai, router],
            Link::Flags,
            "https://openrouter.ai/api/v1",
            "m",
            Some("k2"),
        ),
        (
            flags(None, None),
            vec![openai, router],
            environment("OPENAI_API_KEY"),
            "https://api.openai.com/v1",
            "gpt-5-mini",
            Some("k1"),
        ),
        (
            flags(Some("m"), None),
            vec![openai, base, name],
            environment("OPENAI_API_KEY"),
            base.1,
            "m",
            Some("k1"),
        ),
        (
            flags(None, None),
            vec![openai, base, name],
            environment("OPENAI_API_KEY"),
            base.1,
            "m2",
            Some("k1"),
        ),
        (flags(None, None), vec![base, name, router], environment("OPENAI_BASE_URL"), base.1, "m2", None),
        (
            flags(None, None),
            vec![("OPENAI_API_KEY", " "), router],
            environment("OPENROUTER_API_KEY"),
            "https://openrouter.ai/api/v1",
            "openrouter/auto",
            Some("k2"),
        ),
    ] {
        let found = check(&request, &variables).await.unwrap();
        let config = found.model.unwrap();
        assert_eq!(found.link, link, "{}", found.reason);
        assert_eq!((config.base_url.as_str(), config.model.as_str()), (url, model), "{}", found.reason);
        assert_eq!(config.api_key, key.map(Secret::new), "{}", found.reason);
        assert!(found.reason.contains(model) && found.reason.contains(url), "{}", found.reason);
        assert!(!found.reason.contains("k1") && !found.reason.contains("k2"), "{}", found.reason);
    }
}

#[tokio::test]
async fn nothing_at_all_is_said_with_its_reason() {
    let found = check(&flags(None, Some("  ")), &[]).await.unwrap();
    assert_eq!(found.link, Link::None);
    assert!(found.model.is_none());
    assert!(
        found.reason.contains("OPENAI_API_KEY")
            && found.reason.contains("no server on this machine was looked for")
    );

    // The port is taken, so that none of the tests beside this one is given it.
    let bound = nobody();
    let silent = bound.local_addr().unwrap();
    let found = check(&looking(&[(LocalKind::Ollama, silent)], None), &[]).await.unwrap();
    assert_eq!(found.link, Link::None);
    assert!(found.reason.contains(&format!("Ollama at {silent}")), "{}", found.reason);
}

#[tokio::test]
async fn what_was_asked_for_is_never_replaced_silently() {
    let empty = answering(&[("/v1/models", json!({ "data": [] }))]).await;
    let absent = answering(&[]).await;
    for (request, contains) in [
        (flags(Some("m"), None), "no endpoint is known for the model m"),
        (flags(Some("m"), Some("not a url")), "is not a URL"),
        (flags(None, Some(&empty.base_url())), "its list is empty"),
        (flags(None, Some(&absent.base_url())), "it answers 404"),
    ] {
        let error = check(&request, &[]).await.unwrap_err();
        assert!(error.is_configuration() && error.to_string().contains(contains), "{error}");
        assert!(error.hint().is_some(), "{error}");
    }
}

#[tokio::test]
async fn an_endpoint_without_a_named_model_is_asked_for_its_list() {
    let server = answering(&[("/v1/models", list(&["text-embedding-1", "chatty"]))]).await;
    let found = check(&flags(None, Some(&server.base_url())), &[("OPENAI_API_KEY", "k")]).await.unwrap();
    assert_eq!(found.model.unwrap().model, "chatty");
    assert!(found.reason.contains("the first that it lists"), "{}", found.reason);
    assert_eq!(server.requests()[0].headers["authorization"], "Bearer k");
}

#[tokio::test]
async fn local_servers_are_recognised_by_the_shape_of_their_answers() {
    let tags =
        json!({ "models": [{ "name": "nomic-embed-text:latest" }, { "name": "qwen3:0.6b", "size": 1 }] });
    let props = json!({ "default_generation_settings": {}, "total_slots": 1 });
    for (kind, get, model) in [
        (LocalKind::Ollama, vec![("/api/tags", tags.clone())], Some("qwen3:0.6b")),
        (LocalKind::Ollama, vec![("/api/tags", json!({ "models": [] }))], None),
        (LocalKind::Ollama, vec![("/api/tags", json!(["x"]))], None),
        (LocalKind::LlamaServer, vec![("/props", props), ("/v1/models", list(&["a.gguf"]))], Some("a.gguf")),
        (LocalKind::LlamaServer, vec![("/v1/models", list(&["a.gguf"]))], None),
        (LocalKind::LlamaServer, vec![("/props", json!({})), ("/v1/models", list(&["a.gguf"]))], None),
        (LocalKind::LmStudio, vec![("/v1/models", list(&["b"]))], Some("b")),
        (LocalKind::Vllm, vec![("/v1/models", list(&["c"]))], Some("c")),
        (LocalKind::Vllm, vec![("/v1/models", json!({ "data": [{ "id": "c" }] }))], None),
        (LocalKind::Vllm, vec![("/v1/models", json!("<html>"))], None),
        (LocalKind::Vllm, vec![], None),
    ] {
        let server = answering(&get).await;
        let found = check(&looking(&[(kind, server.address())], None), &[]).await.unwrap();
        let Some(model) = model else {
            assert_eq!(found.link, Link::None, "{kind:?} {get:?}");
            continue;
        };
        assert_eq!(found.link, Link::Local { kind, address: server.address() });
        let config = found.model.unwrap();
        assert_eq!((config.model.as_str(), config.base_url.as_str()), (model, server.base_url().as_str()));
        assert!(config.api_key.is_none() && found.reason.contains(kind.name()), "{}", found.reason);
    }
}

#[tokio::test]
async fn the_order_of_the_places_decides_and_only_loopback_is_asked() {
    let first = answering(&[("/v1/models", list(&["one"]))]).await;
    let second = answering(&[("/v1/models", list(&["two"]))]).await;
    let elsewhere = SocketAddr::from(([192, 0, 2, 1], 8000));
    let places = [
        (LocalKind::Vllm, elsewhere),
        (LocalKind::LmStudio, first.address()),
        (LocalKind::Vllm, second.address()),
    ];
    let found = check(&looking(&places, None), &[]).await.unwrap();
    assert_eq!(found.model.unwrap().model, "one");
    let found = check(&looking(&places, Some("two")), &[]).await.unwrap();
    assert_eq!(found.link, Link::Local { kind: LocalKind::Vllm, address: second.address() });
    let error = check(&looking(&places, Some("three")), &[]).await.unwrap_err();
    assert!(error.to_string().contains("three"), "{error}");
}

#[tokio::test]
async fn a_port_that_accepts_and_says_nothing_does_not_hold_up_the_others() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = answering(&[("/v1/models", list(&["one"]))]).await;
    let places = [(LocalKind::Ollama, silent.local_addr().unwrap()), (LocalKind::Vllm, server.address())];
    let request = looking(&places, None);
    let over = async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        // What was answered first has been read, once the same is answered to somebody else.
        only(&server).await;
        tokio::time::pause();
        tokio::time::advance(WITHIN).await;
        tokio::time::resume();
    };
    let (found, ()) = tokio::join!(check(&request, &[]), over);
    assert_eq!(found.unwrap().model.unwrap().model, "one");
}

/// Asks a server without a look at the others.
async fn only(server: &ScriptedModel) {
    let found = check(&looking(&[(LocalKind::Vllm, server.address())], None), &[]).await.unwrap();
    assert!(found.model.is_some(), "{}", found.reason);
}

fn configured(name: &str, model: &str) -> Configured {
    Configured { name: name.to_owned(), config: ModelConfig::openai("http://10.0.0.9/v1", model).unwrap() }
}

#[tokio::test]
async fn configured_models_come_after_flags_and_before_keys() {
    let with = |model: Option<&str>, base_url: Option<&str>| ChainRequest {
        configured: vec![configured("fast", "tiny"), configured("best", "huge")],
        ..flags(model, base_url)
    };
    let named = |name: &str| Link::Configured { name: name.to_owned() };
    let keys = [("OPENAI_API_KEY", "k1"), ("ANTHROPIC_API_KEY", "k2")];
    for (request, link, model) in [
        (with(None, None), named("fast"), "tiny"),
        (with(Some("best"), None), named("best"), "huge"),
        (with(Some("huge"), None), named("best"), "huge"),
        (with(Some("best"), Some("http://h/v1")), Link::Flags, "best"),
        (with(Some("gpt-x"), None), Link::Environment { variable: "OPENAI_API_KEY" }, "gpt-x"),
        (with(Some("claude-x"), None), Link::Environment { variable: "ANTHROPIC_API_KEY" }, "claude-x"),
    ] {
        let found = check(&request, &keys).await.unwrap();
        assert_eq!((found.link, found.model.unwrap().model.as_str()), (link, model), "{}", found.reason);
    }
}

#[tokio::test]
async fn each_key_goes_to_its_own_endpoint_in_its_own_way() {
    // Behind it are those that belong nowhere.
    let known = key_variables().take_while(|variable| *variable != "AZURE_OPENAI_API_KEY");
    let all: Vec<(&str, &str)> = known.map(|variable| (variable, "k")).collect();
    assert!(all.len() > 8);
    for (variable, value) in &all {
        let found = check(&flags(None, None), &[(*variable, *value)]).await.unwrap();
        let config = found.model.unwrap();
        assert_eq!(found.link, Link::Environment { variable });
        assert!(config.base_url.scheme() == "https" && !config.model.is_empty());
        assert_eq!(config.provider == Provider::Anthropic, variable.starts_with("ANTHROPIC"), "{variable}");
        assert_eq!(config.key_header == KeyHeader::XApiKey, *variable == "ANTHROPIC_API_KEY");
        let own = key_for(&config.base_url, |name| (name == *variable).then(|| "k".to_owned()));
        assert_eq!(own, Some(Secret::new("k")), "{variable}");
    }
    let elsewhere = "http://127.0.0.1:1/v1".parse().unwrap();
    assert_eq!(key_for(&elsewhere, |_| Some("k".to_owned())), None, "nobody else gets a key");
}

#[tokio::test]
async fn a_model_is_asked_for_where_it_is() {
    let all: Vec<(&str, &str)> = key_variables().map(|variable| (variable, "k")).collect();
    for (model, variable) in [
        ("gpt-5", "OPENAI_API_KEY"),
        ("something-new", "OPENAI_API_KEY"),
        ("claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("anthropic/claude-sonnet-4.5", "OPENROUTER_API_KEY"),
        ("gemini-2.5-pro", "GEMINI_API_KEY"),
        ("mistral-small", "MISTRAL_API_KEY"),
        ("deepseek-chat", "DEEPSEEK_API_KEY"),
        ("grok-4", "XAI_API_KEY"),
    ] {
        let found = check(&flags(Some(model), None), &all).await.unwrap();
        assert_eq!(found.link, Link::Environment { variable }, "{model}");
    }
    // Another endpoint for the key may have any model.
    let variables = [("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "http://10.0.0.1/v1")];
    let found = check(&flags(Some("claude-x"), None), &variables).await.unwrap();
    assert_eq!(found.link, Link::Environment { variable: "OPENAI_API_KEY" });
    let error = check(&flags(Some("claude-x"), None), &[("OPENAI_API_KEY", "k")]).await.unwrap_err();
    assert!(error.is_configuration() && error.to_string().contains("claude-x"), "{error}");
}

#[tokio::test]
async fn a_base_url_says_which_wire_it_speaks() {
    for (url, key, provider) in [
        ("https://api.anthropic.com", Some("ANTHROPIC_API_KEY"), Provider::Anthropic),
        ("https://api.example.com/anthropic", Some("OPENAI_API_KEY"), Provider::Anthropic),
        ("http://h/v1/messages", None, Provider::Anthropic),
        ("https://api.example.com/v1", Some("OPENAI_API_KEY"), Provider::OpenAi),
    ] {
        let variables: Vec<(&str, &str)> = key.into_iter().map(|name| (name, "k")).collect();
        let config = check(&flags(Some("m"), Some(url)), &variables).await.unwrap().model.unwrap();
        assert_eq!((config.provider, config.api_key.is_some()), (provider, key.is_some()), "{url}");
    }
    let server =
        answering(&[("/v1/models", json!({ "data": [{ "id": "claude-a", "type": "model" }] }))]).await;
    let base = format!("http://{}", server.address());
    let variables = [("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", base.as_str())];
    let found = check(&flags(None, None), &variables).await.unwrap();
    assert_eq!(found.model.unwrap().model, "claude-a", "{}", found.reason);
    assert_eq!(server.requests()[0].headers["x-api-key"], "k");
}
