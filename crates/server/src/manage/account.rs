//! What the requests of one conversation come to.

use super::{Accounted, Asked, Context, Figures, SessionSnapshot, Thread};
use crate::relay::OriginalReason;
use jiff::Timestamp;
use std::hash::{DefaultHasher, Hasher as _};
use std::time::Duration;
use throughline_core::cost::{CacheSim, Piece, Price, Request, Ttl};
use throughline_core::{Entry, Event, Usage};
use throughline_engine::{Prepared, Preparer};

/// What the requests of one conversation came to, and how it looked at the newest one.
#[derive(Debug, Default)]
pub(super) struct Account {
    /// All requests, earlier runs included.
    figures: Figures,
    /// What earlier runs came to is counted in.
    is_restored: bool,
    /// The newest request.
    last: Option<Timestamp>,
    model: Option<String>,
    window: Option<u64>,
    threshold: Option<u64>,
    context: Option<Context>,
    /// The provider's cache, for what the client sent and for what was sent.
    caches: Option<Box<Caches>>,
}

#[derive(Debug)]
struct Caches {
    model: String,
    without: CacheSim,
    with: CacheSim,
}

/// A request as it came and as it goes, measured before it is sent.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) model: String,
    window: u64,
    threshold: Option<u64>,
    price: Price,
    ttl: Ttl,
    without: Vec<Piece>,
    with: Vec<Piece>,
    context: Context,
    pub(super) edits: u64,
}

impl Measured {
    /// Measures the request that a preparer just prepared; `None` before there was one.
    pub(super) fn of(preparer: &Preparer, prepared: &Prepared) -> Option<Self> {
        let pipeline = preparer.pipeline()?;
        let settings = pipeline.settings();
        let before = |tokens| std::iter::once(Piece { key: tokens, tokens });
        let sizes = preparer.client_sizes();
        let own = preparer.history().iter().zip(sizes).map(|(id, &tokens)| Piece { key: key(&id), tokens });
        let without: Vec<Piece> = before(preparer.client_overhead()).chain(own).collect();
        let entries = pipeline.view().entries();
        let shown = entries.iter().zip(pipeline.entry_tokens()).map(|(entry, &tokens)| Piece {
            key: if entry.overlays.is_empty() { key(&&entry.message.id) } else { overlaid(entry) },
            tokens,
        });
        let with: Vec<Piece> = before(settings.overhead).chain(shown).collect();
        let mut context = Context { overhead: settings.overhead, ..Context::default() };
        for (entry, &tokens) in entries.iter().zip(pipeline.entry_tokens()) {
            let flags = entry.message.flags;
            let place = match (flags.summary, flags.meta, entry.overlays.is_empty()) {
                (true, _, _) => &mut context.summaries,
                (false, true, _) => &mut context.told,
                (false, false, false) => &mut context.shortened,
                (false, false, true) => &mut context.as_said,
            };
            *place += tokens;
        }
        let kept = context.as_said + context.shortened;
        context.gone = sizes.iter().sum::<u64>().saturating_sub(kept);
        Some(Self {
            model: settings.model.clone(),
            window: settings.window,
            threshold: prepared.threshold,
            price: settings.price.clone(),
            ttl: settings.ttl,
            without,
            with,
            context,
            edits: prepared.pass.changes.len() as u64,
        })
    }

    /// With the lifetime that the client wants its cache to have: writing for the long one costs more.
    pub(super) fn cached_for(mut self, asked: &Asked) -> Self {
        const LONG: [&str; 2] = [r#""ttl":"1h""#, r#""ttl": "1h""#];
        // Only keys match: in a text the quotes would be escaped.
        if LONG.iter().any(|mark| memchr::memmem::find(&asked.body, mark.as_bytes()).is_some()) {
            self.ttl = Ttl::Long;
        }
        self
    }

    pub(super) fn window(&self) -> u64 {
        self.window
    }
}

fn key(what: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// A message of which something is shown in other words.
fn overlaid(entry: &Entry) -> u64 {
    let edits: Vec<_> = entry.overlays.iter().map(|overlay| (&overlay.edit, overlay.block)).collect();
    key(&(&entry.message.id, edits))
}

fn tokens(pieces: &[Piece]) -> u64 {
    pieces.iter().map(|piece| piece.tokens).sum()
}

/// What is known of a request once it is answered.
pub(super) struct Billed<'a> {
    pub(super) usage: Usage,
    /// Why the client's own body was sent; `None`: a rewritten one was.
    pub(super) original: Option<OriginalReason>,
    pub(super) cured: u64,
    pub(super) our_time: Duration,
    pub(super) at: Timestamp,
    pub(super) measured: Option<&'a Measured>,
}

impl Account {
    /// What earlier runs came to, by the events of the ledger. Told once.
    pub(super) fn restore(&mut self, events: &[Event]) {
        if std::mem::replace(&mut self.is_restored, true) {
            return;
        }
        for event in events {
            if let Some(accounted) = Accounted::of(event) {
                self.figures.add(&accounted.figures());
                self.last = self.last.max(event.at);
                self.model = Some(accounted.model).filter(|model| !model.is_empty()).or(self.model.take());
            }
        }
    }

