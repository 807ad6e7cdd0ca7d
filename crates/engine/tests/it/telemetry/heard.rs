//! What a test's own thread says in spans and events.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Once;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry, filter};

thread_local! {
    static HEARD: RefCell<Option<Heard>> = const { RefCell::new(None) };
}

/// Spans in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct Heard(pub(crate) Vec<Noted>);

/// A span.
#[derive(Debug)]
pub(crate) struct Noted {
    pub(crate) name: &'static str,
    /// Where its parent is.
    pub(crate) parent: Option<usize>,
    /// Whether it has a link to what set it off.
    pub(crate) is_linked: bool,
    pub(crate) fields: Fields,
    pub(crate) events: Vec<(&'static str, Fields)>,
}

#[derive(Debug, Default)]
pub(crate) struct Fields(BTreeMap<&'static str, String>);

impl Fields {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(crate) fn count(&self, name: &str) -> i64 {
        self.get(name).and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{name} in {self:?}"))
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Heard {
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &Noted> {
        self.0.iter().filter(move |noted| noted.name == name)
    }

    /// The only span of this name, with the names of those around it.
    pub(crate) fn one(&self, name: &str) -> (&Noted, Vec<&'static str>) {
        let mut found = self.all(name);
        let (Some(noted), None) = (found.next(), found.next()) else { panic!("one {name} in {self:#?}") };
        (noted, self.around(noted))
    }

    pub(crate) fn around(&self, noted: &Noted) -> Vec<&'static str> {
        let above = std::iter::successors(noted.parent, |at| self.0[*at].parent);
        above.map(|at| self.0[at].name).collect()
    }
}

/// Everything that is said on this thread meanwhile.
pub(crate) fn listen(speak: impl FnOnce()) -> Heard {
    init();
    HEARD.set(Some(Heard::default()));
    speak();
    HEARD.take().unwrap()
}

/// One listener for all tests: those for a part of the code get into each other's way. Tests that send spans elsewhere
/// call this first, for the same reason.
pub(crate) fn init() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ours = filter::filter_fn(|metadata| metadata.target().starts_with("throughline"));
        tracing::subscriber::set_global_default(Registry::default().with(ours).with(Ear)).unwrap();
    });
}

/// Where a span is in its thread's list.
struct Place(usize);

struct Ear;

impl Ear {
    fn note<S: Subscriber + for<'a> LookupSpan<'a>>(
        id: &Id,
        context: &Context<'_, S>,
        note: impl FnOnce(&mut Noted),
    ) {
        let span = context.span(id).unwrap();
        let Some(at) = span.extensions().get::<Place>().map(|place| place.0) else { return };
        HEARD.with_borrow_mut(|heard| {
            if let Some(noted) = heard.as_mut().and_then(|heard| heard.0.get_mut(at)) {
                note(noted);
            }
        });
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Ear {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let parent = span.parent().and_then(|parent| parent.extensions().get::<Place>().map(|place| place.0));
        HEARD.with_borrow_mut(|heard| {
            let Some(Heard(spans)) = heard else { return };
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(Place(spans.len()));
            spans.push(Noted { name: span.name(), parent, is_linked: false, fields, events: Vec::new() });
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        Self::note(id, &context, |noted| values.record(&mut noted.fields));
    }

    fn on_follows_from(&self, id: &Id, _: &Id, context: Context<'_, S>) {
        Self::note(id, &context, |noted| noted.is_linked = true);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if let Some(span) = context.event_span(event) {
            let mut fields = Fields::default();
            event.record(&mut fields);
            Self::note(&span.id(), &context, |noted| noted.events.push((event.metadata().name(), fields)));
        }
    }
}
