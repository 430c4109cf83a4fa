//! Rows: when the data types change from their compact to their general encoding.

macro_rules! types_rows {
    ($next:ident $($rest:ident)*; $($seen:tt)*) => { $next! { $($rest)*; $($seen)* Types {

HashMaxListpackEntries: "hash-max-listpack-entries", ["hash-max-ziplist-entries"], Int(0, LONG_MAX), "512", RUNTIME, Effective,
    "Fields up to which a hash stays compact.";
HashMaxListpackValue: "hash-max-listpack-value", ["hash-max-ziplist-value"], Memory(0, BYTES_MAX), "64", RUNTIME, Effective,
    "Bytes of its longest field or value up to which a hash stays compact.";
ListMaxListpackSize: "list-max-listpack-size", ["list-max-ziplist-size"], Int(INT_MIN, INT_MAX), "-2", RUNTIME, Effective,
    "Size of a list's nodes: elements if positive, or -1 to -5 for 4, 8, 16, 32 or 64 KiB.";
ListCompressDepth: "list-compress-depth", [], Int(0, INT_MAX), "0", DEBUG, Accepted("nodes between the ends of a list are always packed, which costs little"),
    "Nodes at either end of a list that are left uncompressed; 0 compresses none.";
SetMaxIntsetEntries: "set-max-intset-entries", [], Int(0, LONG_MAX), "512", RUNTIME, Effective,
    "Members up to which a set of integers stays an intset.";
SetMaxListpackEntries: "set-max-listpack-entries", [], Int(0, LONG_MAX), "128", RUNTIME, Effective,
    "Members up to which a set stays compact.";
SetMaxListpackValue: "set-max-listpack-value", [], Int(0, LONG_MAX), "64", RUNTIME, Effective,
    "Bytes of its longest member up to which a set stays compact.";
ZsetMaxListpackEntries: "zset-max-listpack-entries", ["zset-max-ziplist-entries"], Int(0, LONG_MAX), "128", RUNTIME, Effective,
    "Members up to which a sorted set stays compact.";
ZsetMaxListpackValue: "zset-max-listpack-value", ["zset-max-ziplist-value"], Memory(0, BYTES_MAX), "64", RUNTIME, Effective,
    "Bytes of its longest member up to which a sorted set stays compact.";
HllSparseMaxBytes: "hll-sparse-max-bytes", [], Memory(0, BYTES_MAX), "3000", RUNTIME, Effective,
    "Bytes up to which a HyperLogLog stays in its sparse form.";
StreamNodeMaxBytes: "stream-node-max-bytes", [], Memory(0, BYTES_MAX), "4096", RUNTIME, Effective,
    "Bytes of one node of a stream; 0 sets no bound.";
StreamNodeMaxEntries: "stream-node-max-entries", [], Int(0, LONG_MAX), "100", RUNTIME, Effective,
    "Entries in one node of a stream; 0 sets no bound.";
    } } };
}
