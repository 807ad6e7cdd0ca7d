//! What is asked, and how a line of text becomes terms. No query is an error: what can't be meant becomes words.

use crate::analysis::{Kind, LABEL, Lexer, Stemmer, Token, is_question_word, is_stopword};
use jiff::Timestamp;
use throughline_core::{Role, SessionId};

/// A search. Words by default; `"a phrase"` must occur; `-word` (three letters or more, so that `-rf` stays a flag)
/// and `-"a phrase"` must not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// What to look for.
    pub text: String,
    /// Where to look.
    pub filters: Filters,
    /// At most so many hits; 0 stands for 10.
    pub limit: usize,
    /// Also search what clients put in (reminders, instructions, environment); it counts half.
    pub scaffold: bool,
}

impl Query {
    /// Looks for `text` everywhere.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Where to look. What is `None` does not restrict.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filters {
    /// Only this session, by its whole id.
    pub session: Option<SessionId>,
    /// Only sessions that ran in this folder or below it.
    pub project: Option<String>,
    /// Only this speaker.
    pub role: Option<Role>,
    /// Only calls and results of this tool; case does not matter.
    pub tool: Option<String>,
    /// Only calls and results about a file: whole path, its end, or a folder in it.
    pub file: Option<String>,
    /// Only from this moment on.
    pub from: Option<Timestamp>,
    /// Only up to this moment.
    pub to: Option<Timestamp>,
}

impl Filters {
    /// Whether a message's neighbours may fail a filter that the message passed.
    pub(crate) fn tell_neighbours_apart(&self) -> bool {
        let Self { session: _, project: _, role, tool, file, from, to } = self;
        role.is_some() || tool.is_some() || file.is_some() || from.is_some() || to.is_some()
    }
}

/// Terms at given distances from the first.
pub(crate) type Phrase = Vec<(usize, String)>;

/// A term of the query.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Word {
    pub(crate) term: String,
    pub(crate) weight: f32,
}

/// Something that was written as one: counts only where it is written as one again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Compound {
    /// As it stands.
    pub(crate) whole: Option<String>,
    /// Its parts in a row; empty where only the whole counts.
    pub(crate) parts: Phrase,
    pub(crate) weight: f32,
}

/// A query taken apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Parsed {
    pub(crate) words: Vec<Word>,
    pub(crate) compounds: Vec<Compound>,
    pub(crate) required: Vec<Phrase>,
    pub(crate) excluded: Vec<Phrase>,
    /// Names that may label a message.
    pub(crate) labels: Vec<String>,
    pub(crate) is_question: bool,
    pub(crate) asks_when: bool,
}

/// How much the parts of a compound count beside it.
const PART: f32 = 0.25;
/// How much an inner span or an alias counts.
const INNER: f32 = 0.2;

impl Parsed {
    /// Takes a query apart.
    pub(crate) fn new(text: &str, stemmer: &mut Stemmer) -> Self {
        let mut parsed = Self::default();
        let pieces = pieces(text);
        let mut stopwords = Vec::new();
        for piece in &pieces {
            match piece {
                Piece::Words(text) => parsed.add_words(text, stemmer, &mut stopwords),
                Piece::Required(text) => parsed.required.extend(phrase(text, stemmer)),
                Piece::Excluded(text) => parsed.excluded.extend(phrase(text, stemmer)),
            }
        }
        if parsed.has_nothing_to_find() {
            parsed.words = stopwords.into_iter().map(|term| Word { term, weight: 1.0 }).collect();
        }
        if parsed.has_nothing_to_find() {
            // Only exclusions: they are the words then.
            parsed.excluded.clear();
            for piece in pieces {
                if let Piece::Excluded(text) = piece {
                    parsed.add_words(text, stemmer, &mut Vec::new());
                }
            }
        }
        let mut opening = text.split_whitespace().map(|w| w.to_lowercase());
        let first = opening.next().unwrap_or_default();
        parsed.is_question = text.trim_end().ends_with(['?', '？']) || is_question_word(&first);
        parsed.asks_when = first == "when" || (first == "how" && opening.next().as_deref() == Some("long"));
        parsed
    }

