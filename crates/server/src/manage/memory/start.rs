//! The work on handbooks that a session's first words set off (H1).

use super::keeper::Keeper;
use crate::manage::{Report, Thread};
use jiff::Timestamp;
use serde_json::json;
use std::sync::Arc;
use throughline_core::Record;
use throughline_core::pipeline::Journal as _;
use throughline_engine::CrewStart;
use throughline_engine::session::{StartOrder, begun};
use throughline_model::Standing;

impl Keeper {
    /// The user said something: once in a session, old ones are read in the background.
    pub(super) fn begin_handbooks(&mut self, thread: &Arc<Thread>, now: Timestamp) {
        let project = self.place.as_ref().and_then(|place| place.project.clone());
        let (Some(project), Some(hire)) = (project, self.desk.options.hire.clone()) else { return };
        let settings = &self.desk.options.settings.handbook;
        if !settings.generate || std::mem::replace(&mut self.is_begun, true) {
            return;
        }
        let start = CrewStart {
            home: self.desk.home.clone(),
            project,
            store: self.desk.store.clone(),
            hire,
            limits: settings.limits.clone(),
            now: thread.world.now,
        };
        let order = StartOrder {
            start: Arc::new(start),
            session: self.session.clone(),
            governor: self.desk.options.governor.clone(),
            standing: Standing::default(),
            rate_left_percent: settings.limits.rate_left_percent,
            now,
            cancel: self.desk.cancel.child_token(),
        };
        let (Some(work), Ok(runtime)) = (order.begin(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let (thread, desk) = (thread.clone(), self.desk.clone());
        let learning = thread.world.learning.clone();
        let work = async move {
            // One at a time: it may take long, and others are to be kept meanwhile.
            let Ok(_permit) = desk.starts.acquire().await else { return };
            let done = work.await;
            let why = done.as_ref().err().cloned();
            let data = done.unwrap_or_else(|why| json!({"failed": why}));
            let told = tokio::task::spawn_blocking({
                let thread = thread.clone();
                move || {
                    let now = (thread.world.now)();
                    thread.work(|working| {
                        working.journal.append(Record::Event(Box::new(begun(data, now))))?;
                        Ok(())
                    })
                }
            });
            let told = told.await.map(|told| told.err().map(|error| error.to_string()));
            for why in why.into_iter().chain(told.unwrap_or_default()) {
                let why = format!("work on handbooks failed: {why}");
                thread.world.reports.add((thread.world.now)(), Report::Memory(why));
            }
        };
        learning.spawn_on(work, &runtime);
    }
}
