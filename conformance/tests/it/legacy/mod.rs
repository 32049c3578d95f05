//! The story in the revisions with a handshake, and what must never lead there.

mod changes;
mod differences;
mod downgrade;
mod middle;

use switchboard_client::{Era, Revision};
use switchboard_conformance::story;
use switchboard_protocol::era;
use switchboard_protocol::era::legacy::name::INITIALIZE;
use switchboard_server::{Eras, Server};
use switchboard_testkit::{dated, wire};

use crate::story::{Cell, Message, Outcome, Place, Served, Transcript};

const PLACES: [Place; 4] = [Place::InProcess, Place::Stdio, Place::Http, Place::Sse];

/// Everything with everything.
pub(crate) fn cells() -> Vec<Cell> {
    let revisions = || Revision::LEGACY.iter().rev().copied();
    let pinned = revisions().chain([Revision::LATEST]).map(Era::Pinned);
    let clients = pinned.chain([Era::Legacy, Era::Modern, Era::Auto]);
    let servers: Vec<_> = revisions().map(Served::UpTo).chain([Served::Modern, Served::All]).collect();
    clients
        .flat_map(|client| servers.iter().map(move |server| (client, *server)))
        .flat_map(|(client, server)| PLACES.map(|place| Cell { client, server, place }))
        .collect()
}

pub(crate) fn server(served: Served) -> Server {
    let eras = match served {
        Served::All => Eras::ALL,
        Served::Modern => Eras::MODERN_ONLY,
        Served::UpTo(newest) => Eras::up_to(newest),
    };
    story::server_of(eras).unwrap()
}

/// The newest revision that both have, in the newest era that both have at this place.
pub(crate) fn outcome(cell: &Cell) -> Outcome {
    // The newest that a handshake is opened with, and whether anything is said before.
    let (asks, handshake) = match cell.client {
        Era::Pinned(revision) if revision.era() == era::Era::Modern => (true, None),
        Era::Modern => (true, None),
        Era::Pinned(revision) => (false, Some(revision)),
        Era::Legacy => (false, Some(Revision::NEWEST_LEGACY)),
        _ => (true, Some(Revision::NEWEST_LEGACY)),
    };
    let (answers, newest) = match cell.server {
        Served::All => (true, Some(Revision::NEWEST_LEGACY)),
        Served::Modern => (true, None),
        Served::UpTo(newest) => (false, Some(newest)),
    };
    if asks && answers && cell.place != Place::Sse {
        return Outcome::Told(Revision::LATEST);
    }
    match (handshake, newest) {
        (Some(asked), Some(newest)) => Outcome::Told(asked.min(newest)),
        // A modern server has nothing at the address of HTTP+SSE that could name revisions.
        (_, None) if cell.place == Place::Sse => Outcome::Absent,
        (Some(asked), None) => Outcome::Refused(vec![asked.date(), Revision::LATEST.date()]),
        // Not each server says in an error which revisions it speaks: only handshakes were made for that.
        (None, _) => Outcome::Refused(vec![Revision::LATEST.date()]),
    }
}

pub(crate) fn expected(measure: &Transcript, revision: Revision) -> Transcript {
    differences::apply(measure, revision)
}

/// Holds a message of a session against the schema. What comes before the handshake is of other revisions: the
/// first question of the modern era, and the handshake itself, which has the revision that the client wants.
pub(crate) fn check(revision: Revision, message: &Message) {
    let asked = message.json["params"]["protocolVersion"].as_str().and_then(Revision::from_date);
    match (message.method.as_str(), message.is_answer()) {
        // A refusal by the transport, of something that belongs to no session: it may be said without an id.
        (_, true) if message.json.get("id").is_none() => assert!(message.json["error"].is_object()),
        ("server/discover", false) => wire::check_client_message(&message.bytes),
        ("server/discover", true) => assert!(message.json["error"].is_object(), "{}", message.json),
        (INITIALIZE, false) => dated::check_message(asked.unwrap().date(), &message.bytes, ""),
        (method, _) => dated::check_message(revision.date(), &message.bytes, method),
    }
}
