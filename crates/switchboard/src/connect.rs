//! Opens connections to servers, and says what the client library's errors mean for the program.

use switchboard_client::{ChildCommand, Client, ClientBuilder, Error};
use tokio::sync::mpsc;

use crate::auth::Headers;
use crate::era::{self, EraArgs};
use crate::failure::{Exit, Failure, LOGIN};
use crate::servers::Target;

/// The keys of language models. They are this program's, so no server that it starts inherits them.
const MODEL_KEYS: [&str; 2] = ["OPENAI_API_KEY", "OPENROUTER_API_KEY"];

/// A client that introduces itself as this program and speaks what was chosen.
pub(crate) fn builder(era: EraArgs) -> ClientBuilder {
    Client::builder().info("switchboard", env!("CARGO_PKG_VERSION")).era(era.era())
}

/// Connects to the server called `name`. Any failure but a login or a mistake of the person means that it cannot be
/// reached. `stderr` takes what a child process says there.
pub(crate) async fn connect(
    (name, target): (&str, &Target),
    builder: ClientBuilder,
    headers: &Headers,
    stderr: Option<mpsc::Sender<String>>,
) -> Result<Client, Failure> {
    match target {
        Target::Http(url) => {
            let connected = headers.put(builder, name).http(url).await;
            connected.map_err(|error| {
                of_connecting(&error, "check that it is a server of the Model Context Protocol")
            })
        }
        Target::Command(words) => {
            let (program, args) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
            let child = ChildCommand::new(program).args(args);
            let mut child = MODEL_KEYS.iter().fold(child, |child, key| child.env_remove(key));
            if let Some(lines) = stderr {
                child = child.stderr_lines(lines);
            }
            builder.server_name(name).child(child).await.map_err(|error| {
                of_connecting(
                    &error,
                    "check that the program is installed and that its name or path is right",
                )
            })
        }
    }
}

fn of_connecting(error: &Error, otherwise: &str) -> Failure {
    let exit = match exit(error) {
        exit @ (Exit::Login | Exit::Usage | Exit::Interrupted) => exit,
        _ => Exit::Unreachable,
    };
    with_hint(exit, error, otherwise)
}

/// What a failed request means. `otherwise` is what to do where the library does not say.
pub(crate) fn failure(error: &Error, otherwise: &str) -> Failure {
    with_hint(exit(error), error, otherwise)
}

fn with_hint(exit: Exit, error: &Error, otherwise: &str) -> Failure {
    let hint = match exit {
        Exit::Login => LOGIN.to_owned(),
        _ if error.is_legacy() => era::NO_SESSION.to_owned(),
        _ => error.next_action().map_or_else(|| otherwise.to_owned(), era::in_options),
    };
    Failure::new(exit, error.cause(), hint)
}

fn exit(error: &Error) -> Exit {
    if error.is_unauthorized() {
        Exit::Login
    } else if error.is_cancelled() {
        Exit::Interrupted
    } else if error.is_unreachable() || error.is_incompatible() || error.http_status().is_some() {
        Exit::Unreachable
    } else if error.is_timeout() || error.is_limit() {
        Exit::Limit
    } else if error.code().is_some() || error.is_server_fault() {
        Exit::Tool
    } else {
        Exit::Usage
    }
}