    /// Whether nothing is asked for.
    pub(crate) fn has_nothing_to_find(&self) -> bool {
        self.words.is_empty() && self.compounds.is_empty() && self.required.is_empty()
    }

    fn add_words(&mut self, text: &str, stemmer: &mut Stemmer, stopwords: &mut Vec<String>) {
        let mut lexer = Lexer::new(text, stemmer);
        while lexer.next_chunk() {
            let tokens = lexer.tokens();
            let spans = tokens.iter().filter(|t| t.kind == Kind::Span);
            let whole = spans.clone().max_by_key(|t| t.to - t.from).copied();
            if let Some(whole) = whole {
                let parts = in_a_row(&lexer, |kind| kind == Kind::Leaf);
                self.add_compound(Some(lexer.text(&whole)), parts, 1.0);
                for inner in spans.filter(|t| (t.from, t.to) != (whole.from, whole.to)) {
                    self.add_compound(Some(lexer.text(inner)), Phrase::new(), INNER);
                }
            }
            let cjk = tokens.iter().filter(|t| t.kind == Kind::Unigram).count();
            if cjk > 2 {
                self.add_compound(None, in_a_row(&lexer, |kind| kind == Kind::Bigram), 1.0);
            }
            for token in tokens {
                let term = lexer.text(token);
                match token.kind {
                    Kind::Leaf => {
                        let surface = text[token.from..token.to].to_lowercase();
                        if whole.is_some() {
                            self.add_word(term, PART);
                        } else if is_stopword(&surface) {
                            stopwords.push(term.to_owned());
                        } else {
                            self.add_word(term, 1.0);
                            self.add_label(&text[token.from..token.to], &surface);
                        }
                    }
                    Kind::Alias => self.add_word(term, INNER),
                    Kind::Unigram if cjk == 1 => self.add_word(term, 1.0),
                    Kind::Bigram => self.add_word(term, 1.0),
                    Kind::Unigram | Kind::Span | Kind::Mark => {}
                }
            }
        }
    }

    fn add_word(&mut self, term: &str, weight: f32) {
        match self.words.iter_mut().find(|word| word.term == term) {
            Some(known) => known.weight = known.weight.max(weight),
            None => self.words.push(Word { term: term.to_owned(), weight }),
        }
    }

    fn add_compound(&mut self, whole: Option<&str>, parts: Phrase, weight: f32) {
        let compound = Compound { whole: whole.map(str::to_owned), parts, weight };
        if !self.compounds.iter().any(|known| known.whole == compound.whole && known.parts == compound.parts)
        {
            self.compounds.push(compound);
        }
    }

