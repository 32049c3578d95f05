//! The cells of the matrix: which peer, whose client, over what, and how the two meet.

use std::fmt;

use super::data::{Era, Peer, Peers, Revision, Transport};

/// Whose client is tried, against the other's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Ours, against their server.
    Client,
    /// Theirs, against our server.
    Server,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "client",
            Self::Server => "server",
        })
    }
}

/// How the two find their revision.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meeting<'a> {
    /// One of them knows nothing later than this.
    At(&'a Revision),
    /// Both know all that they know.
    Auto,
    /// Their client asks in the modern way; our server is legacy.
    Fallback,
}

/// The heading of the columns that are no date.
pub(super) const AUTO: &str = "auto";
pub(super) const FALLBACK: &str = "fallback";

/// One cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell<'a> {
    pub(super) peer: &'a Peer,
    pub(super) side: Side,
    pub(super) transport: Transport,
    pub(super) meeting: Meeting<'a>,
    /// What they must agree on.
    pub(super) expected: &'a Revision,
    /// The latest legacy revision.
    legacy: &'a Revision,
}

impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.peer.name, self.side, self.transport, self.column())
    }
}

impl<'a> Cell<'a> {
    /// The column of the matrix.
    pub(super) fn column(&self) -> &'a str {
        match self.meeting {
            Meeting::At(revision) => &revision.date,
            Meeting::Auto => AUTO,
            Meeting::Fallback => FALLBACK,
        }
    }

    /// The first argument of our client.
    pub(super) fn offered(&self) -> &'a str {
        match self.meeting {
            Meeting::At(revision) => &revision.date,
            Meeting::Auto | Meeting::Fallback => AUTO,
        }
    }

    /// The first argument of their client.
    pub(super) fn their_era(&self) -> &'static str {
        match self.meeting {
            Meeting::At(Revision { era: Era::Legacy, .. }) => "legacy",
            Meeting::At(Revision { era: Era::Modern, .. }) => "modern",
            Meeting::Auto | Meeting::Fallback => AUTO,
        }
    }

    /// The newest revision of our server, if it must not know all. A legacy client that offers the latest of its
    /// era meets a server that knows everything.
    pub(super) fn newest(&self) -> Option<&'a str> {
        match self.meeting {
            Meeting::At(revision) if revision.era == Era::Legacy && revision.date != self.legacy.date => {
                Some(&revision.date)
            }
            Meeting::Fallback => Some(&self.legacy.date),
            Meeting::At(_) | Meeting::Auto => None,
        }
    }
}

/// Every cell of the matrix.
pub(super) fn all(peers: &Peers) -> Vec<Cell<'_>> {
    let Some(legacy) = peers.newest(Era::Legacy) else { return Vec::new() };
    let mut cells = Vec::new();
    for peer in &peers.peers {
        for side in [Side::Client, Side::Server] {
            for meeting in meetings(peers, peer, side) {
                let expected = match meeting {
                    Meeting::At(revision) => revision,
                    Meeting::Fallback => legacy,
                    Meeting::Auto => latest(peers, peer).unwrap_or(legacy),
                };
                let both = |transport: &Transport| peer.transports.contains(transport);
                for transport in expected.transports.iter().copied().filter(both) {
                    cells.push(Cell { peer, side, transport, meeting, expected, legacy });
                }
            }
            // Our client finds its way to HTTP+SSE alone, where a session may be of any legacy revision.
            if side == Side::Client && peer.transports.contains(&Transport::Sse) {
                let (transport, meeting) = (Transport::Sse, Meeting::Auto);
                cells.push(Cell { peer, side, transport, meeting, expected: legacy, legacy });
            }
        }
    }
    cells
}

fn meetings<'a>(peers: &'a Peers, peer: &Peer, side: Side) -> Vec<Meeting<'a>> {
    let dated = peers.revisions.iter().filter(|revision| peer.eras.contains(&revision.era));
    let mut meetings: Vec<_> = dated.map(Meeting::At).collect();
    meetings.push(Meeting::Auto);
    if side == Side::Server && peer.eras.contains(&Era::Modern) {
        meetings.push(Meeting::Fallback);
    }
    meetings
}

fn latest<'a>(peers: &'a Peers, peer: &Peer) -> Option<&'a Revision> {
    peers.revisions.iter().rev().find(|revision| peer.eras.contains(&revision.era))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    /// What each column demands of the programs.
    #[test]
    fn a_cell_says_how_the_programs_are_started() {
        let peers = Peers::read(&workspace::root().join("interop")).unwrap();
        let cells = all(&peers);
        let find = |name: &str| cells.iter().find(|cell| cell.to_string() == name).unwrap();
        let (oldest, newest) = (&peers.revisions[0], peers.newest(Era::Legacy).unwrap());
        let modern = peers.newest(Era::Modern).unwrap();
        let cases = [
            (format!("rmcp/server/stdio/{}", oldest.date), "legacy", Some(&oldest.date), oldest),
            (format!("rmcp/server/stdio/{}", newest.date), "legacy", None, newest),
            (format!("rmcp/server/http/{}", modern.date), "modern", None, modern),
            ("rmcp/server/http/auto".to_owned(), "auto", None, modern),
            ("rmcp/server/http/fallback".to_owned(), "auto", Some(&newest.date), newest),
            ("python-1/server/stdio/auto".to_owned(), "auto", None, newest),
        ];
        for (name, era, cap, expected) in cases {
            let cell = find(&name);
            assert_eq!((cell.their_era(), cell.newest()), (era, cap.map(String::as_str)), "{name}");
            assert_eq!(cell.expected.date, expected.date, "{name}");
        }
        assert_eq!(find(&format!("python/client/sse/{}", oldest.date)).offered(), oldest.date);
        assert!(cells.iter().all(|cell| cell.to_string() != "python-1/server/http/fallback"));
    }
}
