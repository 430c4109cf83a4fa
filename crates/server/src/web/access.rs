//! The access log (`web-access-log`): a line for every request, which a thread of its own writes.
//!
//! The event loops append lines to a buffer in memory and never wait for the file. What the buffer has no room
//! for is dropped and counted. The file is opened again when it is no longer the one at its path (rotation moves
//! it), looked at once a second, and whenever the option is set.
//!
//! Texts of the client are escaped: a byte that is no printable ASCII, a quote or a backslash is `\xhh`, and in
//! JSON what JSON wants, so that no request can forge a line. Queries are left out unless
//! `web-access-log-query` says otherwise; cookies and passwords are never written.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;

use config::{AccessLogFormat, Config, Id};
use http1::Head;
use parking_lot::{Condvar, Mutex};

use super::origin::Origin;
use super::parts::Sent;

/// Bytes of lines that wait to be written.
const BUFFER_MAX: usize = 8 << 20;
/// Bytes of one text of a client in a line.
const TEXT_MAX: usize = 1024;
/// Lines are gathered for so long.
const GATHER: Duration = Duration::from_millis(20);
/// How often it is looked whether the file was moved.
const LOOK: Duration = Duration::from_secs(1);

/// See the module's text.
#[derive(Default)]
pub(crate) struct AccessLog {
    on: AtomicBool,
    buffer: Mutex<Vec<u8>>,
    /// The buffer was empty.
    filled: Condvar,
    file: Mutex<Option<Open>>,
    runs: Mutex<bool>,
    /// Lines that were written, and lines for which there was no room or that could not be written.
    pub(crate) lines: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

struct Open {
    path: PathBuf,
    file: File,
    /// Its device and number.
    id: (u64, u64),
}

impl Open {
    fn at(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        // A pipe that nobody reads is refused and not waited for.
        options.append(true).create(true).mode(0o640).custom_flags(libc::O_NONBLOCK);
        let file = options.open(path)?;
        let meta = file.metadata()?;
        if !meta.is_file() && !meta.file_type().is_char_device() {
            return Err(io::Error::other("it is no file"));
        }
        Ok(Self { path: path.to_owned(), file, id: (meta.dev(), meta.ino()) })
    }
}

impl AccessLog {
    /// Whether lines are wanted.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    /// Opens the file that the configuration names, or closes it.
    ///
    /// # Errors
    /// It cannot be opened; the one before stays open.
    pub(crate) fn follow(self: &Arc<Self>, config: &Config) -> io::Result<()> {
        let path = config.string(Id::WebAccessLog);
        if path.is_empty() {
            self.on.store(false, Relaxed);
            self.write_out();
            *self.file.lock() = None;
            return Ok(());
        }
        let named = |e: io::Error| io::Error::new(e.kind(), format!("web-access-log {path}: {e}"));
        let open = Open::at(&std::path::absolute(&path).map_err(named)?).map_err(named)?;
        self.write_out();
        *self.file.lock() = Some(open);
        let mut runs = self.runs.lock();
        if !*runs {
            let weak = Arc::downgrade(self);
            crate::start_thread("apus-web-log".to_owned(), move || write(&weak))?;
            *runs = true;
        }
        self.on.store(true, Relaxed);
        Ok(())
    }

    /// Adds a line, which ends with a line feed.
    fn add(&self, line: &[u8]) {
        let mut buffer = self.buffer.lock();
        if buffer.len() + line.len() > BUFFER_MAX {
            self.dropped.fetch_add(1, Relaxed);
            return;
        }
        let was_empty = buffer.is_empty();
        buffer.extend_from_slice(line);
        drop(buffer);
        if was_empty {
            self.filled.notify_one();
        }
    }

    /// Writes what waits.
    pub(crate) fn write_out(&self) {
        let mut file = self.file.lock();
        let text = std::mem::take(&mut *self.buffer.lock());
        if text.is_empty() {
            return;
        }
        let lines = memchr::memchr_iter(b'\n', &text).count() as u64;
        let written = file.as_mut().is_some_and(|open| open.file.write_all(&text).is_ok());
        let count = if written { &self.lines } else { &self.dropped };
        count.fetch_add(lines, Relaxed);
    }

