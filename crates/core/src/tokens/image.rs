//! Pictures and documents: tokens by size, the size read from the first bytes of the file.

use crate::Source;

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
}

/// How a provider turns a picture into tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageRule {
    /// One token for each 750 pixels, after shrinking to fit.
    Area {
        /// The longest side that is not shrunk.
        edge: u32,
        /// The most tokens one picture takes.
        most: u64,
    },
    /// So many for each square of 512 pixels, after shrinking to fit 2048 and then 768 on the short side.
    Tiles {
        /// Tokens of any picture.
        base: u64,
        /// Tokens of a square.
        tile: u64,
    },
    /// So many for each square of 32 pixels.
    Patches {
        /// The most squares; larger pictures are shrunk.
        most: u64,
        /// Tokens for a hundred squares.
        per_hundred: u64,
    },
}

impl ImageRule {
    /// Claude up to 4.6.
    pub const CLAUDE: Self = Self::Area { edge: 1568, most: 1_600 };
    /// Claude from 4.7 on.
    pub const CLAUDE_4_7: Self = Self::Area { edge: 2576, most: 4_784 };
    /// gpt-4o and gpt-4.1; also the guess for open models.
    pub const TILES_GPT_4O: Self = Self::Tiles { base: 85, tile: 170 };
    /// gpt-5.
    pub const TILES_GPT_5: Self = Self::Tiles { base: 70, tile: 140 };
    /// o1 and o3.
    pub const TILES_O: Self = Self::Tiles { base: 75, tile: 150 };
    /// The small models since gpt-4.1-mini.
    pub const PATCHES: Self = Self::Patches { most: 1_536, per_hundred: 162 };

    /// Tokens of a picture of this size.
    ///
    /// ```
    /// use throughline_core::tokens::{ImageRule, Size};
    ///
    /// let size = Size { width: 1024, height: 1024 };
    /// assert_eq!(ImageRule::CLAUDE.tokens(size), 1_399);
    /// assert_eq!(ImageRule::TILES_GPT_4O.tokens(size), 765);
    /// ```
    pub fn tokens(self, size: Size) -> u64 {
        let (width, height) = (f64::from(size.width.max(1)), f64::from(size.height.max(1)));
        match self {
            Self::Area { edge, most } => {
                let scale = (f64::from(edge) / width.max(height)).min(1.0);
                let tokens = (width * scale * height * scale / 750.0).ceil() as u64;
                tokens.clamp(1, most)
            }
            Self::Tiles { base, tile } => {
                let fit = (2048.0 / width.max(height)).min(1.0);
                let fit = fit * (768.0 / (width.min(height) * fit)).min(1.0);
                let tiles = |side: f64| ((side * fit).round() / 512.0).ceil().max(1.0) as u64;
                base + tile * tiles(width) * tiles(height)
            }
            Self::Patches { most, per_hundred } => {
                let patches = (width / 32.0).ceil() as u64 * (height / 32.0).ceil() as u64;
                patches.min(most) * per_hundred / 100
            }
        }
    }

    /// Tokens of a picture, from whatever the message holds of it. Where the size can't be read (an address, a
    /// file id, an unknown format) it is taken to be 1024 by 1024.
    pub fn source_tokens(self, source: &Source) -> u64 {
        self.tokens(Size::of(source).unwrap_or(Size { width: 1024, height: 1024 }))
    }
}

impl Size {
    /// The size of a picture that stands in the message as base64, also in a `data:` address.
    ///
    /// ```
    /// use throughline_core::tokens::Size;
    ///
    /// let gif = "R0lGODlhAwACAPAAAAAAAAAAACH5BAAAAAAALAAAAAADAAIAAAIChF0AOw==";
    /// assert_eq!(Size::of_base64(gif), Some(Size { width: 3, height: 2 }));
    /// ```
    pub fn of_base64(data: &str) -> Option<Self> {
        // All but JPEG tell their size at once; JPEG may carry a colour profile and a thumbnail first.
        let head = decode(data, 32);
        if head.starts_with(&[0xff, 0xd8]) { jpeg(&decode(data, 256 * 1024)) } else { header(&head) }
    }

