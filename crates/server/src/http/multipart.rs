//! Bodies with the two parts `sizes` and `records`, as Seb's clients send and expect them
//! (RFC 7578). The records are never searched for the boundary: the sizes say where they end.

use ::log::Chunks;
use hyper::body::Bytes;

use ::log::batch::{BYTES_MAX, RECORDS_MAX};

/// Bytes of a part's header at most.
const HEAD_MAX: usize = 4096;
/// Bytes of the sizes at most: each has up to ten digits and a comma, perhaps with spaces.
const SIZES_MAX: usize = RECORDS_MAX * 16;

/// The error, in Seb's words.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// 400.
    Bad(String),
    /// 413.
    TooLarge(String),
}

fn bad<T>(why: impl std::fmt::Display) -> Result<T, Wrong> {
    Err(Wrong::Bad(format!("bad input: {why}")))
}

/// The boundary that a Content-Type names, if it is one of form data.
pub(super) fn boundary(content_type: &str) -> Option<String> {
    let (kind, parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let value = parameters.split(';').find_map(|p| {
        let (name, value) = p.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim())
    });
    Some(value.unwrap_or("").trim_matches('"').to_owned())
}

/// Sizes and records of a body.
pub(super) fn parse(mut body: Chunks, boundary: &str) -> Result<(Vec<u32>, Chunks), Wrong> {
    if boundary.is_empty() {
        return bad("multipart: boundary is empty");
    }
    let delimiter = format!("\r\n--{boundary}");
    let finder = memchr::memmem::Finder::new(&delimiter);
    // The first delimiter may stand at the very beginning.
    let opening = &delimiter[2..];
    let start = body.peek(delimiter.len() + HEAD_MAX);
    let Some(at) = memchr::memmem::find(start, opening.as_bytes()) else { return bad("EOF") };
    body.skip(at + opening.len());
    head(&mut body, "sizes")?;
    // Read further only as far as it takes.
    let mut look = 16 << 10;
    let end = loop {
        let bytes = body.peek(look);
        if let Some(end) = finder.find(bytes) {
            break end;
        }
        if bytes.len() < look {
            return bad("multipart: NextPart: EOF");
        }
        if look > SIZES_MAX {
            let why = format!("payload too large: at most {RECORDS_MAX} records");
            return Err(Wrong::TooLarge(why));
        }
        look *= 4;
    };
    let sizes = sizes(&body.take(end).join())?;
    body.skip(delimiter.len());
    head(&mut body, "records")?;
    let sum: u64 = sizes.iter().map(|s| u64::from(*s)).sum();
    if sum > BYTES_MAX as u64 {
        return Err(Wrong::TooLarge(format!(
            "payload too large: record data expected to be {sum} bytes, buffer is {BYTES_MAX} bytes"
        )));
    }
    let mut rest = body.clone();
    let records = rest.take(sum as usize);
    if records.len() as u64 != sum || rest.peek(delimiter.len()) != delimiter.as_bytes() {
        // How many there are is only looked for to tell.
        let body = body.join();
        let got = finder.find(&body).unwrap_or(body.len());
        return bad(format!("sizes says the payload should be {sum} bytes, got {got}"));
    }
    rest.skip(delimiter.len());
    if !rest.peek(2).starts_with(b"--") {
        return bad("there must be two parts, 'sizes' and 'records', and nothing behind");
    }
    Ok((sizes, records))
}

/// The rest of a delimiter's line and the header of the part, which must be of this name.
fn head(body: &mut Chunks, name: &str) -> Result<(), Wrong> {
    let start = body.peek(HEAD_MAX);
    if start.starts_with(b"--") {
        return bad("EOF");
    }
    let Some(end) = memchr::memmem::find(start, b"\r\n\r\n") else {
        return bad("multipart: malformed part header");
    };
    let text = String::from_utf8_lossy(&start[..end]).into_owned();
    body.skip(end + 4);
    let disposition = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.trim().eq_ignore_ascii_case("content-disposition").then(|| value.to_owned())
    });
    let named = disposition.and_then(|d| {
        d.split(';').find_map(|p| {
            let (key, value) = p.split_once('=')?;
            (key.trim() == "name").then(|| value.trim().trim_matches('"').to_owned())
        })
    });
    if named.as_deref() != Some(name) {
        return bad("expect part 'sizes' to be first");
    }
    Ok(())
}

fn sizes(json: &[u8]) -> Result<Vec<u32>, Wrong> {
    if json == b"null" {
        return bad("null not a valid list of sizes");
    }
    let sizes: Vec<u32> = match serde_json::from_slice(json) {
        Ok(sizes) => sizes,
        Err(e) => return bad(format!("parsing batch sizes JSON: {e}")),
    };
    if sizes.is_empty() {
        return bad("multipart 'sizes' must contain a json-encoded list of record sizes");
    }
    if sizes.len() > RECORDS_MAX {
        let count = sizes.len();
        let why = format!("payload too large: {count} records, at most {RECORDS_MAX}");
        return Err(Wrong::TooLarge(why));
    }
    Ok(sizes)
}

/// An answer in this form. Its boundary is random: clients search records for it, and no producer must be
/// able to write a record that ends a part.
pub(super) struct Form {
    boundary: String,
}

impl Form {
    pub(super) fn new() -> Self {
        let mut random = [0; 16];
        if stdx::rng::fill_from_os(&mut random).is_err() {
            // Not in any way to be guessed by others either.
            let at = std::ptr::from_ref(&random) as u64;
            stdx::rng::Rng::from_seed(at).fill(&mut random);
        }
        Self { boundary: format!("apus-{:032x}", u128::from_le_bytes(random)) }
    }

