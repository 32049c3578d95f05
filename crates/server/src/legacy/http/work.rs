//! What runs on behalf of one POST, or of one client of HTTP+SSE.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::stream::{SelectAll, Stream};
use tokio::sync::watch;

use super::abandoned::Abandoned;
use super::budget::Budget;
use super::live::Live;
use super::log::Log;
use super::places::Held;
use crate::legacy::{Event, Exchange};

/// Running exchanges, each in a place of its own. Only what was woken is polled.
#[derive(Default)]
pub(super) struct Work {
    running: SelectAll<Running>,
}

struct Running {
    exchange: Option<(Box<Exchange>, Held)>,
}

impl Work {
    pub(super) fn add(&mut self, exchange: Exchange, held: Held) {
        self.running.push(Running { exchange: Some((Box::new(exchange), held)) });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// What is said next; `None` if nothing runs.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        Pin::new(&mut self.running).poll_next(cx)
    }

    async fn next(&mut self) -> Option<Event> {
        poll_fn(|cx| self.poll_next(cx)).await
    }
}

impl Stream for Running {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let Some((exchange, _)) = &mut self.exchange else { return Poll::Ready(None) };
        let event = ready!(exchange.poll_event(cx));
        if !matches!(event, Event::Message(_)) {
            self.exchange = None;
        }
        Poll::Ready(Some(event))
    }
}

/// Where work goes on after its POST was answered with an event stream. Dropping it ends the stream; what
/// was said is only kept if all of it was.
pub(super) struct Place {
    pub(super) log: Arc<Log>,
    pub(super) live: Arc<Live>,
    /// Changes with the end of the service.
    pub(super) service: watch::Receiver<()>,
    pub(super) abandoned: Arc<Abandoned>,
    pub(super) budget: Arc<Budget>,
    /// How long it goes on while nobody reads.
    pub(super) patience: Duration,
}

impl Place {
    /// Writes what is said into the log, whether anybody reads it or not, until all is said; less if the
    /// session or the service ends, or nobody comes to read it.
    pub(super) async fn run(self, work: Work) {
        let mut service = self.service.clone();
        let over = async {
            tokio::select! {
                () = self.live.ended() => {}
                // An error means that the service is gone, which is its end as well.
                _ = service.changed() => {}
            }
        };
        tokio::select! {
            biased;
            () = over => {}
            () = self.finish(work) => {}
        }
    }

    async fn finish(&self, mut work: Work) {
        let places = work.running.len();
        tokio::select! {
            biased;
            () = write(&mut work, &self.log) => {}
            () = self.given_up(places) => return,
        }
        // What ran gives its place back before the stream ends.
        drop(work);
        self.log.end_kept(&self.live);
        self.budget.watch(self.service.clone());
    }

    /// Resolves once nobody has read for so long, or has left before others who are not waited for, either.
    async fn given_up(&self, places: usize) {
        loop {
            let reader = poll_fn(|cx| self.log.poll_left(cx)).await;
            let mut claim = self.abandoned.add(places);
            tokio::select! {
                () = claim.given_up() => return,
                () = tokio::time::sleep(self.patience) => return,
                () = poll_fn(|cx| self.log.poll_taken_up(reader, cx)) => {}
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.log.end() {
            self.live.remove_stream(&self.log);
        }
        self.live.settle();
    }
}

async fn write(work: &mut Work, log: &Log) {
    loop {
        poll_fn(|cx| log.poll_room(cx)).await;
        match work.next().await {
            Some(Event::Message(message)) => log.push(message),
            Some(Event::Reply(reply)) => log.push(reply.into()),
            Some(Event::Cancelled) => {}
            None => return,
        }
    }
}
