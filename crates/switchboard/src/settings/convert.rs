//! Entries of the configuration as the agent takes them.

use switchboard_agent::ServerName;
use switchboard_agent::supervisor::{Secret, ServerConfig, ServerTarget};
use switchboard_client::{Era, Revision, Root};
use switchboard_config::{EraChoice, SecretString, ServerEntry, Target, Trust, Variables};
use url::Url;

use crate::failure::Failure;

/// One server, which inherits none of these variables that is another's.
pub(super) fn server(entry: &ServerEntry, variables: &Variables) -> Result<ServerConfig, Failure> {
    let failure = |why: String| {
        Failure::usage(format!("{}: {why}", entry.origin), "correct the entry").on_server(&entry.name)
    };
    let name = ServerName::new(&entry.name).map_err(|error| failure(error.to_string()))?;
    let secret = |value: &SecretString| Secret::new(value.expose());
    let target = match &entry.target {
        Target::Command { command, args, env, env_file: _, cwd } => ServerTarget::Command {
            program: command.clone(),
            args: args.clone(),
            env: env.iter().map(|(name, value)| (name.clone(), secret(value))).collect(),
            env_remove: variables.withheld_from(&entry.name).map(str::to_owned).collect(),
            cwd: cwd.clone(),
        },
        Target::Http { url, headers, transport: _ } => ServerTarget::Http {
            url: url.clone(),
            headers: headers.iter().map(|(name, value)| (name.clone(), secret(value))).collect(),
        },
    };
    let mut server = ServerConfig::new(name, target);
    server.origin = entry.origin.to_string();
    server.era = era(entry.era.as_ref()).map_err(failure)?;
    server.enabled = entry.enabled;
    server.required = entry.required;
    server.lazy = entry.lazy;
    server.idle_stop = entry.idle_stop;
    server.startup_timeout = entry.startup_timeout;
    server.idle_timeout = entry.idle_timeout;
    server.hard_timeout = entry.hard_timeout;
    server.max_concurrency = entry.max_concurrency;
    server.include.clone_from(&entry.tools.include);
    server.exclude.clone_from(&entry.tools.exclude);
    server.rename.clone_from(&entry.tools.rename);
    server.trusted = entry.trust == Trust::Full;
    let project = entry.project.as_deref().and_then(|folder| Url::from_directory_path(folder).ok());
    server.roots = project.into_iter().map(|url| Root { uri: url.to_string(), ..Root::default() }).collect();
    server.hash.clone_from(&entry.hash);
    server.secrets = entry.secrets.iter().map(secret).collect();
    Ok(server)
}

fn era(choice: Option<&EraChoice>) -> Result<Era, String> {
    Ok(match choice {
        None | Some(EraChoice::Auto) => Era::Auto,
        Some(EraChoice::Modern) => Era::Modern,
        Some(EraChoice::Legacy) => Era::Legacy,
        Some(EraChoice::Revision(date)) => {
            Era::Pinned(Revision::from_date(date).ok_or_else(|| format!("no revision has the date {date}"))?)
        }
    })
}
