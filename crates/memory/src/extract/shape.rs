//! The words of a memory in M2's shape: the rule, then why, then how to apply it. All of them are the user's.

use super::dates::absolute;
use super::pattern::patterns;
use super::terms::is_unspaced;
use crate::topics::TopicType;
use jiff::civil::Date;
use throughline_core::classify::without_lead;

patterns! {
    BECAUSE = r"^(.{8,}?)\s*[,;]?\s+(because\s+.{4,}|as otherwise\s+.{4,}|otherwise\s+.{4,}|so that\s+.{4,}|since (?:it|we|they|the|our|my|that|this|i)\b.{4,})$";
    DASH = r"^(.{8,}?)\s+(?:—|–|-{1,2})\s+((?:it|we|they|i|that|this|the|our|last|otherwise|because|he|she)\b.{4,}|[^.]{0,30}\b(?:got|was|were|is|are|broke|failed|cost)\b.{4,})$";
    ZH_BECAUSE = r"^(.{3,}?)[，,；;]?\s*((?:因为|否则|不然|以免).{2,})$";
    WORD = r"^(?:because|since|as)\s+|^因为";
    SCOPE_FIRST = r"^((?:when|whenever|if|before|after|while|every time|each time|for (?:all|any|every)|in (?:all|every|any|tests|docs))\b[^,，]{3,80})[,，]\s*\S";
    SCOPE_LAST = r"^.{8,}?[\s,]+((?:when|whenever|before|after|every time|each time|unless|if)\b[^,.;—–]{3,80}?)[.!]?$";
    ZH_SCOPE = r"^((?:每次|在|当|如果)[^，。]{2,30}(?:时候?|之?前|之?后|的话))[，,]?";
    GLOBAL = r"\b(?:in|for|across|on) (?:all|every|any|each)(?: of)? (?:my |our |your )?(?:other )?(?:projects?|repos?|repositories|codebases?)\b|\beverywhere\b|\bglobally\b|\bin every (?:project|repo)\b|\bwherever (?:i|we|you) work\b|所有(?:的)?(?:项目|仓库)|每个(?:项目|仓库)|任何(?:项目|仓库)|全局|不管(?:在)?哪个项目";
    LOCAL = r"\b(?:this|the) (?:project|repo|repository|codebase|code|app|service|side|module|team|package)\b|\bhere\b|这个?(?:项目|仓库|代码库?|服务|模块)|本(?:项目|仓库)|这里|这边";
}

/// Characters of a title and of a description.
const TITLE: usize = 60;
const TITLE_UNSPACED: usize = 28;
const DESCRIPTION: usize = 150;

/// The words of a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shaped {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) body: String,
}

/// What the user said, as a memory.
pub(crate) struct Words<'a> {
    pub(crate) kind: TopicType,
    /// The rule or the fact.
    pub(crate) rule: &'a str,
    /// A sentence of its own that says why.
    pub(crate) reason: Option<&'a str>,
    /// When it was said.
    pub(crate) today: Date,
}

impl Words<'_> {
    /// In M2's shape. Nothing is added but dates and the marks of the parts.
    pub(crate) fn shape(&self) -> Shaped {
        let said = absolute(without_lead(self.rule), self.today);
        let has_parts = match self.kind {
            TopicType::Feedback | TopicType::Project => true,
            TopicType::User | TopicType::Reference => false,
        };
        let (rule, inner) = if has_parts { split_reason(&said) } else { (said.as_str(), None) };
        let rule = sentence(rule);
        let reason = match (inner, self.reason) {
            (Some(inner), Some(next)) => Some(format!("{} {}", sentence(inner), absolute(next, self.today))),
            (Some(inner), None) => Some(sentence(inner)),
            (None, Some(next)) => Some(sentence(&absolute(without_lead(next), self.today))),
            (None, None) => None,
        };
        let mut body = rule.clone();
        match (reason, has_parts) {
            (Some(reason), true) => body.push_str(&format!("\n\n**Why:** {}", capital(reason.trim()))),
            (Some(reason), false) => body.push_str(&format!(" {reason}")),
            (None, _) => {}
        }
        if self.kind == TopicType::Feedback
            && let Some(scope) = scope(&rule)
        {
            body.push_str(&format!("\n\n**How to apply:** {}", sentence(&scope)));
        }
        Shaped { name: title(&rule), description: cut(&sentence(&said), DESCRIPTION), body }
    }
}

/// Whether what is said holds in all projects.
pub(crate) fn is_global(said: &str, kind: TopicType) -> bool {
    GLOBAL.is_in(said) || (kind == TopicType::User && !LOCAL.is_in(said))
}

