//! Where log lines go: standard output or a file, as text in Redis's form or as JSON.

use std::fmt::{Arguments, Display, Write as _};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use engine::log::{Level, Sink};
use parking_lot::Mutex;

/// Writes lines to standard output, or to a file that is opened again after a rotation.
pub struct LineSink {
    path: Option<PathBuf>,
    to: Mutex<Box<dyn Write + Send>>,
    json: AtomicBool,
}

impl LineSink {
    /// Standard output when `path` is empty, else a file that is appended to.
    ///
    /// # Errors
    /// The file cannot be opened; the error names it.
    pub fn new(path: &str, json: bool) -> io::Result<Self> {
        // Opened again after `dir` has changed, too.
        let path = (!path.is_empty()).then(|| std::path::absolute(path)).transpose()?;
        let to: Box<dyn Write + Send> = match &path {
            Some(p) => Box::new(open(p)?),
            None => Box::new(io::stdout()),
        };
        Ok(Self { path, to: Mutex::new(to), json: AtomicBool::new(json) })
    }
}

fn open(path: &PathBuf) -> io::Result<File> {
    let f = OpenOptions::new().append(true).create(true).open(path);
    f.map_err(|e| io::Error::new(e.kind(), format!("log file {}: {e}", path.display())))
}

impl Sink for LineSink {
    fn write(&self, level: Level, message: Arguments<'_>, fields: &[(&str, &dyn Display)]) {
        let mut line = String::with_capacity(128);
        if self.json.load(Relaxed) {
            json_line(&mut line, level, message, fields);
        } else {
            text_line(&mut line, level, message, fields);
        }
        line.push('\n');
        // A log that cannot be written must not stop the server.
        let mut to = self.to.lock();
        let _ = to.write_all(line.as_bytes());
        let _ = to.flush();
    }

    fn reopen(&self) -> io::Result<()> {
        if let Some(p) = &self.path {
            let file = open(p)?;
            *self.to.lock() = Box::new(file);
        }
        Ok(())
    }

    fn set_json(&self, json: bool) {
        self.json.store(json, Relaxed);
    }
}

fn text_line(line: &mut String, level: Level, m: Arguments<'_>, fields: &[(&str, &dyn Display)]) {
    let sign = match level {
        Level::Debug => '.',
        Level::Verbose => '-',
        Level::Notice => '*',
        Level::Warning | Level::Nothing => '#',
    };
    // As in Redis: `pid:role date time.ms sign text`; the role is M for master.
    let _ = write!(line, "{}:M {} {sign} ", std::process::id(), timestamp::local_text());
    push_one_line(line, m);
    for (name, value) in fields {
        let _ = write!(line, " {name}={value}");
    }
}

/// Log lines repeat input of clients; a line break in it must not look like another line.
fn push_one_line(line: &mut String, m: Arguments<'_>) {
    let at = line.len();
    let _ = line.write_fmt(m);
    if line[at..].contains(['\n', '\r']) {
        let clean = line[at..].replace('\n', "\\n").replace('\r', "\\r");
        line.truncate(at);
        line.push_str(&clean);
    }
}

/// The order of the fields is for people who read the log, so they are written here; `serde_json` makes the strings.
fn json_line(line: &mut String, level: Level, m: Arguments<'_>, fields: &[(&str, &dyn Display)]) {
    let name = match level {
        Level::Debug => "debug",
        Level::Verbose => "verbose",
        Level::Notice => "notice",
        Level::Warning | Level::Nothing => "warning",
    };
    let _ = write!(
        line,
        "{{\"ts\":\"{}\",\"level\":\"{name}\",\"pid\":{},\"msg\":",
        timestamp::utc_iso(),
        std::process::id()
    );
    json_string(line, &m.to_string());
    for (name, value) in fields {
        line.push(',');
        json_string(line, name);
        line.push(':');
        json_string(line, &value.to_string());
    }
    line.push('}');
}

fn json_string(line: &mut String, s: &str) {
    let _ = write!(line, "{}", serde_json::Value::from(s));
}

mod timestamp {
    //! Dates for log lines, from the C library's calendar.
    #![expect(unsafe_code, reason = "localtime_r and gmtime_r")]

    use std::time::{SystemTime, UNIX_EPOCH};

    fn now() -> (libc::time_t, u32) {
        let d = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        (d.as_secs() as libc::time_t, d.subsec_millis())
    }

    /// `21 Nov 2026 03:29:37.123`, local time.
    pub(super) fn local_text() -> String {
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let (s, ms) = now();
        // SAFETY: both pointers are to live values of the right type; a zeroed `tm` is valid.
        let tm = unsafe {
            let mut tm = std::mem::zeroed::<libc::tm>();
            libc::localtime_r(&s, &mut tm);
            tm
        };
        let month = MONTHS[tm.tm_mon.rem_euclid(12) as usize];
        format!(
            "{:02} {month} {} {:02}:{:02}:{:02}.{ms:03}",
            tm.tm_mday,
            tm.tm_year + 1900,
            tm.tm_hour,
            tm.tm_min,
            tm.tm_sec
        )
    }

    /// `2026-11-21T03:29:37.123Z`.
    pub(super) fn utc_iso() -> String {
        let (s, ms) = now();
        // SAFETY: as above.
        let tm = unsafe {
            let mut tm = std::mem::zeroed::<libc::tm>();
            libc::gmtime_r(&s, &mut tm);
            tm
        };
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{ms:03}Z",
            tm.tm_year + 1900,
            tm.tm_mon + 1,
            tm.tm_mday,
            tm.tm_hour,
            tm.tm_min,
            tm.tm_sec
        )
    }
}
