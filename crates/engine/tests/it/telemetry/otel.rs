//! What a collector gets.

use super::collector::{Collector, count, word};
use super::{SECRET, heard, secretive, talk_until_compacted};
use crate::session::{MODEL, Stage, is_summary, runtime};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::{Span, status::StatusCode};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use throughline_core::Wire;
use throughline_engine::config::{Config, Sources, Telemetry};
use throughline_engine::telemetry::{self, TelemetryError};
use throughline_model::process_environment;
use throughline_testkit::{Answer, Fault, Nowhere, Playbook};

/// As the spans of our crates.
const OURS: &str = "throughline_test";

/// Says the secret wherever it can.
fn script() -> Playbook {
    Playbook::new()
        .when(is_summary, Answer::text(format!("<summary>It is about {SECRET}.</summary>")))
        .otherwise(Answer::text(format!("I looked at {SECRET}.")))
}

fn settings(endpoint: String) -> Telemetry {
    Telemetry { enabled: true, endpoint, service_name: "test-service".to_owned() }
}

/// Has a session talk until its view was replaced, and gives its id.
fn talk(stage: &Stage) -> String {
    runtime().block_on(async {
        let mut session = stage.open();
        talk_until_compacted(&mut session).await;
        session.id().as_str().to_owned()
    })
}

/// The same, with everything that is heard sent there.
fn talk_to(settings: &Telemetry, variables: &[(&str, &str)]) -> String {
    heard::init();
    let stage = secretive(Stage::new(Wire::Anthropic, script()));
    let look =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    let (dispatch, guard) = telemetry::connect(settings, &look).unwrap();
    let id = tracing::dispatcher::with_default(&dispatch, || talk(&stage));
    drop(guard);
    id
}

fn named<'a>(spans: &'a [(String, Span)], name: &str) -> &'a Span {
    &spans.iter().find(|(_, span)| span.name == name).unwrap_or_else(|| panic!("{name} in {spans:#?}")).1
}

#[test]
fn a_session_arrives_as_spans() {
    let collector = Collector::start();
    let id = talk_to(&settings(collector.url()), &[]);
    let spans = collector.spans();
    assert!(spans.iter().all(|(service, _)| service == "test-service"));
    let compact = named(&spans, "compact");
    assert_eq!(word(&compact.attributes, "gen_ai.conversation.id"), Some(id));
    assert_eq!(word(&compact.attributes, "throughline.compaction.writer").as_deref(), Some("model"));
    assert!(
        count(&compact.attributes, "throughline.tokens.before")
            > count(&compact.attributes, "throughline.tokens.after")
    );
    assert_eq!(compact.events[0].name, "receipt");
    // One trace from the question to the helper's call.
    let fork = named(&spans, "invoke_agent summary");
    assert_eq!((&fork.trace_id, &fork.parent_span_id), (&compact.trace_id, &compact.span_id));
    let prepare = spans.iter().find(|(_, span)| span.span_id == compact.parent_span_id).unwrap();
    assert_eq!((&*prepare.1.name, &*prepare.1.events[0].name), ("prepare", "stage"));
    let chat = named(&spans, &format!("chat {MODEL}"));
    assert_eq!(word(&chat.attributes, "gen_ai.operation.name").as_deref(), Some("chat"));
    assert_eq!(word(&chat.attributes, "gen_ai.provider.name").as_deref(), Some("test"));
    assert!(count(&chat.attributes, "gen_ai.usage.input_tokens") > Some(0));
    // Counts are numbers, and where in our code it was is not told.
    let keys = spans.iter().flat_map(|(_, span)| &span.attributes);
    for pair in keys.filter(|pair| pair.key.contains("tokens") || pair.key == "server.port") {
        assert!(count(std::slice::from_ref(pair), &pair.key).is_some());
    }
    assert!(!spans.iter().any(|(_, span)| span.attributes.iter().any(|pair| pair.key.starts_with("code."))));
}

#[test]
fn a_session_arrives_as_metrics() {
    let collector = Collector::start();
    talk_to(&settings(collector.url()), &[]);
    let calls = collector.spans().iter().filter(|(_, span)| span.name.starts_with("chat ")).count() as u64;
    let metrics = collector.metrics();
    let data = |name: &str| {
        let metric = metrics.iter().find(|metric| metric.name == name);
        metric.and_then(|metric| metric.data.clone()).unwrap_or_else(|| panic!("{name} in {metrics:#?}"))
    };
    let Data::Histogram(tokens) = data("gen_ai.client.token.usage") else { panic!("a histogram") };
    for kind in ["input", "output"] {
        let is_kind = |keys: &[_]| word(keys, "gen_ai.token.type").as_deref() == Some(kind);
        let point = tokens.data_points.iter().find(|point| is_kind(&point.attributes)).unwrap();
        assert_eq!((point.count, point.sum > Some(0.0)), (calls, true), "{kind}");
        assert_eq!(word(&point.attributes, "gen_ai.request.model").as_deref(), Some(MODEL));
    }
    let Data::Histogram(seconds) = data("gen_ai.client.operation.duration") else { panic!("a histogram") };
    assert_eq!(seconds.data_points.iter().map(|point| point.count).sum::<u64>(), calls);
    let Data::Histogram(context) = data("throughline.context.tokens") else { panic!("a histogram") };
    assert_eq!(context.data_points[0].count, calls - 1, "every request but the summary's");
    let Data::Sum(compactions) = data("throughline.compactions") else { panic!("a sum") };
    let keys = &compactions.data_points[0].attributes;
    assert_eq!(word(keys, "throughline.compaction.trigger").as_deref(), Some("pre_turn"));
    assert_eq!(word(keys, "throughline.compaction.outcome").as_deref(), Some("replaced"));
    assert!(!keys.iter().any(|pair| pair.key == "gen_ai.conversation.id"), "there is no end of those");
    let Data::Sum(dollars) = data("throughline.background.dollars") else { panic!("a sum") };
    assert_eq!(word(&dollars.data_points[0].attributes, "throughline.job").as_deref(), Some("summary"));
}

