//! Whether a conversation gets our tools.

use super::{name, names};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use throughline_core::stages::OwnTools;
use throughline_core::{Event, Wire};
use throughline_wire::splice::Body;

/// What was decided, as ledgers hold it.
const EVENT: &str = "proxy.tools";

/// What a conversation was offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) tools: OwnTools,
    /// Why it gets less than the settings want.
    pub(super) why: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Data {
    snip: bool,
    recall: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl Offer {
    /// Reads an event of a ledger; `None` if it is another one.
    pub(super) fn of(event: &Event) -> Option<Self> {
        if event.name != EVENT {
            return None;
        }
        let Data { snip, recall, why } = serde_json::from_value(event.data.clone()).ok()?;
        Some(Self { tools: OwnTools { snip, recall }, why })
    }

    pub(super) fn to_event(&self, at: Option<Timestamp>) -> Event {
        let Self { tools: OwnTools { snip, recall }, why } = self.clone();
        let data = serde_json::to_value(Data { snip, recall, why }).unwrap_or_default();
        Event { at, name: EVENT.to_owned(), data }
    }

    /// Decides by a request. `None`: it brings no tools, and says nothing about those that will.
    pub(super) fn decide(body: &Body, wanted: OwnTools) -> Option<Self> {
        let tools = match body.get("tools") {
            Some(Value::Array(tools)) if !tools.is_empty() => tools,
            Some(_) | None => return None,
        };
        Some(match hindrance(body, &tools, wanted) {
            None => Self { tools: wanted, why: None },
            Some(why) => Self { tools: OwnTools::default(), why: Some(why.to_owned()) },
        })
    }
}

/// Why a conversation that begins like this can't have our tools.
fn hindrance(body: &Body, tools: &[Value], wanted: OwnTools) -> Option<&'static str> {
    let ours = names(wanted);
    if tools.iter().filter_map(name).any(|name| ours.contains(&name.as_str())) {
        return Some("the client has a tool of the same name");
    }
    let choice = body.get("tool_choice").unwrap_or_default();
    let is_free = choice.is_null() || choice == "auto" || choice["type"] == "auto";
    if !is_free {
        return Some("the client says which tool to call");
    }
    let is = |key: &str, wanted: &[&str]| {
        let mut value = body.get(key).unwrap_or_default();
        for key in wanted {
            value = value.get(key).cloned().unwrap_or_default();
        }
        value
    };
    match body.wire() {
        Wire::Anthropic => {
            let has_form = !is("output_config", &["format"]).is_null() || !is("output_format", &[]).is_null();
            has_form.then_some("the client wants an answer of a given form")
        }
        Wire::Responses => {
            let form = is("text", &["format", "type"]);
            let by_name = ["previous_response_id", "conversation", "prompt"];
            if !form.is_null() && form != "text" {
                Some("the client wants an answer of a given form")
            } else if is("background", &[]) == true {
                Some("the answer is fetched later")
            } else if is("store", &[]) != false || by_name.iter().any(|key| !is(key, &[]).is_null()) {
                // What the provider keeps we can't add to.
                Some("the provider keeps the conversation (store)")
            } else {
                None
            }
        }
        Wire::Chat => {
            let form = is("response_format", &["type"]);
            let choices = is("n", &[]);
            if !form.is_null() && form != "text" {
                Some("the client wants an answer of a given form")
            } else if !choices.is_null() && choices != 1 {
                Some("the client wants several answers")
            } else if is("store", &[]) == true {
                Some("the provider keeps the conversation (store)")
            } else {
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const RECALL: OwnTools = OwnTools { snip: false, recall: true };

    fn decide(wire: Wire, change: Value) -> Option<(bool, Option<String>)> {
        let mut body =
            json!({"model": "m", "store": false, "tools": [{"name": "Bash"}], "messages": [], "input": []});
        for (key, value) in change.as_object().unwrap() {
            body[key] = value.clone();
        }
        let body = Body::parse(wire, body.to_string()).unwrap();
        Offer::decide(&body, RECALL).map(|offer| (offer.tools.recall, offer.why))
    }

    #[test]
    fn who_brings_tools_and_leaves_the_choice_gets_ours() {
        for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat] {
            assert_eq!(decide(wire, json!({})), Some((true, None)));
            assert_eq!(decide(wire, json!({"tool_choice": "auto"})), Some((true, None)));
            assert_eq!(decide(wire, json!({"tool_choice": {"type": "auto"}})), Some((true, None)));
            assert_eq!(decide(wire, json!({"tools": []})), None, "another request may bring some");
            assert_eq!(decide(wire, json!({"tools": null})), None);
        }
    }

    #[test]
    fn who_could_notice_does_not() {
        let refused = |wire, change: Value| {
            let (offered, why) = decide(wire, change.clone()).unwrap();
            assert!(!offered && why.is_some(), "{change}");
        };
        for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat] {
            refused(wire, json!({"tools": [{"name": "Recall"}]}));
            refused(wire, json!({"tools": [{"type": "function", "function": {"name": "Recall"}}]}));
            refused(wire, json!({"tool_choice": "required"}));
            refused(wire, json!({"tool_choice": {"type": "tool", "name": "Bash"}}));
        }
        refused(Wire::Anthropic, json!({"output_config": {"format": {"type": "json_schema"}}}));
        refused(Wire::Responses, json!({"text": {"format": {"type": "json_schema"}}}));
        refused(Wire::Responses, json!({"store": true}));
        refused(Wire::Responses, json!({"store": null}));
        refused(Wire::Responses, json!({"previous_response_id": "resp_1"}));
        refused(Wire::Responses, json!({"background": true}));
        refused(Wire::Chat, json!({"response_format": {"type": "json_object"}}));
        refused(Wire::Chat, json!({"n": 2}));
        assert_eq!(
            decide(Wire::Responses, json!({"text": {"verbosity": "low", "format": {"type": "text"}}})),
            Some((true, None))
        );
    }

    #[test]
    fn an_offer_is_read_from_its_event() {
        let offer = Offer { tools: RECALL, why: Some("x".to_owned()) };
        assert_eq!(Offer::of(&offer.to_event(None)), Some(offer));
    }
}
