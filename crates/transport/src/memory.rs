//! A pipe in memory, and the seam through which a client reaches a server in its own process.
//!
//! What goes through is what would go over a real pipe: serialised lines. So a test in memory tests
//! the codec, too.

use std::fmt;

use tokio::io::{AsyncRead, AsyncWrite};

/// Both directions of a connection, from the point of view of one end.
pub struct Pipe {
    /// What the peer says.
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    /// What the peer hears. Dropping it is the end of the stream.
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
}

impl Pipe {
    /// Boxes two halves.
    pub fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self { reader: Box::new(reader), writer: Box::new(writer) }
    }

    /// Two ends of a pipe in memory; each direction holds at most `bytes`, then the writer waits.
    ///
    /// ```
    /// use switchboard_transport::Pipe;
    /// use tokio::io::{AsyncReadExt, AsyncWriteExt};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let (mut here, mut there) = Pipe::in_memory(1024);
    /// here.writer.write_all(b"hello").await.unwrap();
    /// drop(here);
    /// let mut heard = String::new();
    /// there.reader.read_to_string(&mut heard).await.unwrap();
    /// assert_eq!(heard, "hello");
    /// # });
    /// ```
    #[must_use]
    pub fn in_memory(bytes: usize) -> (Self, Self) {
        let (here_reader, there_writer) = tokio::io::duplex(bytes);
        let (there_reader, here_writer) = tokio::io::duplex(bytes);
        (Self::new(here_reader, here_writer), Self::new(there_reader, there_writer))
    }
}

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pipe")
    }
}

/// A server that can be reached without leaving the process.
///
/// The server library implements it and the client library uses it; neither sees the other.
pub trait InProcess {
    /// Opens a connection. It is served until this end of it is dropped.
    fn connect(&self) -> Pipe;
}
