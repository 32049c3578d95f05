//! What a decision about something of a project is bound to besides its own words: the files that are read into it, and
//! the values of variables that decide what is started, or who is asked.

use std::collections::BTreeSet;

use super::{Found, Loader};
use crate::config::Broken;
use crate::digest;
use crate::expand::{Expander, mentions};
use crate::origin::{OriginKind, Problem};
use crate::places::Place;
use crate::raw::{RawServer, RawTarget, Text};
use crate::shown;

/// How many files may be read into one entry of a project before it is trusted.
const MAX_FILES: usize = 64;

impl Loader<'_> {
    /// The hash, bound to the files that these texts put in and to the values of these variables, too.
    ///
    /// # Errors
    /// Why that cannot be done.
    pub(super) fn bound<'t>(
        &self,
        hash: String,
        (place, variables): (&Place, &BTreeSet<String>),
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Result<String, String> {
        let sources = &self.sources.without_secrets();
        let expander = Expander::new(sources, place, &[], &self.answers);
        let texts = texts.into_iter().flat_map(|text| mentions(text, place.kind));
        let files: BTreeSet<_> = texts.filter_map(|mention| Some(expander.path(&mention.file?))).collect();
        let hash = self.bound_to_values(hash, variables);
        if files.is_empty() {
            return Ok(hash);
        }
        if files.len() > MAX_FILES {
            return Err(format!("it puts in more than {MAX_FILES} files, so nobody can decide about it"));
        }
        let contents = files.iter().map(|file| match super::expand::small_file(file) {
            Ok(text) => digest::of(&[&text]),
            // Once it is there it is something new.
            Err(_) => String::new(),
        });
        let contents: Vec<String> = contents.collect();
        let parts = std::iter::once(&hash).chain(&contents).map(String::as_str);
        Ok(digest::of(&parts.collect::<Vec<_>>()))
    }

    /// One that is not set is another value than one that is empty.
    fn bound_to_values(&self, hash: String, variables: &BTreeSet<String>) -> String {
        if variables.is_empty() {
            return hash;
        }
        let mut parts = vec![hash];
        for name in variables {
            let value = (self.sources.env)(name);
            parts.extend([name.clone(), value.is_some().to_string(), value.unwrap_or_default()]);
        }
        digest::of(&parts.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// These variables with what they hold now, for whoever decides.
    pub(super) fn values(&self, variables: &BTreeSet<String>) -> impl Iterator<Item = String> {
        variables.iter().map(|name| match (self.sources.env)(name) {
            None => format!("{name} is not set"),
            Some(_) if shown::is_secret(name) => format!("{name} is ***"),
            Some(value) => format!("{name} is {}", shown::address(&value)),
        })
    }

    /// What a decision about a server of a project is bound to.
    ///
    /// # Errors
    /// Why nobody can decide about it.
    pub(super) fn hash_of(&self, found: &Found) -> Result<String, Problem> {
        let Found { raw, place, .. } = found;
        let texts = raw.target.as_ref().map(RawTarget::texts).unwrap_or_default();
        let env_file = match &raw.target {
            Some(RawTarget::Command { env_file: Some(file), .. }) => Some(file),
            _ => None,
        };
        // Where the file is would be known only after the decision.
        if let Some(file) = env_file
            && let Some(kept) = mentions(&file.text, place.kind).into_iter().find(|mention| mention.is_kept)
        {
            let message = format!(
                "its file with variables is named by {}, which a file of a project must not do",
                kept.written
            );
            return Err(raw.problem(file.at, message, "write the path, or leave it out"));
        }
        let hash = raw.hash(self.env_file(found).as_deref());
        self.bound(hash, (place, &deciding(raw)), texts.iter().map(|text| text.text.as_str())).map_err(
            |message| {
                let at = texts.first().map(|text| text.at).unwrap_or_default();
                raw.problem(at, message, "put in fewer files")
            },
        )
    }

    /// What is in the file with variables, which can change what a program does as well as its arguments.
    fn env_file(&self, found: &Found) -> Option<String> {
        let Some(RawTarget::Command { env_file: Some(file), .. }) = &found.raw.target else { return None };
        // Nothing is asked, and no secret is read, for something that is not trusted yet.
        let sources = &self.sources.without_secrets();
        let expander = Expander::new(sources, &found.place, &[], &self.answers);
        let path = expander.path(&expander.expand(&file.text).ok()?);
        super::expand::small_file(&path).ok()
    }

    /// Keeps that a server cannot be used.
    pub(super) fn broken(&mut self, raw: &RawServer, problem: Problem) {
        self.config.broken.push(Broken {
            name: raw.name.clone(),
            origin: problem.origin.clone(),
            shown: raw.target.as_ref().map(shown::target).unwrap_or_default(),
            reason: problem.message.clone(),
            hint: problem.hint.clone(),
        });
        self.config.problems.push(problem);
    }
}

/// The variables that decide what is started, or who is asked. A token in an argument or an address decides neither, and
/// changes often.
pub(super) fn deciding(raw: &RawServer) -> BTreeSet<String> {
    let (program, others) = match &raw.target {
        None => return BTreeSet::new(),
        Some(RawTarget::Command { command, args, env: _, env_file: _, cwd }) => {
            (Some(command), args.iter().chain(cwd).collect())
        }
        Some(RawTarget::Http { url, .. }) => (None, vec![url]),
    };
    let named = |text: &Text| variables(&text.text, raw.origin.kind);
    let others = others.into_iter().flat_map(named).filter(|name| !shown::is_secret(name));
    program.into_iter().flat_map(named).chain(others).collect()
}

/// The variables of the rest of a file, but for those that are called like a secret.
pub(super) fn deciding_rest(texts: &[&str], kind: OriginKind) -> BTreeSet<String> {
    texts.iter().flat_map(|text| variables(text, kind)).filter(|name| !shown::is_secret(name)).collect()
}

fn variables(text: &str, kind: OriginKind) -> impl Iterator<Item = String> + use<> {
    mentions(text, kind).into_iter().filter_map(|mention| mention.variable)
}
