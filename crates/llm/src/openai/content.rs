//! The content of a message: plain words, or parts where pictures stand between them.

use serde::Serialize;

use crate::message::Image;
use crate::wire::image::{Shown, show};

/// The largest picture that endpoints take, in base64.
const MAX_IMAGE_BYTES: usize = 20 << 20;

#[derive(Debug, Serialize)]
// The wire has a bare text or a list here, without a tag.
#[serde(untagged)]
pub(super) enum Content {
    /// Never null: some chat templates print a null.
    Words(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part {
    Text { text: String },
    ImageUrl { image_url: Address },
}

#[derive(Debug, Serialize)]
pub(super) struct Address {
    url: String,
}

/// Pictures as they go to the endpoint, and what is said in the place of those that do not.
pub(super) fn split(images: &[Image], sees: bool) -> (Vec<Part>, Vec<String>) {
    let (mut parts, mut words) = (Vec::new(), Vec::new());
    for image in images {
        match show(image, sees, MAX_IMAGE_BYTES) {
            Shown::Picture { media_type, data } => parts.push(Part::ImageUrl {
                image_url: Address { url: format!("data:{media_type};base64,{data}") },
            }),
            Shown::Words(text) => words.push(text),
        }
    }
    (parts, words)
}

/// `text` with a line for each picture that is not shown.
pub(super) fn with_words(text: &str, words: &[String]) -> String {
    let lines =
        Some(text).filter(|text| !text.is_empty()).into_iter().chain(words.iter().map(String::as_str));
    lines.collect::<Vec<_>>().join("\n")
}

impl Content {
    /// `text` followed by pictures.
    pub(super) fn new(text: String, pictures: Vec<Part>) -> Self {
        if pictures.is_empty() {
            return Self::Words(text);
        }
        let text = Some(text).filter(|text| !text.is_empty()).map(|text| Part::Text { text });
        Self::Parts(text.into_iter().chain(pictures).collect())
    }
}
