//! W3: token counts are exact where the table is public, calibrated elsewhere, counted once, and corrected.

mod correction;
mod media;
mod messages;
mod text;

const CLAUDE: &str = "claude-opus-4-5";
const GPT: &str = "gpt-5.5";
