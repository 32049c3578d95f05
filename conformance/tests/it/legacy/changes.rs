//! A change that happens right after a client has begun to listen is heard, whichever stream carries it.

use std::time::Duration;

use serde_json::json;
use switchboard_client::{Change, Client, Era, SubscriptionFilter};
use switchboard_conformance::story;
use tokio::time::timeout;

const OFTEN: usize = 20;
const LIMIT: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_change_right_after_listening_is_heard() {
    let serving = story::server().unwrap().http().bind("127.0.0.1:0").await.unwrap();
    for path in ["/mcp", "/sse"] {
        let url = format!("http://{}{path}", serving.local_addr());
        for _ in 0..OFTEN {
            let client = Client::builder().era(Era::Legacy).http(&url).await.unwrap();
            let mut changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
            client.call("change", &json!({})).await.unwrap();
            let heard = timeout(LIMIT, changes.next()).await;
            assert_eq!(heard.ok().flatten(), Some(Change::Tools), "{path}");
            client.close().await;
        }
    }
}
