//! Programs that open sessions: what they write besides, how they are started, and that none is left behind.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use switchboard_client::{ChildCommand, Limits};
use switchboard_transport::child::Shutdown;
use tempfile::TempDir;

use super::peer::{NEWEST, described};
use crate::support::builder;

const QUICK: Shutdown = Shutdown {
    leave: Duration::from_millis(300),
    terminate: Duration::from_millis(300),
    kill: Duration::from_secs(5),
};

/// Nothing takes longer than this; what does fails.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Deserialize)]
struct Noisy {
    name: String,
    /// Python that runs before each answer.
    before: String,
}

/// A server of the legacy era in Python that does something before it answers.
fn answering(before: &str) -> ChildCommand {
    let script = format!(
        "import sys, json, os\nstdin, stdout, stderr = sys.stdin, sys.stdout, sys.stderr\ndescribed = {}\n\
         def answer(method):\n    if method == 'initialize': return 'result', described\n    if method == \
         'tools/call': return 'result', {{'content': [{{'type': 'text', 'text': 'done'}}]}}\n    return 'error', \
         {{'code': -32601, 'message': 'Method not found'}}\nfor line in stdin:\n    message = json.loads(line)\n    \
         if 'id' not in message: continue\n    id = message['id']\n    {before}\n    member, value = \
         answer(message['method'])\n    print(json.dumps({{'jsonrpc': '2.0', 'id': id, member: value}}), flush=True)\n",
        described(NEWEST).to_string().replace("true", "True")
    );
    ChildCommand::new("python3").args(["-c", &script]).shutdown(QUICK)
}

#[tokio::test]
async fn what_a_server_writes_to_stderr_keeps_no_session_from_opening() {
    let text = include_str!("../../../../transport/tests/data/noisy_stderr.json");
    let rows: serde_json::Value = serde_json::from_str(text).unwrap();
    for row in Vec::<Noisy>::deserialize(&rows["servers"]).unwrap() {
        let client = builder().child(answering(&row.before)).await;
        let client = client.unwrap_or_else(|error| panic!("{}: {error}", row.name));
        assert_eq!(client.revision().date(), NEWEST, "{}", row.name);
        assert_eq!(client.call("f", &()).await.unwrap().text(), "done", "{}", row.name);
        client.close().await;
    }
}

#[tokio::test]
async fn what_a_server_prints_besides_messages_keeps_no_session_from_opening() {
    for before in [
        "print('starting up', flush=True)",
        "os.write(1, b'caf\\xe9 \\xff\\n')",
        "print('{\"level\":\"info\",\"message\":\"a log line that is JSON\"}', flush=True)",
        "print('x' * 200000, flush=True)",
        "print('[]', '\\n', '\\n', 'null', flush=True)",
    ] {
        let client =
            builder().child(answering(before)).await.unwrap_or_else(|error| panic!("{before}: {error}"));
        assert_eq!(client.revision().date(), NEWEST, "{before}");
        assert_eq!(client.call("f", &()).await.unwrap().text(), "done", "{before}");
        client.close().await;
    }
}

/// A server in the shell that says who it is, and ends in some way when it is asked in the modern way.
fn server(ends: &str) -> String {
    format!(
        r#"echo $$ >> "$PIDS"; answer() {{ id=${{line#*\"id\":}}; id=${{id%%,*}}; printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
while IFS= read -r line; do case $line in
*server/discover*) {ends};;
*'"initialize"'*) answer '{}';;
*tools/call*) answer '{{"content":[{{"type":"text","text":"done"}}]}}';;
esac; done"#,
        described(NEWEST)
    )
}

struct Launcher {
    name: &'static str,
    /// The script that starts the server, which is `$SERVER`.
    launch: &'static str,
    /// What the server does when it is asked in the modern way.
    ends: &'static str,
    starts: usize,
}

#[tokio::test]
async fn whoever_launches_a_server_it_is_started_once_more_and_nothing_is_left() {
    for row in [
        Launcher { name: "nobody else", launch: "eval \"$SERVER\"", ends: "exit 3", starts: 2 },
        Launcher {
            name: "a shell that waits for it",
            launch: "exec 3<&0; sh -c \"$SERVER\" <&3 & exec 3<&-; wait $!",
            ends: "exit 3",
            starts: 2,
        },
        Launcher {
            name: "a server whose helper holds its output",
            launch: "eval \"$SERVER\"",
            ends: "sleep 1000 & echo $! >> \"$PIDS\"; exit 3",
            starts: 2,
        },
        Launcher {
            name: "a server that kills itself",
            launch: "eval \"$SERVER\"",
            ends: "kill -9 $$",
            starts: 2,
        },
        Launcher {
            name: "a shell that waits for a server that refuses",
            launch: "exec 3<&0; sh -c \"$SERVER\" <&3 & exec 3<&-; wait $!",
            ends: "id=${line#*\\\"id\\\":}; echo '{\"jsonrpc\":\"2.0\",\"id\":'${id%%,*}',\"error\":{\"code\":-32000,\"message\":\"no\"}}'",
            starts: 1,
        },
        Launcher {
            name: "a server that obeys nobody",
            launch: "trap '' TERM INT HUP; eval \"$SERVER\"; sleep 1000 & echo $! >> \"$PIDS\"; wait",
            ends: ":",
            starts: 1,
        },
    ] {
        row.check().await;
    }
}

impl Launcher {
    async fn check(&self) {
        let (name, folder) = (self.name, tempfile::tempdir().unwrap());
        let pids = folder.path().join("pids");
        let command = ChildCommand::new("sh")
            .args(["-c", self.launch])
            .env("SERVER", server(self.ends))
            .env("PIDS", pids.display().to_string())
            .shutdown(QUICK);
        let mut limits = Limits::default();
        limits.probe_time = Duration::from_millis(300);
        let client = builder().limits(limits).child(command).await;
        let client = client.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(client.revision().date(), NEWEST, "{name}");
        assert_eq!(client.call("f", &()).await.unwrap().text(), "done", "{name}");
        let started = known(&folder).len();
        assert!(started >= self.starts, "{name}: {started}");
        client.close().await;
        // What was killed may need a moment to disappear.
        for pid in known(&folder) {
            let gone = async {
                while runs(&pid) {
                    tokio::task::yield_now().await;
                }
            };
            let outcome = tokio::time::timeout(PATIENCE, gone).await;
            assert!(outcome.is_ok(), "{name}: {pid} of {:?} still runs", known(&folder));
        }
    }
}

/// The processes that said who they are.
fn known(folder: &TempDir) -> Vec<String> {
    let text = std::fs::read_to_string(folder.path().join("pids")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Whether a process runs; one that nobody has reaped yet does not.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
