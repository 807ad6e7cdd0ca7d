use crate::common::{WIRES, conversation, no_exemptions, tiny, valid};
use serde_json::{Value, json};
use throughline_core::Wire;
use throughline_core::pipeline::{Moment, Unrecorded};
use throughline_core::profile::Profile;
use throughline_core::stages::OwnTools;
use throughline_engine::{Options, Preparer, RequestFolder};

fn once(wire: Wire, options: Options, body: &Value) -> Vec<u8> {
    let mut preparer = Preparer::new(wire, options);
    preparer.prepare(body.to_string().into_bytes(), &Moment::default(), &mut Unrecorded).unwrap().bytes.into()
}

#[test]
fn what_needs_nothing_comes_back_to_the_byte() {
    for wire in WIRES {
        let odd = conversation(wire, 3, "x").to_string().replace(':', " :  ").replace("brief", "br\\u0069ef");
        for profile in Profile::NAMES {
            let mut preparer = Preparer::new(wire, Options::new(Profile::named(profile).unwrap()));
            let out =
                preparer.prepare(odd.clone().into_bytes(), &Moment::default(), &mut Unrecorded).unwrap();
            assert_eq!(String::from_utf8_lossy(&out.bytes), odd, "{profile}");
            assert!(!out.pass.changed());
        }
    }
}

#[test]
fn p1_a_long_result_is_put_aside_on_every_wire() {
    for wire in WIRES {
        let body = conversation(wire, 2, &"long line\n".repeat(8_000));
        assert_eq!(once(wire, Options::new(Profile::claude()), &body), body.to_string().into_bytes());
        let folder = tempfile::tempdir().unwrap();
        let options = Options { reads_saved_files: true, ..Options::new(no_exemptions()) };
        let mut preparer = Preparer::new(wire, options);
        let mut saved = RequestFolder::Unrecorded(folder.path().to_owned());
        let out = preparer.prepare(body.to_string().into_bytes(), &Moment::default(), &mut saved);
        let bytes = out.unwrap().bytes;
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.matches("<persisted-output>").count(), 2);
        assert!(text.contains("tool-results/call_0.txt") && bytes.len() < 20_000);
        assert!(folder.path().join("tool-results/call_0.txt").exists());
        valid(wire, &bytes);
    }
}

#[test]
fn p5_a_full_window_is_compacted_on_every_wire_and_stays_under_the_threshold() {
    for wire in WIRES {
        for profile in ["throughline", "claude", "codex"] {
            let options = Options { window: Some(6_000), ..Options::new(tiny(profile)) };
            let mut preparer = Preparer::new(wire, options);
            let body = conversation(wire, 40, &"something was found here ".repeat(12));
            let out =
                preparer.prepare(body.to_string().into_bytes(), &Moment::default(), &mut Unrecorded).unwrap();
            let threshold = out.threshold.unwrap();
            assert!(out.pass.tokens_after <= threshold, "{wire:?} {profile}: {:?}", out.pass);
            assert!(out.pass.tokens_before > threshold);
            let messages = valid(wire, &out.bytes);
            let all: String = messages.iter().map(|m| m.to_text()).collect();
            assert!(all.contains("Never touch file_39.lock."), "{wire:?} {profile}");
        }
    }
}

