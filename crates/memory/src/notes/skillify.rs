//! Notes and the user's words into a reusable skill (N7).

use super::record::Author;
use super::template::fill;
use crate::ByModel;
use crate::skill::{Skill, SkillError, SkillLimits, one_line, slug};
use throughline_core::classify::DirectiveKind;
use throughline_core::facts::Facts;
use throughline_core::tokens::Counter;
use throughline_core::{Flags, Message, Role, SharedKnowledge, prompt};
use throughline_model::{End, NoTools, Receipt};

const PROMPT: &str = include_str!("../../../../prompts/skillify.md");
/// The name of the job, for receipts.
const JOB: &str = "skillify";
/// Steps, rules and problems that the offline scribe tells at most.
const MOST_STEPS: usize = 24;
const MOST_RULES: usize = 24;
const MOST_PROBLEMS: usize = 12;
const MOST_ASKED: usize = 12;

/// A skill to make.
pub struct Skillify<'a> {
    /// The session's notes, where there are any.
    pub notes: Option<&'a str>,
    /// What the person wants of the skill, in their words.
    pub request: Option<&'a str>,
    /// What is known of the session.
    pub knowledge: &'a SharedKnowledge,
    /// The model that writes; `None`: it is made of facts.
    pub model: Option<ByModel<'a>>,
    /// How long it may be.
    pub limits: SkillLimits,
    /// Counts.
    pub counter: &'a mut Counter,
}

/// What came of it.
#[derive(Debug)]
pub struct Skillified {
    /// The skill, valid, or why there is none.
    pub skill: Result<Skill, SkillError>,
    /// What was repaired in what the model wrote.
    pub repairs: Vec<String>,
    /// Who wrote it.
    pub by: Author,
    /// What the fork cost.
    pub receipt: Option<Receipt>,
}

/// Makes a skill of a session. Nothing is written to disk.
pub async fn skillify(order: Skillify<'_>) -> Skillified {
    let Skillify { notes, request, knowledge, model, limits, counter } = order;
    let Some(by) = model else {
        let skill = from_facts(&knowledge.read().facts, notes.unwrap_or_default(), &limits, counter);
        return Skillified { skill, repairs: Vec::new(), by: Author::Offline, receipt: None };
    };
    let words = user_words(&knowledge.read().facts, limits.words_tokens, counter);
    let request =
        request.map_or(String::new(), |request| format!("\nThe user wants of the skill: {request}\n"));
    let values = [
        ("notes", notes.unwrap_or("(none)").trim()),
        ("userMessages", words.as_str()),
        ("request", request.as_str()),
    ];
    let mut ask = Message::text(Role::User, fill(prompt(PROMPT), &values));
    ask.flags = Flags { meta: true, ..Flags::default() };
    let fork = by.fork(JOB, ask);
    let forked = fork.run(&mut NoTools).await;
    let read = match &forked.end {
        End::Done => Skill::read(&forked.text, &limits).and_then(|(skill, repairs)| {
            let tokens = counter.text(&skill.body);
            let limit = limits.body_tokens;
            if tokens > limit { Err(SkillError::TooLong { tokens, limit }) } else { Ok((skill, repairs)) }
        }),
        End::Failed(error) => Err(SkillError::Model(error.to_string())),
        End::Capped(_) | End::Cancelled => {
            Err(SkillError::Model(format!("the model did not finish: {}", forked.end)))
        }
    };
    let (skill, repairs) = match read {
        Ok((skill, repairs)) => (Ok(skill), repairs),
        Err(error) => (Err(error), Vec::new()),
    };
    Skillified { skill, repairs, by: Author::Model, receipt: Some(forked.receipt) }
}

/// The user's messages within a budget: the first, which holds the task, and the newest ones, in order.
fn user_words(facts: &Facts, most: u64, counter: &mut Counter) -> String {
    let words: Vec<String> =
        facts.requests().in_force().map(|request| format!("- {}", request.ask.text.trim())).collect();
    let mut left = most;
    let mut told: Vec<usize> = Vec::new();
    for at in (0..words.len().min(1)).chain((1..words.len()).rev()) {
        let cost = counter.text(&words[at]) + 1;
        if cost <= left {
            left -= cost;
            told.push(at);
        }
    }
    told.sort_unstable();
    told.into_iter().map(|at| words[at].as_str()).collect::<Vec<_>>().join("\n")
}

