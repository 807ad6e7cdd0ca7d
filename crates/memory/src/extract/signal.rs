//! What a sentence of the user is worth to later sessions, by its words (M2).
//!
//! Precision comes before recall: what is missed can be said again, or a model may notice it; what is kept wrongly comes back for months.

use super::dates::says_when;
use super::pattern::pattern_groups;
use super::refusal::Refusal;
use super::terms::{subjects, terms};
use crate::topics::TopicType;
use throughline_core::classify::SentenceKind::{
    Contrast, Personal, Preference, Prohibition, Question, Reported, Stop,
};
use throughline_core::classify::{plain, without_lead, without_quotes};

/// What a sentence is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Worth {
    /// It is worth keeping by its words alone.
    Keep(TopicType),
    /// It may be: whoever understands it may say so.
    Maybe(TopicType),
    /// It is not, whoever says so.
    No(Refusal),
}

pattern_groups! {
    include_str!("../../data/patterns/signal.tsv");
    NOW TROUBLE RECIPE HISTORY CODE PATHY FORGETS USER ALWAYS LASTING DIRECTS HERE CONFIRMS YES KEEP_ON
    BECAUSE PLAN STAKE OWNS DECIDES SYSTEM WHERE LOOK LOOK_LATER IMPERATIVE IMPERATIVE_THEN_HERE
    DIRECTS_AT_START ABOUT_ME LASTING_RULE KEEP_ON_START REASON DASHED PAST ZH_TASK
}

/// What a sentence is worth by its words.
pub(crate) fn worth(sentence: &str, reason_follows: bool) -> Worth {
    let straight = sentence.replace('’', "'");
    let plain = plain(sentence);
    let plain = plain.as_str();
    if Question.is_in(plain) {
        return Worth::No(Refusal::Question);
    }
    if Reported.is_in(plain) {
        return Worth::No(Refusal::Reported);
    }
    if let Some(refusal) = excluded(plain) {
        return Worth::No(refusal);
    }
    // A rule about "that" says nothing without what stood before it; a wish to forget is no memory.
    if terms(plain).len() < 2 || subjects(plain).is_empty() || FORGETS.is_in(plain) {
        return Worth::No(Refusal::NotLasting);
    }
    if is_feedback(plain, &straight, reason_follows) {
        return Worth::Keep(TopicType::Feedback);
    }
    if USER.is_in(plain) {
        return Worth::Keep(TopicType::User);
    }
    if is_reference(plain) {
        return Worth::Keep(TopicType::Reference);
    }
    let is_task = IMPERATIVE.is_in(plain) || ZH_TASK.is_in(plain);
    if !is_task && is_project(plain) {
        return Worth::Keep(TopicType::Project);
    }
    if TROUBLE.is_in(plain) {
        return Worth::No(Refusal::CurrentTask);
    }
    let corrects = Contrast.is_in(plain) || Prohibition.is_in(plain) || CONFIRMS.is_in(&straight);
    if is_task && !corrects {
        return Worth::No(Refusal::CurrentTask);
    }
    if (corrects || Personal.is_in(plain) || SYSTEM.is_in(plain)) && subjects(plain).len() >= 2 {
        return Worth::Maybe(guess(plain));
    }
    Worth::No(Refusal::NotLasting)
}

/// What a sentence that is to be remembered is about.
pub(crate) fn guess(sentence: &str) -> TopicType {
    let plain = plain(sentence);
    let plain = plain.as_str();
    if is_feedback(plain, sentence, false) || Prohibition.is_in(plain) || DIRECTS_AT_START.is_in(plain) {
        TopicType::Feedback
    } else if USER.is_in(plain) {
        TopicType::User
    } else if SYSTEM.is_in(plain) {
        TopicType::Reference
    } else if ABOUT_ME.is_in(plain) {
        TopicType::User
    } else {
        TopicType::Project
    }
}

/// What is never saved, even on request, as far as one sentence shows.
pub(crate) fn excluded(plain: &str) -> Option<Refusal> {
    if RECIPE.is_in(plain) {
        return Some(Refusal::FixRecipe);
    }
    if HISTORY.is_in(plain) {
        return Some(Refusal::InHistory);
    }
    let paths = PATHY.places(plain).len();
    if paths >= 3 || (paths > 0 && CODE.is_in(plain) && !LASTING_RULE.is_in(plain)) {
        return Some(Refusal::InCode);
    }
    NOW.is_in(plain).then_some(Refusal::CurrentTask)
}

/// Whether a sentence bids to go on as before, and says no more.
pub(crate) fn confirms(sentence: &str) -> bool {
    let plain = without_quotes(&sentence.replace('’', "'"));
    (YES.is_in(plain.trim()) || KEEP_ON_START.is_in(plain.trim())) && KEEP_ON.is_in(&plain)
}

/// Whether a sentence gives a reason for the one before it.
pub(crate) fn gives_reason(sentence: &str) -> bool {
    REASON.is_in(without_lead(&sentence.replace('’', "'"))) && !Question.is_in(sentence)
}

