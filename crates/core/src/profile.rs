//! Profiles: which stages run, and with which limits. A profile is data; every figure of the specification is a field
//! here, with that figure as its default.

use serde::{Deserialize, Serialize};

/// What the pipeline does before a request, cheapest stage first. A stage that is absent does not run.
///
/// ```
/// use throughline_core::profile::Profile;
///
/// let profile = Profile::named("claude").expect("a built-in profile");
/// assert_eq!(profile.budget.map(|limits| limits.result_chars), Some(50_000));
/// assert!(Profile::named("off").is_some_and(|profile| profile.compact.is_none()));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// What people call it.
    pub name: String,
    /// P1: long tool results are put aside.
    #[serde(default)]
    pub budget: Option<BudgetLimits>,
    /// P2: the model may drop turns.
    #[serde(default)]
    pub snip: Option<SnipLimits>,
    /// P3: old tool results are cleared.
    #[serde(default)]
    pub microcompact: Option<MicrocompactLimits>,
    /// P4: early spans are folded. While on, the view is not compacted unasked.
    #[serde(default)]
    pub collapse: Option<CollapseLimits>,
    /// P5: the view is replaced.
    #[serde(default)]
    pub compact: Option<CompactLimits>,
    /// W4: what the provider is asked to clear by itself, where it can.
    #[serde(default)]
    pub server: Option<ServerLimits>,
    /// G: whether every request must contain what the user said and what the model needs. Live traffic always keeps the
    /// guarantee; without it the source systems are measured as they are.
    #[serde(default = "yes")]
    pub guarantee: bool,
}

fn yes() -> bool {
    true
}

/// Tool result budget (P1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetLimits {
    /// When results are put aside.
    pub when: BudgetTrigger,
    /// By size: a result over this many characters is put aside.
    pub result_chars: usize,
    /// By size: all results of one message may have this many characters together.
    pub message_chars: usize,
    /// Bytes of the text that stay as a preview; by window the least that stays.
    pub preview_bytes: usize,
    /// Tools whose results stay whole while the request can be sent. [`READS`](Self::READS) stands for every tool that
    /// reads a file, whatever the client calls it.
    pub exempt: Vec<String>,
}

/// What makes the tool result budget act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetTrigger {
    /// The size of a result, whatever room there is.
    Size,
    /// A request that would not fit into the window, even if the view were replaced.
    Window,
}

impl BudgetLimits {
    /// The name in [`exempt`](Self::exempt) that stands for tools that read a file.
    pub const READS: &'static str = "Read";
}

impl Default for BudgetLimits {
    fn default() -> Self {
        Self {
            when: BudgetTrigger::Size,
            result_chars: 50_000,
            message_chars: 200_000,
            preview_bytes: 2_048,
            exempt: vec![Self::READS.to_owned()],
        }
    }
}

/// Snip (P2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SnipLimits {
    /// Growth without a snip after which the model is reminded once.
    pub nudge_tokens: u64,
}

impl Default for SnipLimits {
    fn default() -> Self {
        Self { nudge_tokens: 10_000 }
    }
}

/// Microcompact (P3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MicrocompactLimits {
    /// P3a: results are cleared when the last answer is older than this, since the provider's cache is cold then; `None`: never.
    // Left out means off, whatever the default is.
    #[serde(default)]
    pub cold_minutes: Option<i64>,
    /// The newest results that stay.
    pub keep: usize,
    /// Tools whose results may be cleared.
    pub tools: Vec<String>,
    /// Whether a warm cache may be edited in place, where the provider can (P3b).
    pub cached: bool,
    /// With a warm cache, clear when the context is over this many tokens and it pays; `None`: only when cold.
    pub pressure_tokens: Option<u64>,
}

/// The tools whose results may be cleared, in the names that Claude Code gives them.
pub const CLEARABLE_TOOLS: [&str; 8] =
    ["Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write"];

impl Default for MicrocompactLimits {
    fn default() -> Self {
        Self {
            cold_minutes: Some(60),
            keep: 5,
            tools: CLEARABLE_TOOLS.map(str::to_owned).to_vec(),
            cached: true,
            pressure_tokens: None,
        }
    }
}

