//! Which servers a command talks to: `--server NAME=URL`, `--command "CMD ARGS"`, `-- CMD ARGS`, `--demo`, and those of
//! the configuration.
//!
//! Only what the person wrote is read here; connecting is the supervisor's.

mod launcher;

use std::path::Path;

use clap::Args;
use clap::builder::UnknownArgumentValueParser;
use switchboard_agent::ServerName;
use switchboard_agent::supervisor::ServerConfig;
use switchboard_config::SecretString;
use url::Url;

pub(crate) use self::launcher::fetcher;
use crate::auth::AuthArgs;
use crate::era::EraArgs;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::settings::{Chosen, Settings};
use crate::time_limit::TimeLimit;

/// The most characters of a name that is made up from an address or a program.
const MAX_MADE_UP: usize = 32;

/// The options that name servers; the same for every command that uses tools.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServerArgs {
    /// A server by its address; repeatable. The name is what approvals and errors call it; without one it is the host
    #[arg(long = "server", value_name = "NAME=URL or URL")]
    servers: Vec<String>,

    /// What people try first. Never set: its parser says what to write.
    #[arg(long, hide = true, value_parser = UnknownArgumentValueParser::suggest_arg("--server"))]
    url: Option<()>,

    /// A server to start as a child process that speaks over stdio; repeatable. The text is split into words as a
    /// shell does ('…' and "…" keep spaces, \ takes the next character as it is), and nothing else is done to it: no
    /// variables, no ~, no pipes. Its name is that of the program, or of what a launcher such as npx or python starts.
    /// It inherits the environment without keys of models and other credentials that the configuration reads for somebody
    /// else; to pass one on, write: --command "env TOKEN=... CMD"
    #[arg(long = "command", value_name = "CMD ARGS")]
    commands: Vec<String>,

    /// Servers of the configuration, by their names, with commas between them; repeatable. All that are enabled if no
    /// server is named at all
    #[arg(long = "servers", value_name = "NAMES", value_delimiter = ',')]
    configured: Vec<String>,

    /// The demo servers: a simulated weather station, city weather and a calculator, started for this run on
    /// free loopback ports and spoken to over HTTP
    #[arg(long)]
    pub(crate) demo: bool,

    /// Base URL of the service that the demo's city weather asks; Open-Meteo if absent
    #[arg(long, value_name = "URL", env = "CITY_WEATHER_URL", hide_env_values = true)]
    pub(crate) city_api: Option<Url>,

    #[command(flatten)]
    pub(crate) era: EraArgs,

    #[command(flatten)]
    pub(crate) auth: AuthArgs,

    /// A server to start as a child process, after `--`; each word is passed on as it is
    #[arg(last = true, value_name = "CMD ARGS")]
    command: Vec<String>,

    /// The one that has a say, of those that are named and those of the configuration.
    #[arg(skip)]
    only: Option<String>,
}

/// One server, as the person named it.
#[derive(Clone, Debug)]
pub(crate) struct ServerSpec {
    /// Unique in the run.
    pub(crate) name: ServerName,
    /// Where it is.
    pub(crate) target: Target,
}

/// Where a server is.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// An HTTP endpoint.
    Http(Url),
    /// A program and its arguments, spoken to over stdio.
    Command(Vec<String>),
    /// A server of the configuration.
    Configured(Box<ServerConfig>),
}

impl ServerArgs {
    /// The servers of these names in the configuration, or all of it.
    pub(crate) fn named(names: Vec<String>) -> Self {
        Self { configured: names, ..Self::default() }
    }

    /// Whether all servers are those of the configuration.
    pub(crate) fn are_configured(&self) -> bool {
        self.servers.is_empty() && self.commands.is_empty() && self.command.is_empty() && !self.demo
    }

    /// These options, for the server of `SERVER/TOOL`. Without a server in it, any may be meant.
    pub(crate) fn for_tool(mut self, tool: &str) -> Self {
        self.only = tool.split_once('/').map(|(server, _)| server.to_owned());
        self
    }

    /// All servers: those that are named here, and those of the configuration that are meant. Also returns what must
    /// not be shown of the latter.
    pub(crate) async fn all(
        &self,
        settings: &Settings,
        (screen, limit): (&Screen, Option<TimeLimit>),
    ) -> Result<(Vec<ServerSpec>, Vec<SecretString>), Failure> {
        let mut specs = self.specs()?;
        let is_meant = |name: &str| self.only.as_deref() == Some(name);
        if specs.iter().any(|spec| is_meant(spec.name.as_str())) {
            specs.retain(|spec| is_meant(spec.name.as_str()));
            return Ok((specs, Vec::new()));
        }
        if self.configured.is_empty() && (self.demo || !specs.is_empty()) {
            return Ok((specs, Vec::new()));
        }
        let mut all = settings.config().servers.iter().filter(|server| server.enabled);
        let named = |name: &str| self.configured.is_empty() || self.configured.iter().any(|one| one == name);
        let meant = all.find(|server| is_meant(&server.name) && named(&server.name));
        let only = meant.map(|server| vec![server.name.clone()]);
        if only.is_some() {
            specs.clear();
        }
        let chosen = only.as_ref().unwrap_or(&self.configured);
        let Chosen { servers, secrets } = settings.servers(chosen, (screen, limit)).await?;
        for server in servers {
            let name = server.name.clone();
            if specs.iter().any(|other| other.name == name) {
                let hint = "give one of them another name";
                return Err(Failure::usage(format!("two servers are called {name}"), hint));
            }
            specs.push(ServerSpec { name, target: Target::Configured(Box::new(server)) });
        }
        Ok((specs, secrets))
    }