/// A rule, and the reason that the sentence gives for it.
pub(crate) fn split_reason(rule: &str) -> (&str, Option<&str>) {
    for pattern in [&BECAUSE, &DASH, &ZH_BECAUSE] {
        if let Some(groups) = pattern.groups(rule) {
            let at = WORD.find(groups[2]).map_or(0, |word| word.end);
            return (groups[1].trim_end_matches([' ', ',', ';']), Some(&groups[2][at..]));
        }
    }
    (rule, None)
}

/// The part of a rule that says when it holds.
fn scope(rule: &str) -> Option<String> {
    [&SCOPE_FIRST, &SCOPE_LAST, &ZH_SCOPE]
        .iter()
        .find_map(|pattern| Some(pattern.groups(rule)?.get(1)?.trim().to_owned()))
}

/// A title made of a sentence: as much of it as fits.
pub(crate) fn title(rule: &str) -> String {
    let rule = rule.trim().trim_end_matches(['.', '!', '。', '！', ';', '；', ',', '，', ':', '：']);
    let unspaced = rule.chars().filter(|c| is_unspaced(*c)).count() * 2 > rule.chars().count();
    cut(&capital(rule), if unspaced { TITLE_UNSPACED } else { TITLE })
}

/// The beginning of a text, cut between words, in one line.
fn cut(text: &str, most: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() <= most {
        return text;
    }
    let head: String = text.chars().take(most - 1).collect();
    let end =
        head.rfind(|c: char| c.is_whitespace()).filter(|end| *end * 2 > head.len()).unwrap_or(head.len());
    format!("{}…", head[..end].trim_end_matches([' ', ',', ';', '，', '—', '-']))
}

/// A text as a sentence: a capital first, a mark last.
fn sentence(text: &str) -> String {
    let text = capital(text.trim().trim_end_matches([',', '，', ';', '；', ' ']));
    let last = text.chars().next_back().unwrap_or('.');
    if last.is_ascii_punctuation() && !matches!(last, '"' | '`' | ')' | '\'' | '/' | '_' | ']')
        || "。！？…；：”」".contains(last)
    {
        return text;
    }
    let mark = if text.chars().any(is_unspaced) { '。' } else { '.' };
    format!("{text}{mark}")
}

/// A capital first, unless the first word is a name such as `pnpm_x` or `iOS`.
fn capital(text: &str) -> String {
    let first = text.split_whitespace().next().unwrap_or_default();
    let word = first.trim_end_matches([',', '.', ':', ';', '!']);
    let is_plain = word.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '\'' | '’'));
    let mut chars = text.chars();
    match chars.next() {
        Some(c) if is_plain => c.to_uppercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn shaped(kind: TopicType, rule: &str, reason: Option<&str>) -> Shaped {
        Words { kind, rule, reason, today: date(2026, 3, 2) }.shape()
    }

    #[test]
    fn m2_a_rule_has_its_reason_and_scope_where_the_user_gave_them() {
        let rule = "No, don't mock the database in these tests — we got burned last quarter";
        let made = shaped(TopicType::Feedback, rule, None);
        assert_eq!(
            made.body,
            "Don't mock the database in these tests.\n\n**Why:** We got burned last quarter (2025-Q4)."
        );
        assert_eq!(made.name, "Don't mock the database in these tests");
        let made =
            shaped(TopicType::Feedback, "Run the linter before every commit", Some("It broke main twice."));
        assert_eq!(
            made.body,
            "Run the linter before every commit.\n\n**Why:** It broke main twice.\n\n**How to apply:** Before every commit."
        );
        let made = shaped(TopicType::Feedback, "以后不要直接推送，因为会触发部署", None);
        assert_eq!(made.body, "以后不要直接推送。\n\n**Why:** 会触发部署。");
    }

    #[test]
    fn nothing_is_invented() {
        let made = shaped(TopicType::Feedback, "Use tabs.", None);
        assert_eq!(
            (made.body.as_str(), made.name.as_str(), made.description.as_str()),
            ("Use tabs.", "Use tabs", "Use tabs.")
        );
        let made = shaped(TopicType::Project, "we freeze merges after Thursday", None);
        assert_eq!(made.body, "We freeze merges after Thursday (2026-03-05).");
        let long = "never ".repeat(60);
        assert!(shaped(TopicType::Feedback, &long, None).name.chars().count() <= TITLE);
    }

    #[test]
    fn what_is_said_of_oneself_or_of_all_projects_is_global() {
        assert!(is_global("Use tabs in all my projects", TopicType::Feedback));
        assert!(is_global("所有项目都用 pnpm", TopicType::Feedback));
        assert!(is_global("I'm a data scientist", TopicType::User));
        assert!(!is_global("I'm new to the React side of this repo", TopicType::User));
        assert!(!is_global("Use tabs", TopicType::Feedback));
    }
}