    /// Opens the file again if another one, or none, is at its path.
    fn look(&self) {
        let mut file = self.file.lock();
        let Some(open) = &mut *file else { return };
        let there = std::fs::metadata(&open.path).map(|meta| (meta.dev(), meta.ino()));
        if there.ok() != Some(open.id)
            && let Ok(again) = Open::at(&open.path)
        {
            *open = again;
        }
    }
}

/// The thread: ends with the log.
fn write(weak: &Weak<AccessLog>) {
    let mut looked = std::time::Instant::now();
    while let Some(log) = weak.upgrade() {
        let mut buffer = log.buffer.lock();
        if buffer.is_empty() {
            log.filled.wait_for(&mut buffer, LOOK);
        }
        let waits = !buffer.is_empty();
        drop(buffer);
        if waits {
            std::thread::sleep(GATHER);
        }
        log.write_out();
        if looked.elapsed() >= LOOK {
            log.look();
            looked = std::time::Instant::now();
        }
    }
}

/// What a line tells of.
pub(super) struct Line<'a, 'b> {
    /// None: the request could not be read.
    pub(super) head: Option<&'a Head<'b>>,
    pub(super) origin: &'a Origin<'b>,
    pub(super) sent: Sent,
    pub(super) micros: u64,
    /// The date in HTTP's form: 29 bytes.
    pub(super) date: &'a str,
    pub(super) route: &'a str,
}

impl AccessLog {
    /// Adds the line of a request.
    pub(super) fn note(&self, config: &Config, line: &Line<'_, '_>) {
        let mut out = Vec::with_capacity(256);
        let with_query = config.flag(Id::WebAccessLogQuery);
        match config.chosen(Id::WebAccessLogFormat) {
            AccessLogFormat::Json => json(line, with_query, &mut out),
            format => plain(line, with_query, format == AccessLogFormat::Combined, &mut out),
        }
        out.push(b'\n');
        self.add(&out);
    }
}

fn target<'b>(head: &Head<'b>, with_query: bool) -> &'b str {
    let raw = head.target.raw;
    if with_query { raw } else { raw.split('?').next().unwrap_or(raw) }
}

/// A field whose value is an address, which may have a query, too.
fn referer<'b>(head: &Head<'b>, with_query: bool) -> &'b [u8] {
    let value = head.get("referer").unwrap_or_default();
    if with_query { value } else { value.split(|b| *b == b'?').next().unwrap_or_default() }
}

/// The Common Log Format, and with `combined` the two fields behind it that browsers' requests have.
fn plain(line: &Line<'_, '_>, with_query: bool, combined: bool, out: &mut Vec<u8>) {
    let date = line.date.as_bytes();
    let part = |range: std::ops::Range<usize>| date.get(range).unwrap_or_default();
    // Writing to a Vec cannot fail.
    let _ = write!(out, "{} - - [", line.origin.ip);
    for piece in [part(5..7), b"/", part(8..11), b"/", part(12..16), b":", part(17..25)] {
        out.extend_from_slice(piece);
    }
    out.extend_from_slice(b" +0000] \"");
    match line.head {
        Some(head) => {
            out.extend_from_slice(head.method.name().as_bytes());
            out.push(b' ');
            escaped(target(head, with_query).as_bytes(), out);
            let _ = write!(out, " HTTP/1.{}", head.minor);
        }
        None => out.push(b'-'),
    }
    let _ = write!(out, "\" {} ", line.sent.status);
    match line.sent.body {
        0 => out.push(b'-'),
        bytes => drop(write!(out, "{bytes}")),
    }
    if combined {
        let texts = line
            .head
            .map(|head| (referer(head, with_query), head.get("user-agent").unwrap_or_default()));
        let (referer, agent) = texts.unwrap_or_default();
        for text in [referer, agent] {
            out.extend_from_slice(b" \"");
            match text {
                b"" => out.push(b'-'),
                text => escaped(text, out),
            }
            out.push(b'"');
        }
    }
}

fn escaped(text: &[u8], out: &mut Vec<u8>) {
    for &b in &text[..text.len().min(TEXT_MAX)] {
        match b {
            b'"' | b'\\' | 0..b' ' | 0x7f.. => drop(write!(out, "\\x{b:02x}")),
            _ => out.push(b),
        }
    }
}

