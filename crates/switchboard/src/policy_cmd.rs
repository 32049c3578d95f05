//! `switchboard policy`: what the rules say, whether they are about anything, and the answers that were given for more
//! than one call.
//!
//! Deciding is `switchboard_agent::policy`; the file that `add` and `remove` write is in `policy_cmd/file.rs`, `explain`
//! in `policy_cmd/explain.rs`.

mod explain;
mod file;

use std::collections::BTreeSet;

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use switchboard_agent::exposure::Exposure;
use switchboard_agent::policy::{Grant, Grants, Mode, PinState, Pins, Policy, Preset, Rule, Scope};
use switchboard_agent::{ServerName, visible};

use crate::consent::{self, ConsentArgs};
use crate::failure::Failure;
use crate::kept;
use crate::output;
use crate::rules;
use crate::screen::Screen;
use crate::servers::ServerArgs;
use crate::session::{Options, Session};
use crate::settings::Settings;

/// Look at the rules about calls, and change them
#[derive(Args, Debug)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the rules, and the answers that were given for a session or for always
    List,
    /// Check that each rule of the configuration is one, and is about a tool that there is
    Check {
        #[command(flatten)]
        servers: ServerArgs,
    },
    /// Say what would become of a call, and which rule decides
    Explain {
        /// The tool: NAME, or SERVER/NAME
        #[arg(value_name = "SERVER/TOOL")]
        tool: String,

        /// The arguments, a JSON object, as in `tools call`. Without it: of any call of the tool, with what rules want
        /// of arguments
        #[arg(value_name = "JSON")]
        given: Option<String>,

        /// The same as JSON behind the tool
        #[arg(long, value_name = "JSON", conflicts_with = "given")]
        arguments: Option<String>,

        /// Whether somebody can be asked
        #[arg(long, value_name = "MODE", default_value = "interactive")]
        mode: PresenceArg,

        /// Who makes the call
        #[arg(long, value_name = "NAME")]
        principal: Option<String>,

        /// The session that it is made in
        #[arg(long, value_name = "ID")]
        session: Option<String>,

        #[command(flatten)]
        consent: ConsentArgs,

        #[command(flatten)]
        servers: ServerArgs,
    },
    /// Add a rule to the configuration of this user
    Add {
        /// The rule, in quotation marks or not: 'allow station/get_*', 'deny */delete_*',
        /// 'allow files/write_* where path inside ~/docs'; `*` stands for any text, `?` for one character
        #[arg(value_name = "RULE", required = true, allow_negative_numbers = true)]
        rule: Vec<String>,
    },
    /// Remove a rule from the configuration of this user, or take an answer back
    Remove {
        /// The rule, as `policy list` shows it, or the id of an answer
        #[arg(value_name = "RULE", required = true, allow_negative_numbers = true)]
        what: Vec<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PresenceArg {
    Interactive,
    Headless,
}

/// A rule with `--json`.
#[derive(Serialize)]
struct RuleEntry {
    /// As one line.
    rule: String,
    /// As it stands in a file.
    definition: Rule,
    /// Where it is written.
    origin: String,
}

#[derive(Serialize)]
struct List {
    preset: Preset,
    rules: Vec<RuleEntry>,
    grants: Vec<Grant>,
}

/// What a check found about a rule.
#[derive(Serialize)]
struct Checked {
    rule: String,
    origin: String,
    /// `ok`, `unmatched`, or `unknown` if its servers are not there.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// Runs the command.
pub(crate) async fn command(
    args: PolicyArgs,
    (json, verbose): (bool, bool),
    (settings, screen): (&Settings, &Screen),
) -> Result<(), Failure> {
    let view = View { json, verbose, settings, screen };
    match args.action {
        Action::List => view.list(),
        Action::Check { servers } => view.check(&servers).await,
        Action::Explain { tool, given, arguments, mode, principal, session, consent, servers } => {
            let mode = if mode == PresenceArg::Headless { Mode::Fail } else { Mode::Interactive };
            let scope = principal.into_iter().fold(Scope::run(), Scope::by);
            let scope = session.into_iter().fold(scope, Scope::in_session);
            view.explain(
                (&tool, given.or(arguments).as_deref()),
                (&consent.or_mode(mode), &scope),
                &servers.for_tool(&tool),
            )
            .await
        }
        Action::Add { rule } => view.add(&line(&rule)),
        Action::Remove { what } => view.remove(&line(&what)),
    }
}

/// The words of a command line as one line: the rule as it was quoted for the shell, or its words one by one.
fn line(words: &[String]) -> String {
    let word = |(index, word): (usize, &String)| {
        // The shell took the quotation marks off that held a word together.
        let was_quoted = index > 0 && (word.is_empty() || word.contains(char::is_whitespace));
        let is_json = word.starts_with(['"', '\'', '[', '{']);
        if was_quoted && !is_json { serde_json::Value::from(word.as_str()).to_string() } else { word.clone() }
    };
    words.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
}

struct View<'a> {
    json: bool,
    verbose: bool,
    settings: &'a Settings,
    screen: &'a Screen,
}

impl View<'_> {
    fn list(&self) -> Result<(), Failure> {
        let rules = rules::rules(self.settings.config())?;
        let preset = rules::preset(self.settings.config())?;
        let grants = self.grants()?.list().map_err(|error| kept::failure(&error))?;
        if self.json {
            let rules = rules.into_iter().map(|(rule, origin)| RuleEntry {
                rule: rule.to_string(),
                definition: rule,
                origin,
            });
            return output::json(&List { preset, rules: rules.collect(), grants });
        }
        let mut out = vec![format!("preset {preset}")];
        out.extend(rules.iter().map(|(rule, origin)| format!("{rule}   ({origin})")));
        out.extend(
            grants
                .iter()
                .map(|grant| format!("{}   (answer {})", visible::line(&grant.to_string()), grant.id)),
        );
        output::text(&out.join("\n"))
    }

    async fn check(&self, servers: &ServerArgs) -> Result<(), Failure> {
        let rules = rules::rules(self.settings.config())?;
        rules::preset(self.settings.config())?;
        let session = self.open(servers, None).await?;
        let known = session.run(session.tools()).await;
        let known = known.map(|exposure| {
            let mut absent: Vec<ServerName> =
                session.failed().iter().map(|failed| failed.server.clone()).collect();
            absent.extend(session.absent().iter().cloned());
            let is_here = |name: &ServerName| exposure.servers().iter().any(|(server, _)| server == name);
            absent.extend(self.known().into_iter().map(|(name, _)| name).filter(|name| !is_here(name)));
            (exposure, absent)
        });
        session.close().await;
        let (exposure, absent) = known?;
        let checked: Vec<Checked> =
            rules.iter().map(|(rule, origin)| check(rule, origin, (&exposure, &absent))).collect();
        let unmatched =
            checked.iter().find_map(|checked| Some((checked.rule.clone(), checked.problem.clone()?)));
        if self.json {
            output::json(&checked)?;
        } else if checked.is_empty() {
            self.screen.note("the configuration has no rules");
            self.screen.hint("add one with: switchboard policy add RULE");
        } else {
            let lines = checked
                .iter()
                .map(|checked| format!("{:<9} {}   ({})", checked.state, checked.rule, checked.origin));
            output::text(&lines.collect::<Vec<_>>().join("\n"))?;
        }
        match unmatched {
            None => Ok(()),
            Some((rule, problem)) => Err(Failure::usage(
                problem,
                format!(
                    "a rule that is about nothing protects nothing; remove it with: switchboard policy remove {}",
                    visible::argument(&rule)
                ),
            )),
        }
    }

    fn add(&self, rule: &str) -> Result<(), Failure> {
        let rule: Rule = rule.parse().map_err(|error: switchboard_agent::policy::InvalidRule| {
            Failure::usage(error.to_string(), EXAMPLE)
        })?;
        let path = self.settings.paths()?.config_file();
        rule.is_about(&self.known()).map_err(|error| {
            let hint = format!(
                "nothing was added; for a server or a tool that is not there yet, write it into {}",
                visible::line(&path.display().to_string())
            );
            Failure::usage(error.to_string(), hint)
        })?;
        file::add(&path, &rule)?;
        self.done("added", &rule.to_string(), &path.display().to_string())?;
        if !self.json {
            self.screen.hint("see that it is about a tool that there is with: switchboard policy check");
        }
        Ok(())
    }

    /// The servers that files name or that were seen before, and their tools where they are pinned.
    fn known(&self) -> Vec<(ServerName, Option<Vec<String>>)> {
        let elsewhere = consent::elsewhere(self.settings);
        let names = consent::configured(self.settings).chain(elsewhere.iter().map(String::as_str));
        let names: BTreeSet<ServerName> = names.filter_map(|name| ServerName::new(name).ok()).collect();
        let pins = self.settings.store_path().ok().filter(|path| path.exists());
        let pins = pins.and_then(|_| kept::store(self.settings).ok()).map(Pins::new);
        let tools = |server: &ServerName| {
            let pinned = pins.as_ref()?.of(server).ok()??;
            Some(pinned.tools.into_keys().collect())
        };
        names.into_iter().map(|server| (server.clone(), tools(&server))).collect()
    }

    fn remove(&self, what: &str) -> Result<(), Failure> {
        if let Ok(rule) = what.parse::<Rule>() {
            let path = self.settings.paths()?.config_file();
            if file::remove(&path, &rule)? {
                return self.done("removed", &rule.to_string(), &path.display().to_string());
            }
            let elsewhere =
                rules::rules(self.settings.config())?.into_iter().find(|(other, _)| *other == rule);
            return Err(match elsewhere {
                Some((_, origin)) => Failure::usage(
                    format!("the rule is written in {origin}, which is not this user's own file"),
                    "remove it there",
                ),
                None => Failure::usage("there is no such rule", LIST),
            });
        }
        if self.grants()?.remove(what).map_err(|error| kept::failure(&error))? {
            return self.done("removed", what, "what is kept");
        }
        Err(Failure::usage(format!("no answer has the id {}", visible::quoted(what, 60)), LIST))
    }

    fn done(&self, what: &str, rule: &str, place: &str) -> Result<(), Failure> {
        if self.json {
            return output::json(&serde_json::json!({ what: rule, "from": place }));
        }
        output::text(&format!("{what} {} ({})", visible::line(rule), visible::line(place)))
    }

    fn grants(&self) -> Result<Grants, Failure> {
        Ok(Grants::new(kept::store(self.settings)?))
    }

    async fn open(&self, servers: &ServerArgs, consent: Option<&ConsentArgs>) -> Result<Session, Failure> {
        let options =
            Options { settings: self.settings, servers, consent, verbose: self.verbose, time_limit: None };
        Session::open(&options, self.screen).await
    }
}