#[test]
fn decisions_stand_while_a_conversation_grows() {
    for wire in WIRES {
        let options = || Options { window: Some(6_000), ..Options::new(tiny("throughline")) };
        let mut preparer = Preparer::new(wire, options());
        let whole = conversation(wire, 60, &"something was found here ".repeat(25));
        let key = if wire == Wire::Responses { "input" } else { "messages" };
        let list = whole[key].as_array().unwrap().clone();
        let mut last: Option<Vec<u8>> = None;
        let mut resets = 0;
        for upto in (1..=list.len()).filter(|n| n % 4 == 1 || n % 4 == 3) {
            let mut body = whole.clone();
            body[key] = list[..upto].to_vec().into();
            let out =
                preparer.prepare(body.to_string().into_bytes(), &Moment::default(), &mut Unrecorded).unwrap();
            valid(wire, &out.bytes);
            assert!(out.pass.tokens_after <= out.threshold.unwrap());
            if let Some(last) = &last {
                let same = last.iter().zip(&out.bytes).take_while(|(a, b)| a == b).count();
                // What was sent is sent again, but for the closing brackets, unless something was decided now.
                if !out.pass.changed() {
                    assert!(same + 80 >= last.len(), "{wire:?}: {same} of {}", last.len());
                } else {
                    resets += 1;
                }
            }
            last = Some(out.bytes.to_vec());
        }
        assert!(resets >= 2, "{resets}");
    }
}

#[test]
fn decisions_persist_in_a_folder_between_processes() {
    for wire in WIRES {
        let dir = tempfile::tempdir().unwrap();
        let options = || Options { window: Some(6_000), ..Options::new(tiny("throughline")) };
        let whole = conversation(wire, 40, &"something was found here ".repeat(25));
        let key = if wire == Wire::Responses { "input" } else { "messages" };
        let list = whole[key].as_array().unwrap().clone();
        let mut live = Preparer::new(wire, options());
        let mut in_memory = Vec::new();
        for upto in (1..=list.len()).step_by(2) {
            let mut body = whole.clone();
            body[key] = list[..upto].to_vec().into();
            let bytes = body.to_string().into_bytes();
            let now = "2026-01-01T00:00:00Z".parse().unwrap();
            let moment = Moment { now: Some(now), ..Moment::default() };
            let mut preparer = Preparer::new(wire, options());
            let mut folder = RequestFolder::open(dir.path(), &mut preparer, now).unwrap();
            let out = preparer.prepare(bytes.clone(), &moment, &mut folder).unwrap();
            folder.finish().unwrap();
            valid(wire, &out.bytes);
            let expected = live.prepare(bytes, &moment, &mut Unrecorded).unwrap();
            assert_eq!(out.pass.changed(), expected.pass.changed(), "{wire:?} at {upto}");
            assert_eq!(out.pass.tokens_after, expected.pass.tokens_after, "{wire:?} at {upto}");
            in_memory.push(expected.bytes.len());
        }
        assert!(in_memory.iter().max().unwrap() > in_memory.last().unwrap());
    }
}

