//! What the story's client does with a server, step by step, and how it tells.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use switchboard_client::{
    CallToolResult, Client, ClientBuilder, ContentBlock, ElicitReply, Era, ResourceBody, Revision,
};

/// How long a server may be silent in any step.
const SILENCE: Duration = Duration::from_secs(20);

/// What stands in the way of a step.
type Trouble = Box<dyn std::error::Error>;

/// How one step went; a line of the client's output.
#[derive(Debug, Serialize)]
struct Told<'a> {
    step: &'a str,
    ok: bool,
    detail: String,
}

/// The steps after the connection; each plays against a server that is connected.
const STEPS: &[&str] = &["list", "call", "progress", "elicit", "fail", "read", "prompt"];

/// A client that can answer the one question of the story, and speaks `revision` alone, or any if it is `auto`.
///
/// # Errors
/// If that is the date of no revision.
pub fn client(revision: &str) -> Result<ClientBuilder, Trouble> {
    let era = match revision {
        "auto" => Era::Auto,
        date => Era::Pinned(
            Revision::from_date(date).ok_or_else(|| format!("{date} is the date of no revision"))?,
        ),
    };
    let builder = Client::builder().info("interop", env!("CARGO_PKG_VERSION")).timeout(SILENCE).era(era);
    Ok(builder.on_elicit(|_| async { ElicitReply::Accept(json!({"name": "Ada"})) }))
}

/// Plays the story to its end, leaving out the steps of `without`; `tell` gets a JSON object for each. `false` if one
/// failed, which is the last one then.
pub async fn play(
    connect: switchboard_client::Connect,
    without: &BTreeSet<&str>,
    tell: impl Fn(String),
) -> bool {
    let tell = |step: &str, outcome: &Result<String, Trouble>| {
        let (ok, detail) = match outcome {
            Ok(detail) => (true, detail.clone()),
            Err(error) => (false, error.to_string()),
        };
        tell(serde_json::to_string(&Told { step, ok, detail }).unwrap_or_default());
        ok
    };
    let client = match connect.await {
        Ok(client) => client,
        Err(error) => return tell("connect", &Err(error.into())),
    };
    tell("connect", &Ok(client.revision().to_string()));
    for step in STEPS.iter().filter(|step| !without.contains(*step)) {
        if !tell(step, &one(&client, step).await) {
            client.close().await;
            return false;
        }
    }
    client.close().await;
    tell("close", &Ok(String::new()))
}

async fn one(client: &Client, step: &str) -> Result<String, Trouble> {
    match step {
        "list" => list(client).await,
        "call" => said(&client.call("echo", &json!({"text": "hello"})).await?, "hello"),
        "progress" => progress(client).await,
        "elicit" => said(&client.call("greet", &json!({})).await?, "Hello, Ada!"),
        "fail" => fail(client).await,
        "read" => read(client).await,
        "prompt" => prompt(client).await,
        other => Err(format!("there is no step {other}").into()),
    }
}

async fn list(client: &Client) -> Result<String, Trouble> {
    let tools = client.tools().await?;
    let names: BTreeSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    match ["echo", "count", "fail"].iter().find(|name| !names.contains(*name)) {
        None => Ok(format!("{} tools", names.len())),
        Some(missing) => Err(format!("there is no {missing} among {names:?}").into()),
    }
}

async fn progress(client: &Client) -> Result<String, Trouble> {
    let seen = Arc::new(AtomicUsize::new(0));
    let heard = Arc::clone(&seen);
    let call = client.call("count", &json!({"to": 3})).on_progress(move |_| {
        heard.fetch_add(1, Ordering::SeqCst);
    });
    said(&call.await?, "counted to 3")?;
    match seen.load(Ordering::SeqCst) {
        few @ 0..=1 => Err(format!("{few} times progress").into()),
        times => Ok(format!("{times} times")),
    }
}

async fn fail(client: &Client) -> Result<String, Trouble> {
    let result = client.call("fail", &json!({})).await?;
    if result.is_error == Some(true) { Ok(words(&result)) } else { Err("fail did not fail".into()) }
}

async fn read(client: &Client) -> Result<String, Trouble> {
    let result = client.read("story://greeting").await?;
    match result.contents.first().map(|contents| &contents.body) {
        Some(ResourceBody::Text(text)) if text == "Hello from the story" => Ok(text.to_string()),
        other => Err(format!("the resource is {other:?}").into()),
    }
}

async fn prompt(client: &Client) -> Result<String, Trouble> {
    let result = client.prompt("summarise", &json!({"topic": "tea"})).await?;
    match result.messages.first().map(|message| &message.content) {
        Some(ContentBlock::Text(text)) if text.text == "Summarise tea" => Ok(text.text.to_string()),
        other => Err(format!("the prompt is {other:?}").into()),
    }
}

fn said(result: &CallToolResult, expected: &str) -> Result<String, Trouble> {
    let words = words(result);
    if words == expected { Ok(words) } else { Err(format!("it said {result:?}").into()) }
}

fn words(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(&*text.text),
        _ => None,
    });
    texts.collect()
}
