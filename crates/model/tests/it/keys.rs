//! Keys are sent to where they belong, and shown nowhere.

use crate::support::{WIRES, bytes, nothing, provider};
use std::collections::BTreeMap;
use std::fs;
use throughline_model::{
    Argv, Call, Delivery, ErrorKind, Http, KeyHeader, Model, ModelError, Provider, Secret, Wire,
};
use throughline_testkit::{Answer, Fault, Http as Plain, Playlist, Reply, Seen, Server};

const KEY: &str = "sk-very-secret-0123456789";

fn with_key(name: &str) -> Option<String> {
    (name == "THE_KEY").then(|| KEY.to_owned())
}

fn keyed(wire: Wire, server: &Server) -> Provider {
    Provider { key_env: Some("THE_KEY".to_owned()), ..provider(wire, server) }
}

fn hidden(shown: &str) {
    assert!(!shown.contains("secret"), "{shown}");
}

#[tokio::test]
async fn each_wire_has_its_header() {
    for wire in WIRES {
        let server = Server::start(Answer::text("Yes.")).unwrap();
        let model = Http::new(&keyed(wire, &server), &with_key).unwrap();
        model.send(Call::new(bytes(wire, Delivery::Whole))).await.unwrap();
        let seen = server.last().unwrap();
        let bearer = format!("Bearer {KEY}");
        let expected = match wire {
            Wire::Anthropic => (Some(KEY), None),
            Wire::Responses | Wire::Chat => (None, Some(bearer.as_str())),
        };
        assert_eq!((seen.header("x-api-key"), seen.header("authorization")), expected);
    }
}

#[tokio::test]
async fn other_headers_come_from_settings_and_variables() {
    let server = Server::start(Answer::text("Yes.")).unwrap();
    let provider = Provider {
        key_header: Some(KeyHeader::ApiKey),
        headers: BTreeMap::from([("anthropic-version".to_owned(), Secret::new("2030-01-01"))]),
        header_env: BTreeMap::from([("x-extra".to_owned(), "THE_KEY".to_owned())]),
        ..keyed(Wire::Anthropic, &server)
    };
    let model = Http::new(&provider, &with_key).unwrap();
    model.send(Call::new(bytes(Wire::Anthropic, Delivery::Whole))).await.unwrap();
    let seen = server.last().unwrap();
    assert_eq!(seen.header("api-key"), Some(KEY));
    assert_eq!(seen.header("x-extra"), Some(KEY));
    assert_eq!(seen.header("anthropic-version"), Some("2030-01-01"));
}

#[tokio::test]
async fn nothing_shows_a_key() {
    let server = Server::start(Fault::Unauthorized).unwrap();
    let provider = Provider {
        headers: BTreeMap::from([("x-one".to_owned(), Secret::new("secret-one"))]),
        header_env: BTreeMap::from([("x-two".to_owned(), "THE_KEY".to_owned())]),
        proxy: Some(Secret::new("http://user:secret@127.0.0.1:9")),
        ..keyed(Wire::Anthropic, &server)
    };
    hidden(&format!("{provider:?} {provider:#?}"));
    hidden(&serde_json::to_string(&provider).unwrap());
    hidden(&format!("{:?}", Http::new(&provider, &with_key).unwrap()));
    let model = Http::new(&Provider { proxy: None, ..provider.clone() }, &with_key).unwrap();
    for (_, fault) in Fault::all() {
        if matches!(fault, Fault::Stall(_)) {
            continue;
        }
        let server = Server::start(fault).unwrap();
        let retries = throughline_model::Retries { attempts: 1, ..throughline_model::Retries::default() };
        let base_url = Some(server.url());
        let model =
            Http::new(&Provider { base_url, retries, proxy: None, ..provider.clone() }, &with_key).unwrap();
        if let Err(error) = model.send(Call::new(bytes(Wire::Anthropic, Delivery::Streamed))).await {
            hidden(&format!("{error} {error:?}"));
        }
    }
    hidden(&format!(
        "{:?}",
        model.send(Call::new(bytes(Wire::Anthropic, Delivery::Streamed))).await.unwrap_err()
    ));
    hidden(&format!("{:?}", Secret::new("secret")));

    let broken = |name: &str| (name == "THE_KEY").then(|| "secret\nline".to_owned());
    let model = Http::new(&keyed(Wire::Chat, &server), &broken).unwrap();
    let error = model.send(Call::new(bytes(Wire::Chat, Delivery::Whole))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Key);
    hidden(&format!("{error} {error:?}"));
    for address in ["https://user:secret@x.test", "https://x.test/?key=secret"] {
        hidden(&format!(
            "{:?}",
            Provider { base_url: Some(address.to_owned()), ..Provider::new("p", Wire::Chat, "m") }
        ));
    }
    for proxy in ["secret", "ftp://secret", "http://[secret"] {
        let provider = Provider { proxy: Some(Secret::new(proxy)), ..self::provider(Wire::Chat, &server) };
        if let Err(error) = Http::new(&provider, &nothing) {
            hidden(&format!("{error} {error:?}"));
        }
    }
}

