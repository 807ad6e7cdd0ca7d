//! Bodies that were compressed, made legible. Nothing is ever compressed here.

use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use std::io::Read;

/// The text of a body; `None` if it can't be made legible, or is larger than `most` bytes.
pub(crate) fn legible(headers: &HeaderMap, bytes: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut plain = bytes.to_vec();
    // The last coding was applied last.
    for coding in codings(headers)?.into_iter().rev() {
        plain = match coding {
            Coding::Gzip => read(flate2::read::MultiGzDecoder::new(plain.as_slice()), most)?,
            Coding::Deflate => read(flate2::read::ZlibDecoder::new(plain.as_slice()), most)?,
            Coding::Brotli => read(brotli_decompressor::Decompressor::new(plain.as_slice(), 4096), most)?,
            Coding::Zstd => read(ruzstd::decoding::StreamingDecoder::new(plain.as_slice()).ok()?, most)?,
        };
    }
    (plain.len() <= most).then_some(plain)
}

/// Whether a body is plain.
pub(crate) fn is_plain(headers: &HeaderMap) -> bool {
    codings(headers).is_some_and(|codings| codings.is_empty())
}

#[derive(Clone, Copy)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

fn codings(headers: &HeaderMap) -> Option<Vec<Coding>> {
    let mut codings = Vec::new();
    for value in headers.get_all(CONTENT_ENCODING) {
        for name in value.to_str().ok()?.split(',') {
            match name.trim().to_ascii_lowercase().as_str() {
                "" | "identity" => {}
                "gzip" | "x-gzip" => codings.push(Coding::Gzip),
                "deflate" => codings.push(Coding::Deflate),
                "br" => codings.push(Coding::Brotli),
                "zstd" => codings.push(Coding::Zstd),
                _ => return None,
            }
        }
    }
    Some(codings)
}

/// A body that was cut off is legible up to there.
fn read(reader: impl Read, most: usize) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let read = reader.take(most as u64 + 1).read_to_end(&mut plain);
    (read.is_ok() || !plain.is_empty()).then_some(plain).filter(|plain| plain.len() <= most)
}
