//! `switchboard secrets`: values that the configuration only names. They are never given on the command line, and
//! never shown.

use clap::{Args, Subcommand};
use serde::Serialize;
use switchboard_agent::journal::Masker;
use switchboard_config::{Keeper, SecretError, SecretString, StoredSecret};

use crate::failure::Failure;
use crate::output;
use crate::screen::Screen;
use crate::settings::{Settings, hidden};
use crate::stdin;

/// Keep secrets that the configuration names as ${secret:NAME}
///
/// They are in the keychain of this machine. Where there is none, they are in an encrypted file, with its key in a file
/// next to it that only you can read: that keeps them off the screen and out of what is copied with the one file, but
/// not from programs that run as you. SWITCHBOARD_SECRETS=file or =keychain chooses.
#[derive(Args, Debug)]
pub(crate) struct SecretsArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Keep a secret; its value is asked for, or read from stdin in a pipe
    Set {
        /// What references call it
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// List the names of all secrets
    List,
    /// Remove a secret
    Remove {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Kept<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_in: Option<Keeper>,
}

#[derive(Serialize)]
struct List {
    secrets: Vec<StoredSecret>,
}

/// Runs the command.
pub(crate) async fn command(
    args: SecretsArgs,
    json: bool,
    (settings, screen): (&Settings, &Screen),
) -> Result<(), Failure> {
    let store = settings.secrets()?;
    match args.action {
        Action::Set { name } => {
            let value = value(&name, screen).await?;
            let keeper = store.set(&name, &value).map_err(|error| failure(&error))?;
            if let Some(why) = Masker::spares(value.expose()) {
                screen.warning(&format!("{name} is not masked where it appears: {why}"));
            }
            if json {
                return output::json(&Kept { name: &name, kept_in: Some(keeper) });
            }
            output::text(&format!("{name} is kept in {keeper}"))
        }
        Action::List => {
            let secrets = store.list().map_err(|error| failure(&error))?;
            if json {
                return output::json(&List { secrets });
            }
            let lines =
                secrets.iter().map(|StoredSecret { name, kept_in, .. }| format!("{name}  in {kept_in}"));
            let lines: Vec<String> = lines.collect();
            output::text(&if lines.is_empty() { "no secrets".to_owned() } else { lines.join("\n") })
        }
        Action::Remove { name } => {
            if !store.remove(&name).map_err(|error| failure(&error))? {
                let hint = "see what there is with: switchboard secrets list";
                return Err(Failure::usage(format!("there is no secret {name:?}"), hint));
            }
            if json {
                return output::json(&Kept { name: &name, kept_in: None });
            }
            output::text(&format!("{name} is removed"))
        }
    }
}

async fn value(name: &str, screen: &Screen) -> Result<SecretString, Failure> {
    let empty = || Failure::usage("the value is empty", "type it, or give it on stdin");
    if stdin::can_ask() {
        let (screen, question) = (screen.clone(), format!("value of {name}, which is not shown: "));
        return stdin::reading(move || hidden(&screen, &question).ok_or_else(empty), None).await;
    }
    let text = stdin::text("-", ("the secret", None)).await?;
    // What writes into a pipe ends with a line end that nobody means.
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() { Err(empty()) } else { Ok(SecretString::new(text)) }
}

fn failure(error: &SecretError) -> Failure {
    Failure::usage(error.to_string(), error.hint())
}
