//! What `doctor --model` found out about models, kept in the store. It counts before the table of known models, and
//! what the configuration says counts before it. Who doubts it asks the doctor again.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use switchboard_agent::store::{Store, StoreError};
use switchboard_llm::{ModelConfig, Outcome, ProbeReport};

use crate::kept;
use crate::settings::Settings;

/// The kind of document.
const KIND: &str = "model";

/// What was found out about one model. What could not be found out is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Found {
    /// When, in milliseconds since 1970-01-01 UTC.
    unix_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    vision: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<bool>,
}

/// What was found out, by endpoint and model.
#[derive(Debug, Default)]
pub(super) struct Probed(HashMap<String, Found>);

impl Probed {
    /// All of it; nothing where there is no store, or it cannot be read: then the table counts.
    pub(super) fn read(settings: &Settings) -> Self {
        let is_there = settings.store_path().is_ok_and(|path| path.exists());
        let store = is_there.then(|| kept::store(settings).ok()).flatten();
        store.map(|store| Self::of(&*store)).unwrap_or_default()
    }

    fn of(store: &dyn Store) -> Self {
        let kept = store.documents(KIND).unwrap_or_default();
        Self(
            kept.into_iter()
                .filter_map(|(key, text)| Some((key, serde_json::from_str(&text).ok()?)))
                .collect(),
        )
    }

    /// Corrects what the table says about a model.
    pub(super) fn correct(&self, config: &mut ModelConfig) {
        let Some(found) = self.0.get(&key(config)) else { return };
        let known = &mut config.capabilities;
        known.vision = found.vision.unwrap_or(known.vision);
        known.parallel_tool_calls = found.parallel_tool_calls.unwrap_or(known.parallel_tool_calls);
        known.reasoning = found.reasoning.unwrap_or(known.reasoning);
    }
}

/// Keeps what was found out, if the model answered at all.
///
/// # Errors
/// When it cannot be written.
pub(super) fn keep(
    store: &dyn Store,
    (config, report): (&ModelConfig, &ProbeReport),
    unix_ms: u64,
) -> Result<(), StoreError> {
    let outcome =
        |wanted: &str| report.steps.iter().find(|step| step.step == wanted).map(|step| step.outcome);
    if outcome("answer") != Some(Outcome::Pass) {
        return Ok(());
    }
    let does = |step| match outcome(step) {
        Some(Outcome::Pass) => Some(true),
        Some(Outcome::Unsupported) => Some(false),
        _ => None,
    };
    let found = Found {
        unix_ms,
        vision: does("image"),
        parallel_tool_calls: does("parallel"),
        // That it did not think about so little says nothing.
        reasoning: report.capabilities.reasoning.then_some(true),
    };
    let text = serde_json::to_string(&found).map_err(|error| StoreError::new(error.to_string()))?;
    store.put_document(KIND, &key(config), Some(&text))
}

/// The endpoint, without a query that may hold a key, and the model.
fn key(config: &ModelConfig) -> String {
    let mut url = config.base_url.clone();
    url.set_query(None);
    format!("{url} {}", config.model)
}

#[cfg(test)]
mod tests {
    use switchboard_agent::store::MemoryStore;
    use switchboard_llm::{Capabilities, ProbeStep, Usage};

    use super::*;

    fn report(config: &ModelConfig, steps: &[(&'static str, Outcome)]) -> ProbeReport {
        let step = |(step, outcome): &(&'static str, Outcome)| ProbeStep {
            step,
            outcome: *outcome,
            said: String::new(),
        };
        ProbeReport {
            model: config.model.clone(),
            endpoint: "localhost".to_owned(),
            provider: config.provider,
            steps: steps.iter().map(step).collect(),
            capabilities: config.capabilities.clone(),
            usage: Usage::default(),
        }
    }

    /// What is known of the model after the doctor saw these.
    fn after(store: &dyn Store, model: &str, steps: &[(&'static str, Outcome)]) -> Capabilities {
        let mut config = ModelConfig::openai("http://localhost:1/v1?key=secret", model).unwrap();
        keep(store, (&config, &report(&config, steps)), 1).unwrap();
        Probed::of(store).correct(&mut config);
        config.capabilities
    }

    #[test]
    fn what_was_seen_counts_before_the_table_until_it_is_seen_otherwise() {
        let store = MemoryStore::default();
        let answered = ("answer", Outcome::Pass);
        let seen =
            after(&store, "m", &[answered, ("image", Outcome::Pass), ("parallel", Outcome::Unsupported)]);
        assert!(seen.vision && !seen.parallel_tool_calls);
        let seen = after(&store, "m", &[("answer", Outcome::Fail), ("image", Outcome::Unsupported)]);
        assert!(seen.vision, "a model that did not answer says nothing of itself");
        let seen =
            after(&store, "m", &[answered, ("image", Outcome::Unsupported), ("parallel", Outcome::Fail)]);
        assert!(!seen.vision && seen.parallel_tool_calls, "what could not be tried is as the table has it");
        assert_eq!(after(&store, "other", &[]), Capabilities::UNKNOWN);
        assert!(store.documents(KIND).unwrap().iter().all(|(key, _)| !key.contains("secret")));
    }
}
