//! Everything but servers: models, rules, limits and addresses of all files.

use std::collections::BTreeSet;

use super::{File, Loader};
use crate::config::{
    ArgumentRule, LimitsConfig, ListenConfig, ModelEntry, ModelKind, RuleAction, RuleConfig, RuleMode,
};
use crate::expand::{Expander, Unset};
use crate::native::{
    Native, NativeAction, NativeArgument, NativeDialect, NativeLimits, NativeListen, NativeMode, NativeModel,
    NativeModelKind, NativePreset, NativeRule,
};
use crate::origin::{Origin, Problem};
use crate::secret::SecretString;
use crate::shown;
use crate::text::Position;

impl Loader<'_> {
    /// Puts the files together, the one that counts most first.
    pub(super) fn rest(&mut self) {
        let mut models = BTreeSet::new();
        for File { place, inputs, native } in std::mem::take(&mut self.files) {
            let origin = Origin { kind: place.kind, layer: place.layer, file: place.file.clone(), line: 1 };
            let sources = self.sources;
            let answers = std::mem::take(&mut self.answers);
            let reader = Rest { expander: Expander::new(sources, &place, &inputs, &answers), origin };
            let Native { default_model, models: found, policy, limits, listen, .. } = native;
            self.config.default_model = self.config.default_model.take().or(default_model);
            for (name, at, model) in found {
                for text in model.key.iter().chain(&model.base_url) {
                    self.config.variables.add_text(text, place.kind);
                }
                if models.insert(name.clone()) {
                    match reader.model(&name, at, &model) {
                        Ok(model) => {
                            self.config.secrets.extend(shown::secrets_of_model(&model));
                            self.config.models.push(model);
                        }
                        Err(problem) => self.config.problems.push(problem),
                    }
                }
            }
            if let Some((policy, lines)) = policy {
                let preset = policy.preset.map(|preset| preset_name(preset).to_owned());
                self.config.policy.preset = self.config.policy.preset.take().or(preset);
                for (index, rule) in policy.rules.into_iter().enumerate() {
                    let at = lines.get(index).copied().unwrap_or_default();
                    match reader.rule(rule, at) {
                        Ok(rule) => self.config.policy.rules.push(rule),
                        Err(problem) => self.config.problems.push(problem),
                    }
                }
            }
            if let Some(limits) = limits {
                self.config.limits = merged(&self.config.limits, &limits);
            }
            if let Some((listen, at)) = listen {
                match reader.listen(&self.config.listen, &listen, at) {
                    Ok(listen) => self.config.listen = listen,
                    Err(problem) => self.config.problems.push(problem),
                }
            }
            self.config.secrets.append(&mut reader.expander.used.borrow_mut());
            drop(reader);
            self.answers = answers;
        }
    }
}

/// What one file says, with values.
struct Rest<'a> {
    expander: Expander<'a>,
    origin: Origin,
}