#[test]
fn nothing_that_was_said_leaves() {
    let collector = Collector::start();
    let id = talk_to(&settings(collector.url()), &[]);
    heard::init();
    let (dispatch, guard) = telemetry::connect(&settings(collector.url()), &|_| None).unwrap();
    tracing::dispatcher::with_default(&dispatch, || {
        let _span = tracing::info_span!(target: OURS, "mine", "throughline.work" = "known").entered();
        // Whoever adds a message in words one day does not send it by that.
        tracing::error!(target: OURS, "{SECRET} can't be read");
        tracing::info!(target: OURS, path = SECRET, "throughline.work" = "unknown");
    });
    drop(guard);
    let sent = collector.sent();
    let holds = |word: &str| {
        sent.iter().any(|sent| sent.body.windows(word.len()).any(|part| part == word.as_bytes()))
    };
    assert!(holds(&id) && holds("mine"), "it would be seen");
    assert!(!holds(SECRET) && !holds("Cargo.lock") && !holds("/work/"));
}

#[test]
fn a_failed_call_is_an_error() {
    heard::init();
    let collector = Collector::start();
    let stage = Stage::new(Wire::Anthropic, Fault::Unauthorized);
    let (dispatch, guard) = telemetry::connect(&settings(collector.url()), &|_| None).unwrap();
    tracing::dispatcher::with_default(&dispatch, || {
        runtime().block_on(async {
            let mut session = stage.open();
            session.record(crate::session::long_words(0)).unwrap();
            session.ask(None, throughline_model::CancelToken::new()).await.unwrap_err();
        });
    });
    drop(guard);
    let spans = collector.spans();
    for name in ["ask", &format!("chat {MODEL}")] {
        let span = named(&spans, name);
        assert_eq!(word(&span.attributes, "error.type").as_deref(), Some("auth"));
        assert_eq!(span.status.as_ref().unwrap().code(), StatusCode::Error, "{name}");
    }
}

#[test]
fn variables_win_over_the_settings_and_add_headers() {
    let collector = Collector::start();
    let url = collector.url();
    talk_to(
        &settings("http://localhost:9".to_owned()),
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &url),
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20key"),
            ("OTEL_SERVICE_NAME", "mine"),
        ],
    );
    let sent = collector.sent();
    assert!(!sent.is_empty() && sent.iter().all(|sent| sent.head.contains("api-key: a key\r\n")));
    assert!(collector.spans().iter().all(|(service, _)| service == "mine"));
}

#[test]
fn a_session_does_not_notice_a_dead_collector() {
    let nowhere = Nowhere::new().unwrap();
    talk_to(&settings(nowhere.url().unwrap()), &[]);
    // Takes connections and never answers.
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    talk_to(&settings(format!("http://{}", silent.local_addr().unwrap())), &[]);
}

#[test]
fn a_guard_may_end_inside_a_runtime() {
    heard::init();
    let collector = Collector::start();
    runtime().block_on(async {
        let (dispatch, guard) = telemetry::connect(&settings(collector.url()), &|_| None).unwrap();
        tracing::dispatcher::with_default(&dispatch, || {
            drop(tracing::info_span!(target: OURS, "inside").entered())
        });
        drop(guard);
        drop(dispatch);
    });
    named(&collector.spans(), "inside");
}

#[test]
fn bad_settings_are_an_error_and_a_second_listener_is_too() {
    heard::init();
    let error = telemetry::start(&settings("nonsense".to_owned()), &|_| None).unwrap_err();
    assert!(matches!(error, TelemetryError::Endpoint { .. }), "{error}");
    let nowhere = Nowhere::new().unwrap();
    let error = telemetry::start(&settings(nowhere.url().unwrap()), &|_| None).unwrap_err();
    assert!(matches!(error, TelemetryError::Taken), "{error}");
}

const CONFIG: &str = "THROUGHLINE_TEST_TELEMETRY_CONFIG";

/// A program with the user's configuration, as a program would do it.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn child() {
    let Ok(file) = std::env::var(CONFIG) else { return };
    let sources =
        Sources { user: Some(file.into()), project: None, environment: &|_| None, flags: Vec::new() };
    let config = Config::load(&sources).unwrap().config;
    let _guard = telemetry::start(&config.telemetry, &process_environment).unwrap();
    talk(&secretive(Stage::new(Wire::Anthropic, script())));
}

#[test]
fn a_program_starts_it_by_the_users_configuration() {
    for enabled in [false, true] {
        let collector = Collector::start();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        let text = format!("[telemetry]\nenabled = {enabled}\nendpoint = \"{}\"\n", collector.url());
        std::fs::write(&file, text).unwrap();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "telemetry::otel::child", "--ignored", "--nocapture"])
            .env(CONFIG, &file)
            .env_remove("OTEL_EXPORTER_OTLP_ENDPOINT")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
        if enabled {
            named(&collector.spans(), "compact");
        } else {
            assert!(collector.sent().is_empty());
        }
    }
}
