//! Metrics, read as strictly as Prometheus does.

use super::{Conversation, long_result, world, world_with};
use crate::kit::{Asking, World};
use std::collections::{BTreeMap, BTreeSet};
use throughline_testkit::Answer;

/// What an exposition says: each sample by its name and labels.
#[derive(Default)]
struct Exposition {
    types: BTreeMap<String, String>,
    samples: BTreeMap<String, f64>,
}

impl Exposition {
    /// Reads the text format, and holds it to its rules and to the conventions for names.
    fn parse(text: &str) -> Self {
        let mut out = Self::default();
        let mut family = String::new();
        let mut helped = BTreeSet::new();
        assert!(text.ends_with('\n'), "the last line ends too");
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').unwrap();
                assert!(is_name(name) && !help.is_empty());
                assert!(helped.insert(name.to_owned()), "{name} is described once");
                family = name.to_owned();
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert_eq!(name, family, "the type follows the help");
                assert!(["counter", "gauge", "histogram"].contains(&kind));
                assert_eq!(name.ends_with("_total"), kind == "counter", "{name}");
                assert!(out.types.insert(name.to_owned(), kind.to_owned()).is_none());
            } else {
                let (series, value) = line.rsplit_once(' ').unwrap();
                let (name, labels) = match series.split_once('{') {
                    Some((name, labels)) => (name, labels.strip_suffix('}').unwrap()),
                    None => (series, ""),
                };
                let is_histogram = out.types.get(&family).is_some_and(|kind| kind == "histogram");
                let of = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
                assert_eq!(
                    if is_histogram { of.unwrap() } else { name },
                    family,
                    "samples stand below their family"
                );
                for label in labels.split(',').filter(|label| !label.is_empty()) {
                    let (name, value) = label.split_once('=').unwrap();
                    assert!(is_name(name) && !name.starts_with("__"), "{label}");
                    let value = value.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
                    assert!(!value.contains(['"', '\\', '\n']), "{label}");
                }
                let value: f64 = value.parse().unwrap();
                assert!(value.is_finite() && value >= 0.0);
                assert!(out.samples.insert(series.to_owned(), value).is_none(), "{series} is there once");
            }
        }
        assert_eq!(helped, out.types.keys().cloned().collect(), "each family has both");
        out
    }

    fn get(&self, series: &str) -> f64 {
        *self.samples.get(series).unwrap_or_else(|| panic!("{series} is missing"))
    }
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

async fn metrics(world: &World) -> Exposition {
    let reply = world.look("/metrics").await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    Exposition::parse(&reply.text())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happened_is_counted() {
    let world = world(Answer::text("Seen.")).await;
    let before = metrics(&world).await;
    let mut talk = Conversation::new("counted");
    talk.say(&world, "show me the log", "Here.").await;
    talk.tool(&world, "toolu_1", &long_result("needle"), "Seen.").await;
    // Without tools there is no way back, so nothing is put aside.
    let mut without_tools = talk.body();
    without_tools.as_object_mut().unwrap().remove("tools");
    let claude = Asking::post("/v1/messages", without_tools.to_string())
        .header("user-agent", "claude-cli/2.1.325 (external, sdk-cli)")
        .header("x-claude-code-session-id", "another");
    world.ask(claude).await;
    world
        .ask(Asking::post("/v1/messages", without_tools.to_string()).header("user-agent", "tester/1.0"))
        .await;
    let broken =
        Asking::post("/v1/responses", "{ this is no JSON").header("user-agent", "codex_exec/0.166.0");
    world.ask(broken).await;
    world.ask(Asking::get("/v1/models").header("user-agent", "any \"thing\"\\ at all")).await;
    // What answers cost is learnt a moment after they were given.
    let now = loop {
        let now = metrics(&world).await;
        if now.get("throughline_usage_tokens_total{kind=\"output\"}") >= 3.0 {
            break now;
        }
    };
    assert_eq!(before.types, now.types);
    let same: Vec<&String> = before.samples.keys().collect();
    assert_eq!(same, now.samples.keys().collect::<Vec<_>>(), "no series comes or goes");
    let requests = |client: &str, wire: &str, outcome: &str| {
        let labels = format!("client=\"{client}\",wire=\"{wire}\",outcome=\"{outcome}\"");
        now.get(&format!("throughline_requests_total{{{labels}}}"))
    };
    assert_eq!(requests("other", "anthropic", "untouched"), 1.0);
    assert_eq!(requests("other", "anthropic", "changed"), 2.0, "Recall is offered in both");
    assert_eq!(requests("claude", "anthropic", "untouched"), 1.0);
    assert_eq!(requests("codex", "responses", "untouched"), 1.0);
    assert_eq!(requests("other", "none", "untouched"), 1.0);
    let all: f64 = now
        .samples
        .iter()
        .filter(|(name, _)| name.starts_with("throughline_requests_total"))
        .map(|(_, value)| value)
        .sum();
    assert_eq!(all, 6.0);
    let outgoing = |body: &str, reason: &str| {
        now.get(&format!("throughline_outgoing_requests_total{{body=\"{body}\",reason=\"{reason}\"}}"))
    };
    assert_eq!(outgoing("rewritten", "none"), 2.0);
    assert_eq!(outgoing("original", "nothing_to_do"), 1.0);
    assert_eq!(outgoing("original", "unmanaged"), 1.0, "Claude Code without tools wants a title");
    assert_eq!(outgoing("original", "internal_error"), 1.0, "invalid JSON");
    assert_eq!(outgoing("original", "guarantee_violated"), 0.0);
    assert_eq!(now.get("throughline_edits_total{stage=\"budget\"}"), 1.0);
    assert_eq!(now.get("throughline_failures_total{kind=\"failed\"}"), 1.0, "what is no JSON can't be read");
    assert_eq!(now.get("throughline_sessions{state=\"known\"}"), 3.0);
    assert_eq!(now.get("throughline_deciding_seconds_count"), 5.0);
    assert_eq!(now.get("throughline_deciding_seconds_bucket{le=\"+Inf\"}"), 5.0);
    assert!(now.get("throughline_deciding_seconds_sum") > 0.0);
    assert!(
        now.get("throughline_request_bytes_total{as=\"received\"}")
            > now.get("throughline_request_bytes_total{as=\"sent\"}")
    );
    assert!(now.get("throughline_answer_bytes_total") > 0.0);
    let prompts = |with: &str| now.get(&format!("throughline_prompt_tokens_total{{throughline=\"{with}\"}}"));
    assert!(prompts("with") <= prompts("without"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_manages_nothing_counts_too() {
    let world = world_with(Answer::text("Seen."), |settings| settings.manage = None).await;
    let mut talk = Conversation::new("plain");
    talk.say(&world, "hello", "Good day.").await;
    let now = metrics(&world).await;
    assert_eq!(
        now.get("throughline_requests_total{client=\"other\",wire=\"anthropic\",outcome=\"untouched\"}"),
        1.0
    );
    assert_eq!(now.get("throughline_outgoing_requests_total{body=\"original\",reason=\"unmanaged\"}"), 1.0);
    assert_eq!(now.get("throughline_upstream_answers_total{code=\"2xx\"}"), 1.0);
}
