//! What the requests of one conversation come to.

use super::{Accounted, Context, Figures, SessionSnapshot, Thread};
use jiff::Timestamp;

/// What the requests of one conversation came to, and how it looked at the newest one.
#[derive(Debug, Default)]
pub(super) struct Account {
    /// All requests, earlier runs included.
    pub(super) figures: Figures,
    /// The newest request.
    last: Option<Timestamp>,
    model: Option<String>,
    window: Option<u64>,
    threshold: Option<u64>,
    context: Option<Context>,
}

impl Account {
    /// A request came.
    pub(super) fn asked(&mut self, at: Timestamp) {
        self.last = self.last.max(Some(at));
    }

    /// It was answered.
    pub(super) fn answered(&mut self, accounted: &Accounted) {
        self.figures.add(&accounted.figures());
        if !accounted.model.is_empty() {
            self.model = Some(accounted.model.clone());
        }
    }
}

impl Thread {
    /// What there is to see of it now.
    pub(crate) fn snapshot(&self) -> SessionSnapshot {
        let account = self.account();
        SessionSnapshot {
            id: self.session.clone(),
            parent: None,
            client: self.client.name().to_owned(),
            client_version: self.client_version.clone(),
            cwd: self.cwd.clone(),
            model: account.model.clone(),
            began: self.began,
            last: account.last.unwrap_or(self.began),
            awake: self.is_awake(),
            figures: account.figures.clone(),
            window: account.window,
            threshold: account.threshold,
            context: account.context,
        }
    }
}
