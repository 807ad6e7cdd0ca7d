//! Memories that say much the same: found, offered as one, and made one when somebody agrees (B2).

use super::changes::create;
use super::error::TopicError;
use super::history::Message;
use super::intake::{self, BODY, Taken};
use super::meta::{MOST_SOURCES, Meta};
use super::names::check;
use super::opposites::contradiction;
use super::prints::{Band, Words};
use super::recorded::ChangeKind;
use super::sentences::{Unit, key, united, units};
use super::store::TopicStore;
use super::writing::Writing;
use super::{NewTopic, Saved, Topic};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The share of words that two memories have in common at which they are offered as one.
const ALIKE: f64 = 0.5;
/// Memories with fewer words than this overlap by chance.
const FEWEST: usize = 4;
/// Memories that are offered as one at most.
const MOST_FILES: usize = 8;
/// Of memories that all share them, each is compared with so many that are a little newer.
const NEIGHBOURS: usize = 32;

/// What of a folder could be one memory, and what can't.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clusters {
    /// Memories that say much the same, the most alike first. No memory is in two of them.
    pub proposals: Vec<Proposal>,
    /// Memories that are about the same and say the opposite: people have to decide.
    pub contradictions: Vec<Contradiction>,
}

/// Memories that say much the same, and the one that they could be. Its parts may be worded better before it is
/// [merged](TopicStore::merge).
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// Their files, the newest first.
    pub files: Vec<String>,
    /// What they say together: the newest as it is, and every sentence that others have besides.
    pub into: NewTopic,
    /// The share of words that the least alike has in common with the newest.
    pub similarity: f64,
    /// Why they are offered, in a line.
    pub why: String,
    /// What the files were like.
    states: Vec<blake3::Hash>,
}

/// Two memories that can't both hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contradiction {
    /// The one that was said last.
    pub newer: String,
    /// The other one.
    pub older: String,
    /// The share of words that they have in common.
    pub similarity: f64,
    /// What they say.
    pub why: String,
}

/// A memory, to be compared.
struct Candidate {
    topic: Topic,
    words: Words,
}

impl TopicStore {
    /// Finds memories that say much the same, among those that hold. Nothing is changed.
    pub fn clusters(&self, now: Timestamp) -> Result<Clusters, TopicError> {
        let topics = self.load(&self.folder.entries()?);
        let candidates: Vec<Candidate> = topics
            .into_iter()
            .filter(|topic| topic.kind.is_some() && self.lifetimes.is_live(topic, now))
            .map(|topic| {
                let words = Words::of(&format!("{}\n{}\n{}", topic.name, topic.description, topic.body));
                Candidate { topic, words }
            })
            .filter(|candidate| candidate.words.0.len() >= FEWEST)
            .collect();
        let mut clusters = Clusters::default();
        let mut taken: BTreeSet<usize> = BTreeSet::new();
        let alike = alike(&candidates);
        // Newest first: it is the one that others are compared with.
        for (newest, others) in &alike {
            let mut group = vec![*newest];
            let mut similarity = 1.0_f64;
            for (other, how) in others {
                let (newer, older) = (&candidates[*newest].topic, &candidates[*other].topic);
                if let Some(why) = group.iter().find_map(|known| opposed(&candidates[*known].topic, older)) {
                    let (newer, older) = (newer.file.clone(), older.file.clone());
                    clusters.contradictions.push(Contradiction { newer, older, similarity: *how, why });
                } else if newer.kind == older.kind
                    && group.len() < MOST_FILES
                    && !taken.contains(newest)
                    && taken.insert(*other)
                {
                    group.push(*other);
                    similarity = similarity.min(*how);
                }
            }
            if group.len() > 1 {
                taken.insert(*newest);
                group.sort_unstable();
                let group: Vec<&Topic> = group.iter().map(|at| &candidates[*at].topic).collect();
                clusters.proposals.extend(self.proposal(&group, similarity));
            }
        }
        clusters.proposals.sort_by(|a, b| b.similarity.total_cmp(&a.similarity));
        Ok(clusters)
    }

