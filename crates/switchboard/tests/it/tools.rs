//! `switchboard tools`: what there is, what it looks like, and one call of it.

mod exposure;

use serde_json::json;

use crate::program::{Demo, run};

#[test]
fn the_tools_of_all_servers_are_listed() {
    for args in [&["tools", "--demo"][..], &["tools", "list", "--demo"], &["tools", "--demo", "list"]] {
        let ran = run(args).expect(0);
        for name in
            ["station", "get_climate", "city", "get_weather", "weather_current", "calculator_arithmetic"]
        {
            assert!(ran.stdout.contains(name), "{name} is not in:\n{}", ran.stdout);
        }
    }
}

#[test]
fn the_list_is_json_where_that_is_asked_for() {
    let tools = run(&["tools", "list", "--demo", "--json"]).expect(0).json();
    let names: Vec<_> = tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["calculator_arithmetic", "get_weather", "weather_current", "get_climate"]);
    assert_eq!(tools["tools"][3]["server"], "station");
}

#[test]
fn one_tool_is_shown_whole() {
    let ran = run(&["tools", "show", "calculator_arithmetic", "--demo"]).expect(0);
    assert!(ran.stdout.contains("expression") && ran.stdout.contains("read-only"), "{}", ran.stdout);
    let tool = run(&["tools", "show", "station/get_climate", "--demo", "--json"]).expect(0).json();
    assert_eq!(tool["definition"]["inputSchema"]["type"], "object");
    assert!(tool["definition"]["outputSchema"].is_object(), "{tool}");
}

#[test]
fn one_tool_is_called() {
    let arguments = r#"{"expression": "sin(30)", "angle": "degrees"}"#;
    let ran = run(&["tools", "call", "calculator_arithmetic", arguments, "--demo"]).expect(0);
    assert!(ran.stdout.contains("0.5"), "{}", ran.stdout);
    let demo = Demo::start(&["calculator"], 1);
    let server = demo.server("calculator");
    let result =
        run(&["--json", "tools", "call", "calculator_arithmetic", arguments, "--yes", "--server", &server]);
    assert_eq!(result.expect(0).json()["structuredContent"], json!({ "result": 0.5 }));
    demo.end().expect(0);
}
