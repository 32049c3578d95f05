//! Questions about the configuration, on a terminal: inputs, and whether a project may start what it names.

use std::io::{self, BufRead as _};

use switchboard_agent::visible;
use switchboard_config::{Ask, Input, SecretString, Untrusted};

use crate::screen::Screen;
use crate::stdin;

/// How often an answer that is none is asked again.
const MAX_TRIES: u32 = 3;

/// Asks for inputs.
pub(super) struct TerminalInput(Screen);

impl TerminalInput {
    pub(super) fn new(screen: Screen) -> Self {
        Self(screen)
    }

    fn pick(&self, input: &Input) -> Option<SecretString> {
        let Self(screen) = self;
        for (index, option) in input.options.iter().enumerate() {
            screen.line(&format!("  {}  {}", index + 1, visible::line(option)));
        }
        for _ in 0..MAX_TRIES {
            let answer = line(screen, &format!("  1 to {}: ", input.options.len()))?;
            let by_number =
                answer.parse::<usize>().ok().and_then(|number| input.options.get(number.checked_sub(1)?));
            if let Some(option) = by_number.or_else(|| input.options.iter().find(|option| **option == answer))
            {
                return Some(SecretString::new(option.clone()));
            }
        }
        None
    }
}

impl Ask for TerminalInput {
    fn ask(&self, input: &Input) -> Option<SecretString> {
        let Self(screen) = self;
        let _still = screen.still();
        stdin::forget_typed();
        screen.line(&format!("{} (input {})", visible::line(&input.description), visible::line(&input.id)));
        if !input.options.is_empty() {
            return self.pick(input);
        }
        if input.password {
            return hidden(screen, "  value, which is not shown: ");
        }
        let default = input.default.as_deref().unwrap_or_default();
        let hint = if default.is_empty() { String::new() } else { format!(" [{}]", visible::line(default)) };
        let answer = line(screen, &format!("  value{hint}: "))?;
        let answer = if answer.is_empty() { default.to_owned() } else { answer };
        (!answer.is_empty()).then(|| SecretString::new(answer))
    }
}

/// Reads what must not be seen.
pub(crate) fn hidden(screen: &Screen, question: &str) -> Option<SecretString> {
    // What is typed right after the question must not be seen, either.
    let _quiet = stdin::quiet();
    screen.ask(question);
    let answer = stdin::hidden_line();
    screen.answered();
    answer.filter(|answer| !answer.is_empty()).map(SecretString::new)
}

fn line(screen: &Screen, question: &str) -> Option<String> {
    screen.ask(question);
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    screen.answered();
    matches!(read, Ok(1..)).then(|| line.trim().to_owned())
}

/// Asks about what projects name, one after the other. Returns what is trusted.
pub(super) fn trust(open: Vec<Untrusted>, screen: &Screen) -> Vec<Untrusted> {
    let mut trusted = Vec::new();
    for one in open {
        let _still = screen.still();
        stdin::forget_typed();
        screen.line("");
        show(&one, screen);
        let question = screen.strong("  [y] trust it from now on   [n] not this time: ");
        let answer = line(screen, &question).unwrap_or_default().to_lowercase();
        if ["y", "yes"].contains(&answer.as_str()) {
            trusted.push(one);
        }
    }
    trusted
}

/// What is to be decided, whole.
pub(crate) fn show(one: &Untrusted, screen: &Screen) {
    let Untrusted { server, origin, shown, details, changed, .. } = one;
    let since = if *changed { ", which has changed since it was trusted" } else { "" };
    let what = match server {
        Some(name) => format!("This project has a server{since}: {}", visible::line(name)),
        None => format!("This project has settings{since}"),
    };
    screen.line(&what);
    screen.line(&format!("  {}", visible::line(shown)));
    for detail in details {
        screen.line(&format!("    {}", visible::line(detail)));
    }
    screen.line(&format!("  written in {origin}"));
}
