//! Conversations that nobody has a name for never mix, however they are interleaved and whatever becomes of the server.

use crate::kit::{TestHome, proxy_before};
use crate::talk::{Talk, nobody_writes, views};
use proptest::collection::vec;
use proptest::prelude::*;
use throughline_server::Running;
use throughline_testkit::{Answer, Reply, Seen, Server};

const TALKS: usize = 4;

#[derive(Clone, Debug)]
enum Step {
    /// A conversation goes on, or begins.
    Say(usize),
    /// Its client goes back to what it said second.
    Back(usize),
    /// The server is stopped, and started again.
    Restart,
    /// The server is killed.
    Crash,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0..TALKS).prop_map(Step::Say),
        2 => (0..TALKS).prop_map(Step::Back),
        1 => Just(Step::Restart),
        1 => Just(Step::Crash),
    ];
    vec(step, 4..24)
}

/// The same to whoever says the same.
fn echo(seen: &Seen) -> Reply {
    Answer::text(format!("You said: {}", seen.last_user_text())).into()
}

async fn start(provider: &Server, home: &TestHome) -> Running {
    let home = home.home.clone();
    proxy_before(provider.address(), move |settings| settings.home = home).await.0
}

async fn run(steps: Vec<Step>) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
    let provider = Server::start(echo).unwrap();
    let home = TestHome::new();
    let mut proxy = start(&provider, &home).await;
    let mut talks = vec![Talk::default(); TALKS];
    for (number, step) in steps.into_iter().enumerate() {
        match step {
            Step::Say(which) => {
                let talk = &mut talks[which];
                // All begin with the same words, and are told the same.
                let text =
                    if talk.messages.is_empty() { "hello".to_owned() } else { format!("{which}, {number}") };
                talk.say(proxy.address(), &text).await;
            }
            Step::Back(which) => {
                let talk = &mut talks[which];
                if talk.messages.len() > 4 {
                    talk.messages.truncate(4);
                    talk.say(proxy.address(), &format!("{which} elsewhere, {number}")).await;
                }
            }
            Step::Restart => {
                proxy.stop().await;
                proxy = start(&provider, &home).await;
            }
            Step::Crash => {
                drop(proxy);
                nobody_writes(&home.home).await;
                proxy = start(&provider, &home).await;
            }
        }
    }
    proxy.stop().await;
    let mut said: Vec<_> = talks.iter().map(Talk::texts).filter(|texts| !texts.is_empty()).collect();
    said.sort();
    (said, views(&home.home))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn interleaved_conversations_never_mix(steps in steps()) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        // A crash takes at most an answer that the client has and never sent back.
        let (said, kept) = runtime.block_on(run(steps));
        prop_assert_eq!(said.len(), kept.len());
        for (said, kept) in said.iter().zip(&kept) {
            let is_all = said == kept;
            let is_all_but_the_last = said.split_last().is_some_and(|(_, rest)| rest == &kept[..]);
            prop_assert!(is_all || is_all_but_the_last, "{said:?} is kept as {kept:?}");
        }
    }
}
