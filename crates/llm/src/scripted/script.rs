//! The format of scripts.
//!
//! A script is JSON: `{"turns": [ … ]}`. A turn says what it expects of the request and answers in one of three
//! ways: `think`, `say` and `call` (written as the endpoint that was asked writes them, streamed if the request
//! asks for it), `stream` (pieces of an event stream) or `body` (anything, with `status` and `headers`). How they
//! are written is in `render`, whether a request is as expected in `expect`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// What a scripted model plays.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// One answer a chat request, in order.
    pub turns: Vec<Turn>,
    /// Whether to begin again after the last turn, instead of refusing.
    pub repeat: bool,
    /// Answers to GET requests by path, such as `/v1/models`. Every other path is not found.
    pub get: BTreeMap<String, Value>,
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// If the text is not JSON or has members that a script does not have.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

/// One answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    /// What the request must be like.
    pub expect: Expect,
    /// The status. 200 by default.
    pub status: Option<u16>,
    /// Further headers; they replace the usual ones.
    pub headers: BTreeMap<String, String>,
    /// The answer's thinking.
    pub think: Option<String>,
    /// The answer's text.
    pub say: Option<String>,
    /// The answer's calls.
    pub call: Vec<Call>,
    /// What the answer costs.
    pub usage: Figures,
    /// An event stream: a text is sent as it stands, any other value as the data of one event.
    pub stream: Option<Vec<Piece>>,
    /// A body: a text is sent as it stands, any other value as JSON.
    pub body: Option<Value>,
    /// Byte offsets at which the body is cut into pieces of their own.
    pub cuts: Vec<usize>,
    /// The size of the pieces in bytes, instead of `cuts`.
    pub cut_every: Option<usize>,
    /// How many bytes are sent before the rest waits for [`ScriptedModel::release`](super::ScriptedModel::release).
    pub hold: Option<usize>,
    /// What happens after the last byte.
    pub then: Ending,
}

/// What an answer costs, in tokens.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Figures {
    /// Read, all in all.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Of what was read, from the cache.
    pub cached: u64,
    /// Of what was read, put into the cache.
    pub cache_write: u64,
}

impl Default for Figures {
    fn default() -> Self {
        Self { input: 10, output: 5, cached: 0, cache_write: 0 }
    }
}

/// One piece of a scripted event stream.
pub type Piece = Value;

/// A call of a tool.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Call {
    /// The id. Made up if it is empty.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments: a text is sent as it stands, any other value as its JSON text.
    pub arguments: Value,
}

/// How a body ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// In good order.
    #[default]
    End,
    /// The connection breaks.
    Abort,
    /// Nothing more comes and the connection stays open.
    Hang,
    /// The last piece comes again and again, without end.
    Flood,
}

/// What a request must be like. What is absent is not looked at.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expect {
    /// The path. By default that of either wire below `/v1`.
    pub path: Option<String>,
    /// The role of the last message; a message with results of calls is `tool` on every wire.
    pub last_role: Option<String>,
    /// What the text of the last message must contain.
    pub last_contains: Option<String>,
    /// The number of messages on the wire.
    pub messages: Option<usize>,
    /// Tools that must be offered.
    pub offers: Vec<String>,
    /// Members of the body that must be there.
    pub has: Vec<String>,
    /// Members of the body that must not be there.
    pub lacks: Vec<String>,
    /// What the body must contain as text.
    pub contains: Vec<String>,
}

impl Turn {
    /// A turn that answers with text.
    pub fn say(text: impl Into<String>) -> Self {
        Self { say: Some(text.into()), ..Self::default() }
    }

    /// A turn that calls one tool.
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self { call: vec![Call { id: String::new(), name: name.into(), arguments }], ..Self::default() }
    }

    /// A turn that makes several calls at once.
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let call = calls
            .into_iter()
            .map(|(name, arguments)| Call { id: String::new(), name: name.to_owned(), arguments })
            .collect();
        Self { call, ..Self::default() }
    }

    /// A turn that fails.
    pub fn fail(status: u16, body: Value) -> Self {
        Self { status: Some(status), body: Some(body), ..Self::default() }
    }

    /// A turn that answers with an event stream.
    pub fn stream(pieces: Vec<Piece>) -> Self {
        Self { stream: Some(pieces), ..Self::default() }
    }
}
