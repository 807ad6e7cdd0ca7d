//! Any other client.

use super::{Client, Purpose, Recognised, UserAgent, by_endpoint};
use crate::manage::Asked;
use throughline_core::Wire;

/// How long the name of a client may be.
const NAME_CHARS: usize = 40;

pub(super) fn recognise(asked: &Asked, wire: Wire, agent: &UserAgent<'_>) -> Recognised {
    let name: String = agent.name.chars().filter(|c| !c.is_control()).take(NAME_CHARS).collect();
    Recognised {
        wire,
        // The names of those that are known must not be given away.
        client: match name.as_str() {
            "" => Client::Other("unknown".to_owned()),
            "claude" | "codex" => Client::Other(format!("{name} (other)")),
            _ => Client::Other(name),
        },
        client_version: agent.version.clone(),
        session: None,
        client_session: None,
        agent: None,
        parent: None,
        purpose: by_endpoint(asked.endpoint).unwrap_or(Purpose::Turn),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{asked, recognise};
    use super::*;
    use crate::Endpoint;
    use serde_json::json;

    #[test]
    fn a_client_is_known_by_its_user_agent() {
        let of = |agent: &str| {
            let body = json!({"messages": [{"role": "user", "content": "hello"}]});
            recognise(&asked(Endpoint::Answer(Wire::Chat), &[("user-agent", agent)], &body)).unwrap()
        };
        let found = of("OpenAI/Python 2.8.0");
        assert_eq!((found.client, found.session), (Client::Other("OpenAI".to_owned()), None));
        assert_eq!(of("").client, Client::Other("unknown".to_owned()));
        assert_ne!(of("claude/1").client.name(), "claude");
    }

    #[test]
    fn what_goes_on_from_what_only_the_provider_knows_is_not_followed() {
        let of = |body| recognise(&asked(Endpoint::Answer(Wire::Responses), &[], &body));
        assert!(of(json!({"input": "hello", "previous_response_id": "r"})).is_none());
        assert!(of(json!({"input": "hello", "conversation": {"id": "c"}})).is_none());
        assert!(of(json!({"input": "hello", "previous_response_id": null})).is_some());
        assert!(of(json!({"input": "the \"conversation\" we had"})).is_some());
    }
}
