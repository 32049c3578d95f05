//! Which `Host` and which `Origin` are served: the defence against DNS rebinding, always on
//! [spec: basic/transports/streamable-http, Security & Endpoint].
//!
//! A page of a stranger can make a browser send requests to loopback, but it cannot choose what the
//! browser writes into these two headers. Who the caller is, is authentication's business.

use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use switchboard_protocol::ProtocolError;
use switchboard_protocol::http::classify::Refusal;

/// The hosts and origins that are served; those of loopback always are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allowed {
    /// `name` for any port, `name:port` for one.
    hosts: Vec<String>,
    /// `scheme://name` or `scheme://name:port`, exactly as browsers send it.
    origins: Vec<String>,
}

impl Allowed {
    pub(crate) fn add_host(&mut self, host: impl Into<String>) {
        self.hosts.push(host.into());
    }

    pub(crate) fn add_origin(&mut self, origin: impl Into<String>) {
        let origin: String = origin.into();
        self.origins.push(origin.trim_end_matches('/').to_owned());
    }

    /// Whether any host but loopback is served.
    #[cfg(feature = "serve")]
    pub(crate) fn names_hosts(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// Checks both headers.
    pub(crate) fn check(&self, parts: &Parts) -> Result<(), Refusal> {
        self.check_host(parts)?;
        self.check_origin(&parts.headers)
    }

    fn check_host(&self, parts: &Parts) -> Result<(), Refusal> {
        let mut values = parts.headers.get_all(HOST).iter();
        let host = values.next().map(|value| value.to_str().unwrap_or_default());
        // HTTP/2 and absolute request lines carry the host in the URI; if both are there, both count.
        let authority = parts.uri.authority().map(http::uri::Authority::as_str);
        if host.is_none() && authority.is_none() {
            return Err(forbidden("The Host header is missing"));
        }
        if values.next().is_some() {
            return Err(forbidden("The Host header is sent more than once"));
        }
        let fault = host.into_iter().chain(authority).find(|host| !self.serves_host(host));
        fault.map_or(Ok(()), |_| {
            Err(forbidden("The Host is not served here: the server's operator can allow it with hosts(…)"))
        })
    }

    fn serves_host(&self, host: &str) -> bool {
        let Some(name) = host_name(host) else { return false };
        is_loopback(name)
            || self
                .hosts
                .iter()
                .any(|known| known.eq_ignore_ascii_case(host) || known.eq_ignore_ascii_case(name))
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        for value in headers.get_all(ORIGIN) {
            if !value.to_str().is_ok_and(|origin| self.serves_origin(origin)) {
                return Err(forbidden(
                    "The Origin is not served here: the server's operator can allow it with origins(…)",
                ));
            }
        }
        Ok(())
    }

    fn serves_origin(&self, origin: &str) -> bool {
        let loopback = ["http://", "https://"]
            .iter()
            .filter_map(|scheme| origin.strip_prefix(scheme))
            .filter_map(host_name)
            .any(is_loopback);
        loopback || self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin))
    }
}

fn is_loopback(name: &str) -> bool {
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The name without the port; `None` if what stands there is neither.
fn host_name(host: &str) -> Option<&str> {
    let end = match host.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, port) = host.split_at(end);
    let port_is_fine = match port.strip_prefix(':') {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_digit()),
        None => port.is_empty(),
    };
    (port_is_fine && !name.is_empty()).then_some(name)
}

#[cold]
fn forbidden(message: &str) -> Refusal {
    Refusal::new(StatusCode::FORBIDDEN, ProtocolError::invalid_request(message))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::Allowed;

    fn check(allowed: &Allowed, host: Option<&str>, origin: Option<&str>, served: bool) {
        let mut request = Request::builder().uri("/mcp");
        for (name, value) in [("host", host), ("origin", origin)] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        assert_eq!(allowed.check(&parts).is_ok(), served, "{host:?} {origin:?}");
    }

    #[test]
    fn loopback_is_served_under_any_port_and_nothing_else_is() {
        let allowed = Allowed::default();
        for (host, served) in [
            ("localhost", true),
            ("LocalHost:8000", true),
            ("127.0.0.1:1", true),
            ("[::1]:9", true),
            ("[::1]", true),
            ("example.com", false),
            ("localhost.example.com", false),
            ("127.0.0.1.example.com", false),
            ("127.0.0.1@example.com", false),
            ("localhost:80:80", false),
            ("localhost:x", false),
            ("[::1", false),
            ("[::1]x", false),
            ("0.0.0.0", false),
            ("", false),
            (":80", false),
        ] {
            check(&allowed, Some(host), None, served);
        }
        check(&allowed, None, None, false);
    }

    #[test]
    fn a_bad_origin_alone_is_refused() {
        let allowed = Allowed::default();
        for (origin, served) in [
            ("http://localhost:5173", true),
            ("https://127.0.0.1", true),
            ("http://[::1]:3000", true),
            ("https://evil.example", false),
            ("http://localhost.evil.example", false),
            ("null", false),
            ("file://localhost", false),
            ("localhost", false),
            ("", false),
        ] {
            check(&allowed, Some("localhost"), Some(origin), served);
        }
    }

    #[test]
    fn what_the_operator_names_is_served_too() {
        let mut allowed = Allowed::default();
        allowed.add_host("mcp.example.com");
        allowed.add_host("other.example.com:8443");
        allowed.add_origin("https://app.example.com/");
        let app = Some("https://app.example.com");
        check(&allowed, Some("MCP.example.com:443"), app, true);
        check(&allowed, Some("other.example.com:8443"), None, true);
        check(&allowed, Some("other.example.com"), None, false);
        check(&allowed, Some("mcp.example.com"), Some("http://app.example.com"), false);
        check(&allowed, Some("127.0.0.1:80"), app, true);
    }

    #[test]
    fn the_host_of_the_request_line_counts_as_well() {
        let request = Request::builder().uri("http://evil.example/mcp").header("host", "localhost");
        let (parts, ()) = request.body(()).unwrap().into_parts();
        assert!(Allowed::default().check(&parts).is_err());
    }
}
