//! Figures for Prometheus, in its text format. Labels take few values, whatever clients send.

use super::respond::{self, Kind};
use super::story::stage_name;
use crate::counters::{Asker, BOUNDS, Counters, Outcome, WIRES};
use crate::manage::{Figures, Reports, SessionSnapshot, Snapshot};
use crate::relay::Body;
use crate::serve::Shared;
use crate::upstream::Connections;
use http::{Response, StatusCode};
use std::fmt::{Display, Write as _};

/// All of them.
pub(super) fn answer(shared: &Shared) -> Response<Body> {
    let mut text = text(&shared.counters);
    connections(&mut text, shared.client.connections());
    let name = "throughline_buffered_bytes";
    text.family(name, Type::Gauge, "Bytes of requests and answers that are held for all connections.");
    text.sample(name, &[], shared.budget.used());
    if let Some(manager) = &shared.manager {
        managed(&mut text, &manager.world.reports, &manager.snapshot());
    }
    respond::answer(StatusCode::OK, Kind::Metrics, text.0)
}

#[derive(Clone, Copy)]
enum Type {
    Counter,
    Gauge,
    Histogram,
}

/// Families of figures, written one by one.
#[derive(Default)]
struct Exposition(String);

impl Exposition {
    fn family(&mut self, name: &str, kind: Type, help: &str) {
        let kind = match kind {
            Type::Counter => "counter",
            Type::Gauge => "gauge",
            Type::Histogram => "histogram",
        };
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        if !labels.is_empty() {
            let labels: Vec<String> =
                labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
            let _ = write!(self.0, "{{{}}}", labels.join(","));
        }
        let _ = writeln!(self.0, " {value}");
    }

