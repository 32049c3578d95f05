//! A connection that ends when its peer stops reading.
//!
//! What a peer does not read fills the buffers of the system, and then those of whoever serves it, who would wait with
//! it for ever, a place for others taken. Here a write that made no progress for long enough is an error.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A connection on which a write fails with [`io::ErrorKind::TimedOut`] once the peer has taken nothing for the limit.
// Its timer is made by the first write that has to wait.
#[derive(Debug)]
pub struct Stall<S> {
    stream: S,
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S> Stall<S> {
    /// Around a connection. To be used where tokio has a clock.
    pub fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, timer: None }
    }

    fn watch<T>(&mut self, wrote: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.timer = None;
            return wrote;
        }
        let limit = self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(limit)));
        timer
            .as_mut()
            .poll(cx)
            .map(|()| Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stall<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stall<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(wrote, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.watch(wrote, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::Instant;

    use super::Stall;

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_read_is_left_after_the_limit() {
        let (ours, _theirs) = duplex(4);
        let start = Instant::now();
        let error = Stall::new(ours, LIMIT).write_all(&[0; 8]).await.unwrap_err();
        assert_eq!((error.kind(), start.elapsed()), (ErrorKind::TimedOut, LIMIT));
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_slowly_is_waited_for() {
        let (ours, mut theirs) = duplex(4);
        let mut ours = Stall::new(ours, LIMIT);
        let reading = tokio::spawn(async move {
            for _ in 0..4 {
                tokio::time::advance(LIMIT - Duration::from_secs(1)).await;
                theirs.read_exact(&mut [0; 4]).await.unwrap();
            }
        });
        ours.write_all(&[0; 16]).await.unwrap();
        reading.await.unwrap();
    }
}
