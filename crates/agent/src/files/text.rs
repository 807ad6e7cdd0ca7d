//! Bytes of a file as text, and back without loss.

/// How text is written as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf8WithMark,
    Utf16Le,
    Utf16Be,
    Latin1,
    /// Mostly UTF-8, with bytes that are not: legible, but it can't be written back.
    Damaged,
}

impl Encoding {
    /// A word for models; nothing for what is usual.
    pub(crate) fn note(self) -> Option<&'static str> {
        match self {
            Self::Utf8 | Self::Utf8WithMark => None,
            Self::Utf16Le => Some("UTF-16 (little endian); Edit keeps it"),
            Self::Utf16Be => Some("UTF-16 (big endian); Edit keeps it"),
            Self::Latin1 => Some("not UTF-8, read as Latin-1; Edit keeps it"),
            Self::Damaged => Some(
                "not valid UTF-8; the bytes that are not are shown as \u{FFFD}, and Edit can't change it",
            ),
        }
    }
}

/// Text of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) encoding: Encoding,
}

const MARK: &[u8] = b"\xEF\xBB\xBF";

impl Text {
    /// The text of some bytes; `None` where they are none.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let with = |text, encoding| Some(Self { text, encoding });
        if let Some(rest) = bytes.strip_prefix(b"\xFF\xFE") {
            return with(utf16(rest, u16::from_le_bytes)?, Encoding::Utf16Le);
        }
        if let Some(rest) = bytes.strip_prefix(b"\xFE\xFF") {
            return with(utf16(rest, u16::from_be_bytes)?, Encoding::Utf16Be);
        }
        if looks_binary(bytes) {
            return None;
        }
        if let Some(text) = bytes.strip_prefix(MARK).and_then(|rest| str::from_utf8(rest).ok()) {
            return with(text.to_owned(), Encoding::Utf8WithMark);
        }
        match str::from_utf8(bytes) {
            Ok(text) => with(text.to_owned(), Encoding::Utf8),
            Err(_) if bytes.utf8_chunks().all(|chunk| chunk.valid().is_ascii()) => {
                with(bytes.iter().map(|byte| char::from(*byte)).collect(), Encoding::Latin1)
            }
            Err(_) => with(String::from_utf8_lossy(bytes).into_owned(), Encoding::Damaged),
        }
    }

    /// The bytes of a text in the same encoding. An error says what can't be written in it.
    pub(crate) fn encode(text: &str, encoding: Encoding) -> Result<Vec<u8>, String> {
        match encoding {
            Encoding::Utf8 => Ok(text.as_bytes().to_vec()),
            Encoding::Utf8WithMark => Ok([MARK, text.as_bytes()].concat()),
            Encoding::Utf16Le => {
                Ok([0xFF, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect())
            }
            Encoding::Utf16Be => {
                Ok([0xFE, 0xFF].into_iter().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect())
            }
            Encoding::Latin1 => text
                .chars()
                .map(|c| {
                    u8::try_from(c)
                        .map_err(|_| format!("the file is in Latin-1, which has no {c:?}: leave it out"))
                })
                .collect(),
            Encoding::Damaged => {
                Err("the file is not valid UTF-8, so it can't be changed without loss here: use Bash"
                    .to_owned())
            }
        }
    }
}

/// Whether bytes are no text: they hold a NUL, or many other control characters.
pub(crate) fn looks_binary(bytes: &[u8]) -> bool {
    if bytes.contains(&0) {
        return true;
    }
    let start = &bytes[..bytes.len().min(8192)];
    let is_odd = |byte: &&u8| matches!(byte, 1..=6 | 14..=26 | 28..=31 | 127);
    start.iter().filter(is_odd).count() * 10 > start.len()
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (units, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let text: String =
        char::decode_utf16(units.iter().map(|pair| unit(*pair))).collect::<Result<_, _>>().ok()?;
    (!text.contains('\0')).then_some(text)
}
