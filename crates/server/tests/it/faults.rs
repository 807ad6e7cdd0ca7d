//! Whatever goes wrong, at the provider, at the client or in our own code: the client gets what it would have got directly, and
//! the provider what it would have been asked, or a valid edited request.

use http::HeaderMap;
use std::time::Duration;
use throughline_ledger::Home;
use throughline_server::{Injected, Point, Server, Settings, Upstream, Upstreams};
use throughline_testkit::trial::{self, INJECT, Provider, Report, Trial};
use tokio::runtime::Handle;

/// What a request asks for in its header: where, then what.
fn asked_for(point: Point, headers: &HeaderMap) -> Option<Injected> {
    let (place, what) = headers.get(INJECT)?.to_str().ok()?.split_once(' ')?;
    let here = match point {
        Point::First => "first",
        Point::Thread => "thread",
        Point::Decided => "decided",
        Point::Learn => "learn",
    };
    (place == here).then_some(())?;
    match what {
        "panic" => Some(Injected::Panic),
        "error" => Some(Injected::Error),
        _ => Some(Injected::Slow(SLOW)),
    }
}

/// Our own time is shorter.
const SLOW: Duration = Duration::from_secs(5);

/// Pools of connections to providers.
const POOLS: usize = 3;

/// Sends many requests both ways.
async fn many(requests: usize, seed: u64) -> Report {
    let provider = Provider::start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let base = format!("http://{}", provider.address());
    let upstreams = Upstreams {
        anthropic: Upstream::anthropic(&base).unwrap(),
        openai: Upstream::openai(&base).unwrap(),
        ..Upstreams::default()
    };
    let mut settings = Settings::new(Home::new(folder.path()), upstreams);
    settings.limits.our_time = SLOW / 2;
    if let Some(managing) = &mut settings.manage {
        managing.window = Some(16_000);
        managing.inject = Some(asked_for);
    }
    let proxy = Server::start(settings).await.unwrap();
    let runtime = Handle::current();
    let idle = runtime.metrics().num_alive_tasks();
    let trial =
        Trial { through: proxy.address(), requests, sessions: 9, at_once: 4, turns: 14, words: 700, seed };
    let (provider, report) = tokio::task::spawn_blocking(move || {
        let report = trial::run(&provider, &trial).unwrap();
        (provider, report)
    })
    .await
    .unwrap();
    // What was given up is given up everywhere: no request is being answered, and no task is left but for those of connections
    // that are kept for the next request, and one for each pool of these.
    let settled = async {
        while provider.busy() > 0 || runtime.metrics().num_alive_tasks() > idle + provider.open() + POOLS {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let settled = tokio::time::timeout(Duration::from_secs(60), settled).await;
    assert!(
        settled.is_ok(),
        "{} requests are being answered on {} connections; {} tasks, at first {idle}",
        provider.busy(),
        provider.open(),
        runtime.metrics().num_alive_tasks()
    );
    proxy.stop().await;
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_goes_wrong_the_client_gets_what_it_would_have_got_directly() {
    let report = many(300, 8).await;
    assert_eq!(report.wrong, 0, "{:#?}", report.differences);
    assert_eq!(report.alive, 9, "a session is stuck");
    assert!(report.edited > 5, "too few were edited to tell: {}", report.edited);
    assert!(report.kinds.len() > 15 && report.injected.len() == 8, "{report:?}");
}
