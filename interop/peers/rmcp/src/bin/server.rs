//! The story's server on the official Rust SDK: every era, standard streams or HTTP.
//!
//! `server stdio | http`. Over HTTP it says `listening on URL` on standard error. The steps that it answers are in
//! ../README.md.

use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::tool::{InputResponses, ToolCallContext};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest,
    ElicitRequestParams, GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequest,
    InputRequests, InputRequiredResult, ListPromptsResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, Prompt, PromptArgument, PromptMessage,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, RequestMetaObject,
    Resource, ResourceContents, Role, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use rmcp::transport::stdio;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler, ServiceExt, tool, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

const PAGE: usize = 3;
const PAUSE: Duration = Duration::from_millis(50);
const QUESTION: &str = "What is your name?";

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct To {
    to: u32,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Name {
    name: String,
}

rmcp::elicit_safe!(Name);

#[derive(Clone)]
struct Story {
    router: ToolRouter<Self>,
}

fn text(words: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(words.into())])
}

fn question() -> Result<InputRequiredResult, ErrorData> {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    let requested_schema =
        serde_json::from_value(schema).map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let form =
        ElicitRequestParams::FormElicitationParams { meta: None, message: QUESTION.into(), requested_schema };
    let mut requests = InputRequests::new();
    requests.insert("name".into(), InputRequest::Elicitation(ElicitRequest::new(form)));
    Ok(InputRequiredResult::new(Some(requests), None))
}

#[tool_router]
impl Story {
    #[tool(description = "Says it again")]
    async fn echo(&self, Parameters(given): Parameters<Text>) -> String {
        given.text
    }

    #[tool(description = "Counts, and says how far it is")]
    async fn count(
        &self,
        Parameters(To { to }): Parameters<To>,
        meta: RequestMetaObject,
        client: Peer<RoleServer>,
    ) -> String {
        for done in 1..=to {
            if let Some(token) = meta.get_progress_token() {
                let progress =
                    ProgressNotificationParam::new(token, f64::from(done)).with_total(f64::from(to));
                client.notify_progress(progress).await.ok();
                tokio::time::sleep(PAUSE).await;
            }
        }
        format!("counted to {to}")
    }

    #[tool(description = "Asks for a name")]
    async fn greet(
        &self,
        InputResponses(answers): InputResponses,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
            let answer = answers.as_ref().and_then(|answers| answers.get("name"));
            return match answer.and_then(|answer| answer["content"]["name"].as_str()) {
                Some(name) => Ok(text(format!("Hello, {name}!")).into()),
                None => Ok(question()?.into()),
            };
        }
        match context.peer.elicit::<Name>(QUESTION).await {
            Ok(Some(Name { name })) => Ok(text(format!("Hello, {name}!")).into()),
            Ok(None) => Err(ErrorData::internal_error("no name was given", None)),
            Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
        }
    }

    #[tool(description = "Fails, always")]
    async fn fail(&self) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text("It failed on purpose")])
    }
}

impl ServerHandler for Story {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        ServerConfig::new(capabilities)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.router.call(ToolCallContext::new(self, request, context)).await
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.router.list_all();
        let from = request.and_then(|page| page.cursor).and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        let to = tools.len().min(from + PAGE);
        let mut result = ListToolsResult::with_all_items(tools.get(from..to).unwrap_or_default().to_vec());
        result.next_cursor = (to < tools.len()).then(|| to.to_string());
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.router.get(name).cloned()
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new("story://greeting", "greeting")]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(ReadResourceResult::new(vec![ResourceContents::text("Hello from the story", request.uri)]).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let topic = PromptArgument::new("topic").with_required(true);
        Ok(ListPromptsResult::with_all_items(vec![Prompt::new(
            "summarise",
            Some("Asks for a summary"),
            Some(vec![topic]),
        )]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let topic = request.arguments.as_ref().and_then(|given| given["topic"].as_str()).unwrap_or_default();
        let message = PromptMessage::new_text(Role::User, format!("Summarise {topic}"));
        Ok(GetPromptResult::new(vec![message]).into())
    }
}

async fn http(story: Story) -> anyhow::Result<()> {
    let service = TowerToHyperService::new(StreamableHttpService::new(
        move || Ok(story.clone()),
        LocalSessionManager::default().into(),
        StreamableHttpServerConfig::default(),
    ));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        let service = service.clone();
        tokio::spawn(async move {
            Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await.ok();
        });
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let story = Story { router: Story::tool_router() };
    match std::env::args().nth(1).as_deref() {
        Some("http") => http(story).await,
        Some("stdio") => {
            story.serve(stdio()).await?.waiting().await?;
            Ok(())
        }
        _ => anyhow::bail!("usage: server stdio | http"),
    }
}