/// A skill from what was asked, run, changed and corrected, and from what the notes say.
fn from_facts(
    facts: &Facts,
    notes: &str,
    limits: &SkillLimits,
    counter: &mut Counter,
) -> Result<Skill, SkillError> {
    let task = facts.turns().first().map(|turn| turn.asked.as_str()).unwrap_or_default();
    let steps = steps(facts);
    let workflow = section(notes, "Workflow");
    if task.is_empty() || (steps.is_empty() && workflow.is_empty()) {
        return Err(SkillError::Nothing);
    }
    let title: Vec<&str> = task.split_whitespace().take(8).collect();
    let title = one_line(&title.join(" "), 80);
    let name = match slug(&title, limits.name_chars) {
        empty if empty.is_empty() => slug("session-skill", limits.name_chars),
        name => name,
    };
    let short = one_line(task, limits.description_chars.saturating_sub(80).min(200));
    let description = one_line(
        &format!("Repeats a task done before: {short} Use when the same is asked again."),
        limits.description_chars,
    );
    let rules = facts.requests().directives().filter(|directive| match directive.kind {
        DirectiveKind::Prohibition | DirectiveKind::Correction => true,
        DirectiveKind::Instruction | DirectiveKind::Decision => false,
    });
    let mut rules: Vec<String> =
        rules.rev().map(|rule| format!("- {}", one_line(&rule.sentence, 300))).collect();
    rules.dedup();
    rules.truncate(MOST_RULES);
    let problems = facts.errors_seen().iter().rev().filter(|error| error.is_closed()).take(MOST_PROBLEMS);
    let problems = problems.map(|error| {
        format!("- {} (from `{}`; it went away)", one_line(&error.line, 200), one_line(&error.source, 80))
    });
    let changed = facts.changed_files().into_iter().take(MOST_STEPS).map(|file| format!("- {}", file.path));
    let checks = facts.tests().iter().filter(|run| run.passed);
    let checks = checks.map(|run| format!("- `{}` passes", one_line(&run.command, 200)));
    let asked = facts.requests().in_force().skip(1).take(MOST_ASKED);
    let asked = asked.map(|request| format!("- {}", one_line(&request.ask.text, 200)));
    let parts = [
        ("When to use", vec![one_line(task, 600)]),
        ("Rules", rules),
        ("Workflow", workflow),
        ("Steps", steps),
        ("What the user asked on the way", asked.collect()),
        ("Learnings", section(notes, "Learnings")),
        ("How to check", checks.collect()),
        ("Files that were changed", changed.collect()),
        ("Known problems", problems.collect()),
    ];
    let mut body = format!("# {title}\n");
    let mut left = limits.body_tokens.saturating_sub(counter.text(&body));
    for (heading, lines) in parts {
        let mut part = String::new();
        let mut taken = counter.text(heading) + 4;
        for line in &lines {
            let cost = counter.text(line) + 1;
            if taken + cost > left {
                break;
            }
            taken += cost;
            part.push_str(line);
            part.push('\n');
        }
        if !part.is_empty() {
            left -= taken;
            body.push_str(&format!("\n## {heading}\n{part}"));
        }
    }
    Ok(Skill { name, description, body })
}

/// The lines of a section of the notes, without the guide under its heading.
fn section(notes: &str, name: &str) -> Vec<String> {
    let is_heading = |line: &&str| line.strip_prefix("# ").is_some_and(|heading| heading.trim() == name);
    let lines = notes.lines().skip_while(|line| !is_heading(line)).skip(1);
    let lines = lines.take_while(|line| !line.starts_with("# ")).map(str::trim);
    let is_guide = |line: &str| line.len() > 1 && line.starts_with('_') && line.ends_with('_');
    let lines = lines.filter(|line| !line.is_empty() && !is_guide(line));
    lines.map(|line| format!("- {}", one_line(line.trim_start_matches(['-', '*', ' ']), 300))).collect()
}

/// The commands that worked, in the order of their last run.
fn steps(facts: &Facts) -> Vec<String> {
    let mut commands = facts.commands();
    commands.retain(|command| command.outcome.is_some_and(|outcome| !outcome.failed));
    commands.truncate(MOST_STEPS);
    commands.reverse();
    let files: Vec<_> = facts.changed_files();
    let mut steps: Vec<String> = Vec::new();
    if !files.is_empty() {
        let names: Vec<&str> = files.iter().take(6).map(|file| file.path.as_str()).collect();
        steps.push(format!("Change what the task needs; the last time: {}.", names.join(", ")));
    }
    steps.extend(commands.iter().map(|command| format!("Run `{}`.", one_line(&command.command, 200))));
    steps.iter().zip(1..).map(|(step, number)| format!("{number}. {step}")).collect()
}
