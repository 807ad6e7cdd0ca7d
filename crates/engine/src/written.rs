//! Elements that are written anew, kept from request to request.

use serde_json::Value;
use std::collections::HashMap;
use throughline_core::{Message, MessageId, Wire, content_id};
use throughline_wire::encode_messages;
use throughline_wire::splice::Fragment;

/// What changed messages look like on the wire, each encoded once.
#[derive(Debug, Default)]
pub(crate) struct Written {
    by_message: HashMap<MessageId, (MessageId, usize, Vec<Fragment>)>,
}

impl Written {
    /// The elements for a message. `element` is what the client sent for it in this request: its cache mark is kept, and
    /// no other one, because the client moves it from request to request.
    pub(crate) fn fragments(
        &mut self,
        wire: Wire,
        message: &Message,
        element: Option<&[u8]>,
    ) -> Vec<Fragment> {
        let content = content_id(None, message);
        let length = element.map_or(0, <[u8]>::len);
        if let Some((known, then, fragments)) = self.by_message.get(&message.id)
            && *known == content
            && *then == length
        {
            return fragments.clone();
        }
        let mut values = encode_messages(wire, &[message]);
        match wire {
            Wire::Anthropic => values.iter_mut().for_each(|value| mark(value, element)),
            Wire::Responses | Wire::Chat => {}
        }
        let fragments: Vec<Fragment> = values.iter().map(Fragment::from).collect();
        self.by_message.insert(message.id.clone(), (content, length, fragments.clone()));
        fragments
    }
}

const MARK: &str = "cache_control";

/// Puts the client's cache mark where it is now, and takes those away that were there before.
fn mark(value: &mut Value, element: Option<&[u8]>) {
    let current = element.and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok());
    let current = current.as_ref().and_then(last_block).and_then(|block| block.get(MARK)).cloned();
    if let Some(blocks) = value.get_mut("content").and_then(Value::as_array_mut) {
        for block in blocks.iter_mut().filter_map(Value::as_object_mut) {
            block.shift_remove(MARK);
        }
        if let (Some(mark), Some(block)) = (current, blocks.last_mut().and_then(Value::as_object_mut)) {
            block.insert(MARK.to_owned(), mark);
        }
    }
}

fn last_block(element: &Value) -> Option<&Value> {
    element.get("content")?.as_array()?.last()
}
