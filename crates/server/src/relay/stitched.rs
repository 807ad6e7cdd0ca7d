//! Answers in which the model may call tools of ours: the client gets one answer, whatever it took.
//!
//! **What if a later part fails?** Nothing of a call of ours is ever sent. A stream ends as the provider's did: a broken connection
//! breaks the client's, an error event is passed on. If the provider refuses the next request altogether, the client of a stream,
//! which has its head already, sees a connection that breaks, and asks again; the client of a whole answer gets the refusal.
//! A refusal that would come again (4xx) takes our tools out of the conversation, so that asking again works.

use super::begun::Begun;
use super::outgoing::Outgoing;
use super::refusal::Refusal;
use super::retry::AnswerForm;
use super::{Body, Broken, Sending, coding, headers, watch};
use crate::budget::Hold;
use crate::manage::{Ended, OwnTurn, Seen, Turn};
use crate::timed::Timed;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Response, response};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use std::error::Error;
use throughline_core::Usage;
use throughline_wire::stitch::{Ending, Form, Round, Stitcher};

type AnyError = Box<dyn Error + Send + Sync>;

/// The answer to a request in which the model has tools of ours.
pub(super) async fn stitched(
    sending: Sending,
    response: Response<Begun>,
    turn: Turn,
    own: OwnTurn,
) -> Result<Response<Body>, Broken> {
    let most = sending.shared.settings.limits.answer_bytes;
    if !coding::is_plain(response.headers()) {
        // Asked not to, and does it all the same.
        own.illegible().await;
        return Ok(watch::observed(response, turn, &sending.shared));
    }
    let form = form(response.headers());
    let (mut head, body) = response.into_parts();
    let copy = Copy {
        turn: Some(turn),
        headers: head.headers.clone(),
        pieces: Vec::new(),
        size: 0,
        most,
        earlier: Vec::new(),
        as_told: true,
        hold: sending.shared.budget.hold(),
    };
    let limits = &sending.shared.settings.limits;
    let stitcher = own.stitcher(form).limit(most, limits.event_bytes);
    let answer = Answer { stitcher, sending, own, copy };
    match form {
        Form::Streamed => {
            headers::drop_hop(&mut head.headers);
            head.headers.remove(CONTENT_LENGTH);
            let live = Live { answer, body, is_over: false, broken: None };
            let frames = stream::try_unfold(live, Live::next).map(|piece| piece.map(Frame::data));
            Ok(Response::from_parts(head, StreamBody::new(frames).boxed_unsync()))
        }
        Form::Whole => answer.whole(head, body.into_rest()).await,
    }
}

fn form(headers: &HeaderMap) -> Form {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    match kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
        true => Form::Streamed,
        false => Form::Whole,
    }
}

/// One answer for the client.
struct Answer {
    sending: Sending,
    own: OwnTurn,
    stitcher: Stitcher,
    copy: Copy,
}

/// The provider's newest answer, for whoever learns from it. If the client leaves, it is handed over as it is then.
struct Copy {
    turn: Option<Turn>,
    headers: HeaderMap,
    pieces: Vec<Bytes>,
    size: usize,
    most: usize,
    /// What those before it cost.
    earlier: Vec<Usage>,
    /// Nothing of it was kept from the client.
    as_told: bool,
    hold: Hold,
}

impl Copy {
    /// Takes the next piece; `false` if there is no room to hold the answer any longer.
    fn add(&mut self, data: &Bytes) -> bool {
        self.size = self.size.saturating_add(data.len());
        // The stitcher holds it once more.
        if self.size <= self.most && self.hold.grow(data.len().saturating_mul(watch::COPIES + 1)) {
            self.pieces.push(data.clone());
            return true;
        }
        // What comes behind a gap is of no use.
        self.most = 0;
        false
    }

    /// Holds the answer no longer.
    fn forget(&mut self) {
        (self.most, self.pieces) = (0, Vec::new());
        self.hold.release();
    }

    /// The next one follows.
    fn begin(&mut self, before: Usage, headers: HeaderMap) {
        self.earlier.push(before);
        (self.headers, self.size) = (headers, 0);
        self.pieces.clear();
        self.hold.release();
    }

    fn hand_over(&mut self, ended: Ended) {
        let Some(turn) = self.turn.take() else { return };
        let (headers, pieces) = (std::mem::take(&mut self.headers), std::mem::take(&mut self.pieces));
        let earlier = std::mem::take(&mut self.earlier);
        let (is_whole, as_told) = (self.size <= self.most, self.as_told);
        turn.finish(Seen { headers, pieces, is_whole, ended, earlier, as_told, _hold: self.hold.take() });
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        self.hand_over(Ended::ClientLeft);
    }
}

/// What comes after one of the provider's answers.
enum Next {
    /// Nothing.
    Over,
    /// Another that continues it.
    More(Response<Timed>),
    /// Another should continue it, and does not.
    Failed(Failure),
}

enum Failure {
    Refused(Response<Timed>),
    Unreachable,
}

