//! What a server is configured as, part by part, for whoever compares it with what it was before.
//!
//! Nothing here is secret: what may be is masked, with so few digits of a digest that they tell one value from another
//! and say nothing of either.

use url::Url;

use super::secrets::is_plain;
use super::{ServerConfig, ServerTarget};
use crate::digest::Digest;
use crate::journal::{MASK, Masker};

/// Digits of the digest of what is masked.
const DIGITS: usize = 4;

impl ServerConfig {
    /// A line for each part, in the order in which they count.
    pub(crate) fn parts(&self) -> Vec<String> {
        let own = self.secrets.iter().map(|secret| secret.reveal().to_owned());
        let hidden = Hidden::new(own.chain(self.target.secrets()).filter(|secret| !secret.is_empty()));
        let mut parts = Vec::new();
        match &self.target {
            ServerTarget::Command { program, args, env, env_remove: _, cwd } => {
                parts.push(hidden.part("program", program));
                parts.extend(args.iter().map(|arg| hidden.part("argument", arg)));
                parts.extend(env.iter().map(|(name, value)| match is_plain(name) {
                    true => hidden.part(&format!("variable {name}"), value.reveal()),
                    false => masked(&format!("variable {name}"), value.reveal()),
                }));
                parts.extend(cwd.iter().map(|cwd| hidden.part("folder", &cwd.to_string_lossy())));
            }
            ServerTarget::Http { url, headers } => {
                parts.extend(hidden.address(url));
                let header = |(name, value): &(String, super::Secret)| {
                    masked(&format!("header {name}"), value.reveal())
                };
                parts.extend(headers.iter().map(header));
            }
            ServerTarget::InProcess(_) => {}
        }
        parts
    }
}

/// What must not be shown.
struct Hidden {
    secrets: Vec<String>,
    masker: Masker,
}

impl Hidden {
    fn new(secrets: impl Iterator<Item = String>) -> Self {
        let secrets: Vec<String> = secrets.collect();
        let mut masker = Masker::default();
        secrets.iter().for_each(|secret| masker.add(secret));
        Self { secrets, masker }
    }

    fn part(&self, what: &str, text: &str) -> String {
        let is_secret = |text: &str| self.secrets.iter().any(|secret| secret == text);
        let mut shown = match text.split_once('=') {
            _ if is_secret(text) => MASK.to_owned(),
            Some((name, value)) if is_secret(value) => format!("{name}={MASK}"),
            _ => text.to_owned(),
        };
        self.masker.text(&mut shown);
        if shown == text { format!("{what}: {text}") } else { format!("{what}: {shown}{}", mark(what, text)) }
    }

    fn address(&self, text: &str) -> Vec<String> {
        let Ok(url) = Url::parse(text) else { return vec![masked("address", text)] };
        let mut parts = vec![format!("origin: {}", url.origin().ascii_serialization())];
        if !url.username().is_empty() || url.password().is_some() {
            let login = format!("{}:{}", url.username(), url.password().unwrap_or_default());
            parts.push(masked("login in the address", &login));
        }
        parts.push(self.part("path", url.path()));
        parts.extend(url.query().map(|query| masked("parameters of the address", query)));
        parts
    }
}

fn masked(what: &str, text: &str) -> String {
    format!("{what}: {MASK}{}", mark(what, text))
}

fn mark(what: &str, text: &str) -> String {
    let digest = Digest::of(&[b"part", what.as_bytes(), text.as_bytes()]);
    format!(" (#{})", digest.short(DIGITS))
}

#[cfg(test)]
mod tests {
    use crate::name::ServerName;
    use crate::supervisor::{Secret, ServerConfig, ServerTarget};

    fn parts(target: ServerTarget) -> Vec<String> {
        let mut config = ServerConfig::new(ServerName::new("s").unwrap(), target);
        config.secrets.push(Secret::new("put in here"));
        config.parts()
    }

    fn command(args: &[&str], env: &[(&str, &str)]) -> Vec<String> {
        parts(ServerTarget::Command {
            program: "npx".to_owned(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            env: env.iter().map(|&(name, value)| (name.to_owned(), Secret::new(value))).collect(),
            env_remove: vec!["OTHER".to_owned()],
            cwd: Some("/srv".into()),
        })
    }

    fn http(url: &str, header: &str) -> Vec<String> {
        parts(ServerTarget::Http {
            url: url.to_owned(),
            headers: vec![("Authorization".to_owned(), Secret::new(header))],
        })
    }

    #[test]
    fn every_part_is_named_and_what_may_be_secret_is_not_shown() {
        for (parts, shown) in [
            (
                command(
                    &["-y", "--token", "abc", "--key=xyz", "a/put in here/b"],
                    &[("T", "q"), ("LOG_LEVEL", "debug")],
                ),
                &[
                    "program: npx",
                    "argument: -y",
                    "argument: --token",
                    "argument: *** (#",
                    "argument: --key=*** (#",
                    "argument: a/***/b (#",
                    "variable T: *** (#",
                    "variable LOG_LEVEL: debug",
                    "folder: /srv",
                ][..],
            ),
            (
                http("https://u:p@h.example:8443/mcp/v1?q=1", "Bearer abc"),
                &[
                    "origin: https://h.example:8443",
                    "login in the address: *** (#",
                    "path: /mcp/v1",
                    "parameters of the address: *** (#",
                    "header Authorization: *** (#",
                ],
            ),
        ] {
            assert_eq!(parts.len(), shown.len(), "{parts:?}");
            for (part, shown) in parts.iter().zip(shown) {
                let whole = if shown.ends_with('#') { part.starts_with(shown) } else { part == shown };
                assert!(whole, "{part:?} is not {shown:?}");
            }
        }
    }

    #[test]
    fn another_value_of_a_secret_is_another_part() {
        let other = |one: &[String], other: &[String]| {
            one.iter().zip(other).filter(|(one, other)| one != other).count()
        };
        assert_eq!(
            other(&command(&[], &[("T", "q"), ("U", "v")]), &command(&[], &[("T", "r"), ("U", "v")])),
            1
        );
        assert_eq!(other(&http("http://h/a", "Bearer a"), &http("http://h/a", "Bearer b")), 1);
        assert_eq!(other(&http("http://h/?k=1", ""), &http("http://h/?k=2", "")), 1);
    }
}
