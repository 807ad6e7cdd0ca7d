//! Who works, and with what.

use crate::context::Context;
use clap::ValueEnum;
use jiff::Timestamp;
use std::path::Path;
use std::sync::Arc;
use throughline_core::cost::Prices;
use throughline_engine::config::{Config, HandbookSettings};
use throughline_engine::session::StartWork;
use throughline_engine::{CrewStart, Hire};
use throughline_ledger::Home;
use throughline_memory::Project;
use throughline_memory::handbook::work::{
    BookConsolidator, Crew, ModelReader, Phases, SessionExtractor, WorkLimits,
};
use throughline_memory::handbook::{HomeId, ProjectKey};
use throughline_memory::store::{Store, WorkerId};
use throughline_model::{Caps, Model, SystemClock};

/// Who reads sessions and writes handbooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScribeArg {
    /// From what was said and done, without a model.
    #[default]
    Offline,
    /// By the model of the configuration (`[scribe]`, else `[model]`, else the usual variables).
    Model,
}

/// What the consolidation of one handbook by a model may take.
const BOOK_CAPS: Caps =
    Caps { turns: 40, input_tokens: 3_000_000, output_tokens: 60_000, dollars: 3.0, seconds: 1_800 };

/// Who does the work.
#[derive(Clone)]
pub(crate) struct Hands {
    /// Who reads sessions; nobody: the offline scribe.
    reader: Option<ModelReader>,
    /// Who writes handbooks; nobody: the offline scribe.
    writer: Option<ModelReader>,
}

impl Hands {
    /// As somebody asks for it.
    pub(crate) fn new(
        context: &Context,
        settings: &HandbookSettings,
        scribe: ScribeArg,
    ) -> anyhow::Result<Self> {
        match scribe {
            ScribeArg::Offline => Ok(Self { reader: None, writer: None }),
            ScribeArg::Model => {
                let reader = |name: &Option<String>| match name {
                    Some(name) => named(context, name),
                    None => of(context, Arc::from(context.scribe_model()?)),
                };
                let reader_of = |name| reader(name).map(Some);
                Ok(Self {
                    reader: reader_of(&settings.extract_model)?,
                    writer: reader_of(&settings.consolidation_model)?,
                })
            }
        }
    }

    /// Behind a session: the models that the user named for it, and else the offline scribe. What runs unasked spends nothing that nobody
    /// said it may.
    pub(crate) fn behind(context: &Context, settings: &HandbookSettings) -> anyhow::Result<Self> {
        let reader = |name: &Option<String>| name.as_ref().map(|name| named(context, name)).transpose();
        Ok(Self { reader: reader(&settings.extract_model)?, writer: reader(&settings.consolidation_model)? })
    }

    /// The name of the model that reads, if one does.
    pub(crate) fn model_id(&self) -> Option<&str> {
        self.reader.as_ref().map(|reader| reader.model.id())
    }
}

fn named(context: &Context, name: &str) -> anyhow::Result<ModelReader> {
    of(context, Arc::from(context.model_named(name)?))
}

fn of(context: &Context, model: Arc<dyn Model>) -> anyhow::Result<ModelReader> {
    let price = Prices::builtin().of(model.id());
    Ok(ModelReader { model, window: context.window()?, price })
}

/// A crew for a store and a home, which tells nobody what it does.
pub(crate) fn crew_of(
    home: &Home,
    settings: &HandbookSettings,
    hands: Hands,
    (store, id): (Arc<dyn Store>, HomeId),
) -> Crew {
    let now: fn() -> Timestamp = Timestamp::now;
    let Hands { reader, writer } = hands;
    let is_offline = reader.is_none();
    let limits = settings.limits.clone();
    let extract = SessionExtractor { home: home.clone(), model: reader, limits: limits.clone(), now };
    let consolidate = BookConsolidator {
        store: Arc::clone(&store),
        home: home.clone(),
        model: writer,
        caps: BOOK_CAPS,
        limits: limits.clone(),
        now,
    };
    let mut work = WorkLimits::of(&limits);
    if is_offline {
        // What computes gains nothing from more than there are cores.
        work.extract = std::thread::available_parallelism().map_or(1, usize::from);
    }
    Crew {
        store,
        phases: Phases { extract: Box::new(extract), consolidate: Box::new(consolidate) },
        home: id,
        worker: WorkerId(format!("{}:{}", machine(), std::process::id())),
        limits: work,
        clock: Arc::new(SystemClock),
        listen: Box::new(|_| ()),
    }
}

/// Who works behind sessions.
pub(crate) fn hire(context: &Context, settings: &HandbookSettings) -> anyhow::Result<Hire> {
    let hands = Hands::behind(context, settings)?;
    let (home, own) = (context.home.clone(), settings.clone());
    Ok(Arc::new(move |store, id| crew_of(&home, &own, hands.clone(), (store, id))))
}

/// What the first words of a session set off on handbooks (H1), unless they are switched off.
pub(crate) fn start_work(
    context: &Context,
    config: &Config,
    cwd: &Path,
) -> anyhow::Result<Option<Arc<dyn StartWork>>> {
    let settings = &config.memory.handbook;
    if !config.memory.enabled || !settings.enabled || !settings.generate {
        return Ok(None);
    }
    let project = Project::look(&context.home, cwd);
    let hire = hire(context, settings)?;
    Ok(Some(Arc::new(CrewStart {
        home: context.home.clone(),
        project: ProjectKey::of(&project, &HomeId::of(&context.home)?),
        store: settings.lazy_store(&context.home),
        hire,
        limits: settings.limits.clone(),
        now: Timestamp::now,
    })))
}

/// The machine's name, for people.
fn machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| std::env::var("HOSTNAME").ok());
    name.map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "here".to_owned())
}
