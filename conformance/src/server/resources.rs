//! Resources: a text, a picture, one to be watched, and a family behind a template.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_protocol::model::resource::ResourceContents;
use switchboard_server::{Builder, Cache, Json, Resource, Vars};

use super::PNG;

/// The first resource can be read as it is: a scenario reads whatever is listed first.
pub(super) fn expose(builder: Builder<()>) -> Builder<()> {
    builder
        .resource(
            Resource::new("test://static-text", async || "This is the content of the static text resource.")
                .name("static-text")
                .describe("A text that never changes")
                .mime("text/plain")
                .cache(Cache::Public(Duration::from_secs(60))),
        )
        .resource(
            Resource::new("test://static-binary", binary)
                .name("static-binary")
                .describe("A picture that never changes")
                .mime("image/png"),
        )
        .resource(
            Resource::new("test://watched-resource", async || "This resource can be watched.")
                .name("watched-resource")
                .describe("A text that one can subscribe to")
                .mime("text/plain"),
        )
        .resource(
            Resource::template("test://template/{id}/data", data)
                .name("template-data")
                .describe("The data of one id")
                .mime("application/json"),
        )
}

async fn binary() -> ResourceContents {
    ResourceContents::blob("test://static-binary", PNG)
}

#[derive(Deserialize)]
struct Id {
    id: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Data {
    id: String,
    template_test: bool,
    data: String,
}

async fn data(Vars(Id { id }): Vars<Id>) -> Json<Data> {
    let data = format!("Data for ID: {id}");
    Json(Data { id, template_test: true, data })
}
