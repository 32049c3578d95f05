//! What `build()` refuses, all of it at once; and middleware.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use switchboard_server::{
    Args, Cache, Call, CallService, Completing, Elicited, Need, Principal, Prompt, Question, Reply, Resource,
    Server, Tool, ToolError, Vars,
};
use tower_layer::Layer;
use tower_service::Service;

use crate::calls::{call, error, reply, text};

#[derive(Deserialize, JsonSchema)]
struct Empty {}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Number {
    number: u8,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Nested {
    inner: HashMap<String, u8>,
}

impl<S: Sync> Question<S> for Nested {
    async fn need(_call: &Call, _state: &S) -> Result<Need<Self>, ToolError> {
        Ok(Need::Ask(String::new()))
    }
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Routed {
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
    /// How many
    count: f64,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Topic {
    topic: String,
}

#[derive(Clone)]
struct User;

fn ok(name: &str) -> Tool {
    Tool::new(name, async || "ok")
}

fn check(server: switchboard_server::Builder<()>, expected: &[&str]) {
    let problems = match server.build(()) {
        Ok(_) => Vec::new(),
        Err(error) => error.problems().to_vec(),
    };
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.contains(expected), "{problem:?} lacks {expected:?}");
    }
}

#[test]
fn names_are_checked() {
    let builder = || Server::builder("b", "1");
    check(builder().tool(ok("a")).tool(ok("A-Z_a.z.0")).tool(ok(&"x".repeat(128))), &[]);
    check(builder().tool(ok("")).tool(ok("a b")).tool(ok("é")).tool(ok(&"x".repeat(129))), &["1 to 128"; 4]);
    check(builder().tool(ok("a")).tool(ok("a")), &["two of this name"]);
    check(builder().prompt(Prompt::new("", async || "x")), &["needs a name"]);
    check(builder().resource(Resource::new("no uri", async || "x")), &["absolute URI"]);
    check(Server::builder("", ""), &["needs a name", "needs a version"]);
}

#[test]
fn schemas_are_checked() {
    let builder = || Server::builder("b", "1");
    check(builder().tool(Tool::new("t", async |Args(_): Args<Vec<u8>>| "")), &["take a struct"]);
    check(builder().tool(Tool::new("t", async |_: Args<Empty>, _: Args<Empty>| "")), &["arguments twice"]);
    check(builder().tool(ok("t").input_schema(json!({ "type": "string" }))), &["the type \"object\""]);
    check(builder().tool(ok("t").input_schema(json!([]))), &["must be an object"]);
    check(
        builder().tool(ok("t").input_schema(json!({ "type": "object", "$schema": "https://x.example/own" }))),
        &["dialect"],
    );
    check(
        builder().tool(ok("t").input_schema(json!({ "type": "object", "$ref": "https://x.example/own" }))),
        &["nothing is fetched"],
    );
    check(builder().prompt(Prompt::new("p", async |Args(_): Args<Number>| "")), &["is no text"]);
    check(builder().tool(Tool::new("t", async |_: Elicited<Nested>| "")), &["is no form"]);
}

#[test]
fn header_annotations_are_checked() {
    let builder = || Server::builder("b", "1");
    let routed = || Tool::new("t", async |Args(_): Args<Routed>| "");
    check(builder().tool(routed()), &[]);
    check(builder().tool(routed().param_header("count", "Count")), &["count"]);
    check(builder().tool(routed().param_header("missing", "Count")), &["not in its schema"]);
}

#[test]
fn extractors_are_held_against_what_there_is() {
    let builder = || Server::builder("b", "1");
    let principal = || Tool::new("t", async |_: Principal<User>| "");
    check(builder().tool(principal()), &["no authenticator"]);
    check(builder().tool(principal()).authenticated::<User>(), &[]);
    check(builder().tool(Tool::new("t", async |_: Vars<Empty>| "")), &["for resource templates"]);
    check(builder().resource(Resource::new("a:b", async |_: Vars<Empty>| "")), &["is no template"]);
    check(builder().resource(Resource::new("a:b", async |_: Args<Empty>| "")), &["no arguments"]);
    let public = Resource::new("a:b", async |_: Principal<User>| "").cache(Cache::Public(Duration::ZERO));
    check(builder().resource(public).authenticated::<User>(), &["cached publicly"]);
    let completes = Resource::template("a:{b}", async || "").complete("c", async || vec![""]);
    check(builder().resource(completes), &["does not have"]);
}

#[test]
fn all_problems_are_told_at_once() {
    let error = Server::builder("b", "1")
        .tool(ok(""))
        .tool(ok("a"))
        .tool(ok("a"))
        .resource(Resource::new("x", async || ""))
        .build(())
        .unwrap_err();
    assert_eq!(error.problems().len(), 3);
    assert!(error.to_string().starts_with("the server cannot be built, 3 problems:\n- tool \"\""), "{error}");
}

/// Counts calls, and refuses one tool.
#[derive(Clone)]
struct Counting<S> {
    inner: S,
    seen: Arc<AtomicUsize>,
}

struct Count(Arc<AtomicUsize>);

impl<S> Layer<S> for Count {
    type Service = Counting<S>;