/// Collapse (P4).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CollapseLimits {
    /// Spans are staged when the context is over this share of the threshold.
    pub stage_share: f64,
    /// Staged spans are committed when the context is over this share of the threshold.
    pub commit_share: f64,
    /// A pass commits until the context is under this share of the threshold.
    pub target_share: f64,
    /// A span has at least this many tokens.
    pub span_tokens: u64,
    /// A span's summary has at most this many tokens.
    pub summary_tokens: u64,
    /// The newest tokens that are never folded.
    pub keep_tokens: u64,
}

impl Default for CollapseLimits {
    fn default() -> Self {
        Self {
            stage_share: 0.7,
            commit_share: 1.0,
            target_share: 0.7,
            span_tokens: 8_000,
            summary_tokens: 1_000,
            keep_tokens: 20_000,
        }
    }
}

/// How a compaction writes its summary (P5a–P5c).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The session notes stand for what they cover; newer messages stay.
    Notes,
    /// One summary in nine sections; nothing else stays.
    Summary,
    /// A handoff text behind the user's own words.
    Handoff,
}

impl Strategy {
    /// The word that commands and checkpoints use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Notes => "notes",
            Self::Summary => "summary",
            Self::Handoff => "handoff",
        }
    }
}

/// When the view is replaced by itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// At the window less the reserved output less this many tokens.
    Below(u64),
    /// At this share of the window.
    Share(f64),
}

/// Autocompact (P5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CompactLimits {
    /// When.
    pub threshold: Threshold,
    /// Compact earlier than the threshold where that is cheaper over the rest of the session (B9), but never below this
    /// share of the threshold; `None`: at the threshold only.
    pub early_share: Option<f64>,
    /// Tokens reserved for the answer, at most.
    pub output_tokens: u64,
    /// How, in the order in which they are tried.
    pub strategies: Vec<Strategy>,
    /// Failures in a row that open the breaker.
    pub failures: u32,
    /// Compactions in a row that free less than a tenth, after which no more is tried unasked.
    pub idle_compactions: u32,
    /// Notes: the kept messages have at least this many tokens …
    pub keep_tokens: u64,
    /// … and at least this many of them have text …
    pub keep_texts: usize,
    /// … unless that would be more than this many tokens.
    pub keep_most: u64,
    /// Notes: the most tokens of one section, and of all.
    pub section_tokens: u64,
    /// See `section_tokens`.
    pub notes_tokens: u64,
    /// Handoff: tokens of user messages that stay.
    pub user_tokens: u64,
    /// Summary and handoff: the most tokens of the text. The source systems' models decide by themselves; the defaults are
    /// what they wrote in recorded sessions: some 5,000 tokens for Claude Code, 2,000 for Codex.
    pub summary_tokens: u64,
    /// The most tokens of the whole result, kept messages included; `None`: as the strategy gives it.
    pub result_tokens: Option<u64>,
    /// Retries when the compaction itself is too long (P5d), and the share of rounds that each drops.
    pub retries: u32,
    /// See `retries`.
    pub retry_share: f64,
    /// Files that come back after a compaction, tokens of one, and of all (P5e).
    pub files: usize,
    /// See `files`.
    pub file_tokens: u64,
    /// See `files`.
    pub files_tokens: u64,
    /// Tokens of one skill that comes back, and of all.
    pub skill_tokens: u64,
    /// See `skill_tokens`.
    pub skills_tokens: u64,
    /// Whether the text tells ranked details of everything that was said, besides what the source systems' templates ask for.
    pub details: bool,
    /// Whether a summary is checked against the facts before it replaces history (B7).
    pub checked: bool,
}

impl Default for CompactLimits {
    fn default() -> Self {
        Self {
            threshold: Threshold::Below(13_000),
            early_share: None,
            output_tokens: 20_000,
            strategies: vec![Strategy::Notes, Strategy::Summary],
            failures: 3,
            idle_compactions: 2,
            keep_tokens: 10_000,
            keep_texts: 5,
            keep_most: 40_000,
            section_tokens: 2_000,
            notes_tokens: 12_000,
            user_tokens: 20_000,
            summary_tokens: 5_000,
            result_tokens: None,
            retries: 3,
            retry_share: 0.2,
            files: 5,
            file_tokens: 5_000,
            files_tokens: 50_000,
            skill_tokens: 5_000,
            skills_tokens: 25_000,
            details: false,
            checked: false,
        }
    }
}

