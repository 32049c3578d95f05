//! Real server processes: how they are started, heard and ended.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use switchboard_protocol::frame::encode_request;
use switchboard_protocol::session::{End, Opening};
use switchboard_transport::child::{Child, ChildCommand, Shutdown};
use switchboard_transport::{Disconnected, Lines, Pipe, PipeClient, PipeOptions};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::data::rows;
use crate::processes::{PATIENCE, Stubborn, eventually, exists, runs, stubborn};

const QUICK: Shutdown = Shutdown {
    leave: Duration::from_millis(300),
    terminate: Duration::from_millis(300),
    kill: Duration::from_secs(5),
};

fn sh(script: &str) -> ChildCommand {
    ChildCommand::new("sh").args(["-c", script]).shutdown(QUICK)
}

fn python(script: &str) -> ChildCommand {
    ChildCommand::new("python3").args(["-c", script]).shutdown(QUICK)
}

async fn first_line(pipe: &mut Pipe) -> String {
    let mut lines = Lines::new(1024);
    loop {
        if let Some(line) = lines.next_line().unwrap() {
            return String::from_utf8(line.to_vec()).unwrap();
        }
        assert!(lines.fill(&mut pipe.reader).await.unwrap() > 0, "no line came");
    }
}

/// Starts a stubborn server; gives what the test holds of it and the process that matters.
async fn start(script: &str) -> (Pipe, Child, u32) {
    let (mut pipe, child) = sh(script).spawn().unwrap();
    let inner = first_line(&mut pipe).await.parse().unwrap();
    (pipe, child, inner)
}

async fn gone(name: &str, child: u32, inner: u32) {
    eventually(&format!("{name}: nothing of it runs"), || !runs(inner) && !runs(child)).await;
    eventually(&format!("{name}: it is reaped"), || !exists(child)).await;
}

#[tokio::test]
async fn shutdown_leaves_nothing_of_the_group() {
    for Stubborn { name, script, .. } in stubborn() {
        let (pipe, child, inner) = start(&script).await;
        drop(pipe.writer);
        timeout(PATIENCE, child.shutdown()).await.unwrap();
        assert!(!exists(child.id()), "{name}: a zombie is left");
        // What was killed may need a moment to disappear.
        eventually(&format!("{name} is gone"), || !runs(inner)).await;
    }
}

#[tokio::test]
async fn dropping_the_child_ends_it_in_the_background() {
    for Stubborn { name, script, .. } in stubborn() {
        let (pipe, child, inner) = start(&script).await;
        let id = child.id();
        drop((pipe, child));
        gone(&name, id, inner).await;
    }
}

#[test]
fn the_end_of_the_runtime_ends_the_children() {
    for Stubborn { name, script, .. } in stubborn() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (pipe, child, inner) = runtime.block_on(start(&script));
        let id = child.id();
        runtime.shutdown_background();
        drop((pipe, child));
        let waiting = tokio::runtime::Runtime::new().unwrap();
        waiting.block_on(eventually(&name, || !runs(inner) && !runs(id)));
    }
}

#[tokio::test]
async fn a_server_that_obeys_is_not_signalled() {
    let script =
        "trap 'echo terminated >&2; exit 1' TERM; while read -r line; do :; done; echo left >&2; exit 7";
    let command = sh(script).shutdown(Shutdown { leave: PATIENCE, ..QUICK });
    let (client, child) = command.connect(PipeOptions::default()).unwrap();
    let status = timeout(PATIENCE, child.shutdown()).await.unwrap().unwrap();
    assert_eq!((status.code(), child.stderr().as_str()), (Some(7), "left\n"));
    assert_eq!(client.disconnected().await, Disconnected::Closed);
}

