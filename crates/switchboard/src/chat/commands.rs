//! What begins with `/`: commands of this program, then prompts of the servers.

use switchboard_agent::policy::{Action, Rule};
use switchboard_agent::supervisor::ServerStatus;
use switchboard_agent::{Host, SessionOptions, visible};

use super::{Chat, prompts};
use crate::failure::Failure;
use crate::fold::{entry as entry_of, folded, width};
use crate::sessions_cmd;

/// Our own, with what each does.
const COMMANDS: &[(&str, &str)] = &[
    ("/help", "what can be typed"),
    ("/new", "begin a new conversation"),
    ("/sessions", "earlier conversations"),
    ("/resume", "go on with one: /resume ID"),
    ("/servers", "how the servers are; /servers NAME,NAME uses only these, /servers all uses all"),
    ("/tools", "what the model is offered; /tools off SERVER/* leaves some out, /tools on takes all back"),
    ("/model", "which models there are; /model NAME takes another one"),
    ("/quit", "leave"),
];

/// What else can be typed.
const MORE: &[(&str, &str)] = &[
    ("/PROMPT", "a prompt of a server, with its arguments behind it; the others are asked for"),
    ("@SERVER:URI", "a resource of a server, which goes with the question"),
    ("tab", "completes commands, prompts and resources"),
    ("ctrl-c", "ends what runs, or what is asked"),
    ("ctrl-d", "leaves; the conversation is kept"),
];

/// Columns of the names in the help.
const HELP_NAMES: usize = 11;

/// The most columns of the names of tools.
const TOOL_NAMES: usize = 40;
/// The most models of an endpoint that are named.
const MODELS: usize = 12;
/// The most characters of a model's name.
const MODEL_NAME: usize = 64;
/// Sessions that are listed.
const SESSIONS: usize = 20;

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command<'a> {
    name: &'a str,
    rest: &'a str,
}

impl<'a> Command<'a> {
    /// `None` if it is a question. A path, such as `/etc/hosts`, is none of ours.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let own = name.strip_prefix('/').is_some_and(|name| !name.is_empty() && !name.contains('/'));
        own.then_some(Self { name, rest: rest.trim() })
    }
}

/// Everything that can be completed.
pub(super) async fn words(host: &Host) -> Vec<(String, String)> {
    // How to say more is in the help.
    let brief = |what: &str| what.split([';', ':']).next().unwrap_or_default().to_owned();
    let own = COMMANDS.iter().map(|(name, what)| ((*name).to_owned(), brief(what)));
    let mut words: Vec<_> = own.collect();
    let prompts = host.prompts().await.unwrap_or_default();
    words.extend(prompts.iter().map(|prompt| {
        let what = prompt.prompt.title.as_deref().or(prompt.prompt.description.as_deref());
        (prompts::command(prompt, &prompts), visible::short(what.unwrap_or_default(), 60))
    }));
    for resource in host.resources("").await.unwrap_or_default() {
        let what = visible::short(resource.resource.title.as_deref().unwrap_or(&resource.resource.name), 60);
        words.push((format!("@{}:{}", resource.server, visible::line(&resource.resource.uri)), what));
    }
    words
}

impl Chat {
    /// Does what a command says. `true` to leave.
    pub(super) async fn command(&mut self, command: Command<'_>) -> Result<bool, Failure> {
        let Command { name, rest } = command;
        match name {
            "/quit" | "/exit" => return Ok(true),
            "/help" => {
                let columns = (HELP_NAMES, self.screen.columns());
                for entry in COMMANDS.iter().chain(MORE) {
                    self.screen.line(&entry_of(*entry, columns));
                }
            }
            "/new" => self.change(None)?,
            "/resume" if !rest.is_empty() => {
                self.change(Some(rest))?;
                self.catch_up().await?;
            }
            "/sessions" | "/resume" => self.sessions(),
            "/servers" => self.servers(rest),
            "/model" if rest.is_empty() => self.models().await,
            "/model" => self.take_model(rest).await,
            "/tools" if rest.is_empty() => self.tools().await,
            "/tools" => self.switch_tools(rest),
            other => return self.prompt(other, rest).await.map(|()| false),
        }
        Ok(false)
    }

