//! Servers that need a session: reached without a word about it, and described as what they are.

mod asking;
mod chosen;
mod reach;

use switchboard_client::Revision;

/// The arguments that start one demo server over stdio which has no revision after this one.
fn capped(server: &str, newest: Revision) -> Vec<String> {
    let mut words = crate::program::over_stdio(server).to_vec();
    words.extend(["--newest".to_owned(), newest.date().to_owned()]);
    words
}

/// A server as a shell script. It has one tool, asks `question` whenever that is called, and then says what it was
/// told; an error is a failure.
fn asking(revision: &str, question: &serde_json::Value) -> Vec<String> {
    let tools =
        r#"{"tools":[{"name":"order","description":"Orders a car","inputSchema":{"type":"object"}}]}"#;
    let script = format!(
        r#"while read -r line; do
            id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
            case $line in
                *'"server/discover"'*)
                    printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"Method not found"}}}}\n' "$id"
                    continue;;
                *'"initialize"'*)
                    result='{{"protocolVersion":"{revision}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"garage","version":"1"}}}}';;
                *'"tools/list"'*) result='{tools}';;
                *'"tools/call"'*)
                    printf '%s\n' '{question}'
                    read -r told
                    case $told in *'"error"'*) failed=true;; *) failed=false;; esac
                    told=$(printf '%s' "$told" | sed 's/\\/\\\\/g; s/"/\\"/g')
                    result='{{"isError":'$failed',"content":[{{"type":"text","text":"'$told'"}}]}}';;
                *) continue;;
            esac
            printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$result"
        done"#
    );
    vec!["sh".into(), "-c".into(), script]
}

/// The options, and then the command that starts the server.
fn with_child<'a>(options: &[&'a str], child: &'a [String]) -> Vec<&'a str> {
    options.iter().copied().chain(["--"]).chain(child.iter().map(String::as_str)).collect()
}