    fn add_label(&mut self, word: &str, lower: &str) {
        let is_name =
            word.chars().next().is_some_and(char::is_uppercase) && word.chars().all(char::is_alphabetic);
        let label = format!("{LABEL}{lower}");
        if is_name && !is_question_word(lower) && !self.labels.contains(&label) {
            self.labels.push(label);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Piece<'a> {
    Words(&'a str),
    Required(&'a str),
    Excluded(&'a str),
}

/// Cuts a query at its quotes and exclusions. A quote without its partner is a character like any other.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut words_from = 0;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let at_word_start = at == 0 || text[..at].ends_with(char::is_whitespace);
        let minus = c == '-' && at_word_start;
        let quote_at = at + usize::from(minus);
        let piece = if text[quote_at..].starts_with('"') {
            text[quote_at + 1..].find('"').map(|len| {
                let inner = &text[quote_at + 1..quote_at + 1 + len];
                (if minus { Piece::Excluded(inner) } else { Piece::Required(inner) }, quote_at + len + 2)
            })
        } else if minus {
            let rest = &text[at + 1..];
            let word = &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())];
            let excludes =
                word.chars().count() >= 3 && word.chars().next().is_some_and(char::is_alphanumeric);
            excludes.then(|| (Piece::Excluded(word), at + 1 + word.len()))
        } else {
            None
        };
        match piece {
            Some((piece, next)) => {
                pieces.push(Piece::Words(&text[words_from..at]));
                pieces.push(piece);
                (at, words_from) = (next, next);
            }
            None => at += c.len_utf8(),
        }
    }
    pieces.push(Piece::Words(&text[words_from..]));
    pieces.retain(|piece| match piece {
        Piece::Words(text) | Piece::Required(text) | Piece::Excluded(text) => !text.trim().is_empty(),
    });
    pieces
}

/// The leaves of a text in a row; `None` where it has none.
fn phrase(text: &str, stemmer: &mut Stemmer) -> Option<Phrase> {
    let mut lexer = Lexer::new(text, stemmer);
    let mut all = Phrase::new();
    while lexer.next_chunk() {
        let single = lexer.tokens().iter().filter(|t| t.kind == Kind::Unigram).count() == 1;
        let cjk = if single { Kind::Unigram } else { Kind::Bigram };
        let wanted = |kind| kind == Kind::Leaf || kind == cjk;
        all.extend(lexer.tokens().iter().filter(|t| wanted(t.kind)).map(|t| at_position(&lexer, t)));
    }
    let first = all.first()?.0;
    all.iter_mut().for_each(|(position, _)| *position -= first);
    Some(all)
}

fn in_a_row(lexer: &Lexer<'_>, wanted: impl Fn(Kind) -> bool) -> Phrase {
    let mut parts: Phrase =
        lexer.tokens().iter().filter(|t| wanted(t.kind)).map(|t| at_position(lexer, t)).collect();
    let first = parts.first().map_or(0, |part| part.0);
    parts.iter_mut().for_each(|(position, _)| *position -= first);
    parts
}

fn at_position(lexer: &Lexer<'_>, token: &Token) -> (usize, String) {
    (token.position, lexer.text(token).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Parsed {
        Parsed::new(text, &mut Stemmer::default())
    }

    fn words(parsed: &Parsed) -> Vec<&str> {
        parsed.words.iter().map(|w| w.term.as_str()).collect()
    }

    #[test]
    fn stopwords_go_unless_there_is_nothing_else() {
        assert_eq!(words(&parse("where is the parser")), ["parser"]);
        assert_eq!(words(&parse("to be or")), ["to", "be", "or"]);
    }

    #[test]
    fn quotes_require_and_minus_excludes_but_flags_stay_words() {
        let parsed = parse(r#"cargo "borrow checker" -tokio -"old api""#);
        assert_eq!(words(&parsed), ["cargo"]);
        assert_eq!(parsed.required, [vec![(0, "borrow".to_owned()), (1, "checker".to_owned())]]);
        assert_eq!(parsed.excluded.len(), 2);
        let flags = parse("rm -rf --force");
        assert_eq!(words(&flags), ["rm", "rf", "forc"]);
        assert!(flags.excluded.is_empty());
    }

    #[test]
    fn bad_queries_become_words() {
        assert_eq!(words(&parse(r#""unclosed phrase"#)), ["unclos", "phrase"]);
        assert_eq!(words(&parse("-alone")), ["alon"]);
        assert!(parse("").has_nothing_to_find());
        assert!(parse("\"\" -\"\" ()[]{}").has_nothing_to_find());
    }

    #[test]
    fn compounds_are_known_as_a_whole_and_in_a_row() {
        let parsed = parse("self.parse_config");
        assert_eq!(parsed.compounds[0].whole.as_deref(), Some("self.parse_config"));
        assert_eq!(parsed.compounds[0].parts.len(), 3);
        assert_eq!(parsed.compounds[1].whole.as_deref(), Some("parse_config"));
    }

    #[test]
    fn questions_are_recognised() {
        let parsed = parse("When did Ann's test break?");
        assert!(parsed.is_question && parsed.asks_when);
        assert_eq!(parsed.labels, ["@ann"]);
    }

    proptest! {
        #[test]
        fn any_query_can_be_taken_apart(text in "[\\PC\" -]{0,80}") {
            let _ = parse(&text);
        }
    }
}
