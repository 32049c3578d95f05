//! The story, step by step. Each gives back what the client sees, and depends on nothing but the server.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_client::{CallToolResult, Change, Changes, CompletionReference, Error, SubscriptionFilter};
use tokio::sync::Notify;

use super::stage::Stage;

/// Two resources that can be watched.
const WATCHED: &str = "story://watched";
const OTHER: &str = "story://other";

type Seen<'a> = Pin<Box<dyn Future<Output = Value> + Send + 'a>>;
type Step = for<'a> fn(&'a Stage) -> Seen<'a>;

pub(super) const STEPS: &[(&str, Step)] = &[
    ("discover", |stage| Box::pin(discover(stage))),
    ("tools", |stage| Box::pin(tools(stage))),
    ("resources", |stage| Box::pin(resources(stage))),
    ("prompts", |stage| Box::pin(prompts(stage))),
    ("read", |stage| Box::pin(read(stage))),
    ("complete", |stage| Box::pin(complete(stage))),
    ("structured content", |stage| Box::pin(called(stage, "repeat", json!({"text": "ha", "times": 3})))),
    ("every kind of content", |stage| Box::pin(called(stage, "content", json!({})))),
    ("progress", |stage| Box::pin(progress(stage))),
    ("log", |stage| Box::pin(log(stage))),
    ("two rounds of input", |stage| Box::pin(interview(stage))),
    ("an address to visit", |stage| Box::pin(visit(stage))),
    ("a model and roots", |stage| Box::pin(advise(stage))),
    ("cancel", |stage| Box::pin(cancel(stage))),
    ("a changed list", |stage| Box::pin(changed_list(stage))),
    ("an updated resource", |stage| Box::pin(updated_resource(stage))),
    ("error: unknown tool", |stage| Box::pin(called(stage, "nothing", json!({})))),
    ("error: bad arguments", |stage| Box::pin(called(stage, "repeat", json!({"text": 7, "times": 1})))),
    ("error: the tool fails", |stage| Box::pin(called(stage, "fail", json!({})))),
    ("error: missing resource", |stage| Box::pin(missing_resource(stage))),
    ("error: missing capability", |stage| Box::pin(missing_capability(stage))),
    ("error: unknown method", |stage| Box::pin(raw(stage, "story/unknown"))),
    ("ping", |stage| Box::pin(raw(stage, "ping"))),
    ("shutdown", |stage| Box::pin(shutdown(stage))),
];

async fn discover(stage: &Stage) -> Value {
    json!({
        "server": stage.client.server_info(),
        "capabilities": stage.client.capabilities(),
        "instructions": stage.client.instructions(),
    })
}

async fn tools(stage: &Stage) -> Value {
    let before = requests(stage, "tools/list");
    let tools = result(stage.client.tools().await.map(|tools| json!(&*tools)));
    json!({"pages": requests(stage, "tools/list") - before, "tools": tools})
}

fn requests(stage: &Stage, method: &str) -> usize {
    stage.wire.count(|message| !message.is_answer() && message.method == method)
}

async fn resources(stage: &Stage) -> Value {
    json!({
        "resources": result(stage.client.resources().await.map(|resources| json!(&*resources))),
        "templates": result(stage.client.resource_templates().await.map(|templates| json!(&*templates))),
    })
}

async fn prompts(stage: &Stage) -> Value {
    let got = stage.client.prompt("greeting", &json!({"name": "Ada"})).await;
    json!({
        "prompts": result(stage.client.prompts().await.map(|prompts| json!(&*prompts))),
        "greeting": result(got.map(|got| json!({"description": got.description, "messages": got.messages}))),
    })
}

async fn read(stage: &Stage) -> Value {
    let mut seen = Vec::new();
    for uri in ["story://page", "story://other", "story://chapter/two"] {
        seen.push(result(stage.client.read(uri).await.map(|read| json!(read.contents))));
    }
    Value::Array(seen)
}

async fn complete(stage: &Stage) -> Value {
    let prompt = CompletionReference::Prompt { name: "greeting".into(), title: None };
    let template = CompletionReference::Resource { uri: "story://chapter/{number}".into() };
    let mut seen = Vec::new();
    for (of, name, typed) in [(&prompt, "name", "Ad"), (&template, "number", "t")] {
        let completed = stage.client.complete(of, name, typed, None).await;
        seen.push(result(completed.map(|completed| json!(completed.completion))));
    }
    Value::Array(seen)
}

async fn called(stage: &Stage, tool: &str, arguments: Value) -> Value {
    result(stage.client.call(tool, &arguments).await.map(|result| outcome(&result)))
}

/// Without what says which server it was: that is seen when it is discovered.
fn outcome(result: &CallToolResult) -> Value {
    json!({
        "content": result.content,
        "structured": result.structured_content,
        "failed": result.is_error(),
    })
}

