//! One answer of the model, and those that continue it.

use super::super::{Asked, ManageError, Report, Thread, guarded};
use super::answer::{self, Budget, none};
use bytes::Bytes;
use http::StatusCode;
use std::sync::Arc;
use std::time::Duration;
use throughline_core::pipeline::Moment;
use throughline_wire::Response;
use throughline_wire::splice::{Body, Changes};
use throughline_wire::stitch::{Form, OwnResult, Round, Stitched, Stitcher};

/// How often a model is answered before it is told that it was often enough.
const MOST_ROUNDS: usize = 5;
/// How long an answer of ours may take: the model was waited for as long.
const ANSWERING: Duration = Duration::from_secs(10);

/// The answer to one request in which the model has tools of ours.
pub(crate) struct OwnTurn {
    thread: Arc<Thread>,
    asked: Arc<Asked>,
    names: Vec<&'static str>,
    /// What was sent.
    sent: Bytes,
    rounds: usize,
    budget: Budget,
    /// From the first call on.
    stitched: Option<Stitched>,
}

impl OwnTurn {
    pub(in crate::manage) fn new(
        thread: Arc<Thread>,
        asked: Arc<Asked>,
        names: Vec<&'static str>,
        sent: Bytes,
    ) -> Self {
        Self { thread, asked, names, sent, rounds: 0, budget: Budget::default(), stitched: None }
    }

    /// What makes one answer of several.
    pub(crate) fn stitcher(&self, form: Form) -> Stitcher {
        Stitcher::new(self.thread.wire, form, &self.names)
    }

    /// The model waits for us alone: what to ask next. `None`: nothing, the answer is to be ended without our calls.
    pub(crate) async fn go_on(&mut self, round: &Round) -> Option<Bytes> {
        self.rounds += 1;
        if self.rounds > MOST_ROUNDS + 1 {
            return None;
        }
        if self.rounds > MOST_ROUNDS {
            self.budget.exhaust();
        }
        let results = self.answer(round).await;
        let stitched = self.stitched()?;
        stitched.go_on(round, &results);
        let elements = stitched.elements();
        let body = Body::share(self.thread.wire, self.sent.clone()).ok()?;
        let mut changes = Changes::default();
        changes.replace(body.len()..body.len(), elements);
        Some(body.rebuild(&changes).ok()?.into_owned().into())
    }

    /// The answer is over, and the client is about to hear it: `last` is what it gets of the last part.
    pub(crate) async fn over(&mut self, last: &Response) {
        if let Some(mut stitched) = self.stitched.take() {
            stitched.end(last);
            self.learn(stitched).await;
        }
    }

    /// The answer is over although the model waits for us.
    pub(crate) async fn cut(&mut self, round: &Round) {
        if let Some(mut stitched) = self.stitched.take() {
            stitched.end_without(round);
            self.learn(stitched).await;
        }
    }

    /// The model waits for the client and for us: our results go with the client's, in its next request.
    pub(crate) async fn mixed(&mut self, round: &Round) {
        let results = self.answer(round).await;
        if self.stitched().is_some()
            && let Some(mut stitched) = self.stitched.take()
        {
            stitched.end_mixed(round, &results);
            self.learn(stitched).await;
        }
    }

    /// The provider did not take what we asked next. If it never will, this conversation goes on without our tools.
    pub(crate) async fn refused(&self, status: StatusCode) {
        let passes = [StatusCode::REQUEST_TIMEOUT, StatusCode::CONFLICT, StatusCode::TOO_MANY_REQUESTS];
        if status.is_client_error() && !passes.contains(&status) {
            self.withdraw(format!("the provider refused our results: {status}")).await;
        }
    }

    /// The provider answers in a form that we can't look into.
    pub(crate) async fn illegible(&self) {
        self.withdraw("the provider's answers are compressed".to_owned()).await;
    }

    async fn withdraw(&self, why: String) {
        let moment = self.moment();
        self.blocking(move |thread| {
            thread.work(|working| working.own.withdraw(&why, &moment, &mut working.journal))
        })
        .await;
    }

    async fn answer(&mut self, round: &Round) -> Vec<OwnResult> {
        let (calls, mut budget) = (round.calls.clone(), self.budget);
        let answered = self.blocking(move |thread| {
            let results = thread.answer(&calls, &mut budget)?;
            Ok((results, budget))
        });
        match answered.await {
            Some((results, left)) => {
                self.budget = left;
                results
            }
            None => round.calls.iter().map(|call| none(call, answer::FAILED)).collect(),
        }
    }

    async fn learn(&self, stitched: Stitched) {
        let moment = self.moment();
        self.blocking(move |thread| {
            thread.work(|working| working.own.learn(stitched, &moment, &mut working.journal))
        })
        .await;
    }

    /// Does something off the path of requests, within its time. What goes wrong is reported.
    async fn blocking<T: Send + 'static>(
        &self,
        what: impl FnOnce(&Thread) -> Result<T, ManageError> + Send + 'static,
    ) -> Option<T> {
        let thread = self.thread.clone();
        let task = tokio::task::spawn_blocking(move || what(&thread));
        let done = guarded::within(ANSWERING, task).await;
        done.map_err(|error| self.thread.world.reports.add(self.asked.at, Report::from(error))).ok()
    }

    fn stitched(&mut self) -> Option<&mut Stitched> {
        if self.stitched.is_none() {
            let request = Body::share(self.thread.wire, self.asked.body.clone()).ok()?;
            self.stitched = Some(Stitched::to(&request));
        }
        self.stitched.as_mut()
    }

    fn moment(&self) -> Moment {
        Moment { now: Some((self.thread.world.now)()), ..Moment::default() }
    }
}
