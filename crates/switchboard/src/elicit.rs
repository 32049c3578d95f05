//! Questions of servers, on a terminal: forms to fill in and addresses to open [spec: client/elicitation].
//!
//! Only where somebody can be asked does the client say that it can ask. Everything that a server wrote stands behind
//! a bar and has its control characters made visible. Nothing is sent before the person has seen all of it, and an
//! address is shown, never fetched. Where to look next: `elicit/field.rs` for how one field is read.

mod field;

use std::net::IpAddr;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use switchboard_agent::journal::{Authorization, Journal};
use switchboard_agent::questions::Questions;
use switchboard_agent::{CallId, ServerName, visible};
use switchboard_client::{CreateMessage, CreateMessageResult, ElicitReply, Refused};
use switchboard_protocol::model::elicitation::{
    Elicit, ElicitAction, ElicitForm, ElicitResult, ElicitSchema, ElicitUrl, Fields, PrimitiveSchema,
};
use url::Url;

use self::field::Typed;
use crate::ask;
use crate::screen::Screen;
use crate::stdin;

/// What a person types in place of a value to refuse, or to leave without a choice.
const DECLINE: &str = ":decline";
const CANCEL: &str = ":cancel";

/// Takes the questions of all servers to the person, outside of a session.
pub(crate) struct Person {
    journal: Journal,
    screen: Screen,
}

impl Person {
    /// Records in `journal` that something was asked.
    pub(crate) fn new(journal: &Journal, screen: &Screen) -> Self {
        Self { journal: journal.clone(), screen: screen.clone() }
    }
}

impl Questions for Person {
    fn elicit<'a>(
        &'a self,
        server: &'a ServerName,
        _: Option<CallId>,
        asked: Elicit,
    ) -> BoxFuture<'a, ElicitResult> {
        let said = |action| ElicitResult { action, content: None };
        Box::pin(async move {
            let desk = Desk::new(server, &self.journal, &self.screen);
            match asked {
                Elicit::Form(form) => {
                    let reply = desk.form(&form).await;
                    reply.result(&form).unwrap_or_else(|_| said(ElicitAction::Cancel))
                }
                Elicit::Url(asked) => said(action(&desk.url(&asked).await)),
            }
        })
    }

    fn sample<'a>(
        &'a self,
        _: &'a ServerName,
        _: Option<CallId>,
        _: CreateMessage,
    ) -> BoxFuture<'a, Result<CreateMessageResult, Refused>> {
        Box::pin(async { Err(Refused("no language model belongs to this call".to_owned())) })
    }
}

/// Takes the questions of one server to the person.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    server: ServerName,
    /// Where it is recorded that something was asked, unless that is done elsewhere.
    journal: Option<Journal>,
    screen: Screen,
}

impl Desk {
    fn new(server: &ServerName, journal: &Journal, screen: &Screen) -> Self {
        Self { server: server.clone(), journal: Some(journal.clone()), screen: screen.clone() }
    }

    /// For what a session has recorded already.
    pub(crate) fn unrecorded(server: &ServerName, screen: &Screen) -> Self {
        Self { server: server.clone(), journal: None, screen: screen.clone() }
    }

    pub(crate) async fn form(&self, form: &ElicitForm) -> ElicitReply {
        let names = form.requested_schema.properties.0.iter().map(|(name, _)| name.clone());
        self.asked(&form.message, names.collect(), None);
        let _one_at_a_time = ask::turn().await;
        let _still = self.screen.still();
        self.heading("asks", &form.message);
        self.screen.line("  Your answer goes to this server: give it no password.");
        self.screen.line(&format!("  Enter takes a default; {DECLINE} refuses, {CANCEL} leaves."));
        let reply = self.fill_in(form).await;
        self.replied(&reply);
        reply
    }

    /// Asks field after field, then shows what will be sent, until the person sends it or does not.
    async fn fill_in(&self, form: &ElicitForm) -> ElicitReply {
        loop {
            let mut content = Map::new();
            for (name, field) in &form.requested_schema.properties.0 {
                match self.value(form, (name, field)).await {
                    Ok(Some(value)) => drop(content.insert(name.clone(), value)),
                    Ok(None) => {}
                    Err(ended) => return ended,
                }
            }
            match self.review(&Value::Object(content)).await {
                Some(reply) => return reply,
                None => self.screen.line("  Once more:"),
            }
        }
    }

    /// One value, asked for until it fits; nothing if the field is left out.
    ///
    /// # Errors
    /// The reply that ends the form.
    async fn value(
        &self,
        form: &ElicitForm,
        (name, field): (&str, &PrimitiveSchema),
    ) -> Result<Option<Value>, ElicitReply> {
        let required = form.requested_schema.required.iter().flatten().any(|wanted| wanted == name);
        self.screen.line("");
        for line in field::describe(name, field, required) {
            self.screen.line(&line);
        }
        loop {
            self.screen.ask(&self.screen.strong(&format!("  {}: ", field::prompt(field))));
            let line = self.line().await?;
            let problem = match field::read(field, &line) {
                Typed::Nothing if required => "It must have a value.".to_owned(),
                Typed::Nothing => return Ok(None),
                Typed::Wrong(problem) => problem,
                Typed::Value(value) => match fits((name, field), &value) {
                    Ok(()) => return Ok(Some(value)),
                    Err(problem) => format!("{}.", visible::line(&problem)),
                },
            };
            self.screen.line(&format!("  {problem}"));
        }
    }

