//! Does search stay near the bare index, however much there is?
//!
//! The same messages in our search and in a bare tantivy index; the same words asked of both, at two sizes. Then: what
//! indexing costs against the bare index, and what one more message costs.

use crate::Setup;
use crate::corpus::{self, Vocabulary};
use crate::measure::{median, ratio, verdict};
use std::path::Path;
use std::time::{Duration, Instant};
use tantivy::collector::TopDocs;
use tantivy::query::QueryParser;
use tantivy::schema::{STORED, STRING, Schema, TEXT};
use throughline_core::{Meta, Record, SessionId};
use throughline_ledger::{Home, SyncPolicy, Writer};
use throughline_search::{Query, Search};

/// Enough different queries for a median that means something.
const QUERIES: u64 = 60;
const ROUNDS: u64 = 11;

struct Measured {
    ours: Duration,
    bare: Duration,
    index_ours: Duration,
    index_bare: Duration,
}

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    let (small, large) = if setup.quick { (10_000, 100_000) } else { (100_000, 1_000_000) };
    println!("search: {small} and {large} messages, against a bare tantivy query of the same words");
    let words = Vocabulary::of(&setup.data)?;
    println!("  messages and queries are drawn from the {} words of the recorded sessions", words.len());
    let at_small = measure(&words, small)?;
    let at_large = measure(&words, large)?;
    let mut failed = 0;
    for (n, m) in [(small, &at_small), (large, &at_large)] {
        println!("  {n}: median {:.2?}, bare {:.2?}", m.ours, m.bare);
        println!("  {n}: indexed in {:.1?}, bare {:.1?}", m.index_ours, m.index_bare);
        println!("      indexing against bare: {:.2}×", ratio(m.index_ours, m.index_bare));
    }
    // What is fixed in a query (reading and marking ten hits) weighs most where there is little to search.
    failed +=
        verdict(&format!("query at {small} against bare"), ratio(at_small.ours, at_small.bare), 3.0, "×");
    failed +=
        verdict(&format!("query at {large} against bare"), ratio(at_large.ours, at_large.bare), 3.0, "×");
    println!("      the bare query grew {:.2}×", ratio(at_large.bare, at_small.bare));
    Ok(failed + verdict("query as messages grow tenfold", ratio(at_large.ours, at_small.ours), 3.0, "×"))
}

fn measure(words: &Vocabulary, messages: u64) -> anyhow::Result<Measured> {
    let dir = tempfile::tempdir()?;
    let home = Home::new(dir.path().join("home"));
    write_sessions(&home, words, messages)?;
    let start = Instant::now();
    let mut search = Search::open(&home)?;
    search.sync(&mut |_| {})?;
    let index_ours = start.elapsed();
    let start = Instant::now();
    let bare = Bare::build(&dir.path().join("bare"), words, messages)?;
    let index_bare = start.elapsed();

    let mut times = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        for n in 0..QUERIES {
            let asked = words.query(n);
            let mut query = Query::new(asked.as_str());
            query.limit = 10;
            let start = Instant::now();
            let hits = search.query(&query)?;
            let ours = start.elapsed();
            std::hint::black_box(hits);
            let start = Instant::now();
            bare.query(&asked)?;
            let theirs = start.elapsed();
            // The first round warms the page cache.
            if round > 0 {
                times.0.push(ours);
                times.1.push(theirs);
            }
        }
    }
    one_more_is_found(&home, &mut search)?;
    Ok(Measured { ours: median(times.0), bare: median(times.1), index_ours, index_bare })
}

/// A message appended now is found by the next search, and the index on disk is not written for it.
fn one_more_is_found(home: &Home, search: &mut Search) -> anyhow::Result<()> {
    let mut writer = Writer::open(home, &home.find("s0")?, SyncPolicy::Never)?;
    let mut message = corpus::message(7);
    message.id = "added".into();
    message.blocks = vec![throughline_core::Block::text("a quetzalcoatlus over the orchard")];
    let before = folder_state(&home.index())?;
    writer.append(&[Record::Message(Box::new(message))])?;
    let start = Instant::now();
    let hits = search.query(&Query::new("quetzalcoatlus"))?;
    let took = start.elapsed();
    anyhow::ensure!(
        hits.first().is_some_and(|hit| hit.id.as_str() == "added"),
        "the new message was not found"
    );
    let written = folder_state(&home.index())? != before;
    println!("  one more message: found by the next search in {took:.2?}; index written: {written}");
    anyhow::ensure!(!written, "one message rewrote the index");
    Ok(())
}

/// Names and sizes of the index's own files.
fn folder_state(dir: &Path) -> anyhow::Result<Vec<(String, u64)>> {
    let mut files = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_name() == "dirty" {
                continue;
            }
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                files.push((entry.path().to_string_lossy().into_owned(), entry.metadata()?.len()));
            }
        }
    }
    files.sort();
    Ok(files)
}

fn write_sessions(home: &Home, words: &Vocabulary, messages: u64) -> anyhow::Result<()> {
    const PER_SESSION: u64 = 1_000;
    for session in 0..messages / PER_SESSION {
        let id = SessionId::new(format!("s{session}"));
        let mut writer =
            Writer::create(home, Meta::new(id, corpus::time(session as i64), "claude"), SyncPolicy::Never)?;
        let first = session * PER_SESSION;
        let records: Vec<Record> =
            (first..first + PER_SESSION).map(|n| Record::Message(Box::new(words.message(n)))).collect();
        writer.append(&records)?;
    }
    Ok(())
}

struct Bare {
    searcher: tantivy::Searcher,
    parser: QueryParser,
}

impl Bare {
    fn build(dir: &Path, words: &Vocabulary, messages: u64) -> anyhow::Result<Self> {
        std::fs::create_dir_all(dir)?;
        let mut schema = Schema::builder();
        let id = schema.add_text_field("id", STRING | STORED);
        let body = schema.add_text_field("body", TEXT);
        let index = tantivy::Index::create_in_dir(dir, schema.build())?;
        let mut writer: tantivy::IndexWriter = index.writer_with_num_threads(1, 64 << 20)?;
        for n in 0..messages {
            let message = words.message(n);
            writer.add_document(tantivy::doc!(id => message.id.as_str(), body => message.to_text()))?;
        }
        writer.commit()?;
        writer.wait_merging_threads()?;
        let parser = QueryParser::for_index(&index, vec![body]);
        Ok(Self { searcher: index.reader()?.searcher(), parser })
    }

    fn query(&self, words: &str) -> anyhow::Result<()> {
        let (query, _) = self.parser.parse_query_lenient(words);
        let hits = self.searcher.search(&query, &TopDocs::with_limit(10).order_by_score())?;
        for (_, address) in hits {
            std::hint::black_box(self.searcher.doc::<tantivy::TantivyDocument>(address)?);
        }
        Ok(())
    }
}
