//! What servers write: into files that outlive the process, and line by line on the screen with `-v`.

use std::sync::Arc;
use std::time::Duration;

use switchboard_agent::supervisor::{LogSink, LogStream};
use switchboard_agent::visible;
use tokio::sync::oneshot;

use crate::screen::Screen;

/// How long what a child wrote last may take to arrive, once it is gone.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Waits for the last words of servers.
pub(crate) struct LastWords(oneshot::Receiver<()>);

impl LastWords {
    /// Waits until nobody writes any more, but not for long.
    pub(crate) async fn arrive(self) {
        // Nothing is ever sent: the other end is dropped with the last one that writes.
        let _ = tokio::time::timeout(LAST_WORDS, self.0).await;
    }
}

/// Takes the lines of all servers: into `file`, if they are kept, and onto the `screen` as `NAME| …`, if they are shown.
pub(crate) fn sink(file: Option<LogSink>, screen: Option<Screen>) -> (LogSink, LastWords) {
    let (writing, ended) = oneshot::channel::<()>();
    let sink: LogSink = Arc::new(move |server, line| {
        // Belongs to this sink, and ends with it.
        let _ = &writing;
        if let Some(file) = &file {
            file(server, line);
        }
        if let (Some(screen), LogStream::Stderr) = (&screen, line.stream) {
            screen.labelled(&format!("{server}|"), &visible::line(&line.text));
        }
    });
    (sink, LastWords(ended))
}