    /// A line of the person.
    ///
    /// # Errors
    /// The reply, if it ends the question.
    async fn line(&self) -> Result<String, ElicitReply> {
        let Some(line) = stdin::line().await else { return Err(ElicitReply::Cancel) };
        self.screen.answered();
        match line.trim().to_lowercase().as_str() {
            DECLINE => Err(ElicitReply::Decline),
            CANCEL => Err(ElicitReply::Cancel),
            _ => Ok(line),
        }
    }

    /// Shows what will be sent. Nothing: the person wants to change it.
    async fn review(&self, content: &Value) -> Option<ElicitReply> {
        self.screen.line(&format!("\nSend this to {}?", self.server));
        let shown =
            serde_json::value::to_raw_value(content).map(|raw| visible::json(&raw)).unwrap_or_default();
        for line in shown.lines() {
            self.screen.line(&format!("  {line}"));
        }
        loop {
            self.screen.ask(&self.screen.strong("  [s] send   [e] edit   [d] decline   [c] cancel: "));
            let line = match self.line().await {
                Ok(line) => line,
                Err(ended) => return Some(ended),
            };
            match line.trim().to_lowercase().as_str() {
                "s" | "send" | "y" | "yes" => return Some(ElicitReply::Accept(content.clone())),
                "e" | "edit" => return None,
                "d" | "decline" => return Some(ElicitReply::Decline),
                "c" | "cancel" => return Some(ElicitReply::Cancel),
                _ => self.screen.line("  Answer s, e, d or c."),
            }
        }
    }

    pub(crate) async fn url(&self, asked: &ElicitUrl) -> ElicitReply {
        let url = Url::parse(&asked.url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default().to_owned();
        self.asked(&asked.message, Vec::new(), Some(host.clone()));
        let _one_at_a_time = ask::turn().await;
        let _still = self.screen.still();
        self.heading("asks you to open an address", &asked.message);
        let reply = match url {
            Some(url) => self.agree(&url, &host).await,
            None => {
                self.screen.warning(&format!(
                    "{} is no address of the web, so it is declined",
                    visible::quoted(&asked.url, 200)
                ));
                ElicitReply::Decline
            }
        };
        self.replied(&reply);
        reply
    }

    async fn agree(&self, url: &Url, host: &str) -> ElicitReply {
        self.screen.line(&format!("  host       {}", self.screen.strong(host)));
        self.screen.line(&format!("  address    {url}"));
        for doubt in doubts(url, host) {
            self.screen.warning(doubt);
        }
        self.screen.line("  This program does not open it: you do, if you know this host.");
        loop {
            self.screen.ask(&self.screen.strong("  [y] agree   [d] decline   [c] cancel: "));
            let line = match self.line().await {
                Ok(line) => line,
                Err(ended) => return ended,
            };
            match line.trim().to_lowercase().as_str() {
                "y" | "yes" | "agree" => {
                    self.screen.line(&format!("  Open this in your browser: {url}"));
                    return ElicitReply::Accept(Value::Null);
                }
                "d" | "decline" | "n" | "no" => return ElicitReply::Decline,
                "c" | "cancel" => return ElicitReply::Cancel,
                _ => self.screen.line("  Answer y, d or c."),
            }
        }
    }

    /// Who asks, and what they say, behind a bar so that it cannot pass for this program's own words.
    fn heading(&self, does: &str, message: &str) {
        self.screen.line(&format!("\n{} {does}:", self.screen.strong(self.server.as_str())));
        said(message).for_each(|line| self.screen.line(&line));
    }

    fn asked(&self, message: &str, fields: Vec<String>, host: Option<String>) {
        let (server, message) = (self.server.clone(), message.to_owned());
        if let Some(journal) = &self.journal {
            journal.record(Authorization::Elicited { server, message, fields, host });
        }
    }

    fn replied(&self, reply: &ElicitReply) {
        let action = action(reply);
        if let Some(journal) = &self.journal {
            journal.record(Authorization::Replied { server: self.server.clone(), action });
        }
    }
}

/// A message behind its bar. One that was made visible already stays as it is.
fn said(message: &str) -> impl Iterator<Item = String> {
    message.lines().map(|line| format!("  │ {}", visible::text(line)))
}

fn action(reply: &ElicitReply) -> ElicitAction {
    match reply {
        ElicitReply::Accept(_) => ElicitAction::Accept,
        ElicitReply::Decline => ElicitAction::Decline,
        ElicitReply::Cancel => ElicitAction::Cancel,
    }
}

/// Whether a value fits its field, in the client's own judgement.
fn fits((name, field): (&str, &PrimitiveSchema), value: &Value) -> Result<(), String> {
    let properties = Fields(vec![(name.to_owned(), field.clone())]);
    let requested_schema = ElicitSchema { properties, ..ElicitSchema::default() };
    let content = Map::from_iter([(name.to_owned(), value.clone())]);
    let form = ElicitForm { message: String::new(), requested_schema };
    ElicitReply::Accept(Value::Object(content)).check(&form)
}

/// What a person should know about an address before they open it.
fn doubts(url: &Url, host: &str) -> Vec<&'static str> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let here = host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let mut doubts = Vec::new();
    if url.scheme() != "https" && !here {
        doubts.push("what goes to this address can be read on the way: it is not https");
    }
    if host.split('.').any(|label| label.starts_with("xn--")) {
        doubts.push("the host has letters of other scripts, which may look like another host's");
    }
    if !url.username().is_empty() || url.password().is_some() {
        doubts.push("the address holds a name before its host; only the host says where it leads");
    }
    doubts
}

#[cfg(test)]
mod tests;
