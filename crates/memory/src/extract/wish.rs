//! "Remember …" and "forget …", in English and Chinese (M4).
//!
//! A wish acts at once, so a false one costs more than one that was missed: what is quoted, pasted or asked is none, nor is a reminder for
//! the work at hand ("don't forget to run the tests"), nor an idiom ("forget it"), nor a feature ("remember the scroll position").

use super::pattern::patterns;
use super::said::{Sentence, sentences, without_quotes};
use super::terms::terms;

/// What the user asks of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Something is to be remembered.
    Remember {
        /// What, in the user's words.
        what: String,
        /// The sentence that says so, verbatim.
        sentence: String,
    },
    /// Something is to be forgotten.
    Forget {
        /// What, in the user's words.
        what: String,
        /// The sentence that says so, verbatim.
        sentence: String,
    },
}

impl Wish {
    /// What it is about.
    pub fn what(&self) -> &str {
        match self {
            Self::Remember { what, .. } | Self::Forget { what, .. } => what,
        }
    }

    /// The sentence that says so.
    pub fn sentence(&self) -> &str {
        match self {
            Self::Remember { sentence, .. } | Self::Forget { sentence, .. } => sentence,
        }
    }
}

const LEAD: &str = r"^(?:(?:please|pls|plz|hey|hi|ok|okay|yes|yeah|no|also|and|so|but|oh|btw|by the way|fyi|actually|great|thanks|claude|codex|can you|could you|would you|will you|i want you to|i'd like you to|i need you to|you should|you must|you can|you may|let's|make sure to|make sure you|be sure to|for the record|for next time|from now on|going forward|in (?:the )?future)[,:!]?\s+)*";

