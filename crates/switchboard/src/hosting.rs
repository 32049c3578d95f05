//! A host: its servers, its models, its policy and what it keeps.
//!
//! `run`, `chat`, `serve` and `sessions resume` open a session on it, and `session` an agent; deciding anything is
//! `switchboard_agent`. Where to look next: `settings` for the configuration, `consent` for the policy, `starting` for
//! what is said of servers that a command waits for.

use std::sync::Arc;
use std::time::Duration;

use switchboard_agent::host::{ModelChoice, OneModel};
use switchboard_agent::policy::{Mode, Policy};
use switchboard_agent::store::{MemoryStore, Store};
use switchboard_agent::supervisor::{Offers, ServerConfig, ServerTarget, Supervisor, SupervisorOptions};
use switchboard_agent::{Host, HostBuilder, Limits, Router, ServerName, Session, SessionOptions};

use crate::ask;
use crate::auth::Headers;
use crate::child_log::{self, LastWords};
use crate::consent::{self, ConsentArgs};
use crate::demo;
use crate::era::EraArgs;
use crate::failure::Failure;
use crate::first_steps;
use crate::kept;
use crate::model::{HostModels, ModelArgs};
use crate::screen::Screen;
use crate::server_logs;
use crate::servers::{ServerArgs, ServerSpec, Target};
use crate::servers_cmd::fleet;
use crate::settings::Settings;
use crate::time_limit::TimeLimit;
use crate::wire::Wire;

/// How long servers get to say goodbye.
const GOODBYE: Duration = Duration::from_secs(8);

/// What a host is like.
pub(crate) struct HostingOptions<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) servers: &'a ServerArgs,
    /// Who answers; the router alone without it.
    pub(crate) model: Option<&'a ModelArgs>,
    /// Nothing is called without it.
    pub(crate) consent: Option<&'a ConsentArgs>,
    /// Whether questions can be answered elsewhere than on this terminal.
    pub(crate) page: bool,
    pub(crate) keeps: Keeps,
    /// What servers may ask the person.
    pub(crate) offers: Offers,
    /// How far a run may go.
    pub(crate) limits: Limits,
    /// Whether the demo servers are believed what they say about their tools.
    pub(crate) trusts_demo: bool,
    /// When all of it ends. No request takes longer, where the configuration does not say.
    pub(crate) time_limit: Option<TimeLimit>,
    /// Whether it is a mistake to name no server where none is configured.
    pub(crate) needs_servers: bool,
    /// Whether what servers write to stderr is shown.
    pub(crate) verbose: bool,
    /// Who takes the messages that belong to no call.
    pub(crate) wire: Option<&'a Wire>,
}

/// What outlives the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// Sessions, pins, answers, and what is known of servers.
    Everything,
    /// The same, but only where a server is configured: what is only named for this run is forgotten with it.
    WhatIsConfigured,
    /// Only what is known of servers, and only where that can be kept.
    Servers,
    /// Nothing.
    Nothing,
}

impl<'a> HostingOptions<'a> {
    /// A host that keeps everything and offers servers whatever there is.
    pub(crate) fn new(settings: &'a Settings, servers: &'a ServerArgs) -> Self {
        Self {
            settings,
            servers,
            model: None,
            consent: None,
            page: false,
            keeps: Keeps::Everything,
            offers: Offers::default(),
            limits: limits(settings),
            trusts_demo: true,
            time_limit: None,
            needs_servers: false,
            verbose: false,
            wire: None,
        }
    }
}

/// A host and what must be ended with it.
pub(crate) struct Hosting {
    pub(crate) host: Host,
    pub(crate) supervisor: Supervisor,
    /// The servers of the configuration that it does not know. Rules about them are no errors.
    pub(crate) absent: Vec<ServerName>,
    /// Whether the person named the model that is to answer.
    pub(crate) names_model: bool,
    last_words: LastWords,
    demo: Option<demo::Running>,
}

