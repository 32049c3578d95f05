//! What came of a call, part by part, until it is known how much of it the model is given.

use serde::{Deserialize, Serialize};
use switchboard_llm::Image;

use super::describe::decoded_len;
use super::excerpt::Excerpt;
use super::shares::shares;
use super::{Hold, Pictures, ToolMessage};
use crate::digest::Digest;
use crate::store::ArtefactRecord;

/// The types of pictures that models take.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// What is said of parts that the budget has no line for.
const UNSHOWN: &str = "further parts are not shown";

/// The parts of a result, in order. It is small, whatever the result was: long texts are in artefacts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Content {
    /// What stands before everything else.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) lead: String,
    pub(super) parts: Vec<Part>,
    /// What is said if there is nothing else.
    pub(super) otherwise: String,
    #[serde(default)]
    pub(super) failed: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) artefacts: Vec<ArtefactRecord>,
    /// Results that say the same have the same one.
    #[serde(default)]
    pub(super) fingerprint: Option<Digest>,
}

/// One part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Part {
    /// A line about it; empty for plain text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) line: String,
    /// Its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<Excerpt>,
    /// The picture that the line is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) picture: Option<Picture>,
    /// Whether the line names something that a tool of the host reads.
    #[serde(default)]
    pub(super) readable: bool,
    /// Whether the person can look at it.
    #[serde(default)]
    pub(super) kept: bool,
}

/// A picture, if it may be given to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Picture {
    /// The picture itself.
    Held(Image),
    /// It is too large to be given.
    TooLarge,
    /// Its type is none that models take.
    OtherType,
    /// There are more of them than a run may give.
    TooMany,
}

impl Picture {
    /// Holds it as far as there is room.
    pub(super) fn of(mime_type: &str, base64: &str, hold: &mut Hold) -> Self {
        let Some(known) = PICTURES.iter().find(|known| known.eq_ignore_ascii_case(mime_type.trim())) else {
            return Self::OtherType;
        };
        if decoded_len(base64) > hold.picture {
            return Self::TooLarge;
        }
        if hold.pictures == 0 {
            return Self::TooMany;
        }
        hold.pictures -= 1;
        Self::Held(Image::new(*known, base64))
    }
}

impl Content {
    /// One text, such as why a call was not made.
    pub(crate) fn said(text: impl AsRef<str>, most: usize) -> Self {
        let body = Some(Excerpt::of(text.as_ref(), most, None));
        Self { parts: vec![Part { body, ..Part::default() }], failed: true, ..Self::default() }
    }

    /// The text, with nothing cut.
    pub(crate) fn whole(&self) -> String {
        self.fit(usize::MAX, &mut Pictures::none()).text
    }

    /// How long the message is if nothing is cut.
    pub(crate) fn bytes(&self) -> usize {
        let parts = self.parts.iter().map(|part| part.line.len() + 1 + part.held());
        self.lead.len() + parts.sum::<usize>()
    }

    /// What was kept of it.
    pub(crate) fn artefacts(&self) -> &[ArtefactRecord] {
        &self.artefacts
    }

    /// Results that say the same have the same one.
    pub(crate) fn fingerprint(&self) -> Digest {
        self.fingerprint.unwrap_or_else(|| Digest::of(&[self.whole().as_bytes()]))
    }

    /// What the model is given within a budget of bytes. Marks and at least the first line come on top of it.
    pub(crate) fn fit(&self, budget: usize, pictures: &mut Pictures) -> ToolMessage {
        let mut message = ToolMessage {
            text: self.lead.clone(),
            images: Vec::new(),
            artefacts: self.artefacts.clone(),
            left_out_bytes: None,
            failed: self.failed,
            readable: false,
        };
        let lines = self.lines(budget, pictures, &mut message.images);
        let used: usize = lines.iter().map(String::len).sum();
        let shown = &self.parts[..lines.len()];
        let asked: Vec<usize> =
            shown.iter().map(|part| part.body.as_ref().map_or(0, Excerpt::bytes)).collect();
        let given = shares(&asked, budget.saturating_sub(used));
        let mut texts = Vec::new();
        let mut left_out = 0;
        for ((part, line), most) in shown.iter().zip(lines).zip(given) {
            message.readable |= part.readable;
            if !line.is_empty() {
                texts.push(line);
            }
            let Some(body) = part.body.as_ref().filter(|body| body.bytes() > 0) else { continue };
            let fitted = body.fit(most);
            left_out += fitted.left_out.unwrap_or_default();
            message.readable |= fitted.readable;
            texts.push(fitted.text);
        }
        if let Some(hidden) = self.parts.len().checked_sub(shown.len()).filter(|hidden| *hidden > 0) {
            left_out += self.parts[shown.len()..].iter().map(Part::held).sum::<usize>();
            texts.push(format!("[… {hidden} {UNSHOWN} …]"));
        }
        if texts.is_empty() {
            message.text = self.otherwise.clone();
        } else {
            message.text.push_str(&texts.join("\n"));
        }
        message.left_out_bytes = (left_out > 0).then_some(left_out);
        message
    }

    /// A line for each part, as far as half of the budget goes.
    fn lines(&self, budget: usize, pictures: &mut Pictures, images: &mut Vec<Image>) -> Vec<String> {
        let mut lines = Vec::new();
        let mut left = budget / 2;
        for part in &self.parts {
            let line = part.line_with(pictures, images);
            if line.len() > left && !lines.is_empty() && !line.is_empty() {
                break;
            }
            left = left.saturating_sub(line.len());
            lines.push(line);
        }
        lines
    }
}

impl Part {
    fn held(&self) -> usize {
        self.body.as_ref().map_or(0, Excerpt::held)
    }

    /// The line, with what became of the picture.
    fn line_with(&self, pictures: &mut Pictures, images: &mut Vec<Image>) -> String {
        let Some(picture) = &self.picture else { return self.line.clone() };
        let why = match picture {
            Picture::Held(image) if pictures.taken && pictures.left > 0 => {
                pictures.left -= 1;
                images.push(image.clone());
                return format!("{}, attached]", self.line.trim_end_matches(']'));
            }
            _ if !pictures.taken => "",
            Picture::OtherType => ", not given to you: models take other types",
            Picture::TooLarge => ", not given to you: it is too large",
            Picture::TooMany | Picture::Held(_) => {
                ", not given to you: the limit of pictures of this run is reached"
            }
        };
        let shown = if self.kept { ", shown to the person" } else { "" };
        format!("{}{shown}{why}]", self.line.trim_end_matches(']'))
    }
}
