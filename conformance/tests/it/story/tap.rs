//! What really goes through a pipe in memory, seen from outside of both libraries.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use switchboard_client::{InProcess, Pipe};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The bytes of both directions.
#[derive(Default)]
pub(super) struct Tap {
    sent: Mutex<Vec<u8>>,
    received: Mutex<Vec<u8>>,
}

impl Tap {
    pub(super) fn sent(&self) -> Vec<Vec<u8>> {
        lines(&self.sent)
    }

    pub(super) fn received(&self) -> Vec<Vec<u8>> {
        lines(&self.received)
    }
}

/// Whole lines only: what is under way has not arrived.
fn lines(bytes: &Mutex<Vec<u8>>) -> Vec<Vec<u8>> {
    let bytes = bytes.lock().unwrap();
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
    lines.map(<[u8]>::to_vec).collect()
}

/// A server with somebody at the line.
pub(super) struct Tapped<'a, S>(pub(super) &'a S, pub(super) Arc<Tap>);

impl<S: InProcess> InProcess for Tapped<'_, S> {
    fn connect(&self) -> Pipe {
        let Pipe { reader, writer } = self.0.connect();
        Pipe::new(Reader(reader, Arc::clone(&self.1)), Writer(writer, Arc::clone(&self.1)))
    }
}

struct Reader(Box<dyn AsyncRead + Send + Unpin>, Arc<Tap>);

impl AsyncRead for Reader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = ready!(Pin::new(&mut self.0).poll_read(cx, buf));
        self.1.received.lock().unwrap().extend_from_slice(&buf.filled()[before..]);
        Poll::Ready(read)
    }
}

struct Writer(Box<dyn AsyncWrite + Send + Unpin>, Arc<Tap>);

impl AsyncWrite for Writer {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.0).poll_write(cx, bytes));
        if let Ok(count) = written {
            self.1.sent.lock().unwrap().extend_from_slice(&bytes[..count]);
        }
        Poll::Ready(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
