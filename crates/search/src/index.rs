//! The index on disk: its schema, how a message is put in, and how far each ledger is in it.

use crate::analysis::{PathTokenizer, TextTokenizer};
use crate::doc::Doc;
use crate::error::SearchError;
use crate::snapshot::Snapshot;
use std::path::Path;
use std::sync::Arc;
use tantivy::index::SegmentId;
use tantivy::merge_policy::NoMergePolicy;
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{RAW_TOKENIZER_NAME, TextAnalyzer};
use tantivy::{
    DocSet, IndexReader, IndexWriter, ReloadPolicy, SegmentMeta, TERMINATED, TantivyDocument, Term,
};
use throughline_core::{MessageId, Role};

const TEXT: &str = "throughline_text";
const STEPS: &str = "throughline_path";

/// Memory that indexing may use, over all threads.
const MEMORY: usize = 64 << 20;

/// The fields of a document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    /// What was said.
    pub(crate) body: Field,
    /// What the client put in.
    pub(crate) scaffold: Field,
    pub(crate) session: Field,
    /// The ledger's relative path.
    pub(crate) path: Field,
    /// Tells whether a ledger still has the message where it was, see [`check`].
    pub(crate) check: Field,
    /// The folder and each one above it.
    pub(crate) project: Field,
    pub(crate) cwd: Field,
    pub(crate) role: Field,
    /// Tools in lower case, to be found by.
    pub(crate) tool: Field,
    /// The first tool as it is called.
    pub(crate) tool_name: Field,
    pub(crate) file: Field,
    /// Milliseconds since 1970.
    pub(crate) at: Field,
    /// Session and ordinal in one number, see [`place`].
    pub(crate) place: Field,
    pub(crate) offset: Field,
    pub(crate) end: Field,
}

/// Names of the columns that are read by name.
pub(crate) mod column {
    pub(crate) const SESSION: &str = "session";
    pub(crate) const PATH: &str = "path";
    pub(crate) const CWD: &str = "cwd";
    pub(crate) const TOOL_NAME: &str = "tool_name";
    pub(crate) const AT: &str = "at";
    pub(crate) const PLACE: &str = "place";
    pub(crate) const OFFSET: &str = "offset";
    pub(crate) const END: &str = "end";
    pub(crate) const CHECK: &str = "check";
}

fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let text = |tokenizer: &str| {
        TextOptions::default().set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer(tokenizer)
                .set_index_option(IndexRecordOption::WithFreqsAndPositions),
        )
    };
    let column_only = TextOptions::default().set_fast(RAW_TOKENIZER_NAME);
    let fields = Fields {
        body: schema.add_text_field("body", text(TEXT)),
        scaffold: schema.add_text_field("scaffold", text(TEXT)),
        session: schema.add_text_field(column::SESSION, STRING | FAST),
        path: schema.add_text_field(column::PATH, STRING | FAST),
        check: schema.add_u64_field(column::CHECK, FAST),
        project: schema.add_text_field("project", STRING),
        cwd: schema.add_text_field(column::CWD, column_only.clone()),
        role: schema.add_text_field("role", STRING),
        tool: schema.add_text_field("tool", STRING),
        tool_name: schema.add_text_field(column::TOOL_NAME, column_only),
        file: schema.add_text_field("file", text(STEPS)),
        at: schema.add_i64_field(column::AT, FAST | INDEXED),
        place: schema.add_u64_field(column::PLACE, FAST | INDEXED),
        offset: schema.add_u64_field(column::OFFSET, FAST),
        end: schema.add_u64_field(column::END, FAST),
    };
    (schema.build(), fields)
}

/// Names the place of a message: 40 bits of the session, 24 of the ordinal. Neighbours differ by one.
pub(crate) fn place(session: &str, ordinal: u64) -> u64 {
    let hash = fnv(session);
    (hash ^ (hash >> 31)) << ORDINAL_BITS | (ordinal & ((1 << ORDINAL_BITS) - 1))
}

const ORDINAL_BITS: u32 = 24;

/// Stands for a message's id: the id itself is in the ledger.
pub(crate) fn check(id: &MessageId) -> u64 {
    fnv(id.as_str())
}

/// FNV-1a: short texts, and nobody gains by a collision.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

/// The role as the index names it.
pub(crate) fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::Developer => "developer",
        Role::Tool => "tool",
    }
}

