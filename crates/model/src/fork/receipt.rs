//! What a job cost and changed.

use crate::Usage;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What a job cost and changed. It holds nothing that was said.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Receipt {
    /// Unique; later ones sort behind earlier ones.
    pub id: String,
    /// The job's name.
    pub job: String,
    /// The session that it was done for. A fork leaves it to the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The model asked.
    #[serde(default)]
    pub model: String,
    /// When it began.
    pub started: Timestamp,
    /// How long it took.
    #[serde(default)]
    pub seconds: f64,
    /// How many requests were sent: repetitions included, except those before a failure at the end, which are not known.
    #[serde(default)]
    pub requests: u32,
    /// All requests together, those included that failed half-way.
    #[serde(default)]
    pub usage: Usage,
    /// What that comes to by the price given; nothing where the price is not known.
    #[serde(default)]
    pub dollars: f64,
    /// Whether some of the usage is our estimate.
    #[serde(default)]
    pub estimated: bool,
    /// How many of the bytes sent were the parent's tools, system prompt and messages, to the byte.
    #[serde(default)]
    pub shared_bytes: u64,
    /// The bytes of all requests, repetitions not counted.
    #[serde(default)]
    pub sent_bytes: u64,
    /// How it ended: `done`, `cancelled`, `capped: ` and the limit, `failed: ` and the kind of error.
    #[serde(default)]
    pub outcome: String,
    /// What it changed. A fork leaves it to the caller.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
}

impl Receipt {
    /// A receipt of a job that begins now and has cost nothing yet.
    pub fn begin(job: &str, model: &str) -> Self {
        Self {
            id: uuid::Uuid::now_v7().to_string(),
            job: job.to_owned(),
            session: None,
            model: model.to_owned(),
            started: Timestamp::now(),
            seconds: 0.0,
            requests: 0,
            usage: Usage::default(),
            dollars: 0.0,
            estimated: false,
            shared_bytes: 0,
            sent_bytes: 0,
            outcome: String::new(),
            changed: Vec::new(),
        }
    }

    /// Tokens of all prompts and answers.
    pub fn tokens(&self) -> u64 {
        self.usage.context()
    }
}