async fn progress(stage: &Stage) -> Value {
    let steps = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&steps);
    let call = stage.client.call("count", &json!({})).on_progress(move |step| {
        heard.lock().unwrap().push(json!([step.progress, step.total, step.message]));
    });
    let result = result(call.await.map(|result| outcome(&result)));
    json!({"steps": *steps.lock().unwrap(), "result": result})
}

async fn log(stage: &Stage) -> Value {
    let result = called(stage, "speak", json!({})).await;
    json!({"result": result, "logged": stage.ears.take("log", 2).await})
}

async fn interview(stage: &Stage) -> Value {
    let result = called(stage, "interview", json!({"topic": "engines"})).await;
    json!({"result": result, "asked": stage.ears.take("form", 0).await})
}

async fn visit(stage: &Stage) -> Value {
    let result = called(stage, "visit", json!({})).await;
    json!({"result": result, "asked": stage.ears.take("address", 0).await})
}

async fn advise(stage: &Stage) -> Value {
    let result = called(stage, "advise", json!({})).await;
    let (model, roots) = (stage.ears.take("model", 0).await, stage.ears.take("roots", 0).await);
    json!({"result": result, "model": model, "roots": roots.len()})
}

/// The server says how many calls were cancelled, once one was.
async fn cancel(stage: &Stage) -> Value {
    let begun = Arc::new(Notify::new());
    let heard = Arc::clone(&begun);
    let call = stage.client.call("wait", &json!({})).on_progress(move |_| heard.notify_one());
    tokio::select! {
        ended = call.into_future() => return result(ended.map(|result| outcome(&result))),
        () = begun.notified() => {}
    }
    called(stage, "cancellations", json!({})).await
}

async fn changed_list(stage: &Stage) -> Value {
    let mut changes = match stage.client.listen(SubscriptionFilter::new().tools()).await {
        Ok(changes) => changes,
        Err(error) => return fault(&error),
    };
    let mut seen = Vec::new();
    for _ in 0..2 {
        let called = called(stage, "change", json!({})).await;
        let heard = change(&mut changes).await;
        let listed =
            stage.client.tools().await.map(|tools| json!(tools.iter().any(|tool| tool.name == "sequel")));
        seen.push(json!({"called": called, "heard": heard, "listed": result(listed)}));
    }
    Value::Array(seen)
}

/// Two are watched, until one is not any more.
async fn updated_resource(stage: &Stage) -> Value {
    let listen = |uri: &'static str| stage.client.listen(SubscriptionFilter::new().resource(uri));
    let (mut first, mut second) = match (listen(WATCHED).await, listen(OTHER).await) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(error), _) | (_, Err(error)) => return fault(&error),
    };
    let mut seen = vec![called(stage, "touch", json!({"uri": WATCHED})).await, change(&mut first).await];
    drop(first);
    unsubscribed(stage).await;
    called(stage, "touch", json!({"uri": WATCHED})).await;
    called(stage, "touch", json!({"uri": OTHER})).await;
    seen.push(change(&mut second).await);
    json!(seen)
}

/// In a session the server has to be told; elsewhere the stream is the subscription.
async fn unsubscribed(stage: &Stage) {
    #[cfg(feature = "legacy")]
    if stage.client.revision().era() == switchboard_protocol::era::Era::Legacy {
        stage.wire.answered("resources/unsubscribe").await;
    }
    let _ = stage;
}

async fn change(changes: &mut Changes) -> Value {
    match changes.next().await {
        Some(Change::Tools) => json!("tools"),
        Some(Change::Updated(uri)) => json!(uri),
        other => json!(format!("{other:?}")),
    }
}

async fn missing_resource(stage: &Stage) -> Value {
    result(stage.client.read("story://nowhere").await.map(|read| json!(read.contents)))
}

async fn missing_capability(stage: &Stage) -> Value {
    result(stage.mute.call("advise", &json!({})).await.map(|result| outcome(&result)))
}

async fn raw(stage: &Stage, method: &str) -> Value {
    result(stage.client.request_raw(method, None).await.map(|result| json!(result)))
}

/// By now everything that was announced has come.
async fn shutdown(stage: &Stage) -> Value {
    let updates = stage.wire.count(|message| {
        !message.is_answer() && message.json.get("id").is_none() && message.json["params"]["uri"] == WATCHED
    });
    stage.mute.close().await;
    stage.client.close().await;
    let later = stage.client.call("repeat", &json!({})).await;
    json!({"updates of the first": updates, "later": result(later.map(|result| outcome(&result)))})
}

fn result(result: Result<Value, Error>) -> Value {
    result.unwrap_or_else(|error| fault(&error))
}

fn fault(error: &Error) -> Value {
    json!({
        "error": error.cause(),
        "code": error.code().map(|code| code.0),
        "delivery": format!("{:?}", error.delivery()),
        "requires": error.required_capabilities(),
    })
}
