//! The numbers of the format (Redis: `rdb.h`).

/// The version that is written: that of Redis 7.0.
pub const VERSION: u16 = 10;
/// The version of payloads that only Redis 7.4 and later load.
pub(crate) const VERSION_FIELD_DEADLINES: u16 = 12;
/// The newest version that is read: that of Redis 8.6. (12 is that of Redis 7.4 to 8.4.)
pub(crate) const VERSION_MAX: u16 = 13;
/// The version of Valkey's own that is read, and written where it is asked for: that of Valkey 9. What it shares with
/// Redis (up to version 11, Valkey 8) it writes as Redis does.
pub(crate) const VALKEY_VERSION: u16 = 80;

/// Whose numbers a file or payload uses: the same ones have come to mean different things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Redis,
    Valkey,
}

impl Dialect {
    /// The format of a version, if it is one that is read.
    pub(crate) fn of(version: u16) -> Option<Self> {
        match version {
            0..=VERSION_MAX => Some(Self::Redis),
            VALKEY_VERSION => Some(Self::Valkey),
            _ => None,
        }
    }

    /// The type of a value, each with a number of its own.
    #[inline]
    pub(crate) fn kind(self, code: u8) -> u8 {
        match (self, code) {
            (Self::Valkey, kind::VALKEY_HASH_2_CODE) => kind::VALKEY_HASH_2,
            // Redis's later types, which Valkey does not have.
            (Self::Valkey, 23..=VALKEY_LAST_FOREIGN) => kind::UNKNOWN,
            (_, kind::VALKEY_HASH_2) => kind::UNKNOWN,
            _ => code,
        }
    }
}

/// The last type that is Redis's alone.
const VALKEY_LAST_FOREIGN: u8 = 26;

/// Types of values.
pub(crate) mod kind {
    pub(crate) const STRING: u8 = 0;
    pub(crate) const LIST: u8 = 1;
    pub(crate) const SET: u8 = 2;
    /// Scores as text.
    pub(crate) const ZSET: u8 = 3;
    pub(crate) const HASH: u8 = 4;
    /// Scores as eight bytes.
    pub(crate) const ZSET_2: u8 = 5;
    pub(crate) const MODULE_PRE_GA: u8 = 6;
    pub(crate) const MODULE_2: u8 = 7;
    pub(crate) const HASH_ZIPMAP: u8 = 9;
    pub(crate) const LIST_ZIPLIST: u8 = 10;
    pub(crate) const SET_INTSET: u8 = 11;
    pub(crate) const ZSET_ZIPLIST: u8 = 12;
    pub(crate) const HASH_ZIPLIST: u8 = 13;
    pub(crate) const LIST_QUICKLIST: u8 = 14;
    pub(crate) const STREAM_LISTPACKS: u8 = 15;
    pub(crate) const HASH_LISTPACK: u8 = 16;
    pub(crate) const ZSET_LISTPACK: u8 = 17;
    pub(crate) const LIST_QUICKLIST_2: u8 = 18;
    /// Since Redis 7.0: first ID, deleted ID, entries added, entries read by groups.
    pub(crate) const STREAM_LISTPACKS_2: u8 = 19;
    pub(crate) const SET_LISTPACK: u8 = 20;
    /// Since Redis 7.2: when consumers were active.
    pub(crate) const STREAM_LISTPACKS_3: u8 = 21;
    /// Hashes with deadlines of fields, as candidates of Redis 7.4 wrote them: absolute.
    pub(crate) const HASH_METADATA_PRE_GA: u8 = 22;
    pub(crate) const HASH_LISTPACK_EX_PRE_GA: u8 = 23;
    /// As Redis 7.4 writes them: the earliest first, the others relative to it.
    pub(crate) const HASH_METADATA: u8 = 24;
    pub(crate) const HASH_LISTPACK_EX: u8 = 25;
    /// Since Redis 8.6: what producers have sent, for `XADD … IDMP`.
    pub(crate) const STREAM_LISTPACKS_4: u8 = 26;
    /// Fields with deadlines as Valkey 9 writes them: [`VALKEY_HASH_2_CODE`] there (see [`super::Dialect`]).
    pub(crate) const VALKEY_HASH_2: u8 = 150;
    /// Its number in Valkey's files.
    pub(crate) const VALKEY_HASH_2_CODE: u8 = 22;
    pub(crate) const UNKNOWN: u8 = 151;
}

/// What stands where a type would.
pub(crate) mod op {
    /// Valkey's, in a cluster: slots that were on their way when it was written.
    pub(crate) const VALKEY_SLOT_IMPORT: u8 = 243;
    /// Redis's since 8.6: what modules keep with a key, in front of its type.
    pub(crate) const KEY_META: u8 = 243;
    pub(crate) const SLOT_INFO: u8 = 244;
    pub(crate) const FUNCTION2: u8 = 245;
    pub(crate) const FUNCTION_PRE_GA: u8 = 246;
    pub(crate) const MODULE_AUX: u8 = 247;
    pub(crate) const IDLE: u8 = 248;
    pub(crate) const FREQ: u8 = 249;
    pub(crate) const AUX: u8 = 250;
    pub(crate) const RESIZEDB: u8 = 251;
    pub(crate) const EXPIRETIME_MS: u8 = 252;
    pub(crate) const EXPIRETIME: u8 = 253;
    pub(crate) const SELECTDB: u8 = 254;
    pub(crate) const EOF: u8 = 255;
}

/// Parts of a module's value.
pub(crate) mod module {
    pub(crate) const EOF: u64 = 0;
    pub(crate) const SINT: u64 = 1;
    pub(crate) const UINT: u64 = 2;
    pub(crate) const FLOAT: u64 = 3;
    pub(crate) const DOUBLE: u64 = 4;
    pub(crate) const STRING: u64 = 5;
}

/// Strings that are no plain bytes: the two highest bits of the first byte are set.
pub(crate) mod string {
    pub(crate) const INT8: u8 = 0xc0;
    pub(crate) const INT16: u8 = 0xc1;
    pub(crate) const INT32: u8 = 0xc2;
    pub(crate) const LZF: u8 = 0xc3;
}

/// Nodes of a list.
pub(crate) const NODE_PLAIN: u64 = 1;
pub(crate) const NODE_PACKED: u64 = 2;

/// Bytes of a listpack in front of its elements, and behind.
pub(crate) const LISTPACK_HEAD: usize = 6;
pub(crate) const LISTPACK_END: u8 = 0xff;

/// Flags of an entry in a stream's listpack.
pub(crate) const ENTRY_DELETED: i64 = 1;
pub(crate) const ENTRY_SAME_FIELDS: i64 = 2;

/// The latest deadline of a hash's field that Redis allows, in Unix milliseconds.
pub(crate) const FIELD_DEADLINE_MAX: u64 = 0xffff_ffff_ffff;
