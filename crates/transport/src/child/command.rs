//! How a server process is started.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::process::Command;
use tokio::sync::{mpsc, watch};

use super::error::SpawnError;
use super::stderr::Tail;
use super::strays::Mark;
use super::supervise::{Supervised, supervise};
use super::{Child, Shutdown, Stage, watcher};
use crate::memory::Pipe;
use crate::pipe::{PipeClient, PipeOptions, ProcessEnd};

/// A server to be started: its program, arguments, environment and bounds.
///
/// ```
/// use switchboard_transport::child::ChildCommand;
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let (mut pipe, child) = ChildCommand::new("cat").spawn().unwrap();
/// pipe.writer.write_all(b"hello").await.unwrap();
/// drop(pipe.writer);
/// let mut heard = String::new();
/// pipe.reader.read_to_string(&mut heard).await.unwrap();
/// assert_eq!(heard, "hello");
/// assert!(child.shutdown().await.unwrap().success());
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct ChildCommand {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    env_clear: bool,
    env_remove: Vec<OsString>,
    directory: Option<PathBuf>,
    shutdown: Shutdown,
    stderr_bytes: usize,
    stderr_lines: Option<mpsc::Sender<String>>,
}

impl ChildCommand {
    /// A program by its path, or by its name to be looked up in `PATH`.
    #[must_use]
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            env_clear: false,
            env_remove: Vec::new(),
            directory: None,
            shutdown: Shutdown::default(),
            stderr_bytes: 64 * 1024,
            stderr_lines: None,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Gives it no variable but those of [`env`](Self::env).
    #[must_use]
    pub fn env_clear(mut self) -> Self {
        self.env_clear = true;
        self
    }

    /// Does not pass on a variable of this process's environment, such as one that holds a key.
    /// [`env`](Self::env) can still set it.
    #[must_use]
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.env_remove.push(name.as_ref().to_owned());
        self
    }

    /// Its working directory; that of this process by default.
    #[must_use]
    pub fn directory(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// How long the steps of ending it may take.
    #[must_use]
    pub fn shutdown(mut self, shutdown: Shutdown) -> Self {
        self.shutdown = shutdown;
        self
    }

    /// How much of the end of its stderr is kept; 64 KiB by default.
    #[must_use]
    pub fn stderr_bytes(mut self, bytes: usize) -> Self {
        self.stderr_bytes = bytes;
        self
    }

    /// Also sends the lines of its stderr here. A line that finds the channel full is left out:
    /// a slow listener must not block the server.
    #[must_use]
    pub fn stderr_lines(mut self, lines: mpsc::Sender<String>) -> Self {
        self.stderr_lines = Some(lines);
        self
    }

    /// Where the program is: the file that would be started.
    ///
    /// # Errors
    /// When there is none, or it cannot be executed; the error says where it was looked for.
    pub fn resolve(&self) -> Result<PathBuf, SpawnError> {
        super::resolve::program(&self.program, self.searched().as_deref(), self.directory.as_deref())
    }

    /// Starts the server and gives its standard streams.
    ///
    /// # Errors
    /// When it cannot be started; the error says what was tried.
    ///
    /// # Panics
    /// Outside of a tokio runtime with IO enabled.
    pub fn spawn(self) -> Result<(Pipe, Child), SpawnError> {
        let (mut process, mark) = self.start()?;
        let pipe = self.pipe(&mut process)?;
        let child = self.supervise((process, mark), None)?;
        Ok((pipe, child))
    }

    /// Starts the server and drives a connection to it. Ending either ends the other.
    ///
    /// # Errors
    /// When it cannot be started; the error says what was tried.
    ///
    /// # Panics
    /// Outside of a tokio runtime with IO enabled.
    pub fn connect(self, options: PipeOptions) -> Result<(PipeClient, Child), SpawnError> {
        self.connect_through(options, |pipe| pipe)
    }

    /// As [`connect`](Self::connect), with something of the caller's around the pipe, such as a
    /// listener.
    ///
    /// # Errors
    /// When it cannot be started; the error says what was tried.
    ///
    /// # Panics
    /// Outside of a tokio runtime with IO enabled.
    pub fn connect_through(
        self,
        options: PipeOptions,
        wrap: impl FnOnce(Pipe) -> Pipe,
    ) -> Result<(PipeClient, Child), SpawnError> {
        let (mut process, mark) = self.start()?;
        let pipe = wrap(self.pipe(&mut process)?);
        let client = PipeClient::new(pipe, options);
        let child = self.supervise((process, mark), Some(client.process()))?;
        Ok((client, child))
    }

    fn start(&self) -> Result<(Box<dyn ChildWrapper>, Mark), SpawnError> {
        let mark = Mark::new();
        let mut command = Command::new(&self.program);
        command.args(&self.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if self.env_clear {
            command.env_clear();
        }
        for name in &self.env_remove {
            command.env_remove(name);
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value))).env(mark.name(), "1");
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let mut wrap = CommandWrap::from(command);
        #[cfg(unix)]
        wrap.wrap(process_wrap::tokio::ProcessGroup::leader());
        wrap.wrap(KillOnDrop);
        let started = wrap.spawn().map_err(|error| {
            SpawnError::explain(&self.program, self.searched().as_deref(), self.directory.as_deref(), error)
        })?;
        Ok((started, mark))
    }

    /// The `PATH` in which the program was looked up.
    fn searched(&self) -> Option<OsString> {
        let own = self.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
        own.or_else(|| if self.env_clear { None } else { std::env::var_os("PATH") })
    }

    fn pipe(&self, process: &mut Box<dyn ChildWrapper>) -> Result<Pipe, SpawnError> {
        match (process.stdout().take(), process.stdin().take()) {
            (Some(reader), Some(writer)) => Ok(Pipe::new(reader, writer)),
            _ => Err(SpawnError::without_streams(&self.program)),
        }
    }

    fn supervise(
        self,
        (mut process, mark): (Box<dyn ChildWrapper>, Mark),
        connection: Option<ProcessEnd>,
    ) -> Result<Child, SpawnError> {
        let Some(id) = process.id() else { return Err(SpawnError::without_streams(&self.program)) };
        let tail = Tail::new(self.stderr_bytes);
        let reader = process
            .stderr()
            .take()
            .map(|stderr| tokio::spawn(super::stderr::drain(stderr, tail.clone(), self.stderr_lines)));
        let (stage_tx, stage) = watch::channel(Stage::Running);
        let (stop, stop_rx) = watch::channel(false);
        let supervised = Supervised {
            process,
            id,
            connection,
            watcher: watcher::start((id, &mark), self.shutdown),
            mark,
            shutdown: self.shutdown,
            stderr: reader,
        };
        tokio::spawn(supervise(supervised, stop_rx, stage_tx));
        Ok(Child { id, stage, stop, tail })
    }
}
