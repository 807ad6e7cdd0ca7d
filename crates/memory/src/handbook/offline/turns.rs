//! Turns: what was asked, what was done, how it ended.

use super::purpose::Purpose;
use super::shell::Step;
use super::spot::{Ends, Spot, relative};
use crate::extract::pattern::patterns;
use crate::extract::said::Said;
use crate::extract::terms::subjects;
use crate::handbook::voice::{is_order, is_order_in_subject};
use throughline_core::classify::{SentenceKind, without_lead};
use throughline_core::text::{head, one_line};

patterns! {
    COMMITTED = r"(?m)^\[[^\]\n]{1,80} [0-9a-f]{7,}\] (.{3,200})$";
    PULL = r"https://[\w.-]+/[\w.-]+/[\w.-]+/(?:pull|merge_requests|-/merge_requests)/\d+";
    CONTENT = r"^\W*(?:thanks?|thank you|great|perfect|nice|awesome|excellent|lovely|cool|works|lgtm|good|success|that was it|yes,? that was|looks good|well done|brilliant|谢谢|很好|不错|完美)\b|\bthat(?:'s| is) (?:working|great|perfect|it)\b|\bworks (?:now|great|well)\b";
    ASKS = r"\b(?:can|could|would) (?:you|we)\b|\bplease\b|\b(?:i|we)(?:'d| would)? (?:want|like|need)\b|\bshould\b|\blet's\b|\?$|^(?:fix|add|implement|write|create|make|refactor|rename|move|delete|remove|run|update|change|review|investigate|explain|check|find|build|test|debug|revert|commit|push|merge|generate|clean|do|spawn|finish|summari[sz]e)\b|请|帮我|能不能";
    HANDS_OVER = r"^\s*(?:please |now )?(?:implement|execute|do|carry out|work on|task|fix)\b[^.\n]{0,60}[:：]\s*$";
    HEADING = r"^\s{0,3}#{1,3}\s+(\S.{6,120})$";
    DISCONTENT = r"\bstill (?:fail|broken|not|see|seeing|show|wrong|red|the same)\w*|\b(?:doesn't|does not|didn't|did not) (?:work|help|fix)|\bnot what i\b|\b(?:is|are|was|that's) (?:wrong|broken|incorrect)\b|\b(?:is|are|it's) failing\b|\blint fail|\bit (?:just )?(?:happened|broke|failed) again|\bwhat are you doing|\brevert (?:that|this|it|the commit)|\buh oh\b|不对|错了|还是(?:不行|报错|失败)";
}

const MOST_TURNS: usize = 300;
const MOST_FILES: usize = 40;
const MOST_COMMITS: usize = 8;
/// Of an answer no more is kept.
const LONGEST_ANSWER: usize = 6_000;

/// One turn.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) spot: Spot,
    /// The sentences that the user typed; what they pasted is not among them.
    pub(super) asked: Vec<String>,
    /// What the task that they handed over is called, if it is a text of its own.
    heading: Option<String>,
    pub(super) calls: u32,
    pub(super) changed: Vec<(String, u32)>,
    pub(super) commits: Vec<(String, Spot)>,
    pub(super) is_pushed: bool,
    pub(super) is_merged: bool,
    pub(super) pulls: Vec<String>,
    /// The last check, and whether it passed.
    pub(super) check: Option<(String, bool, Spot)>,
    /// Whether something was changed behind the last check.
    pub(super) is_unchecked: bool,
    pub(super) answer: Option<(String, Spot)>,
    pub(super) is_aborted: bool,
    /// The last message of it.
    pub(super) last: Spot,
}

impl Turn {
    fn new(spot: Spot, asked: Vec<String>, heading: Option<String>) -> Self {
        Self {
            last: spot.clone(),
            spot,
            asked,
            heading,
            calls: 0,
            changed: Vec::new(),
            commits: Vec::new(),
            is_pushed: false,
            is_merged: false,
            pulls: Vec::new(),
            check: None,
            is_unchecked: false,
            answer: None,
            is_aborted: false,
        }
    }

    /// The typed words in one line.
    pub(super) fn words(&self, chars: usize) -> String {
        one_line(&self.asked.join(" "), chars)
    }

    /// The sentence that says most of what is asked, from its beginning, and how much that is: it stands so in the message.
    pub(super) fn telling(&self, chars: usize) -> (usize, String) {
        let worth = |sentence: &str| {
            let asks = if ASKS.is_in(sentence) { 4 } else { 0 };
            let announces = if sentence.ends_with([':', '：']) { 4 } else { 0 };
            (subjects(sentence).len().min(8) + asks).saturating_sub(announces)
        };
        let mut best: Option<(usize, &str)> = None;
        for sentence in self.asked.iter().take(6) {
            let worth = worth(sentence);
            if best.is_none_or(|(known, _)| worth > known) {
                best = Some((worth, sentence));
            }
        }
        let title = self.heading.as_deref().filter(|_| best.is_none_or(|(worth, _)| worth < 5));
        let worth = best.map_or(0, |(worth, _)| worth).max(if title.is_some() { 8 } else { 0 });
        (worth, one_line(title.or(best.map(|(_, sentence)| sentence)).unwrap_or_default(), chars))
    }

    /// Whether anything came of it that lasts.
    pub(super) fn did_something(&self) -> bool {
        !self.changed.is_empty()
            || !self.commits.is_empty()
            || self.is_pushed
            || self.is_merged
            || !self.pulls.is_empty()
    }

