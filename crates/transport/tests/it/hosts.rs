//! What is left of a server when the program that started it dies.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::processes::{Stubborn, eventually, example, runs, stubborn};

fn check(signals: &[Signal]) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut ends = Vec::new();
        for Stubborn { name, script, leaves } in stubborn() {
            let mut host = Command::new(example("host"))
                .args(["sh", "-c", &script])
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .process_group(0)
                .spawn()
                .unwrap();
            let mut said = BufReader::new(host.stdout.take().unwrap()).lines();
            let mut number = || said.next().unwrap().unwrap().parse::<u32>().unwrap();
            let (server, inner) = (number(), number());
            assert!(leaves || (runs(server) && runs(inner)), "{name}");
            let pid = Pid::from_raw(i32::try_from(host.id()).unwrap()).unwrap();
            for signal in signals {
                // The second of two may find nobody.
                let _ = kill_process(pid, *signal);
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

#[test]
fn a_host_that_is_terminated_takes_its_servers_with_it() {
    check(&[Signal::TERM]);
}

#[test]
fn a_host_that_is_interrupted_twice_takes_its_servers_with_it() {
    check(&[Signal::INT, Signal::INT]);
}
