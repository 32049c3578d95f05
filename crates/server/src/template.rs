//! URI templates.

use crate::extract::Matched;

pub(crate) struct UriTemplate {
    parts: Vec<(String, Option<String>)>,
}

impl UriTemplate {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or("a brace is not closed")?;
            parts.push((before.to_owned(), Some(name.to_owned())));
            rest = after;
        }
        parts.push((rest.to_owned(), None));
        Ok(Self { parts })
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|(_, name)| name.as_deref())
    }

    pub(crate) fn matches(&self, uri: &str) -> Option<Matched> {
        let mut rest = uri;
        let mut vars = Matched::new();
        let mut parts = self.parts.iter().peekable();
        while let Some((before, name)) = parts.next() {
            rest = rest.strip_prefix(before.as_str())?;
            let Some(name) = name else { return rest.is_empty().then_some(vars) };
            let next = parts.peek().map_or("", |(before, _)| before.as_str());
            let end = if next.is_empty() { rest.len() } else { rest.find(next)? };
            vars.push((name.clone(), vec![rest[..end].to_owned()]));
            rest = &rest[end..];
        }
        None
    }
}
