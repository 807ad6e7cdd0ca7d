//! The request for an update (N3, N4, N6).

use serde_json::json;
use std::path::Path;
use throughline_core::{Message, ToolDefinition, Wire};
use throughline_memory::notes::{Ask, Means, NotesLimits, Over, Template, Wording};

fn ask(wording: &Wording, means: &Means, over: Option<&Over>) -> Message {
    let limits = NotesLimits::default();
    let notes = Template::default();
    Ask { wording, notes: notes.text(), path: Path::new("/h/summary.md"), means, limits: &limits, over }
        .to_message()
}

fn edit() -> Means {
    Means::Edit { tool: "Edit".to_owned() }
}

#[test]
fn n3_the_request_shows_the_notes_and_says_how_to_answer() {
    let message = ask(&Wording::default(), &edit(), None);
    assert!(message.flags.meta && !message.is_real_user());
    let text = message.to_text();
    assert!(text.contains("not part of the user's conversation"));
    let notes = format!(
        "<current_notes_content>\n{}\n</current_notes_content>",
        Template::default().text().trim_end()
    );
    assert!(text.contains(&notes), "{text}");
    assert!(text.contains("Use the Edit tool on /h/summary.md and nothing else"));
    assert!(text.contains("in one answer, in parallel"));
    assert!(text.contains("2000 tokens a section and 12000 in all"));
    assert!(!text.contains("{{") && !text.contains("<!--") && !text.contains("Over the limit"));
    let text = ask(&Wording::default(), &Means::Text, None).to_text();
    assert!(text.contains("between <notes> and </notes>") && !text.contains("Edit tool"));
}

#[test]
fn n4_over_the_limit_the_request_names_sections_and_sizes() {
    let over = Over {
        total: Some(13_456),
        sections: vec![("Worklog".to_owned(), 2_345), ("Learnings".to_owned(), 3_000)],
    };
    let text = ask(&Wording::default(), &edit(), Some(&over)).to_text();
    assert!(text.contains("The notes have 13456 tokens, over their limit of 12000"));
    assert!(text.contains("- \"Worklog\": 2345 tokens\n- \"Learnings\": 3000 tokens"));
    assert!(text.contains("keep \"Current State\" and \"Errors & Corrections\" complete"));
    let sections = Over { total: None, ..over };
    let text = ask(&Wording::default(), &edit(), Some(&sections)).to_text();
    assert!(!text.contains("The notes have") && text.contains("Over the limit of 2000 tokens a section"));
}

#[test]
fn n6_a_prompt_of_the_persons_replaces_ours() {
    let own = |prompt: &str| Wording { prompt: Some(prompt.to_owned()), ..Wording::default() };
    let text = ask(&own("File {{notesPath}}: {{currentNotes}} {{mine}}"), &edit(), None).to_text();
    assert!(text.starts_with("File /h/summary.md: # Session Title\n"));
    assert!(text.contains("{{mine}}") && !text.contains("<current_notes_content>"));
    assert!(
        text.contains("Use the Edit tool on /h/summary.md"),
        "how to answer is said whatever the prompt is"
    );
    let text = ask(&own("Keep it short."), &edit(), None).to_text();
    assert!(
        text.contains("<current_notes_content>\n# Session Title"),
        "notes are shown even if not asked for"
    );
}

#[test]
fn tools_of_any_wire_tell_how_notes_are_handed_over() {
    let tool = |name| ToolDefinition { name, description: "", parameters: json!({}) };
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat] {
        let tools =
            json!([tool("Bash").on(wire), tool("str_replace_editor").on(wire), tool("Edit").on(wire)]);
        assert_eq!(Means::of_tools(&tools), edit());
        let body = json!({"model": "m", "tools": tools, "messages": []}).to_string();
        assert_eq!(Means::of_request(body.as_bytes()), edit());
        let others = json!([tool("Bash").on(wire), tool("apply_patch").on(wire)]);
        assert_eq!(Means::of_tools(&others), Means::Text);
    }
    assert_eq!(Means::of_request(b"{}"), Means::Text);
    assert_eq!(Means::of_request(b"no json"), Means::Text);
}
