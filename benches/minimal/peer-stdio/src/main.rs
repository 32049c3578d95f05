//! The smallest server of the official SDK over stdio: its tree and its build time are measured.

use std::error::Error;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::stdio;
use rmcp::{Json, ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

#[derive(Clone, Default)]
struct Minimal;

#[tool_router]
impl Minimal {
    #[tool(description = "Return the text unchanged")]
    async fn echo(&self, Parameters(asked): Parameters<Text>) -> String {
        asked.text
    }

    #[tool(description = "Add two integers")]
    async fn add(&self, Parameters(asked): Parameters<Pair>) -> Json<Sum> {
        Json(Sum { result: asked.a + asked.b })
    }
}

#[tool_handler]
impl ServerHandler for Minimal {}
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    Minimal.serve(stdio()).await?.waiting().await?;
    Ok(())
}
