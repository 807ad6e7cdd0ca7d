//! What a tool of a server answered, as a result for the model.

use super::clean;
use super::limits::{IMAGE_BYTES, IMAGES, OUTPUT_CHARS};
use crate::ToolOutput;
use base64::Engine;
use serde_json::Value;
use throughline_core::{Block, Body, Media, Source};

/// Pictures that providers take.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Reads the answer to a call. What can't be shown is named instead; nothing is dropped in silence.
pub(super) fn read(answer: &Value) -> ToolOutput {
    let Some(fields) = answer.as_object() else {
        return ToolOutput::failed("The server answered with something that is no result.");
    };
    let mut result = Gathered::default();
    for item in fields.get("content").and_then(Value::as_array).into_iter().flatten() {
        result.take(item);
    }
    if let (false, Some(structured)) = (result.has_text, fields.get("structuredContent")) {
        result.text(&structured.to_string());
    }
    let is_error = fields.get("isError").and_then(Value::as_bool).unwrap_or_default();
    ToolOutput { is_error, ..result.finish() }
}

#[derive(Default)]
struct Gathered {
    parts: Vec<Block>,
    chars: usize,
    left_out: usize,
    images: usize,
    has_text: bool,
}

impl Gathered {
    fn take(&mut self, item: &Value) {
        let field = |name: &str| item.get(name).and_then(Value::as_str);
        let mime = field("mimeType").unwrap_or_default();
        match (field("type").unwrap_or_default(), field("text"), field("data")) {
            ("text", Some(text), _) => self.text(text),
            ("image", _, Some(data)) => self.image(mime, data),
            ("audio", _, Some(data)) => {
                self.note(&format!(
                    "[audio, {}, {} bytes encoded: it can't be heard here]",
                    shown(mime),
                    data.len()
                ));
            }
            ("resource", _, _) => self.resource(item.get("resource").unwrap_or(&Value::Null)),
            ("resource_link", _, _) => {
                let words = [field("uri"), field("name"), field("description")].into_iter().flatten();
                let words: Vec<String> = words.map(shown).collect();
                self.note(&format!("[link to a resource: {}]", words.join(", ")));
            }
            (other, _, _) => {
                self.note(&format!("[content of an unknown kind, {:?}, is left out]", shown(other)))
            }
        }
    }

    fn resource(&mut self, resource: &Value) {
        let field = |name: &str| resource.get(name).and_then(Value::as_str);
        let (uri, mime) = (shown(field("uri").unwrap_or_default()), field("mimeType").unwrap_or_default());
        match (field("text"), field("blob")) {
            (Some(text), _) => {
                self.note(&format!("[resource {uri}]"));
                self.text(text);
            }
            (None, Some(blob)) if PICTURES.contains(&mime) => {
                self.note(&format!("[resource {uri}]"));
                self.image(mime, blob);
            }
            (None, Some(blob)) => {
                self.note(&format!(
                    "[resource {uri}, {}, {} bytes encoded: not text]",
                    shown(mime),
                    blob.len()
                ));
            }
            (None, None) => self.note(&format!("[resource {uri}, empty]")),
        }
    }

    /// What the server said.
    fn text(&mut self, text: &str) {
        self.has_text |= !text.is_empty();
        self.push(text);
    }

    /// What we say about something.
    fn note(&mut self, text: &str) {
        self.push(text);
    }

    fn push(&mut self, text: &str) {
        let room = OUTPUT_CHARS - self.chars;
        let cut = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
        let (kept, rest) = text.split_at(cut);
        self.left_out += rest.chars().count();
        self.chars += kept.chars().count();
        if kept.is_empty() {
            return;
        }
        // One text after another is one text.
        match self.parts.last_mut().map(|block| &mut block.body) {
            Some(Body::Text(before)) => {
                before.push('\n');
                before.push_str(kept);
            }
            _ => self.parts.push(Block::text(kept)),
        }
    }