#[tokio::test]
async fn waiting_ends_with_the_process_although_a_helper_holds_its_output() {
    let script = "sleep 1000 & echo $! >&2; echo 'last words'; exit 3";
    let (client, child) = sh(script).connect(PipeOptions::default()).unwrap();
    let status = timeout(PATIENCE, child.exited()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(3));
    let end = timeout(PATIENCE, client.disconnected()).await.unwrap();
    assert!(matches!(&end, Disconnected::Exited(status) if status.contains('3')), "{end}");
    assert_eq!(client.noise().0, "last words");
    let helper: u32 = child.stderr().trim().parse().unwrap();
    eventually("the helper is gone", || !runs(helper)).await;
}

/// Its end may be noticed before everything is read that it wrote, or that what it started writes for it.
#[tokio::test]
async fn last_words_that_come_after_the_end_are_waited_for() {
    let script = "trap '' TERM; exec 3<&0; { read -r line <&3; echo \"$line\" >&2; } & exit 3";
    let (mut pipe, child) = sh(script).shutdown(Shutdown::default()).spawn().unwrap();
    timeout(PATIENCE, child.exited()).await.unwrap();
    assert_eq!(child.stderr(), "");
    pipe.writer.write_all(b"last\n").await.unwrap();
    let status = timeout(PATIENCE, child.last_words()).await.unwrap().unwrap();
    assert_eq!((status.code(), child.stderr().as_str()), (Some(3), "last\n"));
}

#[tokio::test]
async fn a_connection_that_cannot_go_on_ends_the_server() {
    let options = PipeOptions { line_bytes: 100_000, ..PipeOptions::default() };
    let (client, child) = sh("exec cat /dev/zero").connect(options).unwrap();
    let end = timeout(PATIENCE, client.disconnected()).await.unwrap();
    assert_eq!(end, Disconnected::LineTooLong { limit: 100_000 });
    timeout(PATIENCE, child.exited()).await.unwrap();
    eventually("reaped", || !exists(child.id())).await;
}

/// Answers every request with its id, after whatever `before` does.
fn answering(before: &str) -> String {
    format!(
        "import sys, json, os\nstdin, stdout, stderr = sys.stdin, sys.stdout, sys.stderr\nfor line in stdin:\n    id = json.loads(line)['id']\n    {before}\n    print(json.dumps({{'jsonrpc': '2.0', 'id': id, 'result': {{}}}}), flush=True)\n"
    )
}

#[derive(Deserialize)]
struct Noisy {
    name: String,
    before: String,
    tail: String,
}

fn noisy() -> Vec<Noisy> {
    rows(include_str!("../data/noisy_stderr.json"), "servers")
}

async fn call(client: &PipeClient) -> End {
    let opening = Opening { total: Some(PATIENCE), ..Opening::default() };
    let exchange =
        client.open(opening, |id, out| encode_request(out, id, "x/call", &json!({}))).await.unwrap();
    exchange.ended().await
}

#[tokio::test]
async fn text_on_stderr_neither_blocks_nor_fails_a_call() {
    for Noisy { name, before, tail } in noisy() {
        let (client, child) = python(&answering(&before)).connect(PipeOptions::default()).unwrap();
        for _ in 0..2 {
            let end = call(&client).await;
            assert!(matches!(end, End::Result(_)), "{name}: {end:?}");
        }
        timeout(PATIENCE, child.shutdown()).await.unwrap();
        let stderr = child.stderr();
        assert!(stderr.ends_with(&tail), "{name}: {:?}", stderr.chars().rev().take(40).collect::<String>());
        assert!(stderr.len() <= 64 * 1024, "{name}: {} bytes are kept", stderr.len());
    }
}

#[tokio::test]
async fn a_listener_that_takes_nothing_does_not_block_stderr() {
    let (lines, mut kept) = mpsc::channel(2);
    let before = "stderr.write('line\\r\\n' * 100000); stderr.flush()";
    let (client, child) =
        python(&answering(before)).stderr_lines(lines).connect(PipeOptions::default()).unwrap();
    assert!(matches!(call(&client).await, End::Result(_)));
    timeout(PATIENCE, child.shutdown()).await.unwrap();
    assert_eq!((kept.recv().await.as_deref(), kept.recv().await.as_deref()), (Some("line"), Some("line")));
}

