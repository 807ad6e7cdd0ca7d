//! What messages are made of.

use crate::{CallId, Shape};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// One block of a message: what it says, and how it looked on the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// What the block says.
    pub body: Body,
    /// How it looked, where that differs from our canonical form.
    pub shape: Option<Shape>,
}

/// The kinds of block. Matches over it are exhaustive everywhere: a new kind must be decided in each place.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Words.
    Text(String),
    /// A model's reasoning.
    Reasoning {
        /// The legible part; may be empty.
        text: String,
        /// What proves or hides the rest (a signature, an encrypted payload); replayed verbatim or not at all.
        seal: Option<String>,
    },
    /// A tool call.
    ToolCall(ToolCall),
    /// A tool's answer.
    ToolResult(ToolResult),
    /// A picture.
    Image(Media),
    /// A document such as a PDF.
    Document(Media),
    /// Anything else, raw and in place.
    Unknown(Value),
}

/// A request by the model to run a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Names the call; its result carries the same id.
    pub id: CallId,
    /// The tool.
    pub name: String,
    /// The arguments, in the form the provider uses.
    pub input: ToolInput,
    /// Which protocol item this is.
    pub kind: CallKind,
}

/// Arguments of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolInput {
    /// A JSON value.
    Json(Value),
    /// JSON inside a string, kept to the letter.
    JsonText(String),
    /// Free text.
    Text(String),
}

impl ToolInput {
    /// The arguments as a JSON value, where they are one.
    pub fn to_json(&self) -> Option<Value> {
        match self {
            Self::Json(value) => Some(value.clone()),
            Self::JsonText(text) => serde_json::from_str(text).ok(),
            Self::Text(_) => None,
        }
    }

    /// The arguments as text, for counting and searching.
    pub fn to_text(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Self::Json(value) => value.to_string().into(),
            Self::JsonText(text) | Self::Text(text) => text.as_str().into(),
        }
    }
}

/// Which protocol item a call or its result is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// An ordinary function or tool.
    #[default]
    Function,
    /// A tool that takes free text.
    Custom,
    /// The Responses API's built-in shell.
    LocalShell,
    /// A search among deferred tools, answered by the client.
    ToolSearch,
    /// Run by the provider, which also answers it.
    Hosted,
}

impl CallKind {
    /// Whether the client must answer the call with a result.
    pub fn needs_result(self) -> bool {
        match self {
            Self::Function | Self::Custom | Self::LocalShell | Self::ToolSearch => true,
            Self::Hosted => false,
        }
    }

    fn is_function(&self) -> bool {
        *self == Self::Function
    }
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The call this answers.
    pub call: CallId,
    /// Which protocol item this is.
    pub kind: CallKind,
    /// The answer.
    pub content: ResultContent,
    /// Whether the tool failed, where the client said so.
    pub is_error: Option<bool>,
}

/// Tools answer with a string or with content items, and both forms matter on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ResultContent {
    /// A plain string.
    Text(String),
    /// Content items: text, images, references.
    Parts(Vec<Block>),
}

impl ResultContent {
    /// All legible text of the answer, parts joined by newlines.
    pub fn to_text(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Parts(parts) => match parts.as_slice() {
                [Block { body: Body::Text(text), .. }] => text.as_str().into(),
                parts => {
                    let texts: Vec<_> = parts.iter().map(Block::to_text).filter(|t| !t.is_empty()).collect();
                    texts.join("\n").into()
                }
            },
        }
    }
}

/// A picture or a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Media {
    /// Where its bytes are.
    pub source: Source,
}

/// Where the bytes of a picture or document are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// In the message, base64-encoded.
    Base64 {
        /// MIME type.
        media_type: String,
        /// The encoded bytes; the ledger keeps them as a blob, once.
        data: String,
    },
    /// At an address.
    Url(String),
    /// In the provider's file store.
    File(String),
    /// Some other form, raw.
    Other(Value),
}

impl Block {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Body::Text(text.into()).into()
    }

    /// Whether the provider would reject the block for holding nothing.
    pub fn is_empty(&self) -> bool {
        match &self.body {
            Body::Text(text) => text.is_empty(),
            Body::Reasoning { text, seal } => text.is_empty() && seal.is_none(),
            Body::ToolCall(_)
            | Body::ToolResult(_)
            | Body::Image(_)
            | Body::Document(_)
            | Body::Unknown(_) => false,
        }
    }

    /// The legible text, for search, display and counting. Pictures and sealed payloads have none.
    pub fn to_text(&self) -> std::borrow::Cow<'_, str> {
        match &self.body {
            Body::Text(text) | Body::Reasoning { text, .. } => text.as_str().into(),
            Body::ToolCall(call) => call.input.to_text(),
            Body::ToolResult(result) => result.content.to_text(),
            Body::Image(_) | Body::Document(_) => "".into(),
            Body::Unknown(value) => value.to_string().into(),
        }
    }
}