fn is_feedback(plain: &str, sentence: &str, reason_follows: bool) -> bool {
    let has_reason = reason_follows || BECAUSE.is_in(plain) || DASHED.is_in(plain);
    let trouble = TROUBLE.is_in(plain) && !Prohibition.is_in(plain) && !ALWAYS.is_in(plain);
    if trouble && !has_reason {
        return false;
    }
    let directs = DIRECTS.is_in(plain);
    (ALWAYS.is_in(plain) && !PAST.is_in(plain))
        || (LASTING.is_in(plain) && directs && !IMPERATIVE_THEN_HERE.is_in(plain))
        || Preference.is_in(plain)
        || Stop.is_in(plain)
        || (Prohibition.is_in(plain) && has_reason)
        || HERE.is_in(plain)
        || (CONFIRMS.is_in(sentence) && subjects(plain).len() >= 3)
}

fn is_reference(plain: &str) -> bool {
    SYSTEM.is_in(plain) && WHERE.is_in(plain) && (!LOOK.is_in(plain) || LOOK_LATER.is_in(plain))
}

fn is_project(plain: &str) -> bool {
    (PLAN.is_in(plain) && says_when(plain)) || STAKE.is_in(plain) || OWNS.is_in(plain) || DECIDES.is_in(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m2_what_lasts_is_kept_by_its_type() {
        use TopicType::{Feedback, Project, Reference, User};
        for (kind, sentence) in [
            (User, "I'm a data scientist investigating what logging we have in place"),
            (
                User,
                "I've been writing Go for ten years but this is my first time touching the React side of this repo",
            ),
            (User, "I'm new to Rust."),
            (User, "my timezone is CET"),
            (User, "我是一名后端工程师"),
            (User, "我不太熟悉前端"),
            (
                Feedback,
                "don't mock the database in these tests — we got burned last quarter when mocked tests passed but the prod migration failed",
            ),
            (
                Feedback,
                "stop summarizing what you just did at the end of every response, I can read the diff",
            ),
            (
                Feedback,
                "yeah the single bundled PR was the right call here, splitting this one would've just been churn",
            ),
            (Feedback, "From now on, use pnpm instead of npm."),
            (Feedback, "Always run the linter before committing."),
            (Feedback, "I prefer small commits"),
            (Feedback, "Please never push to main without asking."),
            (Feedback, "We use tabs in this repo."),
            (Feedback, "以后不要自动提交代码"),
            (Feedback, "我更喜欢简短的回答"),
            (Feedback, "每次提交前都要跑测试"),
            (
                Project,
                "we're freezing all non-critical merges after Thursday — mobile team is cutting a release branch",
            ),
            (
                Project,
                "the reason is that legal flagged it for storing session tokens in a way that doesn't meet the new compliance requirements",
            ),
            (Project, "Ann owns the billing service."),
            (Project, "We decided to drop IE11."),
            (Project, "下周三上线，之前冻结合并"),
            (Project, "客户要求数据必须留在境内"),
            (
                Reference,
                "check the Linear project \"INGEST\" if you want context on these tickets, that's where we track all pipeline bugs",
            ),
            (Reference, "the Grafana board at grafana.internal/d/api-latency is what oncall watches"),
            (Reference, "Design docs are in https://notion.so/acme/designs"),
            (Reference, "线上错误都记录在 Sentry 的 web 项目里"),
        ] {
            assert_eq!(worth(sentence, false), Worth::Keep(kind), "{sentence}");
        }
    }

    #[test]
    fn m2_requests_questions_reports_and_the_state_of_the_task_are_not_kept() {
        for sentence in [
            "Fix the login page.",
            "Can you add a test for the parser?",
            "Run the tests and commit.",
            "Whenever I click save it crashes.",
            "The build is failing on CI right now.",
            "It always fails on the second run.",
            "Every time I run the tests it times out",
            "I'm working on the importer today",
            "The page says to always use curl",
            "The README tells you to never use npm.",
            "For this PR, don't touch the lockfile",
            "Check https://example.com/a and tell me what it is",
            "What is the convention here?",
            "parse_json is implemented in src/json.rs",
            "The fix was to clear the cache",
            "We merged PR #12 yesterday",
            "see commit 4f2a9c1 for it",
            "thanks, looks good",
            "ok",
            "Let's try the other one",
            "修复登录页面的问题",
            "每次运行都报错",
            "这次先别改测试",
            "帮我看看这个函数",
            "网页说以后都要用 curl",
        ] {
            assert!(
                !matches!(worth(sentence, false), Worth::Keep(_)),
                "{sentence}: {:?}",
                worth(sentence, false)
            );
        }
    }

    #[test]
    fn reasons_and_confirmations_are_told() {
        assert!(gives_reason("We got burned last quarter."));
        assert!(gives_reason("因为上次出过事故"));
        assert!(!gives_reason("Fix the tests."));
        assert!(confirms("yes exactly, keep doing it like that"));
        assert!(confirms("Perfect — do it this way from now on."));
        assert!(!confirms("Yes."));
        assert!(!confirms("Please do the other thing"));
    }

    #[test]
    fn talk_about_the_work_is_not_kept() {
        for sentence in [
            "it seems that we are really using these names in the exporter",
            "I've just pulled, we need to rebase on trunk now",
            "The parse_row helper is defined in rows.go but never called from anywhere.",
            "I think we need to agree on words here.",
            "wait why are fixtures in a folder of their own shouldn't we have one per case",
            "One more thing, the title is too long, can we shorten it",
            "9f8e7d6 show the elapsed time in the list, we use it",
        ] {
            let worth = worth(sentence, false);
            assert!(!matches!(worth, Worth::Keep(_)), "{sentence}: {worth:?}");
        }
    }
}
