//! Which lines of a message a person typed, and which they pasted: logs, code, pages, mail, transcripts.
//!
//! What somebody pastes may say anything, and "remember that …" in it is not theirs. There is no mark on pasted text, so this goes by
//! its looks, and in doubt a line is material: what is lost so can be said again; what was planted stays.

use super::pattern::patterns;
use std::ops::Range;

patterns! {
    TAG = r"<(/?)([a-z][\w:-]*)(?:\s[^<>]*)?/?>";
    MAIL_HEAD = r"^\s*(?:from|to|cc|bcc|sent|date|subject|reply-to|发件人|收件人|抄送|主题|日期|发送时间)\s*[:：]\s*\S";
    MAIL_START = r"^\s*(?:-{3,}\s*(?:original|forwarded) message|begin forwarded message|on .{4,80} wrote:\s*$|.{0,80}写道[:：]\s*$)";
    SPEAKER = r"^\s*(?:\*\*|#+\s*)?(?:user|human|assistant|system|developer|ai|claude|gpt|chatgpt|codex|tool|me|you|用户|助手|系统|人类)(?:\*\*)?\s*[:：](?:\s|\*|$|[^/\d])|^\s*\[/?INST\]|<\|[a-z_]+\|>|^\s*\[(?:user|human|system|assistant)\]";
    LOG = r#"^\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[?\d\d:\d\d:\d\d|(?:[^\s:]{0,30}\s)?\[?(?-i:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL)\b[\]: ]|at \S+ ?\(|Traceback \(|File ".*", line|[$%#] \S|diff --git|@@ |(?:---|\+\+\+) \S|npm (?:ERR|WARN)|(?:error|warning|remote|fatal|panic|stderr|stdout|output|log|response|result)(?:\[\w+\])?: |thread '|make(?:\[\d+\])?: |\w+Error: |"[\w-]+"\s*:|[{}\[\]],?\s*$|HTTP/\d)"#;
    DATA = r"(?:^|\s)(?:data:\S+;base64,)?[A-Za-z0-9+/_=-]{48,}(?:\s|$)";
    HEADING = r"^\s{0,3}#{1,6}\s+\S";
    LABEL = r"^\s*(?:the\s+)?(?:log|error|output|page|e-?mail|mail|article|readme|docs?|source|text|content|contents|result|transcript|日志|报错|输出|邮件|网页|页面|文章|原文|内容|结果)\s*[:：]";
    ANNOUNCES = r"\b(?:here(?:'s| is| are| comes)|see below|below|as follows|following|says?|said|wrote|reads|states|tells me|told me|got|gives?|gave|received|found|copied|pasted?|output|logs?|error|trace|page|site|article|blog|e-?mails?|mails?|messages?|readme|documentation|docs?|issue|comment|ticket|responses?|results?|contents?|transcript|conversation|notes?|file|text)\b|如下|下面|以下|说|写道|写着|内容|输出|报错|日志|邮件|网页|页面|文章|原文|粘贴|评论|收到|结果";
    OWN_LIST = r"^\s*(?:please\s+|pls\s+|also[, ]+|and\s+)?(?:remember|memori[sz]e|from now on|always|never|my (?:rules|preferences|conventions)|keep in mind|i (?:want|need|prefer|like)|make a note)\b|^\s*(?:请|帮我)?(?:记住|记一下|以后|今后|从现在)";
    MATERIAL_NOUN = r"\b(?:logs?|error|output|trace|page|site|article|blog|e-?mails?|mails?|readme|documentation|docs|comment|ticket|responses?|transcript|conversation|pasted?)\b|日志|报错|输出|邮件|网页|页面|文章|原文|粘贴|评论";
    REFERS = r"(?:^\s*|[.,;!?]\s+|\b(?:please|you|and|to|then|briefly) )(?:summari[sz]e|translate|proofread|paraphrase|tl;?dr)\b|\b(?:summari[sz]e|translate|proofread|paraphrase) (?:this|the (?:above|below|text|page|article|e-?mail|mail|message|post|thread)|it|that|for me)|\b(?:explain|rewrite|review|check|analy[sz]e|read|look at|rate) this (?:text|page|article|e-?mail|mail|message|post|thread|paste|log|output|doc|document|reply|comment|snippet|transcript)|\bwhat (?:does|do|is) (?:this|it|that|they|these) (?:mean|say|saying|about)|\bwhat (?:do|would) you (?:make|think) of (?:this|it|that)|\bis (?:this|that|it) (?:legit|spam|phishing|real|true|safe)|\b(?:reply|respond|answer) to (?:this|it|him|her|them|the)|\bdraft (?:a|the|an) (?:reply|response|answer)|\b(?:the|this|that) (?:\w+ )?(?:text|page|article|e-?mail|mail|message|post|thread|log|output|paste|snippet|document|comment|transcript) (?:above|below|i (?:pasted|got|received|found))|\b(?:the|from the|see the|all of the) (?:above|below)\b|\bi (?:just )?(?:found|got|received|copied|pasted) (?:this|that|the following)|(?:总结|概括|翻译|润色|校对)(?:一下|下|这|上面|以上|以下|成|[:：]|$)|这段(?:话|文字|内容|日志|代码)|这封|这篇|上面(?:的|这)|以上|上述|以下|帮我回复|什么意思|看看这";
    BULLET = r"^\s*(?:[-*•·]|\d{1,2}[.)、]|[(（]\d{1,2}[)）])\s+";
}

