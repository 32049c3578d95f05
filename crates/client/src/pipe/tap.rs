//! A pipe that shows every line that passes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use switchboard_transport::Pipe;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::wire::{Direction, Tap};

/// A line that grows beyond this is shown in pieces.
const LINE_BYTES: usize = 1 << 20;

/// The same pipe, seen by the tap if there is one.
pub(super) fn tapped(pipe: Pipe, tap: &Tap) -> Pipe {
    if !tap.is_set() {
        return pipe;
    }
    let lines = |direction| Lines { tap: tap.clone(), direction, line: Vec::new() };
    Pipe::new(
        Tapped { inner: pipe.reader, lines: lines(Direction::Received) },
        Tapped { inner: pipe.writer, lines: lines(Direction::Sent) },
    )
}

struct Tapped<T> {
    inner: T,
    lines: Lines,
}

struct Lines {
    tap: Tap,
    direction: Direction,
    line: Vec<u8>,
}

impl Lines {
    fn pass(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece.strip_suffix(b"\n").unwrap_or(piece));
            if piece.ends_with(b"\n") || self.line.len() >= LINE_BYTES {
                self.tap.see(self.direction, &self.line);
                self.line.clear();
            }
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Tapped<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        self.lines.pass(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Tapped<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let taken = ready!(Pin::new(&mut self.inner).poll_write(context, bytes))?;
        self.lines.pass(&bytes[..taken]);
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
