//! What does a search cost beside a bare query of the index library, and how does it grow?
//!
//! `cargo run --release -p throughline-search --example scale -- MESSAGES [QUERIES]`: writes that many made-up
//! messages as ledgers, indexes them here and in a bare index (one text field, the library's own tokenizer, the same
//! memory), then asks both the same questions. Bare queries take the ten best and load what they stored.

use std::time::Instant;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, TermQuery};
use tantivy::schema::{IndexRecordOption, STORED, STRING, Schema, TEXT};
use tantivy::{TantivyDocument, Term};
use throughline_core::{Message, Meta, Record, Role, SessionId};
use throughline_ledger::{Home, Reader, SyncPolicy, Writer};
use throughline_search::{Query, Search};

type Failure = Box<dyn std::error::Error>;
const PER_SESSION: u64 = 1000;
const VOCABULARY: u64 = 60_000;

/// A small generator of numbers: the same on every run.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Few words are common, most are rare.
    fn word(&mut self) -> String {
        let uniform = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        let rank = ((VOCABULARY as f64).powf(uniform) - 1.0) as u64;
        spelled(rank)
    }

    fn text(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..10 + self.below(90) {
            match self.below(40) {
                0 => text.push_str(&format!("src/{}/{}.rs", self.word(), self.word())),
                1 => text.push_str(&format!("{}_{}", self.word(), self.word())),
                2 => text.push_str(&format!("E{:04}", self.below(900))),
                _ => text.push_str(&self.word()),
            }
            text.push(' ');
        }
        text
    }
}

/// A made-up word for a rank.
fn spelled(rank: u64) -> String {
    const SYLLABLES: [&str; 16] =
        ["ba", "ko", "ri", "ten", "mu", "sal", "do", "vi", "per", "na", "lo", "gri", "fe", "tu", "zan", "ho"];
    let mut word = String::new();
    let mut rest = rank * 7 + 3;
    while word.len() < 4 || rest > 0 {
        word.push_str(SYLLABLES[(rest % 16) as usize]);
        rest /= 16;
    }
    word
}

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let messages: u64 = args.next().ok_or("how many messages?")?.parse()?;
    let queries: usize = args.next().map_or(Ok(300), |n| n.parse())?;
    let dir = tempfile::tempdir()?;
    let home = Home::new(dir.path().join("home"));
    let bytes = write_ledgers(&home, messages)?;
    let mb = bytes as f64 / 1e6;
    println!("{messages} messages, {mb:.0} MB of text");

    let began = Instant::now();
    let read = read_ledgers(&home)?;
    println!("reading the ledgers alone: {:.1} s ({read} messages)", began.elapsed().as_secs_f64());

    let began = Instant::now();
    let mut search = Search::open(&home)?;
    search.sync(&mut |_| {})?;
    report_indexing("search", began.elapsed().as_secs_f64(), messages, mb, &home.index());

    let bare_dir = dir.path().join("bare");
    std::fs::create_dir(&bare_dir)?;
    let began = Instant::now();
    let bare = bare_index(&bare_dir, &home)?;
    report_indexing("bare", began.elapsed().as_secs_f64(), messages, mb, &bare_dir);

    let reader = bare.reader()?;
    let searcher = reader.searcher();
    let (body, id) = (bare.schema().get_field("body")?, bare.schema().get_field("id")?);
    println!("segments of the bare index: {}", searcher.segment_readers().len());
    for (name, count, common) in
        [("1 word", 1, false), ("3 words", 3, false), ("5 words", 5, false), ("3 common", 3, true)]
    {
        let mut dice = Dice(42 + count as u64);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for n in 0..queries + 20 {
            let words: Vec<String> =
                (0..count).map(|_| if common { spelled(dice.below(200)) } else { dice.word() }).collect();
            let began = Instant::now();
            let clauses = words.iter().map(|word| {
                let term = Term::from_field_text(body, word);
                (Occur::Should, Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)) as Box<_>)
            });
            let top = searcher
                .search(&BooleanQuery::new(clauses.collect()), &TopDocs::with_limit(10).order_by_score())?;
            for (_, address) in &top {
                let doc: TantivyDocument = searcher.doc(*address)?;
                assert!(doc.get_first(id).is_some());
            }
            let bare_took = began.elapsed();
            let began = Instant::now();
            let hits = search.query(&Query::new(words.join(" ")))?;
            let took = began.elapsed();
            assert!(hits.len() >= top.len().min(10));
            if n >= 20 {
                theirs.push(bare_took.as_secs_f64() * 1e3);
                ours.push(took.as_secs_f64() * 1e3);
            }
        }
        let (o50, o95) = quantiles(&mut ours);
        let (t50, t95) = quantiles(&mut theirs);
        println!(
            "{name:9} search p50 {o50:.2} p95 {o95:.2} ms; bare p50 {t50:.2} p95 {t95:.2} ms; {:.2}x",
            o50 / t50
        );
    }
    Ok(())
}

fn quantiles(times: &mut [f64]) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[times.len() * 95 / 100])
}

fn report_indexing(name: &str, seconds: f64, messages: u64, mb: f64, dir: &std::path::Path) {
    let size = folder_size(dir) as f64 / 1e6;
    println!(
        "indexing, {name}: {seconds:.1} s, {:.0} messages/s, {:.1} MB/s, {size:.0} MB on disk",
        messages as f64 / seconds,
        mb / seconds
    );
}

fn folder_size(dir: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => folder_size(&entry.path()),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        })
        .sum()
}

fn write_ledgers(home: &Home, messages: u64) -> Result<u64, Failure> {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let mut bytes = 0;
    for session in 0..messages.div_ceil(PER_SESSION) {
        let mut meta =
            Meta::new(SessionId::new(format!("s{session:06}")), jiff::Timestamp::UNIX_EPOCH, "scale");
        meta.cwd = Some(format!("/proj/project{}", session % 50));
        let mut writer = Writer::create(home, meta, SyncPolicy::Never)?;
        let records: Vec<Record> = (0..PER_SESSION.min(messages - session * PER_SESSION))
            .map(|n| {
                let text = dice.text();
                bytes += text.len() as u64;
                let role = if n % 2 == 0 { Role::User } else { Role::Assistant };
                let mut message = Message::text(role, text);
                message.at = jiff::Timestamp::from_second(1_700_000_000 + (session * 7200 + n) as i64).ok();
                Record::Message(Box::new(message))
            })
            .collect();
        writer.append(&records)?;
    }
    Ok(bytes)
}

fn read_ledgers(home: &Home) -> Result<u64, Failure> {
    let mut count = 0;
    for path in home.ledgers()? {
        let mut reader = Reader::open(home, &path, 0)?;
        while let Some((_, record)) = reader.next_record()? {
            count += u64::from(matches!(record, Record::Message(_)));
        }
    }
    Ok(count)
}

fn bare_index(dir: &std::path::Path, home: &Home) -> Result<tantivy::Index, Failure> {
    let mut schema = Schema::builder();
    let body = schema.add_text_field("body", TEXT);
    let id = schema.add_text_field("id", STRING | STORED);
    let index = tantivy::Index::create_in_dir(dir, schema.build())?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let mut writer = index.writer_with_num_threads(threads, 64 << 20)?;
    for path in home.ledgers()? {
        let mut reader = Reader::open(home, &path, 0)?;
        while let Some((_, record)) = reader.next_record()? {
            if let Record::Message(message) = record {
                let mut doc = TantivyDocument::default();
                doc.add_text(body, message.to_text());
                doc.add_text(id, message.id.as_str());
                writer.add_document(doc)?;
            }
        }
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok(index)
}
