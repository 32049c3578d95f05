//! Follows a run until it is over, and asks at the terminal what it asks.

use std::pin::pin;
use std::sync::Arc;

use futures_util::stream::{Stream, StreamExt as _};
use switchboard_agent::desk::{PendingView, Question};
use switchboard_agent::journal::{Authorization, Entry, Event, RunEvent};
use switchboard_agent::{RunId, RunView, Session};

use crate::questions;
use crate::screen::Screen;

/// What becomes of a question that nobody here answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// It is withdrawn: the call is not made.
    Withdrawn,
    /// It waits on, for somebody who comes later.
    Waits,
}

/// Until the run is over, or waits for somebody else. `here` is whether the person can be asked. Nothing if the session
/// was removed meanwhile.
pub(crate) async fn to_the_end(
    (session, run): (&Session, &RunId),
    (here, unanswered): (bool, Unanswered),
    screen: &Screen,
) -> Option<RunView> {
    loop {
        let since = session.journal().last_seq();
        let view = session.settled(run).await?;
        let Some(pending) = view.requests.first().filter(|_| !view.status.is_over()) else {
            return Some(view);
        };
        let answered = here && questions::answer(session, pending, screen).await;
        match unanswered {
            _ if answered && session.pending().contains(pending) => {}
            _ if answered => decided(pending, session.events(since)).await,
            Unanswered::Waits => return Some(view),
            Unanswered::Withdrawn => drop(session.desk().withdraw(&pending.id, "nobody answered it")),
        }
    }
}

/// Waits until it is decided about a call that was asked for: the answer may have been one to other questions, too.
async fn decided(pending: &PendingView, events: impl Stream<Item = Arc<Entry>>) {
    let Question::Approval(approval) = &pending.question else { return };
    let (mut events, mut is_answered) = (pin!(events), false);
    while let Some(entry) = events.next().await {
        let is_over = match &entry.event {
            Event::Authorization(
                Authorization::Granted { call, .. } | Authorization::Denied { call, .. },
            ) => *call == approval.call,
            Event::Authorization(Authorization::Answered { request, .. }) => {
                is_answered |= *request == pending.id;
                false
            }
            Event::Authorization(Authorization::Withdrawn { request, .. }) => *request == pending.id,
            // It is asked anew, as something else than it was.
            Event::Authorization(Authorization::Requested { request, .. }) => {
                is_answered && *request == pending.id
            }
            Event::Run(RunEvent::Ended { .. }) => true,
            _ => false,
        };
        if is_over {
            return;
        }
    }
}
