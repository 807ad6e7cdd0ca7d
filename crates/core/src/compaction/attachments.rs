//! What comes back after a compaction (P5e): recently read files, the plan, skills.

use super::Compaction;
use super::visible_files::visible_contents;
use crate::facts::{Facts, FileFact};
use crate::profile::CompactLimits;
use crate::tokens::Counter;
use crate::{Flags, Fragment, Message, MessageId, Role, Speaker, text};
use std::collections::{BTreeMap, HashMap};

/// What the host of a session supplies for a compaction: the centre reads no files and knows of no commands.
#[derive(Clone, Debug, Default)]
pub struct HostContext {
    /// State that the model must know again behind the summary, and that nothing else tells: changes of the instructions at the
    /// head, commands in the background, tools that were found. It is never left out.
    pub required: Vec<Message>,
    /// What comes back as far as there is room.
    pub reminders: Vec<Message>,
    /// Content now of files that were read, by path as [`Facts::read_files`](crate::facts::Facts::read_files) has it; what is not in
    /// it is not there any more. `None`: the host can't read files, and what the view shows is taken.
    pub files: Option<BTreeMap<String, String>>,
    /// Messages of the view that newer ones in `required` replace.
    pub outdated: Vec<MessageId>,
}

/// Files that a host is asked for, per file that comes back: some are visible still, or gone.
const CANDIDATES: usize = 4;
/// Files that are looked at.
const MOST_CANDIDATES: usize = 64;

/// The paths of files that a compaction may bring back, most recently read first.
pub fn files_wanted(facts: &Facts, limits: &CompactLimits) -> Vec<String> {
    facts.read_files().iter().take(limits.files * CANDIDATES).map(|file| file.path.clone()).collect()
}

/// The attachments that apply, in order: files, the plan, skills. Each is within its limit, and marked as the client's.
pub fn files(of: &Compaction<'_>, start: usize, counter: &mut Counter) -> Vec<Message> {
    let limits = of.limits;
    if limits.files == 0 {
        return Vec::new();
    }
    let mut attached = read_files(of, start, counter);
    attached.extend(
        of.facts.plan().map(|plan| {
            attachment(format!("{PLAN}\n{}\n</plan>", within(plan, limits.file_tokens, counter)))
        }),
    );
    attached.extend(skills(of, start, counter));
    attached
}

/// Files that were read and are not visible in the kept messages, most recently read first.
fn read_files(of: &Compaction<'_>, start: usize, counter: &mut Counter) -> Vec<Message> {
    let limits = of.limits;
    let entries = of.scene.entries;
    let positions: HashMap<&MessageId, usize> =
        entries.iter().enumerate().map(|(at, entry)| (&entry.message.id, at)).collect();
    // Whether the newest read of a file stays visible.
    let is_kept = |file: &&FileFact| {
        let shown_by = file.shown_by.as_ref().and_then(|id| positions.get(id));
        shown_by.is_some_and(|&at| {
            (at >= start || entries[at].pinned.is_some()) && entries[at].overlays.is_empty()
        })
    };
    let candidates: Vec<&FileFact> =
        of.facts.read_files().into_iter().filter(|file| !is_kept(file)).take(MOST_CANDIDATES).collect();
    let from_view = match &of.host.files {
        Some(_) => HashMap::new(),
        None => {
            let paths: Vec<&str> = candidates.iter().map(|file| file.path.as_str()).collect();
            visible_contents(entries, &paths, |path| of.facts.relative(path).to_owned())
        }
    };
    let mut attached: Vec<Message> = Vec::new();
    let mut left = limits.files_tokens;
    for file in candidates {
        if attached.len() >= limits.files {
            break;
        }
        let content = match &of.host.files {
            Some(files) => files.get(&file.path),
            None => from_view.get(&file.path),
        };
        let Some(content) = content.filter(|content| !content.trim().is_empty()) else { continue };
        let body = format!("{FILE}{}>\n{}", file.path, within(content, limits.file_tokens, counter));
        let message = attachment(body);
        // An earlier compaction may have brought it back already.
        if entries[start..].iter().any(|entry| entry.message.blocks == message.blocks) {
            continue;
        }
        let cost = counter.message(&message).total();
        if cost <= left {
            left -= cost;
            attached.push(message);
        }
    }
    attached
}

/// Skills that the client put into the part that goes, newest first.
fn skills(of: &Compaction<'_>, start: usize, counter: &mut Counter) -> Vec<Message> {
    let mut left = of.limits.skills_tokens;
    let mut found = Vec::new();
    for entry in of.scene.entries[..start].iter().rev() {
        for block in &entry.message.blocks {
            let text = block.to_text();
            if Fragment::recognise(Speaker::User, &text) != Some(Fragment::Skill) {
                continue;
            }
            let message = attachment(within(&text, of.limits.skill_tokens, counter));
            let cost = counter.message(&message).total();
            if cost <= left && !found.iter().any(|known: &Message| known.blocks == message.blocks) {
                left -= cost;
                found.push(message);
            }
        }
    }
    found.reverse();
    found
}

/// How a file and a plan begin that came back behind a compaction.
const FILE: &str = "<attachment: ";
const PLAN: &str = "<plan>";

/// Returns true for a file or a plan that came back behind a compaction: the next one supplies them anew.
pub(crate) fn is_supplied_anew(message: &Message) -> bool {
    message.flags.meta
        && [FILE, PLAN].iter().any(|lead| {
            message.to_text().strip_prefix("<system-reminder>\n").is_some_and(|text| text.starts_with(lead))
        })
}

fn attachment(body: String) -> Message {
    let mut message = Message::text(Role::User, Fragment::SystemReminder.render(&body));
    message.flags = Flags { meta: true, ..Flags::default() };
    message
}

/// The beginning of a text in `most` tokens.
fn within(content: &str, most: u64, counter: &mut Counter) -> String {
    let mut bytes = content.len();
    loop {
        let cut = text::head(content, bytes);
        if counter.text(cut) <= most {
            return if cut.len() < content.len() {
                format!("{cut}\n[… cut to fit]")
            } else {
                cut.to_owned()
            };
        }
        bytes = bytes * 3 / 4;
    }
}