/// Beyond this a message holds something that was pasted, whatever it looks like.
const LONGEST: usize = 6_000;
const MOST_LINES: usize = 80;
/// A first paragraph up to this length still introduces such a message.
const INTRODUCTION: usize = 400;

/// A line of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    /// The byte at which it begins.
    pub(super) start: usize,
    /// The paragraph that it is in; blank lines end one.
    pub(super) paragraph: usize,
    /// Whether a person typed it.
    pub(super) is_own: bool,
}

/// The lines of a message, each with whether a person typed it. What is very long is pasted, whatever it looks like; only a short first
/// paragraph is still looked at.
pub(super) fn lines(text: &str) -> Vec<Line<'_>> {
    let all = split(text);
    if text.len() <= LONGEST && all.len() <= MOST_LINES {
        return marked(text);
    }
    let is_first = |line: &&Line<'_>| line.paragraph == first_paragraph(&all);
    let end = all.iter().rfind(is_first).map_or(0, |line| line.start + line.text.len());
    let head = if end <= INTRODUCTION { marked(&text[..end]) } else { Vec::new() };
    let mut lines: Vec<Line<'_>> = all.into_iter().map(|line| Line { is_own: false, ..line }).collect();
    lines.iter_mut().zip(head).for_each(|(line, head)| line.is_own = head.is_own);
    lines
}

fn first_paragraph(lines: &[Line<'_>]) -> usize {
    lines.iter().find(|line| !line.text.trim().is_empty()).map_or(0, |line| line.paragraph)
}

fn marked(text: &str) -> Vec<Line<'_>> {
    let mut lines = split(text);
    let mut own = vec![true; lines.len()];
    let not = |range: Range<usize>, own: &mut Vec<bool>| {
        own.iter_mut().take(range.end).skip(range.start).for_each(|is| *is = false);
    };
    for range in [
        fences(&lines),
        tags(text, &lines),
        first_to_end(&lines, |line| SPEAKER.is_in(line)),
        first_to_end(&lines, |line| MAIL_START.is_in(line)),
        mail(&lines),
        front(&lines),
        first_to_end(&lines, |line| HEADING.is_in(line)),
        logs(&lines),
    ] {
        not(range, &mut own);
    }
    for (at, line) in lines.iter().enumerate() {
        if is_material(line.text, at.checked_sub(1).and_then(|before| lines.get(before))) {
            own[at] = false;
        }
    }
    announced(&lines, &mut own);
    referred(&lines, &mut own);
    hidden(&lines, &mut own);
    lines.iter_mut().zip(own).for_each(|(line, is_own)| line.is_own = is_own);
    lines
}

