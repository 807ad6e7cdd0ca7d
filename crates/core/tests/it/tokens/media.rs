//! Pictures and documents.

use proptest::prelude::*;
use serde_json::json;
use throughline_core::Source;
use throughline_core::tokens::{ImageRule, Size, document_tokens};

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, &b| bits << 8 | u32::from(b)) << (8 * (3 - chunk.len()));
        for digit in 0..=chunk.len() {
            out.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    out + &"=".repeat((3 - bytes.len() % 3) % 3)
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 6, 0, 0, 0]);
    bytes
}

fn jpeg(width: u16, height: u16, preamble: usize) -> Vec<u8> {
    let mut bytes = vec![0xff, 0xd8];
    for _ in 0..preamble {
        bytes.extend([0xff, 0xe1, 0xff, 0xff]);
        bytes.extend(vec![0; 0xfffd]);
    }
    bytes.extend([0xff, 0xc4, 0, 4, 1, 2, 0xff, 0xff, 0xc2, 0, 17, 8]);
    bytes.extend(height.to_be_bytes());
    bytes.extend(width.to_be_bytes());
    bytes
}

#[test]
fn w3_sizes_are_read_from_the_first_bytes() {
    let size = |width, height| Some(Size { width, height });
    assert_eq!(Size::of_base64(&base64(&png(1280, 720))), size(1280, 720));
    assert_eq!(Size::of_base64(&base64(&jpeg(640, 480, 0))), size(640, 480));
    assert_eq!(Size::of_base64(&base64(&jpeg(640, 480, 2))), size(640, 480));
    assert_eq!(Size::of_base64(&base64(b"GIF89a\x40\x01\xc8\x00")), size(320, 200));
    let webp = |kind: &[u8], rest: &[u8]| base64(&[b"RIFF\0\0\0\0WEBP", kind, b"\0\0\0\0", rest].concat());
    assert_eq!(
        Size::of_base64(&webp(b"VP8 ", &[0, 0, 0, 0x9d, 1, 0x2a, 0x40, 0x01, 0xc8, 0])),
        size(320, 200)
    );
    let bits = (319u32 | 199 << 14).to_le_bytes();
    assert_eq!(Size::of_base64(&webp(b"VP8L", &[&[0x2f], &bits[..], &[0, 0]].concat())), size(320, 200));
    assert_eq!(Size::of_base64(&webp(b"VP8X", &[0, 0, 0, 0, 0x3f, 1, 0, 0xc7, 0, 0, 0])), size(320, 200));
    for unknown in ["", "!!!!", "AAAA", "iVBORw0KGgo", "/9j/", "UklGRgAAAABXRUJQ"] {
        assert_eq!(Size::of_base64(unknown), None, "{unknown}");
    }
}

#[test]
fn w3_pictures_cost_what_their_provider_says() {
    let size = |width, height| Size { width, height };
    let claude = [((200, 200), 54), ((1000, 1000), 1_334), ((1092, 1092), 1_590), ((8000, 8000), 1_600)];
    for ((width, height), tokens) in claude {
        assert_eq!(ImageRule::CLAUDE.tokens(size(width, height)), tokens);
    }
    assert_eq!(ImageRule::CLAUDE.tokens(size(3136, 100)), 105, "shrunk to 1568 by 50");
    assert_eq!(ImageRule::CLAUDE_4_7.tokens(size(2000, 1500)), 4_000);
    // The worked examples of OpenAI's guide.
    assert_eq!(ImageRule::TILES_GPT_4O.tokens(size(1024, 1024)), 765);
    assert_eq!(ImageRule::TILES_GPT_4O.tokens(size(2048, 4096)), 1_105);
    assert_eq!(ImageRule::PATCHES.tokens(size(1024, 1024)), 1_024 * 162 / 100);
    assert_eq!(ImageRule::PATCHES.tokens(size(1800, 2400)), 1_536 * 162 / 100);
}

#[test]
fn w3_a_picture_is_found_in_a_data_address_and_guessed_at_elsewhere() {
    let data = base64(&png(512, 512));
    let inline = Source::Base64 { media_type: "image/png".into(), data: data.clone() };
    let rule = ImageRule::TILES_GPT_4O;
    assert_eq!(rule.source_tokens(&inline), 255);
    assert_eq!(rule.source_tokens(&Source::Url(format!("data:image/png;base64,{data}"))), 255);
    for source in
        [Source::Url("https://example.com/a.png".into()), Source::File("f".into()), Source::Other(json!(1))]
    {
        assert_eq!(rule.source_tokens(&source), 765);
    }
}

#[test]
fn w3_documents_are_estimated_by_size() {
    let pdf = |bytes| Source::Base64 { media_type: "application/pdf".into(), data: "A".repeat(bytes) };
    assert_eq!(document_tokens(&pdf(0)), 2_250);
    assert_eq!(document_tokens(&pdf(400_000)), 6 * 2_250);
    let text = Source::Base64 { media_type: "text/plain".into(), data: "A".repeat(4_000) };
    assert_eq!(document_tokens(&text), 1_000);
    assert_eq!(document_tokens(&Source::File("f".into())), 2_250);
}

proptest! {
    #[test]
    fn w3_no_bytes_are_a_bad_picture(bytes in proptest::collection::vec(any::<u8>(), 0..200), head in 0..5usize) {
        let head: &[u8] = [&b""[..], b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8"][head];
        let source = Source::Base64 { media_type: "image/png".into(), data: base64(&[head, &bytes].concat()) };
        prop_assert!(ImageRule::CLAUDE.source_tokens(&source) <= 1_600);
    }
}