impl CompactLimits {
    /// Tokens that a model is asked to keep a text to that will stand for a conversation.
    pub fn prose_tokens(&self) -> u64 {
        match (self.details, self.result_tokens) {
            (true, Some(result)) => result / 3,
            (true | false, _) => self.summary_tokens,
        }
    }

    /// The context size at which the view is replaced.
    ///
    /// ```
    /// use throughline_core::profile::CompactLimits;
    ///
    /// assert_eq!(CompactLimits::default().threshold_for(200_000, Some(8_000)), 179_000);
    /// assert_eq!(CompactLimits::default().threshold_for(200_000, None), 167_000);
    /// ```
    pub fn threshold_for(&self, window: u64, max_output: Option<u64>) -> u64 {
        match self.threshold {
            Threshold::Below(buffer) => {
                let output = max_output.unwrap_or(self.output_tokens).min(self.output_tokens);
                // The reserves are made for large windows: of a small one they take a quarter at most.
                window.saturating_sub(output + buffer).max(window / 4 * 3)
            }
            Threshold::Share(share) => (window as f64 * share) as u64,
        }
    }
}

/// What the provider clears by itself (W4).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerLimits {
    /// Input tokens at which it begins.
    pub trigger_tokens: u64,
    /// Input tokens that it clears at least.
    pub clear_tokens: u64,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self { trigger_tokens: 180_000, clear_tokens: 140_000 }
    }
}

impl Profile {
    /// The names of the built-in profiles.
    pub const NAMES: [&'static str; 4] = ["throughline", "claude", "codex", "off"];

    /// A built-in profile.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "throughline" => Some(Self::throughline()),
            "claude" => Some(Self::claude()),
            "codex" => Some(Self::codex()),
            "off" => Some(Self::off()),
            _ => None,
        }
    }

    /// The profile as it runs on live traffic: with the guarantee, which adds what the source systems would lose.
    #[must_use]
    pub fn live(self) -> Self {
        Self { guarantee: true, ..self }
    }

    /// The best of both, and beyond: facts and a ranked digest carry the work, and the cache is spared.
    pub fn throughline() -> Self {
        Self {
            name: "throughline".to_owned(),
            budget: Some(BudgetLimits { when: BudgetTrigger::Window, ..BudgetLimits::default() }),
            snip: Some(SnipLimits::default()),
            microcompact: Some(MicrocompactLimits::default()),
            collapse: None,
            compact: Some(CompactLimits {
                threshold: Threshold::Share(0.9),
                strategies: vec![Strategy::Notes, Strategy::Handoff],
                early_share: Some(0.85),
                keep_tokens: 2_000,
                keep_texts: 2,
                keep_most: 3_000,
                result_tokens: Some(10_000),
                section_tokens: 10_000,
                files: 0,
                details: true,
                checked: true,
                ..CompactLimits::default()
            }),
            server: None,
            guarantee: true,
        }
    }

    /// Claude Code's rules.
    pub fn claude() -> Self {
        Self {
            name: "claude".to_owned(),
            budget: Some(BudgetLimits::default()),
            snip: Some(SnipLimits::default()),
            // The source system ships P3a switched off.
            microcompact: Some(MicrocompactLimits { cold_minutes: None, ..MicrocompactLimits::default() }),
            collapse: None,
            compact: Some(CompactLimits::default()),
            server: Some(ServerLimits::default()),
            guarantee: false,
        }
    }

    /// Codex's rules.
    pub fn codex() -> Self {
        Self {
            name: "codex".to_owned(),
            budget: None,
            snip: None,
            microcompact: None,
            collapse: None,
            compact: Some(CompactLimits {
                threshold: Threshold::Share(0.9),
                strategies: vec![Strategy::Handoff],
                summary_tokens: 2_000,
                files: 0,
                ..CompactLimits::default()
            }),
            server: None,
            guarantee: false,
        }
    }

    /// Nothing is changed.
    pub fn off() -> Self {
        Self {
            name: "off".to_owned(),
            budget: None,
            snip: None,
            microcompact: None,
            collapse: None,
            compact: None,
            server: None,
            guarantee: false,
        }
    }
}
