//! From a file of ours to what it says, part by part: what is wrong with one part leaves the others.

use serde::de::DeserializeOwned;

use super::file::{
    KEYS, NativeLimits, NativeListen, NativeModel, NativePolicy, NativeServer, NativeTransport, NativeTrust,
};
use super::schema;
use crate::entry::{EraChoice, HttpTransport, Trust};
use crate::nearest::nearest;
use crate::origin::{Notice, Origin, Problem};
use crate::raw::{RawServer, RawTarget, Settings, Text};
use crate::text::{Kind, Node, Position};

/// A file of ours. What is not about servers is kept together: it is trusted or not as one.
#[derive(Debug, Default)]
pub(crate) struct Native {
    pub(crate) servers: Vec<RawServer>,
    pub(crate) include: Vec<Text>,
    pub(crate) default_model: Option<String>,
    pub(crate) models: Vec<(String, Position, NativeModel)>,
    pub(crate) policy: Option<(NativePolicy, Vec<Position>)>,
    pub(crate) limits: Option<NativeLimits>,
    pub(crate) listen: Option<(NativeListen, Position)>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) problems: Vec<Problem>,
}

/// Reads a file of ours.
pub(crate) fn read(root: &Node, origin: &Origin) -> Native {
    let mut reader = Reader { origin, native: Native::default() };
    reader.unknown_tables(root);
    reader.include(root);
    if let Some(name) = reader.part::<String>(root, "default_model") {
        reader.native.default_model = Some(name);
    }
    reader.native.limits = reader.part(root, "limits");
    let place = |key: &str| root.place([key]);
    reader.native.listen = reader.part(root, "listen").map(|listen| (listen, place("listen")));
    let rules = root.member("policy").and_then(|policy| policy.member("rules"));
    let lines = rules.map_or(&[][..], Node::elements).iter().map(|rule| rule.at).collect();
    reader.native.policy = reader.part(root, "policy").map(|policy| (policy, lines));
    for (name, at, node) in root.member("models").map_or(&[][..], Node::members) {
        if let Some(model) = reader.decode(node, &["models", name], None) {
            reader.native.models.push((name.clone(), *at, model));
        }
    }
    for (name, at, node) in root.member("servers").map_or(&[][..], Node::members) {
        reader.server(name, *at, node);
    }
    reader.native
}

struct Reader<'a> {
    origin: &'a Origin,
    native: Native,
}

impl Reader<'_> {
    fn origin(&self, at: Position) -> Origin {
        Origin { line: at.line, ..self.origin.clone() }
    }

    fn unknown_tables(&mut self, root: &Node) {
        for (key, at, node) in root.members() {
            if !KEYS.contains(&key.as_str()) {
                self.unknown(&[], key, *at);
            } else if ["models", "servers"].contains(&key.as_str()) && !matches!(node.kind, Kind::Table(_)) {
                self.problem(node.at, None, format!("`{key}` is {}, and must be a table", node.what()));
            }
        }
    }

    fn include(&mut self, root: &Node) {
        let Some(node) = root.member("include") else { return };
        if self.part::<Vec<String>>(root, "include").is_some() {
            let texts = node.elements().iter();
            let texts = texts.filter_map(|node| Some(Text { text: node.text()?.to_owned(), at: node.at }));
            self.native.include = texts.collect();
        }
    }

    fn part<T: DeserializeOwned>(&mut self, root: &Node, key: &str) -> Option<T> {
        self.decode(root.member(key)?, &[key], None)
    }

    /// Reads a part; what is wrong with it becomes a problem, and keys that nobody knows become notices.
    fn decode<T: DeserializeOwned>(&mut self, node: &Node, path: &[&str], server: Option<&str>) -> Option<T> {
        match node.read() {
            Ok((read, unknown)) => {
                for mut key in unknown {
                    let name = key.path.pop().unwrap_or_default();
                    let mut whole: Vec<String> = path.iter().map(|&part| part.to_owned()).collect();
                    whole.extend(key.path);
                    self.unknown(&whole, &name, key.at);
                }
                Some(read)
            }
            Err(fault) => {
                // What it is called in here is nobody's business.
                let said = match fault.message.split_once(", expected struct ") {
                    Some((found, _)) => format!("{found}, expected a table"),
                    None => fault.message,
                };
                let message = match server {
                    None => format!("[{}] {said}", path.join(".")),
                    Some(_) => said,
                };
                self.problem(fault.at, server, message);
                None
            }
        }
    }

    fn problem(&mut self, at: Position, server: Option<&str>, message: String) {
        self.native.problems.push(Problem {
            origin: self.origin(at),
            column: Some(at.column),
            server: server.map(str::to_owned),
            model: None,
            variable: None,
            message,
            hint: "correct it; `switchboard config schema` prints what the file may hold".to_owned(),
        });
    }

    fn unknown(&mut self, path: &[String], key: &str, at: Position) {
        let known = schema::keys_at(path);
        let meant =
            nearest(key, known).map_or_else(String::new, |meant| format!(": did you mean `{meant}`?"));
        let place = if path.is_empty() { String::new() } else { format!(" in [{}]", path.join(".")) };
        let server =
            (path.first().map(String::as_str) == Some("servers")).then(|| path.get(1).cloned()).flatten();
        let message = format!("`{key}`{place} is not known, and counts for nothing{meant}");
        self.native.notices.push(Notice { origin: self.origin(at), server, message });
    }

    fn server(&mut self, name: &str, at: Position, node: &Node) {
        let Some(read) = self.decode::<NativeServer>(node, &["servers", name], Some(name)) else { return };
        let origin = self.origin(at);
        let written = node.value();
        let mut server =
            RawServer { name: name.to_owned(), origin, target: None, settings: Settings::default(), written };
        match settings(&read) {
            Ok(settings) => server.settings = settings,
            Err(message) => {
                let at = node.place(["era"]);
                self.native.problems.push(server.problem(
                    at,
                    message,
                    "write auto, modern, legacy or a date",
                ));
                return;
            }
        }
        match target(&read, &server, node) {
            Ok(target) => {
                server.target = target;
                self.native.servers.push(server);
            }
            Err(problem) => self.native.problems.push(problem),
        }
    }
}