    /// The servers by address and by command, names unique, in the order in which they were given.
    fn specs(&self) -> Result<Vec<ServerSpec>, Failure> {
        let mut specs = Vec::new();
        for text in &self.servers {
            let spec = named_url(text)?;
            if specs.iter().any(|other: &ServerSpec| other.name == spec.name) {
                return Err(Failure::usage(
                    format!("two servers are called {}", spec.name),
                    "give each --server a name of its own",
                ));
            }
            specs.push(spec);
        }
        for text in &self.commands {
            add_command(&mut specs, words(text)?)?;
        }
        if !self.command.is_empty() {
            add_command(&mut specs, self.command.clone())?;
        }
        Ok(specs)
    }

    /// These options and those of a subcommand: `tools --demo list` and `tools list --demo` mean the same.
    pub(crate) fn and(mut self, inner: Self) -> Self {
        self.servers.extend(inner.servers);
        self.commands.extend(inner.commands);
        self.configured.extend(inner.configured);
        self.demo |= inner.demo;
        self.city_api = inner.city_api.or(self.city_api);
        self.era = self.era.and(inner.era);
        self.auth.extend(inner.auth);
        self.command.extend(inner.command);
        self.only = inner.only.or(self.only);
        self
    }
}

impl Target {
    /// A URL or a command, told apart by `://`.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        if text.contains("://") && !text.contains(char::is_whitespace) {
            return url(text).map(Self::Http);
        }
        let words = words(text)?;
        if words.is_empty() {
            return Err(Failure::usage(
                "the server is empty",
                "write a URL, or a command in quotation marks",
            ));
        }
        Ok(Self::Command(words))
    }
}

impl Target {
    /// What it is called if the person gives no name: its host, or the program.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Http(url) => tame(url.host_str().unwrap_or_default()),
            Self::Command(words) => {
                let (program, args) =
                    words.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
                let program = Path::new(program).file_stem().unwrap_or_default().to_string_lossy();
                tame(launcher::launched(&program, args).unwrap_or(&program))
            }
            Self::Configured(server) => server.name.as_str().to_owned(),
        }
    }

    /// Whether it is spoken to over HTTP.
    pub(crate) fn is_http(&self) -> bool {
        match self {
            Self::Http(_) => true,
            Self::Command(_) => false,
            Self::Configured(server) => !server.target.is_command(),
        }
    }

    /// What the configuration says about it, if it comes from there.
    pub(crate) fn configured(&self) -> Option<&ServerConfig> {
        match self {
            Self::Configured(server) => Some(server),
            _ => None,
        }
    }
}

fn named_url(text: &str) -> Result<ServerSpec, Failure> {
    let (name, address) = match text.split_once('=') {
        Some((name, address)) if !name.contains("://") => (Some(name), address),
        _ => (None, text),
    };
    let url = url(address)?;
    let target = Target::Http(url);
    let name = name.map_or_else(|| target.name(), str::to_owned);
    Ok(ServerSpec { name: server_name(&name)?, target })
}

fn server_name(name: &str) -> Result<ServerName, Failure> {
    ServerName::new(name)
        .map_err(|error| Failure::usage(error.to_string(), "write --server NAME=URL with another name"))
}

pub(crate) fn url(text: &str) -> Result<Url, Failure> {
    let hint = "write it as http://HOST:PORT/PATH or https://HOST/PATH";
    let url = Url::parse(text)
        .map_err(|error| Failure::usage(format!("{text:?} is not the URL of a server: {error}"), hint))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(Failure::usage(format!("{text:?} is not the URL of an HTTP server"), hint));
    }
    Ok(url)
}

fn words(command: &str) -> Result<Vec<String>, Failure> {
    shlex::split(command).ok_or_else(|| {
        Failure::usage(
            format!("the command {command:?} has a quotation mark without its end"),
            "quote it like a shell command, or put it after --",
        )
    })
}

fn add_command(specs: &mut Vec<ServerSpec>, words: Vec<String>) -> Result<(), Failure> {
    if words.first().is_none_or(String::is_empty) {
        return Err(Failure::usage("a server's command is empty", "name the program to start"));
    }
    let target = Target::Command(words);
    let name = server_name(&unique(&target.name(), specs))?;
    specs.push(ServerSpec { name, target });
    Ok(())
}

/// The text as a name: other characters become '-', the length is bounded, and it is never empty.
fn tame(text: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let name: String = text.chars().map(fits).take(MAX_MADE_UP).collect();
    if name.is_empty() { "server".to_owned() } else { name }
}

fn unique(name: &str, specs: &[ServerSpec]) -> String {
    // The host's own name is refused, and so never free.
    let taken =
        |name: &str| ServerName::new(name).is_err() || specs.iter().any(|spec| spec.name.as_str() == name);
    if !taken(name) {
        return name.to_owned();
    }
    let mut count = 2;
    while taken(&format!("{name}-{count}")) {
        count += 1;
    }
    format!("{name}-{count}")
}

#[cfg(test)]
mod tests;