impl From<Body> for Block {
    fn from(body: Body) -> Self {
        Self { body, shape: None }
    }
}

impl ToolResult {
    /// A result in plain text.
    pub fn text(call: CallId, text: impl Into<String>) -> Self {
        Self { call, kind: CallKind::Function, content: ResultContent::Text(text.into()), is_error: None }
    }
}

// On disk a block is one flat object: `{"type":"tool_call","id":…,"name":…,"input":…}`. A flat struct with
// optional fields parses in one pass; serde's tagged enums would buffer every payload first.

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Tag {
    Text,
    Reasoning,
    ToolCall,
    ToolResult,
    Image,
    Document,
    Unknown,
}

#[derive(Serialize)]
struct BlockOut<'a> {
    r#type: Tag,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a CallId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "CallKind::is_function")]
    call_kind: CallKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a ToolInput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a ResultContent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a Source>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<&'a Shape>,
}

#[derive(Deserialize)]
struct BlockIn {
    r#type: Tag,
    id: Option<CallId>,
    name: Option<String>,
    #[serde(default)]
    call_kind: CallKind,
    text: Option<String>,
    seal: Option<String>,
    input: Option<ToolInput>,
    content: Option<ResultContent>,
    is_error: Option<bool>,
    source: Option<Source>,
    // `Some(Null)` is a value here, not an absence.
    #[serde(default, deserialize_with = "present")]
    raw: Option<Value>,
    shape: Option<Shape>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = BlockOut {
            r#type: Tag::Text,
            id: None,
            name: None,
            call_kind: CallKind::Function,
            text: None,
            seal: None,
            input: None,
            content: None,
            is_error: None,
            source: None,
            raw: None,
            shape: self.shape.as_ref(),
        };
        match &self.body {
            Body::Text(text) => out.text = Some(text),
            Body::Reasoning { text, seal } => {
                out.r#type = Tag::Reasoning;
                out.text = Some(text);
                out.seal = seal.as_deref();
            }
            Body::ToolCall(call) => {
                out.r#type = Tag::ToolCall;
                out.id = Some(&call.id);
                out.name = Some(&call.name);
                out.call_kind = call.kind;
                out.input = Some(&call.input);
            }
            Body::ToolResult(result) => {
                out.r#type = Tag::ToolResult;
                out.id = Some(&result.call);
                out.call_kind = result.kind;
                out.content = Some(&result.content);
                out.is_error = result.is_error;
            }
            Body::Image(media) => {
                out.r#type = Tag::Image;
                out.source = Some(&media.source);
            }
            Body::Document(media) => {
                out.r#type = Tag::Document;
                out.source = Some(&media.source);
            }
            Body::Unknown(raw) => {
                out.r#type = Tag::Unknown;
                out.raw = Some(raw);
            }
        }
        out.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let b = BlockIn::deserialize(deserializer)?;
        let body = match b.r#type {
            Tag::Text => Body::Text(b.text.ok_or_else(|| D::Error::missing_field("text"))?),
            Tag::Reasoning => Body::Reasoning { text: b.text.unwrap_or_default(), seal: b.seal },
            Tag::ToolCall => Body::ToolCall(ToolCall {
                id: b.id.ok_or_else(|| D::Error::missing_field("id"))?,
                name: b.name.unwrap_or_default(),
                input: b.input.ok_or_else(|| D::Error::missing_field("input"))?,
                kind: b.call_kind,
            }),
            Tag::ToolResult => Body::ToolResult(ToolResult {
                call: b.id.ok_or_else(|| D::Error::missing_field("id"))?,
                kind: b.call_kind,
                content: b.content.ok_or_else(|| D::Error::missing_field("content"))?,
                is_error: b.is_error,
            }),
            Tag::Image => {
                Body::Image(Media { source: b.source.ok_or_else(|| D::Error::missing_field("source"))? })
            }
            Tag::Document => {
                Body::Document(Media { source: b.source.ok_or_else(|| D::Error::missing_field("source"))? })
            }
            Tag::Unknown => Body::Unknown(b.raw.ok_or_else(|| D::Error::missing_field("raw"))?),
        };
        Ok(Self { body, shape: b.shape })
    }
}
