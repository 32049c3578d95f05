//! The client of one combination, with everything that it is asked and told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_client::{
    Client, ClientBuilder, CreateMessage, CreateMessageResult, ElicitForm, ElicitReply, Era, Error, Limits,
    LoggingLevel, OneOrMany, Role, Root, SamplingContent,
};
use tokio::sync::Notify;

use super::place::Theatre;
use super::tap::Tap;
use super::wire::Wire;

pub(super) struct Stage {
    pub(super) client: Client,
    /// The same application, if it could not answer anything.
    pub(super) mute: Client,
    pub(super) ears: Arc<Ears>,
    pub(super) wire: Arc<Wire>,
    /// What somebody at the line saw, where there can be one.
    pub(super) tap: Option<Arc<Tap>>,
}

/// What a client is asked, and what is logged.
#[derive(Default)]
pub(super) struct Ears {
    heard: Mutex<Vec<(&'static str, Value)>>,
    more: Notify,
}

impl Ears {
    fn hear(&self, what: &'static str, value: Value) {
        self.heard.lock().unwrap().push((what, value));
        self.more.notify_one();
    }

    /// Waits until there are so many of a kind, and takes all of it.
    pub(super) async fn take(&self, what: &str, count: usize) -> Vec<Value> {
        loop {
            let heard = self.heard(what);
            if heard.len() >= count {
                self.heard.lock().unwrap().retain(|(known, _)| *known != what);
                return heard;
            }
            self.more.notified().await;
        }
    }

    fn heard(&self, what: &str) -> Vec<Value> {
        let heard = self.heard.lock().unwrap();
        heard.iter().filter(|(known, _)| *known == what).map(|(_, value)| value.clone()).collect()
    }
}

impl Stage {
    pub(super) async fn open(theatre: &Theatre, era: Era, wire: &Arc<Wire>) -> Result<Self, Error> {
        let (ears, wire) = (Arc::<Ears>::default(), Arc::clone(wire));
        let tap = Arc::<Tap>::default();
        let client = theatre.enter(able(base(era, &wire), &ears), &tap).await?;
        let mute = theatre.enter(base(era, &Arc::default()), &Arc::default()).await?;
        let tap = theatre.has_tap().then_some(tap);
        Ok(Self { client, mute, ears, wire, tap })
    }
}

/// No server here is silent: each answers the first request, one of the legacy era with an error. So nothing waits for
/// the time after which a silent one is offered a session, and one that is slow to start is not taken for such a one.
fn base(era: Era, wire: &Arc<Wire>) -> ClientBuilder {
    let wire = Arc::clone(wire);
    let mut limits = Limits::default();
    limits.probe_time = Duration::from_secs(600);
    Client::builder()
        .info("audience", "0.1.0")
        .era(era)
        .limits(limits)
        .log_level(LoggingLevel::Warning)
        .on_wire(move |message| wire.see(message))
}

/// Answers every kind of question.
fn able(client: ClientBuilder, ears: &Arc<Ears>) -> ClientBuilder {
    let ears = || Arc::clone(ears);
    let (form, address, model, roots, log) = (ears(), ears(), ears(), ears(), ears());
    client
        .on_elicit(move |asked| {
            form.hear("form", json!(asked));
            async move { ElicitReply::Accept(fill_in(&asked)) }
        })
        .on_elicit_url(move |asked| {
            address.hear("address", json!(asked));
            async { ElicitReply::Accept(Value::Null) }
        })
        .on_sampling(move |asked| {
            model.hear("model", json!(asked));
            async move { Ok(advice(&asked)) }
        })
        .on_roots(move || {
            roots.hear("roots", Value::Null);
            async {
                vec![Root { uri: "file:///library".into(), name: Some("Library".into()), ..Root::default() }]
            }
        })
        .on_log(move |message| log.hear("log", json!(message)))
}

/// The first form leaves out what has a default. The published JSON Schema allows no fraction in an answer, although
/// the type that it is made from has any number.
fn fill_in(asked: &ElicitForm) -> Value {
    match asked.message.as_str() {
        "Who are you?" => json!({"name": "Ada", "age": 36, "height": 2.0, "mood": "happy"}),
        _ => json!({"reason": "It works", "depth": "short"}),
    }
}

fn advice(asked: &CreateMessage) -> CreateMessageResult {
    CreateMessageResult {
        role: Role::Assistant,
        content: OneOrMany::One(SamplingContent::text(format!("Advice {}", asked.max_tokens))),
        model: "none".into(),
        stop_reason: Some("endTurn".into()),
        meta: None,
    }
}
