//! The index as it stood at one moment, with its columns open.

use crate::index::{Fields, column};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tantivy::columnar::{Column, StrColumn};
use tantivy::fieldnorm::FieldNormReader;
use tantivy::{DocId, InvertedIndexReader, Searcher, SegmentReader, TantivyError};

/// A searcher and the columns of its segments, opened once for all queries.
pub(crate) struct Snapshot {
    pub(crate) searcher: Searcher,
    /// One per segment, in order.
    pub(crate) columns: Vec<Columns>,
    /// Tokens of all bodies.
    pub(crate) tokens: u64,
}

/// The columns of one segment.
pub(crate) struct Columns {
    /// Terms of the bodies and where they occur.
    pub(crate) body: Arc<InvertedIndexReader>,
    pub(crate) place: Column<u64>,
    pub(crate) at: Column<i64>,
    pub(crate) offset: Column<u64>,
    pub(crate) end: Column<u64>,
    pub(crate) check: Column<u64>,
    pub(crate) lengths: FieldNormReader,
    pub(crate) session: Texts,
    pub(crate) path: Texts,
    pub(crate) cwd: Texts,
    pub(crate) tool: Texts,
}

/// A column of few texts for many documents; a segment where no document has one lacks it.
pub(crate) struct Texts {
    column: Option<StrColumn>,
    /// Texts that were read before, by their number in the column.
    known: Mutex<HashMap<u64, String>>,
}

/// Texts of a column that are remembered.
const KNOWN_TEXTS: usize = 4096;

impl Texts {
    /// The first text of a document.
    pub(crate) fn get(&self, doc: DocId) -> Result<Option<String>, TantivyError> {
        let Some(texts) = &self.column else { return Ok(None) };
        let Some(ord) = texts.term_ords(doc).next() else { return Ok(None) };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = known.get(&ord) {
            return Ok(Some(text.clone()));
        }
        let mut text = String::new();
        if !texts.ord_to_str(ord, &mut text)? {
            return Ok(None);
        }
        if known.len() < KNOWN_TEXTS {
            known.insert(ord, text.clone());
        }
        Ok(Some(text))
    }
}

impl From<Option<StrColumn>> for Texts {
    fn from(column: Option<StrColumn>) -> Self {
        Self { column, known: Mutex::default() }
    }
}

impl Snapshot {
    /// Opens the columns of a searcher.
    pub(crate) fn new(searcher: Searcher, fields: &Fields) -> Result<Self, TantivyError> {
        let mut columns = Vec::with_capacity(searcher.segment_readers().len());
        let mut tokens = 0;
        for segment in searcher.segment_readers() {
            let opened = Columns::open(segment, fields)?;
            tokens += opened.body.total_num_tokens();
            columns.push(opened);
        }
        Ok(Self { searcher, columns, tokens })
    }
}

impl Columns {
    fn open(segment: &SegmentReader, fields: &Fields) -> Result<Self, TantivyError> {
        let columns = segment.fast_fields();
        let texts = |name: &str| columns.str(name).map(Texts::from);
        Ok(Self {
            body: segment.inverted_index(fields.body)?,
            place: columns.u64(column::PLACE)?,
            at: columns.i64(column::AT)?,
            offset: columns.u64(column::OFFSET)?,
            end: columns.u64(column::END)?,
            check: columns.u64(column::CHECK)?,
            lengths: segment.get_fieldnorms_reader(fields.body)?,
            session: texts(column::SESSION)?,
            path: texts(column::PATH)?,
            cwd: texts(column::CWD)?,
            tool: texts(column::TOOL_NAME)?,
        })
    }
}
