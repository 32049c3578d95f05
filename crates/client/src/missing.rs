//! What a server wants of a client that does not offer it, as a sentence with a next action
//! [spec: basic, Error Codes].

use switchboard_protocol::model::capability::ClientCapabilities;

use crate::error::excerpt;

/// What the server wants to do, and how the client would offer it; `None` if these are none that this
/// client knows.
pub(crate) fn capabilities(required: &ClientCapabilities) -> Option<(String, String)> {
    let (wants, offers): (Vec<_>, Vec<_>) = needs(required).into_iter().unzip();
    if wants.is_empty() {
        return None;
    }
    Some((excerpt(&wants.join(" and ")), format!("offer it with ClientBuilder::{}", offers.join(" and "))))
}

/// Each capability as what it lets a server do, with the method of the builder that declares it.
fn needs(required: &ClientCapabilities) -> Vec<(String, &'static str)> {
    let mut needs = Vec::new();
    if let Some(elicitation) = &required.elicitation {
        if elicitation.allows_form() {
            needs.push(("ask the user (elicitation)".to_owned(), "on_elicit"));
        }
        if elicitation.allows_url() {
            needs.push(("send the user to an address (elicitation, url)".to_owned(), "on_elicit_url"));
        }
    }
    if let Some(sampling) = &required.sampling {
        needs.push(("ask a language model (sampling)".to_owned(), "on_sampling"));
        if sampling.tools.is_some() {
            needs.push(("give it tools (sampling, tools)".to_owned(), "allow_sampling_tools"));
        }
    }
    if required.roots.is_some() {
        needs.push(("know the roots it may work in (roots)".to_owned(), "on_roots"));
    }
    for identifier in required.extensions.iter().flat_map(|extensions| extensions.keys()) {
        needs.push((format!("use the extension {identifier}"), "extension"));
    }
    needs
}
