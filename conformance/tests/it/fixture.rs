//! One story told over HTTP and over a pipe: everything that the server has is listed, called, read and completed,
//! every question is answered, and a listener hears of changes.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use switchboard_client::{
    Change, Client, ClientBuilder, Direction, ElicitReply, SubscriptionFilter, WireMessage,
};
use switchboard_conformance::server::server;
use switchboard_protocol::model::completion::CompletionReference;
use switchboard_protocol::model::content::{ContentBlock, Role};
use switchboard_protocol::model::elicitation::{ElicitForm, PrimitiveSchema};
use switchboard_protocol::model::notification::LoggingLevel;
use switchboard_protocol::model::roots::Root;
use switchboard_protocol::model::sampling::{CreateMessageResult, OneOrMany, SamplingContent};
use switchboard_testkit::wire::Conversation;

/// Tools, their arguments, and the first text of their results.
const CALLS: &[(&str, &str, &str)] = &[
    ("test_simple_text", "{}", "This is a simple text response for testing."),
    ("test_image_content", "{}", ""),
    ("test_audio_content", "{}", ""),
    ("test_embedded_resource", "{}", ""),
    ("test_multiple_content_types", "{}", "Multiple content types test:"),
    ("test_error_handling", "{}", "This tool intentionally returns an error for testing"),
    ("test_custom_header", r#"{"value": " Grüße "}"#, " Grüße "),
    ("json_schema_2020_12_tool", r#"{"email": "a@example.com"}"#, "1 arguments fit the schema"),
    ("test_input_required_result_elicitation", "{}", "Hello, Alice!"),
    ("test_streaming_elicitation", "{}", "Hello, Alice!"),
    ("test_input_required_result_sampling", "{}", "LLM response: Paris"),
    ("test_missing_capability", "{}", "LLM response: Paris"),
    ("test_input_required_result_list_roots", "{}", "Roots: file:///workspace"),
    ("test_input_required_result_request_state", "{}", "state-ok, confirmed: true"),
    ("test_input_required_result_tampered_state", "{}", "state-ok, confirmed: true"),
    ("test_input_required_result_multiple_inputs", "{}", "Alice: Paris (1 roots)"),
    ("test_input_required_result_multi_round", "{}", "Alice likes Alice"),
    ("test_input_required_result_capabilities", "{}", "Only what the client can answer was asked"),
];

const PROMPTS: &[(&str, &str)] = &[
    ("test_simple_prompt", "{}"),
    ("test_prompt_with_arguments", r#"{"arg1": "one", "arg2": "two"}"#),
    ("test_prompt_with_embedded_resource", r#"{"resourceUri": "test://example-resource"}"#),
    ("test_prompt_with_image", "{}"),
    ("test_input_required_result_prompt", "{}"),
];

type Said = Arc<Mutex<Vec<(Direction, Vec<u8>)>>>;

/// A client that answers every question and writes down every message.
fn client(said: &Said) -> ClientBuilder {
    let said = Arc::clone(said);
    Client::builder()
        .on_elicit(|form| async move { ElicitReply::Accept(Value::Object(fill_in(&form))) })
        .on_sampling(|_| async { Ok(paris()) })
        .on_roots(|| async { vec![Root { uri: "file:///workspace".into(), ..Root::default() }] })
        .on_wire(move |WireMessage { direction, bytes }| {
            said.lock().unwrap().push((direction, bytes.to_vec()))
        })
}

fn fill_in(form: &ElicitForm) -> Map<String, Value> {
    let fields = form.requested_schema.properties.0.iter();
    let answer = |field: &PrimitiveSchema| match field {
        PrimitiveSchema::Boolean { .. } => json!(true),
        _ => json!("Alice"),
    };
    fields.map(|(name, field)| (name.clone(), answer(field))).collect()
}

fn paris() -> CreateMessageResult {
    CreateMessageResult {
        role: Role::Assistant,
        content: OneOrMany::One(SamplingContent::text("Paris")),
        model: "test-model".into(),
        stop_reason: Some("endTurn".into()),
        meta: None,
    }
}

fn parsed(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap()
}

async fn call_everything(client: &Client) {
    for (name, arguments, expected) in CALLS {
        let result = client.call(*name, &parsed(arguments)).await.unwrap();
        let text = result.content.iter().find_map(|block| match block {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        assert_eq!(text.unwrap_or_default(), *expected, "{name}");
        assert_eq!(result.is_error(), *name == "test_error_handling", "{name}");
    }
    let steps = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&steps);
    let hear = move |step: &switchboard_protocol::model::notification::Progress| {
        heard.lock().unwrap().push(step.progress);
    };
    client.call("test_tool_with_progress", &json!({})).on_progress(hear).await.unwrap();
    assert_eq!(*steps.lock().unwrap(), [0.0, 50.0, 100.0]);
    client.call("test_logging_tool", &json!({})).log_level(LoggingLevel::Debug).await.unwrap();
}

async fn read_everything(client: &Client) {
    for resource in &*client.resources().await.unwrap() {
        assert_eq!(client.read(resource.uri.as_str()).await.unwrap().contents.len(), 1, "{}", resource.uri);
    }
    assert_eq!(client.resource_templates().await.unwrap().len(), 1);
    client.read("test://template/123/data").await.unwrap();
    client.read("test://nothing-here").await.unwrap_err();
    for (name, arguments) in PROMPTS {
        assert!(!client.prompt(*name, &parsed(arguments)).await.unwrap().messages.is_empty(), "{name}");
    }
    let of = CompletionReference::Prompt { name: "test_prompt_with_arguments".into(), title: None };
    let suggested = client.complete(&of, "arg1", "test", None).await.unwrap();
    assert_eq!(suggested.completion.values, ["testing", "test"]);
}

async fn hear_of_changes(client: &Client) {
    let wanted = SubscriptionFilter {
        tools_list_changed: Some(true),
        prompts_list_changed: Some(true),
        ..SubscriptionFilter::default()
    };
    let mut changes = client.listen(wanted).await.unwrap();
    for (tool, change) in
        [("test_trigger_tool_change", Change::Tools), ("test_trigger_prompt_change", Change::Prompts)]
    {
        client.call(tool, &json!({})).await.unwrap();
        assert_eq!(changes.next().await, Some(change));
    }
    let has_dynamic = |client: Client| async move {
        client.tools().await.unwrap().iter().any(|tool| tool.name == "test_dynamic")
    };
    assert!(has_dynamic(client.clone()).await);
    client.call("test_trigger_tool_change", &json!({})).await.unwrap();
    assert_eq!(changes.next().await, Some(Change::Tools));
    assert!(!has_dynamic(client.clone()).await);
}

async fn tell(client: Client, said: &Said) {
    let listed: Vec<String> = client.tools().await.unwrap().iter().map(|tool| tool.name.clone()).collect();
    for (name, ..) in CALLS {
        assert!(listed.iter().any(|tool| tool == name), "{name} is not listed");
    }
    call_everything(&client).await;
    read_everything(&client).await;
    hear_of_changes(&client).await;
    client.close().await;
    let mut logged = 0;
    let conversation = Conversation::default();
    for (direction, bytes) in &*said.lock().unwrap() {
        match direction {
            Direction::Sent => conversation.client(bytes),
            Direction::Received => conversation.server(bytes),
        }
        logged += usize::from(bytes.windows(21).any(|text| text == b"notifications/message"));
    }
    assert_eq!(logged, 3, "log messages come when they are asked for, and only then");
}

#[tokio::test]
async fn every_message_over_http_conforms_to_the_published_schema() {
    let server = server().unwrap();
    let serving = server.http().bind("127.0.0.1:0").await.unwrap();
    let said = Said::default();
    tell(client(&said).http(serving.url()).await.unwrap(), &said).await;
}

#[tokio::test]
async fn every_message_over_a_pipe_conforms_to_the_published_schema() {
    let server = server().unwrap();
    let said = Said::default();
    tell(client(&said).in_process(&server).await.unwrap(), &said).await;
}