    fn counters<'a>(
        &mut self,
        (name, help): (&str, &str),
        label: &str,
        values: impl IntoIterator<Item = (&'a str, f64)>,
    ) {
        self.family(name, Type::Counter, help);
        for (of, value) in values {
            self.sample(name, &[(label, of)], value);
        }
    }
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn text(counters: &Counters) -> Exposition {
    let mut out = Exposition::default();
    out.family("throughline_build_info", Type::Gauge, "The version that runs.");
    out.sample("throughline_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    requests(&mut out, counters);
    let edits = counters.edits().map(|(stage, count)| (stage_name(stage), count as f64));
    let help = "Changes of views, by the stage that made them.";
    out.counters(("throughline_edits_total", help), "stage", edits);
    deciding(&mut out, counters);
    out
}

fn connections(out: &mut Exposition, Connections { busy, kept }: Connections) {
    let name = "throughline_upstream_connections";
    out.family(
        name,
        Type::Gauge,
        "Connections to providers: those that bring an answer, those kept for the next.",
    );
    out.sample(name, &[("state", "busy")], busy);
    out.sample(name, &[("state", "kept")], kept);
}

/// What there is to say of a server that does more than pass requests on.
fn managed(out: &mut Exposition, reports: &Reports, snapshot: &Snapshot) {
    figures(out, &snapshot.total);
    let failures = reports.by_kind().map(|(kind, count)| (kind, count as f64));
    let help = "What went wrong on our side; requests went as they came then, or without what failed.";
    out.counters(("throughline_failures_total", help), "kind", failures);
    let count =
        |is: fn(&SessionSnapshot) -> bool| snapshot.sessions.iter().filter(|session| is(session)).count();
    let name = "throughline_sessions";
    out.family(name, Type::Gauge, "Sessions of this server: all known, those in memory, those paused.");
    out.sample(name, &[("state", "known")], snapshot.sessions.len());
    out.sample(name, &[("state", "awake")], count(|session| session.awake));
    out.sample(name, &[("state", "paused")], count(|session| session.paused));
    let name = "throughline_awake_bytes";
    out.family(name, Type::Gauge, "Bytes that the sessions in memory hold, about.");
    out.sample(name, &[], snapshot.held);
    let name = "throughline_start_time_seconds";
    out.family(name, Type::Gauge, "When the server started, in seconds since 1970.");
    out.sample(name, &[], snapshot.since.as_millisecond() as f64 / 1e3);
}

fn requests(out: &mut Exposition, counters: &Counters) {
    let name = "throughline_requests_total";
    out.family(name, Type::Counter, "Requests of clients, by client, format and what became of them.");
    for (asker, client) in Asker::ALL {
        for (wire, format) in WIRES {
            for (outcome, word) in Outcome::ALL {
                let labels = [("client", client), ("wire", format), ("outcome", word)];
                out.sample(name, &labels, counters.requests_of(asker, wire, outcome).get());
            }
        }
    }
    let name = "throughline_outgoing_requests_total";
    let help = "Requests sent to providers, by body and by the reason why it is the client's own.";
    out.family(name, Type::Counter, help);
    for (reason, count) in counters.sent_as() {
        let body = if reason.is_some() { "original" } else { "rewritten" };
        out.sample(name, &[("body", body), ("reason", reason.unwrap_or("none"))], count);
    }
    let answers = counters.answers().map(|(class, count)| (class, count as f64));
    let help = "Answers of providers, by the class of their status; none: there was no answer.";
    out.counters(("throughline_upstream_answers_total", help), "code", answers);
    let name = "throughline_upstream_resent_total";
    let help =
        "Requests sent once more, because the provider had closed the connection kept from an earlier one.";
    out.family(name, Type::Counter, help);
    out.sample(name, &[], counters.resent.get());
    let bytes = [("received", counters.received.get() as f64), ("sent", counters.sent.get() as f64)];
    let help =
        "Bytes of requests that hold a conversation, as received from clients and as sent to providers.";
    out.counters(("throughline_request_bytes_total", help), "as", bytes);
    let name = "throughline_answer_bytes_total";
    out.family(name, Type::Counter, "Bytes of the answers that were looked at.");
    out.sample(name, &[], counters.answered.get());
}

fn figures(out: &mut Exposition, figures: &Figures) {
    let usage = figures.usage;
    let tokens = [
        ("input", usage.input),
        ("cache_read", usage.cache_read),
        ("cache_write", usage.cache_write),
        ("output", usage.output),
    ];
    let help = "Tokens that providers reported; cache_read of the first three is the cached share.";
    let tokens = tokens.map(|(kind, count)| (kind, count as f64));
    out.counters(("throughline_usage_tokens_total", help), "kind", tokens);
    let prompts = [("with", figures.prompt_with as f64), ("without", figures.prompt_without as f64)];
    let help = "Tokens of prompts by our own count, as sent and as they would have been without Throughline.";
    out.counters(("throughline_prompt_tokens_total", help), "throughline", prompts);
    let name = "throughline_cost_dollars_total";
    out.family(name, Type::Counter, "Dollars for what providers reported, by the price list.");
    out.sample(name, &[], figures.dollars.as_f64());
    let simulated = [("with", figures.dollars_with.as_f64()), ("without", figures.dollars_without.as_f64())];
    let help = "Dollars with a simulated cache, as sent and as it would have been without Throughline.";
    out.counters(("throughline_simulated_cost_dollars_total", help), "throughline", simulated);
    let name = "throughline_unpriced_requests_total";
    out.family(name, Type::Counter, "Requests to models whose price is not known.");
    out.sample(name, &[], figures.unpriced);
}

fn deciding(out: &mut Exposition, counters: &Counters) {
    let name = "throughline_deciding_seconds";
    out.family(name, Type::Histogram, "How long deciding about a request took before it was sent on.");
    let cumulated = counters.deciding.cumulated();
    let bucket = format!("{name}_bucket");
    for (bound, count) in BOUNDS.iter().zip(cumulated) {
        out.sample(&bucket, &[("le", &(*bound as f64 / 1e6).to_string())], count);
    }
    let all = cumulated[BOUNDS.len()];
    out.sample(&bucket, &[("le", "+Inf")], all);
    out.sample(&format!("{name}_sum"), &[], counters.deciding.seconds());
    out.sample(&format!("{name}_count"), &[], all);
}
