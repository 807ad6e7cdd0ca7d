//! Elements that are written anew, kept from request to request.

use crate::marks;
use std::collections::HashMap;
use throughline_core::{Message, MessageId, Wire, content_id};
use throughline_wire::encode_messages;
use throughline_wire::splice::Fragment;

/// What changed messages look like on the wire, each encoded once, without marks for the cache.
#[derive(Debug, Default)]
pub(crate) struct Written {
    by_message: HashMap<MessageId, (MessageId, Vec<Fragment>)>,
}

impl Written {
    /// The elements for a message.
    pub(crate) fn fragments(&mut self, wire: Wire, message: &Message) -> Vec<Fragment> {
        let content = content_id(None, message);
        if let Some((known, fragments)) = self.by_message.get(&message.id)
            && *known == content
        {
            return fragments.clone();
        }
        let mut values = encode_messages(wire, &[message]);
        match wire {
            Wire::Anthropic => values.iter_mut().for_each(marks::take_away),
            Wire::Responses | Wire::Chat => {}
        }
        let fragments: Vec<Fragment> = values.iter().map(Fragment::from).collect();
        self.by_message.insert(message.id.clone(), (content, fragments.clone()));
        fragments
    }
}
