//! Every kind of content block.

use switchboard_protocol::model::content::{ContentBlock, MediaContent, TextContent};
use switchboard_protocol::model::resource::{Resource, ResourceContents};

use super::{annotations, icon, meta};

/// Three bytes, in base64.
const DATA: &str = "AQID";

pub(super) fn every_kind() -> Vec<ContentBlock> {
    let text = TextContent { text: "A text".into(), annotations: Some(annotations()), meta: Some(meta()) };
    let media = |mime_type: &str| MediaContent {
        data: DATA.into(),
        mime_type: mime_type.into(),
        ..MediaContent::default()
    };
    let link = Resource {
        uri: "story://page".into(),
        name: "page".into(),
        title: Some("The first page".into()),
        description: None,
        mime_type: Some("text/plain".into()),
        size: Some(16),
        icons: Some(vec![icon()]),
        annotations: None,
        meta: None,
    };
    vec![
        ContentBlock::Text(text),
        ContentBlock::Image(media("image/png")),
        ContentBlock::Audio(media("audio/wav")),
        ContentBlock::ResourceLink(Box::new(link)),
        ContentBlock::resource(
            ResourceContents::text("story://page", "Once upon a time").with_mime_type("text/plain"),
        ),
    ]
}
