//! Who may call what: the options, and the policy that they make.
//!
//! Deciding is `switchboard_agent::policy`; asking on a terminal is `ask`.

use clap::{Args, ValueEnum};
use switchboard_agent::ServerName;
use switchboard_agent::policy::{Action, Mode, Pins, Policy, Rule};
use switchboard_agent::supervisor::ServerTarget;
use switchboard_config::TrustStore;

use crate::failure::Failure;
use crate::kept;
use crate::rules;
use crate::servers::{ServerSpec, Target};
use crate::settings::Settings;
use crate::stdin;

/// The options about consent; the same for every command that calls tools.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ConsentArgs {
    /// Allow every call without asking
    #[arg(long, short = 'y', conflicts_with = "on_ask")]
    yes: bool,

    /// Ask nobody: where a person would be asked, end the run (fail) or go on without the call (deny).
    /// Without it, the person is asked on a terminal, and a run in a pipe ends
    #[arg(long, value_name = "WHAT")]
    on_ask: Option<OnAsk>,

    /// Allow calls of SERVER/TOOL without asking; * stands for any text, and some calls only are meant with
    /// 'SERVER/TOOL where ARGUMENT inside FOLDER' and other tests; repeatable
    #[arg(long, value_name = "SERVER/TOOL")]
    allow: Vec<String>,

    /// Never call SERVER/TOOL; * stands for any text; repeatable
    #[arg(long, value_name = "SERVER/TOOL")]
    deny: Vec<String>,

    /// What happens where nothing else was said, whether this is a terminal or not.
    #[arg(skip)]
    usual: Option<Mode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnAsk {
    Fail,
    Deny,
}

impl ConsentArgs {
    /// What happens where a rule says *ask*.
    pub(crate) fn mode(&self) -> Mode {
        match self.on_ask {
            _ if self.usual.is_some() && !self.yes && self.on_ask.is_none() => self.usual.unwrap_or_default(),
            _ if self.yes => Mode::Yes,
            Some(OnAsk::Fail) => Mode::Fail,
            Some(OnAsk::Deny) => Mode::Deny,
            None if stdin::can_ask() => Mode::Interactive,
            None => Mode::Fail,
        }
    }

    /// The same, with what happens where nothing else was said.
    pub(crate) fn or_mode(mut self, mode: Mode) -> Self {
        self.usual = Some(mode);
        self
    }

    /// Whether a server may ask the person something: not where they said to ask nobody, and not without a terminal.
    pub(crate) fn takes_questions(&self) -> bool {
        self.on_ask.is_none() && stdin::can_ask()
    }

    /// Whether the person left it to the program what to do where nobody can be asked.
    pub(crate) fn nothing_said(&self) -> bool {
        !self.yes && self.on_ask.is_none() && self.mode() != Mode::Interactive
    }

    /// The rules of the configuration and those that were given, and what is known of the servers that they are about.
    ///
    /// # Errors
    /// When one of them is no rule.
    pub(crate) fn policy(&self, settings: &Settings, specs: &[ServerSpec]) -> Result<Policy, Failure> {
        let mut policy = Policy::new(self.mode());
        for (rule, _) in rules::rules(settings.config())? {
            policy = policy.rule(rule);
        }
        policy = policy.preset(rules::preset(settings.config())?);
        let allowed = self.allow.iter().map(|pattern| (Action::Allow, pattern));
        let denied = self.deny.iter().map(|pattern| (Action::Deny, pattern));
        for (action, pattern) in allowed.chain(denied) {
            let rule = Rule::new(action, pattern)
                .map_err(|error| Failure::usage(error.to_string(), "write it as SERVER/TOOL"))?;
            policy = policy.rule(rule);
        }
        Ok(known(policy, specs))
    }
}

/// What the policy has to know of servers: which are trusted, and where they run.
fn known(mut policy: Policy, specs: &[ServerSpec]) -> Policy {
    if let Some(home) = std::env::home_dir() {
        policy = policy.home(home);
    }
    let here = std::env::current_dir().ok();
    for spec in specs {
        if spec.target.configured().is_some_and(|server| server.trusted) {
            policy = policy.trust(spec.name.clone());
        }
        let folder = match &spec.target {
            Target::Http(_) => None,
            Target::Command(_) => here.clone(),
            Target::Configured(server) => match &server.target {
                ServerTarget::Command { cwd, .. } => cwd.clone().or_else(|| here.clone()),
                _ => None,
            },
        };
        if let Some(folder) = folder {
            policy = policy.folder(spec.name.clone(), folder);
        }
    }
    policy
}

/// The servers that are known and are not in this run: those of the configuration, used or not, and those of other
/// projects, which were trusted there or have their tools pinned. Rules about them are no errors.
pub(crate) fn absent(settings: &Settings, specs: &[ServerSpec], policy: &Policy) -> Vec<ServerName> {
    // Others are looked for only where a rule could be about them.
    let is_about_these = |rule: &Rule| specs.iter().any(|spec| rule.names_server(&spec.name));
    let elsewhere = if policy.rules().iter().all(is_about_these) { Vec::new() } else { elsewhere(settings) };
    let elsewhere = elsewhere.iter().map(String::as_str);
    let names = configured(settings).chain(elsewhere);
    let names = names.filter(|name| !specs.iter().any(|spec| spec.name.as_str() == *name));
    let mut absent: Vec<ServerName> = names.filter_map(|name| ServerName::new(name).ok()).collect();
    absent.sort();
    absent.dedup();
    absent
}

/// All servers that the files here name, whether they can be used or not.
pub(crate) fn configured(settings: &Settings) -> impl Iterator<Item = &str> {
    let config = settings.config();
    let untrusted = config.untrusted.iter().filter_map(|one| one.server.as_deref());
    let broken = config.problems.iter().filter_map(|problem| problem.server.as_deref());
    config.servers.iter().map(|server| server.name.as_str()).chain(untrusted).chain(broken)
}

/// The servers that other projects named before. What cannot be read names none.
pub(crate) fn elsewhere(settings: &Settings) -> Vec<String> {
    let Ok(paths) = settings.paths() else { return Vec::new() };
    let trusted = TrustStore::open(&paths.data_dir);
    let mut names: Vec<String> = trusted.servers().map(str::to_owned).collect();
    // A store is not made to find nothing in it.
    if paths.store_file().exists()
        && let Ok(store) = kept::store(settings)
        && let Ok(pinned) = Pins::new(store).servers()
    {
        names.extend(pinned.iter().map(|server| server.as_str().to_owned()));
    }
    names
}
