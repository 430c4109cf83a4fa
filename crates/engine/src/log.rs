//! The server's log: levels that can be changed at run time, sinks that decide the form.
//!
//! Nothing is formatted for a level that is off: [`log!`](macro@crate::log) looks at the level first, and
//! hands the sink `format_args!`, which formats only when written.

use std::fmt::Arguments;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Levels, from the most to the least talkative, as in `loglevel`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names of Redis's levels")]
pub enum Level {
    Debug,
    Verbose,
    Notice,
    Warning,
    Nothing,
}

/// Where log lines go.
pub trait Sink: Send + Sync {
    /// Writes one line. `fields` are names and values for structured forms, beside the message.
    fn write(
        &self,
        level: Level,
        message: Arguments<'_>,
        fields: &[(&str, &dyn std::fmt::Display)],
    );
    /// Reopens files, after a rotation; does nothing by default.
    ///
    /// # Errors
    /// A file cannot be opened; the error names it. Lines go where they went.
    fn reopen(&self) -> std::io::Result<()> {
        Ok(())
    }
    /// Writes lines as JSON, or as text; does nothing by default.
    fn set_json(&self, _json: bool) {}
}

/// A handle to the log; cheap to clone.
#[derive(Clone)]
pub struct Log {
    level: Arc<AtomicU8>,
    sink: Arc<dyn Sink>,
}

impl Log {
    /// A log that writes to `sink` from `level` on.
    pub fn new(sink: Arc<dyn Sink>, level: Level) -> Self {
        Self { level: Arc::new(AtomicU8::new(level as u8)), sink }
    }

    /// A log that writes nothing.
    pub fn silent() -> Self {
        struct Silent;
        impl Sink for Silent {
            fn write(&self, _: Level, _: Arguments<'_>, _: &[(&str, &dyn std::fmt::Display)]) {}
        }
        Self::new(Arc::new(Silent), Level::Nothing)
    }

    /// Whether lines of this level are written.
    #[inline]
    pub fn on(&self, level: Level) -> bool {
        level as u8 >= self.level.load(Relaxed)
    }

    /// Changes the level.
    pub fn set_level(&self, level: Level) {
        self.level.store(level as u8, Relaxed);
    }

    /// Writes a line, whatever the level; use [`log!`](macro@crate::log).
    #[cold]
    pub fn write(
        &self,
        level: Level,
        message: Arguments<'_>,
        fields: &[(&str, &dyn std::fmt::Display)],
    ) {
        self.sink.write(level, message, fields);
    }

    /// The sink.
    pub fn sink(&self) -> &dyn Sink {
        &*self.sink
    }
}

/// `log!(log, Notice, "text {}", x; "field" => value, …)`.
#[macro_export]
macro_rules! log {
    ($log:expr, $level:ident, $($text:literal)+ $(, $arg:expr)* $(; $($name:literal => $value:expr),+)?) => {
        if $log.on($crate::log::Level::$level) {
            $log.write(
                $crate::log::Level::$level,
                format_args!(concat!($($text),+) $(, $arg)*),
                &[$($(($name, &$value as &dyn std::fmt::Display)),+)?],
            );
        }
    };
}