    fn image(&mut self, mime: &str, data: &str) {
        let data: String = data.split_ascii_whitespace().collect();
        let why = if !PICTURES.contains(&mime) {
            "its kind is not one that models see"
        } else if data.len() > IMAGE_BYTES {
            "it is too large"
        } else if self.images >= IMAGES {
            "there are too many"
        } else if data.is_empty() || base64::engine::general_purpose::STANDARD.decode(&data).is_err() {
            "it is not base64"
        } else {
            self.images += 1;
            let source = Source::Base64 { media_type: mime.to_owned(), data };
            self.parts.push(Body::Image(Media { source }).into());
            return;
        };
        self.note(&format!("[image, {}, {} bytes encoded, is left out: {why}]", shown(mime), data.len()));
    }

    fn finish(mut self) -> ToolOutput {
        if self.left_out > 0 {
            let note = format!("\n[cut: {} more characters; ask for less at once]", self.left_out);
            match self.parts.last_mut().map(|block| &mut block.body) {
                Some(Body::Text(text)) => text.push_str(&note),
                _ => self.parts.push(Block::text(note.trim())),
            }
        }
        match self.parts.as_slice() {
            [] => ToolOutput::done("(no output)"),
            [Block { body: Body::Text(text), .. }] => ToolOutput::done(text.clone()),
            _ => ToolOutput::parts(self.parts),
        }
    }
}

fn shown(text: &str) -> String {
    clean::line(text, 200)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use throughline_core::ResultContent;

    fn text(answer: &Value) -> String {
        read(answer).content.to_text().into_owned()
    }

    #[test]
    fn every_kind_of_content_is_shown_or_named() {
        let output = read(&json!({"isError": true, "content": [
            {"type": "text", "text": "one"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "two"}},
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "AAAA", "mimeType": "application/zip"}},
            {"type": "resource_link", "uri": "file:///c", "name": "c"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {"type": "hologram"},
            {"type": "image", "data": "iVBO\nRw0K", "mimeType": "image/png"},
            {"type": "image", "data": "!!", "mimeType": "image/png"},
            {"type": "image", "data": "AAAA", "mimeType": "image/svg+xml"},
            3,
        ]}));
        let ResultContent::Parts(parts) = &output.content else { panic!("{output:?}") };
        assert!(output.is_error);
        assert!(
            matches!(&parts[1].body, Body::Image(Media { source: Source::Base64 { data, .. } }) if data == "iVBORw0K")
        );
        let text = output.content.to_text();
        for words in [
            "one\n[resource file:///a]\ntwo",
            "application/zip",
            "file:///c, c",
            "audio/wav",
            "hologram",
            "not base64",
            "svg",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn structured_content_stands_in_for_missing_text_only() {
        assert_eq!(text(&json!({"structuredContent": {"a": 1}})), "{\"a\":1}");
        assert_eq!(text(&json!({"content": [], "structuredContent": {"a": 1}})), "{\"a\":1}");
        assert_eq!(
            text(&json!({"content": [{"type": "text", "text": "x"}], "structuredContent": {"a": 1}})),
            "x"
        );
        assert_eq!(text(&json!({})), "(no output)");
        assert!(read(&json!("x")).is_error);
    }

    #[test]
    fn long_output_is_cut_over_all_parts_and_says_so() {
        let part = json!({"type": "text", "text": "ä".repeat(60_000)});
        let output = text(&json!({"content": [part, part]}));
        assert!(output.chars().count() < OUTPUT_CHARS + 100);
        assert!(
            output.ends_with("[cut: 20000 more characters; ask for less at once]"),
            "{}",
            &output[output.len() - 100..]
        );
    }

    #[test]
    fn pictures_have_limits() {
        let large = json!({"type": "image", "mimeType": "image/png", "data": "A".repeat(IMAGE_BYTES + 4)});
        assert!(text(&json!({"content": [large]})).contains("too large"));
        let small = json!({"type": "image", "mimeType": "image/png", "data": "AAAA"});
        assert!(text(&json!({"content": vec![small; IMAGES + 1]})).contains("too many"));
    }

    proptest! {
        #[test]
        fn nothing_that_a_server_answers_makes_it_panic(kind in "(text|image|resource|x|)", text in any::<String>(), flag in any::<bool>()) {
            let item = json!({"type": kind, "text": text, "data": text, "mimeType": if flag { "image/png" } else { &text }, "resource": {"uri": text, "blob": text}});
            let _ = read(&json!({"content": [item, text, null], "isError": flag, "structuredContent": text}));
            let _ = read(&json!({"content": text, "isError": text}));
        }
    }
}
