//! A server as its author writes it: the parts of the library put together, as they are meant to be used.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use switchboard_server::{
    Args, BuildError, Cache, CallerId, Ctx, Elicitation, Json, MultiRoundTrip, Outcome, Principal, Prompt,
    Resource, Say, Server, State, Tool, ToolError, Vars,
};

use crate::calls;

#[derive(Clone)]
struct Bank;

#[derive(Clone)]
struct User {
    id: u64,
}

#[derive(Debug)]
struct Down;

impl std::fmt::Display for Down {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the ledger is down")
    }
}

impl std::error::Error for Down {}

#[derive(Serialize, Deserialize, Clone)]
struct Offer {
    rate: i64,
}

impl Bank {
    async fn balance(&self, id: u64) -> Result<Balance, Down> {
        if id == 0 { Err(Down) } else { Ok(Balance { cents: 1_200, currency: "EUR".into() }) }
    }

    async fn quote(&self, _id: u64, transfer: &Transfer) -> Result<Offer, Down> {
        if transfer.cents > 1_000 { Err(Down) } else { Ok(Offer { rate: 3 }) }
    }

    async fn send(&self, id: u64, offer: Offer) -> Result<Receipt, Down> {
        Ok(Receipt { id: format!("{id}-{}", offer.rate) })
    }

