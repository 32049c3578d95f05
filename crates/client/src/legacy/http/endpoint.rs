//! HTTP+SSE: where messages are sent, as the server's first event says [spec: basic/transports].

use url::Url;

use crate::error::{Delivery, Error, Kind, excerpt};
use crate::http::without_query;

/// Bytes of the address that a server names.
const MAX_ENDPOINT: usize = 16 << 10;

/// Resolves what the `endpoint` event says against the address that the stream was opened at. Everything
/// that is sent there carries the host's credentials, so it must be of the same origin.
///
/// # Errors
/// When it is no address, or one of another origin.
pub(super) fn resolve(stream: &Url, said: &[u8]) -> Result<Url, Error> {
    let text = std::str::from_utf8(said).ok().map(str::trim).filter(|text| !text.is_empty());
    let text = text.filter(|text| text.len() <= MAX_ENDPOINT);
    let target = text.and_then(|text| stream.join(text).ok());
    let Some(mut target) = target else {
        return Err(Error::server_fault(format!(
            "the server's endpoint event names no address: {:?}",
            excerpt(&String::from_utf8_lossy(&said[..said.len().min(MAX_ENDPOINT)]))
        )));
    };
    if !target.username().is_empty() || target.password().is_some() {
        return Err(Error::server_fault(
            "the server's endpoint event names an address with credentials in it",
        ));
    }
    if target.origin() != stream.origin() {
        let message = format!(
            "the event stream at {} wants messages to be sent to {}, which is another origin; they would take \
             the credentials for this server there",
            without_query(stream),
            excerpt(&without_query(&target))
        );
        return Err(Error::new(Kind::ServerFault, Delivery::Rejected, message)
            .hint("if that address is right, ask the server's author to name one of its own origin"));
    }
    target.set_fragment(None);
    Ok(target)
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::resolve;

    const STREAM: &str = "https://h.example/gw/sse?tenant=1";

    fn check(said: &str) -> Result<String, String> {
        let stream = Url::parse(STREAM).unwrap();
        resolve(&stream, said.as_bytes()).map(String::from).map_err(|error| error.to_string())
    }

    #[test]
    fn an_endpoint_is_resolved_against_the_stream_and_keeps_its_query() {
        for (said, expected) in [
            ("/messages?sessionId=a%2Fb&x=1", "https://h.example/messages?sessionId=a%2Fb&x=1"),
            ("messages/?sid=1", "https://h.example/gw/messages/?sid=1"),
            ("?sid=1", "https://h.example/gw/sse?sid=1"),
            ("https://h.example/gw/m?sid=1", "https://h.example/gw/m?sid=1"),
            ("https://h.example:443/m", "https://h.example/m"),
            ("//h.example/m?a=%20+b;c&d==", "https://h.example/m?a=%20+b;c&d=="),
            ("../m#part", "https://h.example/m"),
            (" /m ", "https://h.example/m"),
        ] {
            assert_eq!(check(said).as_deref(), Ok(expected), "{said}");
        }
    }

    #[test]
    fn an_endpoint_of_another_origin_is_refused_with_both_addresses() {
        for said in [
            "https://evil.example/m?sid=1",
            "http://h.example/m",
            "https://h.example:8443/m",
            "//evil.example/m",
            "\\\\evil.example/m",
            "javascript:alert(1)",
        ] {
            let error = check(said).unwrap_err();
            assert!(
                error.contains("another origin") && error.contains("https://h.example/gw/sse"),
                "{error}"
            );
            assert!(!error.contains("tenant"), "{error}");
        }
        assert!(check("https://user:secret@h.example/m").unwrap_err().contains("credentials"));
        for said in ["", "  ", "https://", "http://[::1"] {
            assert!(check(said).unwrap_err().contains("names no address"), "{said}");
        }
    }
}