    fn change(&mut self, id: Option<&str>) -> Result<(), Failure> {
        let options =
            SessionOptions { id: id.map(str::to_owned), interactive: true, ..SessionOptions::default() };
        match self.hosting.host.open(options) {
            Ok(session) => {
                (self.session, self.seen) = (session, 0);
                self.watch();
                if !self.off.is_empty() {
                    self.screen
                        .note(&format!("still left out: {}; /tools on takes all back", self.off.join(", ")));
                }
            }
            Err(error) => self.complain(error),
        }
        Ok(())
    }

    fn sessions(&self) {
        match self.hosting.host.sessions() {
            Ok(sessions) if sessions.is_empty() => self.screen.note("there is none yet"),
            Ok(sessions) => {
                let newest = sessions.get(..SESSIONS).unwrap_or(&sessions);
                match sessions_cmd::overview(&self.hosting.host, newest, self.screen.size().1) {
                    Ok(table) => self.screen.line(&table),
                    Err(failure) => failure.report(&self.screen, false),
                }
            }
            Err(error) => self.complain(error),
        }
    }

    fn servers(&mut self, names: &str) {
        let known = self.hosting.supervisor.status();
        if names == "all" {
            self.servers = None;
        } else if !names.is_empty() {
            let chosen: Vec<String> =
                names.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect();
            if let Some(unknown) =
                chosen.iter().find(|name| known.iter().all(|server| server.name.as_str() != **name))
            {
                self.screen.warning(&format!("no server is called {}", visible::quoted(unknown, 64)));
                return;
            }
            self.servers = Some(chosen);
        }
        for server in &known {
            let used = self
                .servers
                .as_ref()
                .is_none_or(|chosen| chosen.iter().any(|name| name == server.name.as_str()));
            self.screen.line(&folded(&server_line(server, used), self.screen.columns()));
        }
    }

    async fn take_model(&mut self, name: &str) {
        let models = self.hosting.host.models();
        match models.select(Some(name)).await {
            Ok(choice) => {
                self.model = Some(name.to_owned());
                choice.note.iter().for_each(|note| self.screen.note(note));
                // It may have more than it says, so this stops nobody.
                let listed = models.beside(name).await;
                let wanted = choice.chat.as_ref().map_or(name, |chat| chat.name());
                if !listed.is_empty() && !listed.iter().any(|known| known == wanted) {
                    self.screen.warning(&unlisted(wanted, &listed));
                }
            }
            Err(error) => self.complain(error),
        }
    }

    async fn models(&self) {
        let models = self.hosting.host.models();
        // What nobody named is known once it is looked for.
        let chosen = self.model.clone().or_else(|| self.session.record().model);
        let usual = models.select(None).await.ok().and_then(|choice| choice.chat);
        let current = chosen.or_else(|| usual.map(|chat| chat.name().to_owned()));
        let list = models.list();
        let is_current = |name: &str| current.as_deref() == Some(name);
        let marked = list.iter().position(|model| is_current(&model.name));
        let marked = marked.or_else(|| list.iter().position(|model| is_current(&model.model)));
        if list.is_empty() {
            self.screen.note("none is configured; /model NAME takes one by its provider's name");
        }
        for (at, model) in list.iter().enumerate() {
            let mark = if marked == Some(at) { "●" } else { "○" };
            let (name, of_provider) = (visible::name(&model.name), visible::name(&model.model));
            let beside = if name == of_provider { String::new() } else { format!("  {of_provider}") };
            self.screen.line(&format!("  {mark} {name}{beside}"));
        }
    }

