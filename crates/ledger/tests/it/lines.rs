use proptest::prelude::*;
use std::io::Write;
use throughline_ledger::{BackwardLines, ForwardLines};

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    // Lines around the size of a chunk, so that ends fall on every side of its border.
    let line = prop_oneof![
        Just(Vec::new()),
        proptest::collection::vec(any::<u8>(), 0..40),
        (65_530usize..65_545).prop_map(|n| vec![b'x'; n]),
    ];
    proptest::collection::vec(line, 0..6).prop_map(|lines| lines.join(&b'\n'))
}

proptest! {
    #[test]
    fn backwards_is_forwards_reversed(bytes in bytes()) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&bytes).unwrap();
        let path = file.path().to_owned();

        let mut forward = Vec::new();
        let mut lines = ForwardLines::new(bytes.as_slice(), &path, 0);
        while let Some(line) = lines.next_line().unwrap() {
            forward.push(format!("{line:?}"));
        }
        let mut backward = Vec::new();
        let mut lines = BackwardLines::new(file.as_file(), &path, bytes.len() as u64);
        while let Some(line) = lines.next_line().unwrap() {
            backward.push(format!("{line:?}"));
        }
        backward.reverse();
        prop_assert_eq!(forward, backward);
    }

    #[test]
    fn forward_lines_add_up_to_the_file(bytes in bytes()) {
        let mut expected: Vec<&[u8]> = bytes.split(|&b| b == b'\n').collect();
        if expected.last().is_some_and(|last| last.is_empty()) {
            expected.pop();
        }
        let mut lines = ForwardLines::new(bytes.as_slice(), "x".as_ref(), 0);
        let mut at = 0;
        while let Some(line) = lines.next_line().unwrap() {
            let throughline_ledger::Content::Whole(text) = line.bytes else { panic!("no line is too long") };
            prop_assert_eq!(text, expected[at]);
            prop_assert_eq!(line.offset as usize, offset_of(&expected, at));
            at += 1;
        }
        prop_assert_eq!(at, expected.len());
    }
}

fn offset_of(lines: &[&[u8]], at: usize) -> usize {
    lines[..at].iter().map(|line| line.len() + 1).sum()
}

#[test]
fn a_line_beyond_the_limit_is_told_and_not_held() {
    use std::io::Read;
    use throughline_ledger::{Content, MAX_LINE};
    let long = std::io::repeat(b'x').take(MAX_LINE as u64 + 100_000);
    let source = (&b"a\n"[..]).chain(long).chain(&b"\nb\n"[..]);
    let mut lines = ForwardLines::new(source, "x".as_ref(), 0);
    let mut seen = Vec::new();
    while let Some(line) = lines.next_line().unwrap() {
        seen.push((
            line.offset,
            match line.bytes {
                Content::Whole(text) => String::from_utf8(text.to_vec()).unwrap(),
                Content::TooLong(bytes) => format!("{bytes} bytes"),
            },
        ));
    }
    let length = MAX_LINE as u64 + 100_000;
    assert_eq!(seen, [(0, "a".into()), (2, format!("{length} bytes")), (2 + length + 1, "b".into())]);
}
