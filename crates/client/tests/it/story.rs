//! One story with the server library, in memory and over HTTP: what a user of both would write.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use switchboard_client::{
    CallError, Change, Client, ClientBuilder, CompletionReference, ElicitReply, LoggingLevel,
    SubscriptionFilter,
};
use switchboard_server::{
    Args, Ctx, Elicitation, Json, MultiRoundTrip, Outcome, Prompt, Resource, Server, Tool, ToolError, Vars,
};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Transfer {
    to: String,
    cents: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Receipt {
    id: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Confirm {
    ok: bool,
}

#[derive(Serialize, Deserialize)]
struct Quoted {
    rate: i64,
}

#[derive(Deserialize)]
struct Month {
    month: String,
}

async fn transfer(
    Args(asked): Args<Transfer>,
    ctx: Ctx,
    round: MultiRoundTrip<Quoted>,
) -> Result<Outcome<Quoted, Json<Receipt>>, ToolError> {
    let Some(quoted) = &round.state else {
        let question = Elicitation::form::<Confirm>(format!("Send {} cents?", asked.cents));
        return Ok(Outcome::InputRequired(Quoted { rate: 3 }, question));
    };
    if !round.answer::<Confirm>()?.is_some_and(|confirm| confirm.ok) {
        return Err(ToolError::say("the user declined"));
    }
    ctx.progress(1.0, 2.0).await;
    ctx.log(LoggingLevel::Info, json!({"to": asked.to})).await;
    Ok(Outcome::Complete(Json(Receipt { id: format!("{}-{}", asked.to, quoted.rate) })))
}

async fn statement(Vars(Month { month }): Vars<Month>) -> String {
    format!("# {month}")
}

async fn slow(ctx: Ctx) -> String {
    ctx.cancelled().await;
    String::new()
}

fn bank() -> Server {
    Server::builder("bank", "1.0.0")
        .tool(Tool::new("transfer", transfer).describe("Send money").param_header("to", "Payee"))
        .tool(Tool::new("slow", slow))
        .resource(Resource::template("bank://{month}", statement).complete("month", async || vec!["2026-07"]))
        .prompt(Prompt::new("remind", async || "Write a reminder."))
        .build(())
        .unwrap()
}

async fn play(server: Server, client: Client, heard: Arc<Mutex<Vec<String>>>) {
    pay(&client, &heard).await;
    fail(&client).await;
    read(&client).await;
    listen(&server, &client).await;
    client.close().await;
    assert!(client.tools().fresh().await.unwrap_err().is_cancelled());
}

async fn pay(client: &Client, heard: &Mutex<Vec<String>>) {
    assert_eq!(client.server_info().unwrap().name, "bank");
    assert_eq!(client.tools().await.unwrap().len(), 2);
    assert!(client.excluded_tools().is_empty());

    let progress = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&progress);
    let asked = Transfer { to: "DE1".into(), cents: 500 };
    let receipt: Receipt = client
        .call_as("transfer", &asked)
        .timeout(Duration::from_secs(20))
        .on_progress(move |progress| log.lock().unwrap().push(progress.progress))
        .await
        .unwrap();
    assert_eq!(receipt, Receipt { id: "DE1-3".into() });
    assert_eq!(*progress.lock().unwrap(), [1.0]);
    assert_eq!(*heard.lock().unwrap(), ["Send 500 cents?", "{\"to\":\"DE1\"}"]);
}

async fn fail(client: &Client) {
    let Err(CallError::Tool(failure)) = client.call_as::<Receipt>("transfer", &json!({"to": 1})).await else {
        panic!("bad arguments are a failure of the tool")
    };
    assert!(failure.text().contains("to"), "{}", failure.text());
    let error = client.call("absent", &()).await.unwrap_err();
    assert_eq!(error.code().map(|code| code.0), Some(-32602));
    let error = client.call("slow", &()).timeout(Duration::from_millis(50)).await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
}

async fn read(client: &Client) {
    assert_eq!(client.read("bank://2026-07").await.unwrap().contents.len(), 1);
    assert_eq!(client.resource_templates().await.unwrap().len(), 1);
    assert!(client.resources().await.unwrap().is_empty());
    assert_eq!(client.prompts().await.unwrap()[0].name, "remind");
    assert_eq!(client.prompt("remind", &()).await.unwrap().messages.len(), 1);
    let of = CompletionReference::Resource { uri: "bank://{month}".into() };
    assert_eq!(client.complete(&of, "month", "20", None).await.unwrap().completion.values, ["2026-07"]);
}

async fn listen(server: &Server, client: &Client) {
    let filter = SubscriptionFilter::new().tools().resource("bank://2026-07");
    let mut changes = client.listen(filter).await.unwrap();
    server.notifier().resource_updated("bank://2026-07");
    assert_eq!(changes.next().await, Some(Change::Updated("bank://2026-07".into())));
    server.catalog().insert(Tool::new("added", async || "new")).unwrap();
    assert_eq!(changes.next().await, Some(Change::Tools));
    assert_eq!(client.tools().await.unwrap().len(), 3);
}

fn person() -> (ClientBuilder, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (questions, logs) = (Arc::clone(&heard), Arc::clone(&heard));
    let builder = Client::builder()
        .info("story", "1")
        .on_elicit(move |form| {
            questions.lock().unwrap().push(form.message);
            std::future::ready(ElicitReply::Accept(json!({"ok": true})))
        })
        .on_log(move |message| logs.lock().unwrap().push(message.data.get().to_owned()));
    (builder, heard)
}

#[tokio::test]
async fn in_memory() {
    let server = bank();
    let (builder, heard) = person();
    let client = builder.in_process(&server).await.unwrap();
    play(server, client, heard).await;
}

#[tokio::test]
async fn over_http() {
    let server = bank();
    let serving = server.http().bind("127.0.0.1:0").await.unwrap();
    let (builder, heard) = person();
    let client = builder.http(serving.url()).await.unwrap();
    play(server, client, heard).await;
}
