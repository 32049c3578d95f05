//! What the person configured: the servers, models, rules and limits of all files, for every command.
//!
//! Reading and expanding is `switchboard_config`; here it gets the environment, what goes wrong gets a voice, and
//! whoever sits at the terminal is asked: for inputs, and whether a project may start what it names.

mod ask;
mod convert;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use switchboard_agent::supervisor::ServerConfig;
use switchboard_config::{
    Config, Layer, LimitsConfig, ListenConfig, ModelEntry, Paths, Problem, SecretStore, SecretString,
    Sources, TrustStore, Untrusted, Variables,
};

pub(crate) use ask::{hidden, show as show_untrusted};

use crate::failure::Failure;
use crate::screen::Screen;
use crate::stdin;
use crate::time_limit::TimeLimit;

/// Where secrets are kept: `keychain`, `file`, or where it is possible.
const SECRETS: &str = "SWITCHBOARD_SECRETS";
/// How the variables begin that answer inputs.
const INPUT: &str = "SWITCHBOARD_INPUT_";
/// What to do where there is no home.
const NO_FOLDER: &str = "set SWITCHBOARD_CONFIG_DIR and SWITCHBOARD_DATA_DIR";

/// The options that every command takes.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct GlobalArgs {
    /// A configuration file that wins over all others: of Switchboard, or of another host
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,

    /// Read no configuration but that of --config
    #[arg(long, global = true)]
    no_config: bool,
}

/// What the person configured.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Everything but the values of servers: nobody is asked for those before they are wanted.
    config: Config,
    sources: Option<Sources>,
}

/// Servers of the configuration, ready to be started.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    pub(crate) servers: Vec<ServerConfig>,
    /// What must not be shown of them, and not be written down.
    pub(crate) secrets: Vec<SecretString>,
}

impl Settings {
    /// Reads all files that there are. What cannot be used in them is no failure, unless the file was named.
    ///
    /// # Errors
    /// When a file that was named cannot be read.
    pub(crate) fn load(args: &GlobalArgs) -> Result<Self, Failure> {
        let env = |name: &str| std::env::var(name).ok();
        // Without a home there is nothing to read, and a command that needs nothing of it goes on.
        let Some(paths) = Paths::find(env) else {
            return Ok(Self { config: Config::default(), sources: None });
        };
        let directory = std::env::current_dir().map_err(|error| {
            Failure::usage(format!("the working directory cannot be used: {error}"), "change to another one")
        })?;
        let secrets = SecretStore::open(&paths.data_dir, env(SECRETS).as_deref());
        let mut sources = Sources::new(paths, directory, Arc::new(env));
        sources.secrets = Some(Arc::new(secrets));
        sources.explicit.clone_from(&args.config);
        sources.only_explicit = args.no_config;
        let config = switchboard_config::load(&quick(&sources));
        let is_named = |problem: &&Problem| {
            // One entry that cannot be used stops itself alone, wherever it stands.
            let is_one_entry = problem.server.is_some() || problem.model.is_some();
            matches!(problem.origin.layer, Layer::Flags | Layer::Environment) && !is_one_entry
        };
        if let Some(problem) = config.problems.iter().find(is_named) {
            return Err(Failure::usage(problem.to_string(), problem.hint.clone()));
        }
        Ok(Self { config, sources: Some(sources) })
    }

    /// Everything but servers: read once, without asking anybody.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// The variables of the environment that hold credentials: those that the configuration names, the keys of models
    /// that are known, and answers to inputs. Read anew, since the person may have trusted something in the meantime.
    pub(crate) fn variables(&self) -> Variables {
        let config = self.sources.as_ref().map(|sources| switchboard_config::load(&quick(sources)));
        credentials(&config.unwrap_or_default())
    }

    /// What must not be shown whatever servers there are: the keys of models, of the configuration and of the environment.
    pub(crate) fn keys(&self) -> Vec<SecretString> {
        let keys = switchboard_llm::chain::key_variables().filter_map(|name| std::env::var(name).ok());
        keys.map(SecretString::new).chain(self.config.secrets.iter().cloned()).collect()
    }

    /// What it was read from.
    ///
    /// # Errors
    /// When there is no home, and no variable names the folders.
    pub(crate) fn sources(&self) -> Result<&Sources, Failure> {
        let unknown = || Failure::usage("there is no home, so no folder for files is known", NO_FOLDER);
        self.sources.as_ref().ok_or_else(unknown)
    }

