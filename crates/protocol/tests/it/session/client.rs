//! `open`, `cancel`, `server`, `many` (messages in a line), `send`, `legacy`, `modern`, `@` (seconds), `written` and
//! `closed` act; `event`, `sent`, `pending`, `counters`, `noise` and `refused` expect. An event that nobody expected
//! is a failure.

use std::time::{Duration, Instant};

use switchboard_protocol::frame::encode_request;
use switchboard_protocol::session::{
    ClientLimits, ClientSession, End, Event, ExchangeId, OpenError, Opening,
};

use super::{beginning, each_transcript, latin1, next_line, steps};

struct Player {
    session: ClientSession,
    start: Instant,
    now: Instant,
    ids: Vec<ExchangeId>,
}

#[test]
fn the_client_plays_its_transcripts() {
    play("client");
}

#[cfg(feature = "legacy")]
#[test]
fn the_client_plays_its_transcripts_of_sessions() {
    play("legacy");
}

fn play(folder: &str) {
    each_transcript(folder, |name, text| {
        let now = beginning();
        let session = ClientSession::new(ClientLimits::default());
        let mut player = Player { session, start: now, now, ids: Vec::new() };
        for (place, verb, rest) in steps(name, text) {
            player.step(&place, verb, rest);
        }
        player.quiet(name);
    });
}

impl Player {
    fn step(&mut self, place: &str, verb: &str, rest: &str) {
        if !matches!(verb, "event" | "both") {
            self.quiet(place);
        }
        match verb {
            "limit" => {
                let limits = ClientLimits { pending: rest.parse().unwrap(), ..ClientLimits::default() };
                self.session = ClientSession::new(limits);
            }
            "open" => {
                let id = self.open(rest).unwrap();
                self.ids.push(id);
            }
            "refused" => {
                let error = self.open("").unwrap_err().to_string();
                assert!(error.starts_with(rest), "{place}: {error}");
            }
            "cancel" => {
                self.session.cancel(self.ids[rest.parse::<usize>().unwrap() - 1], "not needed");
            }
            "server" | "both" => self.session.handle_message(self.now, rest),
            "many" => {
                let line = format!("[{}]", vec!["1"; rest.parse().unwrap()].join(","));
                self.session.handle_message(self.now, &line);
            }
            "latin1" => self.session.handle_invalid_utf8(&latin1(rest)),
            "@" => {
                self.now = self.start + Duration::from_secs(rest.parse().unwrap());
                self.session.handle_timeout(self.now);
                assert!(self.session.poll_timeout().is_none_or(|at| at > self.now), "{place}");
            }
            "written" => self.session.handle_transmitted(rest.parse().unwrap()),
            "drain" => self.session.handle_transmitted(self.session.unsent()),
            "closed" => self.session.handle_closed(),
            #[cfg(feature = "legacy")]
            "legacy" => self.session.enter_legacy(),
            #[cfg(feature = "legacy")]
            "modern" => self.session.leave_legacy(),
            #[cfg(feature = "legacy")]
            "send" => {
                let message = rest.as_bytes().to_vec();
                let sent = self.session.send(|out| {
                    out.extend_from_slice(&message);
                    Ok(())
                });
                assert!(sent.is_ok(), "{place}");
            }
            _ => self.expect(place, verb, rest),
        }
    }

    fn expect(&mut self, place: &str, verb: &str, rest: &str) {
        match verb {
            "event" => {
                let event = self.session.poll_event().map(|event| describe(&event)).unwrap_or_default();
                assert!(event.starts_with(rest), "{place}\n{event}");
            }
            "sent" if rest == "nothing" => assert_eq!(self.session.poll_transmit(), None, "{place}"),
            "sent" => {
                let line = next_line(self.session.poll_transmit()).unwrap_or_default();
                assert_eq!(line.trim_end(), rest, "{place}");
                self.session.handle_transmitted(line.len());
            }
            "pending" => assert_eq!(self.session.pending().to_string(), rest, "{place}"),
            "counters" => {
                let counters = format!("{:?}", self.session.counters());
                for counter in rest.split(' ') {
                    assert!(counters.contains(&counter.replace('=', ": ")), "{place}: {counters}");
                }
            }
            "noise" => {
                let (lines, sample) = rest.split_once(' ').unwrap();
                assert_eq!(self.session.noise().lines().to_string(), lines, "{place}");
                assert!(self.session.noise().sample().starts_with(sample), "{place}");
            }
            other => panic!("{place}: unknown verb {other}"),
        }
    }

    fn quiet(&mut self, place: &str) {
        let event = self.session.poll_event();
        assert!(event.is_none(), "before {place}: unexpected {event:?}");
    }

    fn open(&mut self, words: &str) -> Result<ExchangeId, OpenError> {
        let mut opening = Opening::default();
        for word in words.split_whitespace() {
            match word.split_once('=') {
                Some(("idle", seconds)) => opening.idle = Some(Duration::from_secs(seconds.parse().unwrap())),
                Some(("total", seconds)) => {
                    opening.total = Some(Duration::from_secs(seconds.parse().unwrap()))
                }
                _ => match word {
                    "unannounced" => opening.unannounced = true,
                    "progress" => opening.progress = true,
                    "log" => opening.log = true,
                    "listen" => opening.listen = true,
                    other => panic!("unknown option {other}"),
                },
            }
        }
        let params = serde_json::Map::new();
        self.session.open(self.now, opening, |id, out| encode_request(out, id, "x/ping", &params))
    }
}

fn describe(event: &Event) -> String {
    let number = |id: &ExchangeId| id.request_id().to_string();
    match event {
        Event::Progress { id, progress } => format!("progress {} {}", number(id), progress.progress),
        Event::Log { id, message } => {
            format!("log {} {}", id.as_ref().map_or("-".to_owned(), number), message.data)
        }
        Event::Subscription { id, method, .. } => format!("subscription {} {method}", number(id)),
        Event::Ended { id, end } => format!("ended {} {}", number(id), describe_end(end)),
        #[cfg(feature = "legacy")]
        Event::Agreed(revision) => format!("agreed {revision}"),
        #[cfg(feature = "legacy")]
        Event::Request { id, method, .. } => format!("request {id} {method}"),
        #[cfg(feature = "legacy")]
        Event::Notification { method, .. } => format!("notification {method}"),
        Event::Fault(fault) => format!("fault {fault:?}"),
    }
}

fn describe_end(end: &End) -> String {
    match end {
        End::Result(result) => format!("result {result}"),
        End::Error(error) => format!("error {} {}", error.code.0, error.message),
        End::Malformed(message) => format!("malformed {message}"),
        End::TimedOut(timeout) => format!("timed out {timeout:?}"),
        End::TornDown(reason) => format!("torn down {}", reason.as_deref().unwrap_or_default()),
        End::ConnectionLost(delivery) => format!("connection lost {delivery:?}"),
    }
}
