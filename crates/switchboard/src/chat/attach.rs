//! What goes with a question: resources that it mentions, and what a prompt of a server brings.

use switchboard_agent::{Attachment, AttachmentContent, ServerName};
use switchboard_client::{ContentBlock, GetPromptResult, ResourceBody, ResourceContents};

/// The resources that a question mentions as `@server:uri`, each once. A word that begins with `@` and names none of
/// these servers is a word.
pub(super) fn mentioned(question: &str, servers: &[ServerName]) -> Vec<Attachment> {
    let mut found: Vec<Attachment> = Vec::new();
    for word in question.split_whitespace() {
        let Some((name, uri)) = word.strip_prefix('@').and_then(|word| word.split_once(':')) else {
            continue;
        };
        let uri = uri.trim_end_matches([',', ';', '?', '!', '.', ')']);
        let Some(server) = servers.iter().find(|server| server.as_str() == name) else { continue };
        let attachment = of_resource(server, uri);
        if !uri.is_empty() && !found.contains(&attachment) {
            found.push(attachment);
        }
    }
    found
}

fn of_resource(server: &ServerName, uri: &str) -> Attachment {
    Attachment {
        name: uri.to_owned(),
        media_type: String::new(),
        content: AttachmentContent::Resource { server: server.clone(), uri: uri.to_owned() },
    }
}

/// The words of a prompt as the person's question, and what goes with them.
pub(super) fn said(server: &ServerName, prompt: GetPromptResult) -> (String, Vec<Attachment>) {
    let (mut words, mut attachments) = (Vec::new(), Vec::new());
    for message in prompt.messages {
        match message.content {
            ContentBlock::Text(text) => words.push(text.text),
            ContentBlock::Image(media) | ContentBlock::Audio(media) => attachments.push(Attachment {
                name: format!("part {} of the prompt", attachments.len() + 1),
                media_type: media.mime_type,
                content: AttachmentContent::Base64(media.data),
            }),
            ContentBlock::ResourceLink(link) => attachments.push(of_resource(server, &link.uri)),
            ContentBlock::Resource(embedded) => attachments.push(of_contents(embedded.resource)),
            ContentBlock::Other(_) => {}
        }
    }
    (words.join("\n\n"), attachments)
}

fn of_contents(ResourceContents { uri, mime_type, body, .. }: ResourceContents) -> Attachment {
    let (usual, content) = match body {
        ResourceBody::Text(text) => ("text/plain", AttachmentContent::Text(text)),
        ResourceBody::Blob(data) => ("application/octet-stream", AttachmentContent::Base64(data)),
    };
    Attachment { name: uri, media_type: mime_type.unwrap_or_else(|| usual.to_owned()), content }
}

#[cfg(test)]
mod tests {
    use switchboard_agent::ServerName;

    use super::mentioned;

    #[test]
    fn a_mention_of_a_server_is_attached_once() {
        let servers = [ServerName::new("docs").unwrap()];
        for (question, uris) in [
            ("What is in @docs:file:///a.txt?", &["file:///a.txt"][..]),
            ("@docs:a:b, @docs:c and @docs:a:b", &["a:b", "c"]),
            ("ask @ada:now or @docs or @docs: or me@docs:x", &[]),
        ] {
            let found = mentioned(question, &servers);
            let names: Vec<_> = found.iter().map(|attachment| attachment.name.as_str()).collect();
            assert_eq!(names, uris, "{question}");
        }
    }
}
