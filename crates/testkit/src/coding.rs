//! Bodies that come compressed.

use std::io::{self, Write};

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// `gzip`.
    Gzip,
    /// `br`.
    Brotli,
    /// `zstd`.
    Zstd,
}

impl Coding {
    /// As `content-encoding` and `accept-encoding` write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// The body in this form. Nothing can fail but memory.
    pub fn encode(self, body: &[u8]) -> Vec<u8> {
        match self {
            Self::Gzip => gzip(body).unwrap_or_default(),
            Self::Brotli => brotli(body),
            Self::Zstd => {
                ruzstd::encoding::compress_to_vec(body, ruzstd::encoding::CompressionLevel::Fastest)
            }
        }
    }
}

fn gzip(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(body)?;
    packed.finish()
}

/// A brotli stream of blocks that are stored, not compressed: valid, and without an encoder.
fn brotli(body: &[u8]) -> Vec<u8> {
    // A window of 64 KB is the single bit 0; every block begins where a byte does, but the first behind that bit.
    let mut stream = Vec::new();
    let mut begun = 1;
    for block in body.chunks(1 << 16) {
        // Not the last (0), four nibbles of length (00), the length less one, stored (1).
        let length = u32::try_from(block.len() - 1).unwrap_or_default();
        let head = (length << 3 | 1 << 19) << begun;
        stream.extend_from_slice(&head.to_le_bytes()[..3]);
        stream.extend_from_slice(block);
        begun = 0;
    }
    // The last block (1), and it is empty (1).
    stream.push(0b11 << begun);
    stream
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two blocks of `br` as RFC 7932 lays them out, by hand.
    #[test]
    fn brotli_blocks_are_laid_out_as_the_rfc_says() {
        assert_eq!(Coding::Brotli.encode(b""), [0b110]);
        // Bits from the lowest: window 0, last 0, nibbles 00, length-1 = 2 in 16 bits, stored 1, padding.
        assert_eq!(Coding::Brotli.encode(b"abc"), [0b0010_0000, 0, 0b1_0000, b'a', b'b', b'c', 0b11]);
        let long = Coding::Brotli.encode(&[b'x'; (1 << 16) + 1]);
        assert_eq!(long.len(), 3 + (1 << 16) + 3 + 1 + 1);
    }
}