    /// Its Content-Type.
    pub(super) fn content_type(&self) -> String {
        format!("multipart/form-data; boundary={}", self.boundary)
    }

    /// A body of these records.
    pub(super) fn encode(
        &self,
        sizes: impl Iterator<Item = u32>,
        records: Vec<Bytes>,
    ) -> Vec<Bytes> {
        let part = |name: &str| {
            let boundary = &self.boundary;
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n")
        };
        let mut first = part("sizes");
        first.push('[');
        for (i, size) in sizes.enumerate() {
            if i > 0 {
                first.push(',');
            }
            first.push_str(&size.to_string());
        }
        first.push_str("]\r\n");
        first.push_str(&part("records"));
        let mut pieces = vec![Bytes::from(first)];
        pieces.extend(records);
        pieces.push(self.nothing());
        pieces
    }

    /// The end of a body, or one without parts.
    pub(super) fn nothing(&self) -> Bytes {
        Bytes::from(format!("\r\n--{}--\r\n", self.boundary))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(parts: &[(&str, &str)]) -> String {
        let mut text = String::new();
        for (name, content) in parts {
            text.push_str(&format!(
                "--B\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{content}\r\n"
            ));
        }
        text + "--B--\r\n"
    }

    fn parsed(text: &str, piece: usize) -> Result<(Vec<u32>, Bytes), Wrong> {
        let mut chunks = Chunks::default();
        text.as_bytes().chunks(piece).for_each(|c| chunks.push(Bytes::copy_from_slice(c)));
        parse(chunks, "B").map(|(sizes, records)| (sizes, records.join()))
    }

    #[test]
    fn both_parts_in_pieces_of_any_size() {
        let text = form(&[("sizes", "[1,2, 0]"), ("records", "abc")]);
        for piece in [1, 2, 7, 64, 4096] {
            let expected = (vec![1, 2, 0], Bytes::from_static(b"abc"));
            assert_eq!(parsed(&text, piece), Ok(expected));
        }
        // Records may look like anything.
        let tricky = "\r\n--B\r\n--B--";
        let text = form(&[("sizes", &format!("[{}]", tricky.len())), ("records", tricky)]);
        assert_eq!(parsed(&text, 9).map(|(_, r)| r), Ok(Bytes::from(tricky)));
    }

    #[test]
    fn what_is_wrong_is_said_as_seb_says_it() {
        let says = |parts: &[(&str, &str)]| match parsed(&form(parts), 4096) {
            Err(Wrong::Bad(why)) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(says(&[]), "bad input: EOF");
        assert_eq!(says(&[("sizes", "[1]")]), "bad input: EOF");
        let order = "bad input: expect part 'sizes' to be first";
        assert_eq!(says(&[("records", "a"), ("sizes", "[1]")]), order);
        assert_eq!(says(&[("sizes", "[1]"), ("other", "a")]), order);
        let null = "bad input: null not a valid list of sizes";
        assert_eq!(says(&[("sizes", "null"), ("records", "")]), null);
        let none = "bad input: multipart 'sizes' must contain a json-encoded list of record sizes";
        assert_eq!(says(&[("sizes", "[]"), ("records", "")]), none);
        assert!(says(&[("sizes", "[-1]"), ("records", "")]).contains("parsing batch sizes JSON"));
        for (sizes, records, got) in [("[3]", "ab", 2), ("[1]", "ab", 2), ("[1,1]", "", 0)] {
            let sum = if sizes == "[3]" { 3 } else { 1 + usize::from(sizes.len() > 3) };
            assert_eq!(
                says(&[("sizes", sizes), ("records", records)]),
                format!("bad input: sizes says the payload should be {sum} bytes, got {got}")
            );
        }
        let three = says(&[("sizes", "[1]"), ("records", "a"), ("more", "b")]);
        assert_eq!(
            three,
            "bad input: there must be two parts, 'sizes' and 'records', and nothing behind"
        );
        let large = form(&[("sizes", "[4294967295,4294967295]"), ("records", "")]);
        assert!(matches!(parsed(&large, 4096), Err(Wrong::TooLarge(_))));
        let whole = form(&[("sizes", "[1]"), ("records", "a")]);
        // All but the last line break.
        for cut in 0..whole.len() - 2 {
            assert!(parsed(&whole[..cut], 4096).is_err(), "{cut} bytes");
        }
    }

    #[test]
    fn what_is_encoded_is_parsed() {
        let records = vec![Bytes::from_static(b"ab"), Bytes::from_static(b"c")];
        let mut chunks = Chunks::default();
        let form = Form::new();
        form.encode([2, 0, 1].into_iter(), records).into_iter().for_each(|p| chunks.push(p));
        assert_ne!(form.boundary, Form::new().boundary);
        let boundary = boundary(&form.content_type()).expect("form data");
        let (sizes, records) = parse(chunks, &boundary).expect("sound");
        assert_eq!((sizes, records.join()), (vec![2, 0, 1], Bytes::from_static(b"abc")));
    }

    #[test]
    fn boundaries() {
        assert_eq!(boundary("multipart/form-data; boundary=\"a b\""), Some("a b".to_owned()));
        assert_eq!(boundary("Multipart/Form-Data;x=y; Boundary=q"), Some("q".to_owned()));
        assert_eq!(boundary("multipart/form-data"), Some(String::new()));
        assert_eq!(boundary("multipart/mixed; boundary=x"), None);
    }
}
