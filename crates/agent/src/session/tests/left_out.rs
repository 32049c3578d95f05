//! Tools that a run leaves out.

use super::*;

/// A model that keeps the names of what it is offered, and greets where it can.
struct Looks(Arc<Mutex<Vec<Vec<String>>>>);

impl Selector for Looks {
    fn name(&self) -> &str {
        "looks"
    }

    fn select(&self, step: Step) -> BoxStream<'_, Result<Selected, AgentError>> {
        let names = step.exposure.tools().iter().map(|tool| tool.name().to_owned()).collect();
        self.0.lock().unwrap().push(names);
        stream::iter(say("Well.").into_iter().map(|event| Ok(Selected::Event(event)))).boxed()
    }
}

#[tokio::test]
async fn what_a_run_denies_in_every_call_is_not_offered_and_comes_back_where_it_was() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let two = Server::builder("greeter", "1.0")
        .tool(Tool::new("a", greet))
        .tool(Tool::new("b", greet))
        .build(())
        .unwrap();
    let host = Host::builder(OneModel(ModelChoice::other(Looks(Arc::clone(&seen)))))
        .connect(name("greeter"), Client::builder().in_process(&two))
        .policy(Policy::new(Mode::Yes))
        .build();
    let session = host.open(interactive()).unwrap();
    let all: &[&str] = &["greeter__a", "greeter__b"];
    for (rules, offered) in [
        (vec![], all),
        (vec!["deny greeter/a"], &all[1..]),
        (vec!["deny greeter"], &[]),
        (vec!["deny */*", "ask greeter/a"], &[]),
        (vec!["ask greeter/*"], all),
        (vec!["deny greeter/a mode headless"], all),
        (vec!["deny other*/*", "deny greeter/b"], &all[..1]),
        (vec![], all),
    ] {
        let policy = RunPolicy { rules: rules.iter().map(|&rule| rule.to_owned()).collect(), on_ask: None };
        let run = session.ask(RunRequest { policy: Some(policy), ..RunRequest::new("Well?") }).unwrap();
        let view = session.ended(&run).await.unwrap();
        if rules.contains(&"deny other*/*") {
            assert!(view.outcome.error.unwrap().message.contains("matches no tool"), "{rules:?}");
            continue;
        }
        assert!(view.outcome.error.is_none(), "{rules:?}: {:?}", view.outcome.error);
        assert_eq!(seen.lock().unwrap().last().unwrap(), offered, "{rules:?}");
    }
}