impl Rest<'_> {
    fn text(&self, what: &str, text: &str, at: Position) -> Result<String, Problem> {
        self.expander.expand(text).map_err(|Unset { variable, message, hint }| Problem {
            origin: Origin { line: at.line, ..self.origin.clone() },
            column: None,
            server: None,
            model: None,
            variable: Some(variable),
            message: format!("{what}: {message}"),
            hint,
        })
    }

    fn optional(&self, what: &str, text: Option<&String>, at: Position) -> Result<Option<String>, Problem> {
        text.map(|text| self.text(what, text, at)).transpose()
    }

    fn model(&self, name: &str, at: Position, model: &NativeModel) -> Result<ModelEntry, Problem> {
        let what = format!("the model {name}");
        let of_model = |problem| Problem { model: Some(name.to_owned()), ..problem };
        let text = |text: Option<&String>| self.optional(&what, text, at).map_err(of_model);
        Ok(ModelEntry {
            name: name.to_owned(),
            origin: Origin { line: at.line, ..self.origin.clone() },
            kind: match model.kind {
                NativeModelKind::OpenAi => ModelKind::OpenAi,
                NativeModelKind::Anthropic => ModelKind::Anthropic,
            },
            base_url: text(model.base_url.as_ref())?,
            key: text(model.key.as_ref())?.map(SecretString::new),
            model: text(model.model.as_ref())?,
            context: model.context,
            vision: model.vision,
            parallel: model.parallel,
            dialect: model.dialect.map(|dialect| dialect_name(dialect).to_owned()),
            max_tokens: model.max_tokens,
        })
    }

    fn rule(&self, rule: NativeRule, at: Position) -> Result<RuleConfig, Problem> {
        let arguments = rule.arguments.into_iter();
        Ok(RuleConfig {
            origin: Origin { line: at.line, ..self.origin.clone() },
            action: match rule.action {
                NativeAction::Allow => RuleAction::Allow,
                NativeAction::Ask => RuleAction::Ask,
                NativeAction::Deny => RuleAction::Deny,
            },
            server: rule.server,
            tool: rule.tool,
            annotations: rule.annotations.into_iter().collect(),
            arguments: arguments.map(|argument| self.argument(argument, at)).collect::<Result<_, _>>()?,
            mode: rule.mode.map(|mode| match mode {
                NativeMode::Interactive => RuleMode::Interactive,
                NativeMode::Headless => RuleMode::Headless,
            }),
            principal: rule.principal,
            reason: rule.reason,
        })
    }

    fn argument(&self, argument: NativeArgument, at: Position) -> Result<ArgumentRule, Problem> {
        let NativeArgument { path, inside, host_in, equals, matches, max_bytes } = argument;
        let texts = |texts: Vec<String>| -> Result<Vec<String>, Problem> {
            texts.iter().map(|text| self.text("[policy] a rule", text, at)).collect()
        };
        // A folder is meant as in every other path of the file.
        let inside = texts(inside)?
            .iter()
            .map(|path| self.expander.path(path).to_string_lossy().into_owned())
            .collect();
        Ok(ArgumentRule { path, inside, host_in: texts(host_in)?, equals, matches, max_bytes })
    }

    fn listen(
        &self,
        higher: &ListenConfig,
        listen: &NativeListen,
        at: Position,
    ) -> Result<ListenConfig, Problem> {
        let what = "[listen]";
        let own = |text: Option<&String>| self.optional(what, text, at);
        let token_file = own(listen.token_file.as_ref())?.map(|file| self.expander.path(&file));
        Ok(ListenConfig {
            address: higher.address.clone().or(own(listen.address.as_ref())?),
            public_url: higher.public_url.clone().or(own(listen.public_url.as_ref())?),
            token_file: higher.token_file.clone().or(token_file),
        })
    }
}

fn merged(higher: &LimitsConfig, lower: &NativeLimits) -> LimitsConfig {
    LimitsConfig {
        steps: higher.steps.or(lower.steps),
        calls: higher.calls.or(lower.calls),
        tokens: higher.tokens.or(lower.tokens),
        wall_clock: higher.wall_clock.or(lower.wall_clock.map(|length| length.0)),
        result_bytes: higher.result_bytes.or(lower.result_bytes),
        step_bytes: higher.step_bytes.or(lower.step_bytes),
        run_bytes: higher.run_bytes.or(lower.run_bytes),
        kept_bytes: higher.kept_bytes.or(lower.kept_bytes),
        images: higher.images.or(lower.images),
    }
}

fn preset_name(preset: NativePreset) -> &'static str {
    match preset {
        NativePreset::Careful => "careful",
        NativePreset::ReadOnly => "read-only",
        NativePreset::CiStrict => "ci-strict",
    }
}

fn dialect_name(dialect: NativeDialect) -> &'static str {
    match dialect {
        NativeDialect::OpenAi => "openai",
        NativeDialect::OpenAiStrict => "openai-strict",
        NativeDialect::Anthropic => "anthropic",
        NativeDialect::Gemini => "gemini",
        NativeDialect::Generic => "generic",
    }
}
