//! A model's answer: proposals as JSON.

use super::proposal::{Action, Proposal, Refused, label_of};
use super::refusal::Refusal;
use crate::Tier;
use crate::topics::TopicType;
use serde::Deserialize;
use serde_json::Value;
use throughline_core::MessageId;

/// Proposals of one answer that are looked at.
const MOST: usize = 16;
/// Bytes of one field: what is longer is no memory.
const FIELD: usize = 8_000;

/// What an answer proposes.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) proposals: Vec<Proposal>,
    /// Those that can't be understood.
    pub(super) refused: Vec<Refused>,
}

/// One proposal as a model writes it.
#[derive(Debug, Deserialize)]
struct Written {
    #[serde(default)]
    action: Option<String>,
    #[serde(default)]
    file: Option<String>,
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default, alias = "quotes")]
    quote: Option<Quote>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default, alias = "tier")]
    scope: Option<String>,
}

/// One quote, or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Quote {
    One(String),
    Several(Vec<String>),
}

/// Reads an answer: an object with `memories` and nothing around it; failing that, the last such object in it.
///
/// # Errors
/// If there is none.
pub(super) fn parse(answer: &str) -> Result<Parsed, String> {
    let items = strict(answer)
        .or_else(|| lenient(answer))
        .ok_or_else(|| "the answer holds no JSON object with a list `memories`".to_owned())?;
    let mut parsed = Parsed::default();
    for item in items {
        let label = label_of(&item.to_string());
        let refuse = |why: Refusal| Refused { what: label.clone(), why };
        if parsed.proposals.len() >= MOST {
            parsed.refused.push(refuse(Refusal::Cap));
            continue;
        }
        match proposal(item) {
            Ok(proposal) => parsed.proposals.push(proposal),
            Err(why) => parsed.refused.push(refuse(Refusal::Malformed(why))),
        }
    }
    Ok(parsed)
}

fn strict(answer: &str) -> Option<Vec<Value>> {
    list(serde_json::from_str(answer.trim()).ok()?)
}

/// The last object in the words that has the list.
fn lenient(answer: &str) -> Option<Vec<Value>> {
    let starts = answer.rmatch_indices(['{', '[']).map(|(at, _)| at);
    // An answer of nothing but brackets must not take for ever.
    starts
        .take(512)
        .filter_map(|at| {
            let value =
                serde_json::Deserializer::from_str(&answer[at..]).into_iter::<Value>().next()?.ok()?;
            list(value)
        })
        .last()
}

fn list(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Object(mut map) => match map.remove("memories")? {
            Value::Array(items) => Some(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
        },
        Value::Array(items) if !items.is_empty() && items.iter().all(|item| item.get("action").is_some()) => {
            Some(items)
        }
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn proposal(item: Value) -> Result<Proposal, String> {
    let written = Written::deserialize(item).map_err(|error| error.to_string())?;
    let file = || written.file.clone().filter(|file| !file.trim().is_empty()).ok_or("it names no file");
    let action = match written.action.as_deref().unwrap_or("add") {
        "add" => Action::Add,
        "update" => Action::Update { file: file()? },
        "forget" => Action::Forget { file: file()? },
        other => return Err(format!("there is no action {other:?}: it is add, update or forget")),
    };
    let kind = written
        .kind
        .as_deref()
        .filter(|kind| !kind.trim().is_empty())
        .map(str::parse::<TopicType>)
        .transpose()?;
    let tier = written
        .scope
        .as_deref()
        .filter(|tier| !tier.trim().is_empty())
        .map(str::parse::<Tier>)
        .transpose()?;
    let quotes = match written.quote {
        Some(Quote::One(quote)) => vec![quote],
        Some(Quote::Several(quotes)) => quotes,
        None => Vec::new(),
    };
    let text = |text: Option<String>| text.unwrap_or_default();
    let proposal = Proposal {
        action,
        kind,
        name: text(written.name),
        description: text(written.description),
        body: text(written.body),
        quotes,
        message: written.message.map(MessageId::from),
        tier,
    };
    let fields = [&proposal.name, &proposal.description, &proposal.body].into_iter().chain(&proposal.quotes);
    if fields.into_iter().any(|field| field.len() > FIELD) {
        return Err(format!("a field has more than {FIELD} bytes"));
    }
    Ok(proposal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_it_should_be_and_rescued_once() {
        let good = r#"{"memories":[{"action":"add","type":"feedback","name":"n","description":"d","body":"b","quote":"q","scope":"global"}]}"#;
        for answer in
            [good.to_owned(), format!("Sure:\n```json\n{good}\n```\nDone."), format!("{{\"x\":1}} {good}")]
        {
            let parsed = parse(&answer).unwrap();
            assert_eq!((parsed.proposals.len(), parsed.refused.len()), (1, 0), "{answer}");
            assert_eq!(parsed.proposals[0].tier, Some(Tier::Global));
        }
        assert!(parse(r#"{"memories":[]}"#).unwrap().proposals.is_empty());
        assert_eq!(
            parse(r#"[{"action":"forget","file":"a.md","quote":["x","y"]}]"#).unwrap().proposals[0]
                .quotes
                .len(),
            2
        );
    }

    #[test]
    fn what_can_not_be_understood_is_said() {
        for answer in ["", "nothing to save", "{\"memories\":", "{\"memories\":3}", "[]", "[[[["] {
            assert!(parse(answer).is_err(), "{answer}");
        }
        let odd = r#"{"memories":[{"action":"explode"},{"action":"update"},3,{"type":"rule"},{"action":"add","quote":"q"}]}"#;
        let parsed = parse(odd).unwrap();
        assert_eq!((parsed.proposals.len(), parsed.refused.len()), (1, 4));
        let many = format!("{{\"memories\":[{}]}}", vec![r#"{"action":"add","quote":"q"}"#; 40].join(","));
        assert_eq!(parse(&many).unwrap().proposals.len(), MOST);
        let long =
            format!(r#"{{"memories":[{{"action":"add","quote":"q","body":"{}"}}]}}"#, "x".repeat(FIELD + 1));
        assert_eq!(parse(&long).unwrap().refused.len(), 1);
    }
}
