//! Which language model answers, if any: the options, and what the person is told about the choice.
//!
//! The chain itself is in `switchboard_llm::chain`; here it gets the options, the environment and a voice.

use clap::Args;
use switchboard_agent::visible;
use switchboard_llm::chain::{ChainRequest, Probe, Resolution, resolve};
use switchboard_llm::{ModelError, OpenAiModel};

use crate::failure::{Exit, Failure};
use crate::screen::Screen;

/// Set to anything but nothing and 0, no model server is looked for on this machine.
const NO_LOCAL_MODELS: &str = "SWITCHBOARD_NO_LOCAL_MODELS";

/// The options that name a model.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ModelArgs {
    /// The language model, as its provider calls it
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// Base URL of an OpenAI-compatible endpoint, such as http://127.0.0.1:11434/v1
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
}

impl ModelArgs {
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
}

/// Walks the chain and says on stderr which link was taken and why. `None` is no model.
pub(crate) async fn choose(args: &ModelArgs, screen: &Screen) -> Result<Option<OpenAiModel>, Failure> {
    let probe = if local_models_are_off() { Probe::Disabled } else { Probe::default() };
    let request = ChainRequest { model: args.model.clone(), base_url: args.base_url.clone(), probe };
    let Resolution { reason, model, .. } = resolve(&request, |name| std::env::var(name).ok())
        .await
        .map_err(|error| args.explain(failure(&error)))?;
    let Some(config) = model else {
        screen.note(&format!("no language model: {}", visible::line(&reason)));
        return Ok(None);
    };
    // The reason names models as their server does.
    screen.note(&visible::line(&reason));
    OpenAiModel::new(config).map(Some).map_err(|error| failure(&error))
}

fn local_models_are_off() -> bool {
    std::env::var_os(NO_LOCAL_MODELS).is_some_and(|value| !value.is_empty() && value != "0")
}

/// What a model's error means for the program.
pub(crate) fn failure(error: &ModelError) -> Failure {
    let exit = if error.is_configuration() { Exit::Usage } else { Exit::Model };
    let hint = match error.hint() {
        // The library does not know the options.
        _ if error.needs_model_name() => {
            "name one with --model, and check the endpoint and that its server runs"
        }
        Some(hint) => hint,
        None => "check --model and --base-url, or try again",
    };
    Failure::new(exit, error.cause(), hint)
}
