//! A command or an address as people may see it: what looks like a secret is masked.

use std::collections::BTreeSet;

use url::Url;

use crate::config::ModelEntry;
use crate::entry::Target;
use crate::expand::mentions;
use crate::origin::OriginKind;
use crate::raw::{RawTarget, Text};
use crate::secret::SecretString;

const MASK: &str = "***";
/// Parts of the names of what must not be shown.
const SECRET_PARTS: [&str; 11] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "api-key",
    "api_key",
    "apikey",
    "authorization",
    "credential",
];
/// Whole words of such names.
const SECRET_WORDS: [&str; 7] = ["auth", "bearer", "cookie", "dsn", "pass", "pat", "sig"];

/// The command line, or the address. Variables stand there by their names.
pub(crate) fn target(target: &RawTarget) -> String {
    match target {
        RawTarget::Command { command, args, .. } => {
            let mut words = vec![command.text.clone()];
            words.extend(arguments(args));
            words.join(" ")
        }
        RawTarget::Http { url, .. } => address(&url.text),
    }
}

fn arguments(args: &[Text]) -> Vec<String> {
    let mut hide_next = false;
    args.iter()
        .map(|Text { text, .. }| {
            let hidden = std::mem::replace(&mut hide_next, false);
            if is_reference(text) {
                text.clone()
            } else if hidden {
                MASK.to_owned()
            } else if let Some((name, value)) = text.split_once('=').filter(|(name, _)| is_secret(name)) {
                if is_reference(value) { text.clone() } else { format!("{name}={MASK}") }
            } else if let Some((name, value)) = text.split_once(':').filter(|(name, _)| is_secret(name)) {
                if value.contains("${") { text.clone() } else { format!("{name}: {MASK}") }
            } else {
                hide_next = text.starts_with('-') && is_secret(text);
                address(text)
            }
        })
        .map(|word| if word.contains(char::is_whitespace) { format!("'{word}'") } else { word })
        .collect()
}

/// Whether it is nothing but a variable, whose name may be seen.
fn is_reference(text: &str) -> bool {
    text.starts_with("${") && text.ends_with('}') && !text.contains(":-")
}

/// Whether what is called so is usually a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    SECRET_PARTS.iter().any(|part| name.contains(part))
        || name.ends_with("key")
        || words.any(|word| SECRET_WORDS.contains(&word))
}

/// What is masked of a target: values of variables, headers and arguments that are called like a secret, wherever they came
/// from, and the secrets in addresses.
pub(crate) fn secrets(target: &Target) -> Vec<SecretString> {
    let mut secrets = Vec::new();
    let mut add = |text: &str| {
        if !text.is_empty() {
            secrets.push(SecretString::new(text));
        }
    };
    let named = match target {
        Target::Command { env, .. } => env,
        Target::Http { headers, .. } => headers,
    };
    for (name, value) in named {
        let value = value.expose();
        if is_secret(name) {
            add(value);
            // Of `Bearer TOKEN` the token, too.
            value.rsplit_once(' ').into_iter().for_each(|(_, last)| add(last));
        } else {
            in_address(value).iter().for_each(|text| add(text));
        }
    }
    match target {
        Target::Http { url, .. } => in_address(url).iter().for_each(|text| add(text)),
        Target::Command { args, .. } => {
            let mut is_next = false;
            for arg in args {
                let is_value = std::mem::replace(&mut is_next, false);
                match arg.split_once(['=', ':']).filter(|(name, _)| is_secret(name)) {
                    _ if is_value => add(arg),
                    Some((_, value)) => add(value.trim()),
                    None => {
                        is_next = arg.starts_with('-') && is_secret(arg);
                        in_address(arg).iter().for_each(|text| add(text));
                    }
                }
            }
        }
    }
    secrets
}

/// What must not be shown of a model: its key, and what is secret in its address. Whatever is given to it as a parameter
/// may be a key, under any name, but for the version of its interface.
pub(crate) fn secrets_of_model(model: &ModelEntry) -> Vec<SecretString> {
    let is_key = |name: &str| !name.to_ascii_lowercase().contains("version");
    let address = model.base_url.iter().flat_map(|url| in_parts(url, is_key)).filter(|text| !text.is_empty());
    model.key.clone().into_iter().chain(address.map(SecretString::new)).collect()
}

/// The password in an address, a user without one, and the values of parameters that sound like secrets: as they are
/// written, and as they are meant.
fn in_address(text: &str) -> Vec<String> {
    in_parts(text, is_secret)
}

fn in_parts(text: &str, is_secret: impl Fn(&str) -> bool) -> Vec<String> {
    let user = user_part(text).map(|user| user.split_once(':').map_or(user, |(_, password)| password));
    let query =
        text.split_once("://").and_then(|(_, rest)| rest.split_once('?')).map_or("", |(_, query)| query);
    let query = query.split_once('#').map_or(query, |(query, _)| query);
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let values = pairs.filter(|(name, _)| is_secret(name)).map(|(_, value)| value);
    let written: BTreeSet<&str> =
        user.into_iter().chain(values).filter(|secret| !secret.is_empty()).collect();
    let mut all: BTreeSet<String> = written.iter().map(|&secret| secret.to_owned()).collect();
    for secret in written {
        // In a form a plus is a space, elsewhere it is a plus.
        all.extend([decoded(secret), decoded(&secret.replace('+', "%2B"))]);
    }
    all.into_iter().collect()
}

/// What stands in front of the host in an address. One that cannot be read may have a password with a `/` in it.
fn user_part(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://")?;
    let end = if Url::parse(text).is_ok() { rest.find(['/', '?', '#']) } else { None };
    rest[..end.unwrap_or(rest.len())].rsplit_once('@').map(|(user, _)| user)
}

fn decoded(text: &str) -> String {
    let pair = format!("x={text}");
    url::form_urlencoded::parse(pair.as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

/// A text that is secret: the references in it alone.
pub(crate) fn references(text: &str) -> String {
    if is_reference(text) {
        return text.to_owned();
    }
    let written = mentions(text, OriginKind::Native).into_iter().map(|mention| mention.written);
    std::iter::once(MASK.to_owned()).chain(written).collect::<Vec<_>>().join(" ")
}

/// An address without its password, or its user where there is none, and without the values of parameters that sound like secrets.
pub(crate) fn address(text: &str) -> String {
    if !text.contains("://") {
        return text.to_owned();
    }
    let Ok(mut url) = Url::parse(text) else {
        return match user_part(text) {
            Some(user) if !user.contains("${") => text.replacen(user, MASK, 1),
            _ => text.to_owned(),
        };
    };
    let is_plain = |text: &str| !text.is_empty() && !text.contains("$%7B");
    let hides_password = url.password().is_some_and(is_plain);
    // A user without a password is a token.
    let hides_user = url.password().is_none() && is_plain(url.username());
    let hidden = |name: &str, value: &str| is_secret(name) && !value.contains("${");
    let hides_query = url.query_pairs().any(|(name, value)| hidden(&name, &value));
    if hides_password {
        // An address with a password has a host, so it takes another one.
        let _ = url.set_password(Some(MASK));
    }
    if hides_user {
        let _ = url.set_username(MASK);
    }
    if hides_query {
        let pairs: Vec<(String, String)> = url
            .query_pairs()
            .map(|(name, value)| {
                let value = if hidden(&name, &value) { MASK.to_owned() } else { value.into_owned() };
                (name.into_owned(), value)
            })
            .collect();
        url.query_pairs_mut().clear().extend_pairs(pairs);
    }
    if hides_password || hides_user || hides_query { url.to_string() } else { text.to_owned() }
}