#[tokio::test]
async fn a_crash_in_the_middle_of_a_call_says_the_status_and_the_last_words() {
    let crash = "print('out of cheese', file=stderr, flush=True); os._exit(41)";
    let (client, child) = python(&answering(crash)).connect(PipeOptions::default()).unwrap();
    assert!(matches!(call(&client).await, End::ConnectionLost(_)));
    let status = timeout(PATIENCE, child.exited()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(41));
    assert!(matches!(client.end(), Some(Disconnected::Exited(status)) if status.contains("41")));
    timeout(PATIENCE, child.shutdown()).await.unwrap();
    assert_eq!(child.stderr(), "out of cheese\n");
}

#[test]
fn a_program_that_is_not_there_is_explained() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _guard = runtime.enter();
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("plain"), "no program").unwrap();
    let shown = here.display().to_string();
    for (name, command, words) in [
        (
            "unknown name",
            ChildCommand::new("no-such-server").env("PATH", "/nowhere:/usr/none"),
            vec!["no-such-server", "PATH=/nowhere:/usr/none", "working directory"],
        ),
        (
            "unknown path",
            ChildCommand::new("./no-such-server").directory(here),
            vec!["./no-such-server", &shown, "does not exist"],
        ),
        (
            "unknown directory",
            ChildCommand::new("sh").directory(here.join("none")),
            vec!["working directory", "none", "does not exist"],
        ),
        ("no permission", ChildCommand::new("./plain").directory(here), vec!["executable"]),
    ] {
        let error = command.spawn().map(drop).unwrap_err();
        assert_eq!(error.is_permission_denied(), name == "no permission", "{name}: {error}");
        assert_eq!(error.is_not_found(), name != "no permission", "{name}: {error}");
        for word in words {
            assert!(error.to_string().contains(word), "{name}: {error}");
        }
    }
}

#[tokio::test]
async fn arguments_environment_and_directory_arrive_as_given() {
    let folder = tempfile::tempdir().unwrap();
    let script = "printf '%s|%s|%s|%s\\n' \"$1\" \"$GREETING\" \"${HOME-unset}\" \"$PWD\"";
    let (mut pipe, child) = ChildCommand::new("/bin/sh")
        .args(["-c", script, "sh", "a b\"c"])
        .env_clear()
        .env("GREETING", "hello $USER")
        .directory(folder.path())
        // Longer than anything is waited for here.
        .shutdown(Shutdown { leave: PATIENCE * 2, terminate: PATIENCE * 2, kill: PATIENCE * 2 })
        .spawn()
        .unwrap();
    let expected = format!("a b\"c|hello $USER|unset|{}", folder.path().canonicalize().unwrap().display());
    assert_eq!(first_line(&mut pipe).await, expected);
    timeout(PATIENCE, child.shutdown()).await.expect("a process that has ended is not waited for");
}

#[test]
fn a_program_is_found_where_the_system_would_find_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("bin")).unwrap();
    for (name, mode) in [("bin/tool", 0o755), ("bin/text", 0o644)] {
        std::fs::write(at(name), "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(at(name), std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    let path = format!("/nowhere:{}", at("bin").display());
    let resolve = |program: &str, directory: &str| {
        let command = ChildCommand::new(program).env("PATH", &path).directory(at(directory));
        command.resolve().map_err(|error| error.to_string())
    };
    assert_eq!(resolve("tool", "."), Ok(at(".").join(at("bin")).join("tool")));
    assert_eq!(resolve("./tool", "bin"), Ok(at("bin").join("./tool")));
    for (program, directory, expected) in [
        ("text", ".", "is it executable"),
        ("bin/text", ".", "is it executable"),
        ("none", ".", "Cannot start none: it is in no directory of PATH; install it,"),
        ("none", ".", "(PATH=/nowhere:"),
        ("./none", "bin", "which does not exist"),
        ("tool", "gone", "its working directory"),
    ] {
        let error = resolve(program, directory).unwrap_err();
        assert!(error.contains(expected), "{program} in {directory}: {error}");
    }
}
