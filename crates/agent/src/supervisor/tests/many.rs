//! A server with thousands of tools: work that grows with their number, and with nothing else.

use std::time::Duration;

use serde_json::{Value, json};

use super::fake::Fake;
use super::*;
use crate::exposure::{Exposure, ExposureOptions};
use crate::policy::{Pins, ServerIdentity};
use crate::store::MemoryStore;

const MANY: usize = 5000;

/// The processor's time that this thread has taken: it does not grow while others keep the machine busy.
#[cfg(target_os = "linux")]
fn worked() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

/// Only Linux says it without further libraries: elsewhere the number of tools is what is tested.
#[cfg(not(target_os = "linux"))]
fn worked() -> Duration {
    eprintln!("how long it takes is not measured on this system");
    Duration::from_secs(1)
}

fn tool(prefix: &str, number: usize) -> Value {
    json!({
        "name": format!("{prefix}{number}"),
        "description": format!("Does what tool {number} does, in about as many words as tools are described in."),
        "inputSchema": {"type": "object", "required": ["path"], "properties": {
            "path": {"type": "string", "description": format!("Where tool {number} does it.")},
            "count": {"type": "integer", "minimum": 0, "default": 10},
            "kinds": {"type": "array", "items": {"enum": ["one", "two", "three"]}},
        }},
    })
}

/// Lists, compiles and pins so many tools, all of which then have other names.
async fn play(many: usize) {
    let fake = Fake::new([]);
    *fake.0.tools.lock().unwrap() = (0..many).map(|number| tool("old_", number)).collect();
    let supervisor = supervisor(vec![config("s", &fake)]);
    reach(&supervisor, ServerState::Ready).await;
    let upstream = supervisor.upstream(&name("s")).unwrap();
    let (pins, identity) = (Pins::new(Arc::new(MemoryStore::default())), ServerIdentity::default());
    let old = upstream.list().await.unwrap();
    pins.observe(&name("s"), identity.clone(), &old.tools).unwrap();
    let before = Exposure::compile([(name("s"), old.declared())]);

    *fake.0.tools.lock().unwrap() = (0..many).map(|number| tool("new ", number)).collect();
    let new = upstream.list_again().await.unwrap();
    pins.observe(&name("s"), identity, &new.tools).unwrap();
    let options = ExposureOptions { offered: before.offered(), ..ExposureOptions::default() };
    let after = Exposure::compile_for([(name("s"), new.declared())], &options);
    assert_eq!((after.tools().len(), after.offered().len()), (many, 2 * many));
    let states = pins.states(&name("s")).unwrap();
    assert_eq!(states.len(), 2 * many);
    let agreed = pins.accept_all(&name("s"), states.iter().map(|(tool, _)| tool.as_str())).unwrap();
    assert_eq!(agreed.len(), 2 * many);
    assert!(pins.states(&name("s")).unwrap().iter().all(|(_, state)| state.is_same()));
}

#[tokio::test]
async fn the_work_for_thousands_of_tools_grows_with_their_number_also_when_all_have_other_names() {
    let begun = worked();
    play(MANY / 4).await;
    let few = worked();
    play(MANY).await;
    let (few, many) = (few - begun, worked() - few);
    // Four times as much work would be right, sixteen times as much would be quadratic.
    assert!(many <= few * 8, "{few:?} for a quarter, {many:?} for all");
}
