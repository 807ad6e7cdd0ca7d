//! One planned request: what is sent, how, and what the provider does.

use super::{Act, Answers, Dice, End, Leave, Letter, Manner, Talk};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::time::Duration;
use throughline_core::Wire;

/// The header by which a request asks for a fault in whatever stands before the provider.
pub const INJECT: &str = "x-inject";

/// Faults that a request may ask for: where, then what.
const INJECTED: [&str; 8] = [
    "first panic",
    "first error",
    "first slow",
    "thread panic",
    "thread error",
    "decided panic",
    "decided error",
    "learn panic",
];

/// Bytes of a body that is large, sent or answered.
const HUGE: usize = 3 << 20;
/// Waiting between pieces, where somebody is slow.
const SLOW: Duration = Duration::from_millis(1);

/// What the body of a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A conversation.
    Talk,
    /// The same, compressed.
    Compressed,
    /// Said to be compressed, which it is not, or in a way that nobody knows.
    Illegible,
    /// Nothing that a model could be asked.
    Nonsense,
}

/// One planned request.
#[derive(Clone, Debug)]
pub struct Case {
    /// What goes wrong, for tables.
    pub name: &'static str,
    /// What is sent.
    pub letter: Letter,
    /// What its body is.
    pub content: Content,
    /// How it is sent.
    pub manner: Manner,
    /// What the provider does.
    pub act: Act,
    /// The fault that it asks for.
    pub injected: Option<&'static str>,
}

impl Case {
    /// A request that all goes well with.
    pub fn fine(talk: &Talk, turns: usize, answers: &Answers) -> Self {
        let body = answers.of(talk.wire, true)[0].clone();
        Self {
            name: "fine",
            letter: letter(talk, talk.body(turns, true)),
            content: Content::Talk,
            manner: WHOLE,
            act: act(chunked(OK_STREAM, &body, 64), End::Open),
            injected: None,
        }
    }

    /// Any request, after so many turns.
    pub fn draw(dice: &mut Dice, talk: &Talk, turns: usize, answers: &Answers) -> Self {
        let streamed = !dice.one_in(4);
        let (content, mut letter) = draw_letter(dice, talk, turns, streamed);
        let mut injected = None;
        if dice.one_in(6) {
            let which = *dice.pick(&INJECTED);
            letter.headers.push((INJECT.to_owned(), which.to_owned()));
            injected = Some(which);
        }
        let body = dice.pick(answers.of(talk.wire, streamed)).clone();
        let (name, act, leave) = draw_act(dice, body, streamed);
        let mut manner = Manner { leave, ..WHOLE };
        if leave == Leave::Never {
            manner = draw_manner(dice, manner, letter.body.len());
        }
        // Only the answers of a connection that goes on are followed by another request on it.
        Self { name, letter, content, manner, act, injected }
    }
}

const WHOLE: Manner =
    Manner { piece: usize::MAX, pause: Duration::ZERO, chunked: false, leave: Leave::Never };

fn letter(talk: &Talk, body: Vec<u8>) -> Letter {
    let mut headers = vec![
        ("User-Agent".to_owned(), "trial/1.0".to_owned()),
        ("content-type".to_owned(), "application/json".to_owned()),
        ("X-Throughline-Session".to_owned(), talk.name.clone()),
        ("Authorization".to_owned(), "Bearer sk-trial".to_owned()),
        ("accept".to_owned(), "application/json".to_owned()),
    ];
    if talk.wire == Wire::Anthropic {
        headers.push(("anthropic-version".to_owned(), "2023-06-01".to_owned()));
        headers.push(("Anthropic-Beta".to_owned(), "one-2025-01-01,two-2026-02-02".to_owned()));
    }
    Letter { line: format!("POST {}", talk.path()), headers, body }
}

