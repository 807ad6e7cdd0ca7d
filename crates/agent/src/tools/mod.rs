//! The tools, a file each.

pub mod bash;
mod call_tool;
mod edit;
mod file_call;
mod glob;
mod grep;
mod handbook;
pub mod memory;
pub mod plan;
mod read;
mod record;
pub mod skill;
pub mod todo;
mod tool_search;
pub mod web_fetch;
mod write;

pub use call_tool::CallTool;
pub use edit::Edit;
pub use glob::Glob;
pub use grep::Grep;
pub(crate) use memory::{Changing, proposed as proposed_memory};
pub use memory::{MemoryTool, NAME as MEMORY};
pub use plan::{EXIT_PLAN_MODE, ExitPlanMode};
pub use read::{Read, image_block};
pub use record::{Recall, Snip};
pub use todo::{TodoWrite, Todos};
pub use tool_search::ToolSearch;
pub use web_fetch::{WebFetch, WebFetchSettings};
pub use write::Write;

use crate::Tool;
use std::sync::Arc;

/// The tools that work on files.
pub fn file_tools() -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(Read), Arc::new(Write), Arc::new(Edit), Arc::new(Glob), Arc::new(Grep)]
}
