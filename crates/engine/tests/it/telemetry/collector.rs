//! A collector on this machine that keeps what it is sent.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// A loaded machine may still be sending when a guard has given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// One request.
#[derive(Clone)]
pub(super) struct Sent {
    /// Its first line and its headers.
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

/// Keeps what it is sent until it is dropped.
pub(super) struct Collector {
    url: String,
    kept: Arc<Kept>,
}

#[derive(Default)]
struct Kept {
    sent: Mutex<Vec<Sent>>,
    more: Condvar,
}

impl Collector {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let kept = Arc::new(Kept::default());
        let held = Arc::downgrade(&kept);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Some(kept) = held.upgrade() else { return };
                if let Some(request) = stream.ok().and_then(|stream| serve(&stream)) {
                    kept.sent.lock().unwrap().push(request);
                    kept.more.notify_all();
                }
            }
        });
        Self { url, kept }
    }

    pub(super) fn url(&self) -> String {
        self.url.clone()
    }

    pub(super) fn sent(&self) -> Vec<Sent> {
        self.kept.sent.lock().unwrap().clone()
    }

    /// What came to a path, once something has.
    fn sent_to(&self, path: &str) -> Vec<Sent> {
        let start = format!("POST {path} ");
        let is_there = |sent: &Sent| sent.head.starts_with(&start);
        let sent = self.kept.sent.lock().unwrap();
        let waited = self.kept.more.wait_timeout_while(sent, PATIENCE, |sent| !sent.iter().any(is_there));
        waited.unwrap().0.iter().filter(|sent| is_there(sent)).cloned().collect()
    }

    /// All spans, with the name of the service that sent them.
    pub(super) fn spans(&self) -> Vec<(String, Span)> {
        let mut spans = Vec::new();
        for sent in self.sent_to("/v1/traces") {
            for resource in ExportTraceServiceRequest::decode(&*sent.body).unwrap().resource_spans {
                let service = word(&resource.resource.unwrap().attributes, "service.name").unwrap();
                for scope in resource.scope_spans {
                    spans.extend(scope.spans.into_iter().map(|span| (service.clone(), span)));
                }
            }
        }
        spans
    }

    /// The metrics of the last time.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let last = self.sent_to("/v1/metrics").pop().unwrap();
        let request = ExportMetricsServiceRequest::decode(&*last.body).unwrap();
        let scopes = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
        scopes.flat_map(|scope| scope.metrics).collect()
    }
}

fn serve(mut stream: &TcpStream) -> Option<Sent> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").ok()?;
    Some(Sent { head, body })
}

/// An attribute that is text.
pub(super) fn word(attributes: &[KeyValue], name: &str) -> Option<String> {
    let found = value(attributes, name)?;
    let Value::StringValue(word) = found else { panic!("{name} is {found:?}") };
    Some(word)
}

/// An attribute that is a count.
pub(super) fn count(attributes: &[KeyValue], name: &str) -> Option<i64> {
    let found = value(attributes, name)?;
    let Value::IntValue(count) = found else { panic!("{name} is {found:?}") };
    Some(count)
}

fn value(attributes: &[KeyValue], name: &str) -> Option<Value> {
    attributes.iter().find(|pair| pair.key == name)?.value.clone()?.value
}
