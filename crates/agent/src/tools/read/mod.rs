//! Read: a file, or a part of it.

mod binary;
mod missing;
mod page;

use super::file_call::{Args, counted, look};
use crate::files::text::{Text, looks_binary};
use crate::files::{Files, MAX_FILE, Part, Stamp};
use crate::workspace::{OpenError, Workspace, open_read, read_whole};
use crate::{Access, Shown, Tool, ToolContext, ToolOutput};
use base64::Engine as _;
use page::{Page, Range};
use serde_json::{Value, json};
use std::path::Path;
use throughline_core::{Block, Body, Media, Source, ToolDefinition, prompt, text};
use throughline_model::{BoxFuture, CancelToken};

/// What providers take of a picture, as it is sent.
const MAX_ENCODED: usize = 5 * 1024 * 1024;

/// Reads files: text by lines, and pictures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Read;

impl Tool for Read {
    fn definition(&self) -> ToolDefinition<'_> {
        ToolDefinition {
            name: "Read",
            description: prompt(include_str!("../../../../../prompts/tool_read.md")),
            parameters: json!({
                "type": "object",
                "properties": {
                    "file_path": {"type": "string", "description": "The file, absolute or relative to the working folder"},
                    "offset": {"type": "integer", "minimum": 1, "description": "The first line to read; 1 if left out"},
                    "limit": {"type": "integer", "minimum": 1, "description": "How many lines; 2000 if left out"}
                },
                "required": ["file_path"],
                "additionalProperties": false
            }),
        }
    }

    fn access(&self, input: &Value, workspace: &Workspace) -> Result<Access, String> {
        let request = Request::of(input)?;
        let path = workspace.resolve(&request.path).map_err(|error| error.to_string())?;
        Ok(Access::Read { paths: vec![path] })
    }

    fn run<'a>(&'a self, input: &'a Value, cx: ToolContext<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let request = match Request::of(input) {
                Ok(request) => request,
                Err(reason) => return ToolOutput::failed(reason),
            };
            let (workspace, files, cancel) = (cx.workspace.clone(), cx.files.clone(), cx.cancel.clone());
            look(cx.cancel, move || read(&request, &workspace, &files, &cancel)).await
        })
    }

    fn summary(&self, input: &Value) -> String {
        let Ok(request) = Request::of(input) else { return "Read".to_owned() };
        let path = text::one_line(&request.path, 80);
        match (request.range.is_default(), request.range.last()) {
            (true, _) => format!("Read {path}"),
            (false, last) => format!("Read {path} (lines {}–{last})", request.range.offset),
        }
    }
}

struct Request {
    path: String,
    range: Range,
}

impl Request {
    fn of(input: &Value) -> Result<Self, String> {
        let args = Args::of(input)?;
        let range = Range::new(args.number("offset")?, args.number("limit")?);
        Ok(Self { path: args.text("file_path")?.to_owned(), range })
    }
}

fn read(
    request: &Request,
    workspace: &Workspace,
    files: &Files,
    cancel: &CancelToken,
) -> Result<ToolOutput, String> {
    let path = workspace.permitted(&request.path).map_err(|error| error.to_string())?;
    let shown = workspace.shown(&path);
    if let Some(saved) = workspace.saved(&path) {
        return read_saved(&path, request.range, saved.page_bytes, &shown);
    }
    match read_whole(&path, MAX_FILE) {
        Ok((bytes, _)) => {
            let output = whole(&bytes, &request.range, &shown)?;
            files.saw(&path, &bytes, output.1);
            Ok(output.0)
        }
        Err(OpenError::TooLarge { .. }) => large(&path, request, cancel).map(|(page, stamp)| {
            files.saw_large(&path, stamp, page.part());
            page.output(None)
        }),
        Err(OpenError::Missing { .. }) => Err(missing::message(workspace, &request.path, &path)),
        Err(OpenError::Folder { .. }) => Err(format!(
            "{shown} is a folder: use Glob with `path` set to it and `pattern` `*` to see what is in it"
        )),
        Err(error) => Err(error.to_string()),
    }
}

/// A page of what the session saved for the model to read back. It is nothing that the model can change, so that it does not
/// count as read.
fn read_saved(path: &Path, range: Range, page_bytes: usize, shown: &str) -> Result<ToolOutput, String> {
    let (bytes, _) = read_whole(path, MAX_FILE).map_err(|error| error.to_string())?;
    let page = Page::of_saved(&String::from_utf8_lossy(&bytes), range, page_bytes);
    match page.is_empty() {
        true => Err(beyond(&page, range, shown)),
        false => Ok(page.output(None)),
    }
}

fn beyond(page: &Page, range: Range, shown: &str) -> String {
    let lines = counted(page.total(), "line", "lines");
    format!("{shown} has {lines}: `offset` {} is behind its end", range.offset)
}

/// The answer for a file whose bytes are all there, and how much of it that shows.
fn whole(bytes: &[u8], range: &Range, shown: &str) -> Result<(ToolOutput, Part), String> {
    if let Some(media_type) = binary::picture(bytes) {
        return Ok((picture(bytes, media_type, shown)?, Part::Whole));
    }
    let Some(Text { text, encoding }) = Text::decode(bytes) else {
        return Err(binary::refusal(bytes, bytes.len() as u64, shown));
    };
    if text.is_empty() {
        let line = Shown::Line("empty".to_owned());
        return Ok((ToolOutput::done(format!("({shown} is empty)")).shown(line), Part::Whole));
    }
    let page = Page::of(&text, *range);
    if page.is_empty() {
        return Err(beyond(&page, *range, shown));
    }
    let part = page.part();
    Ok((page.output(encoding.note()), part))
}

fn picture(bytes: &[u8], media_type: &str, shown: &str) -> Result<ToolOutput, String> {
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    let size = bytes.len();
    if data.len() > MAX_ENCODED {
        return Err(format!(
            "{shown} is a picture ({media_type}) of {size} bytes, and at most {} can be sent: make a smaller copy with Bash",
            MAX_ENCODED / 4 * 3
        ));
    }
    let source = Source::Base64 { media_type: media_type.to_owned(), data };
    let words = format!("{shown}: {media_type}, {size} bytes");
    Ok(ToolOutput::parts(vec![Block::text(&words), Body::Image(Media { source }).into()])
        .shown(Shown::Line(words)))
}

/// A page of a file that is not read whole: no further than the page goes.
fn large(path: &Path, request: &Request, cancel: &CancelToken) -> Result<(Page, Stamp), String> {
    let opened = open_read(path).map_err(|error| error.to_string())?;
    let stamp = Stamp { len: opened.len, modified: opened.modified };
    let mut start = Vec::new();
    let page = page::stream(opened.file, request.range, |chunk| {
        if start.len() < 8192 {
            start.extend_from_slice(&chunk[..chunk.len().min(8192)]);
        }
        if cancel.is_cancelled() { Err("stopped".to_owned()) } else { Ok(()) }
    })?;
    if looks_binary(&start) {
        return Err(binary::refusal(&start, opened.len, &request.path));
    }
    if page.is_empty() {
        return Err(format!("`offset` {} is behind the end of {}", request.range.offset, request.path));
    }
    Ok((page, stamp))
}

/// A picture as a block of a message; `None` if it is none that models can see.
pub fn image_block(bytes: &[u8]) -> Option<Block> {
    let media_type = binary::picture(bytes)?.to_owned();
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    Some(Body::Image(Media { source: Source::Base64 { media_type, data } }).into())
}
