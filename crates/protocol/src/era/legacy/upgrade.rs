//! What a client reads in a session, as modern text. The modern decoder takes almost everything as it is;
//! what it would misunderstand is put right here, and nothing else is touched.

use std::fmt;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::{RawValue, to_raw_value};

use super::members::{Members, is_object};
use crate::error::{ErrorCode, ProtocolError};
use crate::method::Method;
use crate::model::content::ContentBlock;
use crate::model::elicitation::{Elicit, ElicitUrl};
use crate::model::input::{InputRequest, InputRequests};
use crate::model::result::ResultError;

/// The most addresses that one refusal can name.
pub const MAX_REQUIRED_URLS: usize = 64;

/// The longest name of an address, in bytes: it is kept while a person is there.
pub const MAX_ELICITATION_ID: usize = 1024;

/// The person must visit addresses before the request can be served, in the revisions that say so with an
/// error [spec: client/elicitation, URL Elicitation Required Error].
pub const URL_ELICITATION_REQUIRED: ErrorCode = ErrorCode(-32042);

/// A result of a legacy server as modern text.
///
/// # Errors
/// When the result is no object.
pub fn result(method: Method, raw: Box<RawValue>) -> Result<Box<RawValue>, ResultError> {
    if !is_object(&raw) {
        return Err(ResultError::invalid("The result is no object"));
    }
    let peek: Peek<'_> = serde_json::from_str(raw.get()).map_err(ResultError::malformed)?;
    let of_tool = method == Method::CallTool;
    // The revisions before the modern ones have no such member: whatever a server means by its own, it
    // means no modern question.
    let foreign_type = peek.result_type.is_some_and(|given| given.get() != "\"complete\"");
    let no_content = of_tool && peek.content.is_none_or(is_null);
    // Absent, as those revisions say it; to the modern decoder null is a value.
    let null_structured = of_tool && peek.structured_content.is_some_and(is_null);
    if !(foreign_type || no_content || null_structured) {
        return Ok(raw);
    }
    let content = no_content.then(|| content_of(&peek)).flatten();
    let mut members: Members<'_> = serde_json::from_str(raw.get()).map_err(ResultError::malformed)?;
    members.0.retain(|(name, value)| match name.as_ref() {
        "resultType" => !foreign_type,
        "content" => content.is_none(),
        "structuredContent" => !(of_tool && is_null(value)),
        _ => true,
    });
    if let Some(content) = &content {
        members.0.push(("content".into(), content));
    }
    to_raw_value(&members).map_err(ResultError::malformed)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Peek<'a> {
    #[serde(borrow, default, deserialize_with = "crate::meta::present")]
    result_type: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "crate::meta::present")]
    content: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "crate::meta::present")]
    structured_content: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "crate::meta::present")]
    tool_result: Option<&'a RawValue>,
}

fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

/// What stands for the content that a tool's result lacks. A result that has nothing at all stays malformed.
fn content_of(peek: &Peek<'_>) -> Option<Box<RawValue>> {
    let blocks = match (peek.tool_result, peek.structured_content.filter(|value| !is_null(value))) {
        // Servers of before the first revision answer with this member alone; its text is for the model.
        (Some(given), _) if !is_null(given) => {
            let text = serde_json::from_str::<String>(given.get()).unwrap_or_else(|_| given.get().to_owned());
            vec![ContentBlock::text(text)]
        }
        (_, Some(_)) => Vec::new(),
        _ => return None,
    };
    to_raw_value(&blocks).ok()
}

/// The addresses that a refusal sends the person to, by the names that the server gave them; `None` if it is
/// another error or names no address. What is malformed is passed over, and so are a name
/// beyond [`MAX_ELICITATION_ID`] and what comes after [`MAX_REQUIRED_URLS`].
#[must_use]
pub fn required_urls(error: &ProtocolError) -> Option<InputRequests> {
    #[derive(Deserialize)]
    struct Data {
        elicitations: Urls,
    }
    if error.code != URL_ELICITATION_REQUIRED {
        return None;
    }
    let data: Data = serde_json::from_str(error.data.as_deref()?.get()).ok()?;
    (!data.elicitations.0.is_empty()).then_some(data.elicitations.0)
}

struct Urls(InputRequests);

impl<'de> Deserialize<'de> for Urls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Urls;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of addresses to visit")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Urls, A::Error> {
                let mut urls = InputRequests::new();
                while urls.len() < MAX_REQUIRED_URLS {
                    let Some(raw) = list.next_element::<&RawValue>()? else { return Ok(Urls(urls)) };
                    if let Some((id, url)) = required_url(raw) {
                        urls.entry(id).or_insert(InputRequest::Elicit(Elicit::Url(url)));
                    }
                }
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Urls(urls))
            }
        }
        deserializer.deserialize_seq(Reader)
    }
}

fn required_url(raw: &RawValue) -> Option<(String, ElicitUrl)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Wire {
        mode: String,
        elicitation_id: String,
        url: String,
        message: String,
    }
    let object = Some(raw).filter(|raw| is_object(raw))?;
    let Wire { mode, elicitation_id, url, message } = serde_json::from_str(object.get()).ok()?;
    let named = (1..=MAX_ELICITATION_ID).contains(&elicitation_id.len());
    let well_formed = mode == "url" && named && !url.is_empty();
    well_formed.then_some((elicitation_id, ElicitUrl { message, url }))
}
