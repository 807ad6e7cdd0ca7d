//! Every backend is a store.

use super::Backend;
use super::editions::{Newest, Publish};
use super::finish::{FinishConsolidate, FinishExtract};
use super::forget::{Forget, Prune, Reset, SetMode};
use super::jobs::{Enqueue, Fail, Release, Renew, Take};
use super::lists::{Jobs, Runs};
use super::outputs::{Cite, OutputOf, Outputs, Scopes};
use crate::handbook::Scope;
use crate::store::{
    Answer, Cited, Claim, Consolidated, Edition, Enqueued, Extracted, Failure, Held, Job, JobKind, Lease,
    Output, Pruned, Run, Store, Wanted,
};
use jiff::Timestamp;
use throughline_core::{MemoryMode, SessionId};

impl<B: Backend> Store for B {
    fn enqueue<'a>(&'a self, wanted: &'a [Wanted]) -> Answer<'a, Enqueued> {
        Box::pin(self.run(Enqueue(wanted.to_vec())))
    }

    fn claim<'a>(&'a self, claim: &'a Claim) -> Answer<'a, Vec<Lease>> {
        Box::pin(self.run(Take(claim.clone())))
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> Answer<'a, Held> {
        Box::pin(self.run(Renew(lease.clone())))
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> Answer<'a, Held> {
        Box::pin(self.run(Release(lease.clone())))
    }

    fn fail<'a>(&'a self, lease: &'a Lease, failure: &'a Failure) -> Answer<'a, Held> {
        Box::pin(self.run(Fail(lease.clone(), failure.clone())))
    }

    fn finish_extract<'a>(&'a self, lease: &'a Lease, extracted: &'a Extracted) -> Answer<'a, Held> {
        Box::pin(self.run(FinishExtract(lease.clone(), extracted.clone())))
    }

    fn finish_consolidate<'a>(
        &'a self,
        lease: &'a Lease,
        consolidated: &'a Consolidated,
    ) -> Answer<'a, Held> {
        Box::pin(self.run(FinishConsolidate(lease.clone(), consolidated.clone())))
    }

    fn outputs<'a>(
        &'a self,
        scope: &'a Scope,
        cutoff: Option<Timestamp>,
        most: usize,
    ) -> Answer<'a, Vec<Output>> {
        Box::pin(self.run(Outputs { scope: scope.clone(), cutoff, most }))
    }

    fn output<'a>(&'a self, session: &'a SessionId) -> Answer<'a, Option<Output>> {
        Box::pin(self.run(OutputOf(session.clone())))
    }

    fn cite<'a>(&'a self, cited: &'a Cited) -> Answer<'a, u64> {
        Box::pin(self.run(Cite(cited.clone())))
    }

    fn set_mode<'a>(&'a self, session: &'a SessionId, mode: MemoryMode) -> Answer<'a, ()> {
        Box::pin(self.run(SetMode(session.clone(), mode)))
    }

    fn forget<'a>(&'a self, session: &'a SessionId) -> Answer<'a, bool> {
        Box::pin(self.run(Forget(session.clone())))
    }

    fn prune<'a>(&'a self, cutoff: Timestamp, most: usize) -> Answer<'a, Pruned> {
        Box::pin(self.run(Prune(cutoff, most)))
    }

    fn reset<'a>(&'a self, scope: Option<&'a Scope>) -> Answer<'a, ()> {
        Box::pin(self.run(Reset(scope.cloned())))
    }

    fn edition<'a>(&'a self, scope: &'a Scope) -> Answer<'a, Option<Edition>> {
        Box::pin(self.run(Newest(scope.clone())))
    }

    fn publish<'a>(&'a self, edition: &'a Edition, after: u64) -> Answer<'a, Option<u64>> {
        Box::pin(self.run(Publish(edition.clone(), after)))
    }

    fn jobs<'a>(&'a self, kind: Option<JobKind>, most: usize) -> Answer<'a, Vec<Job>> {
        Box::pin(self.run(Jobs(kind, most)))
    }

    fn runs<'a>(&'a self, since: Option<Timestamp>, most: usize) -> Answer<'a, Vec<Run>> {
        Box::pin(self.run(Runs(since, most)))
    }

    fn scopes<'a>(&'a self) -> Answer<'a, Vec<Scope>> {
        Box::pin(self.run(Scopes))
    }

    fn is_shared(&self) -> bool {
        Backend::is_shared(self)
    }
}
