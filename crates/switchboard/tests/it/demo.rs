//! `switchboard demo`: servers that start, say where they are, and leave in good order.

use crate::program::{Demo, run};

#[test]
fn the_demo_says_where_each_server_is_and_ends_with_its_stdin() {
    let demo = Demo::start(&[], 3);
    let names: Vec<_> = demo.servers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["station", "city", "calculator"]);
    for (_, url) in &demo.servers {
        assert!(url.starts_with("http://127.0.0.1:") && url.ends_with("/mcp"), "{url}");
    }
    demo.end().expect(0);
}

#[test]
fn one_demo_server_can_be_named() {
    let demo = Demo::start(&["calculator"], 1);
    assert_eq!(demo.servers[0].0, "calculator");
    demo.end().expect(0);
}

#[test]
fn an_address_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    run(&["demo", "station", "--listen", &address]).expect(1).says(&[&address, "hint:"]);
}

#[test]
fn the_demo_is_for_this_machine() {
    run(&["demo", "station", "--listen", "0.0.0.0:0"]).expect(1).says(&["other machines", "127.0.0.1"]);
}

#[test]
fn stdio_takes_one_server_only() {
    run(&["demo", "all", "--stdio"]).expect(1).says(&["one server", "hint:"]);
}

#[cfg(unix)]
#[test]
fn the_demo_ends_in_good_order_when_it_is_told_to() {
    use rustix::process::{Pid, Signal, kill_process};

    for signal in [Signal::INT, Signal::TERM] {
        let demo = Demo::start(&["station"], 1);
        let pid = Pid::from_child(&demo.child);
        kill_process(pid, signal).unwrap();
        demo.end().expect(0);
    }
}
