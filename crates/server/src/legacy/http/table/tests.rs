//! What is kept of sessions, how many of them, and how they end.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use switchboard_protocol::Revision;
use switchboard_protocol::model::notification::LoggingLevel;

use super::Table;
use crate::legacy::SessionLimits;
use crate::legacy::Terms;
use crate::legacy::http::budget::Budget;
use crate::legacy::http::live::Live;
use crate::legacy::http::log::Log;
use crate::legacy::http::token::Opened;
use crate::server::Server;

fn server() -> Server {
    Server::builder("test", "1.0.0").build(()).unwrap()
}

fn table(kept: usize) -> Arc<Table> {
    Table::new(SessionLimits { kept, idle: Duration::from_secs(60), ..SessionLimits::default() })
}

/// Enters the session with this number, as a request does.
fn enter(table: &Arc<Table>, server: &Server, number: u32) -> Option<Arc<Live>> {
    let mut key = [0; 16];
    key[..4].copy_from_slice(&number.to_be_bytes());
    let terms = Terms {
        revision: Revision::NEWEST_LEGACY,
        client_info: Bytes::from_static(b"{}"),
        client_capabilities: Bytes::from_static(b"{}"),
    };
    table.enter(server, Opened { key, terms, expires_at: u64::MAX })
}

/// One request that sets the log level.
fn set_level(table: &Arc<Table>, server: &Server, number: u32) {
    let live = enter(table, server, number).unwrap();
    live.session().set_level(LoggingLevel::Debug);
    live.settle();
}

#[test]
fn a_session_without_anything_of_its_own_leaves_nothing_behind() {
    let (server, table) = (server(), table(10));
    let live = enter(&table, &server, 1).unwrap();
    assert!(Arc::ptr_eq(&live, &enter(&table, &server, 1).unwrap()), "one session while it is held");
    live.settle();
    assert_eq!(table.len(), 1);
    drop(live);
    assert_eq!(table.len(), 0);
}

#[test]
fn what_was_set_is_kept_until_the_session_is_ended() {
    let (server, table) = (server(), table(10));
    set_level(&table, &server, 1);
    let live = enter(&table, &server, 1).unwrap();
    assert_eq!(live.session().level(), LoggingLevel::Debug);
    table.end(&live);
    assert!(enter(&table, &server, 1).is_none());
    live.settle();
    drop(live);
    assert_eq!(table.len(), 0);
    assert!(enter(&table, &server, 1).is_none(), "what has ended stays so");
}

#[test]
fn ten_thousand_that_are_left_alone_stay_within_the_limit() {
    let (server, table) = (server(), table(100));
    for number in 0..10_000 {
        set_level(&table, &server, number);
        assert!(table.len() <= 101, "{number}");
    }
    assert!(enter(&table, &server, 9_000).is_some_and(|live| !live.has_something()), "forgotten long ago");
    assert!(enter(&table, &server, 9_899).is_none(), "ended by those that came later");
    assert!(enter(&table, &server, 9_900).is_some_and(|live| live.has_something()));
    let inner = table.lock();
    assert_eq!((inner.kept.len(), inner.ended.order.len(), inner.ended.keys.len()), (100, 400, 400));
}

#[test]
fn what_is_in_use_does_not_give_way() {
    let (server, table) = (server(), table(2));
    set_level(&table, &server, 0);
    let held = enter(&table, &server, 0).unwrap();
    (1..50).for_each(|number| set_level(&table, &server, number));
    assert!(Arc::ptr_eq(&held, &enter(&table, &server, 0).unwrap()));
    assert!(table.len() <= 4, "{}", table.len());
}

#[tokio::test(start_paused = true)]
async fn what_nobody_uses_ends() {
    let (server, table) = (server(), table(10));
    set_level(&table, &server, 1);
    set_level(&table, &server, 2);
    let held = enter(&table, &server, 2).unwrap();
    tokio::time::advance(Duration::from_secs(59)).await;
    assert!(enter(&table, &server, 1).is_some());
    tokio::time::advance(Duration::from_secs(2)).await;
    assert!(enter(&table, &server, 1).is_none());
    assert!(enter(&table, &server, 2).is_some(), "something runs in it");
    drop(held);
    tokio::time::advance(Duration::from_secs(61)).await;
    assert!(enter(&table, &server, 2).is_none());
    assert_eq!(table.len(), 0);
}

#[tokio::test]
async fn in_a_session_that_has_ended_nothing_is_listened_to() {
    let (server, table) = (server(), table(10));
    let live = enter(&table, &server, 1).unwrap();
    // Ended by one request while another one is on its way.
    table.end(&live);
    let budget = Arc::new(Budget::new(1 << 20, Duration::from_secs(60)));
    assert!(live.stand(|| Log::new(1, &budget)).is_none());
    assert!(!live.has_something());
}
