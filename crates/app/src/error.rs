//! What went wrong, as a program reads it: a status, and a JSON object that names the cause and the next action.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use switchboard_agent::desk::AnswerError;
use switchboard_agent::policy::RuleToAdd;
use switchboard_agent::store::StoreError;
use switchboard_agent::{AgentError, ErrorKind};

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiError {
    status: StatusCode,
    body: ErrorBody,
}

/// The object behind `error`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ErrorBody {
    code: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<RuleToAdd>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            body: ErrorBody { code, message: message.into(), hint: None, server: None, rule: None },
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.body.hint = Some(hint.into());
        self
    }

    /// The request cannot be understood.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// It is our own fault.
    pub(crate) fn failed() -> Self {
        let message = "the host has a fault of its own; its log says more";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", message)
    }

    /// There is no such thing.
    pub(crate) fn not_found(what: &str, id: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("there is no {what} {id:?}"))
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        #[derive(Serialize)]
        struct Failed {
            error: ErrorBody,
        }
        (self.status, Json(Failed { error: self.body })).into_response()
    }
}

impl From<AnswerError> for ApiError {
    fn from(error: AnswerError) -> Self {
        let (status, code) = match &error {
            AnswerError::Unknown(_) => (StatusCode::NOT_FOUND, "unknown_request"),
            AnswerError::Taken(_) => (StatusCode::CONFLICT, "answered_already"),
            AnswerError::NotThis(_) => (StatusCode::UNPROCESSABLE_ENTITY, "not_this_request"),
        };
        Self::new(status, code, error.to_string())
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        if error.is_held() {
            return Self::new(StatusCode::CONFLICT, "session_held", error.to_string());
        }
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "store_failed", error.to_string())
    }
}

impl From<AgentError> for ApiError {
    fn from(error: AgentError) -> Self {
        let mut api = Self::new(status(error.kind()), error.kind().code(), error.message());
        api.body.hint = error.next_action().map(str::to_owned);
        api.body.server = error.server().map(ToString::to_string);
        api.body.rule = error.rule_to_add().cloned();
        api
    }
}

fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::Configuration | ErrorKind::MissingArguments | ErrorKind::KeyReused => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        ErrorKind::ApprovalNeeded | ErrorKind::Denied | ErrorKind::InputNeeded => StatusCode::FORBIDDEN,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Busy | ErrorKind::SessionHeld | ErrorKind::Interrupted => StatusCode::CONFLICT,
        ErrorKind::LimitReached => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::Storage => StatusCode::INSUFFICIENT_STORAGE,
        ErrorKind::LoginNeeded
        | ErrorKind::ServerUnreachable
        | ErrorKind::ToolFailed
        | ErrorKind::ModelFailed
        | ErrorKind::NoToolFits => StatusCode::BAD_GATEWAY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