fn settings(read: &NativeServer) -> Result<Settings, String> {
    Ok(Settings {
        enabled: read.enabled,
        era: read.era.as_deref().map(era).transpose()?,
        required: read.required,
        lazy: read.lazy,
        idle_stop: read.idle_stop.map(|length| length.0),
        startup_timeout: read.startup_timeout.map(|length| length.0),
        idle_timeout: read.idle_timeout.map(|length| length.0),
        hard_timeout: read.hard_timeout.map(|length| length.0),
        max_concurrency: read.max_concurrency.map(Into::into),
        include: read.tools.include.clone(),
        exclude: read.tools.exclude.clone(),
        rename: read.tools.rename.clone().map(|names| names.into_iter().collect()),
        trust: read.trust.map(|trust| match trust {
            NativeTrust::Full => Trust::Full,
            NativeTrust::None => Trust::None,
        }),
    })
}

fn era(text: &str) -> Result<EraChoice, String> {
    let is_date = || {
        let parts: Vec<&str> = text.split('-').collect();
        let digits = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
        parts.iter().all(digits) && parts.iter().map(|part| part.len()).eq([4, 2, 2])
    };
    match text {
        "auto" => Ok(EraChoice::Auto),
        "modern" => Ok(EraChoice::Modern),
        "legacy" => Ok(EraChoice::Legacy),
        _ if is_date() => Ok(EraChoice::Revision(text.to_owned())),
        _ => Err(format!("era: {text:?} is no era")),
    }
}

/// Keys that need the other kind of server.
const OF_COMMANDS: [&str; 4] = ["args", "env", "env_file", "cwd"];
const OF_ADDRESSES: [&str; 2] = ["headers", "transport"];

fn target(read: &NativeServer, server: &RawServer, node: &Node) -> Result<Option<RawTarget>, Problem> {
    let stray =
        |keys: &[&str]| keys.iter().find(|key| node.member(key).is_some()).map(|key| (*key).to_owned());
    let text =
        |path: &[&str], text: &str| Text { text: text.to_owned(), at: node.place(path.iter().copied()) };
    let optional = |key: &str, value: &Option<String>| value.as_deref().map(|value| text(&[key], value));
    let (needs, key) = match (&read.command, &read.url) {
        (Some(_), Some(_)) => {
            let hint = "leave out one of them";
            return Err(server.problem(node.place(["url"]), "it has both `command` and `url`", hint));
        }
        (Some(_), None) => ("url", stray(&OF_ADDRESSES)),
        (None, Some(_)) => ("command", stray(&OF_COMMANDS)),
        (None, None) => ("command", stray(&OF_COMMANDS).or_else(|| stray(&OF_ADDRESSES))),
    };
    if let Some(key) = key {
        let needs = if OF_ADDRESSES.contains(&key.as_str()) { "url" } else { needs };
        let message = format!("`{key}` is there, but no `{needs}`");
        return Err(server.problem(
            node.place([key.as_str()]),
            message,
            format!("add `{needs}`, or leave it out"),
        ));
    }
    if let Some(command) = &read.command {
        let args = read.args.iter().enumerate();
        return Ok(Some(RawTarget::Command {
            command: text(&["command"], command),
            args: args.map(|(index, arg)| text(&["args", &index.to_string()], arg)).collect(),
            env: read.env.iter().map(|(name, value)| (name.clone(), text(&["env", name], value))).collect(),
            env_file: optional("env_file", &read.env_file),
            cwd: optional("cwd", &read.cwd),
        }));
    }
    let transport = read.transport.map(|transport| match transport {
        NativeTransport::Http => HttpTransport::Http,
        NativeTransport::Sse => HttpTransport::Sse,
    });
    let headers = read.headers.iter();
    Ok(read.url.as_ref().map(|url| RawTarget::Http {
        url: text(&["url"], url),
        headers: headers.map(|(name, value)| (name.clone(), text(&["headers", name], value))).collect(),
        transport,
    }))
}
