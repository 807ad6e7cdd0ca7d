//! Whole blocks, as lines.

use super::table::Table;
use super::{code_bottom, code_line, code_top};
use crate::terminal::Look;
use crate::terminal::clean::clean;
use crate::terminal::style::{Colour, Line, Span, Style};
use crate::terminal::wrap::wrap;
use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// The lines of some blocks. Nothing of the text is left out: what Markdown would not show (definitions of links) is shown as it is.
pub(super) fn render(text: &str, look: Look) -> Vec<Line> {
    let text = clean(text);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let parser = Parser::new_ext(&text, options);
    let mut definitions: Vec<(usize, String)> = parser
        .reference_definitions()
        .iter()
        .map(|(name, definition)| (definition.span.start, format!("[{name}]: {}", definition.dest)))
        .collect();
    definitions.sort();
    let mut renderer = Renderer::new(look);
    for event in parser {
        renderer.take(event);
    }
    renderer.flush();
    for (_, definition) in definitions {
        renderer.spans.push(Span::dim(definition));
        renderer.flush();
    }
    renderer.lines
}

/// What a line may be inside of.
enum Holder {
    Quote,
    /// The number of the next item; `None`: no numbers.
    List(Option<u64>),
    /// Its marker, until it is drawn, and the marker's width.
    Item(Option<Line>, usize),
}

/// What kind of text the inline pieces that come now belong to.
enum Collecting {
    Text,
    /// Code; its language, its text.
    Code(String, String),
    Table(Box<Table>),
}

struct Renderer {
    look: Look,
    lines: Vec<Line>,
    holders: Vec<Holder>,
    collecting: Collecting,
    spans: Vec<Span>,
    /// The styles that are open, outermost first.
    styles: Vec<Style>,
    /// Where the links that are open lead, and where their text begins.
    links: Vec<(String, usize)>,
    /// An empty line comes before the next one.
    gap: bool,
    /// A list inside an item has just ended: whether the next item comes behind an empty line. Other text of the item does.
    gap_of_item: Option<bool>,
}

