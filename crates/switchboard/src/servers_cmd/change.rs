//! `servers add`, `remove`, `enable`, `disable`: changes to our own file, which keep its comments.

use clap::Args;
use serde::Serialize;
use switchboard_agent::{ServerName, visible};
use switchboard_config::{Edit, EditError, NewServer};

use super::list::rows;
use super::{PlaceArgs, View};
use crate::failure::Failure;
use crate::output;
use crate::servers;
use crate::settings::nearest;

/// Options of `servers add`.
#[derive(Args, Debug)]
#[command(
    override_usage = "switchboard servers add [OPTIONS] NAME URL\n       switchboard servers add [OPTIONS] NAME -- CMD ARGS"
)]
pub(super) struct AddArgs {
    /// What to call it
    #[arg(value_name = "NAME")]
    name: String,

    /// The address of a server over HTTP
    #[arg(value_name = "URL", conflicts_with = "command")]
    url: Option<String>,

    /// The program to start and its arguments, after `--`; each word is kept as it is
    #[arg(last = true, value_name = "CMD ARGS")]
    command: Vec<String>,

    /// A variable of its environment; a secret is best named: 'KEY=${secret:NAME}'. Repeatable
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    env: Vec<String>,

    /// A header of every request; a secret is best named: 'Authorization: Bearer ${secret:NAME}'. Repeatable
    #[arg(long, value_name = "NAME: VALUE", conflicts_with = "command")]
    header: Vec<String>,

    /// The folder that it is started in
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    cwd: Option<String>,

    /// Write it in the place of the one that there is
    #[arg(long)]
    replace: bool,

    #[command(flatten)]
    place: PlaceArgs,
}

/// What was changed, with `--json`.
#[derive(Serialize)]
struct Changed<'a> {
    name: &'a str,
    change: &'static str,
    file: String,
}

impl View<'_> {
    pub(super) fn add(&self, args: AddArgs) -> Result<(), Failure> {
        let name = ServerName::new(&args.name)
            .map_err(|error| Failure::usage(error.to_string(), "choose another name"))?;
        let mut server = NewServer::default();
        server.env = pairs(&args.env, '=', "--env NAME=VALUE")?;
        server.headers = pairs(&args.header, ':', "--header 'NAME: VALUE'")?;
        server.cwd = args.cwd;
        match &args.url {
            // An address with a reference in it cannot be read yet.
            Some(url) if !url.contains("${") => server.url = Some(servers::url(url)?.to_string()),
            Some(url) => server.url = Some(url.clone()),
            None if args.command.is_empty() => {
                let word = visible::argument(&args.name);
                let hint = format!(
                    "write: switchboard servers add {word} URL, or: switchboard servers add {word} -- CMD ARGS"
                );
                return Err(Failure::usage("nothing says what the server is", hint).on_server(&args.name));
            }
            None => {
                let mut words = args.command.into_iter();
                server.command = words.next();
                server.args = words.collect();
            }
        }
        let mut edit = open(&args.place, self)?;
        if edit.reaches(name.as_str()) && !args.replace {
            let message = format!("{} has a server of this name already", edit.file().display());
            return Err(
                Failure::usage(message, "choose another name, or add --replace").on_server(name.as_str())
            );
        }
        edit.set(name.as_str(), &server).map_err(|error| failure(&error))?;
        self.save(&edit, name.as_str(), "added")
    }

    pub(super) fn remove(&self, name: &str, place: PlaceArgs) -> Result<(), Failure> {
        let mut edit = open(&place, self)?;
        if !edit.remove(name).map_err(|error| failure(&error))? {
            return Err(self.not_there(name, &edit));
        }
        self.save(&edit, name, "removed")
    }

    pub(super) fn enable(&self, name: &str, enabled: bool, place: PlaceArgs) -> Result<(), Failure> {
        let mut edit = open(&place, self)?;
        let config = self.settings.all();
        if !edit.has(name) && !rows(&config).iter().any(|row| row.name == name) {
            return Err(self.not_there(name, &edit));
        }
        edit.enable(name, enabled).map_err(|error| failure(&error))?;
        if enabled {
            edit.save().map_err(|error| failure(&error))?;
            // Another file may disable it, too.
            if self.settings.all().servers.iter().any(|server| server.name == name && !server.enabled) {
                edit.enable(name, true).map_err(|error| failure(&error))?;
            }
        }
        self.save(&edit, name, if enabled { "enabled" } else { "disabled" })
    }

    pub(super) fn save(&self, edit: &Edit, name: &str, change: &'static str) -> Result<(), Failure> {
        edit.save().map_err(|error| failure(&error))?;
        let file = edit.file().display().to_string();
        if self.json {
            return output::json(&Changed { name, change, file });
        }
        let place = if change == "removed" { "from" } else { "in" };
        output::text(&format!("{name} {change} {place} {file}"))
    }

    fn not_there(&self, name: &str, edit: &Edit) -> Failure {
        let config = self.settings.all();
        let rows = rows(&config);
        if rows.iter().any(|row| row.name == name) {
            let message =
                format!("it is not written in {}, and other files are never changed", edit.file().display());
            let hint = format!("switch it off with: switchboard servers disable {name}");
            return Failure::usage(message, hint).on_server(name);
        }
        let known: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        let hint = nearest(name, &known).map_or_else(
            || "see what there is with: switchboard servers list".to_owned(),
            |meant| format!("did you mean {meant}?"),
        );
        Failure::usage(format!("no server is called {name:?}"), hint)
    }
}

pub(super) fn open(place: &PlaceArgs, view: &View<'_>) -> Result<Edit, Failure> {
    Edit::open(&place.file(view.settings)?).map_err(|error| failure(&error))
}

pub(super) fn failure(error: &EditError) -> Failure {
    let hint = match error {
        EditError::Broken { .. } => "correct the file first; nothing was changed",
        _ => "check the permissions of the file and its folder",
    };
    Failure::usage(error.to_string(), hint)
}

fn pairs(texts: &[String], between: char, how: &str) -> Result<Vec<(String, String)>, Failure> {
    let pair = |text: &String| {
        // What was given may be a secret, so it is not repeated.
        let refused =
            || Failure::usage("a variable or header has no name or no value", format!("write {how}"));
        let (name, value) = text.split_once(between).ok_or_else(refused)?;
        let name = name.trim();
        if name.is_empty() { Err(refused()) } else { Ok((name.to_owned(), value.trim().to_owned())) }
    };
    texts.iter().map(pair).collect()
}
