//! Stands between two peers and writes down every byte, so that a fault can be proved. It understands nothing.
//!
//! ```text
//! interop-wire LOG stdio COMMAND ARG…      runs the command, and passes its standard streams on
//! interop-wire LOG http URL                listens on a port of its own, and passes connections on
//! ```
//!
//! With `http` it says `listening on URL` on standard error, which has the same path. In the log `>` is what the
//! client says, `<` what the server says; a number tells connections apart.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// Bytes that are passed on at a time.
const CHUNK: usize = 64 * 1024;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("interop-wire: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [log, transport, program, rest @ ..] if transport == "stdio" => {
            stdio(&Log::create(log)?, program, rest)
        }
        [log, transport, url] if transport == "http" => http(&Log::create(log)?, url),
        _ => Err("usage: interop-wire LOG stdio COMMAND ARG… | interop-wire LOG http URL".into()),
    }
}

/// What was said, with the time since the start.
#[derive(Clone)]
struct Log {
    began: Instant,
    file: Arc<Mutex<File>>,
}

impl Log {
    fn create(path: &str) -> io::Result<Self> {
        Ok(Self { began: Instant::now(), file: Arc::new(Mutex::new(File::create(path)?)) })
    }

    fn write(&self, speaker: &str, bytes: &[u8]) -> io::Result<()> {
        let at = self.began.elapsed().as_millis();
        let text = String::from_utf8_lossy(bytes);
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        text.lines().try_for_each(|line| writeln!(file, "{at:>6} {speaker} {}", line.trim_end()))
    }
}

fn stdio(log: &Log, program: &str, arguments: &[String]) -> Result<ExitCode, Box<dyn Error>> {
    let mut child =
        Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (Some(stdin), Some(stdout)) = (stdin, stdout) else { return Err("the child has no streams".into()) };
    let said = log.clone();
    // Ends with our standard input, or with this process.
    thread::spawn(move || lines(io::stdin().lock(), stdin, &said, ">"));
    lines(BufReader::new(stdout), io::stdout(), log, "<")?;
    let status = child.wait()?;
    log.write("<", format!("(ended with {status})").as_bytes())?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whole lines, so that a message is a line of the log.
fn lines(mut from: impl io::BufRead, mut to: impl Write, log: &Log, speaker: &str) -> io::Result<()> {
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        log.write(speaker, &line)?;
        to.write_all(&line)?;
        to.flush()?;
        line.clear();
    }
    log.write(speaker, b"(end of stream)")
}

fn http(log: &Log, url: &str) -> Result<ExitCode, Box<dyn Error>> {
    let rest = url.strip_prefix("http://").ok_or("the URL does not start with http://")?;
    let (server, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let listener = TcpListener::bind("127.0.0.1:0")?;
    eprintln!("listening on http://{}{path}", listener.local_addr()?);
    for (number, client) in listener.incoming().enumerate() {
        let (log, server, client) = (log.clone(), server.to_owned(), client?);
        thread::spawn(move || connection(&log, number, client, &server));
    }
    Ok(ExitCode::SUCCESS)
}

fn connection(log: &Log, number: usize, client: TcpStream, server: &str) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (said, from, to) = (log.clone(), client.try_clone()?, server.try_clone()?);
    thread::spawn(move || bytes(from, to, &said, &format!("{number}>")));
    bytes(server, client, log, &format!("{number}<"))
}

fn bytes(mut from: TcpStream, mut to: TcpStream, log: &Log, speaker: &str) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = from.read(&mut chunk).unwrap_or(0);
        if read == 0 {
            log.write(speaker, b"(end of stream)")?;
            return to.shutdown(Shutdown::Write);
        }
        log.write(speaker, &chunk[..read])?;
        to.write_all(&chunk[..read])?;
    }
}