fn json(line: &Line<'_, '_>, with_query: bool, out: &mut Vec<u8>) {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let date = line.date;
    let part = |range: std::ops::Range<usize>| date.get(range).unwrap_or_default();
    let month = MONTHS.find(part(8..11)).map_or(0, |at| at / 3 + 1);
    let time = format!("{}-{month:02}-{}T{}Z", part(12..16), part(5..7), part(17..25));
    let cut = |text: &[u8]| String::from_utf8_lossy(&text[..text.len().min(TEXT_MAX)]).into_owned();
    let mut object = serde_json::json!({
        "time": time,
        "remote_addr": line.origin.ip.to_string(),
        "status": line.sent.status,
        "bytes": line.sent.body,
        "micros": line.micros,
        "route": line.route,
    });
    if let Some(head) = line.head {
        let texts = [
            ("method", head.method.name().to_owned()),
            ("target", cut(target(head, with_query).as_bytes())),
            ("protocol", format!("HTTP/1.{}", head.minor)),
            ("host", line.origin.host.to_string()),
            ("scheme", line.origin.scheme.to_owned()),
            ("referer", cut(referer(head, with_query))),
            ("agent", cut(head.get("user-agent").unwrap_or_default())),
        ];
        texts.into_iter().for_each(|(name, text)| object[name] = text.into());
    }
    let _ = write!(out, "{object}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use http1::{Limits, head};

    fn lines(request: &str, with_query: bool) -> [String; 3] {
        let head = head::parse(request.as_bytes(), &Limits::default());
        let head = head.expect("a good head").expect("a whole one");
        let origin =
            Origin { ip: "192.0.2.1".parse().expect("ip"), scheme: "http", host: "x".into() };
        let line = Line {
            head: Some(&head),
            origin: &origin,
            sent: Sent { status: 200, body: 7, ..Sent::default() },
            micros: 12,
            date: "Sun, 06 Nov 1994 08:49:37 GMT",
            route: "GET /a",
        };
        let mut all = [Vec::new(), Vec::new(), Vec::new()];
        plain(&line, with_query, false, &mut all[0]);
        plain(&line, with_query, true, &mut all[1]);
        json(&line, with_query, &mut all[2]);
        all.map(|text| String::from_utf8(text).expect("text"))
    }

    #[test]
    fn lines_have_their_forms() {
        let request = "GET /a?token=s HTTP/1.1\r\nHost: x\r\nReferer: http://x/?s=1\r\nUser-Agent: me\r\n\r\n";
        let [common, combined, json] = lines(request, false);
        let wanted = "192.0.2.1 - - [06/Nov/1994:08:49:37 +0000] \"GET /a HTTP/1.1\" 200 7";
        assert_eq!(common, wanted);
        assert_eq!(combined, format!("{wanted} \"http://x/\" \"me\""));
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(json["time"], "1994-11-06T08:49:37Z");
        assert_eq!((&json["target"], &json["micros"]), (&"/a".into(), &12.into()));
        assert!(lines(request, true).iter().all(|line| line.contains("/a?token=s")));
    }

    #[test]
    fn a_request_forges_no_line() {
        let agent = "a\" 200 \\ \u{e4}\t\u{85}b";
        let request = format!("GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: {agent}\r\n\r\n");
        let [_, combined, json] = lines(&request, true);
        assert!(
            combined.ends_with("\"a\\x22 200 \\x5c \\xc3\\xa4\\x09\\xc2\\x85b\""),
            "{combined}"
        );
        assert_eq!(combined.matches('"').count(), 6);
        assert!(!json.contains('\n'));
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(json["agent"], agent);
        let long = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(5000));
        assert!(lines(&long, true).iter().all(|line| line.len() < TEXT_MAX + 400));
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let log = AccessLog::default();
        for _ in 0..BUFFER_MAX / 1000 + 5 {
            log.add(&[b'\n'; 1000]);
        }
        assert_eq!(log.dropped.load(Relaxed), 5);
        log.write_out();
        assert!(log.dropped.load(Relaxed) > 5, "there is no file");
    }
}
