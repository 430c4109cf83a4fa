//! Reading.

mod input;
mod listpack;
mod module;
mod stream;
mod value;
mod ziplist;
mod zipmap;

use std::io::Read;

use data::entry::Entry;
use data::{hash, list, set, zset};

pub(crate) use input::{Input, Slice};
use input::{Stream, len, text_into};
pub(crate) use value::{Decoder, Head};

use crate::error::{Error, Result};
use crate::format::{VERSION_MAX, op};

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
    /// The end. The checksum was right, if the file has one and it was to be checked.
    End {
        /// Whether the file has a checksum.
        has_checksum: bool,
    },
}

/// Reads a file, item by item. See the crate's text.
pub struct Reader<R> {
    input: Stream<R>,
    decoder: Decoder,
    version: u16,
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
        let Some(version) = header.strip_prefix(b"REDIS") else {
            return Err(input.bad("Wrong signature trying to load DB from file"));
        };
        let version = version
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .fold(0, |n, b| n * 10 + u16::from(b - b'0'));
        if version == 0 || version > VERSION_MAX {
            return Err(input.bad(format!("Can't handle RDB format version {version}")));
        }
        Ok(Self {
            input,
            decoder: Decoder::new(limits),
            version,
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
        let (mut deadline, mut idle, mut freq) = (None, None, None);
        loop {
            let input = &mut self.input;
            let code = input.byte()?;
            match code {
                op::EXPIRETIME_MS => deadline = Some(i64::from_le_bytes(input.array()?)),
                op::EXPIRETIME => {
                    deadline = Some(i64::from(i32::from_le_bytes(input.array()?)) * 1000);
                }
                op::FREQ => freq = Some(input.byte()?),
                op::IDLE => idle = Some(len(input)?),
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
                kind => {
                    text_into(input, &mut self.key)?;
                    // -1 is how Redis keeps that there is none.
                    let deadline = deadline.filter(|d| *d != -1);
                    let head = Head { key: &self.key, deadline };
                    return Ok(match self.decoder.value(kind, head, input)? {
                        Some(entry) => Item::Entry(Loaded { entry, idle, freq }),
                        None => Item::Empty { key: &self.key },
                    });
                }
            }
        }
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
                        "Wrong RDB checksum expected: ({computed:x}) but got ({said:x}). Aborting \
                         now."
                    )
                    .into(),
                });
            }
        }
        self.ended = true;
        Ok(Item::End { has_checksum })
    }
}
