//! The server over a pipe: the standard streams, any pair of byte streams, or memory
//! [spec: basic/transports/stdio].
//!
//! One task serves one connection, however many calls run on it. It never prints: on stdout there are
//! messages only, and the author's own `println!` would be one that nobody understands. Where to look
//! next: `stdio/connection.rs` is the driver, the rules are those of the session machine.

mod connection;

use std::future::{Future, pending};
use std::io;

use switchboard_transport::{InProcess, Pipe, stdio};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::server::Server;
use connection::Connection;

/// What a connection in memory holds in each direction before its writer waits.
const MEMORY_BYTES: usize = 64 * 1024;

impl Server {
    /// Serves one client over the standard streams, until it closes stdin. Nothing else may read
    /// stdin or print to stdout meanwhile; stderr is free for logs.
    ///
    /// At the end of stdin, calls that are running get half a second to end; what has been answered
    /// is written in any case. Handlers of tools with a [`grace`](crate::Tool::grace) get that on top.
    ///
    /// ```no_run
    /// # async fn run(server: switchboard_server::Server) -> std::io::Result<()> {
    /// server.serve_stdio().await
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the standard streams cannot be used. That the client is gone is no error.
    pub async fn serve_stdio(&self) -> io::Result<()> {
        self.serve_stdio_until(pending()).await
    }

    /// As [`serve_stdio`](Self::serve_stdio), and shuts down gracefully once `end` resolves:
    /// subscriptions end with their result, and calls that are running get
    /// [`Limits::shutdown_grace`](crate::Limits::shutdown_grace).
    ///
    /// # Errors
    /// When the standard streams cannot be used.
    pub async fn serve_stdio_until(&self, end: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let Pipe { reader, writer } = stdio::pipe()?;
        self.serve_io_until(reader, writer, end).await
    }

    /// Serves one client over a pair of byte streams, until `reader` ends.
    ///
    /// # Errors
    /// When reading or writing fails. That the client is gone is no error.
    pub async fn serve_io(
        &self,
        reader: impl AsyncRead + Send + Unpin,
        writer: impl AsyncWrite + Send + Unpin,
    ) -> io::Result<()> {
        self.serve_io_until(reader, writer, pending()).await
    }

    /// As [`serve_io`](Self::serve_io), and shuts down gracefully once `end` resolves.
    ///
    /// # Errors
    /// When reading or writing fails.
    pub async fn serve_io_until(
        &self,
        reader: impl AsyncRead + Send + Unpin,
        writer: impl AsyncWrite + Send + Unpin,
        end: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let mut connection = Connection::new(self.clone(), (reader, writer), Box::pin(end));
        let served = std::future::poll_fn(|cx| connection.poll(cx)).await;
        drop(connection);
        // Whoever called this may end the process next.
        self.lingering().ended().await;
        served
    }
}

impl InProcess for Server {
    /// Serves the connection in a task of its own; to be called inside a tokio runtime.
    fn connect(&self) -> Pipe {
        let (client, Pipe { reader, writer }) = Pipe::in_memory(MEMORY_BYTES);
        let server = self.clone();
        tokio::spawn(async move {
            if let Err(error) = server.serve_io(reader, writer).await {
                tracing::debug!(%error, "a connection in memory broke");
            }
        });
        client
    }
}
