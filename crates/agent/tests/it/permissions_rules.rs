//! Rules as text.

use proptest::prelude::*;
use throughline_agent::permissions::Rule;

#[test]
fn rules_are_read_and_written_the_same() {
    for text in [
        "Bash",
        "Bash(git diff:*)",
        "Bash(cargo test *)",
        "Bash(echo (a))",
        "Bash(echo a:\\*)",
        "Unsandboxed(docker build .)",
        "Read",
        "Read(src/**)",
        "Read(~/notes/**)",
        "Read(//abs/path/**)",
        "Edit(*.md)",
        "Edit(./a.rs)",
        "Write",
        "WebFetch",
        "WebFetch(domain:example.com)",
        "WebFetch(domain:*.example.com)",
        "mcp__server",
        "mcp__server__tool",
        "mcp__server__*",
        "mcp__my-server__a_b",
        "Task",
        "Memory",
        "Grep",
    ] {
        let rule: Rule = text.parse().unwrap();
        assert_eq!(rule.to_string(), text);
        let json = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<Rule>(&json).unwrap(), rule);
    }
    assert_eq!("  Bash( ls )  ".parse::<Rule>().unwrap().as_str(), "Bash(ls)");
}

#[test]
fn mistakes_say_what_would_be_right() {
    for (text, problem) in [
        ("", "there is no tool \"\""),
        ("bash", "the tool is called `Bash`"),
        ("BASH(ls)", "the tool is called `Bash`"),
        ("Shell(ls)", "there is no tool \"Shell\""),
        ("Bash(", "its last character must be `)`"),
        ("Bash(ls", "its last character must be `)`"),
        ("Bash(ls) x", "its last character must be `)`"),
        ("Bash()", "`Bash` alone means all"),
        ("Bash( )", "`Bash` alone means all"),
        ("Bash(a; b:*)", "plain words"),
        ("Bash($X:*)", "plain words"),
        ("Bash(a\u{7}b)", "control character"),
        ("Write(src/**)", "`Edit(src/**)`"),
        ("Grep(src/**)", "`Read(src/**)`"),
        ("Read(/etc/**)", "`//etc/**`"),
        ("Read(../x)", "`//…`"),
        ("Read(~root/x)", "only `~/`"),
        ("Read(//)", "name a file or a folder"),
        ("Read(a[)", "its pattern is not understood"),
        ("WebFetch(example.com)", "`WebFetch(domain:example.com)`"),
        ("WebFetch(https://example.com/)", "`WebFetch(domain:example.com)`"),
        ("WebFetch(domain:)", "is no host"),
        ("WebFetch(domain:a/b)", "is no host"),
        ("WebFetch(domain:bücher.test)", "xn--"),
        ("Task(x)", "takes nothing in parentheses"),
        ("Memory(x)", "takes nothing in parentheses"),
        ("mcp__", "`mcp__server`"),
        ("mcp__a__", "`mcp__server`"),
        ("mcp__a__b*", "`mcp__server`"),
        ("mcp__a(x)", "take nothing in parentheses"),
        ("Unsandboxed", "name the command"),
        (&"x".repeat(5000), "longer than"),
    ] {
        let error = text.parse::<Rule>().unwrap_err().to_string();
        assert!(error.contains(problem), "{text:?}: {error}");
    }
}

proptest! {
    #[test]
    fn any_text_is_a_rule_that_is_written_as_it_is_read_or_an_error(text in "(Bash|Read|Edit|WebFetch|mcp__|Unsandboxed|)[(]?[ -~]{0,24}[)]?") {
        if let Ok(rule) = text.parse::<Rule>() {
            prop_assert_eq!(&rule.to_string().parse::<Rule>().unwrap(), &rule);
            prop_assert_eq!(rule.as_str().parse::<Rule>().unwrap().to_string(), rule.to_string());
        }
    }

    #[test]
    fn no_text_is_too_odd(text in any::<String>()) {
        let _ = text.parse::<Rule>();
        let _ = format!("Bash({text})").parse::<Rule>();
        let _ = format!("Read({text})").parse::<Rule>();
    }
}
