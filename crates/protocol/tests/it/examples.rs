//! Every published example is read by the model and written again without loss, and what the
//! model writes conforms to the published schema.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_protocol::frame::{Frame, encode_raw_result, encode_request};
use switchboard_protocol::meta::RequestMeta;
use switchboard_protocol::method::{Answer, MethodSpec, decode_params, decode_result, spec as methods};
use switchboard_protocol::model::{
    capability, completion, content, discover, elicitation, input, notification, prompt, resource, roots,
    sampling, subscription, tool,
};
use switchboard_testkit::{spec, wire};

/// Reads each example of a definition as `T`, writes it, and compares.
fn check<T: Serialize + DeserializeOwned>(definition: &str) {
    for (name, text) in spec::examples(definition) {
        let decoded: T =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{definition}/{name}: {error}"));
        let written = serde_json::to_value(&decoded).unwrap();
        let original: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(normal(written.clone()), normal(original), "{definition}/{name}");
        wire::check(definition, &written);
    }
}

/// The same value, with what may be written in two ways written in one: a form's mode, which may be
/// absent, and whole numbers, which may be written as floats.
fn normal(value: Value) -> Value {
    match value {
        Value::Object(mut members) => {
            if members.contains_key("requestedSchema") {
                members.entry("mode").or_insert_with(|| "form".into());
            }
            Value::Object(members.into_iter().map(|(name, member)| (name, normal(member))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(normal).collect()),
        Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
        other => other,
    }
}

#[test]
fn results_survive_the_model() {
    check::<discover::DiscoverResult>("DiscoverResult");
    check::<tool::ListToolsResult>("ListToolsResult");
    check::<tool::CallToolResult>("CallToolResult");
    check::<resource::ListResourcesResult>("ListResourcesResult");
    check::<resource::ListResourceTemplatesResult>("ListResourceTemplatesResult");
    check::<resource::ReadResourceResult>("ReadResourceResult");
    check::<prompt::ListPromptsResult>("ListPromptsResult");
    check::<prompt::GetPromptResult>("GetPromptResult");
    check::<completion::CompleteResult>("CompleteResult");
    check::<subscription::SubscriptionsListenResult>("SubscriptionsListenResult");
    check::<input::InputRequiredResult>("InputRequiredResult");
}

#[test]
fn definitions_and_content_survive_the_model() {
    check::<tool::Tool>("Tool");
    check::<resource::Resource>("Resource");
    check::<content::ContentBlock>("AudioContent");
    check::<content::ContentBlock>("ImageContent");
    check::<content::ContentBlock>("TextContent");
    check::<content::ContentBlock>("ResourceLink");
    check::<content::ContentBlock>("EmbeddedResource");
    check::<resource::ResourceContents>("TextResourceContents");
    check::<resource::ResourceContents>("BlobResourceContents");
    check::<sampling::SamplingContent>("ToolUseContent");
    check::<sampling::SamplingContent>("ToolResultContent");
    check::<capability::ClientCapabilities>("ClientCapabilities");
    check::<capability::ServerCapabilities>("ServerCapabilities");
}

#[test]
fn input_rounds_survive_the_model() {
    check::<elicitation::Elicit>("ElicitRequestFormParams");
    check::<elicitation::Elicit>("ElicitRequestURLParams");
    check::<elicitation::ElicitResult>("ElicitResult");
    check::<input::InputRequest>("ElicitRequest");
    check::<input::InputRequest>("CreateMessageRequest");
    check::<input::InputRequests>("InputRequests");
    check::<input::InputResponses>("InputResponses");
    check::<sampling::CreateMessage>("CreateMessageRequestParams");
    check::<sampling::CreateMessageResult>("CreateMessageResult");
    check::<sampling::SamplingMessage>("SamplingMessage");
    check::<sampling::ModelPreferences>("ModelPreferences");
    check::<roots::ListRootsResult>("ListRootsResult");
    check::<roots::Root>("Root");
    for definition in [
        "StringSchema",
        "NumberSchema",
        "BooleanSchema",
        "TitledMultiSelectEnumSchema",
        "TitledSingleSelectEnumSchema",
        "UntitledMultiSelectEnumSchema",
        "UntitledSingleSelectEnumSchema",
    ] {
        check::<elicitation::PrimitiveSchema>(definition);
    }
}

#[test]
fn notification_parameters_survive_the_model() {
    check::<notification::Progress>("ProgressNotificationParams");
    check::<notification::LoggingMessage>("LoggingMessageNotificationParams");
    check::<notification::Cancelled>("CancelledNotificationParams");
    check::<notification::ResourceUpdated>("ResourceUpdatedNotificationParams");
}

/// Reads each example request by its method, writes it from the model, and compares.
fn check_request<M: MethodSpec>(definition: &str) {
    for (name, text) in spec::examples(definition) {
        let Ok(Frame::Request(request)) = Frame::decode(text.as_bytes()) else { panic!("{name}") };
        assert_eq!(request.method, M::METHOD.name());
        let params = decode_params::<M>(request.params).unwrap();
        let mut written = Vec::new();
        encode_request(&mut written, &request.id, &request.method, &params).unwrap();
        let (original, again): (Value, Value) =
            (serde_json::from_str(&text).unwrap(), serde_json::from_slice(&written).unwrap());
        assert_eq!(again, original, "{definition}/{name}");
        wire::check_client_message(&written);
    }
}

#[test]
fn requests_survive_the_model() {
    check_request::<methods::Discover>("DiscoverRequest");
    check_request::<methods::ListTools>("ListToolsRequest");
    check_request::<methods::CallTool>("CallToolRequest");
    check_request::<methods::ListResources>("ListResourcesRequest");
    check_request::<methods::ListResourceTemplates>("ListResourceTemplatesRequest");
    check_request::<methods::ReadResource>("ReadResourceRequest");
    check_request::<methods::ListPrompts>("ListPromptsRequest");
    check_request::<methods::GetPrompt>("GetPromptRequest");
    check_request::<methods::Complete>("CompleteRequest");
    check_request::<methods::SubscriptionsListen>("SubscriptionsListenRequest");
}

fn answer_of<M: MethodSpec>(text: &str) -> Result<Answer<M::Result>, String> {
    let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
    decode_result::<M>(&raw).map_err(|error| error.to_string())
}

#[test]
fn a_result_is_read_by_the_method_and_its_type() {
    let complete = r#"{"content":[]}"#;
    assert!(
        matches!(answer_of::<methods::CallTool>(complete), Ok(Answer::Complete(_))),
        "absent is complete"
    );
    let unknown = r#"{"resultType":"stream_later","content":[]}"#;
    assert!(answer_of::<methods::CallTool>(unknown).unwrap_err().contains("stream_later"));
    let question = r#"{"resultType":"input_required","requestState":"s"}"#;
    assert!(matches!(answer_of::<methods::CallTool>(question), Ok(Answer::InputRequired(_))));
    assert!(answer_of::<methods::ListTools>(question).unwrap_err().contains("tools/list"));
    let empty = r#"{"resultType":"input_required"}"#;
    assert!(answer_of::<methods::CallTool>(empty).unwrap_err().contains("neither"));
    assert!(answer_of::<methods::CallTool>(r#"{"resultType":"complete"}"#).unwrap_err().contains("content"));
    assert!(answer_of::<methods::CallTool>("[]").is_err());
}

#[test]
fn a_present_null_is_kept_apart_from_an_absent_member() {
    for (text, kept) in [
        (r#"{"content":[],"structuredContent":null}"#, Some("null")),
        (r#"{"content":[],"structuredContent":false}"#, Some("false")),
        (r#"{"content":[],"structuredContent":0}"#, Some("0")),
        (r#"{"content":[],"structuredContent":[]}"#, Some("[]")),
        (r#"{"content":[]}"#, None),
    ] {
        let Ok(Answer::Complete(result)) = answer_of::<methods::CallTool>(text) else { panic!("{text}") };
        assert_eq!(result.structured_content.as_deref().map(RawValue::get), kept, "{text}");
        let mut out = Vec::new();
        encode_raw_result(&mut out, &1.into(), &serde_json::to_vec(&result).unwrap());
        wire::check_server_message(&out, "tools/call");
    }
}

#[test]
fn a_tool_that_is_invalid_costs_itself_only() {
    for (text, valid) in [
        (r#"{"name":"a","inputSchema":{"type":"object"}}"#, true),
        (r#"{"name":"b","inputSchema":{"type":"object","additionalProperties":false}}"#, true),
        (r#"{"name":"c","inputSchema":{"type":"object","properties":{}}}"#, true),
        (r#"{"name":"d","inputSchema":{}}"#, false),
        (r#"{"name":"e"}"#, false),
        (r#"{"name":"f","inputSchema":null}"#, false),
        (r#"{"name":"g","inputSchema":{"type":["object"]}}"#, false),
        (r#"{"inputSchema":{"type":"object"}}"#, false),
        (r#"{"name":7,"inputSchema":{"type":"object"}}"#, false),
        ("7", false),
    ] {
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        let decoded = tool::decode_tool(&raw);
        assert_eq!(decoded.is_ok(), valid, "{text}: {decoded:?}");
    }
}

#[test]
fn roots_are_asked_for_with_and_without_parameters() {
    for text in [r#"{"method":"roots/list"}"#, r#"{"method":"roots/list","params":{}}"#] {
        let decoded: input::InputRequest = serde_json::from_str(text).unwrap();
        let written = serde_json::to_value(&decoded).unwrap();
        wire::check("ListRootsRequest", &written);
    }
}

#[test]
fn trace_context_is_read_from_the_metadata() {
    let text = r#"{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01","baggage":"a=b"}"#;
    let meta: RequestMeta<'_> = serde_json::from_str(text).unwrap();
    assert_eq!(meta.traceparent.as_deref().map(str::len), Some(55));
    assert_eq!(meta.baggage.as_deref(), Some("a=b"));
}
