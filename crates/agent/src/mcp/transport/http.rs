//! A server behind streamable HTTP: a message is a POST, its answer a JSON body or a stream of events.

use super::Transport;
use super::address::Address;
use crate::mcp::clean;
use crate::mcp::inbox::{Inbox, lock};
use crate::mcp::limits::{ENDING, HEALTHY, HOPS, MESSAGE_BYTES, SESSION_BYTES};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Response, StatusCode, Url};
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use throughline_model::{BoxFuture, CancelToken};
use throughline_wire::sse::Parser;
use tokio::time::Instant;

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";
/// Bytes of the body of a failure that are looked at.
const COMPLAINT: usize = 64 << 10;
/// How often in a row a stream of the server's own messages may end soon before it is given up.
const STREAMS: u32 = 5;

pub(super) struct Http {
    way: Arc<Way>,
    stop: CancelToken,
}

struct Way {
    client: Client,
    url: Url,
    headers: HeaderMap,
    session: Mutex<Option<HeaderValue>>,
    version: Mutex<Option<HeaderValue>>,
    inbox: Arc<Inbox>,
}

impl Http {
    pub(super) fn new(address: &Address, inbox: Arc<Inbox>) -> Result<Self, String> {
        // The process may have chosen its own already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder()
            .user_agent(concat!("throughline/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::custom(follow))
            // A call is never made twice: nobody knows what it did.
            .retry(reqwest::retry::never())
            .no_proxy();
        let builder = match &address.proxy {
            Some(proxy) => builder.proxy(proxy.clone()),
            // Plain HTTP needs no certificates, and a machine without any can still talk to itself.
            None if address.url.scheme() == "http" => builder.tls_certs_only([]),
            None => builder,
        };
        let client = builder.build().map_err(|error| format!("no HTTP client: {}", error.without_url()))?;
        let way = Way {
            client,
            url: address.url.clone(),
            headers: address.headers.clone(),
            session: Mutex::default(),
            version: Mutex::default(),
            inbox,
        };
        Ok(Self { way: Arc::new(way), stop: CancelToken::new() })
    }
}

impl Transport for Http {
    fn send(&self, message: Value, expects: Option<u64>) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.way.post(message, expects))
    }

    fn agreed(&self, version: &str) {
        *lock(&self.way.version) = HeaderValue::from_str(version).ok();
    }

