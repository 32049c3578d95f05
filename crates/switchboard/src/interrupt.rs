//! Ctrl-c and SIGTERM: the first ends what runs and lets the servers hear of it, the second ends at once.

use std::future::Future;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind};

use crate::failure::{Exit, Failure};

/// That the person asked this program to end. Whoever starts something listens first: from then on a signal neither
/// kills this process beside what it started, nor is lost between two waits.
#[derive(Clone)]
pub(crate) struct Stop(Shared<BoxFuture<'static, ()>>);

impl Stop {
    /// Begins to listen for ctrl-c and SIGTERM.
    ///
    /// # Errors
    /// When the process may not listen to signals.
    pub(crate) fn listen() -> Result<Self, Failure> {
        Ok(Self(signal()?.boxed().shared()))
    }

    /// Waits until the person asks for it, or did already.
    pub(crate) async fn requested(&self) {
        self.0.clone().await;
    }

    /// Runs a command until it is done or the person stops it. Dropping the command is what cancels its calls.
    ///
    /// # Errors
    /// The command's own failure, or [`Exit::Interrupted`].
    pub(crate) async fn unless<T>(
        &self,
        command: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            result = command => result,
            () = self.requested() => {
                end_at_the_next();
                Err(Failure::interrupted())
            }
        }
    }
}

/// Waits for ctrl-c or SIGTERM.
#[cfg(unix)]
fn signal() -> Result<impl Future<Output = ()> + Send + 'static, Failure> {
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(unix)]
fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    tokio::signal::unix::signal(kind).map_err(|error| {
        Failure::usage(format!("signals cannot be listened to: {error}"), "check the limits of this process")
    })
}

/// Waits for ctrl-c.
#[cfg(not(unix))]
fn signal() -> Result<impl Future<Output = ()> + Send + 'static, Failure> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

/// Every ctrl-c, for whoever goes on after it: from the beginning on none ends the process, and one that comes while
/// nobody waits is not lost.
pub(crate) struct Interrupts(#[cfg(unix)] Signal);

impl Interrupts {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the process may not listen to signals.
    #[cfg(unix)]
    pub(crate) fn listen() -> Result<Self, Failure> {
        listen(SignalKind::interrupt()).map(Self)
    }

    /// Begins to listen.
    ///
    /// # Errors
    /// Never.
    #[cfg(not(unix))]
    pub(crate) fn listen() -> Result<Self, Failure> {
        Ok(Self())
    }

    /// Waits for the next one.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits for the next one.
    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Waits for SIGTERM alone, for whoever does something else at ctrl-c.
///
/// # Errors
/// When the process may not listen to signals.
#[cfg(unix)]
pub(crate) fn terminated() -> Result<impl Future<Output = ()>, Failure> {
    let mut terminate = listen(SignalKind::terminate())?;
    Ok(async move {
        terminate.recv().await;
    })
}

/// There is no such signal here.
///
/// # Errors
/// Never.
#[cfg(not(unix))]
pub(crate) fn terminated() -> Result<impl Future<Output = ()>, Failure> {
    Ok(std::future::pending::<()>())
}

/// A person who presses ctrl-c twice does not want to wait for servers to say goodbye.
pub(crate) fn end_at_the_next() {
    if let Ok(signal) = signal() {
        tokio::spawn(async move {
            signal.await;
            std::process::exit(Exit::Interrupted as i32);
        });
    }
}
