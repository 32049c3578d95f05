//! What a host chooses from: the models of the configuration by their names, any other as its provider calls it,
//! and the router where there is none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use switchboard_agent::host::{ModelChoice, ModelInfo, Models};
use switchboard_agent::{AgentError, Selector};
use switchboard_llm::chain::{self, ChainRequest, Link, Resolution, resolve};
use switchboard_llm::{Capabilities, ModelError, SchemaDialect, connect};

use super::probed::Probed;
use super::{ModelArgs, variable};
use crate::failure::Failure;
use crate::screen::Screen;
use crate::settings::Settings;

/// The models of this program.
pub(crate) struct HostModels {
    request: ChainRequest,
    probed: Probed,
    router: Arc<dyn Selector>,
    /// What was chosen before, with its connections and what was learned about its endpoint.
    chosen: Mutex<HashMap<Option<String>, ModelChoice>>,
}

impl HostModels {
    /// Chooses as the options and the configuration say, and `router` where there is no model.
    ///
    /// # Errors
    /// When the configured model that was asked for cannot be used.
    pub(crate) fn new(
        args: &ModelArgs,
        settings: &Settings,
        screen: &Screen,
        router: impl Selector + 'static,
    ) -> Result<Self, Failure> {
        let probed = Probed::read(settings);
        let request = args.request(settings, &probed, screen)?;
        Ok(Self { request, probed, router: Arc::new(router), chosen: Mutex::default() })
    }

    fn request(&self, name: Option<&str>) -> ChainRequest {
        let mut request = self.request.clone();
        if let Some(name) = name {
            request.model = Some(name.to_owned());
            // What a run names comes before what the program was started with.
            if request.configured.iter().any(|model| model.name == name) {
                request.base_url = None;
            }
        }
        request
    }

    async fn find(&self, name: Option<&str>) -> Result<ModelChoice, AgentError> {
        let key = name.map(str::to_owned);
        if let Some(known) = self.chosen.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(known.clone());
        }
        let found = resolve(&self.request(name), variable).await.map_err(explained)?;
        let Some(mut config) = found.model else {
            // Not remembered: a model server may be started later.
            return Ok(ModelChoice {
                selector: Arc::clone(&self.router),
                chat: None,
                dialect: SchemaDialect::Generic,
                note: Some(format!("no language model: {}", found.reason)),
            });
        };
        if !matches!(found.link, Link::Configured { .. }) {
            self.probed.correct(&mut config);
        }
        let choice = ModelChoice::chat(connect(config).map_err(explained)?).note(found.reason);
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner).insert(key, choice.clone());
        Ok(choice)
    }
}

/// What to do, where the library does not know the options.
fn explained(error: ModelError) -> AgentError {
    let hint = match error.hint() {
        _ if error.needs_model_name() => super::NAME_ONE,
        Some(_) => return error.into(),
        None => super::CHECK_OPTIONS,
    };
    AgentError::from(error).hint(hint)
}

impl Models for HostModels {
    fn select<'a>(&'a self, name: Option<&'a str>) -> BoxFuture<'a, Result<ModelChoice, AgentError>> {
        self.find(name).boxed()
    }

    fn beside<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Vec<String>> {
        let asked = async move {
            match resolve(&self.request(Some(name)), variable).await {
                Ok(Resolution { model: Some(config), .. }) => chain::listed(&config).await,
                _ => Vec::new(),
            }
        };
        asked.boxed()
    }

    fn list(&self) -> Vec<ModelInfo> {
        let info = |name: &str, model: &str, place: Option<&str>, capabilities: &Capabilities| ModelInfo {
            name: name.to_owned(),
            model: model.to_owned(),
            place: place.map(str::to_owned),
            context_tokens: capabilities.context_tokens,
            vision: capabilities.vision,
        };
        let configured = self.request.configured.iter().map(|model| {
            let config = &model.config;
            info(&model.name, &config.model, config.base_url.host_str(), &config.capabilities)
        });
        let mut list: Vec<ModelInfo> = configured.collect();
        // What was found without configuration, too.
        for choice in self.chosen.lock().unwrap_or_else(PoisonError::into_inner).values() {
            let Some(chat) = &choice.chat else { continue };
            if !list.iter().any(|known| known.model == chat.name()) {
                list.push(info(chat.name(), chat.name(), None, chat.capabilities()));
            }
        }
        list
    }
}
