//! Reading.

mod input;
mod listpack;
mod module;
mod skip;
mod stream;
mod value;
mod ziplist;
mod zipmap;

use std::io::Read;

use data::entry::Entry;
use data::{hash, list, set, zset};

pub(crate) use input::{Input, Slice};
use input::{Stream, len, text_into};
pub(crate) use module::skip_key_meta;
pub(crate) use value::{Decoder, Head};

use crate::error::{Error, Result};
use crate::format::{Dialect, VALKEY_VERSION, op};

/// Up to where collections are small: the options of redis.conf. Encodings follow from them.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Hashes.
    pub hash: hash::Limits,
    /// Lists.
    pub list: list::Limit,
    /// Sets.
    pub set: set::Limits,
    /// Sorted sets.
    pub zset: zset::Limits,
}

impl Default for Limits {
    /// What Redis 7.4 has when nothing is configured.
    fn default() -> Self {
        Self {
            hash: hash::Limits { entries: 512, value: 64 },
            list: list::Limit::new(-2),
            set: set::Limits { intset_entries: 512, listpack_entries: 128, listpack_value: 64 },
            zset: zset::Limits { entries: 128, value: 64 },
        }
    }
}

/// A key that was read.
pub struct Loaded {
    /// The key with its value and deadline.
    pub entry: Entry,
    /// Seconds since it was used last, if that was saved.
    pub idle: Option<u64>,
    /// Its LFU counter, if that was saved.
    pub freq: Option<u8>,
}

/// What a file consists of.
pub enum Item<'a> {
    /// A note. Names that are not known are to be ignored.
    Aux {
        /// Its name.
        name: &'a [u8],
        /// What it says.
        value: &'a [u8],
    },
    /// What follows belongs to this database.
    Select(u64),
    /// About how many keys the database has, and how many with a deadline.
    Resize {
        /// Keys.
        keys: u64,
        /// Keys with a deadline.
        expires: u64,
    },
    /// The source code of a library of functions.
    Function(&'a [u8]),
    /// Something that a module saved beside its values. It was passed over.
    ModuleAux {
        /// The module's name.
        module: String,
    },
    /// A key whose value has no elements; Redis leaves it out with a message.
    Empty {
        /// The key.
        key: &'a [u8],
    },
    /// A key.
    Entry(Loaded),
    /// Some keys (only from [`Reader::next_or_batch`]).
    Batch(Batch),
    /// The end. The checksum was right, if the file has one and it was to be checked.
    End {
        /// Whether the file has a checksum.
        has_checksum: bool,
    },
}

/// About how many bytes a batch has.
const BATCH: usize = 64 * 1024;
/// Bytes of the longest value in a batch, about.
const BATCH_VALUE_MAX: u64 = 512 * 1024;

/// Keys with their values as they stand in the file.
pub struct Batch {
    bytes: Vec<u8>,
    offset: u64,
    dialect: Dialect,
}

impl Batch {
    /// Bytes of the file that the batch is.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Decodes what is in it.
    pub fn entries(&self, limits: Limits) -> Entries<'_> {
        let input = Slice::new(&self.bytes, self.offset);
        let decoder = Decoder::new(limits);
        Entries { input, decoder, dialect: self.dialect, key: Vec::new() }
    }
}

/// The keys of a batch.
pub struct Entries<'a> {
    input: Slice<'a>,
    decoder: Decoder,
    dialect: Dialect,
    key: Vec<u8>,
}

impl Entries<'_> {
    /// The next one: [`Item::Entry`] or [`Item::Empty`].
    #[expect(clippy::should_implement_trait, reason = "items borrow from the reader")]
    pub fn next(&mut self) -> Result<Option<Item<'_>>> {
        if self.input.is_empty() {
            return Ok(None);
        }
        let mut attributes = Attributes::default();
        let input = &mut self.input;
        loop {
            let code = input.byte()?;
            if !attributes.note(code, input)? {
                let kind = self.dialect.kind(code);
                return entry(&mut self.decoder, input, &mut self.key, kind, attributes).map(Some);
            }
        }
    }
}

/// What is said about a key in front of it.
#[derive(Default)]
struct Attributes {
    deadline: Option<i64>,
    idle: Option<u64>,
    freq: Option<u8>,
}

