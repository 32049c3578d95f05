//! What is left of a server when the program that started it dies.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::processes::{Stubborn, eventually, example, runs, stubborn};

/// A host with a server: the host, the id of the server, and that of the process that matters.
fn begin(script: &str) -> (Child, u32, u32) {
    let mut host = Command::new(example("host"))
        .args(["sh", "-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut said = BufReader::new(host.stdout.take().unwrap()).lines();
    let mut number = || said.next().unwrap().unwrap().parse::<u32>().unwrap();
    let (server, inner) = (number(), number());
    (host, server, inner)
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(i32::try_from(id).unwrap()).unwrap()
}

/// The watcher that a host has now.
fn watcher(host: u32) -> Option<u32> {
    let watches = |id: &u32| {
        let about = |what: &str| std::fs::read_to_string(format!("/proc/{id}/{what}")).unwrap_or_default();
        let is_of_host = about("status").lines().any(|line| line == format!("PPid:\t{host}"));
        is_of_host && about("cmdline").contains("server-watcher") && runs(*id)
    };
    let processes = std::fs::read_dir("/proc").unwrap();
    processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).find(watches)
}

fn check(signals: &[Signal]) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut ends = Vec::new();
        for Stubborn { name, script, leaves } in stubborn() {
            let (mut host, server, inner) = begin(&script);
            assert!(leaves || (runs(server) && runs(inner)), "{name}");
            for signal in signals {
                // The second of two may find nobody.
                let _ = kill_process(pid(host.id()), *signal);
            }
            host.wait().unwrap();
            ends.push((name, server, inner));
        }
        for (name, server, inner) in ends {
            eventually(&format!("{name} is gone"), || !runs(server) && !runs(inner)).await;
        }
    });
}

#[test]
fn a_host_that_is_killed_takes_its_servers_with_it() {
    check(&[Signal::KILL]);
}

#[tokio::test]
async fn a_watcher_that_was_killed_before_its_host_is_replaced() {
    for Stubborn { name, script, .. } in
        stubborn().into_iter().filter(|server| server.name == "ignores SIGTERM")
    {
        let (mut host, server, inner) = begin(&script);
        let mut current = None;
        for _ in 0..2 {
            let before = current;
            eventually("there is a watcher", || {
                current = watcher(host.id());
                current.is_some() && current != before
            })
            .await;
            kill_process(pid(current.unwrap()), Signal::KILL).unwrap();
        }
        eventually("there is a third watcher", || watcher(host.id()).is_some_and(|id| Some(id) != current))
            .await;
        host.kill().unwrap();
        host.wait().unwrap();
        eventually(&format!("{name} is gone"), || !runs(server) && !runs(inner)).await;
    }
}

#[test]
fn a_host_that_is_terminated_takes_its_servers_with_it() {
    check(&[Signal::TERM]);
}

#[test]
fn a_host_that_is_interrupted_twice_takes_its_servers_with_it() {
    check(&[Signal::INT, Signal::INT]);
}