patterns! {
    LEADS = LEAD;
    QUESTION = r"[?？]\s*$|吗\s*[?？。]?\s*$|\bdo you (?:still )?remember\b|\bdid you (?:forget|remember)\b|还记得|记不记得|记得吗";
    POLITE = r"^(?:can|could|would|will) you (?:please )?(?:remember|forget|make a note)\b|^(?:can|could|would) you .{0,40}(?:your memory|your memories)|能(?:不能)?(?:帮我)?(?:记住|记一下|忘掉)|可以(?:帮我)?(?:记住|记一下|忘掉)";
    DURABLE = r"\b(?:always|never|every|each|whenever|from now on|going forward|in (?:the )?future|by default|all (?:my|our|the) (?:projects|repos)|any more|anymore)\b|以后|今后|每次|总是|始终|永远|一律|从现在|默认|都要|所有项目";
    STATES = r"\b(?:is|are|am|was|were|must|should|has|have|needs?|uses?|prefers?|likes?|hates?|wants?|goes|lives?|runs?|owns?|always|never|can't|cannot|don't|doesn't|isn't|aren't|will|won't|means?|requires?|expires?|starts?|ends?|happens?|belongs?|works?)\b|\b\w+'s (?:a|an|the|not)\b|\b(?:i'm|we're|it's|they're|i've|we've)\b";
    REMEMBER = r"^(?:remember|memori[sz]e)(?P<that>\s+(?:that|this|it|these|the following))?\s*(?P<mark>[,:—–-]+)?\s*";
    REMEMBER_ASIDE = r"^(?:remember|memori[sz]e)\s+(?:when|how|why|who|what|where|whether|if|last|back|the time|me\b|us\b|him\b|her\b|them\b)";
    REMEMBER_TO = r"^(?:remember|don't forget|do not forget|never forget)\s+to\s+";
    SAVE = r"^(?:(?:save|add|store|put|write|commit|record)\s+(?:this|that|it|the following)?\s*(?:to|in|into|down in)\s+(?:your |the )?(?:long[- ]term )?memor(?:y|ies)|(?:make|take) (?:a )?note(?: of this| that)?|for (?:your )?future reference|note (?:this )?for (?:the )?(?:future|later|next time))\s*(?:that\b)?\s*[,:—–-]*\s*";
    NOT_FORGET = r"^(?:don't|do not|never) forget\s+(?:that\s+|[:,]\s*)";
    FROM_NOW = r"(?:^|[,;]\s*)(?:please |and |so |ok,? )*(?:from now on|going forward|from here on|from today on)\s*[,:]?\s+(?P<what>\S.*)$|^(?P<tail>\S.{6,}?),?\s+(?:from now on|going forward)\s*[.!]?$";
    BACK = r"^(?:remember|memori[sz]e|don't forget|save|note|keep)\s+(?:that|this|it|all (?:of )?(?:this|that))(?:\s+(?:for (?:the )?(?:future|later|next time)|please|from now on|to memory|in mind))*\s*[.!]*$";
    TAIL = r"[,;—–-]+\s*(?:please )?(?:remember|don't forget)\s+(?:that|this|it)?(?:\s+please)?\s*[.!]*$";
    IDIOM = r"^(?:forget|never ?mind)\s+(?:about\s+)?(?:it|that|this|them|him|her|what i just|everything|all of (?:it|that))\s*(?:[.,!;—–-]|$)";
    FORGET = r"^(?:forget|unlearn|stop remembering|no need to remember|you (?:no longer need to|don't need to|can stop) remember(?:ing)?)\s+(?P<what>(?:about\s+)?(?:that\s+(?:i|we|the|my|our|you|this|there|it|all)\b|that\s+(?:[^\s,;:.]+\s+){1,6}(?:is|are|was|were|will|should|must|can|may|go|goes|use|uses|has|have|needs?|runs?|lives?|belongs?)\b|(?:what|everything|anything|all) (?:i|we|you|about|i've|that i)\b|(?:my|our|your)\s+|(?:the|that|this|any) (?:\S+\s+){0,6}(?:rule|rules|preference|preferences|memory|memories|note|notes|fact|convention|instruction|advice|reminder)\b|(?:rule|preference|memory|note)\b).*)$";
    UNSAVE = r"^(?:remove|delete|erase|drop|clear|wipe|take)\s+(?P<a>.+?)\s+(?:from|out of)\s+(?:your |the )?(?:long[- ]term )?(?:memories|your memory|what you (?:know|remember))|^(?:remove|delete|erase|drop|clear)\s+(?:the|that|your|any|my)\s+(?:memory|memories|note you (?:saved|made))\s+(?:about|of|on|that|called|named|for|regarding)\s+(?P<b>.+)$|^(?:remove|delete|erase|drop|clear)\s+(?P<c>.+?)\s+from your memory";
    FOR_NOW = r"\bfor (?:now|the moment|today|this (?:one|time|task|pr|commit))\b|\bright now\b|这次|暂时|先别";
    ZH_LEAD = r"^(?:请你?|麻烦你?|帮我|你要|你得|务必|一定要|好的?|嗯|对了|另外|还有|所以|那|哦|可以|能不能|能)*[，,：:]?\s*(?:请|帮我)?";
    ZH_REMEMBER = r"^(?:记住|牢记|记下来?|记一下|请记得|存(?:到|进)记忆(?:里|中)?|写(?:到|进)记忆(?:里|中)?)了?\s*(?P<mark>[，,：:、]*)\s*";
    ZH_FEATURE = r"^(?:记住|忘记|忘掉)(?:密码|登录|用户名|滚动|位置|状态|选项|功能|账号)";
    ZH_STATES = r"^(?:我|我们|这个|这里|本|该|以后|今后|每次|不要|别|要|必须|总是|用|所有|在|一定|永远|千万)|是|在|必须|要|不|用|都|应该|叫|归|由";
    ZH_NOT_FORGET = r"^(?:别|不要|千万别|千万不要)忘(?:了|记|掉)\s*[，,：:]?\s*";
    ZH_FACT = r"^(?:我|我们|这个项目|本项目|这里|团队|公司|客户|线上|生产)";
    ZH_LATER = r"^(?:以后|今后|从现在(?:开始|起)|从今(?:天|以后)|往后)[，,：:]?\s*(?:都|请|不要|别|要|必须|一律|每次|再也|所有|统一|用|只|写|在|的|你)";
    ZH_BACK = r"^(?:记住|记下来?|记一下)(?:这个|这点|这一点|这条|了|吧|哦|啊)*[。！!]*$";
    ZH_FORGET = r"^(?:忘掉|忘了关于|忘记关于|不用再?记(?:住|着)?|不要再记(?:住|着)?|别再记(?:住|着)?|不必再记|(?:忘记|忘了)(?P<of>我(?:说|讲|提)|我的|那条|这条|那个|这个|之前|刚才|所有关于|有关))\s*[，,：:]?";
    ZH_TAKE = r"^把(?P<a>.+?)(?:忘掉|忘了|忘记|从(?:你的)?记忆(?:里|中)?(?:删掉|删除|去掉|移除|清除))|^(?:删掉|删除|去掉|清除|移除)(?:关于)?(?P<b>.+?)的?记忆";
}

