//! `switchboard config`: where the configuration is, and what it may hold.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;
use switchboard_config::{Notice, Problem};

use crate::failure::Failure;
use crate::output;
use crate::screen::Screen;
use crate::settings::Settings;

/// See where the configuration is and what it may hold
#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the JSON Schema of config.toml, for editors
    Schema,
    /// Print where your configuration and what is kept are
    Path,
    /// Say what is wrong with all files; exit code 1 if something cannot be used
    Check,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Places {
    config_file: PathBuf,
    project_file: PathBuf,
    data_dir: PathBuf,
}

#[derive(Serialize)]
struct Checked<'a> {
    warnings: &'a [Notice],
    problems: &'a [Problem],
}

/// Runs the command.
pub(crate) fn command(
    args: &ConfigArgs,
    json: bool,
    (settings, screen): (&Settings, &Screen),
) -> Result<(), Failure> {
    match args.action {
        Action::Schema => {
            let schema = switchboard_config::schema();
            if json { output::whole_json(schema) } else { output::whole_text(&format!("{schema:#}")) }
        }
        Action::Path => {
            let sources = settings.sources()?;
            let paths = &sources.paths;
            let (config_file, project_file) = (paths.config_file(), sources.project_file());
            let places = Places { config_file, project_file, data_dir: paths.data_dir.clone() };
            if json {
                return output::json(&places);
            }
            let Places { config_file, project_file, data_dir } = places;
            output::text(&format!(
                "yours    {}\nproject  {}\ndata     {}",
                config_file.display(),
                project_file.display(),
                data_dir.display()
            ))
        }
        Action::Check => check(json, (settings, screen)),
    }
}

fn check(json: bool, (settings, screen): (&Settings, &Screen)) -> Result<(), Failure> {
    let config = settings.all();
    let (warnings, problems) = (&config.warnings, &config.problems);
    if json {
        output::json(&Checked { warnings, problems })?;
    } else {
        for notice in warnings {
            screen.warning(&notice.to_string());
        }
        for problem in problems.iter().skip(1) {
            screen.warning(&problem.to_string());
            screen.hint(&problem.hint);
        }
    }
    match problems.first() {
        Some(problem) => Err(Failure::usage(problem.to_string(), problem.hint.clone())),
        None if json => Ok(()),
        None => output::text("everything can be used"),
    }
}
