//! A call that waits for a person, and the others that its server is given meanwhile.

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use switchboard_client::{Elicit, ElicitAction, ElicitResult, Era};
use switchboard_llm::{Finish, ModelEvent, ToolCallRequest};
use switchboard_server::{Call, Elicited, Need, Question, Server, Tool as Offer, ToolError};
use tokio::sync::Notify;

use super::*;
use crate::error::AgentError;
use crate::name::CallId;
use crate::policy::{Mode, Policy};
use crate::questions::Questions;
use crate::selector::{Selected, Selector};
use crate::turn::Step;
use crate::{Agent, Limits};

#[derive(Deserialize, JsonSchema)]
struct Sure {
    sure: bool,
}

impl<S: Sync> Question<S> for Sure {
    async fn need(_: &Call, _: &S) -> Result<Need<Self>, ToolError> {
        Ok(Need::Ask("Are you sure?".into()))
    }
}

/// Says yes once somebody lets it.
struct Person {
    asked: Notify,
    answers: Arc<Notify>,
}

impl Questions for Person {
    fn elicit<'a>(&'a self, _: &'a ServerName, _: Option<CallId>, _: Elicit) -> BoxFuture<'a, ElicitResult> {
        Box::pin(async {
            self.asked.notify_one();
            self.answers.notified().await;
            ElicitResult { action: ElicitAction::Accept, content: json!({"sure": true}).as_object().cloned() }
        })
    }
}

/// A model that calls one tool.
struct Calls(&'static str);

impl Selector for Calls {
    fn name(&self) -> &str {
        "calls"
    }

    fn select(&self, step: Step) -> BoxStream<'_, Result<Selected, AgentError>> {
        let event = match step.number {
            1 => ModelEvent::CallEnd { call: 0, request: ToolCallRequest::new("id", self.0, "{}") },
            _ => ModelEvent::TextDelta("Done.".to_owned()),
        };
        Box::pin(stream::iter(
            [event, ModelEvent::Finish(Finish::Stop)].map(|event| Ok(Selected::Event(event))),
        ))
    }
}

async fn order(Elicited(Sure { sure }): Elicited<Sure>) -> String {
    format!("ordered: {sure}")
}

async fn look() -> &'static str {
    "looked"
}

/// Two sessions, one server that is given one call at a time: the first call asks, and so the second is made, or not.
async fn check(era: Era, goes_on: bool) {
    let server =
        Server::builder("careful", "1").tool(Offer::new("order", order)).tool(Offer::new("look", look));
    let server = server.build(()).unwrap();
    let supervisor = supervisor(vec![ServerConfig { era, max_concurrency: Some(1), ..config("s", &server) }]);
    supervisor.ready(SECOND).await.unwrap();
    let answers = Arc::new(Notify::new());
    let person = Arc::new(Person { asked: Notify::new(), answers: Arc::clone(&answers) });
    let agent = |tool| {
        Agent::builder(Calls(tool))
            .supervisor(&supervisor)
            .policy(Policy::new(Mode::Yes))
            .questions(Arc::clone(&person) as _)
            .limits(Limits { wall_clock: Some(10 * SECOND), ..Limits::default() })
            .build()
            .unwrap()
    };
    let (first, second) = (agent("s__order"), agent("s__look"));
    let order = tokio::spawn(async move { first.run("q").await });
    person.asked.notified().await;
    let looked = tokio::spawn(async move { second.run("q").await });
    // Longer than a run may take: no time of the first counts.
    pass(8 * SECOND).await;
    assert_eq!(looked.is_finished(), goes_on, "{era:?}");
    pass(60 * SECOND).await;
    answers.notify_one();
    let ordered = order.await.unwrap().unwrap();
    assert!(format!("{:?}", ordered.calls[0].status).contains("ordered: true"), "{ordered:?}");
    if goes_on {
        looked.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_person_lets_others_go_on() {
    check(Era::Auto, true).await;
}

#[cfg(feature = "legacy")]
#[tokio::test(start_paused = true)]
async fn a_call_of_a_session_keeps_its_place_while_it_asks() {
    check(Era::Legacy, false).await;
}
