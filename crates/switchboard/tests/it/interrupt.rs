//! Ctrl-c: the call is cancelled, the servers leave, and the exit code says so.

use std::io::Read as _;
use std::net::TcpListener;

use rustix::process::{Pid, Signal, kill_process};

use crate::program::{command, finish};

/// A server that takes a request and never answers it; the second value waits until the client has left.
fn silent() -> (String, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    (format!("silent=http://{}/mcp", listener.local_addr().unwrap()), listener)
}

#[test]
fn ctrl_c_cancels_what_runs_and_is_130() {
    for signal in [Signal::INT, Signal::TERM] {
        let (server, listener) = silent();
        let child = command(["--json", "tools", "list", "--server", &server]).spawn().unwrap();
        let (mut request, _) = listener.accept().unwrap();
        let mut buffer = [0; 4096];
        assert!(request.read(&mut buffer).unwrap() > 0, "the request is under way");
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ran = finish(child).expect(130);
        assert_eq!(ran.error()["code"], 130);
        // The stream is closed, which is the cancellation.
        while request.read(&mut buffer).unwrap_or(0) > 0 {}
    }
}
