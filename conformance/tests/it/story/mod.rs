//! One story, told by every client to every server over every transport: what is seen is the same everywhere, but for
//! what a table says.
//!
//! A [`Cell`] is one combination. Its client goes through the [`steps`](steps::STEPS) and writes down what it sees;
//! the transcript of the modern pair in one process is the measure of all others. `stage` is the client and what it
//! hears, `place` where the server runs, `wire` holds every message against the published schema and `tap` is how they are seen from outside. The revisions with
//! a handshake, and what they lack, are in `crate::legacy`.

mod compare;
mod place;
mod stage;
mod steps;
mod tap;
mod wire;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value};
use switchboard_client::{Era, Revision};
use tokio::task::JoinError;
use tokio::time::timeout;

pub(crate) use place::{Place, Served};
use stage::Stage;
use steps::STEPS;
#[cfg(feature = "legacy")]
pub(crate) use wire::Message;
use wire::Wire;

/// What the measure itself has to look like, step by step.
pub(crate) fn measure() -> Transcript {
    serde_json::from_str(include_str!("measure.json")).unwrap()
}

/// How long one combination may take. They take a fraction of a second each.
const LIMIT: Duration = Duration::from_secs(20);

/// How many messages are shown of one that hangs.
const TOLD: usize = 12;

/// How many are told at the same time.
const AT_ONCE: usize = 2;

/// What the client sees, by step.
pub(crate) type Transcript = Map<String, Value>;

/// A client, a server, and what is between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) client: Era,
    pub(crate) server: Served,
    pub(crate) place: Place,
}

/// How a combination ends.
#[derive(Debug)]
#[cfg_attr(not(feature = "legacy"), expect(dead_code, reason = "everything that is modern can be combined"))]
pub(crate) enum Outcome {
    /// The whole story is told in this revision.
    Told(Revision),
    /// There is no connection, since no revision is common, and the error has all of these words.
    Refused(Vec<&'static str>),
    /// There is nothing at this place.
    Absent,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, server, place } = self;
        match client {
            Era::Pinned(revision) => write!(f, "client {revision}")?,
            other => write!(f, "client {other:?}")?,
        }
        write!(f, ", server {}, {place:?}", server.name())
    }
}

const MODERN: Cell =
    Cell { client: Era::Pinned(Revision::LATEST), server: Served::All, place: Place::InProcess };

/// Everything with everything that there is.
fn cells() -> Vec<Cell> {
    #[cfg(feature = "legacy")]
    return crate::legacy::cells();
    #[cfg(not(feature = "legacy"))]
    [Era::Pinned(Revision::LATEST), Era::Modern, Era::Auto]
        .into_iter()
        .flat_map(|client| {
            [Place::InProcess, Place::Stdio, Place::Http].map(|place| Cell {
                client,
                server: Served::All,
                place,
            })
        })
        .collect()
}

fn outcome(cell: &Cell) -> Outcome {
    #[cfg(feature = "legacy")]
    return crate::legacy::outcome(cell);
    #[cfg(not(feature = "legacy"))]
    {
        let _ = cell;
        Outcome::Told(Revision::LATEST)
    }
}

/// What is to be seen in a revision, made of what is seen in the newest.
fn expected(measure: &Transcript, revision: Revision) -> Transcript {
    #[cfg(feature = "legacy")]
    return crate::legacy::expected(measure, revision);
    #[cfg(not(feature = "legacy"))]
    {
        assert_eq!(revision, Revision::LATEST);
        measure.clone()
    }
}

/// Tells the story in one combination, as far as it can be told; what is wrong with it, if anything is.
async fn play(cell: Cell) -> Result<Option<Transcript>, String> {
    let at = Arc::new(At { step: Mutex::new("connect"), wire: Arc::default() });
    let playing = tokio::spawn(tell(cell, Arc::clone(&at)));
    let abort = playing.abort_handle();
    let told = timeout(LIMIT, playing).await;
    let step = *at.step.lock().unwrap();
    let told = match told {
        Ok(Ok(told)) => told,
        Ok(Err(failed)) => Err(words(failed)),
        Err(_) => {
            abort.abort();
            Err(format!("not done after {LIMIT:?}; said last:\n    {}", at.wire.last(TOLD).join("\n    ")))
        }
    };
    told.map_err(|why| format!("{step}: {why}"))
}

