//! Sessions that their client leaves without a word.

use anyhow::{Context as _, Result, ensure};

use super::super::abandoned::{Script, Visitor};
use super::super::load;
use super::super::wire::Wire;
use super::{INITIALIZED, initialize};

/// A client that can be asked.
const CAPABILITIES: &str = r#"{"elicitation":{}}"#;

const SET_LEVEL: &str = r#"{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"debug"}}"#;
const SUBSCRIBE: &str =
    r#"{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"soak://one"}}"#;
const ECHO: &str = r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo","arguments":{"text":"echoed"}}}"#;

/// A call that tells of its progress.
fn call(tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"name":"{tool}","arguments":{{}},"_meta":{{"progressToken":1}}}}}}"#
    )
}

/// A session over Streamable HTTP.
struct Session<'a> {
    visitor: &'a mut Visitor,
    headers: String,
}

impl<'a> Session<'a> {
    fn open(visitor: &'a mut Visitor) -> Result<Self> {
        let mut session = Self { headers: opened(visitor)?, visitor };
        session.tell(INITIALIZED, 202)?;
        Ok(session)
    }

    fn post(&self, message: &str) -> Vec<u8> {
        let head = load::head(&self.visitor.address, &self.headers, message.len());
        [head.as_bytes(), message.as_bytes()].concat()
    }

    fn tell(&mut self, message: &str, expected: u16) -> Result<()> {
        let request = self.post(message);
        let answer = self.visitor.ask(&request)?;
        let said = String::from_utf8_lossy(answer.message());
        let is_fine = answer.status == expected && !said.contains("\"error\"");
        ensure!(is_fine, "{message} was answered with {} {said}", answer.status);
        Ok(())
    }

    /// Calls a tool, and leaves once this was said.
    fn leave_call(&mut self, tool: &str, word: &str) -> Result<()> {
        let request = self.post(&call(tool));
        self.visitor.begin(&request, word).map(drop)
    }
}

fn opened(visitor: &mut Visitor) -> Result<String> {
    let message = initialize(CAPABILITIES);
    let request = [load::head(&visitor.address, "", message.len()).as_bytes(), message.as_bytes()].concat();
    let answer = visitor.ask(&request)?;
    super::headers(&answer)
}

/// Over Streamable HTTP.
pub(crate) const IN_SESSIONS: &[Script] = &[
    |visitor| opened(visitor).map(drop),
    |visitor| Session::open(visitor)?.tell(ECHO, 200),
    |visitor| Session::open(visitor)?.tell(SET_LEVEL, 200),
    |visitor| Session::open(visitor)?.tell(SUBSCRIBE, 200),
    // The stream of the session, which may have told of a change or not.
    |visitor| {
        let session = Session::open(visitor)?;
        let request = format!(
            "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\n{}\r\n",
            session.visitor.address, session.headers
        );
        let (mut wire, _) = session.visitor.begin(request.as_bytes(), "data")?;
        if session.visitor.number.is_multiple_of(4) {
            wire.go_on_until("list_changed")?;
        }
        Ok(())
    },
    // The handler speaks, and goes on.
    |visitor| Session::open(visitor)?.leave_call("speak", "notifications/progress"),
    // The handler runs until its time is over.
    |visitor| Session::open(visitor)?.leave_call("wait", "data"),
    // The question waits until its time is over.
    |visitor| Session::open(visitor)?.leave_call("ask", "elicitation/create"),
];

/// A client of HTTP+SSE.
struct Listener<'a> {
    visitor: &'a mut Visitor,
    stream: Wire,
    /// Where messages go to.
    target: String,
}

impl<'a> Listener<'a> {
    fn open(visitor: &'a mut Visitor) -> Result<Self> {
        let request =
            format!("GET /sse HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\n\r\n", visitor.address);
        let (stream, said) = visitor.begin(request.as_bytes(), "session_id")?;
        let said = String::from_utf8_lossy(&said);
        let target = said.lines().find_map(|line| line.strip_prefix("data:")).map(str::trim);
        let target = target.with_context(|| format!("no endpoint: {said}"))?.to_owned();
        Ok(Self { visitor, stream, target })
    }

    fn ready(visitor: &'a mut Visitor) -> Result<Self> {
        let mut listener = Self::open(visitor)?;
        listener.tell(&initialize(CAPABILITIES), "serverInfo")?;
        listener.tell(INITIALIZED, "")?;
        Ok(listener)
    }

    /// Sends a message, and waits until this was said on the stream.
    fn tell(&mut self, message: &str, word: &str) -> Result<()> {
        let target = self.target.trim_start_matches('/');
        let request = format!(
            "POST /{target} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n\
             {message}",
            self.visitor.address,
            message.len()
        );
        let answer = self.visitor.ask(request.as_bytes())?;
        ensure!(answer.status == 202, "{message} was answered with {}", answer.status);
        if word.is_empty() { Ok(()) } else { self.stream.go_on_until(word) }
    }
}

/// Over HTTP+SSE.
pub(crate) const ON_EVENT_STREAMS: &[Script] = &[
    |visitor| Listener::open(visitor).map(drop),
    |visitor| Listener::open(visitor)?.tell(&initialize(CAPABILITIES), ""),
    |visitor| Listener::ready(visitor)?.tell(ECHO, "echoed"),
    |visitor| {
        let mut listener = Listener::ready(visitor)?;
        listener.tell(SET_LEVEL, r#""id":2"#)?;
        listener.tell(SUBSCRIBE, "")
    },
    |visitor| Listener::ready(visitor)?.tell(&call("speak"), "notifications/progress"),
    |visitor| Listener::ready(visitor)?.tell(&call("wait"), ""),
    |visitor| Listener::ready(visitor)?.tell(&call("ask"), "elicitation/create"),
];

/// Over pipes that break.
pub(crate) const IN_PIPES: &[Script] = &[
    |visitor| piped(visitor).map(drop),
    |visitor| leave_piped(visitor, ECHO, "echoed"),
    |visitor| leave_piped(visitor, SET_LEVEL, ""),
    |visitor| leave_piped(visitor, SUBSCRIBE, ""),
    |visitor| leave_piped(visitor, &call("speak"), "notifications/progress"),
    |visitor| leave_piped(visitor, &call("wait"), ""),
    |visitor| leave_piped(visitor, &call("ask"), "elicitation/create"),
];

fn piped(visitor: &mut Visitor) -> Result<Wire> {
    let mut wire = visitor.connect()?;
    wire.send(format!("{}\n", initialize(CAPABILITIES)).as_bytes())?;
    let said = wire.line()?;
    ensure!(said.contains("serverInfo"), "no session: {said}");
    Ok(wire)
}

fn leave_piped(visitor: &mut Visitor, message: &str, word: &str) -> Result<()> {
    let mut wire = piped(visitor)?;
    wire.send(format!("{INITIALIZED}\n{message}\n").as_bytes())?;
    // Changes may be told in between.
    while !word.is_empty() {
        if wire.line()?.contains(word) {
            break;
        }
    }
    Ok(())
}