fn draw_letter(dice: &mut Dice, talk: &Talk, turns: usize, streamed: bool) -> (Content, Letter) {
    let body = talk.body(turns, streamed);
    let coded = |coding: &str, body: Vec<u8>| {
        let mut letter = letter(talk, body);
        letter.headers.push(("Content-Encoding".to_owned(), coding.to_owned()));
        letter
    };
    match dice.below(30) {
        0 | 1 => (Content::Compressed, coded("gzip", gzip(&body))),
        2 => (Content::Illegible, coded("gzip", body)),
        3 => (Content::Illegible, coded("x-odd", body)),
        4 => (Content::Nonsense, letter(talk, b"{\"messages\": [".to_vec())),
        5 => (Content::Nonsense, letter(talk, Vec::new())),
        6 => {
            let mut letter = letter(talk, Vec::new());
            letter.line = "GET /v1/models?limit=9".to_owned();
            (Content::Nonsense, letter)
        }
        7 => {
            let mut letter = letter(talk, junk(dice, 200_000));
            letter.line = "POST /v1/files".to_owned();
            (Content::Nonsense, letter)
        }
        8 => {
            let huge = Talk { name: format!("{}-huge", talk.name), words: HUGE / 6, ..talk.clone() };
            (Content::Talk, letter(&huge, huge.body(1, streamed)))
        }
        9 => {
            let mut letter = letter(talk, body);
            letter.headers.push(("Expect".to_owned(), "100-continue".to_owned()));
            (Content::Talk, letter)
        }
        _ => (Content::Talk, letter(talk, body)),
    }
}

fn draw_manner(dice: &mut Dice, manner: Manner, length: usize) -> Manner {
    match dice.below(14) {
        0 => Manner { piece: length / 7 + 1, pause: SLOW, ..manner },
        1 => Manner { piece: length / 5 + 1, chunked: true, ..manner },
        2 if length > 0 => Manner { leave: Leave::Sending(dice.below(length)), ..manner },
        3 => Manner { leave: Leave::OnArrival, ..manner },
        _ => manner,
    }
}

const OK_STREAM: &str = "HTTP/1.1 200 OK\r\nDate: Mon, 16 Nov 2026 10:00:00 GMT\r\nContent-Type: text/event-stream; charset=utf-8\r\nX-Request-Id: req_1\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n";
const OK_WHOLE: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nrequest-id: req_2\r\n";
const ERRORS: [&str; 8] = [
    "HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\ncontent-type: application/json\r\n",
    "HTTP/1.1 429 Too Many Requests\r\nretry-after-ms: 30\r\nx-should-retry: true\r\ncontent-type: application/json\r\n",
    "HTTP/1.1 529 Site Overloaded\r\ncontent-type: application/json\r\n",
    "HTTP/1.1 500 Internal Server Error\r\ncontent-type: application/json\r\n",
    "HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/html\r\n",
    "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\ncontent-type: application/json\r\n",
    "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n",
    "HTTP/1.1 413 Payload Too Large\r\ncontent-type: application/json\r\n",
];
const ERROR_BODY: &[u8] =
    br#"{"type":"error","error":{"type":"some_error","message":"This did not work; try it later."}}"#;

