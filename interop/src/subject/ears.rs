//! Hears every message of a server: writes it down, and notices what is out of the ordinary.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::Deserialize;
use serde_json::Value;
use switchboard_client::{Direction, WireMessage};

/// The code that JSON-RPC has for a method that is not there.
const METHOD_NOT_FOUND: i64 = -32601;

/// What of a message says what it is.
#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Refusal {
    code: i64,
}

/// How the modern probe was answered.
#[derive(Default)]
enum Probe {
    #[default]
    NotSent,
    /// With its id.
    Unanswered(Option<Value>),
    Answered,
    Refused(i64),
    /// The server ended, and was started once more.
    Died,
}

struct Heard {
    log: Box<dyn Write + Send>,
    probe: Probe,
    /// What was on the output that is no message.
    noise: usize,
    /// Methods of what the server sent by itself.
    asked: BTreeSet<String>,
    told: BTreeSet<String>,
}

/// The taps of one server's pipes.
pub(super) struct Ears {
    began: Instant,
    heard: Mutex<Heard>,
}

impl Ears {
    pub(super) fn new(log: impl Write + Send + 'static) -> Self {
        let (asked, told) = (BTreeSet::new(), BTreeSet::new());
        let heard = Heard { log: Box::new(log), probe: Probe::default(), noise: 0, asked, told };
        Self { began: Instant::now(), heard: Mutex::new(heard) }
    }

    /// Takes one message.
    pub(super) fn hear(&self, message: &WireMessage<'_>) {
        let at = self.began.elapsed().as_millis();
        let mut heard = self.heard();
        let arrow = if message.direction == Direction::Sent { '>' } else { '<' };
        let text = String::from_utf8_lossy(message.bytes);
        // A log that cannot be written is missed by whoever reads it.
        writeln!(heard.log, "{at:>6} {arrow} {}", text.trim_end()).ok();
        match (message.direction, serde_json::from_slice::<Envelope>(message.bytes)) {
            (Direction::Sent, Ok(envelope)) => heard.sent(&envelope),
            (Direction::Received, Ok(envelope)) => heard.received(envelope),
            (Direction::Received, Err(_)) => heard.noise += 1,
            (Direction::Sent, Err(_)) => {}
        }
    }

    /// What is worth a word.
    pub(super) fn oddities(&self) -> Vec<String> {
        let heard = self.heard();
        let mut oddities = Vec::new();
        match &heard.probe {
            Probe::Unanswered(_) => oddities.push("is silent when asked in the modern way".to_owned()),
            Probe::Died => oddities.push("ends when asked in the modern way".to_owned()),
            Probe::Refused(METHOD_NOT_FOUND) | Probe::NotSent | Probe::Answered => {}
            Probe::Refused(code) => oddities.push(format!("refuses the modern way with {code}")),
        }
        if heard.noise > 0 {
            oddities.push(format!("{} lines on its output are no messages", heard.noise));
        }
        for (verb, methods) in [("asks for", &heard.asked), ("sends", &heard.told)] {
            if !methods.is_empty() {
                let methods: Vec<&str> = methods.iter().map(String::as_str).collect();
                oddities.push(format!("{verb} {}", methods.join(", ")));
            }
        }
        oddities
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Heard {
    fn sent(&mut self, envelope: &Envelope) {
        match (envelope.method.as_deref(), &self.probe) {
            (Some("server/discover"), _) => self.probe = Probe::Unanswered(envelope.id.clone()),
            // Ids are used once on a pipe, so this is another pipe.
            (Some("initialize"), Probe::Unanswered(asked)) if *asked == envelope.id => {
                self.probe = Probe::Died
            }
            _ => {}
        }
    }

    fn received(&mut self, envelope: Envelope) {
        match (envelope.method, envelope.id, envelope.error) {
            (Some(method), Some(_), _) => drop(self.asked.insert(method)),
            (Some(method), None, _) => drop(self.told.insert(method)),
            (None, id, refusal) => {
                if matches!(&self.probe, Probe::Unanswered(asked) if *asked == id) {
                    self.probe = refusal.map_or(Probe::Answered, |refusal| Probe::Refused(refusal.code));
                }
            }
        }
    }
}
