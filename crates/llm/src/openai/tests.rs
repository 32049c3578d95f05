//! Every file in `tests/data/answers` is one difference between servers; each of its cases is replayed with the
//! bytes cut at every offset, byte by byte, and over HTTP.

mod conversation;
mod words;

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::Limits;
use super::reader::Reader;
use super::reply::Context;
use crate::error::ModelError;
use crate::model::{ChatModel, ChatRequest, Finish, Message, ToolCallRequest, ToolDefinition, Usage};
use crate::scripted::{Script, ScriptedModel, Turn};
use crate::{ModelAnswer, OpenAiConfig, OpenAiModel, RetryPolicy};

#[derive(Deserialize)]
struct Fixture {
    why: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    used_ids: Vec<String>,
    #[serde(default)]
    stream: Option<Vec<Value>>,
    #[serde(default)]
    body: Option<Value>,
    expect: Expected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct Expected {
    text: String,
    thinking: String,
    calls: Vec<ToolCallRequest>,
    finish: Option<Finish>,
    usage: Option<Usage>,
    warnings: Vec<String>,
    error: Option<ExpectedError>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedError {
    is: String,
    contains: String,
}

fn fixtures() -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/answers");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 9, "one file for each difference");
    paths
        .iter()
        .map(|path| {
            let text = fs::read_to_string(path).unwrap();
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        })
        .collect()
}

impl Case {
    fn turn(&self) -> Turn {
        Turn { stream: self.stream.clone(), body: self.body.clone(), ..Turn::default() }
    }

    fn bytes(&self) -> Bytes {
        self.turn().wire_bytes()
    }

    fn request(&self) -> ChatRequest {
        let earlier = self.used_ids.iter().map(|id| ToolCallRequest::new(id, "f", "{}")).collect();
        let mut messages = vec![
            Message::user("?"),
            Message::Assistant { text: String::new(), thinking: String::new(), tool_calls: earlier },
        ];
        messages.extend(self.used_ids.iter().map(|id| Message::tool(id, "done")));
        ChatRequest {
            messages,
            tools: self.tools.iter().map(|name| tool(name)).collect(),
            ..ChatRequest::default()
        }
    }

    fn read(&self, chunks: &[Bytes]) -> (ModelAnswer, Option<ModelError>) {
        let used_ids: HashSet<String> = self.used_ids.iter().cloned().collect();
        let mut reader = Reader::new(Context { used_ids, tools: self.tools.clone() }, Limits::default());
        let mut answer = ModelAnswer::default();
        let mut result = Ok(());
        for chunk in chunks {
            result = reader.push(chunk.clone());
            while let Some(event) = reader.poll_event() {
                answer.apply(event);
            }
            if result.is_err() {
                break;
            }
        }
        let result = result.and_then(|()| reader.finish());
        while let Some(event) = reader.poll_event() {
            answer.apply(event);
        }
        (answer, result.err())
    }

    fn compare(&self, answer: &ModelAnswer, error: Option<&ModelError>, how: &str) {
        let name = &self.name;
        match (&self.expect.error, error) {
            (None, None) => {}
            (Some(expected), Some(error)) => {
                let text = error.to_string();
                assert!(text.contains(&expected.contains), "{name}, {how}: {text}");
                let is = [("interrupted", error.is_interrupted()), ("malformed", error.is_malformed())];
                assert!(is.contains(&(expected.is.as_str(), true)), "{name}, {how}: {error:?}");
                assert!(error.hint().is_some(), "{name}: the error says what to do");
            }
            (_, Some(error)) => panic!("{name}, {how}: unexpected error {error}"),
            (Some(_), None) => panic!("{name}, {how}: no error"),
        }
        assert_eq!(answer.text, self.expect.text, "{name}, {how}");
        assert_eq!(answer.thinking, self.expect.thinking, "{name}, {how}");
        assert_eq!(answer.tool_calls, self.expect.calls, "{name}, {how}");
        assert_eq!(answer.usage, self.expect.usage, "{name}, {how}");
        if let Some(finish) = &self.expect.finish {
            assert_eq!(&answer.finish, finish, "{name}, {how}");
            let warnings: Vec<String> = answer.warnings.iter().map(ToString::to_string).collect();
            assert_eq!(warnings, self.expect.warnings, "{name}, {how}");
        }
    }
}

fn tool(name: &str) -> ToolDefinition {
    let parameters = serde_json::value::to_raw_value(&serde_json::json!({ "type": "object" })).unwrap();
    ToolDefinition { name: name.to_owned(), description: String::new(), parameters }
}

#[test]
fn every_difference_is_read_the_same_however_the_bytes_are_cut() {
    for fixture in fixtures() {
        for case in &fixture.cases {
            let bytes = case.bytes();
            for cut in 0..=bytes.len() {
                let (answer, error) = case.read(&[bytes.slice(..cut), bytes.slice(cut..)]);
                case.compare(&answer, error.as_ref(), &format!("cut at {cut} ({})", fixture.why));
            }
            let single: Vec<Bytes> = (0..bytes.len()).map(|at| bytes.slice(at..=at)).collect();
            let (answer, error) = case.read(&single);
            case.compare(&answer, error.as_ref(), "byte by byte");
        }
    }
}

#[tokio::test]
async fn every_difference_is_read_over_http() {
    for case in fixtures().iter().flat_map(|fixture| &fixture.cases) {
        let byte_by_byte = Turn { cut_every: Some(1), ..case.turn() };
        let script = Script { turns: vec![case.turn(), byte_by_byte], ..Script::default() };
        let server = ScriptedModel::start(script).await.unwrap();
        let mut config = OpenAiConfig::new(&server.base_url(), "m").unwrap();
        config.retry = RetryPolicy { max_retries: 0, ..RetryPolicy::default() };
        let model = OpenAiModel::new(config).unwrap();
        for how in ["at once", "byte by byte"] {
            match ModelAnswer::collect(model.chat(case.request())).await {
                Ok(answer) => case.compare(&answer, None, how),
                Err(error) => assert!(case.expect.error.is_some(), "{}, {how}: {error}", case.name),
            }
        }
        server.verify().unwrap();
    }
}

#[test]
fn nothing_can_be_executed_before_the_answer_has_ended() {
    for case in fixtures().iter().flat_map(|fixture| &fixture.cases) {
        let bytes = case.bytes();
        let mut reader = Reader::new(Context::default(), Limits::default());
        let mut ended = false;
        for at in 0..bytes.len() {
            if reader.push(bytes.slice(at..=at)).is_err() {
                break;
            }
            while let Some(event) = reader.poll_event() {
                ended |= reader.is_done();
                let is_call = matches!(event, crate::ModelEvent::CallEnd { .. });
                assert!(!is_call || ended, "{}: a call before the end", case.name);
            }
        }
    }
}

#[test]
fn a_damaged_answer_is_read_or_refused_but_never_more() {
    for case in fixtures().iter().flat_map(|fixture| &fixture.cases) {
        let bytes = case.bytes();
        for at in (0..bytes.len()).step_by(3) {
            let (head, tail) = (bytes.slice(..at), bytes.slice(at + 1..));
            for damage in ["", "\"", "{", "}", "\n", "\\", "9", "\u{0}"] {
                let (answer, _) =
                    case.read(&[head.clone(), Bytes::from_static(damage.as_bytes()), tail.clone()]);
                for call in answer.tool_calls.iter().filter(|call| call.is_executable()) {
                    let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
                    assert!(arguments.is_object() && !call.name.is_empty(), "{}: {call:?}", case.name);
                }
            }
        }
    }
}
