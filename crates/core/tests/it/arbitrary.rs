//! Arbitrary messages: small alphabets, so that ids collide and pairs split as often as they can.

use proptest::prelude::*;
use serde_json::json;
use throughline_core::{
    Block, Body, CallKind, Flags, Media, Message, ResultContent, Role, Source, ToolCall, ToolInput,
    ToolResult,
};

pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z 日本語é\\n\"\\\\]{1,12}",
        1 => Just(String::new()),
        1 => Just("<system-reminder>\nx\n</system-reminder>".to_owned()),
        1 => Just("[id:abc123]".to_owned()),
    ]
}

fn call_id() -> impl Strategy<Value = String> {
    "call_[a-c]"
}

fn kind() -> impl Strategy<Value = CallKind> {
    prop_oneof![
        6 => Just(CallKind::Function),
        1 => Just(CallKind::Custom),
        1 => Just(CallKind::Hosted),
    ]
}

pub(crate) fn leaf() -> impl Strategy<Value = Block> {
    prop_oneof![
        text().prop_map(Block::text),
        "[A-Za-z0-9+/]{4}".prop_map(|data| {
            Body::Image(Media { source: Source::Base64 { media_type: "image/png".into(), data } }).into()
        }),
        Just(Body::Unknown(json!({"type": "tool_reference", "tool_name": "x"})).into()),
    ]
}

pub(crate) fn block() -> impl Strategy<Value = Block> {
    let result =
        (call_id(), proptest::collection::vec(leaf(), 0..3), text(), any::<bool>(), any::<Option<bool>>())
            .prop_map(|(call, parts, text, plain, is_error)| {
                let content = if plain { ResultContent::Text(text) } else { ResultContent::Parts(parts) };
                Body::ToolResult(ToolResult {
                    call: call.into(),
                    kind: CallKind::Function,
                    content,
                    is_error,
                })
                .into()
            });
    let call = (call_id(), kind(), text()).prop_map(|(id, kind, text)| {
        let input = match kind {
            CallKind::Custom => ToolInput::Text(text),
            CallKind::Hosted => ToolInput::JsonText("{\"q\": 1}".into()),
            CallKind::Function | CallKind::LocalShell | CallKind::ToolSearch => {
                ToolInput::Json(json!({"z": text, "a": [1, null]}))
            }
        };
        Body::ToolCall(ToolCall { id: id.into(), name: "Bash".into(), input, kind }).into()
    });
    prop_oneof![
        3 => leaf(),
        2 => call,
        2 => result,
        1 => (text(), any::<Option<u8>>()).prop_map(|(text, seal)| {
            Body::Reasoning { text, seal: seal.map(|s| s.to_string()) }.into()
        }),
    ]
}

pub(crate) fn message() -> impl Strategy<Value = Message> {
    let role = prop_oneof![
        3 => Just(Role::User), 4 => Just(Role::Assistant), 1 => Just(Role::System), 1 => Just(Role::Developer),
        2 => Just(Role::Tool)
    ];
    let group = prop_oneof![2 => Just(None), 1 => "g[0-2]".prop_map(Some)];
    (role, proptest::collection::vec(block(), 0..4), group, any::<(bool, bool)>()).prop_map(
        |(role, blocks, group, (meta, bare))| {
            let mut message = Message::new(role, blocks);
            message.group = group.filter(|_| role == Role::Assistant).map(Into::into);
            message.flags = Flags { meta, ..Flags::default() };
            message.bare = bare;
            message
        },
    )
}

pub(crate) fn conversation() -> impl Strategy<Value = Vec<Message>> {
    proptest::collection::vec(message(), 0..12).prop_map(|mut messages| {
        for (n, message) in messages.iter_mut().enumerate() {
            message.id = format!("m{n}").into();
        }
        messages
    })
}
