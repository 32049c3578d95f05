//! Drives one answer: sends, learns, waits, retries, reads. The only part of any wire with IO.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_util::StreamExt;
use futures_util::stream;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::Response;

use super::body::Reader;
use super::delay;
use super::failure::Failure;
use super::learned::{RequestOption, rejected_option};
use super::{Dialect, Encoded, Endpoint, Reply};
use crate::config::KeyHeader;
use crate::error::{Kind, ModelError};
use crate::model::{ChatRequest, ModelEvent, ModelStream, Warning};
use crate::secret::Secret;

/// How much of an error's body is read.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// How long to wait for usage and closing mark once the finish reason is known.
const FINISH_GRACE: Duration = Duration::from_secs(2);

/// One answer on its way.
pub(super) struct Run<D: Dialect> {
    endpoint: Arc<Endpoint>,
    request: ChatRequest,
    stage: Stage<D::Reply>,
    /// What this request must leave out, though others need not.
    dropped: Vec<RequestOption>,
    events: VecDeque<ModelEvent>,
    /// Reported once the events before it have been taken.
    error: Option<ModelError>,
    retries: u32,
    /// Starts with the first poll.
    total: Option<BoxFuture<'static, ()>>,
}

enum Stage<R> {
    Send,
    Read(Box<Reading<R>>),
    Ended,
}

struct Reading<R> {
    response: Response,
    reader: Reader<R>,
    /// Something of the answer was passed on, so that it can no longer be asked for again.
    begun: bool,
}

impl<D: Dialect> Run<D> {
    pub(super) fn new(endpoint: Arc<Endpoint>, request: ChatRequest) -> Self {
        Self {
            endpoint,
            request,
            stage: Stage::Send,
            dropped: Vec::new(),
            events: VecDeque::new(),
            error: None,
            retries: 0,
            total: None,
        }
    }

