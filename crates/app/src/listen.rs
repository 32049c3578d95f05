//! Where the host listens, and how it ends.
//!
//! Loopback unless another address is named; an address that others reach only with a token that the person chose.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use switchboard_agent::Host;
use switchboard_agent::store::StoreError;
use switchboard_agent::supervisor::Supervisor;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::connections;
use crate::cookie::Cookies;
use crate::guard::Guard;
use crate::{App, router};

/// Where and for whom.
#[derive(Clone, Debug)]
pub struct ListenOptions {
    /// The address to listen on. Port 0 takes one that is free.
    pub address: SocketAddr,
    /// What lets a page or a program in. At least 16 characters.
    pub token: String,
    /// Whether the person chose the token. An address that others reach is refused with one that was made up.
    pub chosen_token: bool,
    /// Addresses under which a proxy makes it reachable, such as `https://chat.example.com`.
    pub public_urls: Vec<String>,
}

/// A host that listens.
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    router: axum::Router,
    /// Connections at the same time.
    places: usize,
    stopping: watch::Sender<bool>,
}

/// It cannot listen there.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct NotBound {
    message: String,
    hint: &'static str,
}

impl NotBound {
    /// What to do.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        self.hint
    }
}

/// The least characters of a token.
const LEAST_TOKEN: usize = 16;

/// Begins to listen.
///
/// # Errors
/// When the address is taken or not this machine's, or others would reach it without a token that was chosen.
pub async fn bind(host: Host, supervisor: Supervisor, options: ListenOptions) -> Result<Bound, NotBound> {
    let refused = |message: String, hint| Err(NotBound { message, hint });
    if options.token.chars().count() < LEAST_TOKEN {
        let message = format!("the token is shorter than {LEAST_TOKEN} characters");
        return refused(message, "choose a longer one, such as the output of `openssl rand -hex 32`");
    }
    if !is_loopback(options.address.ip()) && !options.chosen_token {
        let message = format!("others reach {}, and no token was chosen", options.address);
        return refused(message, "name a file that holds a token with --token-file, or listen on 127.0.0.1");
    }
    let (names, secure) = names(&options.public_urls)?;
    let listener = TcpListener::bind(options.address).await.map_err(|error| NotBound {
        message: format!("it cannot listen on {}: {error}", options.address),
        hint: "choose another address with --listen; port 0 takes one that is free",
    })?;
    let address = listener.local_addr().unwrap_or(options.address);
    let cookies = cookies(&host, &options.token).await?;
    let app = App::new(host, supervisor);
    let stopping = app.stopping.clone();
    let guard = Guard::new((&options.token, cookies), address, (&names, secure));
    Ok(Bound { listener, address, router: router(app, guard), places: connections::CONNECTIONS, stopping })
}

/// What pages hold. The key is read from the disk.
async fn cookies(host: &Host, token: &str) -> Result<Cookies, NotBound> {
    let (store, token) = (Arc::clone(host.store()), token.to_owned());
    let kept = tokio::task::spawn_blocking(move || Cookies::kept(&store, &token)).await;
    kept.unwrap_or_else(|error| Err(StoreError::new(error.to_string()))).map_err(|error| NotBound {
        message: format!("the key of its pages cannot be kept: {error}"),
        hint: "mend the disk, or forget everything at the end with --ephemeral",
    })
}

impl Bound {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the page. The token is in the fragment, which no request carries.
    #[must_use]
    pub fn page(&self, token: &str) -> String {
        format!("http://{}/#token={token}", self.address)
    }

    /// Serves until `stop` is done; then streams end, and what is under way has 5 s.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send) {
        let stopping = self.stopping;
        let graceful = async move {
            stop.await;
            stopping.send_replace(true);
        };
        connections::serve(self.listener, self.router, self.places, graceful).await;
    }
}

fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// The `Host`s of public addresses, and whether all of them are https.
fn names(urls: &[String]) -> Result<(Vec<String>, bool), NotBound> {
    let mut names = Vec::new();
    for text in urls {
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let name = rest
            .map(|rest| rest.trim_end_matches('/'))
            .filter(|name| !name.is_empty() && !name.contains(['/', '?', '#', '@']) && name.is_ascii());
        let Some(name) = name else {
            let message = format!("{text:?} is not a public address");
            return Err(NotBound { message, hint: "write it as https://HOST or https://HOST:PORT" });
        };
        names.push(name.to_owned());
    }
    let secure = !urls.is_empty() && urls.iter().all(|url| url.starts_with("https://"));
    Ok((names, secure))
}

#[cfg(test)]
mod tests {
    use switchboard_agent::Router;
    use switchboard_agent::host::{ModelChoice, OneModel};
    use switchboard_agent::supervisor::SupervisorOptions;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tokio::sync::oneshot;

    use super::*;

    const TOKEN: &str = "a-token-for-tests";

    /// Asks, with the token or without, and gives the status of the answer.
    async fn status(stream: &mut TcpStream, path: &str, token: bool) -> String {
        let login = if token { format!("authorization: Bearer {TOKEN}\r\n") } else { String::new() };
        let host = stream.peer_addr().unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n{login}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        stream.read_exact(&mut vec![0; length.parse().unwrap()]).await.unwrap();
        head[9..12].to_owned()
    }

    /// A host with so many places for connections.
    async fn bound(places: usize) -> Bound {
        let host = Host::builder(OneModel(ModelChoice::other(Router::new()))).build();
        let supervisor = Supervisor::new(SupervisorOptions::default());
        let options = ListenOptions {
            address: ([127, 0, 0, 1], 0).into(),
            token: TOKEN.to_owned(),
            chosen_token: false,
            public_urls: Vec::new(),
        };
        Bound { places, ..bind(host, supervisor, options).await.unwrap() }
    }

    #[tokio::test]
    async fn whoever_has_no_login_shuts_nobody_out() {
        let half = "POST /login HTTP/1.1\r\nhost: HOST\r\ncontent-length: 4000\r\n\r\n{";
        let unread = "GET /assets/chat.css HTTP/1.1\r\nhost: HOST\r\n\r\n".repeat(200);
        let refused = "GET /sessions HTTP/1.1\r\nhost: HOST\r\n\r\n";
        for sent in ["", "GET / HTTP/1.1\r\nx: ", half, &unread, refused] {
            let bound = bound(4).await;
            let address = bound.address();
            let (stop, stopped) = oneshot::channel::<()>();
            let served = tokio::spawn(bound.serve(async { drop(stopped.await) }));
            let mut owner = TcpStream::connect(address).await.unwrap();
            assert_eq!(status(&mut owner, "/sessions", true).await, "200");
            let mut strangers = Vec::new();
            for _ in 0..20 {
                let mut stranger = TcpStream::connect(address).await.unwrap();
                // An error means that this one has been sent away.
                let _ = stranger.write_all(sent.replace("HOST", &address.to_string()).as_bytes()).await;
                strangers.push(stranger);
            }
            let mut later = TcpStream::connect(address).await.unwrap();
            assert_eq!(status(&mut later, "/sessions", true).await, "200", "{sent}");
            let mut page = TcpStream::connect(address).await.unwrap();
            assert_eq!(status(&mut page, "/healthz", false).await, "200", "{sent}");
            // The oldest of all has a login.
            assert_eq!(status(&mut owner, "/sessions", true).await, "200", "{sent}");
            stop.send(()).unwrap();
            drop(strangers);
            served.await.unwrap();
        }
    }

    #[tokio::test]
    async fn where_all_have_a_login_the_next_one_waits() {
        let bound = bound(1).await;
        let address = bound.address();
        let served = tokio::spawn(bound.serve(std::future::pending()));
        let mut owner = TcpStream::connect(address).await.unwrap();
        assert_eq!(status(&mut owner, "/sessions", true).await, "200");
        let mut next = TcpStream::connect(address).await.unwrap();
        let mut answered = std::pin::pin!(status(&mut next, "/sessions", true));
        tokio::select! {
            biased;
            status = &mut answered => panic!("{status}"),
            status = status(&mut owner, "/sessions", true) => assert_eq!(status, "200"),
        }
        drop(owner);
        assert_eq!(answered.await, "200");
        served.abort();
    }
}