    /// Everything, the values of servers included. Nobody is asked.
    pub(crate) fn all(&self) -> Config {
        self.sources.as_ref().map(switchboard_config::load).unwrap_or_default()
    }

    /// The servers of the configuration, ready to be started: those of these names, or all that are enabled. On a
    /// terminal the person is asked for what is missing; what cannot be used is warned of.
    ///
    /// # Errors
    /// When a server that was named, or one that is required, cannot be used, or nobody waits for the answers any more.
    pub(crate) async fn servers(
        &self,
        names: &[String],
        (screen, limit): (&Screen, Option<TimeLimit>),
    ) -> Result<Chosen, Failure> {
        let (settings, names, screen) = (self.clone(), names.to_vec(), screen.clone());
        stdin::reading(move || settings.choose(&names, &screen), limit).await
    }

    fn choose(&self, names: &[String], screen: &Screen) -> Result<Chosen, Failure> {
        let Some(sources) = &self.sources else { return Ok(Chosen::default()) };
        let mut sources = sources.clone();
        sources.wanted = (!names.is_empty()).then(|| names.to_vec());
        if stdin::can_ask() {
            self.decide(names, screen)?;
            sources.ask = Some(Arc::new(ask::TerminalInput::new(screen.clone())));
        }
        let config = switchboard_config::load(&sources);
        self.keys().iter().for_each(|key| screen.mask(key.expose()));
        let known = Named { config: &config, names };
        known.report(screen);
        known.check()?;
        let chosen = config.servers.iter().filter(|server| known.means(&server.name) && server.enabled);
        let chosen: Vec<_> = chosen.collect();
        let secrets = chosen.iter().flat_map(|server| server.secrets.clone());
        let secrets: Vec<SecretString> = secrets.filter(|secret| !names_server(&config, secret)).collect();
        secrets.iter().for_each(|secret| screen.mask(secret.expose()));
        let variables = credentials(&config);
        let servers =
            chosen.into_iter().map(|entry| convert::server(entry, &variables)).collect::<Result<_, _>>()?;
        Ok(Chosen { servers, secrets })
    }

    /// Asks for a decision about what projects want to start.
    fn decide(&self, names: &[String], screen: &Screen) -> Result<(), Failure> {
        let means = |one: &&Untrusted| {
            one.server.as_ref().is_none_or(|name| names.is_empty() || names.contains(name))
        };
        let open: Vec<Untrusted> = self.config.untrusted.iter().filter(means).cloned().collect();
        let trusted = ask::trust(open, screen);
        if trusted.is_empty() {
            return Ok(());
        }
        self.trust(&trusted)
    }

    /// Trusts these from now on.
    ///
    /// # Errors
    /// When that cannot be kept.
    pub(crate) fn trust(&self, trusted: &[Untrusted]) -> Result<(), Failure> {
        let data_dir = &self.sources()?.paths.data_dir;
        TrustStore::open(data_dir).trust(trusted).map_err(|error| {
            Failure::usage(
                format!("the decision cannot be kept in {}: {error}", data_dir.display()),
                "check the permissions of the folder, or set SWITCHBOARD_DATA_DIR",
            )
        })
    }

    /// The models, and the one that is meant where none is named.
    pub(crate) fn models(&self) -> (&[ModelEntry], Option<&str>) {
        (&self.config.models, self.config.default_model.as_deref())
    }

    /// What a run may cost.
    pub(crate) fn limits(&self) -> &LimitsConfig {
        &self.config.limits
    }

    /// Where the HTTP API listens.
    pub(crate) fn listen(&self) -> &ListenConfig {
        &self.config.listen
    }

    /// Our own folders.
    ///
    /// # Errors
    /// When there is no home, and no variable names them.
    pub(crate) fn paths(&self) -> Result<&Paths, Failure> {
        Ok(&self.sources()?.paths)
    }

    /// The database of sessions. The folder is made by whoever opens it.
    ///
    /// # Errors
    /// As [`paths`](Self::paths).
    pub(crate) fn store_path(&self) -> Result<PathBuf, Failure> {
        Ok(self.paths()?.store_file())
    }