    pub(super) fn into_stream(self) -> ModelStream {
        stream::unfold(self, |mut run| async move { run.next().await.map(|item| (item, run)) }).boxed()
    }

    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(Ok(event));
            }
            if let Some(error) = self.error.take() {
                self.stage = Stage::Ended;
                return Some(Err(error));
            }
            let result = match mem::replace(&mut self.stage, Stage::Ended) {
                Stage::Send => self.send().await,
                Stage::Read(reading) => self.read(reading).await,
                Stage::Ended => return None,
            };
            self.error = result.err();
        }
    }

    /// Sends the request once and decides what its status means.
    async fn send(&mut self) -> Result<(), ModelError> {
        let config = &self.endpoint.config;
        let learned = self.endpoint.learned().without(&self.dropped);
        let Encoded { body, sent, reply } = D::encode(&self.request, config, learned)?;
        let accept = if config.stream { "text/event-stream, application/json" } else { "application/json" };
        let mut request = self
            .endpoint
            .http
            .post(D::url(config))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, accept)
            .body(body);
        for (name, value) in D::HEADERS {
            request = request.header(*name, *value);
        }
        if let Some(key) = &config.api_key {
            let (name, value) = key_header(config.key_header, key)?;
            request = request.header(name, value);
        }
        let idle = config.timeouts.idle;
        let sending = request.send();
        let response = self.within(idle, sending).await?.map_err(|error| self.transport_error(error))?;
        if response.status().is_success() {
            let reader = Reader::new(reply, self.endpoint.config.limits);
            self.stage = Stage::Read(Box::new(Reading { response, reader, begun: false }));
            return Ok(());
        }
        self.refused(response, &sent).await
    }

    /// Reads the next piece of the answer.
    async fn read(&mut self, mut reading: Box<Reading<D::Reply>>) -> Result<(), ModelError> {
        let complete = reading.reader.has_finish_reason();
        let idle = self.endpoint.config.timeouts.idle;
        let wait = if complete { idle.min(FINISH_GRACE) } else { idle };
        let chunk = match self.within(wait, reading.response.chunk()).await {
            Ok(Ok(chunk)) => chunk,
            // The answer is there; only its end was not said properly.
            _ if complete => {
                self.events.push_back(ModelEvent::Warning(Warning::Unterminated));
                None
            }
            Ok(Err(error)) => return Err(self.transport_error(error)),
            Err(error) => return Err(error),
        };
        let result = match chunk {
            Some(bytes) => reading.reader.push(bytes),
            None => reading.reader.finish(),
        };
        while let Some(event) = reading.reader.poll_event() {
            reading.begun |= !matches!(event, ModelEvent::Warning(_));
            self.events.push_back(event);
        }
        match result.map_err(|error| self.masked(error)) {
            // Some endpoints accept a request before they find out that they cannot answer it now.
            Err(error) if error.is_transient() && !reading.begun => {
                return self.ask_again(None, "reported an error", error).await;
            }
            result => result?,
        }
        if !reading.reader.is_done() {
            self.stage = Stage::Read(reading);
        } else {
            self.endpoint.learn(|learned| reading.reader.reply().teach(learned));
        }
        Ok(())
    }

    /// The endpoint answered with an error: learn from it, wait and try again, or give up.
    async fn refused(&mut self, response: Response, sent: &[RequestOption]) -> Result<(), ModelError> {
        let status = response.status().as_u16();
        let retry_after = delay::retry_after(response.headers());
        let should_retry = delay::should_retry(response.headers());
        let body = self.within(self.endpoint.config.timeouts.idle, error_body(response)).await?;
        let failure = Failure::read(&body);
        if let Some(lesson) = rejected_option(status, &failure, sent) {
            let option = lesson.option;
            if lesson.lasting {
                self.endpoint.learn(|learned| {
                    learned.reject(option);
                    learned.max_output_tokens = lesson.instead.or(learned.max_output_tokens);
                });
            } else {
                self.dropped.push(option);
            }
            self.events.push_back(ModelEvent::Warning(Warning::OptionDropped { option: option.name() }));
            self.stage = Stage::Send;
            return Ok(());
        }
        let error = self.status_error(status, retry_after, &failure);
        if !should_retry.unwrap_or_else(|| is_transient(status, &failure)) {
            return Err(error);
        }
        self.ask_again(retry_after, &format!("answered {status}"), error).await
    }

    /// Waits and asks again, unless that was done often enough or takes too long.
    async fn ask_again(
        &mut self,
        retry_after: Option<Duration>,
        what: &str,
        error: ModelError,
    ) -> Result<(), ModelError> {
        let policy = self.endpoint.config.retry;
        let delay = retry_after.unwrap_or_else(|| policy.delay.saturating_mul(1 << self.retries.min(16)));
        if self.retries >= policy.max_retries || delay > policy.max_delay {
            return Err(error);
        }
        self.retries += 1;
        let reason = format!("the endpoint {what}; trying again in {:.1} s", delay.as_secs_f32());
        tracing::info!(status = error.status(), ?delay, "model endpoint refused, retrying");
        self.wait(delay).await?;
        self.events.push_back(ModelEvent::Warning(Warning::Retrying { reason }));
        self.stage = Stage::Send;
        Ok(())
    }

    /// Waits for `future`, at most for `limit` and for what is left of the total time.
    async fn within<T>(&mut self, limit: Duration, future: impl Future<Output = T>) -> Result<T, ModelError> {
        let timeouts = self.endpoint.config.timeouts;
        let timer = Arc::clone(&self.endpoint.timer);
        let total = self.total.get_or_insert_with(|| timer.sleep(timeouts.total));
        tokio::select! {
            biased;
            value = future => Ok(value),
            () = timer.sleep(limit) => Err(timed_out("said nothing", limit)),
            () = total => Err(timed_out("did not finish its answer", timeouts.total)),
        }
    }

    async fn wait(&mut self, delay: Duration) -> Result<(), ModelError> {
        let timeouts = self.endpoint.config.timeouts;
        let timer = Arc::clone(&self.endpoint.timer);
        let total = self.total.get_or_insert_with(|| timer.sleep(timeouts.total));
        tokio::select! {
            biased;
            () = timer.sleep(delay) => Ok(()),
            () = total => Err(timed_out("did not finish its answer", timeouts.total)),
        }
    }

    fn transport_error(&self, error: reqwest::Error) -> ModelError {
        // The URL may hold a key in its query; its host is what a person needs.
        let error = error.without_url();
        let base_url = &self.endpoint.config.base_url;
        let place = match base_url.port_or_known_default() {
            Some(port) => format!("{}:{port}", base_url.host_str().unwrap_or("?")),
            None => base_url.host_str().unwrap_or("?").to_owned(),
        };
        if error.is_connect() {
            ModelError::new(Kind::Connect, format!("the model endpoint at {place} cannot be reached"))
                .with_hint("check the base URL and that the server runs")
                .with_source(error)
        } else {
            ModelError::new(Kind::Interrupted, format!("the connection to {place} broke off"))
                .with_hint("ask again")
                .with_source(error)
        }
    }

    fn status_error(&self, status: u16, retry_after: Option<Duration>, failure: &Failure) -> ModelError {
        let hint = match status {
            300..=399 => "it redirects; give the address it points to as the base URL",
            401 | 403 => "check the API key",
            402 => "check the account's balance",
            404 => "check the base URL and the model's name",
            413 => "the conversation is too long for the endpoint; start a new one",
            429 if failure.code == "insufficient_quota" => "check the account's quota",
            429 => "wait, or use another model",
            500.. => "look into the endpoint's log, or ask again later",
            _ => "check the model's name and that it supports tools",
        };
        let words = self.mask(&failure.words());
        ModelError::new(Kind::Status, format!("the model endpoint answered {status}: {words}"))
            .with_hint(hint)
            .with_status(status, retry_after)
    }

    /// An endpoint's own words may quote the key.
    fn mask(&self, text: &str) -> String {
        match &self.endpoint.config.api_key {
            Some(key) => key.mask(text),
            None => text.to_owned(),
        }
    }

    fn masked(&self, error: ModelError) -> ModelError {
        error.map_message(|message| self.mask(&message))
    }
}

/// The header that carries the key.
fn key_header(header: KeyHeader, key: &Secret) -> Result<(HeaderName, HeaderValue), ModelError> {
    let (name, value) = match header {
        KeyHeader::Bearer => (AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {}", key.expose()))),
        KeyHeader::XApiKey => (HeaderName::from_static("x-api-key"), HeaderValue::from_str(key.expose())),
    };
    let mut value = value.map_err(|_| {
        ModelError::new(Kind::Configuration, "the API key holds characters that no header may hold")
            .with_hint("copy it again, without line ends")
    })?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// Whether it may go better next time.
fn is_transient(status: u16, failure: &Failure) -> bool {
    matches!(status, 408 | 409 | 429 | 500 | 502..=504 | 520..=529) && failure.code != "insufficient_quota"
}

/// The beginning of an error's body. One that breaks off is taken as far as it came.
async fn error_body(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = MAX_ERROR_BYTES - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() == MAX_ERROR_BYTES {
            break;
        }
    }
    body
}

fn timed_out(what: &str, limit: Duration) -> ModelError {
    ModelError::new(Kind::Timeout, format!("the model endpoint {what} for {:.1} s", limit.as_secs_f32()))
        .with_hint("it may still be loading the model; raise the limit, or use a smaller model")
}
