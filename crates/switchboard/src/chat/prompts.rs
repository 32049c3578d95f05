//! Prompts of servers: their arguments are given behind the name or asked for, with what the server would complete.

use std::collections::BTreeMap;
use std::time::Duration;

use switchboard_agent::host::{ArgumentToComplete, ServerPrompt};
use switchboard_agent::{Host, ServerName, visible};
use switchboard_client::{CompletionReference, PromptArgument};
use tokio::runtime::Handle;

use super::Chat;
use super::attach;
use super::reader::{Choices, Kind, Read};
use crate::failure::Failure;

/// How long a server may think about a completion while a person waits for it.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is typed for a prompt: its name, and its server's where another one has a prompt of this name.
pub(super) fn command(prompt: &ServerPrompt, all: &[ServerPrompt]) -> String {
    let name = visible::name(&prompt.prompt.name);
    let alone = all.iter().filter(|other| other.prompt.name == prompt.prompt.name).count() < 2;
    if alone { format!("/{name}") } else { format!("/{}:{name}", prompt.server) }
}

/// The prompt that was typed.
fn meant(typed: &str, prompts: Vec<ServerPrompt>) -> Option<ServerPrompt> {
    let is = |prompt: &ServerPrompt| {
        prompt.prompt.name == typed
            || typed.strip_prefix(prompt.server.as_str()).and_then(|rest| rest.strip_prefix(':'))
                == Some(prompt.prompt.name.as_str())
    };
    prompts.into_iter().find(is)
}

impl Chat {
    /// Asks for what a prompt of a server wants to know, and asks the model what it gives.
    pub(super) async fn prompt(&mut self, name: &str, rest: &str) -> Result<(), Failure> {
        let prompts = self.hosting.host.prompts().await.unwrap_or_default();
        let Some(ServerPrompt { server, prompt }) = meant(name.trim_start_matches('/'), prompts) else {
            self.screen.warning(&format!(
                "there is no command and no prompt {}; /help lists what can be typed",
                visible::name(name)
            ));
            return Ok(());
        };
        let split = || rest.split_whitespace().map(str::to_owned).collect();
        let mut words = shlex::split(rest).unwrap_or_else(split).into_iter();
        let mut arguments = BTreeMap::new();
        for argument in prompt.arguments.iter().flatten() {
            let given = match words.next() {
                Some(word) => Some(word),
                None => self.argument((&server, &prompt.name), argument, &arguments).await,
            };
            let Some(value) = given else { return Ok(()) };
            if !value.is_empty() {
                arguments.insert(argument.name.clone(), value);
            }
        }
        match self.hosting.host.prompt(&server, (&prompt.name, &arguments)).await {
            Ok(got) => {
                let (question, attachments) = attach::said(&server, got);
                question.lines().take(12).for_each(|line| self.screen.note(&format!("  │ {line}")));
                self.ask_with(&question, attachments).await
            }
            Err(error) => {
                self.complain(error);
                Ok(())
            }
        }
    }

    /// A value for an argument of a prompt; nothing if the person leaves it.
    async fn argument(
        &self,
        (server, prompt): (&ServerName, &str),
        argument: &PromptArgument,
        given: &BTreeMap<String, String>,
    ) -> Option<String> {
        let required = argument.required == Some(true);
        let what = argument.description.as_deref().map(|text| format!(" ({})", visible::short(text, 60)));
        let must = if required { "" } else { ", optional" };
        let label = format!("  {}{}{must}: ", visible::name(&argument.name), what.unwrap_or_default());
        loop {
            let asked = ArgumentToComplete {
                reference: CompletionReference::Prompt { name: prompt.to_owned(), title: None },
                argument: argument.name.clone(),
                value: String::new(),
                context: given.clone(),
            };
            let choices = choices((self.hosting.host.clone(), server.clone()), asked);
            match self.reader.read(&label, Kind::Answer(Some(choices))).await {
                Read::Line(line) if required && line.trim().is_empty() => {
                    self.screen.line("  It must have a value; ctrl-c leaves.");
                }
                Read::Line(line) => return Some(line.trim().to_owned()),
                Read::Interrupted | Read::End => return None,
            }
        }
    }
}

/// What a server would complete. Whoever cannot say so says nothing.
fn choices((host, server): (Host, ServerName), asked: ArgumentToComplete) -> Choices {
    let runtime = Handle::current();
    Box::new(move |typed| {
        let asked = ArgumentToComplete { value: typed.to_owned(), ..asked.clone() };
        let completed =
            runtime.block_on(async { tokio::time::timeout(PATIENCE, host.complete(&server, &asked)).await });
        let values = completed.ok().and_then(Result::ok).map(|completion| completion.values);
        // What cannot be typed is no completion.
        let plain = |value: &String| !value.chars().any(visible::is_invisible);
        values.unwrap_or_default().into_iter().filter(plain).collect()
    })
}
