//! Keeps a session open: opens the first, and another when one has ended. Whoever needs one meanwhile waits
//! for the same handshake, and shares its failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use switchboard_protocol::Revision;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::Transport;
use super::session::{self, Exchange, Session};
use crate::core::{Core, Run};
use crate::error::{Delivery, Error};
use crate::params::Ask;

/// How long closing waits for a handshake.
const GOODBYE: Duration = Duration::from_secs(1);

/// The sessions of one client, one at a time.
pub(crate) struct Keeper {
    pub(crate) transport: Transport,
    /// The newest revision that is offered.
    offer: Revision,
    current: Mutex<Result<Arc<Session>, Error>>,
    /// How many handshakes have ended, well or not.
    handshakes: AtomicU64,
}

impl Keeper {
    /// Opens the first session.
    pub(super) async fn open_first(
        core: &Core,
        transport: Transport,
        offer: Revision,
    ) -> Result<Self, Error> {
        let session = session::handshake(core, transport, offer).await?;
        learn(core, &session);
        Ok(Self { transport, offer, current: Mutex::new(Ok(session)), handshakes: AtomicU64::new(0) })
    }

    /// The open session, or a new one.
    pub(crate) async fn session(&self, core: &Core) -> Result<Arc<Session>, Error> {
        let before = self.handshakes.load(Ordering::Acquire);
        let mut current = self.current.lock().await;
        match &*current {
            Ok(session) if !session.is_over() => return Ok(Arc::clone(session)),
            // The handshake that was waited for is this one.
            Err(error) if self.handshakes.load(Ordering::Acquire) != before => return Err(error.clone()),
            _ => {}
        }
        let opened = session::handshake(core, self.transport, self.offer).await;
        if let Ok(session) = &opened {
            learn(core, session);
        }
        *current = opened.clone();
        self.handshakes.fetch_add(1, Ordering::Release);
        opened
    }

    /// Whether there is a session, and what its server says of its own accord is heard.
    pub(crate) fn hears(&self) -> bool {
        let Ok(current) = self.current.try_lock() else { return false };
        current.as_ref().is_ok_and(|session| !session.is_over() && session.ears.hears())
    }

    pub(crate) async fn open(&self, core: &Core, ask: &Ask, run: &Run) -> Result<Exchange, Error> {
        // Nothing of the request was sent before there is a session.
        let session = self.session(core).await.map_err(|error| error.delivered(Delivery::NotSent))?;
        session.open(ask, run).await
    }

    pub(crate) async fn close(&self) {
        // A handshake that is under way ends with its own clocks.
        let Ok(current) = timeout(GOODBYE, self.current.lock()).await else { return };
        let session = current.clone();
        drop(current);
        if let Ok(session) = session {
            session.close().await;
        }
    }
}

fn learn(core: &Core, session: &Session) {
    core.learned.set_revision(session.revision);
    core.learned.set_discovered((*session.discovered).clone());
}