impl Renderer {
    fn new(look: Look) -> Self {
        Self {
            look,
            lines: Vec::new(),
            holders: Vec::new(),
            collecting: Collecting::Text,
            spans: Vec::new(),
            styles: Vec::new(),
            links: Vec::new(),
            gap: false,
            gap_of_item: None,
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => self.code(&text),
            Event::Html(text) | Event::InlineHtml(text) => self.spans.push(Span::dim(&text)),
            Event::SoftBreak => self.spans.push(Span::plain(" ")),
            Event::HardBreak => self.spans.push(Span::plain("\n")),
            Event::Rule => {
                let width = self.room();
                self.draw(vec![Line::from(Span::dim("─".repeat(width)))]);
                self.gap = true;
            }
            Event::TaskListMarker(done) => {
                self.spans.push(Span::plain(if done { "[x] " } else { "[ ] " }));
            }
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.flush();
                self.styles.push(heading_style(level));
                if !self.look.colour {
                    self.spans.push(Span::plain(format!("{} ", "#".repeat(depth(level)))));
                }
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.holders.push(Holder::Quote);
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.collecting = Collecting::Code(language, String::new());
            }
            Tag::List(start) => {
                self.flush_tight();
                self.holders.push(Holder::List(start));
            }
            Tag::Item => {
                let depth = self.holders.iter().filter(|holder| matches!(holder, Holder::List(_))).count();
                let marker = match self.holders.last_mut() {
                    Some(Holder::List(Some(number))) => {
                        let marker = format!("{number}. ");
                        *number += 1;
                        marker
                    }
                    _ => ["• ", "◦ ", "▪ "][depth.saturating_sub(1) % 3].to_owned(),
                };
                let marker = Line::from(Span::new(marker, Style::colour(Colour::Cyan)));
                let width = marker.width();
                self.holders.push(Holder::Item(Some(marker), width));
            }
            Tag::Table(alignments) => {
                self.flush();
                self.collecting = Collecting::Table(Box::new(Table::new(alignments)));
            }
            Tag::Emphasis => self.open(Style { italic: true, ..Style::PLAIN }, "_"),
            Tag::Strong => self.open(Style::BOLD, "**"),
            Tag::Strikethrough => self.open(Style { strike: true, ..Style::PLAIN }, "~~"),
            Tag::Link { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.spans.len()));
                self.styles.push(Style { underline: true, colour: Some(Colour::Blue), ..Style::PLAIN });
            }
            Tag::Image { dest_url, .. } => {
                self.spans.push(Span::dim("image: "));
                self.links.push((dest_url.into_string(), self.spans.len()));
            }
            Tag::HtmlBlock => self.flush(),
            Tag::Paragraph
            | Tag::TableHead
            | Tag::TableRow
            | Tag::TableCell
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.flush();
            }
            TagEnd::BlockQuote(_) => {
                self.flush_tight();
                self.holders.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.holders.pop();
                self.gap_of_item = Some(self.gap);
                self.gap = true;
            }
            TagEnd::Item => {
                self.flush_tight();
                // An item without text has a marker all the same.
                if let Some(Holder::Item(Some(_), _)) = self.holders.last() {
                    self.draw(vec![Line::new()]);
                }
                if let Some(gap) = self.gap_of_item.take() {
                    self.gap = gap;
                }
                self.holders.pop();
            }
            TagEnd::Table => {
                if let Collecting::Table(table) = std::mem::replace(&mut self.collecting, Collecting::Text) {
                    let lines = table.draw(self.room());
                    self.draw(lines);
                    self.gap = true;
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Collecting::Table(table) = &mut self.collecting {
                    table.end_row();
                }
            }
            TagEnd::TableCell => {
                let cell: Line = std::mem::take(&mut self.spans).into_iter().collect();
                if let Collecting::Table(table) = &mut self.collecting {
                    table.add(cell);
                }
            }
            TagEnd::Emphasis => self.close("_"),
            TagEnd::Strong => self.close("**"),
            TagEnd::Strikethrough => self.close("~~"),
            TagEnd::Link => {
                self.styles.pop();
                self.end_link();
            }
            TagEnd::Image => self.end_link(),
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn text(&mut self, text: &CowStr<'_>) {
        if let Collecting::Code(_, code) = &mut self.collecting {
            code.push_str(text);
            return;
        }
        self.spans.push(Span::new(text, self.style()));
    }

    fn code(&mut self, text: &CowStr<'_>) {
        let style = Style { colour: Some(Colour::Cyan), ..self.style() };
        if self.look.colour {
            self.spans.push(Span::new(text, style));
        } else {
            let marks = if text.contains('`') { "``" } else { "`" };
            self.spans.push(Span::plain(format!("{marks}{text}{marks}")));
        }
    }

    /// Without colour the marks themselves say it.
    fn open(&mut self, style: Style, mark: &str) {
        self.styles.push(style);
        if !self.look.colour {
            self.spans.push(Span::plain(mark));
        }
    }

    fn close(&mut self, mark: &str) {
        self.styles.pop();
        if !self.look.colour {
            self.spans.push(Span::plain(mark));
        }
    }

    /// The address behind the text of a link, unless the text is the address.
    fn end_link(&mut self) {
        let Some((address, from)) = self.links.pop() else { return };
        let text: String = self.spans.get(from..).unwrap_or_default().iter().map(Span::text).collect();
        let is_said = text == address || address.strip_prefix("mailto:") == Some(&text);
        if !is_said && !address.is_empty() {
            self.spans.push(Span::dim(format!(" ({address})")));
        }
    }

    fn end_code(&mut self) {
        let Collecting::Code(language, code) = std::mem::replace(&mut self.collecting, Collecting::Text)
        else {
            return;
        };
        let width = self.room();
        let mut lines = vec![code_top(&language, width)];
        lines.extend(code.lines().flat_map(|line| code_line(line, width)));
        lines.push(code_bottom());
        self.draw(lines);
        self.gap = true;
    }

    fn style(&self) -> Style {
        self.styles.iter().fold(Style::PLAIN, |all, style| Style {
            colour: style.colour.or(all.colour),
            bold: all.bold | style.bold,
            dim: all.dim | style.dim,
            italic: all.italic | style.italic,
            underline: all.underline | style.underline,
            strike: all.strike | style.strike,
            reverse: all.reverse | style.reverse,
        })
    }

    /// Draws the text that was collected, as a paragraph: an empty line follows.
    fn flush(&mut self) {
        if self.draw_text() {
            self.gap = true;
        }
    }

    /// Draws the text that was collected, as the text of a list's item: the next line follows at once.
    fn flush_tight(&mut self) {
        self.draw_text();
    }

    fn draw_text(&mut self) -> bool {
        if self.spans.is_empty() {
            return false;
        }
        let text: Line = std::mem::take(&mut self.spans).into_iter().collect();
        let mut lines = wrap(&text, self.room());
        // HTML comes with the line end of its last line.
        while lines.len() > 1 && lines.last().is_some_and(|line| line.spans().is_empty()) {
            lines.pop();
        }
        self.draw(lines);
        true
    }

    /// Columns that the holders leave.
    fn room(&self) -> usize {
        self.look.width.saturating_sub(self.margin(self.holders.len()).width()).max(1)
    }

    /// What comes before each line inside the first `count` holders. It takes at most half of the width.
    fn margin(&self, count: usize) -> Line {
        let mut margin = Line::new();
        let mut used = 0;
        for holder in &self.holders[..count] {
            let span = match holder {
                Holder::Quote => Span::dim("│ "),
                Holder::List(_) => continue,
                Holder::Item(_, width) => Span::plain(" ".repeat(*width)),
            };
            used += span.width();
            if used > self.look.width / 2 {
                break;
            }
            margin.push(span);
        }
        margin
    }

    fn draw(&mut self, lines: Vec<Line>) {
        self.gap_of_item = None;
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() {
            let is_new = |holder: &Holder| matches!(holder, Holder::Item(Some(_), _));
            let old = self.holders.iter().position(is_new).unwrap_or(self.holders.len());
            self.lines.push(self.margin(old));
        }
        for line in lines {
            let mut whole = self.first_margin();
            whole.extend(&line);
            self.lines.push(whole);
        }
    }

    /// The margin with the markers that were not drawn yet.
    fn first_margin(&mut self) -> Line {
        let plain = self.margin(self.holders.len());
        let mut marked = Line::new();
        let mut has_marker = false;
        let limit = plain.width();
        for holder in &mut self.holders {
            let span = match holder {
                Holder::Quote => Line::from(Span::dim("│ ")),
                Holder::List(_) => continue,
                Holder::Item(marker, width) => match marker.take() {
                    Some(marker) => {
                        has_marker = true;
                        marker
                    }
                    None => Line::from(Span::plain(" ".repeat(*width))),
                },
            };
            if marked.width() + span.width() <= limit {
                marked.extend(&span);
            }
        }
        if has_marker { marked } else { plain }
    }
}

fn depth(level: HeadingLevel) -> usize {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

fn heading_style(level: HeadingLevel) -> Style {
    match depth(level) {
        1 => Style { underline: true, ..Style::BOLD },
        2 => Style::BOLD,
        _ => Style { italic: true, ..Style::BOLD },
    }
}
