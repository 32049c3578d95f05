//! Prompts: plain, with arguments that complete, with a resource, with a picture.

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_protocol::model::content::{ContentBlock, Role};
use switchboard_protocol::model::prompt::PromptMessage;
use switchboard_protocol::model::resource::ResourceContents;
use switchboard_server::{Args, Builder, Completing, Prompt};

use super::PNG;

pub(super) fn expose(builder: Builder<()>) -> Builder<()> {
    builder
        .prompt(
            Prompt::new("test_simple_prompt", async || "This is a simple prompt for testing.")
                .describe("A prompt without arguments"),
        )
        .prompt(
            Prompt::new("test_prompt_with_arguments", with_arguments)
                .describe("A prompt with two arguments")
                .complete("arg1", suggest)
                .complete("arg2", suggest),
        )
        .prompt(
            Prompt::new("test_prompt_with_embedded_resource", with_resource)
                .describe("A prompt that embeds a resource"),
        )
        .prompt(Prompt::new("test_prompt_with_image", with_image).describe("A prompt with a picture"))
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// First test argument
    arg1: String,
    /// Second test argument
    arg2: String,
}

async fn with_arguments(Args(Arguments { arg1, arg2 }): Args<Arguments>) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

async fn suggest(typed: Completing) -> Vec<&'static str> {
    ["testing", "test", "paris", "party"].into_iter().filter(|word| word.starts_with(&typed.value)).collect()
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Embedded {
    /// URI of the resource to embed
    resource_uri: String,
}

async fn with_resource(Args(Embedded { resource_uri }): Args<Embedded>) -> Vec<PromptMessage> {
    let resource = ResourceContents::text(resource_uri, "Embedded resource content for testing.");
    vec![
        user(ContentBlock::resource(resource.with_mime_type("text/plain"))),
        PromptMessage::user("Please process the embedded resource above."),
    ]
}

async fn with_image() -> Vec<PromptMessage> {
    vec![user(ContentBlock::image(PNG, "image/png")), PromptMessage::user("Please analyze the image above.")]
}

fn user(content: ContentBlock) -> PromptMessage {
    PromptMessage { role: Role::User, content }
}
