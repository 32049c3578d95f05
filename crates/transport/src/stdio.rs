//! The standard streams of this process as a pipe.
//!
//! A FIFO or a socket (what a parent process gives a server) is read and written without blocking
//! and without a hand-off to another thread. A terminal, a file or a device goes through a thread:
//! switching those to non-blocking would change them for every process that shares them.

use std::io;

use crate::memory::Pipe;

/// The standard input and output of this process. Take them once; nothing else may print to stdout.
///
/// # Errors
/// When a stream is closed or cannot be registered with the runtime.
///
/// # Panics
/// Outside of a tokio runtime with IO enabled.
pub fn pipe() -> io::Result<Pipe> {
    #[cfg(unix)]
    return unix::pipe();
    #[cfg(not(unix))]
    Ok(Pipe::new(tokio::io::stdin(), tokio::io::stdout()))
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixStream as StdUnixStream;

    use tokio::io::{AsyncRead, AsyncWrite};
    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    use crate::memory::Pipe;

    enum Kind {
        Fifo,
        Socket,
        Other,
    }

    pub(super) fn pipe() -> io::Result<Pipe> {
        Ok(Pipe { reader: input()?, writer: output()? })
    }

    fn input() -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
        let (kind, descriptor) = duplicate(std::io::stdin())?;
        Ok(match kind {
            Kind::Fifo => {
                Box::new(match reopen("/proc/self/fd/0", |path, options| options.open_receiver(path)) {
                    Some(receiver) => receiver,
                    None => pipe::Receiver::from_owned_fd(descriptor)?,
                })
            }
            Kind::Socket => Box::new(socket(descriptor)?),
            Kind::Other => Box::new(tokio::io::stdin()),
        })
    }

    fn output() -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
        let (kind, descriptor) = duplicate(std::io::stdout())?;
        Ok(match kind {
            Kind::Fifo => {
                Box::new(match reopen("/proc/self/fd/1", |path, options| options.open_sender(path)) {
                    Some(sender) => sender,
                    None => pipe::Sender::from_owned_fd(descriptor)?,
                })
            }
            Kind::Socket => Box::new(socket(descriptor)?),
            Kind::Other => Box::new(tokio::io::stdout()),
        })
    }

    /// Opens an anonymous pipe again (Linux), which gives an open file description of our own: a
    /// duplicate shares its non-blocking flag with every process that holds the same end. It fails
    /// where there is no `/proc` and after a change of user. A named FIFO is left alone: opened
    /// without a writer, it would not report the end of the stream.
    fn reopen<T>(path: &str, open: impl FnOnce(&str, &pipe::OpenOptions) -> io::Result<T>) -> Option<T> {
        let target = std::fs::read_link(path).ok()?;
        let anonymous = target.to_string_lossy().starts_with("pipe:");
        if anonymous { open(path, &pipe::OpenOptions::new()).ok() } else { None }
    }

    fn duplicate(stream: impl AsFd) -> io::Result<(Kind, OwnedFd)> {
        let file = File::from(stream.as_fd().try_clone_to_owned()?);
        let file_type = file.metadata()?.file_type();
        let kind = if file_type.is_fifo() {
            Kind::Fifo
        } else if file_type.is_socket() {
            Kind::Socket
        } else {
            Kind::Other
        };
        Ok((kind, file.into()))
    }

    fn socket(descriptor: OwnedFd) -> io::Result<UnixStream> {
        let stream = StdUnixStream::from(descriptor);
        stream.set_nonblocking(true)?;
        UnixStream::from_std(stream)
    }
}
