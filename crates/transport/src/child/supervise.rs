//! Waits for a server to end, or ends it; leaves nothing of its group and no zombie.

use std::process::ExitStatus;
use std::time::Duration;

use process_wrap::tokio::ChildWrapper;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval, sleep, timeout};

use super::group::{Group, Signal};
use super::strays::Mark;
use super::watcher::{self, Watcher};
use super::{Shutdown, Stage};
use crate::pipe::ProcessEnd;

/// How often a group is asked whether anything of it is left: its members are not our children, so
/// nobody tells us.
const POLL: Duration = Duration::from_millis(20);
/// How long what has left the group may take from SIGTERM to SIGKILL: nobody knows what it is.
const STRAYS: Duration = Duration::from_millis(500);
/// How often one looks again for what has left the group, while it may be hidden.
const LOOKS: usize = 2;
/// How long what was killed may take to disappear.
const KILLED: Duration = Duration::from_millis(200);
/// How often the watcher of one server is started again.
const WATCHERS: usize = 8;
/// How long the streams of a process that has ended may still bring what it wrote.
const DRAIN: Duration = Duration::from_millis(500);

pub(super) struct Supervised {
    pub(super) process: Box<dyn ChildWrapper>,
    pub(super) id: u32,
    pub(super) mark: Mark,
    pub(super) connection: Option<ProcessEnd>,
    pub(super) watcher: Option<Watcher>,
    pub(super) shutdown: Shutdown,
    pub(super) stderr: Option<JoinHandle<()>>,
}

/// Kills the group and what has left it if the supervisor is dropped before its end, which happens with its runtime.
struct KillGroup(Option<(Group, Mark)>);

impl Drop for KillGroup {
    fn drop(&mut self) {
        if let Some((group, mark)) = &self.0 {
            group.signal(Signal::Kill);
            mark.signal(Signal::Kill);
        }
    }
}

/// Runs for as long as the server does.
pub(super) async fn supervise(
    mut this: Supervised,
    mut stop: watch::Receiver<bool>,
    stage: watch::Sender<Stage>,
) {
    let group = Group::led_by(this.id);
    let mut guard = KillGroup(Some((group, this.mark.clone())));
    let ended = tokio::select! {
        status = this.process.wait() => Some(status),
        // An error means that the `Child` was dropped.
        _ = stop.wait_for(|stop| *stop) => None,
        () = disconnected(this.connection.as_ref()) => None,
        () = watched(&mut this.watcher, (this.id, &this.mark), this.shutdown) => None,
    };
    let status = match ended {
        Some(status) => status.ok(),
        None => this.end(group).await,
    };
    stage.send_replace(Stage::Exited(status));
    let shutdown = this.shutdown;
    let read = async {
        this.drain(status).await;
        stage.send_replace(Stage::Read(status));
    };
    tokio::join!(read, end_rest(group, shutdown));
    end_strays(&this.mark).await;
    guard.0 = None;
    if let Some(stderr) = this.stderr.take() {
        stderr.abort();
    }
    if let Some(watcher) = this.watcher.take() {
        watcher.dismiss().await;
    }
    stage.send_replace(Stage::Gone(status));
}

/// Sees to it that there is a watcher; never ends. One that was killed is replaced, or a host that is killed next would
/// leave its server behind.
async fn watched(watcher: &mut Option<Watcher>, watches: (u32, &Mark), shutdown: Shutdown) {
    for _ in 0..WATCHERS {
        let Some(ended) = watcher else { break };
        ended.ended().await;
        tracing::debug!(group = watches.0, "the watcher of a server has ended; another one is started");
        *watcher = watcher::start(watches, shutdown);
    }
    if watcher.is_some() {
        tracing::warn!(
            group = watches.0,
            "the watchers of a server end again and again; there will be no other"
        );
    }
    std::future::pending().await
}

async fn disconnected(connection: Option<&ProcessEnd>) {
    match connection {
        Some(connection) => connection.disconnected().await,
        None => std::future::pending().await,
    }
}

impl Supervised {
    /// Closes stdin, waits, asks the group, waits, kills it.
    async fn end(&mut self, group: Group) -> Option<ExitStatus> {
        if let Some(connection) = &self.connection {
            connection.close();
        }
        if let Some(status) = self.wait(self.shutdown.leave).await {
            return Some(status);
        }
        tracing::debug!(id = self.id, "the server goes on after the end of its input: SIGTERM");
        group.signal(Signal::Terminate);
        if let Some(status) = self.wait(self.shutdown.terminate).await {
            return Some(status);
        }
        tracing::debug!(id = self.id, "the server goes on after SIGTERM: SIGKILL");
        group.signal(Signal::Kill);
        // Where there are no groups, this ends the process.
        let _ = self.process.start_kill();
        self.wait(self.shutdown.kill).await
    }

    async fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        timeout(limit, self.process.wait()).await.ok().and_then(Result::ok)
    }

    /// Lets the streams bring what the process wrote before it ended, but does not wait for others
    /// that hold them open.
    async fn drain(&mut self, status: Option<ExitStatus>) {
        let (connection, stderr) = (self.connection.as_ref(), self.stderr.as_mut());
        if let Some(connection) = connection {
            connection.exited(status.map_or_else(|| "status unknown".into(), |status| status.to_string()));
        }
        let _ = timeout(DRAIN, async {
            if connection.is_some() {
                disconnected(connection).await;
            }
            if let Some(stderr) = stderr {
                let _ = stderr.await;
            }
        })
        .await;
        if let Some(connection) = connection {
            connection.abort();
        }
    }
}

/// Ends what the process left behind in its group: helpers, or the real server of a launcher.
///
/// Where nobody adopts orphans (a container without an init), their remains count as alive; so the
/// wait after SIGKILL, which leaves nothing else to do, is short.
async fn end_rest(group: Group, shutdown: Shutdown) {
    for (signal, limit) in
        [(Signal::Terminate, shutdown.terminate), (Signal::Kill, shutdown.kill.min(KILLED))]
    {
        if !group.is_alive() {
            return;
        }
        group.signal(signal);
        let until = Instant::now() + limit;
        let mut polls = interval(POLL);
        while group.is_alive() && Instant::now() < until {
            polls.tick().await;
        }
    }
}

/// Ends what has left the group.
async fn end_strays(mark: &Mark) {
    for (signal, limit) in [(Signal::Terminate, STRAYS), (Signal::Kill, KILLED)] {
        let until = Instant::now() + limit;
        let mut found = mark.signal(signal);
        for _ in 0..LOOKS {
            if found || !Mark::may_be_hidden() {
                break;
            }
            sleep(POLL).await;
            found = mark.signal(signal);
        }
        if !found {
            return;
        }
        let mut polls = interval(POLL);
        while mark.is_left() && Instant::now() < until {
            polls.tick().await;
        }
    }
}
