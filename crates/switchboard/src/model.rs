//! Which language model answers, if any: the options, and what the person is told about the choice.
//!
//! The chain itself is in `switchboard_llm::chain`; here it gets the options, the configuration, the environment and
//! a voice. `configured` reads the models of the configuration, `choice` is what a host chooses from, `answering` says
//! which would answer, `doctor` tries a model live, `probed` keeps what it found out.

mod answering;
mod choice;
mod configured;
mod doctor;
mod probed;

use clap::Args;
use switchboard_agent::visible;
use switchboard_llm::ModelError;
use switchboard_llm::chain::{ChainRequest, Configured, Probe};

pub(crate) use self::answering::{Answering, Unusable};
pub(crate) use self::choice::HostModels;
pub(crate) use self::doctor::{doctor, render};
use self::probed::Probed;
use crate::failure::{Exit, Failure};
use crate::screen::Screen;
use crate::settings::Settings;

/// Set to anything but nothing and 0, no model server is looked for on this machine.
const NO_LOCAL_MODELS: &str = "SWITCHBOARD_NO_LOCAL_MODELS";

/// What to do where no model is named, and where nothing better is known.
const NAME_ONE: &str = "name one with --model, and check the endpoint and that its server runs";
const CHECK_OPTIONS: &str = "check --model and --base-url, or try again";

/// The options that name a model.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ModelArgs {
    /// The language model: one of the configuration, or as its provider calls it
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// Base URL of an OpenAI-compatible endpoint, such as http://127.0.0.1:11434/v1
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
}

impl ModelArgs {
    /// As if these had been given on the command line.
    pub(crate) fn of(model: Option<String>, base_url: Option<String>) -> Self {
        Self { model, base_url }
    }

    /// Whether they name one, or where it is.
    pub(crate) fn names_one(&self) -> bool {
        self.model.is_some() || self.base_url.is_some()
    }

    /// These options as a shell takes them, each with a blank before it; `model` stands for what is not named.
    pub(crate) fn words(&self, model: Option<String>) -> String {
        let model = self.model.clone().or(model.filter(|_| self.base_url.is_none()));
        let options = [("--base-url", self.base_url.clone()), ("--model", model)];
        let word = |(option, value): (&str, Option<String>)| {
            Some(format!(" {option} {}", visible::argument(&value?)))
        };
        options.into_iter().filter_map(word).collect()
    }

    /// Names the variable that names the endpoint, where the person did not name one.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        let named = std::env::var_os("OPENAI_BASE_URL").is_some_and(|value| !value.is_empty());
        if self.base_url.is_some() || !named {
            return failure;
        }
        failure.map_hint(|hint| {
            ["the base URL", "the endpoint", "--base-url"]
                .iter()
                .fold(hint, |hint, words| hint.replace(words, "OPENAI_BASE_URL"))
        })
    }

    /// What the chain is given. What of the configuration cannot be used is warned of, unless it was asked for.
    fn request(
        &self,
        settings: &Settings,
        probed: &Probed,
        screen: &Screen,
    ) -> Result<ChainRequest, Failure> {
        self.unless_broken(settings)?;
        let (configured, broken) = configured::all(settings, probed);
        for (name, error) in broken {
            self.unless_meant(&name, &error)?;
            screen.warning(&visible::line(&format!("the model {name} of the configuration: {error}")));
        }
        Ok(self.chain(configured))
    }

    /// Fails if the model that was asked for cannot be read from the configuration.
    fn unless_broken(&self, settings: &Settings) -> Result<(), Failure> {
        let meant = self.model.as_ref().filter(|_| self.base_url.is_none());
        let mut problems = settings.config().problems.iter();
        match problems.find(|problem| problem.model.is_some() && problem.model.as_ref() == meant) {
            Some(problem) => Err(Failure::usage(problem.to_string(), &problem.hint)),
            None => Ok(()),
        }
    }

    /// Fails if this model, which cannot be used, is the one that was asked for.
    fn unless_meant(&self, name: &str, error: &ModelError) -> Result<(), Failure> {
        if self.model.as_deref() != Some(name) || self.base_url.is_some() {
            return Ok(());
        }
        Err(failure(error).explained(&format!("the model {name} of the configuration")))
    }

    fn chain(&self, configured: Vec<Configured>) -> ChainRequest {
        let probe = if local_models_are_off() { Probe::Disabled } else { Probe::default() };
        ChainRequest { model: self.model.clone(), base_url: self.base_url.clone(), configured, probe }
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn local_models_are_off() -> bool {
    std::env::var_os(NO_LOCAL_MODELS).is_some_and(|value| !value.is_empty() && value != "0")
}

/// What a model's error means for the program.
pub(crate) fn failure(error: &ModelError) -> Failure {
    let exit = if error.is_configuration() { Exit::Usage } else { Exit::Model };
    let hint = match error.hint() {
        // The library does not know the options.
        _ if error.needs_model_name() => NAME_ONE,
        Some(hint) => hint,
        None => CHECK_OPTIONS,
    };
    Failure::new(exit, error.cause(), hint)
}
