//! The values: a slot per option, read without a lock where it is a number.
//!
//! Invariants: an option's slot is the number or the text its kind says, never
//! both; every stored value went through `parse`; `generation` grows after the
//! values it stands for were stored, so that a thread that sees the new
//! generation sees the new values.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use stdx::split::split_args;

use crate::choices::Choice;
use crate::kind::OptionKind;
use crate::limits::{ClientClass, LimitSlots, Limits};
use crate::parse::{self, Present, Value};
use crate::{COUNT, Id, ROWS};

/// The configuration of one server: every option's present value.
pub struct Config {
    numbers: [AtomicI64; COUNT],
    texts: Box<[RwLock<Vec<u8>>]>,
    limits: LimitSlots,
    generation: AtomicU64,
    /// Held while values change, so that changes come one after the other.
    pub(crate) writer: Mutex<()>,
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

impl Present for Config {
    fn dir(&self) -> PathBuf {
        self.with_bytes(Id::Dir, |dir| crate::path_of(dir).to_path_buf())
    }

    fn output_limits(&self) -> [Limits; 3] {
        self.all_limits()
    }
}

impl std::fmt::Debug for Config {
    // Values stay out: some are passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("generation", &self.generation()).finish_non_exhaustive()
    }
}

impl Config {
    /// A configuration in which everything has its default. `dir` is the
    /// process's working directory.
    pub fn new() -> Self {
        let config = Config {
            numbers: [const { AtomicI64::new(0) }; COUNT],
            texts: (0..COUNT).map(|_| RwLock::default()).collect(),
            limits: LimitSlots::default(),
            generation: AtomicU64::new(1),
            writer: Mutex::new(()),
        };
        for row in &ROWS {
            let value = match row.kind {
                // The file system is not asked: a removed directory must not stop the server.
                OptionKind::Dir => {
                    let path = std::env::current_dir().unwrap_or_default();
                    Ok(Value::Text(path.into_os_string().into_encoded_bytes()))
                }
                _ => default_of(row.id, &config),
            };
            let value = value.expect("every default parses: a law of the table");
            config.store(row.id, &value);
        }
        config
    }

    /// A number: an integer, bytes, 0 or 1 for a switch. Of options whose range
    /// goes beyond 63 bits, use [`Config::bytes`].
    #[inline]
    pub fn int(&self, id: Id) -> i64 {
        // Read for every command, with constants for IDs: whatever test reads the option tells.
        debug_assert!(id.row().kind.is_number(), "{id:?} is a text");
        self.numbers[id as usize].load(Ordering::Relaxed)
    }

    /// Bytes of an option of memory size.
    #[inline]
    pub fn bytes(&self, id: Id) -> u64 {
        self.int(id) as u64
    }

    /// A switch.
    #[inline]
    pub fn flag(&self, id: Id) -> bool {
        self.int(id) != 0
    }

    /// The number of the chosen name of an enumeration.
    #[inline]
    pub fn choice(&self, id: Id) -> usize {
        self.int(id) as usize
    }

    /// The chosen variant of an enumeration; `C` must be the option's own type.
    #[inline]
    pub fn chosen<C: Choice>(&self, id: Id) -> C {
        // As above: the enumeration of an option does not depend on what happens.
        debug_assert!(
            matches!(id.row().kind, OptionKind::Choice(names) if std::ptr::eq(names, C::NAMES) || names == C::NAMES)
        );
        C::from_value(self.choice(id))
    }

    /// Limits of unread output for a class of client.
    #[inline]
    pub fn output_limits(&self, class: ClientClass) -> Limits {
        self.limits.load(class)
    }

    pub(crate) fn all_limits(&self) -> [Limits; 3] {
        ClientClass::ALL.map(|class| self.limits.load(class))
    }

    /// Bits of [`crate::events`] that say which key events are published.
    #[inline]
    pub fn notify_keyspace_events(&self) -> u32 {
        self.int(Id::NotifyKeyspaceEvents) as u32
    }

    /// Grows with every change, so that a thread may keep values it derived
    /// for as long as this stays the same.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Calls `read` with the bytes of a text option; a lock is held meanwhile.
    pub fn with_bytes<R>(&self, id: Id, read: impl FnOnce(&[u8]) -> R) -> R {
        assert!(!id.row().kind.is_number(), "{id:?} is a number");
        read(&self.texts[id as usize].read())
    }

    /// Calls `read` with a text option; bytes that are not UTF-8 are replaced.
    pub fn with_string<R>(&self, id: Id, read: impl FnOnce(&str) -> R) -> R {
        self.with_bytes(id, |bytes| read(&String::from_utf8_lossy(bytes)))
    }

    /// A text option; bytes that are not UTF-8 are replaced.
    pub fn string(&self, id: Id) -> String {
        self.with_string(id, str::to_owned)
    }

    /// The words of an option of several, such as the addresses of `bind`.
    pub fn list(&self, id: Id) -> Vec<String> {
        self.with_string(id, |text| text.split_ascii_whitespace().map(str::to_owned).collect())
    }

    /// Points of `save`: seconds and changes.
    pub fn save_points(&self) -> Vec<(u64, u64)> {
        let numbers: Vec<u64> = self.list(Id::Save).iter().flat_map(|n| n.parse()).collect();
        numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
    }

    /// Percentiles that INFO latencystats shows.
    pub fn latency_percentiles(&self) -> Vec<f64> {
        let list = self.list(Id::LatencyTrackingInfoPercentiles);
        list.iter().flat_map(|number| number.parse()).collect()
    }

    /// The value as CONFIG GET shows it.
    pub fn show(&self, id: Id) -> Vec<u8> {
        parse::show(id.row(), &self.load(id))
    }

    pub(crate) fn load(&self, id: Id) -> Value {
        match id.row().kind {
            OptionKind::OutputLimits => Value::Limits(self.all_limits()),
            kind if kind.is_number() => Value::Number(self.int(id)),
            _ => Value::Text(self.with_bytes(id, <[u8]>::to_vec)),
        }
    }

    pub(crate) fn store(&self, id: Id, value: &Value) {
        match value {
            Value::Number(number) => self.numbers[id as usize].store(*number, Ordering::Relaxed),
            Value::Text(text) => self.texts[id as usize].write().clone_from(text),
            Value::Limits(limits) => self.limits.store(limits),
        }
    }

    /// Notes that values have changed.
    pub(crate) fn changed(&self) {
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// An unchanged configuration, to compare with.
    pub(crate) fn defaults() -> &'static Config {
        static DEFAULTS: OnceLock<Config> = OnceLock::new();
        DEFAULTS.get_or_init(Config::new)
    }

    /// Whether the option has its default.
    pub fn is_default(&self, id: Id) -> bool {
        self.load(id) == Config::defaults().load(id)
    }
}

/// The parsed default of a row.
pub(crate) fn default_of(id: Id, config: &Config) -> Result<Value, String> {
    let row = id.row();
    let words = if row.has(crate::kind::MULTI) && !row.default.is_empty() {
        split_args(row.default.as_bytes()).map_err(|error| error.to_string())?
    } else {
        vec![row.default.as_bytes().to_vec()]
    };
    let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
    parse::parse(row, &words, config)
}