/// Whether a text holds characters that are not seen: whoever types does not type them.
pub(crate) fn has_hidden(text: &str) -> bool {
    let is_right_to_left =
        |c: char| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}');
    let joins = text.contains(|c: char| {
        is_right_to_left(c)
            || matches!(c, '\u{900}'..='\u{dff}' | '\u{1f000}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}')
    });
    text.chars().any(|c| match c {
        '\u{200c}' | '\u{200d}' => !joins,
        '\u{200e}' | '\u{200f}' | '\u{61c}' => !text.contains(is_right_to_left),
        '\u{ad}'
        | '\u{200b}'
        | '\u{2060}'..='\u{2064}'
        | '\u{206a}'..='\u{206f}'
        | '\u{180e}'
        | '\u{115f}'
        | '\u{3164}'
        | '\u{ffa0}' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        '\u{e0000}'..='\u{e0fff}' | '\u{fff9}'..='\u{fffb}' | '\u{fe00}'..='\u{fe0e}' => true,
        '\u{feff}' => true,
        '\t' | '\n' | '\r' => false,
        c => c.is_control(),
    })
}

/// Whether a word mixes letters of scripts that look alike.
pub(crate) fn has_mixed_word(text: &str) -> bool {
    let is_latin = |c: char| c.is_ascii_alphabetic();
    let is_alike = |c: char| matches!(c, '\u{370}'..='\u{52f}' | '\u{13a0}'..='\u{13ff}' | '\u{1d400}'..='\u{1d7ff}' | '\u{ff21}'..='\u{ff5a}');
    text.split(|c: char| !c.is_alphanumeric()).any(|word| word.contains(is_latin) && word.contains(is_alike))
        // Whole sentences in letters that only look like Latin ones.
        || text.contains(|c: char| matches!(c, '\u{1d400}'..='\u{1d7ff}' | '\u{ff21}'..='\u{ff5a}'))
}

