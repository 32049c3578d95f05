//! Pictures as endpoints take them, or in words where they do not. Their base64 never becomes text, and no picture
//! is changed: what does not fit is told.

use crate::message::Image;

/// What goes to the model in a picture's place.
#[derive(Debug, PartialEq)]
pub(crate) enum Shown<'a> {
    /// The picture, with the media type that its bytes have.
    Picture { media_type: &'static str, data: &'a str },
    /// What to say about it.
    Words(String),
}

/// How `image` is shown to a model that `sees` pictures or not, of at most `max_bytes` in base64.
pub(crate) fn show(image: &Image, sees: bool, max_bytes: usize) -> Shown<'_> {
    // Endpoints compare the bytes with the declared type and refuse the whole request if they differ.
    let media_type = sniffed(&image.data).or_else(|| declared(&image.media_type));
    let words = |why: &str| {
        let media_type: String = image.media_type.chars().filter(|c| !c.is_control()).take(64).collect();
        Shown::Words(format!("[image, {media_type}, {} bytes, {why}]", image.len()))
    };
    match media_type {
        _ if !sees => words("shown to user"),
        _ if !is_base64(&image.data) => words("its data is not base64"),
        None => words("shown to user; this endpoint takes PNG, JPEG, GIF and WebP"),
        Some(_) if image.data.len() > max_bytes => words("shown to user; too large for this endpoint"),
        Some(media_type) => Shown::Picture { media_type, data: &image.data },
    }
}

fn declared(media_type: &str) -> Option<&'static str> {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    [
        ("image/png", "image/png"),
        ("image/jpeg", "image/jpeg"),
        ("image/jpg", "image/jpeg"),
        ("image/gif", "image/gif"),
        ("image/webp", "image/webp"),
    ]
    .into_iter()
    .find(|(name, _)| essence.eq_ignore_ascii_case(name))
    .map(|(_, media_type)| media_type)
}

/// The type that the first bytes show, still in base64.
fn sniffed(data: &str) -> Option<&'static str> {
    [
        ("iVBORw0KGgo", "image/png"),
        ("/9j/", "image/jpeg"),
        ("R0lGODlh", "image/gif"),
        ("R0lGODdh", "image/gif"),
    ]
    .into_iter()
    .find(|(start, _)| data.starts_with(start))
    .map(|(_, media_type)| media_type)
}

fn is_base64(data: &str) -> bool {
    let letters = data.trim_end_matches('=');
    data.len().is_multiple_of(4)
        && data.len() - letters.len() <= 2
        && !letters.is_empty()
        && letters.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}
