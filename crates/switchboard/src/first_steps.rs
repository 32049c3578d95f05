//! What to do first where no server is configured and none is named: what was found and is not used comes first. What is
//! wrong with it is warned of where it is read.

use std::collections::BTreeMap;
use std::path::Path;

use switchboard_agent::visible;
use switchboard_config::Config;

use crate::failure::Failure;
use crate::settings::Settings;

/// What there is to do where there is nothing.
const BEGIN: &str = "try it with --demo; or add a server with: switchboard servers add NAME -- CMD ARGS; or take over the \
                     file of another product with: switchboard servers import FILE";

/// Disabled servers that are named.
const MOST_NAMED: usize = 3;

/// There is nothing to ask.
pub(crate) fn no_server(settings: &Settings) -> Failure {
    Failure::usage("no server is configured, and none is named", hint(settings))
}

/// What to do first.
pub(crate) fn hint(settings: &Settings) -> String {
    of(settings.config())
}

fn of(config: &Config) -> String {
    let mut found: Vec<String> = Vec::new();
    let mut untrusted: BTreeMap<&Path, Vec<&str>> = BTreeMap::new();
    for one in &config.untrusted {
        untrusted.entry(&one.origin.file).or_default().extend(one.server.as_deref());
    }
    for (file, names) in untrusted {
        let words: Vec<String> = names.iter().map(|name| visible::argument(name)).collect();
        let words = if words.is_empty() { "--all".to_owned() } else { words.join(" ") };
        found.push(format!(
            "let what {} names be used with: switchboard servers trust {words}",
            file.display()
        ));
    }
    let disabled = config.servers.iter().filter(|server| !server.enabled).map(|server| server.name.as_str());
    found.extend(disabled.take(MOST_NAMED).map(|name| {
        format!(
            "use {} again with: switchboard servers enable {}",
            visible::name(name),
            visible::argument(name)
        )
    }));
    found.push(BEGIN.to_owned());
    found.join("; or ")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use switchboard_config::{Paths, Sources, load};

    use super::of;

    #[test]
    fn what_was_found_and_is_not_used_is_named_before_what_can_be_added() {
        for (file, text, says) in [
            ("nothing", "", &["--demo", "servers add", "servers import"][..]),
            (
                ".mcp.json",
                r#"{"mcpServers": {"a": {"command": "x"}, "b c": {"command": "y"}}}"#,
                &[".mcp.json names be used", "servers trust a 'b c'", "--demo"],
            ),
            (
                "config/config.toml",
                "[servers.x]\ncommand = \"y\"\nenabled = false\n",
                &["use x again", "servers enable x", "--demo"],
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            std::fs::create_dir_all(at("config")).unwrap();
            std::fs::write(at(file), text).unwrap();
            let own: Vec<(&str, PathBuf)> = ["HOME", "SWITCHBOARD_CONFIG_DIR", "SWITCHBOARD_DATA_DIR"]
                .into_iter()
                .zip([at("home"), at("config"), at("data")])
                .chain([("SWITCHBOARD_SYSTEM_CONFIG", at("none.toml"))])
                .collect();
            let env = move |name: &str| {
                let found = own.iter().find(|(known, _)| *known == name);
                found.map(|(_, path)| path.to_str().unwrap().to_owned())
            };
            let paths = Paths::find(&env).unwrap();
            let hint = of(&load(&Sources::new(paths, folder.path(), Arc::new(env))));
            assert!(says.iter().all(|part| hint.contains(part)), "{file}: {hint}");
        }
    }
}