/// How far a ledger is in the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Watermark {
    /// Messages that are in.
    pub(crate) messages: u64,
    /// Where the line of the last one ends.
    pub(crate) end: u64,
    /// Where the line of one some way before it begins: calls from there on may be answered behind the watermark.
    pub(crate) warm_from: u64,
    /// The ordinal of that one.
    pub(crate) warm_ordinal: u64,
}

/// How many messages before the watermark are read again for the calls in them.
const WARM_MESSAGES: u64 = 64;

/// An index in one folder. Messages are added in batches and show after a commit.
pub(crate) struct Index {
    index: tantivy::Index,
    reader: IndexReader,
    snapshot: Arc<Snapshot>,
    pub(crate) fields: Fields,
}

impl Index {
    /// Opens the index in `dir`, or makes an empty one.
    pub(crate) fn open(dir: &Path) -> Result<Self, SearchError> {
        std::fs::create_dir_all(dir).map_err(SearchError::io("make", dir))?;
        let (schema, fields) = schema();
        let directory = tantivy::directory::MmapDirectory::open(dir).map_err(tantivy::TantivyError::from)?;
        let index = tantivy::Index::builder().schema(schema).open_or_create(directory)?;
        index.tokenizers().register(TEXT, TextAnalyzer::from(TextTokenizer::default()));
        index.tokenizers().register(STEPS, TextAnalyzer::from(PathTokenizer));
        let reader: IndexReader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let snapshot = Arc::new(Snapshot::new(reader.searcher(), &fields)?);
        Ok(Self { index, reader, snapshot, fields })
    }

    /// Takes writing upon itself; fails while another writer has it.
    pub(crate) fn writer(&self, threads: usize) -> Result<IndexWriter, SearchError> {
        Ok(self.index.writer_with_num_threads(threads, MEMORY)?)
    }

    /// Makes one segment of the small ones, as long as they hold no more than `messages` together: a query pays for
    /// each segment. Needs the right to write.
    pub(crate) fn merge_small(&mut self, messages: u64) -> Result<(), SearchError> {
        let mut segments = self.index.searchable_segment_metas()?;
        segments.sort_by_key(SegmentMeta::max_doc);
        let mut held = 0;
        let small = segments.iter().take_while(|segment| {
            held += u64::from(segment.max_doc());
            held <= messages
        });
        let small: Vec<SegmentId> = small.map(SegmentMeta::id).collect();
        if small.len() < 2 {
            return Ok(());
        }
        let mut writer = self.writer(1)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        writer.merge(&small).wait()?;
        // What this process still knows of would stay on disk.
        drop(segments);
        self.reload()?;
        writer.garbage_collect_files().wait()?;
        Ok(writer.wait_merging_threads()?)
    }

    /// Sees what was committed since, by this process or another.
    pub(crate) fn reload(&mut self) -> Result<(), SearchError> {
        self.reader.reload()?;
        self.snapshot = Arc::new(Snapshot::new(self.reader.searcher(), &self.fields)?);
        Ok(())
    }

