//! `switchboard serve`: the web page and the HTTP API.

mod token;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use switchboard_app::{ListenOptions, bind};

use crate::cli::EXIT_CODES;
use crate::consent::ConsentArgs;
use crate::failure::Failure;
use crate::hosting::{Hosting, HostingOptions, Keeps};
use crate::interrupt::{self, Stop};
use crate::model::ModelArgs;
use crate::output;
use crate::screen::Screen;
use crate::servers::ServerArgs;
use crate::settings::Settings;

/// Where it listens if nobody says where.
const ADDRESS: &str = "127.0.0.1:8737";

/// Serve the web page and the HTTP API
///
/// The servers of the configuration are started and kept alive. The address that is printed holds a token: whoever has
/// it can use every tool that you allow. It is in the fragment, which no request carries.
#[derive(Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    servers: ServerArgs,

    #[command(flatten)]
    model: ModelArgs,

    #[command(flatten)]
    consent: ConsentArgs,

    /// The address to listen on; port 0 takes a free one. An address that others reach needs --token-file
    /// [default: 127.0.0.1:8737]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,

    /// A file that holds the token, at least 16 characters. Without it one is made up and kept beside the sessions
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// The address under which a proxy makes the page reachable, such as https://HOST; repeatable
    #[arg(long, value_name = "URL")]
    public_url: Vec<String>,

    /// Forget everything at the end
    #[arg(long)]
    ephemeral: bool,
}

/// What is printed once it listens, with `--json`.
#[derive(Serialize)]
struct Listening<'a> {
    address: String,
    page: String,
    token: &'a str,
}

/// Runs the command.
pub(crate) async fn command(
    args: ServeArgs,
    settings: &Settings,
    json: bool,
    screen: &Screen,
) -> Result<(), Failure> {
    let (token, chosen_token) = token(&args, settings, screen)?;
    let listen = ListenOptions {
        address: address(&args, settings)?,
        token: token.clone(),
        chosen_token,
        public_urls: public_urls(&args, settings),
    };
    let options = HostingOptions {
        model: Some(&args.model),
        consent: Some(&args.consent),
        page: true,
        keeps: if args.ephemeral { Keeps::Nothing } else { Keeps::Everything },
        ..HostingOptions::new(settings, &args.servers)
    };
    let stop = Stop::listen()?;
    let hosting = stop.unless(Hosting::open(&options, screen)).await?;
    let served = async {
        let bound = bind(hosting.host.clone(), hosting.supervisor.clone(), listen)
            .await
            .map_err(|error| Failure::usage(error.to_string(), error.hint()))?;
        let page = bound.page(&token);
        if json {
            let address = bound.address().to_string();
            output::json(&Listening { address, page, token: &token })?;
        } else {
            output::text(&page)?;
            screen.note("open this address in a browser; ctrl-c ends it");
        }
        // What tools cost is said for the model that would answer; who that is, nobody waits for.
        let host = hosting.host.clone();
        tokio::spawn(async move { drop(host.select_model(None).await) });
        let stop = async move {
            stop.requested().await;
            interrupt::end_at_the_next();
        };
        bound.serve(stop).await;
        Ok(())
    };
    let served = served.await;
    hosting.close().await;
    served
}

fn address(args: &ServeArgs, settings: &Settings) -> Result<SocketAddr, Failure> {
    if let Some(address) = args.listen {
        return Ok(address);
    }
    let text = settings.listen().address.as_deref().unwrap_or(ADDRESS);
    text.parse().map_err(|_| {
        Failure::usage(format!("{text:?} is not an address to listen on"), "write it as 127.0.0.1:8737")
    })
}

fn public_urls(args: &ServeArgs, settings: &Settings) -> Vec<String> {
    let listen = settings.listen();
    args.public_url.iter().chain(&listen.public_url).cloned().collect()
}

/// The token, and whether the person chose it.
fn token(args: &ServeArgs, settings: &Settings, screen: &Screen) -> Result<(String, bool), Failure> {
    if let Some(file) = args.token_file.as_ref().or(settings.listen().token_file.as_ref()) {
        return read_token(file).map(|token| (token, true));
    }
    if args.ephemeral {
        return token::made_up().map(|token| (token, false));
    }
    let store = settings.store_path()?;
    let (token, problem) = token::kept(store.parent().unwrap_or(Path::new(".")))?;
    if let Some(problem) = problem {
        screen.note(&format!("the token cannot be kept, and the next start makes up another: {problem}"));
    }
    Ok((token, false))
}

fn read_token(file: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::usage(
            format!("the token cannot be read from {}: {error}", file.display()),
            "check --token-file",
        )
    })?;
    let token = text.trim_end();
    if token.contains(|character: char| character.is_whitespace() || character.is_control()) {
        let message = format!("the token in {} has a space or a line end inside", file.display());
        return Err(Failure::usage(message, "write one word alone, such as `openssl rand -hex 32` makes"));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::read_token;

    #[test]
    fn the_file_of_a_token_holds_one_word() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        for (text, token) in [
            ("a-token-that-was-chosen", Some("a-token-that-was-chosen")),
            ("a-token-that-was-chosen\r\n\n", Some("a-token-that-was-chosen")),
            ("a-token\nthat-was-chosen\n", None),
            ("\na-token-that-was-chosen", None),
            ("a token that was chosen", None),
            ("a-token\tthat-was-chosen", None),
            ("a-token\0that-was-chosen", None),
        ] {
            std::fs::write(&file, text).unwrap();
            let read = read_token(&file);
            assert_eq!(read.as_deref().ok(), token, "{text:?}");
        }
    }
}
