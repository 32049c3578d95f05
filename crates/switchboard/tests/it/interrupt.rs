//! Ctrl-c: the call is cancelled, the servers leave, and the exit code says so.

use std::io::{ErrorKind, Read as _};
use std::net::{TcpListener, TcpStream};
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::config::Home;
use crate::program::{command, finish};

/// A server that takes a request and never answers it; the second value waits until the client has left.
fn silent() -> (String, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    (format!("silent=http://{}/mcp", listener.local_addr().unwrap()), listener)
}

/// Waits until the program has sent a request, and fails if it has ended before.
fn request(listener: &TcpListener, child: &mut Child) -> TcpStream {
    listener.set_nonblocking(true).unwrap();
    let mut request = loop {
        match listener.accept() {
            Ok((request, _)) => break request,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "it ended before it asked: {ended:?}");
        std::thread::park_timeout(Duration::from_millis(5));
    };
    request.set_nonblocking(false).unwrap();
    assert!(request.read(&mut [0; 4096]).unwrap() > 0, "the request is under way");
    request
}

#[test]
fn ctrl_c_cancels_what_runs_and_is_130() {
    for signal in [Signal::INT, Signal::TERM] {
        let (server, listener) = silent();
        let mut child = command(["--json", "tools", "list", "--server", &server]).spawn().unwrap();
        let mut request = request(&listener, &mut child);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ran = finish(child).expect(130);
        assert_eq!(ran.error()["code"], 130);
        // The stream is closed, which is the cancellation.
        while request.read(&mut [0; 4096]).unwrap_or(0) > 0 {}
    }
}

/// Each wait of a command, also behind one that listened to signals already.
#[test]
fn a_model_that_does_not_answer_is_not_waited_for() {
    let commands: &[&[&str]] = &[
        &["doctor", "--model", "m", "--no-servers"],
        &["doctor", "--model", "m"],
        &["run", "Is anybody there?", "--model", "m", "--demo"],
    ];
    for args in commands {
        let (server, listener) = silent();
        let url = server.strip_prefix("silent=").unwrap().replace("/mcp", "/v1");
        let mut child = command(args.iter().chain(&["--base-url", &url])).spawn().unwrap();
        let _request = request(&listener, &mut child);
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let ran = finish(child);
        assert_eq!(ran.code, 130, "{args:?}: {ran:?}");
    }
}

/// The server's first deed is to end whoever started it: no signal can come earlier after something was started.
#[test]
fn a_signal_that_comes_while_servers_start_ends_each_command() {
    let commands: &[(&[&str], i32)] = &[
        (&["tools", "list"], 130),
        (&["tools", "call", "x"], 130),
        (&["tools", "cost"], 130),
        (&["policy", "check"], 130),
        (&["pins", "accept", "first"], 130),
        (&["run", "Is anybody there?"], 130),
        (&["inspect", "first", "tools/list"], 130),
        (&["doctor"], 130),
        (&["servers", "test"], 130),
        (&["servers", "status"], 130),
        (&["servers", "restart", "first"], 130),
        // That is how it ends.
        (&["serve", "--listen", "127.0.0.1:0"], 0),
    ];
    let home = Home::new();
    for signal in ["INT", "TERM"] {
        let script = format!("kill -{signal} $PPID; exec cat > /dev/null");
        home.write(
            "config/config.toml",
            &format!("[servers.first]\ncommand = \"sh\"\nargs = [\"-c\", {script:?}]\n"),
        );
        let started = commands.iter().map(|(args, code)| (args, code, home.command(args).spawn().unwrap()));
        for (args, code, child) in started.collect::<Vec<_>>() {
            let ran = finish(child);
            assert_eq!(ran.code, *code, "{signal} {args:?}: {ran:?}");
        }
    }
}
