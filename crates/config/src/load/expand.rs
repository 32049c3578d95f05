//! A server of a file becomes an entry: values in the place of references, paths whole.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use url::Url;

use super::{Found, Loader};
use crate::digest;
use crate::dotenv;
use crate::entry::{ServerEntry, Target, ToolFilter};
use crate::expand::Expander;
use crate::origin::{Layer, Problem};
use crate::raw::{RawServer, RawTarget, Settings, Text};
use crate::secret::SecretString;
use crate::shown;

/// The largest file with variables, in bytes.
const MAX_FILE: u64 = 1 << 20;

impl Loader<'_> {
    /// Makes an entry of a server, or a problem that stops it alone.
    pub(super) fn expand(&mut self, found: Found) {
        let Found { raw, place, inputs } = found;
        let Some(target) = raw.target.clone() else { return };
        let shown = shown::target(&target);
        let is_wanted = self.sources.wanted.as_ref().is_none_or(|wanted| wanted.contains(&raw.name));
        let is_on = raw.settings.enabled != Some(false);
        let mut values = Values {
            raw: &raw,
            expander: Expander::new(self.sources, &place, &inputs, &self.answers),
            used: true,
        };
        values.used = is_on && is_wanted;
        match values.target(target) {
            Ok(target) => {
                let mut secrets = values.expander.used.take();
                secrets.extend(shown::secrets(&target));
                let entry = entry(&raw, target, shown, secrets);
                let home = self.sources.paths.home.as_deref();
                let project = place.foreign.then(|| place.project.clone());
                let project = project.filter(|folder| home.is_none_or(|home| !home.starts_with(folder)));
                self.config.servers.push(ServerEntry { project, ..entry });
            }
            Err(problem) => {
                drop(values);
                self.broken(&raw, problem);
            }
        }
    }
}

/// The values of one server.
struct Values<'a> {
    raw: &'a RawServer,
    expander: Expander<'a>,
    /// Whether it is going to be used. Nothing is asked for what is not.
    used: bool,
}

impl Values<'_> {
    fn target(&self, target: RawTarget) -> Result<Target, Problem> {
        match target {
            RawTarget::Command { command, args, env, env_file, cwd } => {
                let at = command.at;
                let command = self.program(self.text(&command)?);
                if command.is_empty() {
                    return Err(self.raw.problem(at, "its command is empty", "name the program to start"));
                }
                let (variables, env_file) = self.variables(env_file)?;
                let mut all = variables;
                all.extend(self.secrets(env)?);
                Ok(Target::Command {
                    command,
                    args: args.iter().map(|arg| self.text(arg)).collect::<Result<_, _>>()?,
                    env: all,
                    env_file,
                    cwd: cwd.map(|cwd| Ok(self.expander.path(&self.text(&cwd)?))).transpose()?,
                })
            }
            RawTarget::Http { url, headers, transport } => {
                let at = url.at;
                let url = self.text(&url)?;
                if self.used && !is_address(&url) {
                    // The address may hold what must not be shown.
                    let hint = "write it as http://HOST:PORT/PATH or https://HOST/PATH";
                    return Err(self.raw.problem(at, "its url is not the address of an HTTP server", hint));
                }
                Ok(Target::Http { url, headers: self.secrets(headers)?, transport })
            }
        }
    }

    fn text(&self, text: &Text) -> Result<String, Problem> {
        if !self.used {
            return Ok(text.text.clone());
        }
        self.expander.expand(&text.text).map_err(|unset| {
            let variable = Some(unset.variable);
            Problem { variable, ..self.raw.problem(text.at, unset.message, unset.hint) }
        })
    }

    fn secrets(&self, texts: Vec<(String, Text)>) -> Result<BTreeMap<String, SecretString>, Problem> {
        texts.into_iter().map(|(name, text)| Ok((name, SecretString::new(self.text(&text)?)))).collect()
    }

    /// A program by a path in a project is meant from the folder of the project.
    fn program(&self, command: String) -> String {
        let is_path = command.contains(['/', '\\']) && !Path::new(&command).is_absolute();
        let of_project = self.raw.origin.layer == Layer::Project || command.starts_with("~/");
        if is_path && of_project && self.used {
            self.expander.path(&command).to_string_lossy().into_owned()
        } else {
            command
        }
    }

    fn variables(
        &self,
        file: Option<Text>,
    ) -> Result<(BTreeMap<String, SecretString>, Option<PathBuf>), Problem> {
        let Some(file) = file.filter(|_| self.used) else { return Ok((BTreeMap::new(), None)) };
        let path = self.expander.path(&self.text(&file)?);
        let refused = |why: String| {
            let message = format!("its file with variables, {}, {why}", path.display());
            self.raw.problem(file.at, message, "check the path, or leave it out")
        };
        let text = small_file(&path).map_err(|error| refused(format!("cannot be read: {error}")))?;
        let pairs =
            dotenv::parse(&text).map_err(|line| refused(format!("has no NAME=VALUE in line {line}")))?;
        let pairs = pairs.into_iter().map(|(name, value)| (name, SecretString::new(value))).collect();
        Ok((pairs, Some(path)))
    }
}

fn is_address(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// The text of a file that is not large.
pub(super) fn small_file(path: &Path) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut text = String::new();
    fs::File::open(path)?.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(io::Error::other(format!("it is larger than {MAX_FILE} bytes")));
    }
    Ok(text)
}

fn entry(raw: &RawServer, target: Target, shown: String, secrets: Vec<SecretString>) -> ServerEntry {
    let settings = raw.settings.clone();
    let hash = hash(&target, &settings);
    ServerEntry {
        name: raw.name.clone(),
        origin: raw.origin.clone(),
        project: None,
        enabled: settings.enabled.unwrap_or(true),
        target,
        era: settings.era,
        required: settings.required.unwrap_or_default(),
        lazy: settings.lazy.unwrap_or_default(),
        idle_stop: settings.idle_stop,
        startup_timeout: settings.startup_timeout,
        idle_timeout: settings.idle_timeout,
        hard_timeout: settings.hard_timeout,
        max_concurrency: settings.max_concurrency,
        tools: ToolFilter {
            include: settings.include.unwrap_or_default(),
            exclude: settings.exclude.unwrap_or_default(),
            rename: settings.rename.unwrap_or_default().into_iter().collect(),
        },
        trust: settings.trust.unwrap_or_default(),
        hash,
        shown,
        secrets,
    }
}

/// The same for the same server, spoken to in the same way. What only says when it is used, for how long and what for is
/// not part of it: with that it is no other server.
fn hash(target: &Target, settings: &Settings) -> String {
    let mut parts = Vec::new();
    let mut pair = |name: &str, value: &str| parts.extend([name.to_owned(), value.to_owned()]);
    match target {
        Target::Command { command, args, env, env_file: _, cwd } => {
            pair("command", command);
            args.iter().for_each(|arg| pair("arg", arg));
            env.iter().for_each(|(name, value)| pair(name, value.expose()));
            pair("cwd", &cwd.as_deref().map(Path::to_string_lossy).unwrap_or_default());
        }
        Target::Http { url, headers, transport } => {
            pair("url", url);
            headers.iter().for_each(|(name, value)| pair(name, value.expose()));
            pair("transport", &format!("{transport:?}"));
        }
    }
    let how = Settings { era: settings.era.clone(), ..Settings::default() };
    pair("settings", &format!("{how:?}"));
    digest::of(&parts.iter().map(String::as_str).collect::<Vec<_>>())
}