    /// What some memories would be as one, whether or not they are alike. Those that say the opposite can't be.
    pub fn propose(&self, files: &[&str]) -> Result<Proposal, TopicError> {
        let mut topics = Vec::new();
        for file in files.iter().collect::<BTreeSet<_>>() {
            topics.push(self.read(file)?);
        }
        topics.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.file.cmp(&b.file)));
        let refused = |why: String| TopicError::NotMerged { why };
        let [newest, others @ ..] = topics.as_slice() else {
            return Err(refused("no files are given".to_owned()));
        };
        if others.is_empty() {
            return Err(refused(format!("{} is only one", newest.file)));
        }
        for (at, older) in topics.iter().enumerate() {
            if let Some(why) = topics[..at].iter().find_map(|newer| opposed(newer, older)) {
                return Err(refused(why));
            }
        }
        let all =
            |topic: &Topic| Words::of(&format!("{}\n{}\n{}", topic.name, topic.description, topic.body));
        let similarity = others.iter().map(|other| all(newest).jaccard(&all(other))).fold(1.0, f64::min);
        let group: Vec<&Topic> = topics.iter().collect();
        self.proposal(&group, similarity).ok_or_else(|| {
            refused(format!(
                "together they are longer than {BODY} characters, or a file can't be read, or has no type"
            ))
        })
    }

    fn proposal(&self, group: &[&Topic], similarity: f64) -> Option<Proposal> {
        let (newest, others) = group.split_first()?;
        let said: Vec<Vec<Unit>> = others.iter().map(|topic| said(topic, newest)).collect();
        let body = united(&newest.body, &said);
        if body.chars().count() > BODY {
            return None;
        }
        let into = NewTopic {
            kind: newest.kind?,
            name: newest.name.clone(),
            description: newest.description.clone(),
            body,
            meta: together(group),
        };
        let files: Vec<String> = group.iter().map(|topic| topic.file.clone()).collect();
        let states = files.iter().map(|file| self.state(file)).collect::<Option<Vec<_>>>()?;
        let why = format!("{} share {:.0} % of their words", files.join(" and "), similarity * 100.0);
        Some(Proposal { files, into, similarity, why, states })
    }

    fn state(&self, file: &str) -> Option<blake3::Hash> {
        self.folder.read(file).ok().flatten().map(|text| blake3::hash(text.as_bytes()))
    }

    /// Makes memories one, as proposed: the one is saved, and the others are superseded by it. Nothing is written if one of the files was
    /// changed since it was proposed.
    pub fn merge(&self, proposal: &Proposal) -> Result<Saved, TopicError> {
        let Taken { topic, redacted } = intake::topic(proposal.into.clone())?;
        let mut writing = Writing::begin(self)?;
        for (file, state) in proposal.files.iter().zip(&proposal.states) {
            let file = check(file)?;
            if self.state(file).as_ref() != Some(state) {
                return Err(TopicError::Changed { file: file.to_owned() });
            }
            self.marked(file, file)?;
        }
        let file = create(&mut writing, &topic)?;
        for old in &proposal.files {
            self.mark(&mut writing, old, &file)?;
        }
        writing.place(&file)?;
        let what = format!("Merge {} into {file}", proposal.files.join(", "));
        let unrecorded = writing.commit(&Message::of(ChangeKind::Merge, what));
        Ok(Saved { file, redacted, unrecorded })
    }
}

/// What an older memory says, its description too where no sentence of either says it.
fn said(topic: &Topic, newest: &Topic) -> Vec<Unit> {
    let described = [&newest.description, &newest.name];
    let is_known = described.iter().any(|text| key(text) == key(&topic.description));
    let is_within = key(&topic.body).contains(&key(&topic.description));
    let description = if is_known || is_within { Vec::new() } else { units(&topic.description) };
    units(&topic.body).into_iter().chain(description).collect()
}

/// What is known of some memories, as of one: all sources, all evidence.
fn together(group: &[&Topic]) -> Meta {
    let metas = || group.iter().map(|topic| &topic.meta);
    let mut anchors = Vec::new();
    for anchor in metas().flat_map(|meta| &meta.anchors) {
        if !anchors.contains(anchor) {
            anchors.push(anchor.clone());
        }
    }
    let mut sources: Vec<_> = metas().flat_map(|meta| meta.sources.clone()).collect();
    sources.sort_by_key(|source| source.at);
    sources.drain(..sources.len().saturating_sub(MOST_SOURCES));
    Meta {
        created: metas().filter_map(|meta| meta.created).min(),
        expires: group.first().and_then(|newest| newest.meta.expires),
        superseded_by: None,
        // One that nobody counted was said once.
        evidence: metas().map(|meta| meta.evidence.max(1)).fold(0, u32::saturating_add),
        sources,
        anchors,
    }
}

fn opposed(newer: &Topic, older: &Topic) -> Option<String> {
    fn parts(topic: &Topic) -> [&str; 2] {
        [&topic.description, &topic.body]
    }
    contradiction(parts(newer), parts(older))
}

/// For each memory the later ones in the list that are alike, the most alike first.
fn alike(candidates: &[Candidate]) -> BTreeMap<usize, Vec<(usize, f64)>> {
    let mut buckets: HashMap<Band, Vec<usize>> = HashMap::new();
    for (at, candidate) in candidates.iter().enumerate() {
        for band in candidate.words.bands() {
            buckets.entry(band).or_default().push(at);
        }
    }
    let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
    for members in buckets.values() {
        for (n, at) in members.iter().enumerate() {
            let newer = &members[n.saturating_sub(NEIGHBOURS)..n];
            pairs.extend(newer.iter().map(|other| (*other, *at)));
        }
    }
    let mut alike: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
    for (newer, older) in pairs {
        let similarity = candidates[newer].words.jaccard(&candidates[older].words);
        if similarity >= ALIKE {
            alike.entry(newer).or_default().push((older, similarity));
        }
    }
    for others in alike.values_mut() {
        others.sort_by(|(a, x), (b, y)| y.total_cmp(x).then_with(|| a.cmp(b)));
    }
    alike
}
