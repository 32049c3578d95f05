//! How servers are named on the command line.

use super::{ServerArgs, ServerSpec, Target};

fn args(servers: &[&str], commands: &[&str], last: &[&str]) -> ServerArgs {
    let own = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    ServerArgs { servers: own(servers), commands: own(commands), command: own(last), ..ServerArgs::default() }
}

fn check(args: &ServerArgs, expected: &[(&str, &str)]) {
    let shown: Vec<_> = args.specs().unwrap().into_iter().map(show).collect();
    let expected: Vec<_> = expected.iter().map(|(name, at)| ((*name).to_owned(), (*at).to_owned())).collect();
    assert_eq!(shown, expected);
}

fn show(spec: ServerSpec) -> (String, String) {
    let at = match spec.target {
        Target::Http(url) => url.to_string(),
        Target::Command(words) => words.join("|"),
        Target::Configured(server) => server.origin,
    };
    (spec.name.as_str().to_owned(), at)
}

#[test]
fn servers_have_names_addresses_and_commands() {
    check(&args(&["a=http://h:1/mcp"], &[], &[]), &[("a", "http://h:1/mcp")]);
    check(&args(&["https://h.example/mcp?key=x"], &[], &[]), &[("h.example", "https://h.example/mcp?key=x")]);
    check(&args(&["q=https://h/mcp?a=http://b"], &[], &[]), &[("q", "https://h/mcp?a=http://b")]);
    check(
        &args(&[], &["/usr/bin/my tool.py 'a b'", "npx -y x"], &["npx", "--flag", "a b"]),
        &[("my", "/usr/bin/my|tool.py|a b"), ("x", "npx|-y|x"), ("a-b", "npx|--flag|a b")],
    );
}

#[test]
fn a_server_behind_a_launcher_is_called_what_is_launched() {
    for (command, name) in [
        ("npx -y @modelcontextprotocol/server-everything@2025.1 stdio", "server-everything"),
        ("npx", "npx"),
        ("bunx x", "x"),
        ("uvx mcp-server-time==1.0 --zone UTC", "mcp-server-time"),
        ("uvx --from git+https://user:secret@h.example/a/tool.git@v1 tool", "tool"),
        ("uvx 'tool[http]'", "tool"),
        ("uv --directory /srv/x run server.py", "server"),
        ("pipx run tool", "tool"),
        ("/usr/bin/node dist/garage.js", "garage"),
        ("node -e 'serve()'", "node"),
        ("deno run -A jsr:@scope/garage", "garage"),
        ("python3.12 -u -m mcp_server_time", "mcp_server_time"),
        ("python -c 'import x'", "python"),
        ("docker run -i --rm -e TOKEN=secret -e KEY ghcr.io/x/garage:1.2", "garage"),
        ("sh -c 'npx x'", "sh"),
    ] {
        let specs = args(&[], &[command], &[]).specs().unwrap();
        assert_eq!(specs[0].name.as_str(), name, "{command}");
    }
    let two = args(&[], &["npx -y a/x", "npx -y b/x"], &[]).specs().unwrap();
    assert_eq!(two[1].name.as_str(), "x-2");
}

#[test]
fn what_cannot_be_a_server_is_refused_with_its_reason() {
    for (server, part) in [
        ("a=ftp://h", "not the URL of an HTTP server"),
        ("a=nonsense", "not the URL"),
        ("=http://h", "cannot name a server"),
        ("a/b=http://h", "cannot name a server"),
        ("", "not the URL"),
    ] {
        let failure = args(&[server], &[], &[]).specs().unwrap_err();
        assert!(failure.to_string().contains(part), "{server}: {failure}");
    }
    assert!(args(&["a=http://h", "a=http://i"], &[], &[]).specs().is_err(), "the same name twice");
    assert!(args(&[], &["sh 'x"], &[]).specs().is_err(), "an open quotation mark");
    assert!(args(&[], &[""], &[]).specs().is_err(), "an empty command");
}

#[test]
fn a_target_is_a_url_or_a_command() {
    assert!(matches!(Target::parse("http://127.0.0.1:1/mcp"), Ok(Target::Http(_))));
    assert!(matches!(Target::parse("python3 server.py"), Ok(Target::Command(words)) if words.len() == 2));
    assert!(matches!(Target::parse("fetch http://x/"), Ok(Target::Command(_))));
    assert!(Target::parse("").is_err());
    assert!(Target::parse("gopher://x").is_err());
}
