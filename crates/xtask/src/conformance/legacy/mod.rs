//! What a handshake agrees on. The suite follows a server to an older revision without a word, so that a server which
//! ignores its cap would pass; we ask it ourselves.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

/// How long the server may take to answer.
const LIMIT: Duration = Duration::from_secs(20);

/// Offers a revision to the server at `url` and expects it to answer with this one.
///
/// # Errors
/// When it answers with another, or not at all.
pub(super) fn negotiate(url: &str, offered: &str, expected: &str) -> Result<()> {
    let address = url.strip_prefix("http://").context("no http address")?;
    let (host, path) = address.split_once('/').unwrap_or((address, ""));
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{offered}","capabilities":{{}},"clientInfo":{{"name":"xtask","version":"1.0.0"}}}}}}"#
    );
    let mut stream = TcpStream::connect(host).with_context(|| format!("cannot connect to {host}"))?;
    stream.set_read_timeout(Some(LIMIT))?;
    write!(
        stream,
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\naccept: application/json, \
         text/event-stream\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).context("the handshake is not answered")?;
    ensure!(
        answer.contains(&format!(r#""protocolVersion":"{expected}""#)),
        "{offered} was offered and {expected} expected; the answer is {answer}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A server that answers its one client like this.
    fn server(body: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = Vec::new();
            while !asked.ends_with(b"}}}") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                asked.push(byte[0]);
            }
            write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}").unwrap();
        });
        url
    }

    #[test]
    fn a_server_that_agrees_on_another_revision_is_found_out() {
        let agreed = r#"{"result":{"protocolVersion":"1"}}"#;
        negotiate(&server(agreed), "2", "1").unwrap();
        let error = negotiate(&server(agreed), "2", "2").unwrap_err().to_string();
        assert!(error.contains("2 was offered and 2 expected") && error.ends_with(agreed), "{error}");
    }
}
