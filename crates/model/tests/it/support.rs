//! Models that talk to the scripted server.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use throughline_core::{Message, Role};
use throughline_model::{BoxFuture, Clock, Delivery, Http, Provider, Wire, body};
use throughline_testkit::Server;
use throughline_wire::Request;

pub(crate) const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::Responses, Wire::Chat];
pub(crate) const DELIVERIES: [Delivery; 2] = [Delivery::Streamed, Delivery::Whole];

pub(crate) fn provider(wire: Wire, server: &Server) -> Provider {
    Provider { base_url: Some(server.url()), ..Provider::new("test", wire, "test-model") }
}

pub(crate) fn nothing(_: &str) -> Option<String> {
    None
}

/// A model that does not really wait before it tries again, and what it would have waited.
pub(crate) fn quick(provider: &Provider) -> (Http, Arc<Waits>) {
    let waits = Arc::new(Waits::default());
    let http = Http::new(provider, &nothing).unwrap().with_clock(Arc::clone(&waits) as Arc<dyn Clock>);
    (http, waits)
}

#[derive(Default)]
pub(crate) struct Waits(Mutex<Vec<Duration>>);

impl Waits {
    pub(crate) fn all(&self) -> Vec<Duration> {
        self.0.lock().unwrap().clone()
    }
}

impl Clock for Waits {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'static, ()> {
        self.0.lock().unwrap().push(wait);
        Box::pin(std::future::ready(()))
    }

    fn jitter(&self) -> f64 {
        1.0
    }
}

pub(crate) fn request(wire: Wire) -> Request {
    let mut request = Request::new(wire, "test-model");
    request.messages.push(Message::text(Role::User, "Do the tests pass?"));
    request
}

pub(crate) fn bytes(wire: Wire, delivery: Delivery) -> bytes::Bytes {
    body(&request(wire), delivery)
}
