//! An HTTP server for tests whose answers are a function of the request. It knows no protocol and needs no runtime:
//! one request at a time, and one a connection. A connection on which nothing comes keeps nobody waiting.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
#[cfg(feature = "http")]
use std::net::SocketAddr;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A request that arrived.
#[derive(Debug)]
pub struct Request {
    /// `GET`, `POST`, ….
    pub method: String,
    /// Path and query, as they came.
    pub target: String,
    /// The lines of its headers, as they came.
    pub head: String,
    /// The body.
    pub body: String,
}

/// An answer: the status and a JSON text.
pub type Answer = (u16, String);

/// An address of the loopback interface at which nobody listens until the test process ends: the port is taken, so that
/// none of the tests beside this one is given it.
///
/// # Panics
/// When no port can be bound.
#[cfg(feature = "http")]
#[must_use]
pub fn nobody() -> SocketAddr {
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.bind(([127, 0, 0, 1], 0).into()).expect("a free port");
    let address = socket.local_addr().expect("a bound port");
    std::mem::forget(socket);
    address
}

/// Serves on a free loopback port until the test process ends, and returns the base URL.
///
/// # Panics
/// When no port can be bound.
#[must_use]
pub fn serve(answer: impl Fn(&Request) -> Answer + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a bound port");
    let answer = Arc::new(Mutex::new(answer));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            thread::spawn(move || {
                let answer =
                    |request: &Request| answer.lock().unwrap_or_else(PoisonError::into_inner)(request);
                // A client that leaves early is no fault of the test.
                let _ = exchange(stream, &answer);
            });
        }
    });
    format!("http://{address}")
}

fn exchange(stream: TcpStream, answer: &impl Fn(&Request) -> Answer) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (mut length, mut head) = (0, String::new());
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        head.push_str(&header);
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let request = Request { method, target, head, body: String::from_utf8_lossy(&body).into_owned() };
    let (status, text) = answer(&request);
    let head = format!(
        "HTTP/1.1 {status} Canned\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n",
        text.len(),
    );
    write!(reader.get_mut(), "{head}\r\n{text}")
}
