//! The official Rust SDK with the same tools, set up as well as its documentation allows: the
//! router is built once, answers are JSON, and over stdio it reads raw pipes.
//!
//! `bench-peer http PORT [TOOLS]`, `bench-peer stdio`, or `bench-peer stdio-pipes`.

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ResultType, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::transport::{stdio, stdio_pipes};
use rmcp::{RoleServer, ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Size {
    size: usize,
}

#[derive(Clone)]
struct Few {
    router: Arc<ToolRouter<Self>>,
}

#[tool_router]
impl Few {
    fn new() -> Self {
        Self { router: Arc::new(Self::tool_router()) }
    }

    #[tool(description = "Return the text unchanged")]
    async fn echo(&self, Parameters(asked): Parameters<Text>) -> String {
        asked.text
    }

    #[tool(description = "Length of the text")]
    async fn len(&self, Parameters(asked): Parameters<Text>) -> String {
        asked.text.len().to_string()
    }

    #[tool(description = "Return so many bytes of text")]
    async fn blob(&self, Parameters(asked): Parameters<Size>) -> String {
        "x".repeat(asked.size)
    }
}

#[tool_handler(router = self.router)]
impl ServerHandler for Few {}

#[derive(Clone)]
struct Many {
    router: Arc<ToolRouter<Self>>,
}

impl Many {
    fn new(count: usize) -> Self {
        let schema = json!({
            "type": "object",
            "properties": { "text": { "type": "string", "description": "text to echo" } },
            "required": ["text"],
        });
        let schema = Arc::new(schema.as_object().cloned().unwrap_or_default());
        let mut router = ToolRouter::<Self>::new();
        for index in 0..count {
            let name = Cow::Owned(format!("tool_{index:04}"));
            let tool = Tool::new(name, Cow::Borrowed("Return the text unchanged"), Arc::clone(&schema));
            router.add_route(ToolRoute::new_dyn(tool, |ctx: ToolCallContext<'_, Self>| {
                let text =
                    ctx.arguments.as_ref().and_then(|all| all.get("text")).and_then(|text| text.as_str());
                let text = text.unwrap_or_default().to_owned();
                Box::pin(async move { Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into()) })
            }));
        }
        Self { router: Arc::new(router) }
    }
}

impl ServerHandler for Many {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, rmcp::ErrorData> {
        self.router.call(ToolCallContext::new(self, request, context)).await
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, rmcp::ErrorData> {
        let mut result = ListToolsResult::default();
        result.result_type = Some(ResultType::COMPLETE);
        result.tools = self.router.list_all();
        result.ttl_ms = Some(0);
        result.cache_scope = Some(CacheScope::Private);
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.router.get(name).cloned()
    }
}

async fn http<S: ServerHandler + Clone + Send + Sync + 'static>(port: u16, server: S) -> Outcome<()> {
    let config = StreamableHttpServerConfig::default().with_json_response(true);
    let service = TowerToHyperService::new(StreamableHttpService::new(
        move || Ok(server.clone()),
        LocalSessionManager::default().into(),
        config.with_max_request_body_bytes(64 << 20),
    ));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    eprintln!("listening on {}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = service.clone();
        tokio::spawn(async move {
            let _ =
                Builder::new(TokioExecutor::default()).serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments.get(index).and_then(|text| text.parse::<usize>().ok());
    match arguments.first().map(String::as_str) {
        Some("http") => {
            let port = u16::try_from(number(1).unwrap_or(0))?;
            match number(2) {
                Some(count) if count > 0 => http(port, Many::new(count)).await,
                _ => http(port, Few::new()).await,
            }
        }
        Some("stdio") => {
            Few::new().serve(stdio()).await?.waiting().await?;
            Ok(())
        }
        Some("stdio-pipes") => {
            Few::new().serve(stdio_pipes()).await?.waiting().await?;
            Ok(())
        }
        _ => Err("usage: bench-peer http PORT [TOOLS] | stdio | stdio-pipes".into()),
    }
}
