//! Opens connections to servers, and says what the client library's errors mean for the program.

use switchboard_client::{Client, ClientBuilder, Error};

use crate::failure::{Exit, Failure};
use crate::servers::Target;

/// A client that introduces itself as this program.
pub(crate) fn builder() -> ClientBuilder {
    Client::builder().info("switchboard", env!("CARGO_PKG_VERSION"))
}

/// Connects to a server. Any failure but a login or a mistake of the person means that it cannot be reached.
pub(crate) async fn connect(target: &Target, builder: ClientBuilder) -> Result<Client, Failure> {
    let connected = match target {
        Target::Http(url) => builder.http(url).await,
        Target::Command(words) => {
            let (program, args) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
            builder.command(program, args).await
        }
    };
    connected.map_err(|error| of_connecting(&error))
}

fn of_connecting(error: &Error) -> Failure {
    let exit = match exit(error) {
        exit @ (Exit::Login | Exit::Usage | Exit::Interrupted) => exit,
        _ => Exit::Unreachable,
    };
    with_hint(exit, error, "check that it is a server of the Model Context Protocol")
}

/// What a failed request means.
pub(crate) fn failure(error: &Error) -> Failure {
    with_hint(exit(error), error, "see what was said with: switchboard inspect SERVER METHOD --wire")
}

fn with_hint(exit: Exit, error: &Error, otherwise: &str) -> Failure {
    let hint = match exit {
        Exit::Login => "logging in is not supported yet; use a server that needs none",
        _ => error.next_action().unwrap_or(otherwise),
    };
    Failure::new(exit, error.cause(), hint)
}

fn exit(error: &Error) -> Exit {
    if error.is_unauthorized() {
        Exit::Login
    } else if error.is_cancelled() {
        Exit::Interrupted
    } else if error.is_unreachable() || error.is_legacy() || error.http_status().is_some() {
        Exit::Unreachable
    } else if error.is_timeout() {
        Exit::Limit
    } else if error.code().is_some() || error.is_server_fault() {
        Exit::Tool
    } else {
        Exit::Usage
    }
}
