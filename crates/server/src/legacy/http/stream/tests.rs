//! What is left of a stream whose client has gone.

use std::future::pending;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use bytes::Bytes;
use switchboard_protocol::Revision;
use switchboard_protocol::era::legacy::Features;
use switchboard_protocol::model::notification::LoggingLevel;

use super::{Standing, Stream};
use crate::legacy::Terms;
use crate::legacy::http::budget::Budget;
use crate::legacy::http::live::Live;
use crate::legacy::http::log::Log;
use crate::legacy::http::table::Table;
use crate::legacy::http::token::Opened;
use crate::server::Server;

/// A connection, of which a waker holds a part.
struct Connection;

impl Wake for Connection {
    fn wake(self: Arc<Self>) {}
}

/// Opens a stream of a session that is kept, reads all of it, and leaves.
fn check(open: impl FnOnce(&Arc<Live>, &Server, &Arc<Log>) -> Stream) {
    let server = Server::builder("test", "1.0.0").build(()).unwrap();
    let table = Table::new(server.limits().sessions.clone());
    let terms = Terms {
        revision: Revision::NEWEST_LEGACY,
        client_info: Bytes::from_static(b"{}"),
        client_capabilities: Bytes::from_static(b"{}"),
    };
    let live = table.enter(&server, Opened { key: [1; 16], terms, expires_at: u64::MAX }).unwrap();
    live.session().set_level(LoggingLevel::Debug);
    let log = Log::new(1, &Arc::new(Budget::new(1 << 20, Duration::from_secs(60))));
    let mut stream = open(&live, &server, &log);
    let connection = Arc::new(Connection);
    let waker = Waker::from(Arc::clone(&connection));
    while stream.poll_chunk(&mut Context::from_waker(&waker)).is_ready() {}
    drop(waker);
    assert!(Arc::strong_count(&connection) > 1, "it waits");
    drop(stream);
    assert_eq!(Arc::strong_count(&connection), 1);
}

#[tokio::test]
async fn a_session_that_is_kept_holds_no_connection_that_has_ended() {
    let features = Features::of(Revision::NEWEST_LEGACY);
    check(|_, server, log| Stream::of_request(log.attach(None).unwrap(), (features, server.limits())));
    check(|live, server, log| {
        let reader = live.stand(|| Arc::clone(log)).unwrap();
        let standing = Standing { reader, live: Arc::clone(live), closing: Box::pin(pending()) };
        Stream::standing(standing, server.listens().take().unwrap(), (features, server.limits()))
    });
}
