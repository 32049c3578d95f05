//! Where the server is, and how a client gets there.

use std::sync::Arc;
use std::time::Duration;

use switchboard_client::{Client, ClientBuilder, Error};
#[cfg(feature = "legacy")]
use switchboard_protocol::Revision;
use switchboard_server::{Server, Serving};

use super::tap::{Tap, Tapped};

/// Longer than a combination may take: a shutdown that waits for its end is seen as a hang.
const FOREVER: Duration = Duration::from_secs(600);

/// A transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A pipe in memory.
    InProcess,
    /// The standard streams of a child process.
    Stdio,
    /// Streamable HTTP, or what the modern era made of it.
    Http,
    /// The address of HTTP+SSE, next to the other one.
    #[cfg(feature = "legacy")]
    Sse,
}

/// Which revisions the server has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Served {
    All,
    #[cfg(feature = "legacy")]
    Modern,
    #[cfg(feature = "legacy")]
    UpTo(Revision),
}

impl Served {
    /// As the program of the server calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            #[cfg(feature = "legacy")]
            Self::Modern => "modern",
            #[cfg(feature = "legacy")]
            Self::UpTo(newest) => newest.date(),
        }
    }

    fn make(self) -> Server {
        #[cfg(feature = "legacy")]
        return crate::legacy::server(self);
        #[cfg(not(feature = "legacy"))]
        switchboard_conformance::story::server().unwrap()
    }
}

/// A server that runs.
pub(super) enum Theatre {
    InProcess(Server),
    Stdio(&'static str),
    Http(Box<Serving>, String),
}

pub(super) async fn open(place: Place, served: Served) -> Result<Theatre, String> {
    Ok(match place {
        Place::InProcess => Theatre::InProcess(served.make()),
        Place::Stdio => Theatre::Stdio(served.name()),
        Place::Http => http(served, "/mcp").await?,
        #[cfg(feature = "legacy")]
        Place::Sse => http(served, "/sse").await?,
    })
}

async fn http(served: Served, path: &str) -> Result<Theatre, String> {
    let serving = served.make().http().bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
    let url = format!("http://{}{path}", serving.local_addr());
    Ok(Theatre::Http(Box::new(serving), url))
}

impl Theatre {
    pub(super) async fn enter(&self, client: ClientBuilder, tap: &Arc<Tap>) -> Result<Client, Error> {
        match self {
            Self::InProcess(server) => client.in_process(&Tapped(server, Arc::clone(tap))).await,
            Self::Stdio(served) => client.command(env!("CARGO_BIN_EXE_story-server"), [*served]).await,
            Self::Http(_, url) => client.http(url).await,
        }
    }

    pub(super) fn has_tap(&self) -> bool {
        matches!(self, Self::InProcess(_))
    }

    /// Waits until nothing runs any more. Whoever is still there keeps it from ending.
    pub(super) async fn end(self) {
        if let Self::Http(serving, _) = self {
            serving.shutdown(FOREVER).await;
        }
    }
}