/// What a text asks of memory, in the user's own words; in order. A text that asks for nothing has none.
///
/// ```
/// use throughline_memory::extract::{Wish, wishes};
///
/// let found = wishes("Remember that deploys go out on Tuesdays. 忘掉那条部署冻结的规则。");
/// assert!(matches!(&found[0], Wish::Remember { what, .. } if what == "deploys go out on Tuesdays."));
/// assert!(matches!(&found[1], Wish::Forget { what, .. } if what == "那条部署冻结的规则。"));
/// assert!(wishes("Do you remember the password?").is_empty());
/// assert!(wishes("Don't forget to run the tests.").is_empty());
/// ```
pub fn wishes(text: &str) -> Vec<Wish> {
    of_sentences(&sentences(text))
}

pub(crate) fn of_sentences(sentences: &[Sentence]) -> Vec<Wish> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(sentence) = sentences.get(at) {
        at += 1;
        match read(&sentence.text) {
            None => {}
            Some(Read::Remember(what)) => {
                found.push(Wish::Remember { what, sentence: sentence.text.clone() });
            }
            Some(Read::Forget(what)) => found.push(Wish::Forget { what, sentence: sentence.text.clone() }),
            // "Remember:" and a list.
            Some(Read::List) => {
                while let Some(item) = sentences.get(at).filter(|item| item.paragraph == sentence.paragraph) {
                    if !is_question(&item.text) {
                        let said = item.text.clone();
                        found.push(Wish::Remember { what: said.clone(), sentence: said });
                    }
                    at += 1;
                }
            }
            // "… Remember that."
            Some(Read::Back) => {
                let before = at.checked_sub(2).and_then(|before| sentences.get(before));
                let before = before
                    .filter(|before| before.paragraph == sentence.paragraph && !is_question(&before.text));
                let is_new = |said: &str| found.last().is_none_or(|wish: &Wish| wish.sentence() != said);
                if let Some(before) = before.filter(|before| is_new(&before.text)) {
                    let said = before.text.clone();
                    found.push(Wish::Remember { what: said.clone(), sentence: said });
                }
            }
        }
    }
    found
}

/// What one sentence asks for.
#[derive(Debug, PartialEq, Eq)]
enum Read {
    Remember(String),
    Forget(String),
    /// What follows is to be remembered.
    List,
    /// What stands before is to be remembered.
    Back,
}

fn read(sentence: &str) -> Option<Read> {
    let plain = without_quotes(&sentence.replace('’', "'"));
    if is_question(&plain) {
        return None;
    }
    let straight = sentence.replace('’', "'");
    english(&plain, &straight).or_else(|| chinese(&plain, &straight))
}

fn is_question(sentence: &str) -> bool {
    QUESTION.is_in(sentence) && !POLITE.is_in(sentence)
}

/// The end of a sentence as it was written, of which `rest` is the end with quotes blanked.
fn as_written(sentence: &str, plain: &str, rest: &str) -> String {
    // Leads hold no quotes: what is before the rest is the same in both.
    let at = plain.len() - rest.len();
    sentence.get(at..).unwrap_or(rest).trim().trim_end_matches(['?', '？']).trim().to_owned()
}

