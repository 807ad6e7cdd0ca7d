//! Tool results that were too long for the conversation: the client saved them beside the transcript.

use throughline_core::{CallId, Message};

/// Only the beginning of a result can say so.
const HEAD: usize = 4096;
const FOLDER: &str = "tool-results";

/// The files that hold the full text of results in `message`, by name.
pub(super) fn named_in(message: &Message) -> Vec<(CallId, String)> {
    message
        .results()
        .filter_map(|result| {
            let text = result.content.to_text();
            let saved = text.starts_with("<persisted-output>") || text.starts_with("Error: result (");
            saved.then(|| file_name(&text)).flatten().map(|name| (result.call.clone(), name))
        })
        .collect()
}

/// The path may be of another machine: only the name counts, and it can't lead elsewhere.
fn file_name(text: &str) -> Option<String> {
    let mut end = text.len().min(HEAD);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = &text[..end];
    let after = &head[head.find(FOLDER)? + FOLDER.len()..];
    let name = after.strip_prefix(['/', '\\'])?;
    let name: String = name.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).collect();
    let name = name.trim_end_matches('.');
    (!name.is_empty() && !name.starts_with('.') && name.len() <= 200).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_result_is_found_by_its_file_name_alone() {
        let text = "<persisted-output>\nOutput too large (54KB). Full output saved to: \
                    /home/me/.claude/projects/-p/s/tool-results/b1x.txt\n\nPreview (first 2KB):\n";
        assert_eq!(file_name(text).as_deref(), Some("b1x.txt"));
        assert_eq!(file_name("saved to /x/tool-results/../../etc/passwd"), None);
        assert_eq!(file_name("saved to /x/tool-results/"), None);
        assert_eq!(
            file_name("saved to C:\\x\\tool-results\\mcp-a-b-1.txt."),
            Some("mcp-a-b-1.txt".to_owned())
        );
    }
}