impl Hosting {
    /// Makes the host and starts its servers, which go on starting while the host is used.
    ///
    /// # Errors
    /// When the options or the configuration cannot work, the store cannot be opened, or the person is asked something
    /// and ends it, or the time limit does.
    pub(crate) async fn open(options: &HostingOptions<'_>, screen: &Screen) -> Result<Self, Failure> {
        let HostingOptions { settings, servers, .. } = options;
        let (mut specs, secrets) = servers.all(settings, (screen, options.time_limit)).await?;
        if specs.is_empty() && !servers.demo && options.needs_servers {
            return Err(first_steps::no_server(settings));
        }
        let over_http = specs.iter().filter(|spec| spec.target.is_http()).map(|spec| spec.name.as_str());
        let headers = servers.auth.headers(&over_http.collect::<Vec<_>>(), (settings, screen))?;
        let builder = builder(options, screen)?;
        let mut policy = match options.consent {
            Some(consent) => consent.policy(settings, &specs)?,
            None => Policy::new(Mode::Fail),
        };
        if options.page && options.consent.is_some_and(ConsentArgs::nothing_said) {
            policy = policy.with_mode(Mode::Interactive);
        }
        let (store, known) = stores(options, &specs)?;
        let absent = consent::absent(settings, &specs, &policy);
        let demo = match servers.demo {
            true => Some(demo::Running::start(servers.city_api.as_ref()).await?),
            false => None,
        };
        for named in demo.iter().flat_map(demo::Running::named) {
            let spec = demo_spec(&named)?;
            if options.trusts_demo {
                policy = policy.trust(spec.name.clone());
            }
            specs.push(spec);
        }
        let (supervisor, last_words) = supervisor_options(options, known, screen);
        let supervisor = Supervisor::new(supervisor);
        supervisor.start(configs(options, &specs, &headers));
        let builder =
            builder.supervisor(supervisor.clone()).policy(policy).store(store).limits(options.limits.clone());
        let builder = absent.iter().cloned().fold(builder, HostBuilder::absent);
        let all = secrets.iter().map(|secret| secret.expose()).chain(headers.secrets());
        let host = all.fold(builder, |builder, secret| builder.secret(secret)).build();
        let names_model = options.model.is_some_and(ModelArgs::names_one);
        Ok(Self { host, supervisor, absent, names_model, last_words, demo })
    }

    /// Says what the person should know of the demo servers, where they may be called.
    pub(crate) fn tell_of_demo(&self, consent: Option<&ConsentArgs>, screen: &Screen) {
        let (Some(consent), Some(_)) = (consent, &self.demo) else { return };
        screen.note("the demo's weather station is simulated: nobody measured its values");
        if consent.nothing_said() {
            screen.note("nobody can be asked here: the demo policy allows the demo servers' read-only tools");
        }
    }

    /// What must not be shown: what the configuration and the options say, for a journal that belongs to no session.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = String> {
        self.host.secrets().into_iter()
    }

    /// Opens a session: a new one, the one of this name, or the last one where the name is empty.
    ///
    /// # Errors
    /// When there is none, or another process has it open.
    pub(crate) fn session(&self, resume: Option<&str>, interactive: bool) -> Result<Session, Failure> {
        let id = match resume {
            None => None,
            Some("") => {
                let last = self.host.sessions()?.into_iter().next();
                let none = || Failure::usage("there is no earlier session", "leave --resume out");
                Some(last.ok_or_else(none)?.id)
            }
            Some(id) => Some(id.to_owned()),
        };
        Ok(self.host.open(SessionOptions { id, interactive, ..SessionOptions::default() })?)
    }

    /// Ends all servers in order.
    pub(crate) async fn close(self) {
        let Self { host, supervisor, last_words, demo, .. } = self;
        let goodbye = async {
            supervisor.close().await;
            drop((host, supervisor));
            last_words.arrive().await;
            if let Some(demo) = demo {
                demo.shutdown().await;
            }
        };
        // Whoever does not leave in time is ended with this process.
        let _ = tokio::time::timeout(GOODBYE, goodbye).await;
    }
}

/// A host of which it is known who answers.
fn builder(options: &HostingOptions<'_>, screen: &Screen) -> Result<HostBuilder, Failure> {
    Ok(match options.model {
        Some(model) => Host::builder(HostModels::new(model, options.settings, screen, ask::router(screen))?),
        None => Host::builder(OneModel(ModelChoice::other(Router::new()))),
    })
}

/// Where everything is kept, and what is known of servers.
type Stores = (Arc<dyn Store>, Arc<dyn Store>);