fn split(text: &str) -> Vec<Line<'_>> {
    let (mut start, mut paragraph) = (0, 0);
    let mut lines = Vec::new();
    for piece in text.split_inclusive('\n') {
        let line = piece.trim_end_matches(['\n', '\r']);
        if line.trim().is_empty() {
            paragraph += 1;
        }
        lines.push(Line { text: line, start, paragraph, is_own: true });
        start += piece.len();
    }
    lines
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// From the first fence to the last: a page pasted between fences may hold fences itself. An open one reaches to the end.
fn fences(lines: &[Line<'_>]) -> Range<usize> {
    let at: Vec<usize> =
        lines.iter().enumerate().filter(|(_, line)| is_fence(line.text)).map(|(at, _)| at).collect();
    match (at.first(), at.last()) {
        (Some(first), Some(last)) if at.len().is_multiple_of(2) => *first..last + 1,
        (Some(first), Some(_)) => *first..lines.len(),
        _ => 0..0,
    }
}

/// From the first tag that opens something to the last place where it closes.
fn tags(text: &str, lines: &[Line<'_>]) -> Range<usize> {
    let line_of = |byte: usize| lines.partition_point(|line| line.start <= byte).saturating_sub(1);
    let found = TAG.places(text);
    let lower = text.to_ascii_lowercase();
    let mut range = 0..0;
    for place in &found {
        let Some(groups) = TAG.groups(&text[place.clone()]) else { continue };
        let (closes, name) = (groups[1] == "/", groups[2].to_lowercase());
        let line = line_of(place.start);
        let begins_line = lines.get(line).is_some_and(|line| text[line.start..place.start].trim().is_empty());
        let close = format!("</{name}");
        let last = lower.rfind(&close).filter(|close| *close > place.start);
        let mine = match (closes, last) {
            // Somebody else's text ends here; where it began is not known.
            (true, _) => 0..line + 1,
            (false, Some(last)) => line..line_of(last) + 1,
            (false, None) if begins_line => line..lines.len(),
            (false, None) => continue,
        };
        range = if range.is_empty() { mine } else { range.start.min(mine.start)..range.end.max(mine.end) };
    }
    range
}

fn first_to_end(lines: &[Line<'_>], is: impl Fn(&str) -> bool) -> Range<usize> {
    lines.iter().position(|line| is(line.text)).map_or(0..0, |at| at..lines.len())
}

/// Two header lines of a mail begin one. It reaches to the end.
fn mail(lines: &[Line<'_>]) -> Range<usize> {
    let is_head = |at: usize| lines.get(at).is_some_and(|line| MAIL_HEAD.is_in(line.text));
    (0..lines.len()).find(|&at| is_head(at) && is_head(at + 1)).map_or(0..0, |at| at..lines.len())
}

/// A frontmatter begins a document.
fn front(lines: &[Line<'_>]) -> Range<usize> {
    let mut marks = lines.iter().enumerate().filter(|(_, line)| line.text.trim_end() == "---");
    match (marks.next(), marks.next()) {
        (Some((first, _)), Some(_)) => first..lines.len(),
        _ => 0..0,
    }
}

/// From the first line of a log to the last, and to the end of its paragraph.
fn logs(lines: &[Line<'_>]) -> Range<usize> {
    let at: Vec<usize> =
        lines.iter().enumerate().filter(|(_, line)| LOG.is_in(line.text)).map(|(at, _)| at).collect();
    let (Some(&first), Some(&last)) = (at.first(), at.last()) else { return 0..0 };
    let paragraph = lines[last].paragraph;
    let end = lines.iter().rposition(|line| line.paragraph == paragraph).map_or(last + 1, |at| at + 1);
    first..end
}

fn is_material(line: &str, before: Option<&Line<'_>>) -> bool {
    let trimmed = line.trim_start();
    let is_indented = (line.starts_with('\t') || line.starts_with("    ")) && !BULLET.is_in(line);
    let follows_blank = before.is_none_or(|before| before.text.trim().is_empty());
    let marks = line.chars().filter(|c| "{}<>=;|\\".contains(*c)).count();
    trimmed.starts_with('>')
        || trimmed.starts_with("//")
        || (is_indented && follows_blank)
        || DATA.is_in(line)
        || LABEL.is_in(line)
        || (marks > 1 && marks * 8 > line.chars().count())
}

/// A line that announces something: what follows is that, to the end, unless it is marked off by itself.
fn announced(lines: &[Line<'_>], own: &mut [bool]) {
    for at in 0..lines.len() {
        let line = lines[at].text.trim_end();
        if !own[at] || !line.ends_with([':', '：']) || !ANNOUNCES.is_in(line) {
            continue;
        }
        if OWN_LIST.is_in(line) && !MATERIAL_NOUN.is_in(line) {
            continue;
        }
        let next = (at + 1..lines.len()).find(|&next| !lines[next].text.trim().is_empty());
        if next.is_some_and(|next| own[next] || is_rule(lines[next].text)) {
            own[at + 1..].fill(false);
            return;
        }
    }
}

/// A line that sets something off from what is before it, and does not say where that ends.
fn is_rule(line: &str) -> bool {
    ["===", "---", "***", "___", "+++", "~~~~", "###"].iter().any(|mark| line.trim_start().starts_with(mark))
}

/// A paragraph that speaks of a text ("summarise this"): the other paragraphs are that text.
fn referred(lines: &[Line<'_>], own: &mut [bool]) {
    let is_blank = |line: &Line<'_>| line.text.trim().is_empty();
    let refers = |at: usize| own[at] && REFERS.is_in(lines[at].text);
    let Some(at) = (0..lines.len()).find(|&at| refers(at)) else { return };
    let paragraph = lines[at].paragraph;
    let elsewhere = |line: &Line<'_>| line.paragraph != paragraph && !is_blank(line);
    let others = lines.iter().filter(|line| elsewhere(line)).count();
    let own_lines = lines.iter().filter(|line| !is_blank(line)).count();
    for (line, own) in lines.iter().zip(own.iter_mut()) {
        // Without blank lines nothing tells the request from the text: only the line itself is known.
        let is_other =
            if others > 0 { elsewhere(line) } else { own_lines > 2 && line.start != lines[at].start };
        if is_other {
            *own = false;
        }
    }
}

/// A paragraph with characters that are not seen, or words in letters that only look alike, was not typed.
fn hidden(lines: &[Line<'_>], own: &mut [bool]) {
    let odd: Vec<usize> = lines
        .iter()
        .filter(|line| has_hidden(line.text.trim_start_matches('\u{feff}')) || has_mixed_word(line.text))
        .map(|line| line.paragraph)
        .collect();
    for (line, own) in lines.iter().zip(own.iter_mut()) {
        if odd.contains(&line.paragraph) {
            *own = false;
        }
    }
}
