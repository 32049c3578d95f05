//! What a program starts that is there to start others: a server behind `npx` is not called npx.

/// A program that starts others.
struct Launcher {
    name: &'static str,
    /// Words before what is started.
    subcommands: &'static [&'static str],
    /// Flags with a value in the next word. Values can be secrets, so none may become a name.
    valued: &'static [&'static str],
}

const fn launcher(
    name: &'static str,
    subcommands: &'static [&'static str],
    valued: &'static [&'static str],
) -> Launcher {
    Launcher { name, subcommands, valued }
}

const NODE: &[&str] = &["-r", "--require", "--import", "--loader", "--env-file"];
const PYTHON: &[&str] = &["-W", "-X"];
const UV: &[&str] = &["--directory", "--project", "--python", "-p", "--with", "--index-url", "--env-file"];
const DOCKER: &[&str] = &[
    "-e",
    "--env",
    "--env-file",
    "-v",
    "--volume",
    "--mount",
    "-p",
    "--publish",
    "--name",
    "--network",
    "-w",
    "--workdir",
    "-u",
    "--user",
    "-l",
    "--label",
    "--platform",
    "--entrypoint",
    "--add-host",
    "-m",
    "--memory",
];

const LAUNCHERS: &[Launcher] = &[
    launcher("npx", &[], &[]),
    launcher("bunx", &[], &[]),
    launcher("uvx", &[], UV),
    launcher("uv", &["run", "tool"], UV),
    launcher("pipx", &["run"], &["--index-url"]),
    launcher("node", &[], NODE),
    launcher("bun", &["run", "x"], &[]),
    launcher("deno", &["run"], &[]),
    launcher("python", &[], PYTHON),
    launcher("python3", &[], PYTHON),
    launcher("docker", &["container", "run"], DOCKER),
    launcher("podman", &["container", "run"], DOCKER),
];

/// Flags after which code follows, which is no name.
const CODE: &[&str] = &["-c", "-e", "--eval"];

/// Endings of scripts and of repositories.
const ENDINGS: &[&str] = &[".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".git"];

/// Launchers that fetch what they start, where it is not there yet.
const FETCHERS: &[&str] = &["npx", "bunx", "uvx", "pipx", "docker", "podman"];
/// Programs that do so with one of these words.
const FETCHING: &[(&str, &[&str])] = &[
    ("npm", &["exec", "x"]),
    ("pnpm", &["dlx"]),
    ("yarn", &["dlx"]),
    ("uv", &["run", "tool"]),
    ("bun", &["x"]),
];

/// The program, if it fetches what it starts.
pub(crate) fn fetcher(program: &str, args: &[String]) -> Option<&'static str> {
    let does = |words: &&[&str]| args.first().is_some_and(|first| words.contains(&first.as_str()));
    let with_word =
        FETCHING.iter().find(|(name, words)| *name == program && does(words)).map(|(name, _)| *name);
    FETCHERS.iter().copied().find(|name| *name == program).or(with_word)
}

/// What `program` starts, without scope, path and version; nothing if it is no launcher, or starts nothing with a
/// name.
pub(super) fn launched<'a>(program: &str, args: &'a [String]) -> Option<&'a str> {
    let Launcher { subcommands, valued, .. } = LAUNCHERS.iter().find(|known| known.name == program)?;
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        if valued.contains(&arg) {
            args.next();
        } else if CODE.contains(&arg) {
            return None;
        } else if !arg.starts_with('-') && !subcommands.contains(&arg) {
            return Some(bare(arg)).filter(|name| !name.is_empty());
        }
    }
    None
}

/// `@scope/name@1.2` is `name`, and `dist/name.js`, `host/name:tag`, `name==1.2` and `name[extra]` are as well.
fn bare(argument: &str) -> &str {
    let path = argument.strip_prefix("npm:").or_else(|| argument.strip_prefix("jsr:")).unwrap_or(argument);
    let last = path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
    let name = last.split(['@', ':', '=', '[', '?', '#']).next().unwrap_or_default();
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}