fn stores(options: &HostingOptions<'_>, specs: &[ServerSpec]) -> Result<Stores, Failure> {
    let keeps = match options.keeps {
        Keeps::WhatIsConfigured if specs.iter().any(|spec| spec.target.configured().is_some()) => {
            Keeps::Everything
        }
        Keeps::WhatIsConfigured => Keeps::Servers,
        keeps => keeps,
    };
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::default());
    Ok(match keeps {
        Keeps::Nothing => (Arc::clone(&memory), memory),
        Keeps::Servers | Keeps::WhatIsConfigured => (memory, fleet::store(options.settings)),
        Keeps::Everything => {
            let store = kept::store(options.settings)
                .map_err(|failure| failure.map_hint(|hint| format!("{hint}, or add --ephemeral")))?;
            (Arc::clone(&store), store)
        }
    })
}

/// The servers with what the options say about all of them.
fn configs(options: &HostingOptions<'_>, specs: &[ServerSpec], headers: &Headers) -> Vec<ServerConfig> {
    let longest = options.time_limit.map(TimeLimit::after);
    let limited = |spec| {
        let config = config(spec, options.servers.era, headers);
        ServerConfig {
            idle_timeout: config.idle_timeout.or(longest),
            hard_timeout: config.hard_timeout.or(longest),
            ..config
        }
    };
    specs.iter().map(limited).collect()
}

/// What holds for all servers, and what waits for their last words.
pub(crate) fn supervisor_options(
    options: &HostingOptions<'_>,
    store: Arc<dyn Store>,
    screen: &Screen,
) -> (SupervisorOptions, LastWords) {
    let paths = options.settings.paths().ok().filter(|_| options.keeps != Keeps::Nothing);
    let file = paths.map(|paths| server_logs::sink(&paths.data_dir));
    let (log, last_words) = child_log::sink(file, options.verbose.then(|| screen.clone()));
    let mut supervisor = SupervisorOptions::default();
    supervisor.implementation = ("switchboard".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    supervisor.store = store;
    supervisor.offers = options.offers;
    supervisor.log = Some(log);
    supervisor.wire = options.wire.map(Wire::tap);
    (supervisor, last_words)
}

/// How far a run may go: as configured, else the library's own limits.
pub(crate) fn limits(settings: &Settings) -> Limits {
    let (own, usual) = (settings.limits(), Limits::default());
    let bytes = |own: Option<u64>, usual: usize| {
        own.map_or(usual, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
    };
    Limits {
        steps: own.steps.unwrap_or(usual.steps),
        calls: own.calls.unwrap_or(usual.calls),
        tokens: own.tokens.or(usual.tokens),
        wall_clock: own.wall_clock.or(usual.wall_clock),
        result_bytes: bytes(own.result_bytes, usual.result_bytes),
        step_bytes: bytes(own.step_bytes, usual.step_bytes),
        run_bytes: bytes(own.run_bytes, usual.run_bytes),
        kept_bytes: own.kept_bytes.unwrap_or(usual.kept_bytes),
        images: own.images.unwrap_or(usual.images),
        ..usual
    }
}

/// A server with what the options say about it.
pub(crate) fn config(spec: &ServerSpec, era: EraArgs, headers: &Headers) -> ServerConfig {
    let name = spec.name.clone();
    let mut config = match &spec.target {
        Target::Configured(config) => {
            let mut config = (**config).clone();
            config.era = era.era_or(Some(config.era));
            match &mut config.target {
                ServerTarget::Http { headers: own, .. } => own.extend(headers.of(name.as_str())),
                ServerTarget::Command { env_remove, .. } => {
                    *env_remove = headers.withheld_from(name.as_str())
                }
                ServerTarget::InProcess(_) => {}
            }
            return config;
        }
        Target::Http(url) => {
            let target =
                ServerTarget::Http { url: url.to_string(), headers: headers.of(name.as_str()).collect() };
            ServerConfig::new(name, target)
        }
        Target::Command(words) => {
            let (program, args) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
            let target = ServerTarget::Command {
                program: program.to_owned(),
                args: args.to_vec(),
                env: Vec::new(),
                env_remove: headers.withheld_from(name.as_str()),
                cwd: None,
            };
            ServerConfig::new(name, target)
        }
    };
    config.origin = "the command line".to_owned();
    config.era = era.era();
    config
}

fn demo_spec(named: &demo::Named) -> Result<ServerSpec, Failure> {
    let broken = |why: String| Failure::usage(format!("the demo server {}: {why}", named.name), "report it");
    let url = named.url.parse().map_err(|error: url::ParseError| broken(error.to_string()))?;
    let name = ServerName::new(named.name).map_err(|error| broken(error.to_string()))?;
    Ok(ServerSpec { name, target: Target::Http(url) })
}
