//! The official Python packages.

use crate::kit::{Play, Python, Stage, both_ways, confined, says};
use serde_json::{Value, json};
use std::path::Path;
use throughline_testkit::playbook::last_user;
use throughline_testkit::{Coding, Ending, ErrorEvent, Fault, Playbook, RetryAfter, Seen, Stall, Wording};

/// What the words of a request ask of the provider.
fn provider() -> Playbook {
    let mut book = Playbook::new()
        .when(last_user("stream"), says("It comes bit by bit, until all of it is there.").thinking("Slowly."))
        .when(|seen: &Seen| seen.last_user_text() == "tool", says("I add.").call("add", json!({ "a": 3 })))
        .when(
            last_user("fail: cut"),
            says("Not all of it.").spoilt_by(Fault::CutAfterEvents(3, Ending::Abrupt)),
        )
        .when(
            last_user("fail: midway"),
            says("Not all of it.").spoilt_by(Fault::ErrorAfter(3, ErrorEvent::Overloaded)),
        )
        .when(last_user("never"), Fault::Stall(Stall::BeforeHead));
    let faults = [
        ("invalid", Fault::Invalid),
        ("key", Fault::Unauthorized),
        ("forbidden", Fault::Forbidden),
        ("model", Fault::UnknownModel),
        ("large", Fault::TooLarge),
        ("limit", Fault::RateLimited(RetryAfter::Seconds(1))),
        ("server", Fault::ServerError),
        ("overloaded", Fault::Overloaded),
        ("long", Fault::too_long(Wording::Groq)),
        ("gateway", Fault::BadGateway),
        ("broken", Fault::CutAfterBytes(10, Ending::Abrupt)),
    ];
    for (name, fault) in faults {
        book = book.when(last_user(&format!("fail: {name}")), fault.clone());
        for way in ["", ", responses", ", chat"] {
            let asked = format!("once: {name}{way}");
            book = book.once(move |seen: &Seen| seen.last_user_text() == asked, fault.clone());
        }
    }
    for coding in [Coding::Gzip, Coding::Brotli, Coding::Zstd] {
        let answer = says("It was small on its way, and is as it was.").compressed(coding);
        book = book.when(last_user(&format!("coding: {}", coding.name())), answer);
    }
    for n in 0..8 {
        book = book.when(last_user(&format!("echo {n}")), says(&format!("You said {n}.")));
    }
    book.otherwise(says("Good day."))
}

/// Plays a script of the package both ways; what it saw.
fn saw(script: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/sdk").join(script);
    let last = std::sync::Mutex::new(Value::Null);
    let stopped = both_ways(Play {
        script: provider,
        act: |stage: &Stage| {
            let ran = stage.python(&path).ok();
            *last.lock().unwrap() = serde_json::from_str(&ran.out).unwrap();
        },
    });
    assert_eq!(stopped.complaints, "");
    last.into_inner().unwrap()
}

/// The classes of errors, by what went wrong.
fn classes<'a>(saw: &'a Value, prefix: &str, names: &[&str]) -> Vec<&'a str> {
    names.iter().map(|name| saw[format!("{prefix}{name}")][0].as_str().unwrap_or("no error")).collect()
}

#[test]
fn the_anthropic_package_sees_what_it_sees_directly() {
    confined(|| {
        let Some(_) = Python::find() else { return };
        let saw = saw("use_anthropic.py");
        assert_eq!(saw["plain"]["content"][0]["text"], "Good day.");
        assert_eq!(saw["tool"]["content"][1]["input"], json!({ "a": 3 }));
        assert_eq!(saw["tool streamed"]["content"][1]["input"], json!({ "a": 3 }));
        assert_eq!(saw["tool answered"]["content"][0]["text"], "Good day.");
        let names = [
            "invalid",
            "key",
            "forbidden",
            "model",
            "large",
            "limit",
            "server",
            "overloaded",
            "broken",
            "too late",
        ];
        assert_eq!(
            classes(&saw, "", &names),
            [
                "BadRequestError",
                "AuthenticationError",
                "PermissionDeniedError",
                "NotFoundError",
                "ContentTooLargeError",
                "RateLimitError",
                "InternalServerError",
                "OverloadedError",
                "APIConnectionError",
                "APITimeoutError",
            ]
        );
        assert_eq!(saw["tried again"]["content"][0]["text"], "Good day.");
        assert_eq!(saw["waited"]["content"][0]["text"], "Good day.");
        for coding in ["gzip", "br", "zstd"] {
            assert_eq!(saw[coding][0], coding);
            assert_eq!(saw[coding][1]["content"][0]["text"], "It was small on its way, and is as it was.");
        }
        assert_eq!(saw["at once"][0].as_array().unwrap().len(), 8);
        assert_eq!(saw["at once"][1], "It comes bit by bit, until all of it is there.");
    });
}

#[test]
fn the_openai_package_sees_what_it_sees_directly() {
    confined(|| {
        let Some(_) = Python::find() else { return };
        let saw = saw("use_openai.py");
        assert_eq!(saw["plain"]["output"][0]["content"][0]["text"], "Good day.");
        assert_eq!(saw["tool"]["output"][1]["arguments"], "{\"a\":3}");
        assert_eq!(saw["chat"]["choices"][0]["message"]["content"], "Good day.");
        let names =
            ["invalid", "key", "forbidden", "model", "limit", "server", "overloaded", "broken", "too late"];
        for way in ["responses ", "chat "] {
            assert_eq!(
                classes(&saw, way, &names),
                [
                    "BadRequestError",
                    "AuthenticationError",
                    "PermissionDeniedError",
                    "NotFoundError",
                    "RateLimitError",
                    "InternalServerError",
                    "InternalServerError",
                    "APIConnectionError",
                    "APITimeoutError",
                ]
            );
        }
        assert_eq!(saw["responses tried again"]["output"][0]["content"][0]["text"], "Good day.");
        assert_eq!(saw["chat waited"]["choices"][0]["message"]["content"], "Good day.");
        for coding in ["gzip", "br", "zstd"] {
            assert_eq!(saw[coding][0], coding);
        }
        assert_eq!(saw["at once"][0].as_array().unwrap().len(), 8);
    });
}
