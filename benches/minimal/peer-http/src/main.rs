//! The smallest server of the official SDK over HTTP: its tree and its build time are measured.

use std::error::Error;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{Json, ServerHandler, tool, tool_handler, tool_router};
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

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let service = TowerToHyperService::new(StreamableHttpService::new(
        || Ok(Minimal),
        LocalSessionManager::default().into(),
        StreamableHttpServerConfig::default(),
    ));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 8000)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let service = service.clone();
        tokio::spawn(async move {
            let _ =
                Builder::new(TokioExecutor::default()).serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
