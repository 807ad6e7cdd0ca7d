//! Two projects and a dozen sessions, as phase 1 would have found them: a shop written in Rust and a site written in TypeScript.

use jiff::Timestamp;
use throughline_core::cost::Dollars;
use throughline_core::{MessageId, SessionId};
use throughline_memory::handbook::book::{Book, Material, consolidate};
use throughline_memory::handbook::{
    Basis, Evidence, Extraction, Finding, FindingKind, HandNote, HandbookLimits, HomeId, ProjectKey, Reach,
    Scope, TaskOutcome,
};
use throughline_memory::notes::Author;
use throughline_memory::store::{Cost, Output, Source};

pub(crate) fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn scope(project: &str) -> Scope {
    Scope::Project(ProjectKey::new(project))
}

pub(crate) const SHOP: &str = "github.com/acme/shop-backend";
pub(crate) const SITE: &str = "github.com/acme/storefront";

/// One session's output, to be filled.
pub(crate) fn session(project: &str, id: &str, at: &str, slug: &str) -> Output {
    let updated = time(at);
    Output {
        source: Source {
            session: SessionId::new(id),
            project: ProjectKey::new(project),
            home: HomeId::new("home-0001"),
            ledger: format!("2026/{id}.jsonl"),
            client: "throughline".to_owned(),
            cwd: Some(format!("/home/ada/{}", project.rsplit('/').next().unwrap())),
            branch: Some("main".to_owned()),
            created: Some(updated),
            updated,
        },
        extraction: Extraction { findings: Vec::new(), summary: String::new(), slug: slug.to_owned() },
        cost: Cost { by: Author::Offline, model: None, tokens: 0, dollars: Dollars::default(), seconds: 0.0 },
        generated: updated,
        used: 0,
        last_used: None,
        selected: false,
    }
}

/// A finding on one message of a session.
pub(crate) fn finding<'a>(output: &'a mut Output, kind: FindingKind, text: &str) -> &'a mut Finding {
    let number = output.extraction.findings.len() + 1;
    let basis = match kind {
        FindingKind::Preference => Basis::Said,
        FindingKind::Procedure | FindingKind::Pitfall | FindingKind::Environment | FindingKind::Task => {
            Basis::Observed
        }
    };
    let source = &output.source;
    let evidence = Evidence::Message {
        session: source.session.clone(),
        message: MessageId::new(format!("msg-{number}")),
        at: Some(source.updated),
    };
    output.extraction.findings.push(Finding {
        kind,
        basis,
        text: text.to_owned(),
        quote: None,
        evidence: vec![evidence],
        keywords: Vec::new(),
        reach: Reach::Project,
        outcome: None,
    });
    output.extraction.findings.last_mut().unwrap()
}

fn says(output: &mut Output, text: &str) {
    finding(output, FindingKind::Preference, text);
}

fn did(output: &mut Output, text: &str, words: &[&str]) {
    let found = finding(output, FindingKind::Procedure, text);
    found.keywords = words.iter().map(|word| (*word).to_owned()).collect();
}

fn hurt(output: &mut Output, text: &str, quote: &str, words: &[&str]) {
    let found = finding(output, FindingKind::Pitfall, text);
    found.quote = Some(quote.to_owned());
    found.keywords = words.iter().map(|word| (*word).to_owned()).collect();
}

fn is(output: &mut Output, text: &str) {
    finding(output, FindingKind::Environment, text);
}

fn task(output: &mut Output, text: &str, outcome: TaskOutcome, words: &[&str]) {
    let found = finding(output, FindingKind::Task, text);
    found.outcome = Some(outcome);
    found.keywords = words.iter().map(|word| (*word).to_owned()).collect();
}

const TEST: &str =
    "Run the tests of the orders crate: `docker compose up -d db`, then `cargo nextest run -p orders`.";

