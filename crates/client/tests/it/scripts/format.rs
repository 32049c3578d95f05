//! How a script is written: what the server plays, what the client asks, and what must come of it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use switchboard_testkit::scripted_http::Reply;

/// A data file: one kind of trouble.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(rename = "why")]
    pub(super) _why: String,
    pub(super) scripts: Vec<Script>,
}

/// One instance of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    pub(super) name: String,
    /// `http` or `pipe`, where the other cannot play it.
    pub(super) only: Option<String>,
    /// Why it cannot be played in a session.
    #[cfg_attr(not(feature = "legacy"), expect(dead_code, reason = "there are no sessions"))]
    pub(super) modern: Option<String>,
    #[serde(default)]
    pub(super) client: Setup,
    /// What the server answers, by method; each is used once, in order.
    pub(super) replies: Vec<(String, Played)>,
    pub(super) steps: Vec<Step>,
    /// The requests that must have been sent, in order, without the probe.
    pub(super) sent: Option<Vec<Sent>>,
}

impl Script {
    /// Whether the script has its own answers to `tools/list`.
    pub(super) fn lists_tools(&self) -> bool {
        self.replies.iter().any(|(method, _)| method == "tools/list")
    }
}

/// What the client is given.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Setup {
    /// What the person says to a form: `decline`, `cancel`, or the content.
    pub(super) form: Option<Value>,
    pub(super) url: Option<Value>,
    /// What the model says.
    pub(super) sampling: Option<String>,
    pub(super) sampling_tools: bool,
    pub(super) roots: Option<Vec<String>>,
    pub(super) rounds: Option<usize>,
    pub(super) pages: Option<usize>,
    pub(super) items: Option<usize>,
    pub(super) share_public: bool,
}

/// What the server does with one request.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum Played {
    Result(Value),
    Error(Value),
    /// An error under this status, over HTTP.
    Refusal(u16, Value),
    /// Messages, the response among them.
    Messages(Vec<Value>),
    /// A status, headers and a body.
    Http(u16, String, String),
    /// The connection ends.
    Drop,
    /// Nothing, for ever.
    Hold,
}

/// One request of the client, or something that happens.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    /// Whose client asks; clients of different names have different credentials.
    #[serde(default, rename = "as")]
    pub(super) caller: String,
    pub(super) ask: Ask,
    pub(super) timeout_ms: Option<u64>,
    #[serde(default)]
    pub(super) expect: Expect,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ask {
    Tools,
    Resources,
    Templates,
    Prompts,
    Discover,
    Call(String, Value),
    /// A call whose result must be a value.
    CallAs(String, Value),
    Read(String),
    Prompt(String, Value),
    Complete(String),
    /// This much time passes.
    AdvanceMs(u64),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Expect {
    pub(super) names: Option<Vec<String>>,
    /// Tools that are left out, and a word of the reason.
    pub(super) excluded: Option<Vec<(String, String)>>,
    pub(super) text: Option<String>,
    /// The structured content as text; `absent` for none.
    pub(super) structured: Option<String>,
    pub(super) error: Option<Vec<String>>,
    pub(super) not_shown: Vec<String>,
    pub(super) delivery: Option<String>,
    pub(super) is: Option<String>,
    pub(super) code: Option<i64>,
    /// How often anybody was asked until then.
    pub(super) asked: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sent {
    pub(super) method: String,
    /// Members of the parameters, by pointer; `null` means absent.
    #[serde(default)]
    pub(super) params: BTreeMap<String, Value>,
    /// Over HTTP; `null` means absent.
    #[serde(default)]
    pub(super) headers: BTreeMap<String, Option<String>>,
}

/// `"$long:N"` stands for a text of N letters.
pub(super) fn lengthen(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(count) = text.strip_prefix("$long:") {
                *text = "x".repeat(count.parse().unwrap());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(lengthen),
        Value::Object(members) => members.values_mut().for_each(lengthen),
        _ => {}
    }
}

fn message(member: &str, value: &Value) -> Value {
    let mut message = Map::from_iter([("jsonrpc".to_owned(), json!("2.0")), ("id".into(), json!("$id"))]);
    message.insert(member.to_owned(), value.clone());
    Value::Object(message)
}

impl Played {
    /// As it goes over HTTP.
    pub(super) fn reply(&self) -> Reply {
        match self {
            Self::Result(result) => Reply::result(result),
            Self::Error(error) => Reply::error(200, error),
            Self::Refusal(status, error) => Reply::error(*status, error),
            Self::Messages(messages) => Reply::events(messages),
            Self::Http(status, headers, body) => {
                let headers: String = headers.lines().map(|line| format!("{line}\r\n")).collect();
                Reply::http(*status, &headers, body)
            }
            Self::Drop => Reply::drop_connection(),
            Self::Hold => Reply::raw("").then_hold(),
        }
    }

    /// As it goes over a pipe; `None` ends the pipe.
    pub(super) fn lines(&self, id: &Value) -> Option<Vec<Value>> {
        let mut messages = match self {
            Self::Result(result) => vec![message("result", result)],
            Self::Error(error) | Self::Refusal(_, error) => vec![message("error", error)],
            Self::Messages(messages) => messages.clone(),
            Self::Http(..) => panic!("a status has no place on a pipe"),
            Self::Drop => return None,
            Self::Hold => vec![],
        };
        messages.iter_mut().for_each(|message| fill(message, id));
        Some(messages)
    }
}

fn fill(value: &mut Value, id: &Value) {
    match value {
        Value::String(text) if text == "$id" => *value = id.clone(),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, id)),
        Value::Object(members) => members.values_mut().for_each(|member| fill(member, id)),
        _ => {}
    }
}