    async fn tools(&self) {
        match self.hosting.host.exposure(self.model.as_deref()).await {
            Ok(exposure) => {
                let off: Vec<Rule> =
                    self.off.iter().filter_map(|pattern| Rule::new(Action::Deny, pattern).ok()).collect();
                let names = exposure.tools().iter().map(|tool| width(tool.name())).max().unwrap_or_default();
                let columns = (names.min(TOOL_NAMES) + 2, self.screen.columns());
                let mut tokens = 0;
                for tool in exposure.tools() {
                    let is_off = off.iter().any(|rule| rule.names(tool.server(), &tool.tool().name));
                    let mark = if is_off { "○" } else { "●" };
                    tokens += if is_off { 0 } else { tool.token_cost() };
                    let what = visible::short(tool.tool().description.as_deref().unwrap_or_default(), 70);
                    self.screen.line(&entry_of((&format!("{mark} {}", tool.name()), &what), columns));
                }
                self.screen.note(&format!("  about {tokens} tokens"));
            }
            Err(error) => self.complain(error),
        }
    }

    /// `off PATTERN` and `on PATTERN`; `on` alone takes all back.
    fn switch_tools(&mut self, rest: &str) {
        let (word, pattern) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let pattern = pattern.trim();
        match (word, pattern) {
            ("on", "") => self.off.clear(),
            ("on", _) => self.off.retain(|off| off != pattern),
            ("off", pattern) if !pattern.is_empty() => match Rule::new(Action::Deny, pattern) {
                Ok(_) if self.off.iter().any(|off| off == pattern) => {}
                Ok(_) => self.off.push(pattern.to_owned()),
                Err(error) => {
                    self.screen.warning(&error.to_string());
                    return;
                }
            },
            _ => {
                self.screen.warning("write /tools off SERVER/TOOL, /tools on SERVER/TOOL or /tools on");
                return;
            }
        }
        let off = if self.off.is_empty() { "none".to_owned() } else { self.off.join(", ") };
        self.screen.note(&format!("left out: {off}"));
    }
}

/// Says that an endpoint does not list a model, and which it lists.
fn unlisted(wanted: &str, listed: &[String]) -> String {
    let shown = listed.get(..MODELS).unwrap_or(listed);
    let names: Vec<_> = shown.iter().map(|name| visible::short(name, MODEL_NAME)).collect();
    let more = match listed.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("the endpoint does not list {}; it has {}{more}", visible::name(wanted), names.join(", "))
}

fn server_line(server: &ServerStatus, used: bool) -> String {
    let mark = if used { "●" } else { "○" };
    let tools = match server.tools_shown() {
        None => String::new(),
        Some(one) if one == "1" => ", 1 tool".to_owned(),
        Some(tools) => format!(", {tools} tools"),
    };
    let era = server.revision.as_deref().map(|revision| format!(", {revision}")).unwrap_or_default();
    let error = server.last_error.as_deref().map(|error| format!(": {}", visible::short(error, 120)));
    format!("  {mark} {}  {}{era}{tools}{}", server.name, server.state.as_str(), error.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{Command, unlisted};

    #[test]
    fn a_model_that_its_endpoint_does_not_list_is_said_with_those_that_it_lists() {
        let listed: Vec<String> = (1..=14).map(|number| format!("m{number}")).collect();
        let some = "the endpoint does not list nope; it has m1, m2";
        assert_eq!(unlisted("nope", &listed[..2]), some);
        assert!(unlisted("nope", &listed).ends_with("m11, m12 and 2 more"));
    }

    #[test]
    fn only_a_word_behind_a_slash_is_a_command() {
        for (line, name) in [
            ("/help", Some("/help")),
            ("/resume abc", Some("/resume")),
            ("/", None),
            ("/etc/hosts says what?", None),
            ("what is /help", None),
        ] {
            assert_eq!(Command::parse(line).map(|command| command.name), name, "{line}");
        }
    }
}