const EXAMPLE: &str = "such as: switchboard policy add 'allow files/read_* where path inside ~/docs'";
const LIST: &str = "see what there is with: switchboard policy list";

fn check(rule: &Rule, origin: &str, (exposure, absent): (&Exposure, &[ServerName])) -> Checked {
    let alone = Policy::new(Mode::Fail).rule(rule.clone());
    let (state, problem) = match (alone.check(exposure, &[]), alone.check(exposure, absent)) {
        (Ok(()), _) => ("ok", None),
        (Err(_), Ok(())) => ("unknown", None),
        (Err(error), Err(_)) => ("unmatched", Some(format!("{origin}: {error}"))),
    };
    Checked { rule: rule.to_string(), origin: origin.to_owned(), state, problem }
}

/// How a tool stands to its pin, for people.
pub(crate) fn pin(state: &PinState) -> String {
    match state {
        PinState::Same => "as it was agreed to".to_owned(),
        PinState::Changed { difference, .. } => format!("changed since it was agreed to\n{difference}"),
        PinState::New { resembles, .. } => match resembles {
            Some(other) => format!("new on this server, and like {}, which is gone", visible::name(other)),
            None => "new on this server".to_owned(),
        },
        PinState::Gone => "not listed any more".to_owned(),
        PinState::Unreadable { problem } => format!("unreadable: {}", visible::line(problem)),
    }
}

#[cfg(test)]
mod tests {
    use switchboard_agent::policy::Rule;

    use super::line;

    #[test]
    fn a_rule_is_the_same_quoted_and_word_by_word() {
        for (words, rule) in [
            (&["allow station/get_*"][..], "allow station/get_*"),
            (&["allow", "station/get_*"], "allow station/get_*"),
            (&["deny", "*"], "deny */*"),
            (&["allow", "f/w", "where", "path", "inside", "~/docs"], "allow f/w where path inside ~/docs"),
            (
                &["allow", "f/w", "where", "path", "inside", "~/my docs"],
                r#"allow f/w where path inside "~/my docs""#,
            ),
            (
                &["allow", "f/w", "where", "path", "inside", r#"["/a", "/b"]"#],
                r#"allow f/w where path inside ["/a","/b"]"#,
            ),
            (&["allow", "f/w", "where", "n", "equals", "-1"], "allow f/w where n equals -1"),
            (&["ask", "f/w", "because", "I want to see it"], r#"ask f/w because "I want to see it""#),
        ] {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            let read: Rule = line(&words).parse().unwrap_or_else(|error| panic!("{words:?}: {error}"));
            assert_eq!(read.to_string(), rule, "{words:?}");
        }
    }
}
