//! Grep: files by what is in them.

mod answer;
mod search;

use super::file_call::{Args, look};
use super::glob::pattern::Pattern;
use super::glob::walk::{Unread, Walk};
use crate::workspace::Workspace;
use crate::{Access, Tool, ToolContext, ToolOutput};
use answer::Answer;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::types::{Types, TypesBuilder};
use search::{Batch, Search};
use serde_json::{Value, json};
use throughline_core::{ToolDefinition, prompt, text};
use throughline_model::{BoxFuture, CancelToken};

/// What a compiled pattern may take.
const REGEX_BYTES: usize = 10 * 1024 * 1024;
/// How deep its groups may be nested.
const REGEX_DEPTH: u32 = 100;
/// Lines of context, at most.
const CONTEXT: u64 = 500;

/// Searches the content of files with a regular expression.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grep;

impl Tool for Grep {
    fn definition(&self) -> ToolDefinition<'_> {
        ToolDefinition {
            name: "Grep",
            description: prompt(include_str!("../../../../../prompts/tool_grep.md")),
            parameters: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "A regular expression, as ripgrep takes it"},
                    "path": {"type": "string", "description": "The file or folder to search; the working folder if left out"},
                    "glob": {"type": "string", "description": "Only files whose name or path matches, such as `*.rs`, or with `!` in front those that don't"},
                    "type": {"type": "string", "description": "Only files of a type that ripgrep knows, such as rust, js, py"},
                    "output_mode": {
                        "type": "string", "enum": ["files_with_matches", "content", "count"],
                        "description": "Paths, matching lines, or how many lines match in each file; paths if left out"
                    },
                    "-i": {"type": "boolean", "description": "Upper and lower case are the same"},
                    "-n": {"type": "boolean", "description": "With content: show line numbers; true if left out"},
                    "-A": {"type": "integer", "description": "With content: lines to show after each match"},
                    "-B": {"type": "integer", "description": "With content: lines to show before each match"},
                    "-C": {"type": "integer", "description": "With content: lines to show before and after each match"},
                    "multiline": {"type": "boolean", "description": "Matches may span lines, and . matches line ends"},
                    "head_limit": {"type": "integer", "description": "Show at most so many lines"}
                },
                "required": ["pattern"],
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
            let (workspace, cancel) = (cx.workspace.clone(), cx.cancel.clone());
            look(cx.cancel, move || grep(request, &workspace, &cancel)).await
        })
    }

    fn summary(&self, input: &Value) -> String {
        let Ok(args) = Args::of(input) else { return "Grep".to_owned() };
        let mut summary = format!("Grep {:?}", text::one_line(args.text("pattern").unwrap_or_default(), 80));
        for (word, field) in [("in", "path"), ("among", "glob"), ("of type", "type")] {
            if let Ok(Some(value)) = args.optional_text(field) {
                summary.push_str(&format!(" {word} {}", text::one_line(value, 80)));
            }
        }
        summary
    }
}

/// What is shown of matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Files,
    Content,
    Count,
}

struct Request {
    path: String,
    filter: Option<Filter>,
    types: Option<Types>,
    output: Output,
    limit: Option<u64>,
    search: Search,
}

/// Which files of a folder are searched.
struct Filter {
    pattern: Pattern,
    /// Those that match, or those that don't.
    is_wanted: bool,
}

impl Filter {
    fn of(glob: &str) -> Result<Self, String> {
        let (glob, is_wanted) = glob.strip_prefix('!').map_or((glob, true), |rest| (rest, false));
        Ok(Self { pattern: Pattern::new(glob).map_err(|error| format!("`glob`: {error}"))?, is_wanted })
    }
}

impl Request {
    fn of(input: &Value) -> Result<Self, String> {
        let args = Args::of(input)?;
        let output = match args.optional_text("output_mode")? {
            None | Some("files_with_matches") => Output::Files,
            Some("content") => Output::Content,
            Some("count") => Output::Count,
            Some(other) => {
                return Err(format!("`output_mode` is files_with_matches, content or count, not {other:?}"));
            }
        };
        let around = args.number("-C")?.unwrap_or(0);
        let lines = |name: &str| -> Result<usize, String> {
            let lines = args.number(name)?.unwrap_or(around).min(CONTEXT);
            Ok(if output == Output::Content { usize::try_from(lines).unwrap_or(0) } else { 0 })
        };
        let multiline = args.flag("multiline", false)?;
        let search = Search {
            matcher: matcher(args.text("pattern")?, args.flag("-i", false)?, multiline)?,
            multiline,
            before: lines("-B")?,
            after: lines("-A")?,
            numbers: args.flag("-n", true)?,
            output,
        };
        Ok(Self {
            path: args.optional_text("path")?.filter(|path| !path.is_empty()).unwrap_or(".").to_owned(),
            filter: args
                .optional_text("glob")?
                .filter(|glob| !glob.is_empty())
                .map(Filter::of)
                .transpose()?,
            types: args.optional_text("type")?.filter(|name| !name.is_empty()).map(types).transpose()?,
            output,
            limit: args.number("head_limit")?.filter(|limit| *limit > 0),
            search,
        })
    }
}

fn matcher(pattern: &str, ignore_case: bool, multiline: bool) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(ignore_case)
        .multi_line(true)
        .size_limit(REGEX_BYTES)
        .dfa_size_limit(REGEX_BYTES)
        .nest_limit(REGEX_DEPTH)
        .crlf(true);
    if multiline {
        builder.dot_matches_new_line(true).line_terminator(None);
    }
    builder.build(pattern).map_err(|error| {
        let hint = if pattern.contains('\n') || pattern.contains("\\n") {
            "To match line ends, set `multiline`."
        } else {
            "To search for it literally, put a backslash before ( ) [ ] { } . * + ? | ^ $ and \\."
        };
        format!("`pattern` is not a regular expression that can be used: {error}\n{hint}")
    })
}

fn types(name: &str) -> Result<Types, String> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    builder.select(name);
    builder
        .build()
        .map_err(|_| format!("there is no file type {name:?}: use `glob` instead, such as `*.{name}`"))
}

fn grep(request: Request, workspace: &Workspace, cancel: &CancelToken) -> Result<ToolOutput, String> {
    let root = workspace.permitted(&request.path).map_err(|error| error.to_string())?;
    let mut answer = Answer::new(request.output, request.limit);
    let mut batch = Batch::new(&request.search, cancel);
    if !root.is_dir() {
        if !root.exists() {
            let shown = workspace.shown(&root);
            return Err(format!("{shown} does not exist: use Glob to find it, or leave `path` out"));
        }
        // A file that is named is searched whatever it is called.
        batch.add(root);
        batch.search(|found| answer.add(found, workspace))?;
        return Ok(answer.output(Unread::default()));
    }
    let filter = request.filter.as_ref();
    let wanted = filter.filter(|filter| filter.is_wanted).map(|filter| &filter.pattern);
    let walk = Walk {
        root: &root,
        hidden: wanted.is_some_and(Pattern::names_hidden),
        git: wanted.is_some_and(Pattern::names_git),
        types: request.types,
    };
    let unread = walk.files(cancel, |path| {
        let is_wanted = filter.is_none_or(|filter| {
            path.strip_prefix(&root).is_ok_and(|path| filter.pattern.matches(path) == filter.is_wanted)
        });
        if is_wanted && !workspace.passes_over(&path) && batch.add(path) {
            batch.search(|found| answer.add(found, workspace))?;
        }
        Ok(())
    })?;
    batch.search(|found| answer.add(found, workspace))?;
    Ok(answer.output(unread))
}
