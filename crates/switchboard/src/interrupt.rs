//! Ctrl-c and SIGTERM: the first ends what runs and lets the servers hear of it, the second ends at once.

use std::future::Future;

use crate::failure::{Exit, Failure};

/// Runs a command until it is done or the person stops it. Dropping the command is what cancels its calls.
///
/// # Errors
/// The command's own failure, or [`Exit::Interrupted`].
pub(crate) async fn unless_interrupted<T>(
    command: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let signal = signal()?;
    tokio::select! {
        result = command => result,
        () = signal => {
            end_at_the_next();
            Err(Failure::interrupted())
        }
    }
}

/// Waits for ctrl-c or SIGTERM.
///
/// # Errors
/// When the process may not listen to signals.
#[cfg(unix)]
pub(crate) fn signal() -> Result<impl Future<Output = ()>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};

    let listen = |kind| {
        signal(kind).map_err(|error| {
            Failure::usage(
                format!("ctrl-c cannot be listened to: {error}"),
                "check the limits of this process",
            )
        })
    };
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Waits for ctrl-c.
///
/// # Errors
/// Never.
#[cfg(not(unix))]
pub(crate) fn signal() -> Result<impl Future<Output = ()>, Failure> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
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
