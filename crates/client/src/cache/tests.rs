//! The cache: whose answers are kept, for how long, and what makes them stale.

use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::Method;
use switchboard_protocol::model::result::CacheScope;
use tokio::time::{Instant, advance};

use super::{Cache, Hints, Key};
use crate::limits::Limits;
use crate::secret::{Headers, Partition};

fn key(server: &str, params: &str) -> Key {
    Key { server: server.into(), method: Method::ReadResource, params: params.into() }
}

fn caller(token: &str) -> Partition {
    let mut headers = Headers::default();
    headers.bearer(token).unwrap();
    headers.partition()
}

fn keep(cache: &Cache, key: &Key, hints: (&str, i64, CacheScope), value: u32) {
    let (token, ttl, scope) = hints;
    let asked = cache.generation(&key.server, key.method);
    cache.keep(key.clone(), (caller(token), Hints::new(ttl, scope)), asked, (Arc::new(value), 10));
}

fn found(cache: &Cache, key: &Key, token: &str) -> Option<u32> {
    cache.find(key, caller(token), Instant::now()).map(|value| *value.downcast_ref::<u32>().unwrap())
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_fresh_for_its_time_and_not_longer() {
    let cache = Cache::new(&Limits::default());
    for (ttl, expected) in [(1000, Some(1)), (0, None), (-1, None), (i64::MAX, Some(1))] {
        keep(&cache, &key("s", "a"), ("t", ttl, CacheScope::Private), 1);
        assert_eq!(found(&cache, &key("s", "a"), "t"), expected, "{ttl}");
    }
    keep(&cache, &key("s", "a"), ("t", 1000, CacheScope::Private), 1);
    advance(Duration::from_millis(999)).await;
    assert_eq!(found(&cache, &key("s", "a"), "t"), Some(1));
    advance(Duration::from_millis(1)).await;
    assert_eq!(found(&cache, &key("s", "a"), "t"), None);
}

#[tokio::test(start_paused = true)]
async fn nobody_gets_what_belongs_to_another_caller_server_or_parameter() {
    let cache = Cache::new(&Limits::default());
    keep(&cache, &key("s", "a"), ("t", 1000, CacheScope::Private), 1);
    assert_eq!(found(&cache, &key("s", "a"), "other"), None);
    assert_eq!(found(&cache, &key("z", "a"), "t"), None);
    assert_eq!(found(&cache, &key("s", "b"), "t"), None);
    keep(&cache, &key("s", "a"), ("t", 1000, CacheScope::Public), 2);
    assert_eq!(found(&cache, &key("s", "a"), "other"), None, "public is shared only when asked to");
}

#[tokio::test(start_paused = true)]
async fn public_answers_are_shared_by_one_server_only_once_sharing_is_on() {
    let cache = Cache::new(&Limits::default()).share_public();
    keep(&cache, &key("s", "a"), ("t", 1000, CacheScope::Public), 1);
    assert_eq!(found(&cache, &key("s", "a"), "other"), Some(1));
    assert_eq!(found(&cache, &key("z", "a"), "other"), None);
    keep(&cache, &key("s", "b"), ("t", 1000, CacheScope::Private), 2);
    assert_eq!(found(&cache, &key("s", "b"), "other"), None);
}

#[tokio::test(start_paused = true)]
async fn an_answer_under_way_cannot_undo_an_invalidation() {
    let cache = Cache::new(&Limits::default());
    let key = key("s", "a");
    let asked = cache.generation(&key.server, key.method);
    cache.invalidate(&key.server, key.method, Some("a"));
    let owner = (caller("t"), Hints::new(1000, CacheScope::Private));
    cache.keep(key.clone(), owner, asked, (Arc::new(1_u32), 10));
    assert_eq!(found(&cache, &key, "t"), None);
}

#[tokio::test(start_paused = true)]
async fn an_invalidation_with_parameters_leaves_the_others() {
    let cache = Cache::new(&Limits::default());
    for params in ["a", "b"] {
        keep(&cache, &key("s", params), ("t", 1000, CacheScope::Private), 1);
    }
    cache.invalidate(&"s".into(), Method::ReadResource, Some("a"));
    assert_eq!(found(&cache, &key("s", "a"), "t"), None);
    assert_eq!(found(&cache, &key("s", "b"), "t"), Some(1));
    cache.invalidate(&"s".into(), Method::ReadResource, None);
    assert_eq!(found(&cache, &key("s", "b"), "t"), None);
}

#[tokio::test(start_paused = true)]
async fn the_cache_is_bounded_in_entries_and_bytes() {
    let limits = Limits { cache_entries: 3, cache_bytes: 25, ..Limits::default() };
    let cache = Cache::new(&limits);
    for params in ["a", "b", "c", "d"] {
        keep(&cache, &key("s", params), ("t", 1000, CacheScope::Private), 1);
        // `a` stays in use, so it is the others that go.
        assert_eq!(found(&cache, &key("s", "a"), "t"), Some(1));
    }
    assert_eq!(found(&cache, &key("s", "c"), "t"), None);
    assert_eq!(found(&cache, &key("s", "d"), "t"), Some(1));
    assert!(cache.store().bytes <= 25);
}

#[test]
fn pages_together_are_as_fresh_as_the_first_to_expire_and_public_only_if_all_are() {
    let public = Hints::new(1000, CacheScope::Public);
    let private = Hints::new(5000, CacheScope::Private);
    assert_eq!(public.and(private), Hints::new(1000, CacheScope::Private));
    assert_eq!(public.aged(Duration::from_millis(400)), Hints::new(600, CacheScope::Public));
    assert_eq!(public.aged(Duration::from_secs(4)), Hints::new(0, CacheScope::Public));
}
