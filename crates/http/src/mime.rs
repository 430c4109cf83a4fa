//! Media types by the ends of file names, as IANA lists them and browsers expect them.

/// Names' ends and types.
const TYPES: &[(&str, &str)] = &[
    ("html", "text/html; charset=utf-8"),
    ("htm", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("map", "application/json"),
    ("webmanifest", "application/manifest+json"),
    ("jsonld", "application/ld+json"),
    ("txt", "text/plain; charset=utf-8"),
    ("md", "text/markdown; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("ics", "text/calendar; charset=utf-8"),
    ("xml", "application/xml"),
    ("atom", "application/atom+xml"),
    ("rss", "application/rss+xml"),
    ("xhtml", "application/xhtml+xml"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("apng", "image/apng"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("ico", "image/vnd.microsoft.icon"),
    ("bmp", "image/bmp"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("ttf", "font/ttf"),
    ("otf", "font/otf"),
    ("mp3", "audio/mpeg"),
    ("ogg", "audio/ogg"),
    ("wav", "audio/wav"),
    ("flac", "audio/flac"),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
    ("pdf", "application/pdf"),
    ("wasm", "application/wasm"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("tar", "application/x-tar"),
];

/// What a name says nothing about.
pub const BYTES: &str = "application/octet-stream";

/// The type of a file with this name.
#[must_use]
pub fn of(name: &str) -> &'static str {
    let file = name.rsplit('/').next().unwrap_or(name);
    let Some((_, end)) = file.rsplit_once('.') else { return BYTES };
    TYPES.iter().find(|(e, _)| end.eq_ignore_ascii_case(e)).map_or(BYTES, |(_, t)| t)
}

/// Whether compressing content of this type makes it smaller.
#[must_use]
pub fn is_compressible(content_type: &str) -> bool {
    let name = content_type.split(';').next().unwrap_or("").trim();
    name.starts_with("text/")
        || name.ends_with("+xml")
        || name.ends_with("+json")
        || matches!(name, "application/json" | "application/xml" | "application/wasm")
}