impl Answer {
    /// The provider's answer has come to its end.
    async fn end(&mut self, out: &mut Vec<u8>) -> Next {
        match self.stitcher.end(out) {
            Ending::Over(None) => Next::Over,
            Ending::Broken => {
                self.copy.as_told = false;
                Next::Over
            }
            Ending::Over(Some(last)) => {
                self.copy.as_told = false;
                self.own.over(&last).await;
                Next::Over
            }
            Ending::Mixed(round) => {
                self.copy.as_told = false;
                self.own.mixed(&round).await;
                Next::Over
            }
            Ending::Ours(round) => {
                self.copy.as_told = false;
                self.go_on(&round, out).await
            }
        }
    }

    async fn go_on(&mut self, round: &Round, out: &mut Vec<u8>) -> Next {
        let Some(body) = self.own.go_on(round).await else {
            self.stitcher.give_up(out);
            self.own.cut(round).await;
            return Next::Over;
        };
        let next = Outgoing::Rewritten(body);
        match self.sending.send_outgoing(&next, &Bytes::new(), AnswerForm::Uncompressed).await {
            Ok(response) if response.status().is_success() => {
                self.stitcher.go_on();
                self.copy.begin(round.response.usage, response.headers().clone());
                Next::More(response)
            }
            Ok(response) => {
                self.own.refused(response.status()).await;
                Next::Failed(Failure::Refused(response))
            }
            Err(_) => Next::Failed(Failure::Unreachable),
        }
    }

    /// An answer that comes as one object.
    async fn whole(mut self, mut head: response::Parts, body: Timed) -> Result<Response<Body>, Broken> {
        let first = Refusal::answer(body, self.copy.most, self.sending.shared.budget.hold()).await;
        let Some(received) = first.whole() else {
            // Cut short, or too long to be looked at: it goes as it came.
            self.copy.hand_over(Ended::Broken);
            return Ok(watch::refused(head, first));
        };
        let (mut out, mut received) = (Vec::new(), Bytes::from(received));
        loop {
            // It is charged for already.
            self.copy.size = received.len();
            self.copy.pieces.push(received.clone());
            self.stitcher.push(&received, &mut out);
            let next = match self.end(&mut out).await {
                Next::Over => break,
                Next::More(response) => {
                    let hold = self.sending.shared.budget.hold();
                    Refusal::answer(response.into_body(), self.copy.most, hold).await.whole()
                }
                Next::Failed(Failure::Refused(response)) => {
                    self.copy.hand_over(Ended::Broken);
                    return Ok(watch::untouched(response));
                }
                Next::Failed(Failure::Unreachable) => None,
            };
            let Some(next) = next else {
                self.copy.hand_over(Ended::Broken);
                return Err(Broken);
            };
            received = next.into();
        }
        self.copy.hand_over(Ended::Well);
        if out == received {
            return Ok(watch::refused(head, first));
        }
        if head.headers.contains_key(CONTENT_LENGTH) {
            head.headers.insert(CONTENT_LENGTH, HeaderValue::from(out.len()));
        }
        headers::drop_hop(&mut head.headers);
        Ok(Response::from_parts(head, super::whole(out)))
    }
}

/// An answer that comes as a stream.
struct Live {
    answer: Answer,
    body: Begun,
    is_over: bool,
    /// The provider's connection broke: so does the client's, once it has what came before.
    broken: Option<AnyError>,
}

impl Live {
    /// The next piece for the client. It is asked for when the client has taken the one before.
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, AnyError> {
        let mut out = Vec::new();
        while !self.is_over {
            if let Some(error) = self.broken.take() {
                self.answer.copy.hand_over(Ended::Broken);
                return Err(error);
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    let Ok(data) = frame.into_data() else { continue };
                    let answer = &mut self.answer;
                    if !answer.copy.add(&data) {
                        answer.stitcher.forget();
                    }
                    answer.stitcher.push(&data, &mut out);
                    if answer.stitcher.is_forgotten() {
                        answer.copy.forget();
                    }
                    if answer.stitcher.has_overflowed() {
                        let most = answer.sending.shared.settings.limits.event_bytes;
                        return Err(
                            self.broken(&format!("an event of more than {most} bytes (proxy.event_bytes)"))
                        );
                    }
                }
                Some(Err(error)) => {
                    // Whatever it waits for, nobody is there to be asked.
                    let _ = self.answer.stitcher.end(&mut out);
                    self.broken = Some(error);
                }
                None => match self.answer.end(&mut out).await {
                    Next::Over => {
                        self.is_over = true;
                        self.answer.copy.hand_over(Ended::Well);
                    }
                    Next::More(response) if form(response.headers()) == Form::Streamed => {
                        self.body = response.into_body().into();
                    }
                    Next::More(_) => return Err(self.broken("an answer of another form")),
                    Next::Failed(Failure::Refused(response)) => {
                        return Err(self.broken(response.status().canonical_reason().unwrap_or("a refusal")));
                    }
                    Next::Failed(Failure::Unreachable) => return Err(self.broken("nothing")),
                },
            }
            if !out.is_empty() {
                return Ok(Some((out.into(), self)));
            }
        }
        Ok(None)
    }

    fn broken(&mut self, got: &str) -> AnyError {
        self.answer.copy.hand_over(Ended::Broken);
        Box::from(format!("the answer can't be continued: the provider gave {got}"))
    }
}
