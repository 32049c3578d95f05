//! Where files are on each platform.

use std::sync::Arc;

use super::{Platform, kind, of_user};
use crate::origin::OriginKind;
use crate::paths::Paths;
use crate::sources::Sources;

fn check(platform: Platform, env: &'static [(&str, &str)], expected: &[&str]) {
    let paths =
        Paths { home: Some("/h".into()), config_dir: "/c".into(), data_dir: "/d".into(), system_file: None };
    let env = |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    let sources = Sources::new(paths, "/p", Arc::new(env));
    let files: Vec<String> =
        of_user(&sources, platform).into_iter().map(|place| place.file.display().to_string()).collect();
    assert_eq!(files, expected);
}

#[test]
fn products_have_their_places_on_each_platform() {
    check(
        Platform::Linux,
        &[],
        &[
            "/c/config.toml",
            "/h/.claude.json",
            "/h/.config/Claude/claude_desktop_config.json",
            "/h/.config/Code/User/mcp.json",
            "/h/.config/Code/User/settings.json",
            "/h/.config/Code - Insiders/User/mcp.json",
            "/h/.config/Code - Insiders/User/settings.json",
            "/h/.cursor/mcp.json",
            "/h/.codex/config.toml",
        ],
    );
    check(
        Platform::Mac,
        &[("CODEX_HOME", "/x"), ("CLAUDE_CONFIG_DIR", "/y"), ("XDG_CONFIG_HOME", "/not-here")],
        &[
            "/c/config.toml",
            "/y/.claude.json",
            "/h/Library/Application Support/Claude/claude_desktop_config.json",
            "/h/Library/Application Support/Code/User/mcp.json",
            "/h/Library/Application Support/Code/User/settings.json",
            "/h/Library/Application Support/Code - Insiders/User/mcp.json",
            "/h/Library/Application Support/Code - Insiders/User/settings.json",
            "/h/.cursor/mcp.json",
            "/x/config.toml",
        ],
    );
    check(
        Platform::Windows,
        &[("APPDATA", "/roaming")],
        &[
            "/c/config.toml",
            "/h/.claude.json",
            "/roaming/Claude/claude_desktop_config.json",
            "/roaming/Code/User/mcp.json",
            "/roaming/Code/User/settings.json",
            "/roaming/Code - Insiders/User/mcp.json",
            "/roaming/Code - Insiders/User/settings.json",
            "/h/.cursor/mcp.json",
            "/h/.codex/config.toml",
        ],
    );
}

#[test]
fn a_file_that_was_named_tells_whose_it_is() {
    for (file, expected) in [
        ("/a/b.toml", OriginKind::Native),
        ("/a/.codex/config.toml", OriginKind::Codex),
        ("/a/claude_desktop_config.json", OriginKind::ClaudeDesktop),
        ("/a/.claude.json", OriginKind::ClaudeCode),
        ("/a/.vscode/mcp.json", OriginKind::VsCode),
        ("/a/User/mcp.json", OriginKind::VsCode),
        ("/a/.cursor/mcp.json", OriginKind::Cursor),
        ("/a/mcp.json", OriginKind::McpJson),
    ] {
        assert_eq!(kind(file.as_ref()), expected, "{file}");
    }
}
