//! Reads the resources that a person attaches to a question, through the servers that have them.

use switchboard_client::ReadResourceResult;
use switchboard_protocol::model::resource::{ResourceBody, ResourceContents};

use super::Agent;
use crate::artefact::ResourceReader as _;
use crate::error::{AgentError, ErrorKind};
use crate::integration::{Attachment, AttachmentContent};
use crate::journal::Selection;
use crate::name::ServerName;
use crate::outcome::FailureKind;
use crate::visible;

impl Agent {
    /// The same attachments, with what resources hold in the place of their addresses.
    ///
    /// # Errors
    /// When one of them cannot be read: the question would mean something else without it.
    pub(crate) async fn with_resources(
        &self,
        attachments: &[Attachment],
    ) -> Result<Vec<Attachment>, AgentError> {
        let mut read = Vec::with_capacity(attachments.len());
        for attachment in attachments {
            let AttachmentContent::Resource { server, uri } = &attachment.content else {
                read.push(attachment.clone());
                continue;
            };
            let got = tokio::select! {
                got = self.resource(server, uri) => got?,
                () = self.interrupt.triggered() => return Err(super::interrupted()),
            };
            let shown = visible::short(uri, 200);
            let text = format!("{server}: {shown} was read and goes with the question");
            self.journal.record(Selection::Note { text });
            read.extend(got.contents.into_iter().map(|contents| attached(contents, attachment)));
        }
        Ok(read)
    }

    async fn resource(&self, server: &ServerName, uri: &str) -> Result<ReadResourceResult, AgentError> {
        self.gate.read(server, uri).await.map_err(|failure| {
            let kind = match failure.kind {
                FailureKind::Unauthorized => ErrorKind::LoginNeeded,
                _ => ErrorKind::ServerUnreachable,
            };
            let message =
                format!("the resource {} cannot be read: {}", visible::quoted(uri, 200), failure.message);
            AgentError::new(kind, message).at(server).hint("ask without it, or see whether the server has it")
        })
    }
}

fn attached(contents: ResourceContents, asked: &Attachment) -> Attachment {
    let ResourceContents { uri, mime_type, body, .. } = contents;
    let name = if asked.name.is_empty() { uri } else { asked.name.clone() };
    let (usual, content) = match body {
        ResourceBody::Text(text) => ("text/plain", AttachmentContent::Text(text)),
        ResourceBody::Blob(blob) => ("application/octet-stream", AttachmentContent::Base64(blob)),
    };
    Attachment { name, media_type: mime_type.unwrap_or_else(|| usual.to_owned()), content }
}
