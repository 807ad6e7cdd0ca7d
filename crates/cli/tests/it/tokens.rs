use crate::common::{Machine, examples};

#[test]
fn w3_requests_transcripts_and_texts_are_counted() {
    let machine = Machine::empty();
    let request = machine.dir.path().join("request.json");
    let body =
        r#"{"model":"gpt-5","messages":[{"role":"user","content":"hello world"}],"max_completion_tokens":5}"#;
    std::fs::write(&request, body).unwrap();
    let counted = machine.json(&["tokens", &request.to_string_lossy()]);
    assert_eq!((&counted["what"], &counted["tokenizer"]), (&"request".into(), &"o200k_base".into()));
    assert_eq!(counted["by_kind"]["text"], 2);

    let transcript = examples().join("claude/projects/-home-ada-orchard");
    let transcript = std::fs::read_dir(transcript).unwrap().map(|e| e.unwrap().path());
    let transcript = transcript.filter(|p| p.extension().is_some_and(|e| e == "jsonl")).min().unwrap();
    let counted = machine.json(&["tokens", &transcript.to_string_lossy()]);
    assert_eq!(counted["what"], "transcript");
    assert!(counted["total"].as_u64().unwrap() > 1_000, "{counted}");
    assert_eq!(counted["exact"], false);

    let text = machine
        .command()
        .args(["tokens", "-", "--model", "gpt-5"])
        .write_stdin("hello world")
        .assert()
        .success();
    assert!(String::from_utf8_lossy(&text.get_output().stdout).starts_with("2 tokens"));
}

#[test]
fn a_missing_file_is_named() {
    let error = Machine::empty().error(&["tokens", "nowhere.json"]);
    assert!(error.contains("cannot read nowhere.json"), "{error}");
}
