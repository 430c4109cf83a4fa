//! The head of a request: its first line and its fields. RFC 9112, sections 2 to 6.

use crate::target::Target;
use crate::{Bad, Limits};

/// Fields that a request may have.
pub const FIELDS_MAX: usize = 64;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of RFC 9110 and RFC 5789")]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
}

impl Method {
    /// The method with this name, which is compared with regard to case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "GET" => Self::Get,
            "HEAD" => Self::Head,
            "POST" => Self::Post,
            "PUT" => Self::Put,
            "PATCH" => Self::Patch,
            "DELETE" => Self::Delete,
            "OPTIONS" => Self::Options,
            _ => return None,
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
        }
    }

    /// Whether it changes nothing.
    #[must_use]
    pub fn is_safe(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Options)
    }
}

/// How long the body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// So many bytes; 0: there is none.
    Length(u64),
    /// In chunks.
    Chunked,
}

/// The head of a request, borrowed from the input.
pub struct Head<'b> {
    /// What is asked for.
    pub method: Method,
    /// Of what.
    pub target: Target<'b>,
    /// The field Host, or the authority of an absolute target.
    pub host: &'b str,
    /// HTTP/1.0 is 0.
    pub minor: u8,
    /// The connection stays open behind the response.
    pub keep_alive: bool,
    /// How long the body is.
    pub framing: Framing,
    /// The client waits for `100 Continue` before it sends the body.
    pub expects_continue: bool,
    /// The field Accept-Encoding: the codings that the client can undo.
    pub accept_encoding: Option<&'b [u8]>,
    /// The field If-None-Match: what the client has.
    pub if_none_match: Option<&'b [u8]>,
    /// Bytes of the input that the head takes.
    pub len: usize,
    fields: [httparse::Header<'b>; FIELDS_MAX],
    count: usize,
}

impl<'b> Head<'b> {
    /// All fields in their order.
    pub fn fields(&self) -> impl Iterator<Item = (&'b str, &'b [u8])> + '_ {
        self.fields[..self.count].iter().map(|f| (f.name, f.value))
    }

    /// The first field with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'b [u8]> {
        self.fields().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The first field with this name, if it is text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&'b str> {
        self.get(name).and_then(|value| std::str::from_utf8(value).ok())
    }
}

/// Parses the head at the beginning of `input`; none: it is not whole yet.
///
/// # Errors
/// It is refused: see [`Bad`].
pub fn parse<'b>(input: &'b [u8], limits: &Limits) -> Result<Option<Head<'b>>, Bad> {
    // Empty lines in front of a request: old clients send one behind a body.
    let start = input.iter().take(4).take_while(|b| matches!(b, b'\r' | b'\n')).count();
    if start > 2 {
        return Err(Bad::request("Empty lines instead of a request."));
    }
    let text = &input[start..];
    if text.first().is_some_and(|b| !b.is_ascii_uppercase()) {
        return Err(Bad::request("This is not an HTTP request."));
    }
    let searched = &text[..text.len().min(limits.head_max)];
    let Some(end) = memchr::memmem::find(searched, b"\r\n\r\n").map(|at| at + 4) else {
        return if text.len() < limits.head_max {
            early(text, limits)?;
            Ok(None)
        } else {
            early(text, limits)?;
            Err(Bad { status: 431, why: "The fields of the request are too long." })
        };
    };
    let text = &text[..end];
    only_whole_line_ends(text)?;
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(text) {
        Ok(httparse::Status::Complete(n)) if n == end => {}
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Bad { status: 431, why: "The request has too many fields." });
        }
        Err(httparse::Error::Version) => {
            return Err(Bad { status: 505, why: "Only HTTP/1.0 and HTTP/1.1 are spoken here." });
        }
        _ => return Err(Bad::request("The request cannot be read.")),
    }
    let (Some(method), Some(target), Some(minor)) = (request.method, request.path, request.version)
    else {
        return Err(Bad::request("The request cannot be read."));
    };
    if target.len() > limits.target_max {
        return Err(Bad { status: 414, why: "The address is too long." });
    }
    let count = request.headers.len();
    let Some(method) = Method::named(method) else {
        return Err(Bad { status: 501, why: "There is no such method here." });
    };
    let (target, authority) = Target::parse(method == Method::Options, target)?;
    let mut head = Head {
        method,
        target,
        host: "",
        minor,
        keep_alive: minor > 0,
        framing: Framing::Length(0),
        expects_continue: false,
        accept_encoding: None,
        if_none_match: None,
        len: start + end,
        fields,
        count,
    };
    head.read_fields(authority)?;
    Ok(Some(head))
}

/// The path of a request whose head may not be whole yet, as it is written there; none: it is not whole itself, or there
/// is none.
#[must_use]
pub fn early_path(input: &[u8]) -> Option<&str> {
    let line = input.strip_prefix(b"\r\n").unwrap_or(input);
    let (_, target) =
        line.split_at_checked(memchr::memchr(b' ', line.get(..8.min(line.len()))?)? + 1)?;
    let end = memchr::memchr3(b'?', b' ', b'\r', target)?;
    std::str::from_utf8(&target[..end]).ok().filter(|path| path.starts_with('/'))
}

