//! Somebody between a client and a server, who passes everything on but one request, which they answer as they like.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What is answered in place of the server.
#[derive(Clone, Debug)]
pub(super) enum Hostile {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The connection is reset.
    Reset,
}

/// A listener in front of a server.
pub(super) struct Middle {
    pub(super) url: String,
    shared: Arc<Shared>,
}

struct Shared {
    server: SocketAddr,
    /// Which request of all is answered here, and with what.
    hostile: (usize, Hostile),
    requests: Mutex<Vec<String>>,
}

impl Middle {
    pub(super) async fn between(server: SocketAddr, at: usize, hostile: Hostile) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let shared = Arc::new(Shared { server, hostile: (at, hostile), requests: Mutex::default() });
        let accepting = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let shared = Arc::clone(&accepting);
                tokio::spawn(async move { shared.pass_on(client).await });
            }
        });
        Self { url, shared }
    }

    /// Every request so far, heads and bodies.
    pub(super) fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().unwrap().clone()
    }
}

impl Shared {
    /// One request a connection.
    async fn pass_on(&self, mut client: TcpStream) -> Option<()> {
        let request = read_request(&mut client).await?;
        let index = {
            let mut requests = self.requests.lock().unwrap();
            requests.push(request.clone());
            requests.len() - 1
        };
        match &self.hostile {
            (at, Hostile::Reset) if *at == index => client.set_zero_linger().ok()?,
            (at, Hostile::Bytes(bytes)) if *at == index => {
                client.write_all(bytes).await.ok()?;
                client.shutdown().await.ok()?;
            }
            _ => {
                let mut server = TcpStream::connect(self.server).await.ok()?;
                let request = request.replacen("\r\n", "\r\nconnection: close\r\n", 1);
                server.write_all(request.as_bytes()).await.ok()?;
                tokio::io::copy(&mut server, &mut client).await.ok()?;
            }
        }
        Some(())
    }
}

/// A head, and as much body as that says.
async fn read_request(client: &mut TcpStream) -> Option<String> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_lowercase().split_once("content-length: ").map_or(0, |(_, rest)| {
                rest.lines().next().and_then(|length| length.parse().ok()).unwrap_or_default()
            });
            if body.len() >= length {
                return Some(text.into_owned());
            }
        }
        if client.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
}
