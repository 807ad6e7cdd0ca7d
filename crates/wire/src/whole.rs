//! Messages without an id, and list elements that are kept raw as a whole.

use crate::object::mark;
use serde_json::Value;
use throughline_core::{Block, Body, Flags, Message, MessageId, Role, Wire};

/// A message as decoders make it: its id comes from [`chain`](crate::chain) or from the client's own record.
pub(crate) fn message(role: Role, blocks: Vec<Block>) -> Message {
    Message {
        id: MessageId::new(""),
        parent: None,
        at: None,
        role,
        group: None,
        flags: Flags::default(),
        blocks,
        bare: false,
        shape: None,
    }
}

const WHOLE: (&str, &str) = ("is", "whole");

/// An element of the message list that is no message at all.
pub(crate) fn whole(wire: Wire, raw: Value) -> Message {
    let block = Block { body: Body::Unknown(raw), shape: mark(wire, &[WHOLE]) };
    Message { bare: true, ..message(Role::System, vec![block]) }
}

/// What [`whole`] kept, on the wire it came from.
pub(crate) fn as_whole(wire: Wire, block: &Block) -> Option<&Value> {
    match block {
        Block { body: Body::Unknown(raw), shape: Some(shape) }
            if shape.wire() == wire && shape.get(WHOLE.0).is_some_and(|word| word == WHOLE.1) =>
        {
            Some(raw)
        }
        _ => None,
    }
}
