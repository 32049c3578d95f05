//! What every help has in common: options in groups, examples, exit codes only where there is room for them.
//!
//! The options of servers, models and consent are the same for every command that takes them; here they get the
//! heading that says so. What an option does is said where it is declared.

use clap::builder::StyledStr;
use clap::{Arg, Command};

/// A heading, the option that is only there where all of the group are, and the group.
const GROUPS: &[(&str, &str, &[&str])] = &[
    (
        "Servers",
        "servers",
        &["servers", "commands", "configured", "demo", "city_api", "era", "bearer_env", "header"],
    ),
    ("Model", "base_url", &["model", "base_url"]),
    ("Consent", "on_ask", &["yes", "on_ask", "allow", "deny"]),
];

/// The heading of what every command takes.
const EVERYWHERE: &str = "Every command";

/// What to try, by command.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "switchboard",
        &[
            "switchboard run --demo \"How warm is it in the bedroom?\"",
            "switchboard servers",
            "switchboard chat",
        ],
    ),
    (
        "run",
        &[
            "switchboard run --demo \"How warm is it in the bedroom?\"",
            "switchboard run \"What time is it in Oslo?\" -- uvx mcp-server-time",
            "switchboard run --json --demo --allow station/get_climate - < question.txt",
        ],
    ),
    (
        "chat",
        &["switchboard chat --demo", "switchboard chat --servers files,git", "switchboard chat --resume"],
    ),
    ("serve", &["switchboard serve", "switchboard serve --demo --listen 127.0.0.1:0"]),
    (
        "tools",
        &[
            "switchboard tools list --demo",
            "switchboard tools show station/get_climate --demo",
            "switchboard tools call calculator_arithmetic '{\"expression\": \"6 * 7\"}' --demo --yes",
        ],
    ),
    (
        "policy",
        &[
            "switchboard policy add allow station/get_climate",
            "switchboard policy add 'allow files/write_* where path inside ~/docs'",
            "switchboard policy add 'deny */delete_*'",
            "switchboard policy explain station/get_climate --demo",
        ],
    ),
    (
        "servers",
        &[
            "switchboard servers add time -- uvx mcp-server-time",
            "switchboard servers add docs https://example.com/mcp",
            "switchboard servers import claude",
            "switchboard servers status",
        ],
    ),
    ("sessions", &["switchboard sessions list", "switchboard sessions resume ID \"And in the kitchen?\""]),
    (
        "secrets",
        &[
            "switchboard secrets set token",
            "switchboard servers add docs https://example.com/mcp --header 'Authorization: Bearer ${secret:token}'",
        ],
    ),
    (
        "completions",
        &[
            "switchboard completions bash > ~/.local/share/bash-completion/completions/switchboard",
            "switchboard completions zsh > ~/.zfunc/_switchboard",
            "switchboard completions fish > ~/.config/fish/completions/switchboard.fish",
        ],
    ),
];

/// The command line with its options in groups and its examples.
pub(super) fn arranged(command: Command) -> Command {
    let everywhere = |arg: Arg| if arg.is_global_set() { arg.help_heading(EVERYWHERE) } else { arg };
    with_examples(grouped(command)).mut_args(everywhere)
}

fn grouped(mut command: Command) -> Command {
    for (heading, mark, ids) in GROUPS {
        if command.get_arguments().any(|arg| arg.get_id() == mark) {
            command = command.mut_args(|arg| {
                let is_one = !arg.is_positional() && ids.contains(&arg.get_id().as_str());
                if is_one { arg.help_heading(*heading) } else { arg }
            });
        }
    }
    command.mut_subcommands(|inner| with_examples(grouped(inner)))
}

/// Examples in each help, and what stood at its end in the long one.
fn with_examples(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let examples = EXAMPLES.iter().find(|(of, _)| *of == name);
    let examples = examples.map(|(_, lines)| format!("Examples:\n  {}", lines.join("\n  ")));
    let end = command.get_after_help().map(ToString::to_string);
    let long: Vec<String> = examples.iter().cloned().chain(end).collect();
    if long.is_empty() {
        return command;
    }
    let short = examples.map(StyledStr::from);
    let long = StyledStr::from(long.join("\n\n"));
    command.after_help(short.unwrap_or_default()).after_long_help(long)
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::EXAMPLES;
    use crate::cli::command;

    fn each(command: &Command, look: &mut impl FnMut(&Command)) {
        look(command);
        command.get_subcommands().for_each(|inner| each(inner, look));
    }

    #[test]
    fn every_example_is_a_command_line_that_is_understood() {
        for line in EXAMPLES.iter().flat_map(|(_, lines)| *lines) {
            let line = line.split(['<', '>']).next().unwrap_or_default();
            let words = shlex::split(line).unwrap();
            let read = command().try_get_matches_from(&words);
            assert!(read.is_ok(), "{line}: {}", read.unwrap_err());
        }
    }

    #[test]
    fn every_command_says_what_it_does_in_a_line_that_fits() {
        let mut all = command();
        all.build();
        each(&all, &mut |command| {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.is_empty(), "{} says nothing", command.get_name());
            assert!(!about.ends_with('.') && about.chars().count() <= 88, "{}: {about}", command.get_name());
        });
    }

    #[test]
    fn options_that_commands_share_stand_in_groups() {
        for (name, heads) in [
            (
                "run",
                &["Arguments:", "Options:", "Servers:", "Model:", "Consent:", "Every command:", "Examples:"]
                    [..],
            ),
            ("chat", &["Servers:", "Model:", "Consent:", "Every command:"]),
            ("policy", &["Commands:", "Options:", "Every command:", "Examples:"]),
        ] {
            let mut all = command();
            all.build();
            let help = all.find_subcommand_mut(name).unwrap().render_help().to_string();
            let at: Vec<_> = heads.iter().map(|head| help.find(&format!("\n{head}\n"))).collect();
            assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{heads:?} at {at:?} in {help}");
            assert!(!help.contains("Exit codes"), "they are in the long help: {help}");
        }
    }
}
