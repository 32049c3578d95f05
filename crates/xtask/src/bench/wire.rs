//! HTTP as the load speaks it: raw bytes over a blocking socket, which may be cut anywhere.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

/// How long an answer may take; under valgrind that is long.
const PATIENCE: Duration = Duration::from_secs(120);

/// A connection. Dropping it cuts whatever goes on.
#[derive(Debug)]
pub(crate) struct Wire(BufReader<TcpStream>);

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// `Mcp-Session-Id`.
    pub(crate) session: Option<String>,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug)]
struct Head {
    status: u16,
    session: Option<String>,
    length: usize,
    chunked: bool,
}

impl Wire {
    /// Connects.
    ///
    /// # Errors
    /// When nobody listens.
    pub(crate) fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self(BufReader::with_capacity(1 << 16, stream)))
    }

    /// Sends bytes, which need not be a whole request.
    ///
    /// # Errors
    /// When the connection is gone.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.0.get_mut().write_all(bytes)?)
    }

    /// Reads one answer to its end.
    ///
    /// # Errors
    /// When the connection breaks, or this is no HTTP.
    pub(crate) fn receive(&mut self) -> Result<Answer> {
        let head = self.head()?;
        let body = if head.chunked { self.chunks()? } else { self.bytes(head.length)? };
        Ok(Answer { status: head.status, session: head.session, body })
    }

    /// Reads until this has been said, in an answer that goes on; gives the status of the answer.
    ///
    /// # Errors
    /// When the answer ends before it was said. What was said instead is in the error.
    pub(crate) fn receive_until(&mut self, word: &str) -> Result<(u16, Vec<u8>)> {
        let head = self.head()?;
        let mut said = Vec::new();
        if !head.chunked {
            said = self.bytes(head.length)?;
        }
        while !contains(&said, word) {
            let chunk = if head.chunked { self.chunk()? } else { Vec::new() };
            if chunk.is_empty() {
                bail!("{word:?} was not said: status {}, {}", head.status, String::from_utf8_lossy(&said));
            }
            said.extend_from_slice(&chunk);
        }
        Ok((head.status, said))
    }

    /// Goes on with an answer after [`Self::receive_until`], until this has been said.
    ///
    /// # Errors
    /// When the answer ends before.
    pub(crate) fn go_on_until(&mut self, word: &str) -> Result<()> {
        let mut said = Vec::new();
        while !contains(&said, word) {
            let chunk = self.chunk()?;
            ensure!(!chunk.is_empty(), "{word:?} was not said, but {}", String::from_utf8_lossy(&said));
            said.extend_from_slice(&chunk);
        }
        Ok(())
    }

    /// Sends nothing more, and waits until the server has closed the connection, too: whoever did not would
    /// come back before a slow server has noticed anything, and measure the length of its queue.
    ///
    /// # Errors
    /// When the server does not close it.
    pub(crate) fn leave(mut self) -> Result<()> {
        self.0.get_ref().shutdown(Shutdown::Write)?;
        match std::io::copy(&mut self.0, &mut std::io::sink()) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Reads one line of a pipe.
    ///
    /// # Errors
    /// When the pipe ends.
    pub(crate) fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.0.read_line(&mut line)? > 0, "the server closed the connection");
        Ok(line)
    }

    fn head(&mut self) -> Result<Head> {
        let mut line = Vec::new();
        self.0.read_until(b'\n', &mut line)?;
        let status = line.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3));
        let status = status.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        let status = status.with_context(|| format!("no HTTP: {:?}", String::from_utf8_lossy(&line)))?;
        let mut head = Head { status, session: None, length: 0, chunked: false };
        loop {
            line.clear();
            ensure!(self.0.read_until(b'\n', &mut line)? > 0, "the answer ended within its head");
            if line == b"\r\n" {
                return Ok(head);
            }
            let text = String::from_utf8_lossy(&line);
            let Some((name, value)) = text.split_once(':') else { continue };
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                head.length = value.parse()?;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                head.chunked = true;
            } else if name.eq_ignore_ascii_case("mcp-session-id") {
                head.session = Some(value.to_owned());
            }
        }
    }

    fn bytes(&mut self, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// One chunk; the last one is empty.
    fn chunk(&mut self) -> Result<Vec<u8>> {
        let line = self.line()?;
        let size = usize::from_str_radix(line.trim(), 16).with_context(|| format!("no chunk: {line:?}"))?;
        let mut chunk = self.bytes(size + 2)?;
        chunk.truncate(size);
        Ok(chunk)
    }

    fn chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                return Ok(body);
            }
            body.extend_from_slice(&chunk);
        }
    }
}

impl Answer {
    /// The message: the body, or what the last event of a stream says.
    pub(crate) fn message(&self) -> &[u8] {
        if !self.body.starts_with(b"{") {
            let events = self.body.split(|byte| *byte == b'\n').rev();
            let mut said = events.filter_map(|line| line.strip_prefix(b"data:"));
            if let Some(said) = said.find(|said| !said.trim_ascii().is_empty()) {
                return said.trim_ascii();
            }
        }
        &self.body
    }
}

fn contains(said: &[u8], word: &str) -> bool {
    said.windows(word.len()).any(|part| part == word.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;

    use super::Wire;

    fn answered(bytes: &'static [u8]) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let wire = Wire::open(&listener.local_addr().unwrap().to_string()).unwrap();
        listener.accept().unwrap().0.write_all(bytes).unwrap();
        wire
    }

    #[test]
    fn an_answer_is_read_whichever_way_its_body_is_framed() {
        for bytes in [
            &b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nMcp-Session-Id: s\r\n\r\n{}"[..],
            b"HTTP/1.1 200 OK\r\nmcp-session-id:s\r\ntransfer-encoding: chunked\r\n\r\n\
              9\r\nid: 1\ndat\r\na\r\na: {}\n\nid:\r\nb\r\n 2\ndata: \n\n\r\n0\r\n\r\n",
        ] {
            let answer = answered(bytes).receive().unwrap();
            assert_eq!((answer.status, answer.session.as_deref()), (200, Some("s")));
            assert_eq!(answer.message(), b"{}");
        }
    }

    #[test]
    fn what_is_said_within_an_answer_can_be_waited_for() {
        let bytes = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n";
        let mut wire = answered(bytes);
        assert_eq!(wire.receive_until("ne").unwrap(), (200, b"one".to_vec()));
        wire.go_on_until("two").unwrap();
        assert!(wire.go_on_until("three").is_err());
        assert!(answered(b"HTTP/1.1 503 X\r\ncontent-length: 0\r\n\r\n").receive_until("x").is_err());
    }
}