    fn listen(&self) {
        let (way, stop) = (Arc::clone(&self.way), self.stop.clone());
        tokio::spawn(async move {
            let closed = way.inbox.closed().clone();
            tokio::select! {
                () = way.hear() => {}
                () = stop.cancelled() => {}
                () = closed.cancelled() => {}
            }
        });
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.stop.cancel();
            let session = lock(&self.way.session).take();
            self.way.inbox.close("it was disconnected");
            if let Some(session) = session {
                let request = self
                    .way
                    .client
                    .delete(self.way.url.clone())
                    .headers(self.way.usual())
                    .header(SESSION, session);
                // A server may not care; then its session ends by itself.
                let _ = tokio::time::timeout(ENDING, request.send()).await;
            }
        })
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Way {
    /// Headers of every request.
    fn usual(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        let own = [(SESSION, &self.session), (VERSION, &self.version)];
        for (name, value) in own {
            if let Some(value) = lock(value).clone() {
                headers.insert(name, value);
            }
        }
        headers
    }

    async fn post(&self, message: Value, expects: Option<u64>) -> Result<(), String> {
        let request = self
            .client
            .post(self.url.clone())
            .headers(self.usual())
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, JSON)
            .body(message.to_string());
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        if status == StatusCode::NOT_FOUND && lock(&self.session).is_some() {
            self.inbox.close("its session has ended");
            return Err(self.inbox.why());
        }
        if !status.is_success() {
            return self.failed(response, expects).await;
        }
        if let Some(session) = response.headers().get(SESSION) {
            self.remember(session)?;
        }
        let Some(id) = expects else { return Ok(()) };
        match kind(&response) {
            Kind::Json => {
                let body = read(response, MESSAGE_BYTES).await?;
                self.inbox.take(&body);
            }
            Kind::Stream => self.events(response, Some(id)).await?,
            Kind::Other(name) => {
                return Err(format!("it answered with {name}, which is neither JSON nor events"));
            }
        }
        if self.inbox.is_waiting(id) { Err("its reply does not hold the answer".to_owned()) } else { Ok(()) }
    }

    /// A failure in words; one that holds a JSON-RPC answer is that answer.
    async fn failed(&self, response: Response, expects: Option<u64>) -> Result<(), String> {
        let status = response.status();
        if status.is_redirection() {
            return Err(format!(
                "it redirects elsewhere ({status}), which is not followed; set the address that is meant"
            ));
        }
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(format!(
                "it refused the request ({status}); set its `headers` (a sign-in by OAuth is not supported)"
            ));
        }
        let is_json = matches!(kind(&response), Kind::Json);
        let body = read(response, COMPLAINT).await.unwrap_or_default();
        if is_json && self.inbox.take(&body) && expects.is_some_and(|id| !self.inbox.is_waiting(id)) {
            return Ok(());
        }
        let said = clean::line(&String::from_utf8_lossy(&body), 200);
        Err(if said.is_empty() {
            format!("it failed ({status})")
        } else {
            format!("it failed ({status}): {said}")
        })
    }

    fn remember(&self, session: &HeaderValue) -> Result<(), String> {
        let is_fine = session.len() <= SESSION_BYTES
            && session.as_bytes().iter().all(|byte| matches!(byte, 0x21..=0x7e));
        if !is_fine {
            return Err("the name of its session is too long, or not visible ASCII".to_owned());
        }
        lock(&self.session).get_or_insert_with(|| session.clone());
        Ok(())
    }

    /// Reads events until the stream ends, or the answer to a request is there.
    async fn events(&self, mut response: Response, until: Option<u64>) -> Result<(), String> {
        let mut parser = Parser::new(MESSAGE_BYTES);
        let mut events = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(unreachable)? {
            let read = parser.push(&bytes, &mut events);
            for event in events.drain(..) {
                self.inbox.take(event.data.as_bytes());
            }
            read.map_err(|error| format!("its stream can't be read: {error}"))?;
            if until.is_some_and(|id| !self.inbox.is_waiting(id)) {
                return Ok(());
            }
        }
        if let Some(event) = parser.finish() {
            self.inbox.take(event.data.as_bytes());
        }
        Ok(())
    }

    /// Hears what the server says by itself, as long as it offers that.
    async fn hear(&self) {
        let mut failures = 0;
        while failures < STREAMS {
            let began = Instant::now();
            let request = self.client.get(self.url.clone()).headers(self.usual()).header(ACCEPT, STREAM);
            match request.send().await {
                Ok(response) if response.status().is_success() && matches!(kind(&response), Kind::Stream) => {
                    let _ = self.events(response, None).await;
                }
                // It has none to offer.
                Ok(response) if !response.status().is_server_error() => return,
                Ok(_) | Err(_) => {}
            }
            failures = if began.elapsed() >= HEALTHY { 1 } else { failures + 1 };
            tokio::time::sleep(Duration::from_secs(1 << failures)).await;
        }
    }
}

enum Kind {
    Json,
    Stream,
    Other(String),
}

fn kind(response: &Response) -> Kind {
    let header = response
        .headers()
        .get(CONTENT_TYPE)
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let name = header.unwrap_or_default();
    match name.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        JSON => Kind::Json,
        STREAM => Kind::Stream,
        "" => Kind::Other("nothing".to_owned()),
        other => Kind::Other(clean::line(other, 80)),
    }
}

async fn read(mut response: Response, limit: usize) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(unreachable)? {
        if body.len() + bytes.len() > limit {
            return Err(format!("its reply has over {limit} bytes"));
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}

/// What went wrong, without the address, which may hold a key.
fn unreachable(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = format!("it can't be reached: {error}");
    let mut next = std::error::Error::source(&error);
    while let Some(cause) = next {
        text.push_str(&format!(": {cause}"));
        next = cause.source();
    }
    clean::line(&text, 400)
}

/// Follows a redirect only if it keeps method and body and stays with the same origin: keys are not handed to others.
fn follow(attempt: Attempt<'_>) -> Action {
    let keeps_body = matches!(attempt.status().as_u16(), 307 | 308);
    let same_place = attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
    if keeps_body && same_place && attempt.previous().len() <= HOPS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}