#[tokio::test]
async fn a_provider_that_repeats_a_key_does_not_get_it_shown() {
    let echo = |seen: &Seen| {
        let sent =
            [seen.header("authorization"), seen.header("x-two")].map(Option::unwrap_or_default).join(" and ");
        Reply::from(Plain::json(401, &serde_json::json!({"error": {"message": format!("who is {sent}?")}})))
    };
    let server = Server::start(echo).unwrap();
    let header_env = BTreeMap::from([("x-two".to_owned(), "OTHER".to_owned())]);
    let provider = Provider { header_env, ..keyed(Wire::Chat, &server) };
    let variables =
        |name: &str| with_key(name).or_else(|| (name == "OTHER").then(|| "another-secret".to_owned()));
    let model = Http::new(&provider, &variables).unwrap();
    let error = model.send(Call::new(bytes(Wire::Chat, Delivery::Whole))).await.unwrap_err();
    assert!(error.to_string().contains("who is Bearer [hidden] and [hidden]?"), "{error}");
    hidden(&format!("{error:?}"));
}

#[test]
fn keys_do_not_leave_the_machine_in_the_clear() {
    let open = |provider: Provider| {
        Http::new(&provider, &with_key).map(|_| ()).map_err(|error| (error.kind(), error.to_string()))
    };
    let away = || Provider {
        base_url: Some("http://model.test/v1".to_owned()),
        key_env: Some("THE_KEY".to_owned()),
        ..Provider::new("away", Wire::Chat, "m")
    };
    let (kind, text) = open(away()).unwrap_err();
    assert_eq!(kind, ErrorKind::Config);
    assert!(text.contains("insecure_http"), "{text}");
    assert!(open(Provider { insecure_http: true, ..away() }).is_ok());
    assert!(open(Provider { key_env: None, ..away() }).is_ok(), "without a key there is nothing to lose");
    let local = || Provider { base_url: Some("http://127.0.0.1:1".to_owned()), ..away() };
    assert!(open(local()).is_ok());
    assert!(open(Provider { proxy: Some(Secret::new("http://proxy.test:1")), ..local() }).is_err());
}

#[test]
fn a_key_is_not_sent_to_an_address_that_it_was_not_meant_for() {
    let usual = |name: &str| (name == "OPENAI_API_KEY").then(|| KEY.to_owned());
    let elsewhere =
        Provider { base_url: Some("http://model.test".to_owned()), ..Provider::new("p", Wire::Chat, "m") };
    // It would be an error if the key were to be sent.
    assert!(Http::new(&elsewhere, &usual).is_ok());
}

#[cfg(unix)]
mod command {
    use super::*;

    /// A command that prints `key-1`, then `key-2`, and so on.
    fn counting(folder: &tempfile::TempDir) -> Argv {
        let count = folder.path().join("count");
        let script = format!(
            "printf x >> '{0}'; printf 'key-%s\\n' \"$(wc -c < '{0}' | tr -d ' ')\"",
            count.display()
        );
        Argv::new(["sh", "-c", &script]).unwrap()
    }

    fn model(server: &Server, command: Argv) -> Http {
        Http::new(&Provider { key_command: Some(command), ..provider(Wire::Chat, server) }, &nothing).unwrap()
    }

    fn sent() -> Call<'static> {
        Call::new(bytes(Wire::Chat, Delivery::Whole))
    }

    #[tokio::test]
    async fn is_run_once() {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(Answer::text("Yes.")).unwrap();
        let model = model(&server, counting(&folder));
        let (one, two) = tokio::join!(model.send(sent()), model.send(sent()));
        one.unwrap();
        two.unwrap();
        for seen in server.requests() {
            assert_eq!(seen.header("authorization"), Some("Bearer key-1"));
        }
        assert_eq!(fs::read(folder.path().join("count")).unwrap(), b"x");
    }

    #[tokio::test]
    async fn is_run_again_after_a_rejection_and_once_only() {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(Playlist::new().then(Fault::Unauthorized).then("Yes.")).unwrap();
        let fresh = model(&server, counting(&folder));
        assert_eq!(fresh.send(sent()).await.unwrap().attempts, 2);
        let keys: Vec<String> = server
            .requests()
            .iter()
            .filter_map(|seen| seen.header("authorization").map(str::to_owned))
            .collect();
        assert_eq!(keys, ["Bearer key-1", "Bearer key-2"]);

        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(Fault::Unauthorized).unwrap();
        let rejected = model(&server, counting(&folder));
        assert_eq!(rejected.send(sent()).await.unwrap_err().kind(), ErrorKind::Auth);
        assert_eq!(server.count(), 2);
    }

    #[tokio::test]
    async fn failing_is_an_error_that_shows_nothing_of_it() {
        let server = Server::start(Answer::text("Yes.")).unwrap();
        for script in ["echo secret; echo secret >&2; exit 3", "true", "head -c 100000 /dev/zero"] {
            let error =
                model(&server, Argv::new(["sh", "-c", script]).unwrap()).send(sent()).await.unwrap_err();
            assert!(matches!(error, ModelError::Key { .. }), "{error}");
            hidden(&format!("{error} {error:?}"));
        }
        let error = model(&server, Argv::new(["/no/such/program"]).unwrap()).send(sent()).await.unwrap_err();
        assert!(error.to_string().contains("/no/such/program"), "{error}");
        assert_eq!(server.count(), 0);
    }
}