pub(crate) fn shop() -> Vec<Output> {
    let mut all = Vec::new();
    let mut one = session(SHOP, "s-01", "2026-03-02T09:00:00Z", "add-refunds-endpoint");
    says(&mut one, "Never edit files below migrations/ once they are merged.");
    says(&mut one, "Use anyhow in the handlers.");
    says(&mut one, "Answer in short sentences, no summaries at the end.");
    did(&mut one, TEST, &["nextest", "docker", "orders"]);
    task(
        &mut one,
        "Add an endpoint for refunds to the orders service.",
        TaskOutcome::Success,
        &["POST /refunds", "handlers/refund.rs"],
    );
    all.push(one);
    let mut two = session(SHOP, "s-02", "2026-03-05T14:30:00Z", "flaky-order-test");
    hurt(
        &mut two,
        "`cargo nextest run -p orders` fails when the database is not up; `docker compose up -d db` puts it right.",
        "connection refused (os error 111)",
        &["postgres", "5432", "connection refused"],
    );
    did(&mut two, TEST, &["nextest", "postgres"]);
    task(
        &mut two,
        "Find out why the order total test is flaky.",
        TaskOutcome::Partial,
        &["orders/tests/total.rs"],
    );
    two.used = 3;
    all.push(two);
    let mut three = session(SHOP, "s-03", "2026-03-09T08:15:00Z", "typed-errors");
    says(&mut three, "Don't use anyhow in the handlers; typed errors with thiserror.");
    says(&mut three, "Never edit the files below migrations/ once they are merged!");
    did(
        &mut three,
        "Test the orders crate with `docker compose up -d db` and `cargo nextest run -p orders 2>&1 | tail -20`.",
        &["orders"],
    );
    task(
        &mut three,
        "Give the handlers typed errors.",
        TaskOutcome::Success,
        &["thiserror", "handlers/error.rs"],
    );
    all.push(three);
    let mut four = session(SHOP, "s-04", "2026-03-12T17:45:00Z", "staging-deploy");
    is(&mut four, "Staging runs on port 8443 behind a proxy that drops requests after 30 seconds.");
    did(
        &mut four,
        "Deploy to staging: `make image`, then `make deploy ENV=staging`, then `make smoke ENV=staging`.",
        &["deploy", "staging"],
    );
    task(&mut four, "Deploy the refunds to staging.", TaskOutcome::Failed, &["make deploy"]);
    hurt(
        &mut four,
        "`make deploy ENV=staging` fails while another deploy holds the lock.",
        "lock held by deploy-bot",
        &["deploy", "lock"],
    );
    all.push(four);
    let mut five = session(SHOP, "s-05", "2026-03-13T10:00:00Z", "staging-deploy-again");
    task(&mut five, "Deploy the refunds to staging.", TaskOutcome::Success, &["make deploy"]);
    says(&mut five, "Answer in short sentences; no summaries at the end.");
    is(&mut five, "Staging runs on port 8443 behind a proxy that drops requests after 30 seconds.");
    all.push(five);
    let mut six = session(SHOP, "s-06", "2026-03-20T11:11:00Z", "currency-rounding");
    says(&mut six, "Money is never a float: use the Cents type from core.");
    task(&mut six, "Round currencies by their own rules.", TaskOutcome::Uncertain, &["Cents", "rounding"]);
    all.push(six);
    all
}

pub(crate) fn site() -> Vec<Output> {
    let mut all = Vec::new();
    let mut one = session(SITE, "t-01", "2026-03-03T09:00:00Z", "dark-mode");
    says(&mut one, "Answer in short sentences, please, no summaries at the end.");
    says(&mut one, "Ask before adding a dependency.");
    did(&mut one, "Check the site: `pnpm lint`, then `pnpm test`.", &["lint", "vitest"]);
    task(
        &mut one,
        "Add a dark mode that follows the system.",
        TaskOutcome::Success,
        &["theme.css", "prefers-color-scheme"],
    );
    all.push(one);
    for (id, at, slug, what) in [
        ("t-02", "2026-03-06T09:00:00Z", "cart-badge", "Show the number of items on the cart's badge."),
        ("t-03", "2026-03-10T16:00:00Z", "search-box", "Make the search box usable by keyboard."),
    ] {
        let mut next = session(SITE, id, at, slug);
        did(&mut next, "Check the site: `pnpm lint`, then `pnpm test`.", &["lint"]);
        task(&mut next, what, TaskOutcome::Success, &[slug]);
        all.push(next);
    }
    let mut four = session(SITE, "t-04", "2026-03-11T12:00:00Z", "image-sizes");
    says(&mut four, "In all my projects: commit messages in the imperative, no emojis.");
    if let Some(last) = four.extraction.findings.last_mut() {
        last.reach = Reach::Everywhere;
    }
    says(&mut four, "Images go through the loader in lib/images.ts, never plain img tags.");
    hurt(
        &mut four,
        "`pnpm build` runs out of memory with source maps on; off it works.",
        "heap out of memory",
        &["NODE_OPTIONS", "sourcemap"],
    );
    all.push(four);
    let mut five = session(SITE, "t-05", "2026-03-18T12:00:00Z", "upgrade-router");
    says(&mut five, "Ask before adding a dependency!");
    task(
        &mut five,
        "Upgrade the router to its new version.",
        TaskOutcome::Partial,
        &["router", "loader functions"],
    );
    all.push(five);
    let mut six = session(SITE, "t-06", "2026-03-21T12:00:00Z", "router-loaders");
    task(
        &mut six,
        "Move the data loading of all pages to the new router's loaders.",
        TaskOutcome::Success,
        &["loaders"],
    );
    all.push(six);
    all
}

pub(crate) fn notes() -> Vec<HandNote> {
    vec![HandNote {
        file: "2026-03-19T10-00-00-release-day.md".to_owned(),
        text: "Releases go out on Tuesdays only.\nThe tag is made by CI, not by hand.\n".to_owned(),
        at: Some(time("2026-03-19T10:00:00Z")),
    }]
}

pub(crate) fn now() -> Timestamp {
    time("2026-04-01T00:00:00Z")
}

/// A book of some outputs.
pub(crate) fn book(scope: &Scope, outputs: &[Output], notes: &[HandNote], before: Option<&Book>) -> Book {
    let limits = HandbookLimits::default();
    consolidate(&Material { scope, outputs, notes, before, now: now(), limits: &limits })
}