/// What can be said of a head that is not whole: a request line that grows without end.
fn early(text: &[u8], limits: &Limits) -> Result<(), Bad> {
    if memchr::memchr(b'\n', text).is_none() && text.len() > limits.target_max + 32 {
        return Err(Bad { status: 414, why: "The address is too long." });
    }
    Ok(())
}

/// A line feed without a carriage return ends a line for some and not for others.
fn only_whole_line_ends(text: &[u8]) -> Result<(), Bad> {
    let whole = |at: usize| at > 0 && text[at - 1] == b'\r';
    if memchr::memchr_iter(b'\n', text).all(whole) {
        return Ok(());
    }
    Err(Bad::request("A line ends without a carriage return."))
}

impl<'b> Head<'b> {
    fn read_fields(&mut self, authority: Option<&'b str>) -> Result<(), Bad> {
        let (mut host, mut length, mut chunked) = (None, None, false);
        let (mut close, mut keep) = (false, false);
        for f in &self.fields[..self.count] {
            let is = |name: &str| f.name.eq_ignore_ascii_case(name);
            match f.name.len() {
                4 if is("host") && host.replace(f.value).is_some() => {
                    return Err(Bad::request("The request has two Host fields."));
                }
                6 if is("expect") => {
                    if !f.value.eq_ignore_ascii_case(b"100-continue") {
                        return Err(Bad { status: 417, why: "This cannot be expected here." });
                    }
                    self.expects_continue = self.minor > 0;
                }
                10 if is("connection") => {
                    for word in f.value.split(|b| *b == b',').map(<[u8]>::trim_ascii) {
                        close |= word.eq_ignore_ascii_case(b"close");
                        keep |= word.eq_ignore_ascii_case(b"keep-alive");
                    }
                }
                13 if is("if-none-match") => drop(self.if_none_match.get_or_insert(f.value)),
                15 if is("accept-encoding") => drop(self.accept_encoding.get_or_insert(f.value)),
                14 if is("content-length") => {
                    let n = digits(f.value).ok_or(Bad::request("Content-Length is no number."))?;
                    if length.replace(n).is_some() {
                        return Err(Bad::request("The request has two lengths."));
                    }
                }
                17 if is("transfer-encoding") => {
                    if chunked {
                        return Err(Bad::request("The request has two transfer encodings."));
                    }
                    only_chunked(f.value)?;
                    chunked = true;
                }
                _ => {}
            }
        }
        self.keep_alive = !close && (self.minor > 0 || keep);
        self.host = host_of(host, authority, self.minor)?;
        self.framing = match (length, chunked) {
            (Some(_), true) => {
                return Err(Bad::request("The request has a length and is chunked, too."));
            }
            (None, true) if self.minor == 0 => {
                return Err(Bad::request("HTTP/1.0 has no chunks."));
            }
            (None, true) => Framing::Chunked,
            (n, false) => Framing::Length(n.unwrap_or(0)),
        };
        Ok(())
    }
}

/// Refuses all Transfer-Encodings but `chunked`. If another one is the last behind it, the length of the body cannot be
/// known (RFC 9112, 6.3).
fn only_chunked(value: &[u8]) -> Result<(), Bad> {
    let is = |coding: &[u8]| coding.trim_ascii().eq_ignore_ascii_case(b"chunked");
    let mut codings = value.rsplit(|b| *b == b',');
    let is_last = codings.next().is_some_and(is);
    if !is_last && codings.any(is) {
        return Err(Bad::request("The last transfer encoding is not chunked."));
    }
    if !value.eq_ignore_ascii_case(b"chunked") {
        return Err(Bad { status: 501, why: "Bodies come by length or chunked." });
    }
    Ok(())
}

/// The host that a request is for: with an absolute target both must agree, or two servers in a row could
/// take it for two different hosts.
fn host_of<'b>(
    field: Option<&'b [u8]>,
    authority: Option<&'b str>,
    minor: u8,
) -> Result<&'b str, Bad> {
    let host = match field {
        None if minor > 0 => return Err(Bad::request("The request has no Host field.")),
        None => authority.unwrap_or(""),
        Some(bytes) => std::str::from_utf8(bytes).unwrap_or("\0"),
    };
    let fits = |b: u8| b.is_ascii_alphanumeric() || b".-_:[]%~".contains(&b);
    if host.len() > 255 || !host.bytes().all(fits) {
        return Err(Bad::request("The Host field names no host."));
    }
    if authority.is_some_and(|a| !a.eq_ignore_ascii_case(host)) {
        return Err(Bad::request("The address and the Host field name two hosts."));
    }
    Ok(host)
}

/// A number of nothing but digits.
fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 18 || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}