fn english(plain: &str, sentence: &str) -> Option<Read> {
    let start = LEADS.find(plain).map_or(0, |lead| lead.end);
    let rest = &plain[start..];
    let written = |tail: &str| as_written(sentence, plain, tail);
    if BACK.is_in(rest) {
        return Some(Read::Back);
    }
    if let Some(tail) = TAIL.find(plain) {
        let what = plain[..tail.start].trim();
        return is_telling(what)
            .then(|| Read::Remember(sentence.get(..tail.start).unwrap_or(what).trim().to_owned()));
    }
    if let Some(to) = REMEMBER_TO.find(rest) {
        // A reminder for now, unless it is for always.
        return DURABLE.is_in(plain).then(|| Read::Remember(written(&rest[to.end..]))).filter(told);
    }
    if let Some(head) = NOT_FORGET.find(rest).or_else(|| SAVE.find(rest)) {
        let what = &rest[head.end..];
        return if what.trim().is_empty() {
            rest.trim_end().ends_with(':').then_some(Read::List)
        } else {
            Some(Read::Remember(written(what))).filter(told)
        };
    }
    if let Some(head) = REMEMBER.find(rest).filter(|_| !REMEMBER_ASIDE.is_in(rest)) {
        let groups = REMEMBER.groups(rest).unwrap_or_default();
        let (that, mark) =
            (groups.get(1).copied().unwrap_or_default(), groups.get(2).copied().unwrap_or_default());
        let what = &rest[head.end..];
        if what.trim().is_empty() {
            return (!mark.is_empty()).then_some(Read::List);
        }
        let is_statement = !that.is_empty() || !mark.is_empty() || STATES.is_in(what) || DURABLE.is_in(what);
        return is_statement.then(|| Read::Remember(written(what))).filter(told);
    }
    if let Some(what) = forgotten(rest) {
        return Some(Read::Forget(written_middle(sentence, what)));
    }
    if FROM_NOW.is_in(plain) && !FOR_NOW.is_in(plain) {
        let groups = FROM_NOW.groups(plain)?;
        let what = groups.iter().skip(1).find(|group| !group.is_empty())?;
        return Some(Read::Remember(written_middle(sentence, what))).filter(told);
    }
    None
}

fn forgotten(rest: &str) -> Option<&str> {
    if IDIOM.is_in(rest) || FOR_NOW.is_in(rest) {
        return None;
    }
    let groups = FORGET.groups(rest).or_else(|| UNSAVE.groups(rest))?;
    groups.into_iter().skip(1).find(|group| !group.is_empty()).filter(|what| !terms(what).is_empty())
}

/// What a group holds, as it was written: with its quotes, if they are still there.
fn written_middle(sentence: &str, what: &str) -> String {
    let trimmed = what.trim();
    match trimmed.split_once('…') {
        None => trimmed.to_owned(),
        Some((before, _)) => match sentence.find(before.trim()) {
            Some(at) => sentence[at..].trim().to_owned(),
            None => trimmed.to_owned(),
        },
    }
}

fn chinese(plain: &str, sentence: &str) -> Option<Read> {
    if plain.is_ascii() {
        return None;
    }
    let start = ZH_LEAD.find(plain).map_or(0, |lead| lead.end);
    let rest = plain[start..].trim_start();
    let written = |tail: &str| as_written(sentence, plain, tail);
    if ZH_FEATURE.is_in(rest) {
        return None;
    }
    if ZH_BACK.is_in(rest) {
        return Some(Read::Back);
    }
    if let Some(head) = ZH_REMEMBER.find(rest) {
        let mark = ZH_REMEMBER.groups(rest).and_then(|groups| groups.get(1).map(|mark| !mark.is_empty()));
        let what = &rest[head.end..];
        if what.trim().is_empty() {
            return mark.filter(|is| *is).map(|_| Read::List);
        }
        let is_statement = mark == Some(true) || ZH_STATES.is_in(what);
        return is_statement.then(|| Read::Remember(written(what))).filter(told);
    }
    if let Some(head) = ZH_NOT_FORGET.find(rest) {
        let what = &rest[head.end..];
        return (DURABLE.is_in(what) || ZH_FACT.is_in(what))
            .then(|| Read::Remember(written(what)))
            .filter(told);
    }
    if ZH_LATER.is_in(rest) && !FOR_NOW.is_in(rest) {
        return Some(Read::Remember(written(rest))).filter(told);
    }
    if let Some(groups) = ZH_TAKE.groups(rest) {
        let what = groups.into_iter().skip(1).find(|group| !group.is_empty())?;
        return Some(Read::Forget(what.trim().to_owned())).filter(told);
    }
    if let Some(head) = ZH_FORGET.find(rest) {
        let of = ZH_FORGET.groups(rest).and_then(|groups| groups.get(1).map(|of| of.len())).unwrap_or(0);
        return Some(Read::Forget(written(&rest[head.end - of..]))).filter(told);
    }
    None
}

fn told(read: &Read) -> bool {
    match read {
        Read::Remember(what) | Read::Forget(what) => is_telling(what),
        Read::List | Read::Back => true,
    }
}

/// Whether there are enough words to say something.
fn is_telling(what: &str) -> bool {
    terms(what).len() >= 2
}