    pub(super) fn is_content(&self) -> bool {
        let words = self.words(200);
        CONTENT.is_in(&words) && !DISCONTENT.is_in(&words)
    }

    pub(super) fn is_discontent(&self) -> bool {
        DISCONTENT.is_in(&self.words(300))
    }
}

/// What a text that the user hands over as the task is called: its first heading. Only where they say so, or where the message is nothing but that
/// text, and never if it reads like an order.
fn heading(words: &str, asked: &[String]) -> Option<String> {
    let mut lines = words.lines().map(str::trim_end).filter(|line| !line.trim().is_empty());
    let first = lines.next()?;
    let (line, is_fit): (&str, fn(&str) -> bool) = if HEADING.is_in(first) && asked.is_empty() {
        (first, |heading| !is_order(heading))
    } else if HANDS_OVER.is_in(first) {
        (lines.next()?, |heading| !is_order_in_subject(heading))
    } else {
        return None;
    };
    let heading = HEADING.groups(line)?.get(1)?.trim().to_owned();
    is_fit(&heading).then_some(heading)
}

/// A run within a turn.
pub(super) struct Run<'a> {
    pub(super) step: &'a Step,
    pub(super) purpose: Purpose,
    pub(super) worked: bool,
    pub(super) output: &'a str,
    pub(super) ends: Ends<'a>,
}

/// All turns; of very many the first and the newest.
#[derive(Debug, Default)]
pub(super) struct Turns {
    all: Vec<Turn>,
}

impl Turns {
    /// The user said something.
    pub(super) fn begin(&mut self, said: &Said, words: &str, spot: Spot) {
        let mut left = 600_usize;
        let mut asked = Vec::new();
        for sentence in &said.sentences {
            let text = without_lead(&sentence.text);
            if left == 0 {
                break;
            }
            // What the user tells of a page or a tool is not what they ask for.
            if SentenceKind::Reported.is_in(text) {
                continue;
            }
            asked.push(one_line(text, left));
            left = left.saturating_sub(text.chars().count());
        }
        let heading = heading(words, &asked);
        self.all.push(Turn::new(spot, asked, heading));
        if self.all.len() > MOST_TURNS {
            self.all.drain(MOST_TURNS / 4..MOST_TURNS / 2);
        }
    }

    fn now(&mut self) -> Option<&mut Turn> {
        self.all.last_mut()
    }

    /// A tool was called.
    pub(super) fn called(&mut self, spot: &Spot) {
        if let Some(turn) = self.now() {
            turn.calls += 1;
            turn.last = spot.clone();
        }
    }

    /// A file was changed.
    pub(super) fn changed(&mut self, path: &str, cwd: Option<&str>, spot: &Spot) {
        let Some(turn) = self.now() else { return };
        turn.is_unchecked = true;
        turn.last = spot.clone();
        let path = relative(path, cwd);
        if let Some((_, times)) = turn.changed.iter_mut().find(|(known, _)| known == path) {
            *times += 1;
        } else if turn.changed.len() < MOST_FILES {
            turn.changed.push((path.to_owned(), 1));
        }
    }

    /// A command was run.
    pub(super) fn run(&mut self, run: &Run<'_>) {
        let Some(turn) = self.now() else { return };
        turn.last = run.ends.result.clone();
        if run.purpose.is_check() {
            turn.check = Some((run.step.told(), run.worked, run.ends.call.clone()));
            turn.is_unchecked = false;
        }
        if !run.worked {
            return;
        }
        match run.purpose {
            Purpose::Commit => {
                let subject = COMMITTED
                    .groups(head(run.output, 8_000))
                    .and_then(|groups| groups.get(1).map(|text| one_line(text, 100)));
                if let Some(subject) = subject.filter(|subject| !is_order_in_subject(subject))
                    && turn.commits.len() < MOST_COMMITS
                {
                    turn.commits.push((subject, run.ends.result.clone()));
                }
            }
            Purpose::Push => turn.is_pushed = true,
            Purpose::Forge => {
                let verb = run.step.words.get(2).map_or("", String::as_str);
                turn.is_merged |= verb == "merge";
                if verb == "create"
                    && let Some(place) = PULL.find(run.output)
                    && turn.pulls.len() < 4
                {
                    turn.pulls.push(run.output[place].to_owned());
                }
            }
            Purpose::Test
            | Purpose::Lint
            | Purpose::Format
            | Purpose::Generate
            | Purpose::Build
            | Purpose::Release
            | Purpose::Install
            | Purpose::Tool
            | Purpose::Look => {}
        }
    }

    /// The agent said something.
    pub(super) fn answered(&mut self, text: &str, spot: &Spot) {
        let Some(turn) = self.now() else { return };
        turn.last = spot.clone();
        // The last words of a turn are its answer, unless they are a mere nod.
        if text.trim().len() >= 40 || turn.answer.is_none() {
            turn.answer = Some((head(text, LONGEST_ANSWER).to_owned(), spot.clone()));
        }
    }

    /// The turn was broken off.
    pub(super) fn aborted(&mut self) {
        if let Some(turn) = self.now() {
            turn.is_aborted = true;
        }
    }

    pub(super) fn into_all(self) -> Vec<Turn> {
        self.all
    }
}