    fn layer(&self, inner: S) -> Counting<S> {
        Counting { inner, seen: Arc::clone(&self.0) }
    }
}

type Answer = Pin<Box<dyn Future<Output = Result<Reply, Infallible>> + Send>>;

impl<S: Service<Call, Response = Reply, Error = Infallible>> Service<Call> for Counting<S>
where
    S::Future: Send + 'static,
{
    type Response = Reply;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Answer {
        self.seen.fetch_add(1, Ordering::SeqCst);
        if call.name() == "refused" {
            return Box::pin(std::future::ready(Ok(Reply::tool_error("not allowed"))));
        }
        Box::pin(self.inner.call(call))
    }
}

#[tokio::test]
async fn layers_see_every_call_and_may_answer_it() {
    let (all, one) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let server = Server::builder("b", "1")
        .tool(ok("plain"))
        .tool(ok("refused"))
        .tool(ok("counted").layer(Count(Arc::clone(&one))))
        .layer(Count(Arc::clone(&all)))
        .build(())
        .unwrap();
    assert_eq!(text(&call(&server, "plain", json!({})).await), "ok");
    assert_eq!(text(&call(&server, "counted", json!({})).await), "ok");
    assert_eq!(text(&call(&server, "refused", json!({})).await), "failed: not allowed");
    assert_eq!(error(&call(&server, "missing", json!({})).await).0, -32_602);
    let listed = reply(&server, "tools/list", json!({})).await;
    assert_eq!(listed["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "b");
    assert_eq!((all.load(Ordering::SeqCst), one.load(Ordering::SeqCst)), (5, 1));
}

#[tokio::test(start_paused = true)]
async fn a_completion_has_the_time_of_its_prompt_with_and_without_layers() {
    async fn never(_: Completing) -> Vec<String> {
        std::future::pending().await
    }
    for layer in [None, Some(Count(Arc::default()))] {
        let prompt = Prompt::new("slow", async |_: Args<Topic>| "").complete("topic", never);
        let builder = Server::builder("b", "1").prompt(prompt.timeout(Duration::from_millis(1_500)));
        let server = match layer {
            None => builder,
            Some(layer) => builder.layer(layer),
        };
        let params = json!({
            "ref": { "type": "ref/prompt", "name": "slow" },
            "argument": { "name": "topic", "value": "" },
        });
        let reply = reply(&server.build(()).unwrap(), "completion/complete", params).await;
        assert_eq!(error(&reply), (-32_603, "timed out after 1.5 s".into()));
    }
}

#[test]
fn a_call_service_is_a_tower_service() {
    fn is_service<S: Service<Call, Response = Reply, Error = Infallible> + Clone + Send + Sync>() {}
    is_service::<CallService>();
}
