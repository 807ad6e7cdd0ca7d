//! Streams of bytes: any chunking, any line end, nothing unbounded.

use proptest::prelude::*;
use throughline_wire::sse::{Event, Parser, SseError};

fn parse(chunks: &[&[u8]]) -> Vec<Event> {
    let mut parser = Parser::default();
    let mut out = Vec::new();
    for chunk in chunks {
        parser.push(chunk, &mut out).unwrap();
    }
    out.extend(parser.finish());
    out
}

fn event(name: Option<&str>, data: &str) -> Event {
    Event { name: name.map(str::to_owned), data: data.to_owned() }
}

#[test]
fn w1_all_forms_of_a_stream_are_read() {
    let stream = "\u{feff}: a comment\nevent: one\ndata: {\"a\":1}\n\ndata:no space\r\ndata\r\ndata:  two spaces\r\n\r\n\
                  id: 7\nretry: 10\nnew: thing\nevent: no data\n\n\n\nevent: last\rdata: x\r\r";
    assert_eq!(
        parse(&[stream.as_bytes()]),
        [event(Some("one"), "{\"a\":1}"), event(None, "no space\n\n two spaces"), event(Some("last"), "x")]
    );
}

#[test]
fn w1_an_event_without_its_blank_line_is_handed_out_at_the_end() {
    assert_eq!(parse(&[b"data: [DONE]"]), [event(None, "[DONE]")]);
    assert_eq!(parse(&[b"data: [DONE]\n"]), [event(None, "[DONE]")]);
}

#[test]
fn w1_a_stream_that_never_ends_an_event_is_an_error() {
    let mut parser = Parser::new(100);
    let mut out = Vec::new();
    parser.push(b"data: ok\n\n", &mut out).unwrap();
    let endless = (0..1000).map(|_| parser.push(b"data: 0123456789\n", &mut out)).find(Result::is_err);
    assert_eq!(endless, Some(Err(SseError::TooLarge { limit: 100 })));
    let mut parser = Parser::new(100);
    assert_eq!(parser.push(&[b'x'; 101], &mut out), Err(SseError::TooLarge { limit: 100 }));
    assert_eq!(out.len(), 1, "what came before is kept");
}

#[test]
fn w1_bytes_that_are_no_text_are_an_error() {
    let mut out = Vec::new();
    assert_eq!(Parser::default().push(b"data: \xff\n", &mut out), Err(SseError::NotUtf8));
}

proptest! {
    #[test]
    fn w1_written_events_are_read_again_at_any_chunking(
        events in proptest::collection::vec((proptest::option::of("[a-z_.]{1,9}"), "[a-z :日本\\n]{0,20}"), 0..5),
        cuts in proptest::collection::vec(0..400usize, 0..6),
    ) {
        let events: Vec<Event> = events.into_iter().map(|(name, data)| Event { name, data }).collect();
        let mut bytes = Vec::new();
        events.iter().for_each(|event| event.write(&mut bytes));
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
        prop_assert_eq!(parse(&chunks), events);
    }

    #[test]
    fn w1_any_bytes_are_events_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut out = Vec::new();
        let _ = Parser::new(64).push(&bytes, &mut out);
    }
}