#[test]
fn a_client_that_goes_back_or_starts_over_is_followed() {
    let wire = Wire::Anthropic;
    let options = Options { window: Some(6_000), ..Options::new(tiny("throughline")) };
    let mut preparer = Preparer::new(wire, options);
    let mut send = |body: &Value| {
        let out =
            preparer.prepare(body.to_string().into_bytes(), &Moment::default(), &mut Unrecorded).unwrap();
        valid(wire, &out.bytes)
    };
    let whole = conversation(wire, 40, &"something was found here ".repeat(12));
    let condensed = send(&whole);
    assert!(condensed[0].to_text().contains("condensed"));
    // Back behind what was condensed, with other words.
    let mut back = whole.clone();
    back["messages"] = whole["messages"].as_array().unwrap()[..8].to_vec().into();
    back["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "Another way."}));
    let messages = send(&back);
    assert_eq!(messages.len(), 9);
    assert_eq!(messages[8].to_text(), "Another way.");
    // Something else altogether.
    let messages = send(&conversation(wire, 1, "fresh"));
    assert_eq!(messages.len(), 4);
}

#[test]
fn our_tools_are_added_once_and_in_the_same_place() {
    for wire in WIRES {
        let tools = OwnTools { snip: true, recall: true };
        let mut preparer = Preparer::new(wire, Options { tools, ..Options::new(Profile::throughline()) });
        let mut body = conversation(wire, 2, "x");
        body["tools"] = json!([{"name": "Read", "description": "reads", "input_schema": {"type": "object"}}]);
        let first = preparer
            .prepare(body.to_string().into_bytes(), &Moment::default(), &mut Unrecorded)
            .unwrap()
            .bytes;
        let value: Value = serde_json::from_slice(&first).unwrap();
        assert_eq!(value["tools"].as_array().unwrap().len(), 3);
        let again = preparer
            .prepare(body.to_string().into_bytes(), &Moment::default(), &mut Unrecorded)
            .unwrap()
            .bytes;
        assert_eq!(first, again);
        assert!(String::from_utf8_lossy(&first).contains("[id:"), "real user messages carry their ids");
    }
}

#[test]
fn bad_input_names_the_place() {
    let mut preparer = Preparer::new(Wire::Anthropic, Options::new(Profile::throughline()));
    let bad = b"{\"messages\": [\n  {\"role\": \"user\", }\n]}".to_vec();
    let error = preparer.prepare(bad, &Moment::default(), &mut Unrecorded).unwrap_err().to_string();
    assert!(error.contains("line 2"), "{error}");
    // The conversation goes on after it.
    let good = conversation(Wire::Anthropic, 1, "x").to_string().into_bytes();
    assert!(preparer.prepare(good, &Moment::default(), &mut Unrecorded).is_ok());
}

/// Fails at one append, as a full disk would.
struct Failing {
    left: usize,
}

impl throughline_core::pipeline::Journal for Failing {
    type Error = String;

    fn append(&mut self, _: throughline_core::Record) -> Result<throughline_core::Origin, String> {
        self.left = self.left.checked_sub(1).ok_or("disk full")?;
        Ok(Default::default())
    }

    fn persist(&mut self, _: &throughline_core::stages::budget::Persisted) -> Result<(), String> {
        Ok(())
    }

    fn place(&self, _: &str) -> Option<String> {
        None
    }
}

#[test]
fn a_journal_that_fails_half_way_leaves_no_message_out() {
    let wire = Wire::Anthropic;
    let whole = conversation(wire, 6, "x");
    let mut back = whole.clone();
    back["messages"] = whole["messages"].as_array().unwrap()[..8].to_vec().into();
    back["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "Another way."}));
    for left in 0..26 {
        let mut preparer = Preparer::new(wire, Options::new(Profile::throughline()));
        let mut journal = Failing { left };
        for body in [&whole, &back] {
            let bytes = body.to_string().into_bytes();
            let mut out = preparer.prepare(bytes.clone(), &Moment::default(), &mut journal);
            if out.is_err() {
                journal.left = usize::MAX;
                out = preparer.prepare(bytes.clone(), &Moment::default(), &mut journal);
            }
            assert_eq!(
                String::from_utf8_lossy(&out.unwrap().bytes),
                String::from_utf8_lossy(&bytes),
                "failed after {left}"
            );
        }
    }
}

#[test]
fn a_client_that_goes_back_is_followed_across_processes() {
    let wire = Wire::Anthropic;
    let dir = tempfile::tempdir().unwrap();
    let send = |body: &Value| {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let options = Options { window: Some(6_000), ..Options::new(tiny("throughline")) };
        let mut preparer = Preparer::new(wire, options);
        let mut folder = RequestFolder::open(dir.path(), &mut preparer, now).unwrap();
        let moment = Moment { now: Some(now), ..Moment::default() };
        let out = preparer.prepare(body.to_string().into_bytes(), &moment, &mut folder).unwrap();
        folder.finish().unwrap();
        valid(wire, &out.bytes)
    };
    let whole = conversation(wire, 40, &"something was found here ".repeat(12));
    assert!(send(&whole)[0].to_text().contains("condensed"));
    let mut back = whole.clone();
    back["messages"] = whole["messages"].as_array().unwrap()[..8].to_vec().into();
    back["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "Another way."}));
    for _ in 0..2 {
        let messages = send(&back);
        assert_eq!(messages.len(), 9);
        assert_eq!(messages[8].to_text(), "Another way.");
    }
}
