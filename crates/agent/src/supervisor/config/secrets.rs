//! What must not be written anywhere of how a server is reached. One rule for its logs and for the journal.

use url::Url;

use super::ServerTarget;

/// Variables whose values nobody keeps secret, and without which an error cannot be understood.
const PLAIN: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "SHELL",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "TZ",
    "TERM",
    "NODE_ENV",
    "NODE_PATH",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "RUST_LOG",
    "LOG_LEVEL",
];

/// How the name of a variable ends whose value is a place or a switch. It also stands in calls and their results, which
/// could not be gone on with after a restart if it were masked.
const PLAIN_ENDS: &[&str] =
    &["DIR", "DIRECTORY", "FOLDER", "HOME", "LEVEL", "LOCALE", "MODE", "PATH", "ROOT", "TIMEZONE"];

/// What the name of something has in it if it holds a secret.
const NAMES: &[&str] = &["KEY", "TOKEN", "SECRET", "PASS", "PWD", "CREDENTIAL", "AUTH", "DSN"];

impl ServerTarget {
    /// Texts of it that are secret, or may be: what variables and headers hold, what an option of the program says
    /// whose name names a secret, and the user and the secrets in an address.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let Self::Command { env, .. } = self else { return self.sure_secrets() };
        let hidden = env.iter().filter(|(name, _)| !is_plain(name) && !names_secret(name));
        let hidden = hidden.map(|(_, secret)| secret.reveal().to_owned());
        hidden.chain(self.sure_secrets()).collect()
    }

    /// Those of them that are called like a secret. The others may be words that a description needs.
    pub(crate) fn sure_secrets(&self) -> Vec<String> {
        match self {
            Self::Command { args, env, .. } => {
                let named = env.iter().filter(|(name, _)| !is_plain(name) && names_secret(name));
                let named = named.map(|(_, secret)| secret.reveal().to_owned());
                named.chain(of_arguments(args)).collect()
            }
            Self::Http { url, headers } => {
                let mut secrets = of_address(url);
                for (_, value) in headers {
                    let value = value.reveal();
                    secrets.push(value.to_owned());
                    // Such as `Bearer` and what follows it, which may stand alone elsewhere.
                    secrets.extend(value.split_once(' ').map(|(_, rest)| rest.trim().to_owned()));
                }
                secrets
            }
            Self::InProcess(_) => Vec::new(),
        }
    }
}

fn of_arguments(args: &[String]) -> Vec<String> {
    let mut secrets = Vec::new();
    let mut named = false;
    for arg in args {
        if named && !arg.starts_with('-') {
            secrets.push(arg.clone());
        }
        let (name, value) =
            arg.split_once('=').map_or((arg.as_str(), None), |(name, value)| (name, Some(value)));
        named = arg.starts_with('-') && value.is_none() && names_secret(name);
        match value {
            Some(value) if names_secret(name) => secrets.push(value.to_owned()),
            Some(value) => secrets.extend(of_address(value)),
            None => {}
        }
        secrets.extend(of_address(arg));
    }
    secrets
}

/// The password in an address, a user without one, and parts of the query whose names name a secret; as they are
/// written and as they are meant.
fn of_address(text: &str) -> Vec<String> {
    let Some(url) = Url::parse(text).ok().filter(Url::has_authority) else { return Vec::new() };
    let mut written: Vec<String> = Vec::new();
    match url.password() {
        Some(password) => written.push(password.to_owned()),
        None => written.push(url.username().to_owned()),
    }
    let query = url.query().unwrap_or_default().split('&').filter_map(|part| part.split_once('='));
    written.extend(query.filter(|(name, _)| names_secret(name)).map(|(_, value)| value.to_owned()));
    written.retain(|secret| !secret.is_empty());
    let meant = |secret: &String| percent_decoded(secret);
    let meant: Vec<_> = written.iter().map(meant).collect();
    written.extend(meant);
    written
}

fn percent_decoded(text: &str) -> String {
    // A form decodes what is needed here; a plus is a plus outside of one.
    let pair = format!("x={}", text.replace('+', "%2B"));
    url::form_urlencoded::parse(pair.as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

/// Whether a variable of this name holds nothing that must be hidden.
pub(super) fn is_plain(name: &str) -> bool {
    let name = name.to_uppercase();
    let end = name.rsplit('_').next().unwrap_or_default();
    PLAIN.contains(&name.as_str()) || (PLAIN_ENDS.contains(&end) && !names_secret(&name))
}

fn names_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    // One kind of token is called as a path begins.
    let mut words = name.split(|character: char| !character.is_alphanumeric());
    words.any(|word| word == "PAT" || NAMES.iter().any(|secret| word.contains(secret)))
}

#[cfg(test)]
mod tests {
    use super::{of_address, of_arguments};
    use crate::supervisor::{Secret, ServerTarget};

    #[test]
    fn whatever_may_be_secret_is_found_wherever_it_stands() {
        for (args, expected) in [
            (&["serve", "--port", "8080"][..], &[][..]),
            (&["--api-key=abc", "--root", "/srv"], &["abc"]),
            (&["--token", "abc", "def"], &["abc"]),
            (&["--token", "--quiet", "def"], &[]),
            (&["--path", "/srv", "--pattern=x"], &[]),
            (&["postgres://me:pa%24s@db/x"], &["pa%24s", "pa$s"]),
            (&["--db=postgres://me:pass@db/x?sslmode=off"], &["pass", "pass"]),
        ] {
            let args: Vec<_> = args.iter().map(|&arg| arg.to_owned()).collect();
            assert_eq!(of_arguments(&args), expected, "{args:?}");
        }
        assert_eq!(of_address("https://x.example/mcp?api_key=abc&page=2"), ["abc", "abc"]);
        assert_eq!(of_address("https://abc@x.example/mcp"), ["abc", "abc"]);
        assert_eq!(of_address("C:/tokens"), [""; 0]);
    }

    #[test]
    fn a_variable_is_secret_unless_it_is_known_not_to_be() {
        let set = |name: &str, value: &str| (name.to_owned(), Secret::new(value));
        let target = ServerTarget::Command {
            program: "x".to_owned(),
            args: Vec::new(),
            env: vec![
                set("DATABASE_URL", "postgres://db"),
                set("Path", "/bin"),
                set("PAT", "abc"),
                set("NOTES_DIR", "/srv/notes"),
                set("TOKEN_PATH", "/srv/token"),
            ],
            env_remove: Vec::new(),
            cwd: None,
        };
        assert_eq!(target.secrets(), ["postgres://db", "abc", "/srv/token"]);
        let target = ServerTarget::Http {
            url: "https://x.example/mcp".to_owned(),
            headers: vec![set("Authorization", "Bearer abc")],
        };
        assert_eq!(target.secrets(), ["Bearer abc", "abc"]);
    }
}
