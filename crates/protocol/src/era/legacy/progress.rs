//! Notifications about a request as an older revision has them.

use serde::Serialize;

use super::Features;
use super::result::Meta;
use crate::era::Revision;
use crate::id::ProgressToken;
use crate::model::notification::Progress;

/// The parameters of `notifications/progress`.
#[must_use]
pub fn progress(progress: &Progress, revision: Revision) -> impl Serialize + '_ {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct View<'a> {
        progress_token: &'a ProgressToken,
        progress: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<&'a str>,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<Meta<'a>>,
    }
    View {
        progress_token: &progress.progress_token,
        progress: progress.progress,
        total: progress.total,
        message: progress.message.as_deref().filter(|_| Features::of(revision).progress_message),
        meta: Meta::of_any(progress.meta.as_ref()),
    }
}
