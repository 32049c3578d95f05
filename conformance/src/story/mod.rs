//! The server of the story that is told in every combination of revisions and transports: one thing of each kind,
//! and tools that make everything happen that can happen.
//!
//! Where a thing can have a title, a picture or metadata, it has, so that what an older revision lacks is seen to be
//! left out there and nowhere else. No handler knows which revision its caller speaks.

mod content;
#[cfg(feature = "legacy")]
mod legacy;
mod rounds;
mod tools;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_protocol::meta::MetaObject;
use switchboard_protocol::model::capability::Icon;
use switchboard_protocol::model::content::{Annotations, Role};
use switchboard_server::{
    Args, BuildError, Builder, Completing, Json, Limits, Prompt, Resource, Server, Vars,
};

#[cfg(feature = "legacy")]
pub use legacy::server_of;
use tools::Watch;

/// How many items there are on a page: the tools are on two.
const PAGE: usize = 7;

/// Makes the server, for clients of every revision.
///
/// # Errors
/// What is wrong with the things that it exposes.
pub fn server() -> Result<Server, BuildError> {
    finish(builder())
}

fn builder() -> Builder<Watch> {
    let builder = Server::builder("story", "1.2.3")
        .title("The story")
        .description("Tells the same to everybody")
        .website_url("https://example.com/story")
        .icons(vec![icon()])
        .instructions("Listen to the end.")
        .limits(Limits { page_size: PAGE, ..Limits::default() });
    rounds::expose(tools::expose(things(builder)))
}

/// Some tools change the catalog that they are in, so they come last.
fn finish(builder: Builder<Watch>) -> Result<Server, BuildError> {
    let server = builder.build(Watch::default())?;
    tools::expose_changes(server.catalog())?;
    Ok(server)
}

fn icon() -> Icon {
    Icon {
        src: "https://example.com/icon.png".into(),
        mime_type: Some("image/png".into()),
        ..Icon::default()
    }
}

fn meta() -> MetaObject {
    MetaObject::from_iter([("com.example/chapter".to_owned(), 1.into())])
}

fn annotations() -> Annotations {
    Annotations {
        audience: Some(vec![Role::User]),
        priority: Some(0.5),
        last_modified: Some("2026-01-02T03:04:05Z".into()),
    }
}

/// Resources, a template and a prompt.
fn things(builder: Builder<Watch>) -> Builder<Watch> {
    let page = Resource::new("story://page", async || "Once upon a time")
        .name("page")
        .title("The first page")
        .describe("Where the story begins")
        .mime("text/plain")
        .size(16)
        .icons(vec![icon()])
        .annotations(annotations())
        .meta(meta());
    let watched = Resource::new("story://watched", async || "It changes").name("watched");
    let other = Resource::new("story://other", async || vec![1_u8, 2, 3]).name("other");
    let chapter = Resource::template("story://chapter/{number}", chapter)
        .name("chapter")
        .title("A chapter")
        .describe("By its number")
        .mime("application/json")
        .complete("number", numbers);
    let greeting = Prompt::new("greeting", greeting)
        .title("A greeting")
        .describe("Greets somebody")
        .icons(vec![icon()])
        .meta(meta())
        .complete("name", names);
    builder.resource(page).resource(watched).resource(other).resource(chapter).prompt(greeting)
}

#[derive(Deserialize)]
struct Number {
    number: String,
}

#[derive(Serialize, JsonSchema)]
struct Chapter {
    number: String,
}

async fn chapter(Vars(Number { number }): Vars<Number>) -> Json<Chapter> {
    Json(Chapter { number })
}

async fn numbers(typed: Completing) -> Vec<&'static str> {
    ["one", "two", "three"].into_iter().filter(|number| number.starts_with(&typed.value)).collect()
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    /// Who is greeted
    name: String,
    /// How
    #[serde(default)]
    manner: Option<String>,
}

async fn greeting(Args(Name { name, manner }): Args<Name>) -> String {
    format!("Greet {name} {}", manner.as_deref().unwrap_or("warmly"))
}

async fn names(typed: Completing) -> Vec<&'static str> {
    ["Ada", "Adele", "Bob"].into_iter().filter(|name| name.starts_with(&typed.value)).collect()
}
