//! What a file is that is no text, by its first bytes.

/// The media type of a picture that models can see.
pub(super) fn picture(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if bytes.starts_with(b"\xFF\xD8\xFF") {
        Some("image/jpeg")
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        Some("image/gif")
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else {
        None
    }
}

/// Where a signature stands, what it is, and what it means.
const KINDS: &[(usize, &[u8], &str)] = &[
    (0, b"%PDF-", "a PDF document"),
    (0, b"PK\x03\x04", "a ZIP archive, or a document in one"),
    (0, b"\x1F\x8B", "gzip data"),
    (0, b"BZh", "bzip2 data"),
    (0, b"\xFD7zXZ\0", "xz data"),
    (0, b"\x28\xB5\x2F\xFD", "zstd data"),
    (0, b"7z\xBC\xAF\x27\x1C", "a 7-Zip archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"\x7FELF", "an ELF program or library"),
    (0, b"MZ", "a Windows program or library"),
    (0, b"\xCF\xFA\xED\xFE", "a Mach-O program or library"),
    (0, b"\xCA\xFE\xBA\xBE", "a Java class or a Mach-O program"),
    (0, b"\0asm", "a WebAssembly module"),
    (0, b"SQLite format 3\0", "an SQLite database"),
    (0, b"BM", "a BMP picture"),
    (0, b"II*\0", "a TIFF picture"),
    (0, b"MM\0*", "a TIFF picture"),
    (0, b"\0\0\x01\0", "an icon"),
    (4, b"ftyp", "a video or picture of the MP4 family"),
    (0, b"OggS", "Ogg media"),
    (0, b"ID3", "MP3 audio"),
    (0, b"fLaC", "FLAC audio"),
    (0, b"RIFF", "RIFF media"),
    (0, b"\0\x01\0\0", "a TrueType font"),
    (0, b"wOF2", "a web font"),
];

/// Why it is not shown.
pub(super) fn refusal(bytes: &[u8], len: u64, shown: &str) -> String {
    let known =
        KINDS.iter().find(|(at, mark, _)| bytes.get(*at..).is_some_and(|rest| rest.starts_with(mark)));
    let kind = known.map_or("of an unknown kind", |(_, _, kind)| kind);
    format!(
        "{shown} is a binary file ({kind}, {len} bytes), which can't be shown as text: use Bash with a program that knows it"
    )
}
