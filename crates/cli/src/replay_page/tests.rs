use super::sample::{POINTS, places};
use super::*;
use throughline_core::words::{escape, grouped, short};

fn run(profile: &str, requests: usize) -> RunPart {
    let request = |n: usize| RequestPart {
        kept: 20_000 + (n as u64 % 50) * 1_000,
        cleared: n as u64 * 300,
        weight: 2_000.0,
        ..RequestPart::default()
    };
    let edit = |n: usize| EditPart {
        request: n,
        stage: if n.is_multiple_of(100) { "autocompact" } else { "microcompact" }.to_owned(),
        reason: "<b>over</b> the \"limit\"".to_owned(),
        freed: 40_000,
    };
    RunPart {
        profile: profile.to_owned(),
        requests: (0..requests).map(request).collect(),
        edits: (0..requests).step_by(50).map(edit).collect(),
        ..RunPart::default()
    }
}

fn profile(name: &str, cost: f64, kept: f64) -> ProfilePart {
    let totals = TotalsPart { cost: Some(cost), kept: Some(kept), ..TotalsPart::default() };
    ProfilePart { name: name.to_owned(), baseline: name == "off", totals }
}

fn page(requests: usize) -> Page {
    let names = ["throughline", "claude", "off"];
    let session = |name: &str| SessionPart {
        name: name.to_owned(),
        about: "a client".to_owned(),
        runs: names.iter().map(|name| run(name, requests)).collect(),
    };
    Page {
        title: "Replay".to_owned(),
        generated: "today".to_owned(),
        notes: vec!["a note".to_owned()],
        profiles: vec![
            profile("throughline", 0.4, 0.88),
            profile("claude", 0.6, 0.5),
            profile("off", 1.0, 1.0),
        ],
        sessions: vec![session("one"), session("two")],
    }
}

#[test]
fn everything_from_outside_is_escaped() {
    let evil = "</title><script>alert('x')</script>\" onload=\"\u{0}";
    let mut page = page(120);
    page.title = evil.to_owned();
    page.generated = evil.to_owned();
    page.notes = vec![evil.to_owned()];
    page.profiles[0].name = evil.to_owned();
    for session in &mut page.sessions {
        session.name = evil.to_owned();
        session.about = evil.to_owned();
        session.runs[0].profile = evil.to_owned();
        session.runs[0].edits[0].stage = evil.to_owned();
        session.runs[0].edits[0].reason = evil.to_owned();
    }
    let html = page.render();
    assert_eq!(html.matches("<script>").count(), 1, "only our own");
    assert!(!html.contains("\" onload"));
    assert!(!html.contains('\u{0}'));
    assert!(html.contains("&lt;script&gt;alert(&#39;x&#39;)"));
    assert_eq!(escape("a<b>&\"'\u{7}"), "a&lt;b&gt;&amp;&quot;&#39;\u{fffd}");
}

#[test]
fn the_page_stands_alone() {
    let html = page(50).render();
    for outside in ["src=", "href=", "url(", "@import", "fetch("] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(html.contains("prefers-color-scheme: dark"));
    assert_eq!(html.matches("<details class=\"session\" open>").count(), 1);
    assert_eq!(html.matches("<details class=\"session\">").count(), 1);
    for tag in ["section", "figure", "details", "table", "svg", "main", "div", "p", "figcaption"] {
        let opened = html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

#[test]
fn a_chart_draws_at_most_400_points() {
    let html = page(5_000).render();
    let paths = html.split(" d=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let most = paths.map(|path| path.matches('L').count() + 1).max().unwrap_or(0);
    // An area goes there and back.
    assert!(most > POINTS && most <= 2 * POINTS, "{most}");
    assert!(html.len() < 2_000_000, "{}", html.len());
}

#[test]
fn sampling_keeps_ends_peaks_and_drops() {
    let mut values: Vec<f64> = (0..10_000).map(|n| f64::from(n % 7)).collect();
    values[4_321] = 1e6;
    values[7_777] = -1.0;
    let drawn = places(&values);
    assert!(drawn.len() <= POINTS);
    assert!(drawn.is_sorted_by(|a, b| a < b));
    for place in [0, 4_321, 7_777, 9_999] {
        assert!(drawn.contains(&place), "{place}");
    }
    assert!(places(&[]).is_empty());
    assert_eq!(places(&[1.0, 2.0]), [0, 1]);
    assert_eq!(places(&vec![0.0; POINTS]).len(), POINTS);
}

#[test]
fn the_best_figures_are_those_of_competitors() {
    let html = page(10).render();
    assert!(html.contains(
        "<b>throughline</b> is cheapest, at 0.40 of what sending everything costs, and keeps most"
    ));
    let head = html.split("</section>").next().unwrap_or_default();
    assert_eq!(head.matches("class=\"best\"").count(), 2, "cost and kept, both of one profile");
    assert!(head.contains("<td class=\"best\">0.880</td>"));
    assert!(head.contains("<td>1.000</td>"), "the baseline keeps all and wins nothing");
}

#[test]
fn small_and_empty_sessions_are_shown() {
    for requests in [0, 1, 2] {
        let html = page(requests).render();
        assert!(!html.contains("NaN") && !html.contains("inf"), "{requests}");
    }
    let html = Page::default().render();
    assert!(html.contains("No session was replayed."));
    assert!(html.contains("0 sessions · 0 requests"));
}

#[test]
fn numbers_are_short_and_grouped() {
    assert_eq!(grouped(0), "0");
    assert_eq!(grouped(1_234_567), "1,234,567");
    assert_eq!(short(999.0), "999");
    assert_eq!(short(1_000.0), "1K");
    assert_eq!(short(12_345.0), "12.3K");
    assert_eq!(short(168_057.0), "168K");
    assert_eq!(short(999_600.0), "1M");
    assert_eq!(short(1_250_000.0), "1.2M");
}
