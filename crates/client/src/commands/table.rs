//! Written by `cargo xtask gen` from the command table; changes here are lost.

use crate::spec::{FirstKey, Flags, RequestPolicy, ResponsePolicy, Spec};

/// Every command, sorted by its name.
pub(crate) static TABLE: &[&Spec] = &[
    &ACL,
    &ACL_CAT,
    &ACL_DELUSER,
    &ACL_DRYRUN,
    &ACL_GENPASS,
    &ACL_GETUSER,
    &ACL_HELP,
    &ACL_LIST,
    &ACL_LOAD,
    &ACL_LOG,
    &ACL_SAVE,
    &ACL_SETUSER,
    &ACL_USERS,
    &ACL_WHOAMI,
    &APPEND,
    &APUS_TOPKEYS,
    &ASKING,
    &AUTH,
    &BGREWRITEAOF,
    &BGSAVE,
    &BITCOUNT,
    &BITFIELD,
    &BITFIELD_RO,
    &BITOP,
    &BITPOS,
    &BLMOVE,
    &BLMOVEM,
    &BLMPOP,
    &BLPOP,
    &BRPOP,
    &BRPOPLPUSH,
    &BZMPOP,
    &BZPOPMAX,
    &BZPOPMIN,
    &CLIENT,
    &CLIENT_CACHING,
    &CLIENT_GETNAME,
    &CLIENT_GETREDIR,
    &CLIENT_HELP,
    &CLIENT_ID,
    &CLIENT_INFO,
    &CLIENT_KILL,
    &CLIENT_LIST,
    &CLIENT_NO_EVICT,
    &CLIENT_NO_TOUCH,
    &CLIENT_PAUSE,
    &CLIENT_REPLY,
    &CLIENT_SETINFO,
    &CLIENT_SETNAME,
    &CLIENT_TRACKING,
    &CLIENT_TRACKINGINFO,
    &CLIENT_UNBLOCK,
    &CLIENT_UNPAUSE,
    &CLUSTER,
    &CLUSTER_ADDSLOTS,
    &CLUSTER_ADDSLOTSRANGE,
    &CLUSTER_BUMPEPOCH,
    &CLUSTER_COUNT_FAILURE_REPORTS,
    &CLUSTER_COUNTKEYSINSLOT,
    &CLUSTER_DELSLOTS,
    &CLUSTER_DELSLOTSRANGE,
    &CLUSTER_FAILOVER,
    &CLUSTER_FLUSHSLOTS,
    &CLUSTER_FORGET,
    &CLUSTER_GETKEYSINSLOT,
    &CLUSTER_HELP,
    &CLUSTER_INFO,
    &CLUSTER_KEYSLOT,
    &CLUSTER_LINKS,
    &CLUSTER_MEET,
    &CLUSTER_MYID,
    &CLUSTER_MYSHARDID,
    &CLUSTER_NODES,
    &CLUSTER_REPLICAS,
    &CLUSTER_REPLICATE,
    &CLUSTER_RESET,
    &CLUSTER_SAVECONFIG,
    &CLUSTER_SET_CONFIG_EPOCH,
    &CLUSTER_SETSLOT,
    &CLUSTER_SHARDS,
    &CLUSTER_SLAVES,
    &CLUSTER_SLOTS,
    &COMMAND,
    &COMMAND_COUNT,
    &COMMAND_DOCS,
    &COMMAND_GETKEYS,
    &COMMAND_GETKEYSANDFLAGS,
    &COMMAND_HELP,
    &COMMAND_INFO,
    &COMMAND_LIST,
    &CONFIG,
    &CONFIG_GET,
    &CONFIG_HELP,
    &CONFIG_RESETSTAT,
    &CONFIG_REWRITE,
    &CONFIG_SET,
    &COPY,
    &DBSIZE,
    &DEBUG,
    &DECR,
    &DECRBY,
    &DEL,
    &DELEX,
    &DIGEST,
    &DISCARD,
    &DUMP,
    &ECHO,
    &EVAL,
    &EVALSHA,
    &EVALSHA_RO,
    &EVAL_RO,
    &EXEC,
    &EXISTS,
    &EXPIRE,
    &EXPIREAT,
    &EXPIRETIME,
    &FAILOVER,
    &FCALL,
    &FCALL_RO,
    &FLUSHALL,
    &FLUSHDB,
    &FUNCTION,
    &FUNCTION_DELETE,
    &FUNCTION_DUMP,
    &FUNCTION_FLUSH,
    &FUNCTION_HELP,
    &FUNCTION_KILL,
    &FUNCTION_LIST,
    &FUNCTION_LOAD,
    &FUNCTION_RESTORE,
    &FUNCTION_STATS,
    &GEOADD,
    &GEODIST,
    &GEOHASH,
    &GEOPOS,
    &GEORADIUS,
    &GEORADIUSBYMEMBER,
    &GEORADIUSBYMEMBER_RO,
    &GEORADIUS_RO,
    &GEOSEARCH,
    &GEOSEARCHSTORE,
    &GET,
    &GETBIT,
    &GETDEL,
    &GETEX,
    &GETRANGE,
    &GETSET,
    &HDEL,
    &HELLO,
    &HEXISTS,
    &HEXPIRE,
    &HEXPIREAT,
    &HEXPIRETIME,
    &HGET,
    &HGETALL,
    &HGETDEL,
    &HGETEX,
    &HINCRBY,
    &HINCRBYFLOAT,
    &HKEYS,
    &HLEN,
    &HMGET,
    &HMSET,
    &HOTKEYS,
    &HOTKEYS_GET,
    &HOTKEYS_HELP,
    &HOTKEYS_RESET,
    &HOTKEYS_START,
    &HOTKEYS_STOP,
    &HPERSIST,
    &HPEXPIRE,
    &HPEXPIREAT,
    &HPEXPIRETIME,
    &HPTTL,
    &HRANDFIELD,
    &HSCAN,
    &HSET,
    &HSETEX,
    &HSETNX,
    &HSTRLEN,
    &HTTL,
    &HVALS,
    &INCR,
    &INCRBY,
    &INCRBYFLOAT,
    &INCREX,
    &INFO,
    &KEYS,
    &LASTSAVE,
    &LATENCY,
    &LATENCY_DOCTOR,
    &LATENCY_GRAPH,
    &LATENCY_HELP,
    &LATENCY_HISTOGRAM,
    &LATENCY_HISTORY,
    &LATENCY_LATEST,
    &LATENCY_RESET,
    &LCS,
    &LINDEX,
    &LINSERT,
    &LIVE_BROADCAST,
    &LIVE_CHANNELS,
    &LIVE_DISCONNECT,
    &LIVE_HISTORY,
    &LIVE_HISTORY_REMOVE,
    &LIVE_INFO,
    &LIVE_PRESENCE,
    &LIVE_PRESENCE_STATS,
    &LIVE_PUBLISH,
    &LIVE_REFRESH,
    &LIVE_SUBSCRIBE,
    &LIVE_UNSUBSCRIBE,
    &LLEN,
    &LMOVE,
    &LMOVEM,
    &LMPOP,
    &LOAD,
    &LOLWUT,
    &LPOP,
    &LPOS,
    &LPUSH,
    &LPUSHX,
    &LRANGE,
    &LREM,
    &LSET,
    &LTRIM,
    &MEMORY,
    &MEMORY_DOCTOR,
    &MEMORY_HELP,
    &MEMORY_MALLOC_STATS,
    &MEMORY_PURGE,
    &MEMORY_STATS,
    &MEMORY_USAGE,
    &MGET,
    &MIGRATE,
    &MODULE,
    &MODULE_HELP,
    &MODULE_LIST,
    &MONITOR,
    &MOVE,
    &MSET,
    &MSETEX,
    &MSETNX,
    &MULTI,
    &OBJECT,
    &OBJECT_ENCODING,
    &OBJECT_FREQ,
    &OBJECT_HELP,
    &OBJECT_IDLETIME,
    &OBJECT_REFCOUNT,
    &PERSIST,
    &PEXPIRE,
    &PEXPIREAT,
    &PEXPIRETIME,
    &PFADD,
    &PFCOUNT,
    &PFDEBUG,
    &PFMERGE,
    &PFSELFTEST,
    &PING,
    &PSETEX,
    &PSUBSCRIBE,
    &PSYNC,
    &PTTL,
    &PUBLISH,
    &PUBSUB,
    &PUBSUB_CHANNELS,
    &PUBSUB_HELP,
    &PUBSUB_NUMPAT,
    &PUBSUB_NUMSUB,
    &PUBSUB_SHARDCHANNELS,
    &PUBSUB_SHARDNUMSUB,
    &PUNSUBSCRIBE,
    &QUIT,
    &RANDOMKEY,
    &READONLY,
    &READWRITE,
    &RENAME,
    &RENAMENX,
    &REPLCONF,
    &REPLICAOF,
    &RESET,
    &RESTORE,
    &RESTORE_ASKING,
    &ROLE,
    &RPOP,
    &RPOPLPUSH,
    &RPUSH,
    &RPUSHX,
    &SADD,
    &SAVE,
    &SCAN,
    &SCARD,
    &SCRIPT,
    &SCRIPT_DEBUG,
    &SCRIPT_EXISTS,
    &SCRIPT_FLUSH,
    &SCRIPT_HELP,
    &SCRIPT_KILL,
    &SCRIPT_LOAD,
    &SDIFF,
    &SDIFFCARD,
    &SDIFFSTORE,
    &SELECT,
    &SET,
    &SETBIT,
    &SETEX,
    &SETNX,
    &SETRANGE,
    &SHUTDOWN,
    &SINTER,
    &SINTERCARD,
    &SINTERSTORE,
    &SISMEMBER,
    &SLAVEOF,
    &SLOWLOG,
    &SLOWLOG_GET,
    &SLOWLOG_HELP,
    &SLOWLOG_LEN,
    &SLOWLOG_RESET,
    &SMEMBERS,
    &SMISMEMBER,
    &SMOVE,
    &SORT,
    &SORT_RO,
    &SPOP,
    &SPUBLISH,
    &SRANDMEMBER,
    &SREM,
    &SSCAN,
    &SSUBSCRIBE,
    &STRLEN,
    &SUBSCRIBE,
    &SUBSTR,
    &SUNION,
    &SUNIONCARD,
    &SUNIONSTORE,
    &SUNSUBSCRIBE,
    &SWAPDB,
    &SYNC,
    &TIME,
    &TOPIC_APPEND,
    &TOPIC_COMMIT,
    &TOPIC_COMMITTED,
    &TOPIC_CREATE,
    &TOPIC_DELETE,
    &TOPIC_GROUPS,
    &TOPIC_INFO,
    &TOPIC_LIST,
    &TOPIC_READ,
    &TOPIC_SET,
    &TOUCH,
    &TTL,
    &TYPE,
    &UNLINK,
    &UNSUBSCRIBE,
    &UNWATCH,
    &WAIT,
    &WAITAOF,
    &WATCH,
    &XACK,
    &XACKDEL,
    &XADD,
    &XAUTOCLAIM,
    &XCLAIM,
    &XDEL,
    &XDELEX,
    &XGROUP,
    &XGROUP_CREATE,
    &XGROUP_CREATECONSUMER,
    &XGROUP_DELCONSUMER,
    &XGROUP_DESTROY,
    &XGROUP_HELP,
    &XGROUP_SETID,
    &XINFO,
    &XINFO_CONSUMERS,
    &XINFO_GROUPS,
    &XINFO_HELP,
    &XINFO_STREAM,
    &XLEN,
    &XPENDING,
    &XRANGE,
    &XREAD,
    &XREADGROUP,
    &XREVRANGE,
    &XSETID,
    &XTRIM,
    &ZADD,
    &ZCARD,
    &ZCOUNT,
    &ZDIFF,
    &ZDIFFSTORE,
    &ZINCRBY,
    &ZINTER,
    &ZINTERCARD,
    &ZINTERSTORE,
    &ZLEXCOUNT,
    &ZMPOP,
    &ZMSCORE,
    &ZPOPMAX,
    &ZPOPMIN,
    &ZRANDMEMBER,
    &ZRANGE,
    &ZRANGEBYLEX,
    &ZRANGEBYSCORE,
    &ZRANGESTORE,
    &ZRANK,
    &ZREM,
    &ZREMRANGEBYLEX,
    &ZREMRANGEBYRANK,
    &ZREMRANGEBYSCORE,
    &ZREVRANGE,
    &ZREVRANGEBYLEX,
    &ZREVRANGEBYSCORE,
    &ZREVRANK,
    &ZSCAN,
    &ZSCORE,
    &ZUNION,
    &ZUNIONSTORE,
];