    /// A request came. Says whether it is for another model than the one before.
    pub(super) fn asked(&mut self, at: Timestamp, measured: Option<&Measured>) -> bool {
        self.last = self.last.max(Some(at));
        let Some(measured) = measured else { return false };
        self.window = Some(measured.window);
        self.threshold = measured.threshold;
        self.context = Some(measured.context);
        let is_another = self.model.as_ref() != Some(&measured.model);
        if is_another {
            self.model = Some(measured.model.clone());
        }
        is_another
    }

    /// It was answered.
    pub(super) fn answered(&mut self, answered: &Billed<'_>) -> Accounted {
        let mut accounted = Accounted {
            usage: answered.usage,
            changed: answered.original.is_none(),
            original: answered.original.map(|reason| reason.name().to_owned()),
            cured: answered.cured,
            our_micros: u64::try_from(answered.our_time.as_micros()).unwrap_or(u64::MAX),
            ..Accounted::default()
        };
        if let Some(measured) = answered.measured {
            accounted.model.clone_from(&measured.model);
            accounted.edits = measured.edits;
            accounted.prompt_without = tokens(&measured.without);
            // What was decided may still not have been sent.
            let sent = if accounted.changed { &measured.with } else { &measured.without };
            accounted.prompt_with = tokens(sent);
            let is_billed = measured.price.is_known() && answered.usage != Usage::default();
            accounted.dollars = is_billed.then(|| measured.price.bill(&answered.usage, measured.ttl).dollars);
            let Caches { without, with, .. } = self.caches(measured);
            let request =
                |pieces| Request { output: answered.usage.output, ..Request::whole(pieces).at(answered.at) };
            accounted.dollars_without = without.push(&request(&measured.without)).dollars;
            accounted.dollars_with = with.push(&request(sent)).dollars;
        }
        self.count(&accounted);
        accounted
    }

    /// One more request.
    pub(super) fn count(&mut self, accounted: &Accounted) {
        self.figures.add(&accounted.figures());
    }

    /// The caches of a model. Another model has others.
    fn caches(&mut self, measured: &Measured) -> &mut Caches {
        let known = self.caches.take().filter(|caches| caches.model == measured.model);
        let caches = known.unwrap_or_else(|| {
            let empty = || CacheSim::new(measured.price.clone(), measured.ttl);
            Box::new(Caches { model: measured.model.clone(), without: empty(), with: empty() })
        });
        self.caches.insert(caches)
    }

    /// Nothing was asked for a while: what no cache holds any more is forgotten.
    pub(super) fn rest(&mut self, now: Timestamp) {
        self.caches.take_if(|caches| caches.without.is_cold(Some(now)));
    }
}

impl Thread {
    /// What there is to see of it now.
    pub(crate) fn snapshot(&self) -> SessionSnapshot {
        let awake = self.is_awake();
        let account = self.account();
        SessionSnapshot {
            id: self.session.clone(),
            parent: self.parent.clone(),
            client: self.client.name().to_owned(),
            client_version: self.client_version.clone(),
            cwd: self.cwd.clone(),
            model: account.model.clone(),
            began: self.place.created,
            last: account.last.unwrap_or(self.place.created),
            awake,
            paused: self.is_paused(),
            figures: account.figures.clone(),
            window: account.window,
            threshold: account.threshold,
            context: account.context,
        }
    }
}