/// What the provider does, and when the client leaves where the answer never ends.
fn draw_act(dice: &mut Dice, body: Vec<u8>, streamed: bool) -> (&'static str, Act, Leave) {
    let head = if streamed { OK_STREAM } else { OK_WHOLE };
    let framed = |dice: &mut Dice, body: &[u8]| {
        if streamed { chunked(head, body, 16 + dice.below(200)) } else { sized(head, body) }
    };
    let whole = |bytes| act(bytes, End::Open);
    let cut_short = |dice: &mut Dice| *dice.pick(&[End::Close, End::Reset]);
    match dice.below(24) {
        0..=4 => ("fine", whole(framed(dice, &body)), Leave::Never),
        5 => ("ends with the connection", act(to_the_end(head, &body), End::Close), Leave::Never),
        6 => {
            let end = cut_short(dice);
            ("no answer", act(Vec::new(), end), Leave::Never)
        }
        7 => {
            let end = cut_short(dice);
            ("cut in the head", act(head.as_bytes()[..dice.below(head.len())].to_vec(), end), Leave::Never)
        }
        8..=10 => {
            let mut bytes = framed(dice, &body);
            let from = head.len();
            bytes.truncate(from + dice.below(bytes.len() - from));
            let end = cut_short(dice);
            ("cut in the body", act(bytes, end), Leave::Never)
        }
        11 => {
            let cut = dice.below(body.len());
            ("half a stream", whole(framed(dice, &body[..cut])), Leave::Never)
        }
        12 => {
            let inside = dice.below(head.len());
            ("stalls before the body", act(head.as_bytes()[..inside].to_vec(), End::Stall), Leave::OnArrival)
        }
        13 => {
            let cut = dice.below(body.len());
            // Half an event, and half of an answer that is no stream, may be held: nobody can use it.
            let (bytes, leave) = if streamed {
                let events = body[..cut].windows(2).rposition(|end| end == b"\n\n").map_or(0, |at| at + 2);
                (unended(head, &body[..cut]), Leave::Reading(events))
            } else {
                (sized_as(head, &body[..cut], body.len()), Leave::OnArrival)
            };
            ("stalls in the body", act(bytes, End::Stall), leave)
        }
        14..=16 => {
            let error = *dice.pick(&ERRORS);
            let bytes =
                if dice.one_in(2) { sized(error, ERROR_BODY) } else { chunked(error, ERROR_BODY, 30) };
            ("refused", whole(bytes), Leave::Never)
        }
        17 => {
            let error = *dice.pick(&ERRORS);
            let cut = dice.below(ERROR_BODY.len());
            let end = cut_short(dice);
            ("refused and cut", act(sized_as(error, &ERROR_BODY[..cut], ERROR_BODY.len()), end), Leave::Never)
        }
        18 => {
            let error = *dice.pick(&ERRORS);
            let cut = dice.below(ERROR_BODY.len());
            let bytes = sized_as(error, &ERROR_BODY[..cut], ERROR_BODY.len());
            ("refused and stalls", act(bytes, End::Stall), Leave::Reading(cut))
        }
        19 => {
            let bytes = junk(dice, 300);
            ("no HTTP", act(bytes, End::Close), Leave::Never)
        }
        20 => {
            let body = junk(dice, 5_000);
            let mut bytes = framed(dice, &body);
            if streamed && dice.one_in(2) {
                bytes.truncate(bytes.len() - 5);
                bytes.extend_from_slice(b"zz\r\nno chunk");
            }
            ("garbage in the body", act(bytes, End::Close), Leave::Never)
        }
        21 => {
            let slow = Act { piece: body.len() / 20 + 1, pause: SLOW, ..whole(framed(dice, &body)) };
            ("slow", slow, Leave::Never)
        }
        22 => {
            let huge = body.repeat(HUGE / 4 / body.len().max(1));
            let leave =
                if dice.one_in(2) { Leave::Reading(1 + dice.below(huge.len() - 1)) } else { Leave::Never };
            ("huge", whole(framed(dice, &huge)), leave)
        }
        _ => {
            let head = format!("{head}content-encoding: gzip\r\n");
            ("compressed", whole(chunked(&head, &gzip(&body), 100)), Leave::Never)
        }
    }
}

fn act(bytes: Vec<u8>, end: End) -> Act {
    Act { bytes: bytes.into(), piece: usize::MAX, pause: Duration::ZERO, end }
}

fn sized(head: &str, body: &[u8]) -> Vec<u8> {
    sized_as(head, body, body.len())
}

fn sized_as(head: &str, body: &[u8], length: usize) -> Vec<u8> {
    [head.as_bytes(), format!("Content-Length: {length}\r\n\r\n").as_bytes(), body].concat()
}

fn unended(head: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = chunked(head, body, 50);
    bytes.truncate(bytes.len() - b"0\r\n\r\n".len());
    bytes
}

fn chunked(head: &str, body: &[u8], size: usize) -> Vec<u8> {
    let mut bytes = [head.as_bytes(), b"Transfer-Encoding: chunked\r\n\r\n"].concat();
    for chunk in body.chunks(size.max(1)) {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

fn to_the_end(head: &str, body: &[u8]) -> Vec<u8> {
    [head.as_bytes(), b"Connection: close\r\n\r\n", body].concat()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// Bytes that are nothing in particular, and no line end that a head could end with.
fn junk(dice: &mut Dice, most: usize) -> Vec<u8> {
    (0..=dice.below(most)).map(|_| dice.below(256) as u8).filter(|byte| *byte != b'\n').collect()
}