    fn of(source: &Source) -> Option<Self> {
        match source {
            Source::Base64 { data, .. } => Self::of_base64(data),
            Source::Url(url) => {
                let (kind, data) = url.strip_prefix("data:")?.split_once(',')?;
                kind.ends_with(";base64").then(|| Self::of_base64(data)).flatten()
            }
            Source::File(_) | Source::Other(_) => None,
        }
    }
}

fn header(b: &[u8]) -> Option<Size> {
    let be32 = |at: usize| Some(u32::from_be_bytes(b.get(at..at + 4)?.try_into().ok()?));
    let le16 = |at: usize| Some(u32::from(u16::from_le_bytes(b.get(at..at + 2)?.try_into().ok()?)));
    let le24 = |at: usize| Some(le16(at)? | u32::from(*b.get(at + 2)?) << 16);
    if b.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some(Size { width: be32(16)?, height: be32(20)? });
    }
    if b.starts_with(b"GIF8") {
        return Some(Size { width: le16(6)?, height: le16(8)? });
    }
    if b.starts_with(b"RIFF") && b.get(8..12)? == b"WEBP" {
        return match b.get(12..16)? {
            b"VP8 " => Some(Size { width: le16(26)? & 0x3fff, height: le16(28)? & 0x3fff }),
            b"VP8L" => {
                let bits = le16(21)? | le16(23)? << 16;
                Some(Size { width: (bits & 0x3fff) + 1, height: (bits >> 14 & 0x3fff) + 1 })
            }
            b"VP8X" => Some(Size { width: le24(24)? + 1, height: le24(27)? + 1 }),
            _ => None,
        };
    }
    None
}

fn jpeg(b: &[u8]) -> Option<Size> {
    let be16 = |at: usize| Some(u32::from(u16::from_be_bytes(b.get(at..at + 2)?.try_into().ok()?)));
    let mut at = 2;
    loop {
        if *b.get(at)? != 0xff {
            return None;
        }
        match *b.get(at + 1)? {
            0xff => at += 1,
            // A frame header; c4, c8 and cc are tables.
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some(Size { width: be16(at + 7)?, height: be16(at + 5)? });
            }
            0x01 | 0xd0..=0xd8 => at += 2,
            _ => at += 2 + usize::try_from(be16(at + 2)?).ok()?,
        }
    }
}

/// At least the first `bytes` bytes of base64, if there are so many; stops at anything that is not base64.
fn decode(data: &str, bytes: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.min(data.len()) + 3);
    let (mut bits, mut held) = (0u32, 0);
    for byte in data.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'\r' | b'\n' | b' ' => continue,
            _ => break,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            if out.len() >= bytes {
                break;
            }
        }
    }
    out
}

/// Tokens of a document, by its size alone: a text by its bytes, anything else as pages of 50 KB and 2,250 tokens
/// (providers charge 1,500 to 3,000 a page). One page where the size is unknown.
///
/// ```
/// use throughline_core::Source;
/// use throughline_core::tokens::document_tokens;
///
/// let pdf = Source::Base64 { media_type: "application/pdf".into(), data: "A".repeat(200_000) };
/// assert_eq!(document_tokens(&pdf), 6_750);
/// ```
pub fn document_tokens(source: &Source) -> u64 {
    const PAGE_BYTES: u64 = 50_000;
    const PAGE_TOKENS: u64 = 2_250;
    const TEXT_BYTES_PER_TOKEN: u64 = 3;
    match source {
        Source::Base64 { media_type, data } => {
            let bytes = data.len() as u64 * 3 / 4;
            if media_type.starts_with("text/") {
                bytes.div_ceil(TEXT_BYTES_PER_TOKEN)
            } else {
                bytes.div_ceil(PAGE_BYTES).max(1) * PAGE_TOKENS
            }
        }
        Source::Url(_) | Source::File(_) => PAGE_TOKENS,
        // Most often a text that stands in the message.
        Source::Other(value) => (value.to_string().len() as u64).div_ceil(TEXT_BYTES_PER_TOKEN),
    }
}
