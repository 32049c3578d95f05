//! What servers over HTTP want to see: tokens and headers of the person. They are masked in everything that this
//! program writes but the results of tools.

use clap::Args;
use switchboard_agent::supervisor::Secret;
use switchboard_config::{SecretString, Variables};

use crate::failure::Failure;
use crate::screen::Screen;
use crate::settings::Settings;

/// The options that give headers; the same for every command that talks to servers.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AuthArgs {
    /// The environment variable that holds the bearer token of a server over HTTP. With several servers, say whose:
    /// SERVER=VAR; repeatable
    #[arg(long, value_name = "[SERVER=]VAR")]
    bearer_env: Vec<String>,

    /// A header for a server over HTTP. With several servers, say whose: 'SERVER=NAME: VALUE'; repeatable. Other
    /// users of this machine may see command lines: a token is better given with --bearer-env
    #[arg(long, value_name = "[SERVER=]NAME: VALUE")]
    header: Vec<String>,
}

/// The headers of one run, each for one server, and whatever else is nobody's but its server's.
#[derive(Default)]
pub(crate) struct Headers {
    headers: Vec<Header>,
    /// The variables of the environment that hold credentials, those of these options, too.
    variables: Variables,
    /// What must not be shown besides the headers.
    secrets: Vec<SecretString>,
}

impl std::fmt::Debug for Headers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.headers.iter().map(|header| (&header.server, &header.name, "***"));
        f.debug_list().entries(names).finish()
    }
}

struct Header {
    server: String,
    name: String,
    value: String,
}

impl AuthArgs {
    /// Reads the options, for servers over HTTP of these names, and lets nothing of them be shown from now on.
    ///
    /// # Errors
    /// When an option has no name or value, a variable is not set, or it is unclear whose a header is.
    pub(crate) fn headers(
        &self,
        servers: &[&str],
        (settings, screen): (&Settings, &Screen),
    ) -> Result<Headers, Failure> {
        let mut headers = Vec::new();
        let mut variables = settings.variables();
        for text in &self.bearer_env {
            let (server, variable) = match text.split_once('=') {
                Some((server, variable)) => (Some(server), variable),
                None => (None, text.as_str()),
            };
            variables.add_credential(variable);
            let server = owner(server, servers, "--bearer-env SERVER=VAR")?;
            headers.push(Header {
                server,
                name: "authorization".into(),
                value: format!("Bearer {}", token(variable)?),
            });
        }
        for text in &self.header {
            // A header's name has no '=', so what stands before one in front of the colon is a server.
            let (head, value) = text.split_once(':').ok_or_else(not_a_header)?;
            let (server, name) = match head.split_once('=') {
                Some((server, name)) => (Some(server), name.trim()),
                None => (None, head.trim()),
            };
            let server = owner(server, servers, "--header 'SERVER=NAME: VALUE'")?;
            if name.is_empty() || value.trim().is_empty() {
                return Err(not_a_header());
            }
            headers.push(Header { server, name: name.to_owned(), value: value.trim().to_owned() });
        }
        let headers = Headers { headers, variables, secrets: settings.keys() };
        headers.secrets().for_each(|secret| screen.mask(secret));
        Ok(headers)
    }

    /// These options and those of a subcommand.
    pub(crate) fn extend(&mut self, inner: Self) {
        self.bearer_env.extend(inner.bearer_env);
        self.header.extend(inner.header);
    }
}

impl Headers {
    /// What must not be shown: each value, and of a value such as `Bearer TOKEN` also its last word; and keys of models.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        let values = self.headers.iter().flat_map(|Header { value, .. }| {
            std::iter::once(value.as_str()).chain(value.rsplit_once(' ').map(|(_, token)| token))
        });
        values.chain(self.secrets.iter().map(SecretString::expose))
    }

    /// The variables of the environment that this server must not inherit: credentials of others.
    pub(crate) fn withheld_from(&self, server: &str) -> Vec<String> {
        self.variables.withheld_from(server).map(str::to_owned).collect()
    }

    /// Those of a server, for whoever keeps its connection.
    pub(crate) fn of(&self, server: &str) -> impl Iterator<Item = (String, Secret)> {
        let own = self.headers.iter().filter(move |header| header.server == server);
        own.map(|Header { name, value, .. }| (name.clone(), Secret::new(value)))
    }
}

fn not_a_header() -> Failure {
    // What was given may be a secret, so it is not repeated.
    Failure::usage("a --header has no name or no value", "write it as --header 'NAME: VALUE'")
}

fn token(variable: &str) -> Result<String, Failure> {
    let token = std::env::var(variable).unwrap_or_default();
    if token.trim().is_empty() {
        return Err(Failure::usage(
            format!("the environment variable {variable:?} of --bearer-env holds no token"),
            format!("export {variable}=TOKEN, or name the variable that holds it"),
        ));
    }
    Ok(token.trim().to_owned())
}

/// The server that is meant. Nothing goes to a server for which it was not meant.
fn owner(named: Option<&str>, servers: &[&str], how: &str) -> Result<String, Failure> {
    match (named, servers) {
        (Some(named), _) if servers.contains(&named) => Ok(named.to_owned()),
        (Some(named), _) => Err(Failure::usage(
            format!("a header is for {named:?}, and no server over HTTP is called that"),
            format!(
                "the servers over HTTP are: {}",
                if servers.is_empty() { "none".into() } else { servers.join(", ") }
            ),
        )),
        (None, [only]) => Ok((*only).to_owned()),
        (None, []) => Err(Failure::usage(
            "headers are for servers over HTTP, and there is none",
            "add --server NAME=URL",
        )),
        (None, _) => Err(Failure::usage(
            format!(
                "there are several servers over HTTP ({}), and a header does not say whose it is",
                servers.join(", ")
            ),
            format!("write {how}"),
        )),
    }
}