/// How far a combination has come.
struct At {
    step: Mutex<&'static str>,
    wire: Arc<Wire>,
}

impl At {
    fn begin(&self, step: &'static str) {
        *self.step.lock().unwrap() = step;
    }
}

/// What a task that panicked said.
fn words(failed: JoinError) -> String {
    let Ok(panic) = failed.try_into_panic() else { return "aborted".to_owned() };
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

async fn tell(cell: Cell, at: Arc<At>) -> Result<Option<Transcript>, String> {
    let theatre = place::open(cell.place, cell.server).await?;
    let transcript = match (outcome(&cell), Stage::open(&theatre, cell.client, &at.wire).await) {
        (Outcome::Told(revision), Ok(stage)) => Some(act(&stage, revision, &at).await?),
        (Outcome::Told(revision), Err(error)) => {
            return Err(format!("both sides speak {revision}, and yet: {error}"));
        }
        (_, Ok(stage)) => {
            return Err(format!("connected in {}, which is impossible", stage.client.revision()));
        }
        (Outcome::Refused(words), Err(error)) => {
            let text = error.to_string();
            let lacking: Vec<_> = words.into_iter().filter(|word| !text.contains(word)).collect();
            if !lacking.is_empty() || !error.is_incompatible() {
                return Err(format!(
                    "the error does not say {lacking:?}, or not that it is about that: {text}"
                ));
            }
            None
        }
        (Outcome::Absent, Err(error)) if error.http_status() == Some(404) => None,
        (Outcome::Absent, Err(error)) => return Err(format!("not the error of an empty place: {error}")),
    };
    at.begin("end");
    theatre.end().await;
    Ok(transcript)
}

async fn act(stage: &Stage, revision: Revision, at: &At) -> Result<Transcript, String> {
    if stage.client.revision() != revision {
        return Err(format!("{} is spoken instead of {revision}", stage.client.revision()));
    }
    let mut transcript = Transcript::new();
    for (name, step) in STEPS {
        at.begin(name);
        transcript.insert((*name).to_owned(), step(stage).await);
    }
    at.begin("wire");
    stage.wire.check(revision, stage.tap.as_deref());
    Ok(transcript)
}

/// Plays combinations, a few at a time, until none is left; what is wrong, by combination.
async fn play_all(cells: Vec<Cell>, measure: &Arc<Transcript>) -> Vec<String> {
    let left = Arc::new(Mutex::new(VecDeque::from(cells)));
    let players: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (left, measure) = (Arc::clone(&left), Arc::clone(measure));
            tokio::spawn(async move {
                let mut faults = Vec::new();
                loop {
                    let Some(cell) = left.lock().unwrap().pop_front() else { return faults };
                    let told = play(cell).await;
                    faults.extend(judge(cell, told, &measure).err().map(|why| format!("{cell}: {why}")));
                }
            })
        })
        .collect();
    let mut faults = Vec::new();
    for player in players {
        faults.extend(player.await.unwrap());
    }
    faults
}

fn judge(cell: Cell, told: Result<Option<Transcript>, String>, measure: &Transcript) -> Result<(), String> {
    let (Outcome::Told(revision), Some(told)) = (outcome(&cell), told?) else { return Ok(()) };
    same(&expected(measure, revision), &told)
}

fn same(expected: &Transcript, told: &Transcript) -> Result<(), String> {
    let faults: Vec<_> = STEPS
        .iter()
        .flat_map(|(step, _)| {
            let [expected, seen] =
                [expected, told].map(|transcript| transcript.get(*step).unwrap_or(&Value::Null));
            compare::differences(expected, seen).into_iter().map(move |why| format!("{step}: {why}"))
        })
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n    ")) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_story_is_told_in_every_combination() {
    let seen = play(MODERN).await.unwrap().unwrap();
    if let Err(why) = same(&measure(), &seen) {
        panic!("the modern pair does not tell what is recorded: {why}\n{:#}", Value::Object(seen));
    }
    let cells = cells();
    let count = cells.len();
    println!("story: {count} cells × {} steps", STEPS.len());
    let faults = play_all(cells, &Arc::new(seen)).await;
    assert!(faults.is_empty(), "{} of {count} cells:\n{}", faults.len(), faults.join("\n"));
}