    /// The secrets of the person.
    ///
    /// # Errors
    /// As [`paths`](Self::paths).
    pub(crate) fn secrets(&self) -> Result<SecretStore, Failure> {
        let choice = std::env::var(SECRETS).ok();
        Ok(SecretStore::open(&self.paths()?.data_dir, choice.as_deref()))
    }
}

/// Everything but the values of servers.
fn quick(sources: &Sources) -> Sources {
    let mut quick = sources.clone();
    quick.wanted = Some(Vec::new());
    quick
}

/// Whether a secret is part of a server's name, and not masked: rules, questions and commands name servers.
pub(crate) fn names_server(config: &Config, secret: &SecretString) -> bool {
    config.servers.iter().any(|server| server.name.contains(secret.expose()))
}

/// What the configuration reads as credentials, and what is one without it.
fn credentials(config: &Config) -> Variables {
    let mut variables = config.variables.clone();
    let answers = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let answers = answers.filter(|name| name.starts_with(INPUT));
    let keys = switchboard_llm::chain::key_variables().map(str::to_owned);
    answers.chain(keys).for_each(|name| variables.add_credential(name));
    variables
}

/// A configuration, and the servers of it that are meant.
struct Named<'a> {
    config: &'a Config,
    /// All if empty.
    names: &'a [String],
}

impl Named<'_> {
    fn means(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|meant| meant == name)
    }

    /// Says what is wrong with what is meant.
    fn report(&self, screen: &Screen) {
        let is_meant = |server: &Option<String>| server.as_ref().is_none_or(|name| self.means(name));
        for notice in self.config.warnings.iter().filter(|notice| is_meant(&notice.server)) {
            screen.warning(&notice.to_string());
        }
        for problem in self.config.problems.iter().filter(|problem| is_meant(&problem.server)) {
            let rest = if problem.server.is_some() { "; going on without it" } else { "" };
            screen.warning(&format!("{problem}{rest}"));
            screen.hint(&problem.hint);
        }
        let untrusted = self.config.untrusted.iter().filter(|one| is_meant(&one.server));
        for Untrusted { server, origin, shown, changed, .. } in untrusted {
            let why = if *changed { "has changed since it was trusted" } else { "is not trusted yet" };
            match server {
                Some(name) => {
                    screen.warning(&format!("{origin}: server {name} {why}, so it is not started: {shown}"))
                }
                None => {
                    screen.warning(&format!("{origin}: the file {why}, so {shown} in it count for nothing"))
                }
            }
            screen.hint(&format!(
                "look at it, then: switchboard servers trust {}",
                server.as_deref().unwrap_or("--all")
            ));
        }
    }

    /// Whether everything is there that was named, or is required.
    fn check(&self) -> Result<(), Failure> {
        for name in self.names {
            let server = self.config.servers.iter().find(|server| server.name == *name);
            match server {
                Some(server) if server.enabled => {}
                Some(_) => {
                    let hint = format!("run: switchboard servers enable {name}");
                    return Err(Failure::usage("it is disabled", hint).on_server(name));
                }
                None => return Err(self.missing(name)),
            }
        }
        Ok(())
    }

    fn missing(&self, name: &str) -> Failure {
        if let Some(broken) =
            self.config.problems.iter().find(|problem| problem.server.as_deref() == Some(name))
        {
            return Failure::usage(broken.to_string(), broken.hint.clone());
        }
        if self.config.untrusted.iter().any(|one| one.server.as_deref() == Some(name)) {
            let hint =
                format!("look at it with: switchboard servers list, then: switchboard servers trust {name}");
            return Failure::usage("it comes with the project and is not trusted yet", hint).on_server(name);
        }
        let known: Vec<&str> = self.config.servers.iter().map(|server| server.name.as_str()).collect();
        let hint = match nearest(name, &known) {
            Some(nearest) => format!("did you mean {nearest}? See all with: switchboard servers list"),
            None => "see what there is with: switchboard servers list".to_owned(),
        };
        Failure::usage(format!("no server is called {name:?}"), hint)
    }
}

/// The name that is most like this one.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let likeness = |known: &str| strsim::jaro_winkler(&known.to_lowercase(), &name.to_lowercase());
    let best = known.iter().map(|&known| (likeness(known), known));
    let (likeness, known) = best.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (likeness >= 0.75).then_some(known)
}
