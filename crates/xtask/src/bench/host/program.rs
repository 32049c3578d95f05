//! The program under measurement: its folders, its servers, its processes, and how it is asked.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::super::subject;
use crate::workspace;

/// How long servers may take to start.
const START: Duration = Duration::from_secs(60);
/// How often it is looked at.
const TICK: Duration = Duration::from_millis(20);

/// The programs.
#[derive(Debug)]
pub(super) struct Programs {
    pub(super) host: PathBuf,
    pub(super) server: PathBuf,
}

/// A home of its own for the program. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Home {
    folder: PathBuf,
}

impl Home {
    /// A new one with this configuration.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn with(configuration: &str) -> Result<Self> {
        let folder = workspace::root().join(format!("target/benches/home.{}", std::process::id()));
        fs::remove_dir_all(&folder).ok();
        fs::create_dir_all(folder.join("config"))?;
        let home = Self { folder };
        fs::write(home.configuration(), configuration)?;
        Ok(home)
    }

    fn configuration(&self) -> PathBuf {
        self.folder.join("config/config.toml")
    }

    /// The program in this home, with nothing of ours in its environment.
    pub(super) fn command(&self, host: &Path) -> Command {
        let mut command = Command::new(host);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &self.folder).env("SWITCHBOARD_NO_LOCAL_MODELS", "1").current_dir(&self.folder);
        command.env("SWITCHBOARD_CONFIG_DIR", self.folder.join("config"));
        command.env("SWITCHBOARD_DATA_DIR", self.folder.join("data"));
        command.env("SWITCHBOARD_SYSTEM_CONFIG", self.folder.join("none.toml"));
        command.arg("--config").arg(self.configuration());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// A configuration with this model, these servers as tables, and consent to everything.
pub(super) fn configuration(base_url: &str, servers: &[String]) -> String {
    let mut text = format!(
        "default_model = \"scripted\"\n\n[models.scripted]\nkind = \"openai\"\nbase_url = {base_url:?}\n\
         model = \"scripted\"\n\n[[policy.rules]]\naction = \"allow\"\n"
    );
    for (number, server) in servers.iter().enumerate() {
        let _ = write!(text, "\n[servers.server-{number}]\n{server}\n");
    }
    text
}

/// The table of a server that is a child.
pub(super) fn over_stdio(server: &Path, tools: usize) -> String {
    format!("command = {:?}\nargs = [\"stdio\", \"{tools}\"]", server.display().to_string())
}

/// The table of a server that listens.
pub(super) fn over_http(server: &Listening) -> String {
    format!("url = {:?}", server.url)
}

/// A server that listens already. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Listening {
    child: Child,
    pub(super) url: String,
}

impl Listening {
    /// Starts it.
    ///
    /// # Errors
    /// When it does not listen.
    pub(super) fn start(server: &Path, tools: usize) -> Result<Self> {
        let mut command = Command::new(server);
        let mut child = command.args(["http", &tools.to_string()]).stderr(Stdio::piped()).spawn()?;
        let url = subject::address_of(&mut child)?;
        Ok(Self { child, url })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // Ended already, or about to be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A running `switchboard serve`. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Serving {
    child: Child,
    address: String,
    token: String,
}

impl Serving {
    /// Starts it and waits until all its servers are ready.
    ///
    /// # Errors
    /// When it does not start, or they do not.
    pub(super) fn start(mut command: Command, servers: usize) -> Result<Self> {
        command.args(["--json", "serve", "--listen", "127.0.0.1:0"]).stderr(Stdio::inherit());
        let mut child = command.spawn().context("the program does not start")?;
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().context("no standard output")?);
        stdout.read_line(&mut line)?;
        let said: Value = serde_json::from_str(&line).with_context(|| format!("it says {line:?}"))?;
        let text = |member: &str| said[member].as_str().map(str::to_owned).with_context(|| line.clone());
        let serving = Self { child, address: text("address")?, token: text("token")? };
        serving.wait_for(servers)?;
        Ok(serving)
    }

    fn wait_for(&self, servers: usize) -> Result<()> {
        let since = Instant::now();
        loop {
            let said = self.ask("GET", "/servers", "")?;
            let list: Vec<Value> = serde_json::from_str(&said)?;
            let ready = list.iter().filter(|server| server["state"] == "ready").count();
            if ready == servers && list.len() == servers {
                return Ok(());
            }
            ensure!(since.elapsed() < START, "the servers are not ready: {said}");
            std::thread::sleep(TICK);
        }
    }

    fn send(&self, method: &str, path: &str, body: &str, accept: &str) -> Result<BufReader<TcpStream>> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(START))?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\naccept: {accept}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            self.address,
            self.token,
            body.len()
        );
        stream.write_all(request.as_bytes())?;
        Ok(BufReader::new(stream))
    }

    /// Asks and gives the body of the answer.
    ///
    /// # Errors
    /// When the answer is no success.
    pub(super) fn ask(&self, method: &str, path: &str, body: &str) -> Result<String> {
        let mut text = String::new();
        self.send(method, path, body, "application/json")?.read_to_string(&mut text)?;
        let (head, body) = text.split_once("\r\n\r\n").context("an answer without a body")?;
        ensure!(head.starts_with("HTTP/1.1 200") && !head.contains("chunked"), "{head}\n{body}");
        Ok(body.to_owned())
    }

    /// Asks a question and follows its events to the end; when each line came that holds `wanted`.
    ///
    /// # Errors
    /// When the run does not finish.
    pub(super) fn run(&self, question: &str, wanted: &str) -> Result<Vec<Instant>> {
        let body = format!("{{\"input\": {question:?}}}");
        let mut events = self.send("POST", "/run", &body, "text/event-stream")?;
        let (mut seen, mut line, mut ended) = (Vec::new(), String::new(), false);
        while events.read_line(&mut line)? > 0 {
            if line.contains(wanted) {
                seen.push(Instant::now());
            }
            if ended && line.starts_with("data:") {
                ensure!(line.contains("\"status\":\"finished\""), "the run has not finished: {line}");
                return Ok(seen);
            }
            ended |= line.trim_end() == "event: end";
            line.clear();
        }
        bail!("the events end before the run does")
    }

    /// What stands in a file of this name about the process, in megabytes.
    ///
    /// # Errors
    /// When the system does not say it.
    pub(super) fn megabytes(&self, file: &str, member: &str) -> Result<f64> {
        let text = fs::read_to_string(format!("/proc/{}/{file}", self.child.id()))?;
        let value = text.lines().find_map(|line| line.strip_prefix(member)).context("no such member")?;
        let kilobytes: f64 = value.trim_start_matches(':').trim_end_matches("kB").trim().parse()?;
        Ok(kilobytes * 1024.0 / 1_000_000.0)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Its children end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