impl Attributes {
    /// Notes what comes next, if it is about a key.
    #[inline]
    fn note(&mut self, code: u8, input: &mut impl Input) -> Result<bool> {
        match code {
            op::EXPIRETIME_MS => self.deadline = Some(i64::from_le_bytes(input.array()?)),
            op::EXPIRETIME => {
                self.deadline = Some(i64::from(i32::from_le_bytes(input.array()?)) * 1000);
            }
            op::FREQ => self.freq = Some(input.byte()?),
            op::IDLE => self.idle = Some(len(input)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The key and value that come next.
fn entry<'k>(
    decoder: &mut Decoder,
    input: &mut impl Input,
    key: &'k mut Vec<u8>,
    kind: u8,
    attributes: Attributes,
) -> Result<Item<'k>> {
    text_into(input, key)?;
    // -1 is how Redis keeps that there is none.
    let deadline = attributes.deadline.filter(|d| *d != -1);
    Ok(match decoder.value(kind, Head { key, deadline }, input)? {
        Some(entry) => Item::Entry(Loaded { entry, idle: attributes.idle, freq: attributes.freq }),
        None => Item::Empty { key },
    })
}

/// Passes over a key, what is said about it, and its value. False if something else comes next.
fn skip_record(input: &mut impl Input, dialect: Dialect) -> Result<bool> {
    let mut attributes = Attributes::default();
    loop {
        let code = input.byte()?;
        if !attributes.note(code, input)? {
            return skip::key_and_value(input, dialect.kind(code), BATCH_VALUE_MAX);
        }
    }
}

/// Reads a file, item by item. See the crate's text.
pub struct Reader<R> {
    input: Stream<R>,
    decoder: Decoder,
    version: u16,
    dialect: Dialect,
    checksum: bool,
    key: Vec<u8>,
    value: Vec<u8>,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Begins to read: checks the first nine bytes. Without `checksum` the one at the end is passed
    /// over (`rdbchecksum no`).
    pub fn new(source: R, limits: Limits, checksum: bool) -> Result<Self> {
        let mut input = Stream::new(source, checksum);
        let header = input.array::<9>()?;
        let redis = header.strip_prefix(b"REDIS");
        let Some(version) = redis.or_else(|| header.strip_prefix(b"VALKEY")) else {
            return Err(input.bad("Wrong signature trying to load DB from file"));
        };
        let version = version
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .fold(0, |n, b| n * 10 + u16::from(b - b'0'));
        let is_valkeys = version == VALKEY_VERSION;
        let dialect = Dialect::of(version).filter(|_| version > 0 && redis.is_some() != is_valkeys);
        let Some(dialect) = dialect else {
            return Err(input.bad(format!("Can't handle RDB format version {version}")));
        };
        Ok(Self {
            input,
            decoder: Decoder::new(limits),
            version,
            dialect,
            checksum,
            key: Vec::new(),
            value: Vec::new(),
            ended: false,
        })
    }

    /// The version of the file.
    pub fn version(&self) -> u16 {
        self.version
    }

    /// Bytes that have been read so far.
    pub fn offset(&self) -> u64 {
        self.input.offset()
    }

    /// What lies behind the snapshot, once it has ended: bytes that were read already, and the
    /// source of those that come after them.
    pub fn into_rest(self) -> (Vec<u8>, R) {
        self.input.into_rest()
    }

    /// The next item. After the end there is nothing but the end.
    #[expect(clippy::should_implement_trait, reason = "items borrow from the reader")]
    pub fn next(&mut self) -> Result<Item<'_>> {
        if self.ended {
            return Ok(Item::End { has_checksum: self.version >= 5 });
        }
        let mut attributes = Attributes::default();
        loop {
            let input = &mut self.input;
            let code = input.byte()?;
            match code {
                _ if attributes.note(code, input)? => {}
                op::EOF => return self.end(),
                op::SELECTDB => return Ok(Item::Select(len(input)?)),
                op::RESIZEDB => {
                    return Ok(Item::Resize { keys: len(input)?, expires: len(input)? });
                }
                // A slot of a cluster, how many keys it has, and how many with a deadline.
                op::SLOT_INFO => {
                    for _ in 0..3 {
                        len(input)?;
                    }
                }
                // Whose job it was, and from which slot to which.
                op::VALKEY_SLOT_IMPORT if self.dialect == Dialect::Valkey => {
                    text_into(input, &mut self.value)?;
                    for _ in 0..len(input)? {
                        len(input)?;
                        len(input)?;
                    }
                }
                op::KEY_META if self.dialect == Dialect::Redis => {
                    module::skip_key_meta(input, &mut self.value)?;
                }
                op::AUX => {
                    text_into(input, &mut self.key)?;
                    text_into(input, &mut self.value)?;
                    return Ok(Item::Aux { name: &self.key, value: &self.value });
                }
                op::MODULE_AUX => {
                    let module = module::skip_aux(input, &mut self.value)?;
                    return Ok(Item::ModuleAux { module });
                }
                op::FUNCTION2 => {
                    text_into(input, &mut self.value)?;
                    return Ok(Item::Function(&self.value));
                }
                op::FUNCTION_PRE_GA => {
                    return Err(input.bad("Pre-release function format not supported."));
                }
                code => {
                    let kind = self.dialect.kind(code);
                    return entry(&mut self.decoder, input, &mut self.key, kind, attributes);
                }
            }
        }
    }

    /// The next item, or a batch of keys that are not decoded yet: another thread may do that,
    /// while this one reads on. Keys with long values come as they do from [`next`](Self::next).
    pub fn next_or_batch(&mut self) -> Result<Item<'_>> {
        if self.ended {
            return self.next();
        }
        let offset = self.input.offset();
        self.input.mark();
        let mut len = 0;
        while len < BATCH {
            match skip_record(&mut self.input, self.dialect) {
                Ok(true) => len = self.input.marked_len(),
                // It is looked at again when it comes first.
                Ok(false) | Err(_) => break,
            }
        }
        let bytes = self.input.cut(len);
        if len > 0 {
            return Ok(Item::Batch(Batch { bytes: bytes.to_vec(), offset, dialect: self.dialect }));
        }
        self.next()
    }

    fn end(&mut self) -> Result<Item<'_>> {
        let has_checksum = self.version >= 5;
        if has_checksum {
            let computed = self.input.crc();
            let said = u64::from_le_bytes(self.input.array()?);
            if self.checksum && said != 0 && said != computed {
                return Err(Error::Bad {
                    offset: self.input.offset(),
                    what: format!(
                        "RDB CRC error: Wrong RDB checksum expected: ({computed:x}) but got \
                         ({said:x}). Aborting now."
                    )
                    .into(),
                });
            }
        }
        self.ended = true;
        Ok(Item::End { has_checksum })
    }
}