pub(crate) static ACL: Spec = Spec::new("ACL", b"$3\r\nACL\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ACL_CAT: Spec = Spec::new("ACL CAT", b"$3\r\nACL\r\n$3\r\nCAT\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ACL_DELUSER: Spec = Spec::new("ACL DELUSER", b"$3\r\nACL\r\n$7\r\nDELUSER\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::AllSucceeded);
pub(crate) static ACL_DRYRUN: Spec = Spec::new("ACL DRYRUN", b"$3\r\nACL\r\n$6\r\nDRYRUN\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ACL_GENPASS: Spec = Spec::new("ACL GENPASS", b"$3\r\nACL\r\n$7\r\nGENPASS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ACL_GETUSER: Spec = Spec::new("ACL GETUSER", b"$3\r\nACL\r\n$7\r\nGETUSER\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ACL_HELP: Spec = Spec::new("ACL HELP", b"$3\r\nACL\r\n$4\r\nHELP\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ACL_LIST: Spec = Spec::new("ACL LIST", b"$3\r\nACL\r\n$4\r\nLIST\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ACL_LOAD: Spec = Spec::new("ACL LOAD", b"$3\r\nACL\r\n$4\r\nLOAD\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ACL_LOG: Spec = Spec::new("ACL LOG", b"$3\r\nACL\r\n$3\r\nLOG\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ACL_SAVE: Spec = Spec::new("ACL SAVE", b"$3\r\nACL\r\n$4\r\nSAVE\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::AllSucceeded);
pub(crate) static ACL_SETUSER: Spec = Spec::new("ACL SETUSER", b"$3\r\nACL\r\n$7\r\nSETUSER\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::AllSucceeded);
pub(crate) static ACL_USERS: Spec = Spec::new("ACL USERS", b"$3\r\nACL\r\n$5\r\nUSERS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ACL_WHOAMI: Spec = Spec::new("ACL WHOAMI", b"$3\r\nACL\r\n$6\r\nWHOAMI\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static APPEND: Spec = Spec::new("APPEND", b"$6\r\nAPPEND\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static APUS_TOPKEYS: Spec = Spec::new("APUS.TOPKEYS", b"$12\r\nAPUS.TOPKEYS\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::Default);
pub(crate) static ASKING: Spec = Spec::new("ASKING", b"$6\r\nASKING\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static AUTH: Spec = Spec::new("AUTH", b"$4\r\nAUTH\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static BGREWRITEAOF: Spec = Spec::new("BGREWRITEAOF", b"$12\r\nBGREWRITEAOF\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static BGSAVE: Spec = Spec::new("BGSAVE", b"$6\r\nBGSAVE\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static BITCOUNT: Spec = Spec::new("BITCOUNT", b"$8\r\nBITCOUNT\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static BITFIELD: Spec = Spec::new("BITFIELD", b"$8\r\nBITFIELD\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static BITFIELD_RO: Spec = Spec::new("BITFIELD_RO", b"$11\r\nBITFIELD_RO\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static BITOP: Spec = Spec::new("BITOP", b"$5\r\nBITOP\r\n", 1, Flags(0), FirstKey::At(2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static BITPOS: Spec = Spec::new("BITPOS", b"$6\r\nBITPOS\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static BLMOVE: Spec = Spec::new("BLMOVE", b"$6\r\nBLMOVE\r\n", 1, Flags(Flags::BLOCKING.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static BLMOVEM: Spec = Spec::new("BLMOVEM", b"$7\r\nBLMOVEM\r\n", 1, Flags(Flags::BLOCKING.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static BLMPOP: Spec = Spec::new("BLMPOP", b"$6\r\nBLMPOP\r\n", 1, Flags(Flags::BLOCKING.0), FirstKey::Counted(2, 3), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static BLPOP: Spec = Spec::new("BLPOP", b"$5\r\nBLPOP\r\n", 1, Flags(Flags::BLOCKING.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static BRPOP: Spec = Spec::new("BRPOP", b"$5\r\nBRPOP\r\n", 1, Flags(Flags::BLOCKING.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static BRPOPLPUSH: Spec = Spec::new("BRPOPLPUSH", b"$10\r\nBRPOPLPUSH\r\n", 1, Flags(Flags::BLOCKING.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static BZMPOP: Spec = Spec::new("BZMPOP", b"$6\r\nBZMPOP\r\n", 1, Flags(Flags::BLOCKING.0), FirstKey::Counted(2, 3), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static BZPOPMAX: Spec = Spec::new("BZPOPMAX", b"$8\r\nBZPOPMAX\r\n", 1, Flags(Flags::BLOCKING.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static BZPOPMIN: Spec = Spec::new("BZPOPMIN", b"$8\r\nBZPOPMIN\r\n", 1, Flags(Flags::BLOCKING.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLIENT: Spec = Spec::new("CLIENT", b"$6\r\nCLIENT\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLIENT_CACHING: Spec = Spec::new("CLIENT CACHING", b"$6\r\nCLIENT\r\n$7\r\nCACHING\r\n", 2, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLIENT_GETNAME: Spec = Spec::new("CLIENT GETNAME", b"$6\r\nCLIENT\r\n$7\r\nGETNAME\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLIENT_GETREDIR: Spec = Spec::new("CLIENT GETREDIR", b"$6\r\nCLIENT\r\n$8\r\nGETREDIR\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLIENT_HELP: Spec = Spec::new("CLIENT HELP", b"$6\r\nCLIENT\r\n$4\r\nHELP\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLIENT_ID: Spec = Spec::new("CLIENT ID", b"$6\r\nCLIENT\r\n$2\r\nID\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLIENT_INFO: Spec = Spec::new("CLIENT INFO", b"$6\r\nCLIENT\r\n$4\r\nINFO\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLIENT_KILL: Spec = Spec::new("CLIENT KILL", b"$6\r\nCLIENT\r\n$4\r\nKILL\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLIENT_LIST: Spec = Spec::new("CLIENT LIST", b"$6\r\nCLIENT\r\n$4\r\nLIST\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLIENT_NO_EVICT: Spec = Spec::new("CLIENT NO-EVICT", b"$6\r\nCLIENT\r\n$8\r\nNO-EVICT\r\n", 2, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLIENT_NO_TOUCH: Spec = Spec::new("CLIENT NO-TOUCH", b"$6\r\nCLIENT\r\n$8\r\nNO-TOUCH\r\n", 2, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLIENT_PAUSE: Spec = Spec::new("CLIENT PAUSE", b"$6\r\nCLIENT\r\n$5\r\nPAUSE\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLIENT_REPLY: Spec = Spec::new("CLIENT REPLY", b"$6\r\nCLIENT\r\n$5\r\nREPLY\r\n", 2, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLIENT_SETINFO: Spec = Spec::new("CLIENT SETINFO", b"$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::AllSucceeded);
pub(crate) static CLIENT_SETNAME: Spec = Spec::new("CLIENT SETNAME", b"$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n", 2, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::AllSucceeded);
pub(crate) static CLIENT_TRACKING: Spec = Spec::new("CLIENT TRACKING", b"$6\r\nCLIENT\r\n$8\r\nTRACKING\r\n", 2, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLIENT_TRACKINGINFO: Spec = Spec::new("CLIENT TRACKINGINFO", b"$6\r\nCLIENT\r\n$12\r\nTRACKINGINFO\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLIENT_UNBLOCK: Spec = Spec::new("CLIENT UNBLOCK", b"$6\r\nCLIENT\r\n$7\r\nUNBLOCK\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLIENT_UNPAUSE: Spec = Spec::new("CLIENT UNPAUSE", b"$6\r\nCLIENT\r\n$7\r\nUNPAUSE\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER: Spec = Spec::new("CLUSTER", b"$7\r\nCLUSTER\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_ADDSLOTS: Spec = Spec::new("CLUSTER ADDSLOTS", b"$7\r\nCLUSTER\r\n$8\r\nADDSLOTS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_ADDSLOTSRANGE: Spec = Spec::new("CLUSTER ADDSLOTSRANGE", b"$7\r\nCLUSTER\r\n$13\r\nADDSLOTSRANGE\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_BUMPEPOCH: Spec = Spec::new("CLUSTER BUMPEPOCH", b"$7\r\nCLUSTER\r\n$9\r\nBUMPEPOCH\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_COUNT_FAILURE_REPORTS: Spec = Spec::new("CLUSTER COUNT-FAILURE-REPORTS", b"$7\r\nCLUSTER\r\n$21\r\nCOUNT-FAILURE-REPORTS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_COUNTKEYSINSLOT: Spec = Spec::new("CLUSTER COUNTKEYSINSLOT", b"$7\r\nCLUSTER\r\n$15\r\nCOUNTKEYSINSLOT\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_DELSLOTS: Spec = Spec::new("CLUSTER DELSLOTS", b"$7\r\nCLUSTER\r\n$8\r\nDELSLOTS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_DELSLOTSRANGE: Spec = Spec::new("CLUSTER DELSLOTSRANGE", b"$7\r\nCLUSTER\r\n$13\r\nDELSLOTSRANGE\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_FAILOVER: Spec = Spec::new("CLUSTER FAILOVER", b"$7\r\nCLUSTER\r\n$8\r\nFAILOVER\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_FLUSHSLOTS: Spec = Spec::new("CLUSTER FLUSHSLOTS", b"$7\r\nCLUSTER\r\n$10\r\nFLUSHSLOTS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_FORGET: Spec = Spec::new("CLUSTER FORGET", b"$7\r\nCLUSTER\r\n$6\r\nFORGET\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_GETKEYSINSLOT: Spec = Spec::new("CLUSTER GETKEYSINSLOT", b"$7\r\nCLUSTER\r\n$13\r\nGETKEYSINSLOT\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_HELP: Spec = Spec::new("CLUSTER HELP", b"$7\r\nCLUSTER\r\n$4\r\nHELP\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_INFO: Spec = Spec::new("CLUSTER INFO", b"$7\r\nCLUSTER\r\n$4\r\nINFO\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_KEYSLOT: Spec = Spec::new("CLUSTER KEYSLOT", b"$7\r\nCLUSTER\r\n$7\r\nKEYSLOT\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_LINKS: Spec = Spec::new("CLUSTER LINKS", b"$7\r\nCLUSTER\r\n$5\r\nLINKS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_MEET: Spec = Spec::new("CLUSTER MEET", b"$7\r\nCLUSTER\r\n$4\r\nMEET\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_MYID: Spec = Spec::new("CLUSTER MYID", b"$7\r\nCLUSTER\r\n$4\r\nMYID\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_MYSHARDID: Spec = Spec::new("CLUSTER MYSHARDID", b"$7\r\nCLUSTER\r\n$9\r\nMYSHARDID\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_NODES: Spec = Spec::new("CLUSTER NODES", b"$7\r\nCLUSTER\r\n$5\r\nNODES\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_REPLICAS: Spec = Spec::new("CLUSTER REPLICAS", b"$7\r\nCLUSTER\r\n$8\r\nREPLICAS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_REPLICATE: Spec = Spec::new("CLUSTER REPLICATE", b"$7\r\nCLUSTER\r\n$9\r\nREPLICATE\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_RESET: Spec = Spec::new("CLUSTER RESET", b"$7\r\nCLUSTER\r\n$5\r\nRESET\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_SAVECONFIG: Spec = Spec::new("CLUSTER SAVECONFIG", b"$7\r\nCLUSTER\r\n$10\r\nSAVECONFIG\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_SET_CONFIG_EPOCH: Spec = Spec::new("CLUSTER SET-CONFIG-EPOCH", b"$7\r\nCLUSTER\r\n$16\r\nSET-CONFIG-EPOCH\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_SETSLOT: Spec = Spec::new("CLUSTER SETSLOT", b"$7\r\nCLUSTER\r\n$7\r\nSETSLOT\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_SHARDS: Spec = Spec::new("CLUSTER SHARDS", b"$7\r\nCLUSTER\r\n$6\r\nSHARDS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_SLAVES: Spec = Spec::new("CLUSTER SLAVES", b"$7\r\nCLUSTER\r\n$6\r\nSLAVES\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CLUSTER_SLOTS: Spec = Spec::new("CLUSTER SLOTS", b"$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static COMMAND: Spec = Spec::new("COMMAND", b"$7\r\nCOMMAND\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static COMMAND_COUNT: Spec = Spec::new("COMMAND COUNT", b"$7\r\nCOMMAND\r\n$5\r\nCOUNT\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static COMMAND_DOCS: Spec = Spec::new("COMMAND DOCS", b"$7\r\nCOMMAND\r\n$4\r\nDOCS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static COMMAND_GETKEYS: Spec = Spec::new("COMMAND GETKEYS", b"$7\r\nCOMMAND\r\n$7\r\nGETKEYS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static COMMAND_GETKEYSANDFLAGS: Spec = Spec::new("COMMAND GETKEYSANDFLAGS", b"$7\r\nCOMMAND\r\n$15\r\nGETKEYSANDFLAGS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static COMMAND_HELP: Spec = Spec::new("COMMAND HELP", b"$7\r\nCOMMAND\r\n$4\r\nHELP\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static COMMAND_INFO: Spec = Spec::new("COMMAND INFO", b"$7\r\nCOMMAND\r\n$4\r\nINFO\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static COMMAND_LIST: Spec = Spec::new("COMMAND LIST", b"$7\r\nCOMMAND\r\n$4\r\nLIST\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CONFIG: Spec = Spec::new("CONFIG", b"$6\r\nCONFIG\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CONFIG_GET: Spec = Spec::new("CONFIG GET", b"$6\r\nCONFIG\r\n$3\r\nGET\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CONFIG_HELP: Spec = Spec::new("CONFIG HELP", b"$6\r\nCONFIG\r\n$4\r\nHELP\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static CONFIG_RESETSTAT: Spec = Spec::new("CONFIG RESETSTAT", b"$6\r\nCONFIG\r\n$9\r\nRESETSTAT\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::AllSucceeded);
pub(crate) static CONFIG_REWRITE: Spec = Spec::new("CONFIG REWRITE", b"$6\r\nCONFIG\r\n$7\r\nREWRITE\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::AllSucceeded);
pub(crate) static CONFIG_SET: Spec = Spec::new("CONFIG SET", b"$6\r\nCONFIG\r\n$3\r\nSET\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::AllSucceeded);
pub(crate) static COPY: Spec = Spec::new("COPY", b"$4\r\nCOPY\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static DBSIZE: Spec = Spec::new("DBSIZE", b"$6\r\nDBSIZE\r\n", 1, Flags(Flags::READONLY.0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::Sum);
pub(crate) static DEBUG: Spec = Spec::new("DEBUG", b"$5\r\nDEBUG\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static DECR: Spec = Spec::new("DECR", b"$4\r\nDECR\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static DECRBY: Spec = Spec::new("DECRBY", b"$6\r\nDECRBY\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static DEL: Spec = Spec::new("DEL", b"$3\r\nDEL\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::MultiShard, ResponsePolicy::Sum);
pub(crate) static DELEX: Spec = Spec::new("DELEX", b"$5\r\nDELEX\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static DIGEST: Spec = Spec::new("DIGEST", b"$6\r\nDIGEST\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static DISCARD: Spec = Spec::new("DISCARD", b"$7\r\nDISCARD\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static DUMP: Spec = Spec::new("DUMP", b"$4\r\nDUMP\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ECHO: Spec = Spec::new("ECHO", b"$4\r\nECHO\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static EVAL: Spec = Spec::new("EVAL", b"$4\r\nEVAL\r\n", 1, Flags(0), FirstKey::Counted(2, 3), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static EVALSHA: Spec = Spec::new("EVALSHA", b"$7\r\nEVALSHA\r\n", 1, Flags(0), FirstKey::Counted(2, 3), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static EVALSHA_RO: Spec = Spec::new("EVALSHA_RO", b"$10\r\nEVALSHA_RO\r\n", 1, Flags(Flags::READONLY.0), FirstKey::Counted(2, 3), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static EVAL_RO: Spec = Spec::new("EVAL_RO", b"$7\r\nEVAL_RO\r\n", 1, Flags(Flags::READONLY.0), FirstKey::Counted(2, 3), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static EXEC: Spec = Spec::new("EXEC", b"$4\r\nEXEC\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static EXISTS: Spec = Spec::new("EXISTS", b"$6\r\nEXISTS\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::MultiShard, ResponsePolicy::Sum);
pub(crate) static EXPIRE: Spec = Spec::new("EXPIRE", b"$6\r\nEXPIRE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static EXPIREAT: Spec = Spec::new("EXPIREAT", b"$8\r\nEXPIREAT\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static EXPIRETIME: Spec = Spec::new("EXPIRETIME", b"$10\r\nEXPIRETIME\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static FAILOVER: Spec = Spec::new("FAILOVER", b"$8\r\nFAILOVER\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static FCALL: Spec = Spec::new("FCALL", b"$5\r\nFCALL\r\n", 1, Flags(0), FirstKey::Counted(2, 3), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static FCALL_RO: Spec = Spec::new("FCALL_RO", b"$8\r\nFCALL_RO\r\n", 1, Flags(Flags::READONLY.0), FirstKey::Counted(2, 3), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static FLUSHALL: Spec = Spec::new("FLUSHALL", b"$8\r\nFLUSHALL\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::AllSucceeded);
pub(crate) static FLUSHDB: Spec = Spec::new("FLUSHDB", b"$7\r\nFLUSHDB\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::AllSucceeded);
pub(crate) static FUNCTION: Spec = Spec::new("FUNCTION", b"$8\r\nFUNCTION\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static FUNCTION_DELETE: Spec = Spec::new("FUNCTION DELETE", b"$8\r\nFUNCTION\r\n$6\r\nDELETE\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::AllSucceeded);
pub(crate) static FUNCTION_DUMP: Spec = Spec::new("FUNCTION DUMP", b"$8\r\nFUNCTION\r\n$4\r\nDUMP\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static FUNCTION_FLUSH: Spec = Spec::new("FUNCTION FLUSH", b"$8\r\nFUNCTION\r\n$5\r\nFLUSH\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::AllSucceeded);
pub(crate) static FUNCTION_HELP: Spec = Spec::new("FUNCTION HELP", b"$8\r\nFUNCTION\r\n$4\r\nHELP\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static FUNCTION_KILL: Spec = Spec::new("FUNCTION KILL", b"$8\r\nFUNCTION\r\n$4\r\nKILL\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::OneSucceeded);
pub(crate) static FUNCTION_LIST: Spec = Spec::new("FUNCTION LIST", b"$8\r\nFUNCTION\r\n$4\r\nLIST\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static FUNCTION_LOAD: Spec = Spec::new("FUNCTION LOAD", b"$8\r\nFUNCTION\r\n$4\r\nLOAD\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::AllSucceeded);
pub(crate) static FUNCTION_RESTORE: Spec = Spec::new("FUNCTION RESTORE", b"$8\r\nFUNCTION\r\n$7\r\nRESTORE\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::AllSucceeded);
pub(crate) static FUNCTION_STATS: Spec = Spec::new("FUNCTION STATS", b"$8\r\nFUNCTION\r\n$5\r\nSTATS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::Default);
pub(crate) static GEOADD: Spec = Spec::new("GEOADD", b"$6\r\nGEOADD\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static GEODIST: Spec = Spec::new("GEODIST", b"$7\r\nGEODIST\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static GEOHASH: Spec = Spec::new("GEOHASH", b"$7\r\nGEOHASH\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static GEOPOS: Spec = Spec::new("GEOPOS", b"$6\r\nGEOPOS\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static GEORADIUS: Spec = Spec::new("GEORADIUS", b"$9\r\nGEORADIUS\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static GEORADIUSBYMEMBER: Spec = Spec::new("GEORADIUSBYMEMBER", b"$17\r\nGEORADIUSBYMEMBER\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static GEORADIUSBYMEMBER_RO: Spec = Spec::new("GEORADIUSBYMEMBER_RO", b"$20\r\nGEORADIUSBYMEMBER_RO\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static GEORADIUS_RO: Spec = Spec::new("GEORADIUS_RO", b"$12\r\nGEORADIUS_RO\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static GEOSEARCH: Spec = Spec::new("GEOSEARCH", b"$9\r\nGEOSEARCH\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static GEOSEARCHSTORE: Spec = Spec::new("GEOSEARCHSTORE", b"$14\r\nGEOSEARCHSTORE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static GET: Spec = Spec::new("GET", b"$3\r\nGET\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static GETBIT: Spec = Spec::new("GETBIT", b"$6\r\nGETBIT\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static GETDEL: Spec = Spec::new("GETDEL", b"$6\r\nGETDEL\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static GETEX: Spec = Spec::new("GETEX", b"$5\r\nGETEX\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static GETRANGE: Spec = Spec::new("GETRANGE", b"$8\r\nGETRANGE\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static GETSET: Spec = Spec::new("GETSET", b"$6\r\nGETSET\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HDEL: Spec = Spec::new("HDEL", b"$4\r\nHDEL\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HELLO: Spec = Spec::new("HELLO", b"$5\r\nHELLO\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HEXISTS: Spec = Spec::new("HEXISTS", b"$7\r\nHEXISTS\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HEXPIRE: Spec = Spec::new("HEXPIRE", b"$7\r\nHEXPIRE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HEXPIREAT: Spec = Spec::new("HEXPIREAT", b"$9\r\nHEXPIREAT\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HEXPIRETIME: Spec = Spec::new("HEXPIRETIME", b"$11\r\nHEXPIRETIME\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HGET: Spec = Spec::new("HGET", b"$4\r\nHGET\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HGETALL: Spec = Spec::new("HGETALL", b"$7\r\nHGETALL\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HGETDEL: Spec = Spec::new("HGETDEL", b"$7\r\nHGETDEL\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HGETEX: Spec = Spec::new("HGETEX", b"$6\r\nHGETEX\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HINCRBY: Spec = Spec::new("HINCRBY", b"$7\r\nHINCRBY\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HINCRBYFLOAT: Spec = Spec::new("HINCRBYFLOAT", b"$12\r\nHINCRBYFLOAT\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HKEYS: Spec = Spec::new("HKEYS", b"$5\r\nHKEYS\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HLEN: Spec = Spec::new("HLEN", b"$4\r\nHLEN\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HMGET: Spec = Spec::new("HMGET", b"$5\r\nHMGET\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HMSET: Spec = Spec::new("HMSET", b"$5\r\nHMSET\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HOTKEYS: Spec = Spec::new("HOTKEYS", b"$7\r\nHOTKEYS\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HOTKEYS_GET: Spec = Spec::new("HOTKEYS GET", b"$7\r\nHOTKEYS\r\n$3\r\nGET\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HOTKEYS_HELP: Spec = Spec::new("HOTKEYS HELP", b"$7\r\nHOTKEYS\r\n$4\r\nHELP\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HOTKEYS_RESET: Spec = Spec::new("HOTKEYS RESET", b"$7\r\nHOTKEYS\r\n$5\r\nRESET\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HOTKEYS_START: Spec = Spec::new("HOTKEYS START", b"$7\r\nHOTKEYS\r\n$5\r\nSTART\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HOTKEYS_STOP: Spec = Spec::new("HOTKEYS STOP", b"$7\r\nHOTKEYS\r\n$4\r\nSTOP\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HPERSIST: Spec = Spec::new("HPERSIST", b"$8\r\nHPERSIST\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HPEXPIRE: Spec = Spec::new("HPEXPIRE", b"$8\r\nHPEXPIRE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HPEXPIREAT: Spec = Spec::new("HPEXPIREAT", b"$10\r\nHPEXPIREAT\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HPEXPIRETIME: Spec = Spec::new("HPEXPIRETIME", b"$12\r\nHPEXPIRETIME\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HPTTL: Spec = Spec::new("HPTTL", b"$5\r\nHPTTL\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HRANDFIELD: Spec = Spec::new("HRANDFIELD", b"$10\r\nHRANDFIELD\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HSCAN: Spec = Spec::new("HSCAN", b"$5\r\nHSCAN\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HSET: Spec = Spec::new("HSET", b"$4\r\nHSET\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HSETEX: Spec = Spec::new("HSETEX", b"$6\r\nHSETEX\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HSETNX: Spec = Spec::new("HSETNX", b"$6\r\nHSETNX\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HSTRLEN: Spec = Spec::new("HSTRLEN", b"$7\r\nHSTRLEN\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HTTL: Spec = Spec::new("HTTL", b"$4\r\nHTTL\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static HVALS: Spec = Spec::new("HVALS", b"$5\r\nHVALS\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static INCR: Spec = Spec::new("INCR", b"$4\r\nINCR\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static INCRBY: Spec = Spec::new("INCRBY", b"$6\r\nINCRBY\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static INCRBYFLOAT: Spec = Spec::new("INCRBYFLOAT", b"$11\r\nINCRBYFLOAT\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static INCREX: Spec = Spec::new("INCREX", b"$6\r\nINCREX\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static INFO: Spec = Spec::new("INFO", b"$4\r\nINFO\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::Default);
pub(crate) static KEYS: Spec = Spec::new("KEYS", b"$4\r\nKEYS\r\n", 1, Flags(Flags::READONLY.0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::Default);
pub(crate) static LASTSAVE: Spec = Spec::new("LASTSAVE", b"$8\r\nLASTSAVE\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LATENCY: Spec = Spec::new("LATENCY", b"$7\r\nLATENCY\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LATENCY_DOCTOR: Spec = Spec::new("LATENCY DOCTOR", b"$7\r\nLATENCY\r\n$6\r\nDOCTOR\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::Default);
pub(crate) static LATENCY_GRAPH: Spec = Spec::new("LATENCY GRAPH", b"$7\r\nLATENCY\r\n$5\r\nGRAPH\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::Default);
pub(crate) static LATENCY_HELP: Spec = Spec::new("LATENCY HELP", b"$7\r\nLATENCY\r\n$4\r\nHELP\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LATENCY_HISTOGRAM: Spec = Spec::new("LATENCY HISTOGRAM", b"$7\r\nLATENCY\r\n$9\r\nHISTOGRAM\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::Default);
pub(crate) static LATENCY_HISTORY: Spec = Spec::new("LATENCY HISTORY", b"$7\r\nLATENCY\r\n$7\r\nHISTORY\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::Default);
pub(crate) static LATENCY_LATEST: Spec = Spec::new("LATENCY LATEST", b"$7\r\nLATENCY\r\n$6\r\nLATEST\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::Default);
pub(crate) static LATENCY_RESET: Spec = Spec::new("LATENCY RESET", b"$7\r\nLATENCY\r\n$5\r\nRESET\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::Sum);
pub(crate) static LCS: Spec = Spec::new("LCS", b"$3\r\nLCS\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LINDEX: Spec = Spec::new("LINDEX", b"$6\r\nLINDEX\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LINSERT: Spec = Spec::new("LINSERT", b"$7\r\nLINSERT\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LIVE_BROADCAST: Spec = Spec::new("LIVE.BROADCAST", b"$14\r\nLIVE.BROADCAST\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LIVE_CHANNELS: Spec = Spec::new("LIVE.CHANNELS", b"$13\r\nLIVE.CHANNELS\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LIVE_DISCONNECT: Spec = Spec::new("LIVE.DISCONNECT", b"$15\r\nLIVE.DISCONNECT\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LIVE_HISTORY: Spec = Spec::new("LIVE.HISTORY", b"$12\r\nLIVE.HISTORY\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LIVE_HISTORY_REMOVE: Spec = Spec::new("LIVE.HISTORY_REMOVE", b"$19\r\nLIVE.HISTORY_REMOVE\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LIVE_INFO: Spec = Spec::new("LIVE.INFO", b"$9\r\nLIVE.INFO\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LIVE_PRESENCE: Spec = Spec::new("LIVE.PRESENCE", b"$13\r\nLIVE.PRESENCE\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LIVE_PRESENCE_STATS: Spec = Spec::new("LIVE.PRESENCE_STATS", b"$19\r\nLIVE.PRESENCE_STATS\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LIVE_PUBLISH: Spec = Spec::new("LIVE.PUBLISH", b"$12\r\nLIVE.PUBLISH\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LIVE_REFRESH: Spec = Spec::new("LIVE.REFRESH", b"$12\r\nLIVE.REFRESH\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LIVE_SUBSCRIBE: Spec = Spec::new("LIVE.SUBSCRIBE", b"$14\r\nLIVE.SUBSCRIBE\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LIVE_UNSUBSCRIBE: Spec = Spec::new("LIVE.UNSUBSCRIBE", b"$16\r\nLIVE.UNSUBSCRIBE\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LLEN: Spec = Spec::new("LLEN", b"$4\r\nLLEN\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LMOVE: Spec = Spec::new("LMOVE", b"$5\r\nLMOVE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LMOVEM: Spec = Spec::new("LMOVEM", b"$6\r\nLMOVEM\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LMPOP: Spec = Spec::new("LMPOP", b"$5\r\nLMPOP\r\n", 1, Flags(0), FirstKey::Counted(1, 2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LOAD: Spec = Spec::new("LOAD", b"$4\r\nLOAD\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LOLWUT: Spec = Spec::new("LOLWUT", b"$6\r\nLOLWUT\r\n", 1, Flags(Flags::READONLY.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LPOP: Spec = Spec::new("LPOP", b"$4\r\nLPOP\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LPOS: Spec = Spec::new("LPOS", b"$4\r\nLPOS\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LPUSH: Spec = Spec::new("LPUSH", b"$5\r\nLPUSH\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LPUSHX: Spec = Spec::new("LPUSHX", b"$6\r\nLPUSHX\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LRANGE: Spec = Spec::new("LRANGE", b"$6\r\nLRANGE\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LREM: Spec = Spec::new("LREM", b"$4\r\nLREM\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LSET: Spec = Spec::new("LSET", b"$4\r\nLSET\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static LTRIM: Spec = Spec::new("LTRIM", b"$5\r\nLTRIM\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static MEMORY: Spec = Spec::new("MEMORY", b"$6\r\nMEMORY\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static MEMORY_DOCTOR: Spec = Spec::new("MEMORY DOCTOR", b"$6\r\nMEMORY\r\n$6\r\nDOCTOR\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::Default);
pub(crate) static MEMORY_HELP: Spec = Spec::new("MEMORY HELP", b"$6\r\nMEMORY\r\n$4\r\nHELP\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static MEMORY_MALLOC_STATS: Spec = Spec::new("MEMORY MALLOC-STATS", b"$6\r\nMEMORY\r\n$12\r\nMALLOC-STATS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::Default);
pub(crate) static MEMORY_PURGE: Spec = Spec::new("MEMORY PURGE", b"$6\r\nMEMORY\r\n$5\r\nPURGE\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::AllSucceeded);
pub(crate) static MEMORY_STATS: Spec = Spec::new("MEMORY STATS", b"$6\r\nMEMORY\r\n$5\r\nSTATS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::Default);
pub(crate) static MEMORY_USAGE: Spec = Spec::new("MEMORY USAGE", b"$6\r\nMEMORY\r\n$5\r\nUSAGE\r\n", 2, Flags(Flags::READONLY.0), FirstKey::At(2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static MGET: Spec = Spec::new("MGET", b"$4\r\nMGET\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::MultiShard, ResponsePolicy::Default);
pub(crate) static MIGRATE: Spec = Spec::new("MIGRATE", b"$7\r\nMIGRATE\r\n", 1, Flags(0), FirstKey::At(3), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static MODULE: Spec = Spec::new("MODULE", b"$6\r\nMODULE\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static MODULE_HELP: Spec = Spec::new("MODULE HELP", b"$6\r\nMODULE\r\n$4\r\nHELP\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static MODULE_LIST: Spec = Spec::new("MODULE LIST", b"$6\r\nMODULE\r\n$4\r\nLIST\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static MONITOR: Spec = Spec::new("MONITOR", b"$7\r\nMONITOR\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static MOVE: Spec = Spec::new("MOVE", b"$4\r\nMOVE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static MSET: Spec = Spec::new("MSET", b"$4\r\nMSET\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::MultiShard, ResponsePolicy::AllSucceeded);
pub(crate) static MSETEX: Spec = Spec::new("MSETEX", b"$6\r\nMSETEX\r\n", 1, Flags(0), FirstKey::Counted(1, 2), RequestPolicy::MultiShard, ResponsePolicy::AllSucceeded);
pub(crate) static MSETNX: Spec = Spec::new("MSETNX", b"$6\r\nMSETNX\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static MULTI: Spec = Spec::new("MULTI", b"$5\r\nMULTI\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static OBJECT: Spec = Spec::new("OBJECT", b"$6\r\nOBJECT\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static OBJECT_ENCODING: Spec = Spec::new("OBJECT ENCODING", b"$6\r\nOBJECT\r\n$8\r\nENCODING\r\n", 2, Flags(Flags::READONLY.0), FirstKey::At(2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static OBJECT_FREQ: Spec = Spec::new("OBJECT FREQ", b"$6\r\nOBJECT\r\n$4\r\nFREQ\r\n", 2, Flags(Flags::READONLY.0), FirstKey::At(2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static OBJECT_HELP: Spec = Spec::new("OBJECT HELP", b"$6\r\nOBJECT\r\n$4\r\nHELP\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static OBJECT_IDLETIME: Spec = Spec::new("OBJECT IDLETIME", b"$6\r\nOBJECT\r\n$8\r\nIDLETIME\r\n", 2, Flags(Flags::READONLY.0), FirstKey::At(2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static OBJECT_REFCOUNT: Spec = Spec::new("OBJECT REFCOUNT", b"$6\r\nOBJECT\r\n$8\r\nREFCOUNT\r\n", 2, Flags(Flags::READONLY.0), FirstKey::At(2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PERSIST: Spec = Spec::new("PERSIST", b"$7\r\nPERSIST\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PEXPIRE: Spec = Spec::new("PEXPIRE", b"$7\r\nPEXPIRE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PEXPIREAT: Spec = Spec::new("PEXPIREAT", b"$9\r\nPEXPIREAT\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PEXPIRETIME: Spec = Spec::new("PEXPIRETIME", b"$11\r\nPEXPIRETIME\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PFADD: Spec = Spec::new("PFADD", b"$5\r\nPFADD\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PFCOUNT: Spec = Spec::new("PFCOUNT", b"$7\r\nPFCOUNT\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PFDEBUG: Spec = Spec::new("PFDEBUG", b"$7\r\nPFDEBUG\r\n", 1, Flags(0), FirstKey::At(2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PFMERGE: Spec = Spec::new("PFMERGE", b"$7\r\nPFMERGE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PFSELFTEST: Spec = Spec::new("PFSELFTEST", b"$10\r\nPFSELFTEST\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PING: Spec = Spec::new("PING", b"$4\r\nPING\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::AllSucceeded);
pub(crate) static PSETEX: Spec = Spec::new("PSETEX", b"$6\r\nPSETEX\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PSUBSCRIBE: Spec = Spec::new("PSUBSCRIBE", b"$10\r\nPSUBSCRIBE\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PSYNC: Spec = Spec::new("PSYNC", b"$5\r\nPSYNC\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PTTL: Spec = Spec::new("PTTL", b"$4\r\nPTTL\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PUBLISH: Spec = Spec::new("PUBLISH", b"$7\r\nPUBLISH\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PUBSUB: Spec = Spec::new("PUBSUB", b"$6\r\nPUBSUB\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PUBSUB_CHANNELS: Spec = Spec::new("PUBSUB CHANNELS", b"$6\r\nPUBSUB\r\n$8\r\nCHANNELS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PUBSUB_HELP: Spec = Spec::new("PUBSUB HELP", b"$6\r\nPUBSUB\r\n$4\r\nHELP\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PUBSUB_NUMPAT: Spec = Spec::new("PUBSUB NUMPAT", b"$6\r\nPUBSUB\r\n$6\r\nNUMPAT\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PUBSUB_NUMSUB: Spec = Spec::new("PUBSUB NUMSUB", b"$6\r\nPUBSUB\r\n$6\r\nNUMSUB\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PUBSUB_SHARDCHANNELS: Spec = Spec::new("PUBSUB SHARDCHANNELS", b"$6\r\nPUBSUB\r\n$13\r\nSHARDCHANNELS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PUBSUB_SHARDNUMSUB: Spec = Spec::new("PUBSUB SHARDNUMSUB", b"$6\r\nPUBSUB\r\n$11\r\nSHARDNUMSUB\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static PUNSUBSCRIBE: Spec = Spec::new("PUNSUBSCRIBE", b"$12\r\nPUNSUBSCRIBE\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static QUIT: Spec = Spec::new("QUIT", b"$4\r\nQUIT\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static RANDOMKEY: Spec = Spec::new("RANDOMKEY", b"$9\r\nRANDOMKEY\r\n", 1, Flags(Flags::READONLY.0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::Default);
pub(crate) static READONLY: Spec = Spec::new("READONLY", b"$8\r\nREADONLY\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static READWRITE: Spec = Spec::new("READWRITE", b"$9\r\nREADWRITE\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static RENAME: Spec = Spec::new("RENAME", b"$6\r\nRENAME\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static RENAMENX: Spec = Spec::new("RENAMENX", b"$8\r\nRENAMENX\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static REPLCONF: Spec = Spec::new("REPLCONF", b"$8\r\nREPLCONF\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static REPLICAOF: Spec = Spec::new("REPLICAOF", b"$9\r\nREPLICAOF\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static RESET: Spec = Spec::new("RESET", b"$5\r\nRESET\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static RESTORE: Spec = Spec::new("RESTORE", b"$7\r\nRESTORE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static RESTORE_ASKING: Spec = Spec::new("RESTORE-ASKING", b"$14\r\nRESTORE-ASKING\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ROLE: Spec = Spec::new("ROLE", b"$4\r\nROLE\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static RPOP: Spec = Spec::new("RPOP", b"$4\r\nRPOP\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static RPOPLPUSH: Spec = Spec::new("RPOPLPUSH", b"$9\r\nRPOPLPUSH\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static RPUSH: Spec = Spec::new("RPUSH", b"$5\r\nRPUSH\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static RPUSHX: Spec = Spec::new("RPUSHX", b"$6\r\nRPUSHX\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SADD: Spec = Spec::new("SADD", b"$4\r\nSADD\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SAVE: Spec = Spec::new("SAVE", b"$4\r\nSAVE\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SCAN: Spec = Spec::new("SCAN", b"$4\r\nSCAN\r\n", 1, Flags(Flags::READONLY.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SCARD: Spec = Spec::new("SCARD", b"$5\r\nSCARD\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SCRIPT: Spec = Spec::new("SCRIPT", b"$6\r\nSCRIPT\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SCRIPT_DEBUG: Spec = Spec::new("SCRIPT DEBUG", b"$6\r\nSCRIPT\r\n$5\r\nDEBUG\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SCRIPT_EXISTS: Spec = Spec::new("SCRIPT EXISTS", b"$6\r\nSCRIPT\r\n$6\r\nEXISTS\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::And);
pub(crate) static SCRIPT_FLUSH: Spec = Spec::new("SCRIPT FLUSH", b"$6\r\nSCRIPT\r\n$5\r\nFLUSH\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::AllSucceeded);
pub(crate) static SCRIPT_HELP: Spec = Spec::new("SCRIPT HELP", b"$6\r\nSCRIPT\r\n$4\r\nHELP\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SCRIPT_KILL: Spec = Spec::new("SCRIPT KILL", b"$6\r\nSCRIPT\r\n$4\r\nKILL\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::OneSucceeded);
pub(crate) static SCRIPT_LOAD: Spec = Spec::new("SCRIPT LOAD", b"$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::AllSucceeded);
pub(crate) static SDIFF: Spec = Spec::new("SDIFF", b"$5\r\nSDIFF\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SDIFFCARD: Spec = Spec::new("SDIFFCARD", b"$9\r\nSDIFFCARD\r\n", 1, Flags(Flags::READONLY.0), FirstKey::Counted(1, 2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SDIFFSTORE: Spec = Spec::new("SDIFFSTORE", b"$10\r\nSDIFFSTORE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SELECT: Spec = Spec::new("SELECT", b"$6\r\nSELECT\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SET: Spec = Spec::new("SET", b"$3\r\nSET\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SETBIT: Spec = Spec::new("SETBIT", b"$6\r\nSETBIT\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SETEX: Spec = Spec::new("SETEX", b"$5\r\nSETEX\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SETNX: Spec = Spec::new("SETNX", b"$5\r\nSETNX\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SETRANGE: Spec = Spec::new("SETRANGE", b"$8\r\nSETRANGE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SHUTDOWN: Spec = Spec::new("SHUTDOWN", b"$8\r\nSHUTDOWN\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SINTER: Spec = Spec::new("SINTER", b"$6\r\nSINTER\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SINTERCARD: Spec = Spec::new("SINTERCARD", b"$10\r\nSINTERCARD\r\n", 1, Flags(Flags::READONLY.0), FirstKey::Counted(1, 2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SINTERSTORE: Spec = Spec::new("SINTERSTORE", b"$11\r\nSINTERSTORE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SISMEMBER: Spec = Spec::new("SISMEMBER", b"$9\r\nSISMEMBER\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SLAVEOF: Spec = Spec::new("SLAVEOF", b"$7\r\nSLAVEOF\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SLOWLOG: Spec = Spec::new("SLOWLOG", b"$7\r\nSLOWLOG\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SLOWLOG_GET: Spec = Spec::new("SLOWLOG GET", b"$7\r\nSLOWLOG\r\n$3\r\nGET\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::Default);
pub(crate) static SLOWLOG_HELP: Spec = Spec::new("SLOWLOG HELP", b"$7\r\nSLOWLOG\r\n$4\r\nHELP\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SLOWLOG_LEN: Spec = Spec::new("SLOWLOG LEN", b"$7\r\nSLOWLOG\r\n$3\r\nLEN\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::Sum);
pub(crate) static SLOWLOG_RESET: Spec = Spec::new("SLOWLOG RESET", b"$7\r\nSLOWLOG\r\n$5\r\nRESET\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::AllNodes, ResponsePolicy::AllSucceeded);
pub(crate) static SMEMBERS: Spec = Spec::new("SMEMBERS", b"$8\r\nSMEMBERS\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SMISMEMBER: Spec = Spec::new("SMISMEMBER", b"$10\r\nSMISMEMBER\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SMOVE: Spec = Spec::new("SMOVE", b"$5\r\nSMOVE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SORT: Spec = Spec::new("SORT", b"$4\r\nSORT\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SORT_RO: Spec = Spec::new("SORT_RO", b"$7\r\nSORT_RO\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SPOP: Spec = Spec::new("SPOP", b"$4\r\nSPOP\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SPUBLISH: Spec = Spec::new("SPUBLISH", b"$8\r\nSPUBLISH\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SRANDMEMBER: Spec = Spec::new("SRANDMEMBER", b"$11\r\nSRANDMEMBER\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SREM: Spec = Spec::new("SREM", b"$4\r\nSREM\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SSCAN: Spec = Spec::new("SSCAN", b"$5\r\nSSCAN\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SSUBSCRIBE: Spec = Spec::new("SSUBSCRIBE", b"$10\r\nSSUBSCRIBE\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static STRLEN: Spec = Spec::new("STRLEN", b"$6\r\nSTRLEN\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SUBSCRIBE: Spec = Spec::new("SUBSCRIBE", b"$9\r\nSUBSCRIBE\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SUBSTR: Spec = Spec::new("SUBSTR", b"$6\r\nSUBSTR\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SUNION: Spec = Spec::new("SUNION", b"$6\r\nSUNION\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SUNIONCARD: Spec = Spec::new("SUNIONCARD", b"$10\r\nSUNIONCARD\r\n", 1, Flags(Flags::READONLY.0), FirstKey::Counted(1, 2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SUNIONSTORE: Spec = Spec::new("SUNIONSTORE", b"$11\r\nSUNIONSTORE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SUNSUBSCRIBE: Spec = Spec::new("SUNSUBSCRIBE", b"$12\r\nSUNSUBSCRIBE\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SWAPDB: Spec = Spec::new("SWAPDB", b"$6\r\nSWAPDB\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static SYNC: Spec = Spec::new("SYNC", b"$4\r\nSYNC\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static TIME: Spec = Spec::new("TIME", b"$4\r\nTIME\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static TOPIC_APPEND: Spec = Spec::new("TOPIC.APPEND", b"$12\r\nTOPIC.APPEND\r\n", 1, Flags(Flags::BLOCKING.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static TOPIC_COMMIT: Spec = Spec::new("TOPIC.COMMIT", b"$12\r\nTOPIC.COMMIT\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static TOPIC_COMMITTED: Spec = Spec::new("TOPIC.COMMITTED", b"$15\r\nTOPIC.COMMITTED\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static TOPIC_CREATE: Spec = Spec::new("TOPIC.CREATE", b"$12\r\nTOPIC.CREATE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static TOPIC_DELETE: Spec = Spec::new("TOPIC.DELETE", b"$12\r\nTOPIC.DELETE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static TOPIC_GROUPS: Spec = Spec::new("TOPIC.GROUPS", b"$12\r\nTOPIC.GROUPS\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static TOPIC_INFO: Spec = Spec::new("TOPIC.INFO", b"$10\r\nTOPIC.INFO\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static TOPIC_LIST: Spec = Spec::new("TOPIC.LIST", b"$10\r\nTOPIC.LIST\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static TOPIC_READ: Spec = Spec::new("TOPIC.READ", b"$10\r\nTOPIC.READ\r\n", 1, Flags(Flags::BLOCKING.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static TOPIC_SET: Spec = Spec::new("TOPIC.SET", b"$9\r\nTOPIC.SET\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static TOUCH: Spec = Spec::new("TOUCH", b"$5\r\nTOUCH\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::MultiShard, ResponsePolicy::Sum);
pub(crate) static TTL: Spec = Spec::new("TTL", b"$3\r\nTTL\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static TYPE: Spec = Spec::new("TYPE", b"$4\r\nTYPE\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static UNLINK: Spec = Spec::new("UNLINK", b"$6\r\nUNLINK\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::MultiShard, ResponsePolicy::Sum);
pub(crate) static UNSUBSCRIBE: Spec = Spec::new("UNSUBSCRIBE", b"$11\r\nUNSUBSCRIBE\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static UNWATCH: Spec = Spec::new("UNWATCH", b"$7\r\nUNWATCH\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static WAIT: Spec = Spec::new("WAIT", b"$4\r\nWAIT\r\n", 1, Flags(Flags::BLOCKING.0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::Min);
pub(crate) static WAITAOF: Spec = Spec::new("WAITAOF", b"$7\r\nWAITAOF\r\n", 1, Flags(Flags::BLOCKING.0), FirstKey::None, RequestPolicy::AllShards, ResponsePolicy::Min);
pub(crate) static WATCH: Spec = Spec::new("WATCH", b"$5\r\nWATCH\r\n", 1, Flags(Flags::CONNECTION.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XACK: Spec = Spec::new("XACK", b"$4\r\nXACK\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XACKDEL: Spec = Spec::new("XACKDEL", b"$7\r\nXACKDEL\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XADD: Spec = Spec::new("XADD", b"$4\r\nXADD\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XAUTOCLAIM: Spec = Spec::new("XAUTOCLAIM", b"$10\r\nXAUTOCLAIM\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XCLAIM: Spec = Spec::new("XCLAIM", b"$6\r\nXCLAIM\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XDEL: Spec = Spec::new("XDEL", b"$4\r\nXDEL\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XDELEX: Spec = Spec::new("XDELEX", b"$6\r\nXDELEX\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XGROUP: Spec = Spec::new("XGROUP", b"$6\r\nXGROUP\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XGROUP_CREATE: Spec = Spec::new("XGROUP CREATE", b"$6\r\nXGROUP\r\n$6\r\nCREATE\r\n", 2, Flags(0), FirstKey::At(2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XGROUP_CREATECONSUMER: Spec = Spec::new("XGROUP CREATECONSUMER", b"$6\r\nXGROUP\r\n$14\r\nCREATECONSUMER\r\n", 2, Flags(0), FirstKey::At(2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XGROUP_DELCONSUMER: Spec = Spec::new("XGROUP DELCONSUMER", b"$6\r\nXGROUP\r\n$11\r\nDELCONSUMER\r\n", 2, Flags(0), FirstKey::At(2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XGROUP_DESTROY: Spec = Spec::new("XGROUP DESTROY", b"$6\r\nXGROUP\r\n$7\r\nDESTROY\r\n", 2, Flags(0), FirstKey::At(2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XGROUP_HELP: Spec = Spec::new("XGROUP HELP", b"$6\r\nXGROUP\r\n$4\r\nHELP\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XGROUP_SETID: Spec = Spec::new("XGROUP SETID", b"$6\r\nXGROUP\r\n$5\r\nSETID\r\n", 2, Flags(0), FirstKey::At(2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XINFO: Spec = Spec::new("XINFO", b"$5\r\nXINFO\r\n", 1, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XINFO_CONSUMERS: Spec = Spec::new("XINFO CONSUMERS", b"$5\r\nXINFO\r\n$9\r\nCONSUMERS\r\n", 2, Flags(Flags::READONLY.0), FirstKey::At(2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XINFO_GROUPS: Spec = Spec::new("XINFO GROUPS", b"$5\r\nXINFO\r\n$6\r\nGROUPS\r\n", 2, Flags(Flags::READONLY.0), FirstKey::At(2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XINFO_HELP: Spec = Spec::new("XINFO HELP", b"$5\r\nXINFO\r\n$4\r\nHELP\r\n", 2, Flags(0), FirstKey::None, RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XINFO_STREAM: Spec = Spec::new("XINFO STREAM", b"$5\r\nXINFO\r\n$6\r\nSTREAM\r\n", 2, Flags(Flags::READONLY.0), FirstKey::At(2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XLEN: Spec = Spec::new("XLEN", b"$4\r\nXLEN\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XPENDING: Spec = Spec::new("XPENDING", b"$8\r\nXPENDING\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XRANGE: Spec = Spec::new("XRANGE", b"$6\r\nXRANGE\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XREAD: Spec = Spec::new("XREAD", b"$5\r\nXREAD\r\n", 1, Flags(Flags::READONLY.0 | Flags::BLOCKING.0), FirstKey::After("STREAMS"), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XREADGROUP: Spec = Spec::new("XREADGROUP", b"$10\r\nXREADGROUP\r\n", 1, Flags(Flags::BLOCKING.0), FirstKey::After("STREAMS"), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XREVRANGE: Spec = Spec::new("XREVRANGE", b"$9\r\nXREVRANGE\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XSETID: Spec = Spec::new("XSETID", b"$6\r\nXSETID\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static XTRIM: Spec = Spec::new("XTRIM", b"$5\r\nXTRIM\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZADD: Spec = Spec::new("ZADD", b"$4\r\nZADD\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZCARD: Spec = Spec::new("ZCARD", b"$5\r\nZCARD\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZCOUNT: Spec = Spec::new("ZCOUNT", b"$6\r\nZCOUNT\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZDIFF: Spec = Spec::new("ZDIFF", b"$5\r\nZDIFF\r\n", 1, Flags(Flags::READONLY.0), FirstKey::Counted(1, 2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZDIFFSTORE: Spec = Spec::new("ZDIFFSTORE", b"$10\r\nZDIFFSTORE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZINCRBY: Spec = Spec::new("ZINCRBY", b"$7\r\nZINCRBY\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZINTER: Spec = Spec::new("ZINTER", b"$6\r\nZINTER\r\n", 1, Flags(Flags::READONLY.0), FirstKey::Counted(1, 2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZINTERCARD: Spec = Spec::new("ZINTERCARD", b"$10\r\nZINTERCARD\r\n", 1, Flags(Flags::READONLY.0), FirstKey::Counted(1, 2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZINTERSTORE: Spec = Spec::new("ZINTERSTORE", b"$11\r\nZINTERSTORE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZLEXCOUNT: Spec = Spec::new("ZLEXCOUNT", b"$9\r\nZLEXCOUNT\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZMPOP: Spec = Spec::new("ZMPOP", b"$5\r\nZMPOP\r\n", 1, Flags(0), FirstKey::Counted(1, 2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZMSCORE: Spec = Spec::new("ZMSCORE", b"$7\r\nZMSCORE\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZPOPMAX: Spec = Spec::new("ZPOPMAX", b"$7\r\nZPOPMAX\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZPOPMIN: Spec = Spec::new("ZPOPMIN", b"$7\r\nZPOPMIN\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZRANDMEMBER: Spec = Spec::new("ZRANDMEMBER", b"$11\r\nZRANDMEMBER\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZRANGE: Spec = Spec::new("ZRANGE", b"$6\r\nZRANGE\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZRANGEBYLEX: Spec = Spec::new("ZRANGEBYLEX", b"$11\r\nZRANGEBYLEX\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZRANGEBYSCORE: Spec = Spec::new("ZRANGEBYSCORE", b"$13\r\nZRANGEBYSCORE\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZRANGESTORE: Spec = Spec::new("ZRANGESTORE", b"$11\r\nZRANGESTORE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZRANK: Spec = Spec::new("ZRANK", b"$5\r\nZRANK\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZREM: Spec = Spec::new("ZREM", b"$4\r\nZREM\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZREMRANGEBYLEX: Spec = Spec::new("ZREMRANGEBYLEX", b"$14\r\nZREMRANGEBYLEX\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZREMRANGEBYRANK: Spec = Spec::new("ZREMRANGEBYRANK", b"$15\r\nZREMRANGEBYRANK\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZREMRANGEBYSCORE: Spec = Spec::new("ZREMRANGEBYSCORE", b"$16\r\nZREMRANGEBYSCORE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZREVRANGE: Spec = Spec::new("ZREVRANGE", b"$9\r\nZREVRANGE\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZREVRANGEBYLEX: Spec = Spec::new("ZREVRANGEBYLEX", b"$14\r\nZREVRANGEBYLEX\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZREVRANGEBYSCORE: Spec = Spec::new("ZREVRANGEBYSCORE", b"$16\r\nZREVRANGEBYSCORE\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZREVRANK: Spec = Spec::new("ZREVRANK", b"$8\r\nZREVRANK\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZSCAN: Spec = Spec::new("ZSCAN", b"$5\r\nZSCAN\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZSCORE: Spec = Spec::new("ZSCORE", b"$6\r\nZSCORE\r\n", 1, Flags(Flags::READONLY.0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZUNION: Spec = Spec::new("ZUNION", b"$6\r\nZUNION\r\n", 1, Flags(Flags::READONLY.0), FirstKey::Counted(1, 2), RequestPolicy::Default, ResponsePolicy::Default);
pub(crate) static ZUNIONSTORE: Spec = Spec::new("ZUNIONSTORE", b"$11\r\nZUNIONSTORE\r\n", 1, Flags(0), FirstKey::At(1), RequestPolicy::Default, ResponsePolicy::Default);
