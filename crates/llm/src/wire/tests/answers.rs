//! Reads answers that are kept as data: every file of a folder is one difference between servers; each of its cases
//! is read with the bytes cut at every offset, byte by byte, damaged, and over HTTP.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::super::Reply;
use super::super::body::Reader;
use crate::error::ModelError;
use crate::message::{Message, ToolCallRequest};
use crate::model::{ChatModel, ChatRequest, Finish, ToolDefinition, Usage};
use crate::scripted::{Script, ScriptedModel, Turn};
use crate::{Limits, ModelAnswer};

#[derive(Deserialize)]
pub(crate) struct Fixture {
    why: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    name: String,
    #[serde(default)]
    pub(crate) tools: Vec<String>,
    #[serde(default)]
    pub(crate) used_ids: Vec<String>,
    #[serde(default)]
    stream: Option<Vec<Value>>,
    #[serde(default)]
    body: Option<Value>,
    expect: Expected,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Expected {
    text: String,
    thinking: String,
    calls: Vec<ToolCallRequest>,
    /// What is kept, without the wire and the model. Not looked at if it is absent.
    reasoning: Option<Value>,
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

/// The answers of one wire, and what reads them.
pub(crate) struct Answers<R> {
    fixtures: Vec<Fixture>,
    reply: fn(&Case) -> R,
}

impl<R: Reply> Answers<R> {
    /// The files of a folder below `tests/data`.
    pub(crate) fn load(folder: &str, reply: fn(&Case) -> R) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(folder);
        let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        assert!(!paths.is_empty(), "one file for each difference");
        let read = |path: &std::path::PathBuf| {
            let text = fs::read_to_string(path).unwrap();
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        Self { fixtures: paths.iter().map(read).collect(), reply }
    }

    fn cases(&self) -> impl Iterator<Item = &Case> {
        self.fixtures.iter().flat_map(|fixture| &fixture.cases)
    }

    /// However the bytes are cut, the answer is the same.
    pub(crate) fn check_cuts(&self) {
        for fixture in &self.fixtures {
            for case in &fixture.cases {
                let bytes = case.bytes();
                for cut in 0..=bytes.len() {
                    let (answer, error) = self.read(case, &[bytes.slice(..cut), bytes.slice(cut..)]);
                    case.compare(&answer, error.as_ref(), &format!("cut at {cut} ({})", fixture.why));
                }
                let single: Vec<Bytes> = (0..bytes.len()).map(|at| bytes.slice(at..=at)).collect();
                let (answer, error) = self.read(case, &single);
                case.compare(&answer, error.as_ref(), "byte by byte");
            }
        }
    }

    /// The same through a client and a connection.
    pub(crate) async fn check_http(&self, client: impl Fn(&ScriptedModel) -> Box<dyn ChatModel>) {
        for case in self.cases() {
            let byte_by_byte = Turn { cut_every: Some(1), ..case.turn() };
            let script = Script { turns: vec![case.turn(), byte_by_byte], ..Script::default() };
            let server = ScriptedModel::start(script).await.unwrap();
            let model = client(&server);
            for how in ["at once", "byte by byte"] {
                match ModelAnswer::collect(model.chat(case.request())).await {
                    Ok(answer) => case.compare(&answer, None, how),
                    Err(error) => assert!(case.expect.error.is_some(), "{}, {how}: {error}", case.name),
                }
            }
            server.verify().unwrap();
        }
    }

    /// Nothing can be executed before the answer has ended.
    pub(crate) fn check_order(&self) {
        for case in self.cases() {
            let bytes = case.bytes();
            let mut reader = Reader::new((self.reply)(case), Limits::default());
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

    /// A damaged answer is read or refused, but never more.
    pub(crate) fn check_damage(&self) {
        for case in self.cases() {
            let bytes = case.bytes();
            for at in (0..bytes.len()).step_by(3) {
                let (head, tail) = (bytes.slice(..at), bytes.slice(at + 1..));
                for damage in ["", "\"", "{", "}", "\n", "\\", "9", "\u{0}"] {
                    let pieces = [head.clone(), Bytes::from_static(damage.as_bytes()), tail.clone()];
                    let (answer, _) = self.read(case, &pieces);
                    for call in answer.tool_calls.iter().filter(|call| call.is_executable()) {
                        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
                        assert!(arguments.is_object() && !call.name.is_empty(), "{}: {call:?}", case.name);
                    }
                }
            }
        }
    }

    fn read(&self, case: &Case, chunks: &[Bytes]) -> (ModelAnswer, Option<ModelError>) {
        let mut reader = Reader::new((self.reply)(case), Limits::default());
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
            Message::Assistant {
                text: String::new(),
                thinking: String::new(),
                tool_calls: earlier,
                reasoning: None,
            },
        ];
        messages.extend(self.used_ids.iter().map(|id| Message::tool(id, "done")));
        ChatRequest {
            messages,
            tools: self.tools.iter().map(|name| tool(name)).collect(),
            ..ChatRequest::default()
        }
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
        if let Some(expected) = &self.expect.reasoning {
            let mut kept: Value = serde_json::from_str(answer.reasoning.as_deref().unwrap_or("{}")).unwrap();
            kept.as_object_mut().unwrap().retain(|name, _| name != "wire" && name != "model");
            assert_eq!(&kept, expected, "{name}, {how}");
        }
        if let Some(finish) = &self.expect.finish {
            assert_eq!(&answer.finish, finish, "{name}, {how}");
            let warnings: Vec<String> = answer.warnings.iter().map(ToString::to_string).collect();
            assert_eq!(warnings, self.expect.warnings, "{name}, {how}");
        }
    }
}

pub(crate) fn tool(name: &str) -> ToolDefinition {
    let parameters = serde_json::value::to_raw_value(&serde_json::json!({ "type": "object" })).unwrap();
    ToolDefinition::new(name, "", parameters)
}
