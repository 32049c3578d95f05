//! What a turn sends, as the wire that was asked writes it.

use bytes::Bytes;
use futures_core::future::BoxFuture;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use serde_json::{Value, json};

use super::body::ScriptedBody;
use super::script::{Call, Figures, Piece, Turn};
use super::{RecordedRequest, Wire};

const JSON: &str = "application/json";
const STREAM: &str = "text/event-stream";

impl Turn {
    /// The answer to `request`. What is held goes on with `gate`.
    pub(super) fn respond(
        &self,
        turn: usize,
        request: &RecordedRequest,
        gate: BoxFuture<'static, ()>,
    ) -> Result<Response<ScriptedBody>, String> {
        let wire = Wire::of(&request.path).unwrap_or(Wire::ChatCompletions);
        let (bytes, media_type) = self.bytes(turn, wire, &request.body);
        let pieces = self.pieces(&bytes);
        let before = self.hold.map(|hold| {
            let mut sent = 0;
            let fits = |piece: &&Bytes| {
                sent += piece.len();
                sent <= hold
            };
            pieces.iter().take_while(fits).count()
        });
        let body = ScriptedBody::new(pieces, self.then);
        let mut response = Response::new(match before {
            Some(before) => body.held(before, gate),
            None => body,
        });
        if let Some(status) = self.status {
            *response.status_mut() =
                StatusCode::from_u16(status).map_err(|_| format!("no status {status}"))?;
        }
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        for (name, value) in &self.headers {
            let name = name.parse::<HeaderName>().map_err(|_| format!("no header name {name:?}"))?;
            let value = HeaderValue::from_str(value).map_err(|_| format!("no header value {value:?}"))?;
            response.headers_mut().insert(name, value);
        }
        Ok(response)
    }

    /// The bytes that this turn sends, for tests that need no connection.
    #[cfg(test)]
    pub(crate) fn wire_bytes(&self) -> Bytes {
        self.bytes(0, Wire::ChatCompletions, &Value::Null).0
    }

    fn bytes(&self, turn: usize, wire: Wire, request: &Value) -> (Bytes, &'static str) {
        if let Some(pieces) = &self.stream {
            return (encode(pieces), STREAM);
        }
        if let Some(body) = &self.body {
            return (text_or_json(body).into(), JSON);
        }
        match (wire, request["stream"] == true) {
            (Wire::ChatCompletions, true) => (encode(&self.chunks(turn)), STREAM),
            (Wire::ChatCompletions, false) => (self.completion(turn).to_string().into(), JSON),
            (Wire::Messages, true) => (encode(&self.events(turn)), STREAM),
            (Wire::Messages, false) => (self.message(turn).to_string().into(), JSON),
        }
    }

    /// The pieces in which the body is sent.
    fn pieces(&self, bytes: &Bytes) -> Vec<Bytes> {
        let mut cuts: Vec<usize> = match self.cut_every {
            Some(size) => (0..bytes.len()).step_by(size.max(1)).collect(),
            None => self.cuts.clone(),
        };
        cuts.extend(self.hold);
        cuts.retain(|cut| *cut > 0 && *cut < bytes.len());
        cuts.sort_unstable();
        cuts.dedup();
        cuts.push(bytes.len());
        let mut start = 0;
        cuts.into_iter().map(|end| bytes.slice(std::mem::replace(&mut start, end)..end)).collect()
    }

    /// The stream of a chat completion.
    fn chunks(&self, turn: usize) -> Vec<Piece> {
        let chunk =
            |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
        let mut pieces = vec![chunk(json!({ "role": "assistant", "content": "" }))];
        pieces.extend(words(self.think.as_deref()).map(|word| chunk(json!({ "reasoning_content": word }))));
        pieces.extend(words(self.say.as_deref()).map(|word| chunk(json!({ "content": word }))));
        pieces.extend(self.chat_calls(turn).into_iter().map(|call| chunk(json!({ "tool_calls": [call] }))));
        let finish = self.chat_finish();
        pieces.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": finish }] }));
        pieces.push(json!({ "choices": [], "usage": self.usage.chat() }));
        pieces.push(json!("data: [DONE]\n\n"));
        pieces
    }

    /// A whole chat completion.
    fn completion(&self, turn: usize) -> Value {
        let mut message =
            json!({ "role": "assistant", "content": self.say, "tool_calls": self.chat_calls(turn) });
        if let Some(think) = &self.think {
            message["reasoning_content"] = json!(think);
        }
        let choice = json!({ "index": 0, "message": message, "finish_reason": self.chat_finish() });
        json!({ "object": "chat.completion", "choices": [choice], "usage": self.usage.chat() })
    }

    fn chat_calls(&self, turn: usize) -> Vec<Value> {
        let call = |(index, call): (usize, &Call)| {
            let function = json!({ "name": call.name, "arguments": text_or_json(&call.arguments) });
            json!({ "index": index, "id": call.id("call", turn, index), "type": "function", "function": function })
        };
        self.call.iter().enumerate().map(call).collect()
    }

