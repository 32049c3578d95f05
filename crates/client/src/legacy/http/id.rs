//! What a server gives a client to be sent back: the id of a session, and the ids of events.

use http::{HeaderMap, HeaderValue};
use switchboard_protocol::http::legacy::SESSION_ID;
use switchboard_sse::Decoder;

use crate::error::Error;

/// Bytes of a session's id: it is part of every request, and may be a sealed token.
const MAX_SESSION_ID: usize = 16 << 10;
/// Bytes of an event's id that is kept.
const MAX_EVENT_ID: usize = 4 << 10;

/// The id of a session, as the bytes that it came as. Whoever knows it can use the session, so it is never
/// shown.
#[derive(Clone)]
pub(super) struct SessionId(HeaderValue);

impl SessionId {
    /// The id in the answer to the handshake, if the server wants to have sessions.
    ///
    /// # Errors
    /// When it is none that may be sent back.
    pub(super) fn of(headers: &HeaderMap) -> Result<Option<Self>, Error> {
        let mut values = headers.get_all(&SESSION_ID).iter();
        let Some(value) = values.next() else { return Ok(None) };
        if values.next().is_some_and(|second| second != value) {
            return Err(Error::server_fault("the server gave the session two different ids"));
        }
        let bytes = value.as_bytes();
        if bytes.is_empty() || !bytes.iter().all(u8::is_ascii_graphic) {
            return Err(Error::server_fault(
                "the server gave the session an id that is not made of visible ASCII characters",
            ));
        }
        if bytes.len() > MAX_SESSION_ID {
            return Err(Error::server_fault(format!(
                "the server gave the session an id of {} bytes, more than the limit of {MAX_SESSION_ID}",
                bytes.len()
            )));
        }
        let mut id = value.clone();
        id.set_sensitive(true);
        Ok(Some(Self(id)))
    }

    pub(super) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

/// The id of the stream's last event, if it can be sent back.
pub(super) fn last_event(decoder: &Decoder) -> Option<HeaderValue> {
    let id = decoder.last_event_id()?;
    if id.len() > MAX_EVENT_ID {
        tracing::warn!(
            bytes = id.len(),
            "the id of an event is too long to be kept; its stream cannot be resumed"
        );
        return None;
    }
    HeaderValue::from_bytes(id.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};

    use switchboard_protocol::http::legacy::SESSION_ID;

    use super::{MAX_SESSION_ID, SessionId};

    fn check(values: &[&[u8]]) -> Result<Option<Vec<u8>>, String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(SESSION_ID, HeaderValue::from_bytes(value).unwrap());
        }
        match SessionId::of(&headers) {
            Ok(id) => Ok(id.map(|id| id.header().as_bytes().to_vec())),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_session_id_is_visible_ascii_and_kept_byte_for_byte() {
        assert_eq!(check(&[]), Ok(None));
        for id in ["a", "!~", "1868a90c-…".trim_end_matches('…'), "eyJ.x_y=="] {
            assert_eq!(check(&[id.as_bytes()]), Ok(Some(id.as_bytes().to_vec())));
        }
        assert_eq!(check(&[b"a", b"a"]), Ok(Some(b"a".to_vec())));
        for (values, shown) in [
            (vec![&b""[..]], "visible ASCII"),
            (vec![b"a b"], "visible ASCII"),
            (vec![b"a\tb"], "visible ASCII"),
            (vec![b"\xff"], "visible ASCII"),
            (vec!["ä".as_bytes()], "visible ASCII"),
            (vec![b"a", b"b"], "two different ids"),
        ] {
            assert!(check(&values).unwrap_err().contains(shown), "{values:?}");
        }
        let long = vec![b'a'; MAX_SESSION_ID + 1];
        assert!(check(&[&long]).unwrap_err().contains("limit"));
        assert!(check(&[&long[1..]]).is_ok());
    }
}
