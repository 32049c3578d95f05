//! The smallest server of ours over HTTP: its tree and its build time are measured.

use std::error::Error;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_server::{Args, Json, Server, Tool};

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Pair {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    result: i64,
}

async fn echo(Args(asked): Args<Text>) -> String {
    asked.text
}

async fn add(Args(asked): Args<Pair>) -> Json<Sum> {
    Json(Sum { result: asked.a + asked.b })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::builder("minimal", "0.1.0")
        .tool(Tool::new("echo", echo))
        .tool(Tool::new("add", add))
        .build(())?;
    server.http().bind("127.0.0.1:8000").await?.run_until(switchboard_server::until_signal()).await;
    Ok(())
}