    /// The index as it stood when last loaded.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.clone()
    }

    /// Messages in the index.
    pub(crate) fn len(&self) -> u64 {
        self.snapshot.searcher.num_docs()
    }

    /// The document of a message.
    pub(crate) fn document(&self, doc: &Doc) -> TantivyDocument {
        let f = &self.fields;
        let mut out = TantivyDocument::default();
        out.add_text(f.body, &doc.words.body);
        if !doc.words.scaffold.is_empty() {
            out.add_text(f.scaffold, &doc.words.scaffold);
        }
        out.add_text(f.session, doc.session.as_str());
        out.add_text(f.path, &doc.path);
        out.add_u64(f.check, check(&doc.id));
        out.add_text(f.role, role_name(doc.role));
        if let Some(cwd) = &doc.cwd {
            out.add_text(f.cwd, cwd);
            for folder in ancestors(cwd) {
                out.add_text(f.project, folder);
            }
        }
        for tool in &doc.words.tools {
            out.add_text(f.tool, tool.to_lowercase());
        }
        if let Some(tool) = doc.words.tools.first() {
            out.add_text(f.tool_name, tool);
        }
        for file in &doc.words.files {
            out.add_text(f.file, file);
        }
        if let Some(at) = doc.at {
            out.add_i64(f.at, at.as_millisecond());
        }
        out.add_u64(f.place, place(doc.session.as_str(), doc.ordinal));
        out.add_u64(f.offset, doc.offset);
        out.add_u64(f.end, doc.end);
        out
    }

    /// How far a ledger is in the index. It is read from the documents themselves, so it can't disagree with them.
    pub(crate) fn watermark(&self, path: &str) -> Result<Watermark, SearchError> {
        let term = Term::from_field_text(self.fields.path, path);
        let mut mark = Watermark::default();
        let mut offsets: Vec<u64> = Vec::new();
        let segments = self.snapshot.searcher.segment_readers().iter().zip(&self.snapshot.columns);
        for (segment, columns) in segments {
            let inverted = segment.inverted_index(self.fields.path)?;
            let Some(mut postings) = inverted
                .read_postings(&term, IndexRecordOption::Basic)
                .map_err(tantivy::TantivyError::from)?
            else {
                continue;
            };
            let mut doc = postings.doc();
            while doc != TERMINATED {
                if !segment.is_deleted(doc) {
                    mark.messages += 1;
                    mark.end = mark.end.max(columns.end.first(doc).unwrap_or(0));
                    offsets.push(columns.offset.first(doc).unwrap_or(0));
                }
                doc = postings.advance();
            }
        }
        let warm = mark.messages.saturating_sub(WARM_MESSAGES);
        if let Ok(nth) = usize::try_from(warm)
            && nth < offsets.len()
        {
            mark.warm_from = *offsets.select_nth_unstable(nth).1;
            mark.warm_ordinal = warm;
        }
        Ok(mark)
    }

    /// Takes a ledger out, to be read anew.
    pub(crate) fn forget(&self, writer: &IndexWriter, path: &str) {
        writer.delete_term(Term::from_field_text(self.fields.path, path));
    }
}

/// A folder and each one above it.
pub(crate) fn ancestors(cwd: &str) -> impl Iterator<Item = &str> {
    let cwd = if cwd.len() > 1 { cwd.trim_end_matches(['/', '\\']) } else { cwd };
    std::iter::successors(Some(cwd), |folder| {
        let cut = folder.rfind(['/', '\\'])?;
        let above = if cut == 0 { &folder[..folder.len().min(1)] } else { &folder[..cut] };
        (above.len() < folder.len()).then_some(above)
    })
    .take(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ancestors_reach_the_root() {
        assert_eq!(ancestors("/a/b/c").collect::<Vec<_>>(), ["/a/b/c", "/a/b", "/a", "/"]);
        assert_eq!(ancestors("/a/").collect::<Vec<_>>(), ["/a", "/"]);
        assert_eq!(ancestors("x").collect::<Vec<_>>(), ["x"]);
        assert_eq!(ancestors("").collect::<Vec<_>>(), [""]);
    }

    fn doc(n: u64) -> Doc {
        Doc {
            session: "s".into(),
            path: "s".into(),
            id: n.to_string().into(),
            ordinal: n,
            role: Role::User,
            at: None,
            cwd: None,
            offset: n,
            end: n + 1,
            words: crate::doc::Words { body: format!("message {n}"), ..Default::default() },
        }
    }

    #[test]
    fn small_segments_become_one_and_large_ones_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let mut index = Index::open(dir.path()).unwrap();
        for numbers in [0..100, 100..110, 110..120] {
            let mut writer = index.writer(1).unwrap();
            for n in numbers {
                writer.add_document(index.document(&doc(n))).unwrap();
            }
            writer.commit().unwrap();
        }
        index.reload().unwrap();
        let sizes = |index: &Index| {
            let segments = index.snapshot.searcher.segment_readers().iter();
            let mut sizes: Vec<u32> = segments.map(tantivy::SegmentReader::num_docs).collect();
            sizes.sort_unstable();
            sizes
        };
        index.merge_small(19).unwrap();
        assert_eq!(sizes(&index), [10, 10, 100]);
        index.merge_small(20).unwrap();
        assert_eq!(sizes(&index), [20, 100]);
        index.merge_small(1_000).unwrap();
        assert_eq!(sizes(&index), [120]);
        // What was merged does not stay behind.
        let postings = std::fs::read_dir(dir.path()).unwrap().filter_map(Result::ok);
        assert_eq!(postings.filter(|f| f.path().extension().is_some_and(|e| e == "idx")).count(), 1);
    }

    #[test]
    fn neighbours_differ_by_one() {
        assert_eq!(place("s", 7) + 1, place("s", 8));
        assert_ne!(place("s", 7), place("t", 7));
    }
}
