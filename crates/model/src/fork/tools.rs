//! What a fork can do.

use throughline_core::ToolCall;

/// Carries out the calls of a fork. It is the whole of what a fork can do: the parent's tools are offered to the model
/// because the prompt cache depends on them, but nothing runs except what this runs.
pub trait Toolbox: Send {
    /// Carries out a call, or says why not: the model is told either. It runs on the fork's task, so it must not take
    /// long. What the model asks for is not to be trusted: the name may be any tool of the parent's, or none.
    fn call(&mut self, call: &ToolCall) -> Result<String, String>;

    /// Asked when all calls of an answer were carried out: whether the job is done, so that the model need not be asked once
    /// more only to say so. Unless told, the model says when.
    fn is_done(&mut self) -> bool {
        false
    }
}

/// Refuses everything, for jobs that want words only.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTools;

impl Toolbox for NoTools {
    fn call(&mut self, call: &ToolCall) -> Result<String, String> {
        Err(format!("{} can't be used here: no tool can. Answer in words only.", call.name))
    }
}