    async fn statement(&self, _id: u64, month: &str) -> Result<String, Down> {
        if month == "2026-07" { Ok("# July".into()) } else { Err(Down) }
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Balance {
    cents: i64,
    currency: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Receipt {
    id: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Transfer {
    /** IBAN of the payee */
    to: String,
    cents: i64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Confirm {
    /** Send this amount now? */
    ok: bool,
}

#[derive(Serialize, Deserialize)]
enum Step {
    Quoted(Offer),
}

#[derive(Deserialize)]
struct Month {
    month: String,
}

#[derive(Deserialize, JsonSchema)]
struct Tone {
    tone: String,
}

async fn balance(
    State(bank): State<Bank>,
    Principal(user): Principal<User>,
) -> Result<Json<Balance>, ToolError> {
    Ok(Json(bank.balance(user.id).await?))
}

async fn transfer(
    State(bank): State<Bank>,
    Principal(user): Principal<User>,
    Args(transfer): Args<Transfer>,
    ctx: Ctx,
    round: MultiRoundTrip<Step>,
) -> Result<Outcome<Step, Json<Receipt>>, ToolError> {
    let Some(Step::Quoted(offer)) = round.state.as_ref() else {
        let offer = bank.quote(user.id, &transfer).await.say("no quote for that payee right now")?;
        let question =
            Elicitation::form::<Confirm>(format!("Send {} cents at {}?", transfer.cents, offer.rate));
        return Ok(Outcome::InputRequired(Step::Quoted(offer), question));
    };
    if !round.answer::<Confirm>()?.is_some_and(|confirm| confirm.ok) {
        return Err(ToolError::say("the user declined"));
    }
    ctx.progress(1.0, 2.0).await;
    Ok(Outcome::Complete(Json(bank.send(user.id, offer.clone()).await?)))
}

async fn statement(
    State(bank): State<Bank>,
    Principal(user): Principal<User>,
    Vars(vars): Vars<Month>,
) -> Result<String, ToolError> {
    bank.statement(user.id, &vars.month).await.say("no statement for that month")
}

async fn dunning(Args(args): Args<Tone>) -> String {
    format!("Write a {} payment reminder.", args.tone)
}

fn server() -> Result<Server, BuildError> {
    Server::builder("bank", "1.0.0")
        .tool(Tool::new("balance", balance).describe("Current account balance").read_only())
        .tool(Tool::new("transfer", transfer).describe("Send money").timeout(Duration::from_secs(20)))
        .resource(
            Resource::template("bank://statements/{month}", statement)
                .mime("text/markdown")
                .cache(Cache::Private(Duration::from_secs(60))),
        )
        .prompt(Prompt::new("dunning", dunning))
        .authenticated::<User>()
        .build(Bank)
}

fn caller(id: u64) -> http::Extensions {
    let mut extensions = http::Extensions::new();
    extensions.insert(Principal(User { id }));
    extensions.insert(CallerId(id.to_string()));
    extensions
}

#[tokio::test]
async fn a_balance_is_structured_and_text() {
    let message = calls::request("tools/call", json!({ "name": "balance" }));
    let reply = calls::exchange(&server().unwrap(), &message, caller(1)).await.pop().unwrap();
    assert_eq!(reply["result"]["structuredContent"], json!({ "cents": 1200, "currency": "EUR" }));
    assert_eq!(calls::text(&reply), r#"{"cents":1200,"currency":"EUR"}"#);
    assert_eq!(reply["result"]["resultType"], "complete");
    assert_eq!(reply["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "bank");
}

#[tokio::test]
async fn a_failure_inside_is_opaque_to_the_model() {
    let message = calls::request("tools/call", json!({ "name": "balance" }));
    let reply = calls::exchange(&server().unwrap(), &message, caller(0)).await.pop().unwrap();
    let text = calls::text(&reply);
    assert!(text.starts_with("failed: internal error, reference "), "{text}");
    assert!(!text.contains("ledger"), "{text}");
}

#[tokio::test]
async fn a_transfer_is_quoted_confirmed_and_sent_once() {
    let server = server().unwrap();
    let arguments = json!({ "to": "DE1", "cents": 500 });
    let first = calls::request("tools/call", json!({ "name": "transfer", "arguments": arguments }));
    let asked = calls::exchange(&server, &first, caller(1)).await.pop().unwrap();
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required");
    let question = &result["inputRequests"]["Confirm"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "Send 500 cents at 3?");
    assert_eq!(
        question["params"]["requestedSchema"],
        json!({
            "type": "object",
            "properties": { "ok": { "type": "boolean", "description": "Send this amount now?" } },
            "required": ["ok"]
        })
    );

    let again = calls::request(
        "tools/call",
        json!({
            "name": "transfer", "arguments": arguments, "requestState": result["requestState"],
            "inputResponses": { "Confirm": { "action": "accept", "content": { "ok": true } } },
            "_meta": { "progressToken": "p" }
        }),
    );
    let messages = calls::exchange(&server, &again, caller(1)).await;
    assert_eq!(messages[0]["params"], json!({ "progressToken": "p", "progress": 1.0, "total": 2.0 }));
    assert_eq!(messages[1]["result"]["structuredContent"], json!({ "id": "1-3" }));

    let other = calls::exchange(&server, &again, caller(2)).await.pop().unwrap();
    assert_eq!(calls::error(&other).0, -32602, "another caller must not use the state");
}

#[tokio::test]
async fn a_statement_and_a_prompt_are_read() {
    let server = server().unwrap();
    let read = |uri: &str| calls::request("resources/read", json!({ "uri": uri }));
    let good = calls::exchange(&server, &read("bank://statements/2026-07"), caller(1)).await.pop().unwrap();
    assert_eq!(
        good["result"]["contents"],
        json!([{ "uri": "bank://statements/2026-07", "mimeType": "text/markdown", "text": "# July" }])
    );
    assert_eq!(good["result"]["ttlMs"], 60_000);
    assert_eq!(good["result"]["cacheScope"], "private");
    let bad = calls::exchange(&server, &read("bank://statements/2020-01"), caller(1)).await.pop().unwrap();
    assert_eq!(calls::error(&bad), (-32603, "no statement for that month".into()));

    let prompt =
        calls::reply(&server, "prompts/get", json!({ "name": "dunning", "arguments": { "tone": "kind" } }));
    let messages = &prompt.await["result"]["messages"];
    assert_eq!(messages[0]["content"]["text"], "Write a kind payment reminder.");
}