    fn chat_finish(&self) -> &'static str {
        if self.call.is_empty() { "stop" } else { "tool_calls" }
    }

    /// The stream of a message.
    fn events(&self, turn: usize) -> Vec<Piece> {
        let event = |data: Value| {
            json!(format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default()))
        };
        let start = json!({ "id": format!("msg_{}", turn + 1), "type": "message", "role": "assistant",
            "content": [], "stop_reason": null, "usage": self.usage.message(1) });
        let mut pieces = vec![event(json!({ "type": "message_start", "message": start }))];
        pieces.push(event(json!({ "type": "ping" })));
        for (index, block) in self.blocks(turn).into_iter().enumerate() {
            let (first, deltas) = opened(block);
            let opening = json!({ "type": "content_block_start", "index": index, "content_block": first });
            pieces.push(event(opening));
            pieces.extend(deltas.into_iter().map(|delta| {
                event(json!({ "type": "content_block_delta", "index": index, "delta": delta }))
            }));
            pieces.push(event(json!({ "type": "content_block_stop", "index": index })));
        }
        let usage = json!({ "output_tokens": self.usage.output });
        let delta = json!({ "stop_reason": self.stop_reason(), "stop_sequence": null });
        pieces.push(event(json!({ "type": "message_delta", "delta": delta, "usage": usage })));
        pieces.push(event(json!({ "type": "message_stop" })));
        pieces
    }

    /// A whole message.
    fn message(&self, turn: usize) -> Value {
        json!({ "id": format!("msg_{}", turn + 1), "type": "message", "role": "assistant",
            "content": self.blocks(turn), "stop_reason": self.stop_reason(),
            "usage": self.usage.message(self.usage.output) })
    }

    fn blocks(&self, turn: usize) -> Vec<Value> {
        let think = self.think.iter().map(|text| {
            json!({ "type": "thinking", "thinking": text, "signature": format!("signed-{}", turn + 1) })
        });
        let say = self.say.iter().map(|text| json!({ "type": "text", "text": text }));
        let calls = self.call.iter().enumerate().map(|(index, call)| {
            json!({ "type": "tool_use", "id": call.id("toolu", turn, index), "name": call.name,
                "input": call.arguments })
        });
        think.chain(say).chain(calls).collect()
    }

    fn stop_reason(&self) -> &'static str {
        if self.call.is_empty() { "end_turn" } else { "tool_use" }
    }
}

impl Call {
    fn id(&self, start: &str, turn: usize, index: usize) -> String {
        if self.id.is_empty() { format!("{start}_{}_{}", turn + 1, index + 1) } else { self.id.clone() }
    }
}

impl Figures {
    fn chat(&self) -> Value {
        let mut usage = json!({ "prompt_tokens": self.input, "completion_tokens": self.output,
            "total_tokens": self.input + self.output });
        if self.cached + self.cache_write > 0 {
            usage["prompt_tokens_details"] =
                json!({ "cached_tokens": self.cached, "cache_write_tokens": self.cache_write });
        }
        usage
    }

    /// This wire counts apart what has to do with the cache.
    fn message(&self, output: u64) -> Value {
        json!({ "input_tokens": self.input.saturating_sub(self.cached + self.cache_write),
            "cache_read_input_tokens": self.cached, "cache_creation_input_tokens": self.cache_write,
            "output_tokens": output })
    }
}

/// A block as its start and its deltas.
fn opened(block: Value) -> (Value, Vec<Value>) {
    let text = |member: &str| block[member].as_str().unwrap_or_default();
    match text("type") {
        "thinking" => {
            let mut deltas: Vec<Value> = words(Some(text("thinking")))
                .map(|word| json!({ "type": "thinking_delta", "thinking": word }))
                .collect();
            deltas.push(json!({ "type": "signature_delta", "signature": block["signature"] }));
            (json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas)
        }
        "text" => {
            let deltas = words(Some(text("text"))).map(|word| json!({ "type": "text_delta", "text": word }));
            (json!({ "type": "text", "text": "" }), deltas.collect())
        }
        _ => {
            let input = text_or_json(&block["input"]);
            let half = (0..=input.len() / 2).rev().find(|at| input.is_char_boundary(*at)).unwrap_or_default();
            let (head, tail) = input.split_at(half);
            let deltas =
                ["", head, tail].map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }));
            let mut first = block;
            first["input"] = json!({});
            (first, deltas.to_vec())
        }
    }
}

/// The bytes of an event stream of these pieces.
fn encode(pieces: &[Piece]) -> Bytes {
    let encoded: String = pieces
        .iter()
        .map(|piece| match piece {
            Value::String(raw) => raw.clone(),
            data => format!("data: {data}\n\n"),
        })
        .collect();
    encoded.into()
}

fn text_or_json(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn words(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.unwrap_or_default().split_inclusive(' ')
}
