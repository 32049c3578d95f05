//! What a server writes to stderr: always read, never parsed, the end of it kept.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// A line longer than this is handed on in pieces.
const PIECE_BYTES: usize = 8 * 1024;

/// So much is read within [`PACE`]. A server that writes faster has to wait, so that it takes the time of nobody else.
const FLOOD_BYTES: usize = 1024 * 1024;
const PACE: Duration = Duration::from_millis(100);

/// The last bytes of a stream.
#[derive(Clone)]
pub(super) struct Tail {
    limit: usize,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    bytes: VecDeque<u8>,
    /// When the last of them came.
    last: Option<Instant>,
}

impl fmt::Debug for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tail").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl Tail {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, kept: Arc::default() }
    }

    fn push(&self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(self.limit)..];
        let mut kept = self.lock();
        kept.last = Some(Instant::now());
        let excess = (kept.bytes.len() + bytes.len()).saturating_sub(self.limit);
        kept.bytes.drain(..excess);
        kept.bytes.extend(bytes);
    }

    /// When something came last.
    pub(super) fn last(&self) -> Option<Instant> {
        self.lock().last
    }

    /// As text; whatever is no UTF-8 is replaced. A character that the bound has cut is left out.
    pub(super) fn text(&self) -> String {
        let mut kept = self.lock();
        let bytes = &*kept.bytes.make_contiguous();
        let cut = if bytes.len() < self.limit { 0 } else { continuation(bytes) };
        String::from_utf8_lossy(&bytes[cut..]).into_owned()
    }

    // Nothing panics while it holds the lock, so a poisoned one is sound.
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many bytes at the beginning belong to a character that began before.
fn continuation(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count()
}

/// Reads until the end.
pub(super) async fn drain(
    mut stderr: impl AsyncRead + Unpin,
    tail: Tail,
    lines: Option<mpsc::Sender<String>>,
) {
    let mut buffer = vec![0; PIECE_BYTES];
    let mut line = Vec::new();
    let (mut since, mut read) = (Instant::now(), 0);
    loop {
        if read >= FLOOD_BYTES {
            sleep_until(since + PACE).await;
        }
        if since.elapsed() >= PACE {
            (since, read) = (Instant::now(), 0);
        }
        match stderr.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(count) => {
                read += count;
                tail.push(&buffer[..count]);
                if let Some(lines) = &lines {
                    split(&buffer[..count], &mut line, lines);
                }
            }
        }
    }
    if let Some(lines) = lines.filter(|_| !line.is_empty()) {
        send(&lines, &mut line);
    }
}

fn split(bytes: &[u8], line: &mut Vec<u8>, lines: &mpsc::Sender<String>) {
    for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
        line.extend_from_slice(piece);
        if line.ends_with(b"\n") || line.len() >= PIECE_BYTES {
            send(lines, line);
        }
    }
}

fn send(lines: &mpsc::Sender<String>, line: &mut Vec<u8>) {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    // A full or closed channel is its owner's choice.
    let _ = lines.try_send(String::from_utf8_lossy(text).into_owned());
    line.clear();
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll};

    use tokio::io::ReadBuf;
    use tokio::time::timeout;

    use super::*;

    /// Always has more to say.
    struct Flood(Arc<AtomicUsize>);

    impl AsyncRead for Flood {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            into: &mut ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            let count = into.remaining();
            into.put_slice(&vec![b'x'; count]);
            self.0.fetch_add(count, Ordering::Relaxed);
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_read_at_a_bounded_pace_and_only_its_end_is_kept() {
        let read = Arc::new(AtomicUsize::new(0));
        let tail = Tail::new(1000);
        let (lines, mut arriving) = mpsc::channel(4);
        let draining = drain(Flood(Arc::clone(&read)), tail.clone(), Some(lines));
        assert!(timeout(Duration::from_secs(1), draining).await.is_err());
        let read = read.load(Ordering::Relaxed);
        assert!((FLOOD_BYTES * 9..=FLOOD_BYTES * 12).contains(&read), "{read}");
        assert_eq!(tail.text().len(), 1000);
        let mut kept = 0;
        while let Ok(line) = arriving.try_recv() {
            assert!(line.len() <= 2 * PIECE_BYTES);
            kept += 1;
        }
        assert_eq!(kept, 4);
    }
}
