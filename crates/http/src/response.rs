//! The heads of responses.

/// The text behind a status. RFC 9110, section 15.
#[must_use]
pub fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}

/// Writes the status line and the date, which is one of [`crate::conditional::date`].
pub fn begin(out: &mut Vec<u8>, status: u16, date: &str) {
    if status == 200 {
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\nDate: ");
    } else {
        let line = format!("HTTP/1.1 {status} {}\r\nDate: ", reason(status));
        out.extend_from_slice(line.as_bytes());
    }
    out.extend_from_slice(date.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Writes one field. A value with a control character is left out: it could end the field and begin others.
pub fn field(out: &mut Vec<u8>, name: &str, value: &str) {
    if !is_value(value) || !is_name(name) {
        return;
    }
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Writes Content-Length.
pub fn length(out: &mut Vec<u8>, len: usize) {
    field(out, "Content-Length", &len.to_string());
}

/// Ends the head. Says so when the connection does not stay as the version of the protocol has it.
pub fn end(out: &mut Vec<u8>, keep_alive: bool, minor: u8) {
    match (keep_alive, minor) {
        (false, _) => field(out, "Connection", "close"),
        (true, 0) => field(out, "Connection", "keep-alive"),
        (true, _) => {}
    }
    out.extend_from_slice(b"\r\n");
}

/// Whether a name may be one of a field.
#[must_use]
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| IN_NAMES[usize::from(b)])
}

/// The bytes of names. RFC 9110, section 5.6.2.
const IN_NAMES: [bool; 256] = {
    let mut all = [false; 256];
    let (letters, mut i) = (b"!#$%&'*+-.^_`|~", 0);
    while i < letters.len() {
        all[letters[i] as usize] = true;
        i += 1;
    }
    let mut b = 0u8;
    while b < 128 {
        all[b as usize] |= b.is_ascii_alphanumeric();
        b += 1;
    }
    all
};

/// Whether a value may be one of a field.
#[must_use]
pub fn is_value(value: &str) -> bool {
    // All bytes are looked at: that goes several at once.
    value.bytes().fold(true, |all, b| all & (b == b'\t' || b >= b' ' && b != 0x7f))
}
