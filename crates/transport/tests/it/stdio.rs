//! The standard streams of a real process, whatever they are.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use crate::processes::example;

const LINES: &[u8] = b"one\ntwo \xe8\xaf\xbb\n";

fn start(stdin: impl Into<Stdio>, stdout: impl Into<Stdio>) -> Child {
    Command::new(example("echo")).stdin(stdin).stdout(stdout).spawn().unwrap()
}

#[test]
fn pipes_are_echoed_until_their_end() {
    let mut child = start(Stdio::piped(), Stdio::piped());
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    stdin.write_all(LINES).unwrap();
    let mut echoed = vec![0; LINES.len()];
    stdout.read_exact(&mut echoed).unwrap();
    assert_eq!(echoed, LINES);
    drop(stdin);
    assert_eq!(stdout.read_to_end(&mut echoed).unwrap(), 0);
    assert!(child.wait().unwrap().success());
}

#[test]
fn sockets_are_echoed_as_well() {
    let (mut here, there) = UnixStream::pair().unwrap();
    let twin = OwnedFd::from(there.try_clone().unwrap());
    let mut child = start(OwnedFd::from(there), twin);
    here.write_all(LINES).unwrap();
    here.shutdown(std::net::Shutdown::Write).unwrap();
    let mut echoed = Vec::new();
    here.read_to_end(&mut echoed).unwrap();
    assert_eq!(echoed, LINES);
    assert!(child.wait().unwrap().success());
}

#[test]
fn files_are_read_to_their_end() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::write(&input, LINES).unwrap();
    let mut child = start(File::open(input).unwrap(), File::create(&output).unwrap());
    assert!(child.wait().unwrap().success());
    assert_eq!(std::fs::read(output).unwrap(), LINES);
}

#[test]
fn an_input_that_has_ended_before_ends_the_program() {
    let mut child = start(Stdio::null(), Stdio::piped());
    assert!(child.wait().unwrap().success());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(writer);
    assert!(start(reader, Stdio::piped()).wait().unwrap().success());
}

/// Two processes that share the end of a pipe share its flags: what one sets, the other suffers.
#[test]
fn a_shared_pipe_stays_blocking_for_those_who_share_it() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut shared = reader.try_clone().unwrap();
    let mut child = start(reader, Stdio::piped());
    writer.write_all(LINES).unwrap();
    let mut echoed = vec![0; LINES.len()];
    child.stdout.take().unwrap().read_exact(&mut echoed).unwrap();
    drop(writer);
    assert!(child.wait().unwrap().success());
    // A non-blocking descriptor would have failed with `WouldBlock` while the writer was open.
    let flags =
        std::fs::read_to_string(format!("/proc/self/fdinfo/{}", std::os::fd::AsRawFd::as_raw_fd(&shared)));
    let flags =
        flags.unwrap().lines().find_map(|line| line.strip_prefix("flags:").map(str::to_owned)).unwrap();
    let flags = u32::from_str_radix(flags.trim(), 8).unwrap();
    assert_eq!(flags & 0o4000, 0, "O_NONBLOCK is set: {flags:o}");
    assert_eq!(shared.read(&mut echoed).unwrap(), 0);
}
