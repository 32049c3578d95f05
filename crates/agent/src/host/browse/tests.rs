//! What a server has beside its tools, and what becomes of it in a question.

use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_client::{Client, CompletionReference};
use switchboard_llm::{Finish, ModelEvent};
use switchboard_server::{Args, Completing, Prompt, Resource, Server, Tool};

use super::*;
use crate::host::{ModelChoice, OneModel};
use crate::selector::{Selected, Selector};
use crate::session::{RunRequest, SessionOptions};
use crate::turn::Step;

/// Keeps what it is asked, and says that it heard it.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<String>>);

impl Selector for Heard {
    fn name(&self) -> &str {
        "heard"
    }

    fn select(&self, step: Step) -> BoxStream<'_, Result<Selected, AgentError>> {
        *self.0.lock().unwrap() = format!("{:?}", step.request.messages);
        let events = [ModelEvent::TextDelta("Heard.".to_owned()), ModelEvent::Finish(Finish::Stop)];
        stream::iter(events.map(|event| Ok(Selected::Event(event)))).boxed()
    }
}

#[derive(Deserialize, JsonSchema)]
struct Topic {
    /// What to sum up.
    topic: String,
}

fn library() -> Server {
    let sum_up = async |Args(Topic { topic }): Args<Topic>| format!("Sum up {topic}.");
    let topics = async |typed: Completing| {
        ["tea", "teapots", "cups"]
            .into_iter()
            .filter(|word| word.starts_with(&typed.value))
            .collect::<Vec<_>>()
    };
    Server::builder("library", "1.0")
        .tool(Tool::new("lend", async || "Lent."))
        .prompt(Prompt::new("sum_up", sum_up).describe("Sums up").complete("topic", topics))
        .resource(Resource::new("book://tea", async || "All about tea.").name("tea").mime("text/plain"))
        .resource(Resource::template("book://{id}", async || "A book.").name("any-book"))
        .build(())
        .unwrap()
}

fn name(name: &str) -> ServerName {
    ServerName::new(name).unwrap()
}

fn host(model: Heard) -> Host {
    Host::builder(OneModel(ModelChoice::other(model)))
        .connect(name("library"), Client::builder().in_process(&library()))
        .build()
}

#[tokio::test]
async fn prompts_resources_and_completion_are_found() {
    let host = host(Heard::default());
    let [prompt] = host.prompts().await.unwrap().try_into().unwrap();
    assert_eq!((prompt.server.as_str(), prompt.prompt.name.as_str()), ("library", "sum_up"));
    let arguments = BTreeMap::from([("topic".to_owned(), "tea".to_owned())]);
    let said = host.prompt(&name("library"), ("sum_up", &arguments)).await.unwrap();
    assert!(serde_json::to_string(&said).unwrap().contains("Sum up tea."));
    let found = |query: &str| {
        let (host, query) = (host.clone(), query.to_owned());
        async move {
            let found = host.resources(&query).await.unwrap();
            found.into_iter().map(|found| (found.resource.uri, found.template)).collect::<Vec<_>>()
        }
    };
    let (tea, any) = (("book://tea".to_owned(), false), ("book://{id}".to_owned(), true));
    assert_eq!(found("").await, [tea.clone(), any.clone()]);
    assert_eq!(found("TEA").await, std::slice::from_ref(&tea));
    assert_eq!(found("library:book").await, [tea, any]);
    assert_eq!(found("coffee").await, []);
    let typed = ArgumentToComplete {
        reference: CompletionReference::Prompt { name: "sum_up".to_owned(), title: None },
        argument: "topic".to_owned(),
        value: "te".to_owned(),
        context: BTreeMap::new(),
    };
    assert_eq!(host.complete(&name("library"), &typed).await.unwrap().values, ["tea", "teapots"]);
}

#[tokio::test]
async fn what_is_not_there_is_said() {
    let host = host(Heard::default());
    let error = host.prompt(&name("nobody"), ("sum_up", &BTreeMap::new())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = host.prompt(&name("library"), ("none", &BTreeMap::new())).await.unwrap_err();
    assert_eq!(error.server(), Some(&name("library")));
    let error = host.accept_pins(&name("library"), Some("none")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn tools_are_compiled_as_a_run_gets_them_and_pinned() {
    let host = host(Heard::default());
    let exposure = host.exposure(None).await.unwrap();
    assert_eq!(exposure.tools().iter().map(|tool| tool.name()).collect::<Vec<_>>(), ["library__lend"]);
    let states = host.pin_states(&name("library")).await.unwrap();
    assert_eq!(states, [("lend".to_owned(), PinState::Same)]);
    assert_eq!(host.accept_pins(&name("library"), None).await.unwrap(), Vec::<String>::new());
    assert!(host.exposure(Some("another")).await.is_err());
}

#[tokio::test]
async fn a_resource_that_is_mentioned_goes_with_the_question() {
    for (uri, heard) in [("book://tea", Some("All about tea.")), ("shop://cups", None)] {
        let model = Heard::default();
        let session = host(model.clone()).open(SessionOptions::default()).unwrap();
        let request = serde_json::json!({
            "input": "What is this?",
            "attachments": [{ "resource": { "server": "library", "uri": uri } }],
        });
        let request: RunRequest = serde_json::from_value(request).unwrap();
        let run = session.ask(request).unwrap();
        let view = session.ended(&run).await.unwrap();
        match heard {
            Some(heard) => {
                assert_eq!(view.outcome.answer.as_deref(), Some("Heard."));
                assert!(model.0.lock().unwrap().contains(heard), "{:?}", model.0.lock().unwrap());
            }
            None => {
                let error = view.outcome.error.unwrap();
                assert!(error.message.contains("shop://cups"), "{error:?}");
            }
        }
    }
}
