//! The enumerations: the names an option may have and the type the program uses.
//!
//! The order of names is Redis's, since the error text lists them in it.

use crate::kind::Names;

/// An enumeration that is the value of an option.
pub trait Choice: Copy + 'static {
    /// Names and values, as the table wants them.
    const NAMES: Names;
    /// The variant whose number is `value`; the first variant if there is none.
    fn from_value(value: usize) -> Self;
    /// The name that CONFIG GET shows.
    fn name(self) -> &'static str;
}

macro_rules! choices {
    ($( $(#[$meta:meta])* $type:ident { $( $variant:ident = $name:literal $(| $also:literal)* ),* $(,)? } )*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type { $( #[doc = concat!("`", $name, "`")] $variant, )* }

        impl Choice for $type {
            const NAMES: Names = &[ $(
                ($name, $type::$variant as i64), $( ($also, $type::$variant as i64), )*
            )* ];

            fn from_value(value: usize) -> Self {
                const ALL: &[$type] = &[ $( $type::$variant, )* ];
                ALL.get(value).copied().unwrap_or(ALL[0])
            }

            fn name(self) -> &'static str {
                match self { $( $type::$variant => $name, )* }
            }
        }
    )* };
}

choices! {
    /// Values of `maxmemory-policy`.
    MaxmemoryPolicy {
        VolatileLru = "volatile-lru", VolatileLfu = "volatile-lfu",
        VolatileRandom = "volatile-random", VolatileTtl = "volatile-ttl",
        AllkeysLru = "allkeys-lru", AllkeysLfu = "allkeys-lfu",
        AllkeysRandom = "allkeys-random", Noeviction = "noeviction",
    }
    /// Values of `loglevel`, from the most to the least talkative.
    Loglevel {
        Debug = "debug", Verbose = "verbose", Notice = "notice", Warning = "warning",
        Nothing = "nothing",
    }
    /// Values of `log-format`.
    LogFormat { Text = "text", Json = "json" }
    /// Values of `web-compression`.
    WebCompression { No = "no", Kept = "kept", All = "all" }
    /// Values of `web-access-log-format`.
    AccessLogFormat { Common = "common", Combined = "combined", Json = "json" }
    /// Values of `web-forwarded-header`.
    ForwardedHeader { XForwarded = "x-forwarded", Forwarded = "forwarded" }
    /// Values of `enable-debug-command` and its kin.
    ProtectedAction { No = "no", Yes = "yes", Local = "local" }
    /// Values of `appendfsync`.
    Appendfsync { Everysec = "everysec", Always = "always", No = "no" }
    /// Values of `acl-pubsub-default`.
    AclPubsubDefault { Allchannels = "allchannels", Resetchannels = "resetchannels" }
    /// Values of `sanitize-dump-payload`.
    SanitizeDumpPayload { No = "no", Yes = "yes", Clients = "clients" }
    /// Values of `supervised`.
    Supervised { Upstart = "upstart", Systemd = "systemd", Auto = "auto", No = "no" }
    /// Values of `syslog-facility`.
    SyslogFacility {
        User = "user", Local0 = "local0", Local1 = "local1", Local2 = "local2", Local3 = "local3",
        Local4 = "local4", Local5 = "local5", Local6 = "local6", Local7 = "local7",
    }
    /// Values of `oom-score-adj`.
    OomScoreAdj { No = "no", Relative = "yes" | "relative", Absolute = "absolute" }
    /// Values of `repl-diskless-load`.
    ReplDisklessLoad { Disabled = "disabled", OnEmptyDb = "on-empty-db", Swapdb = "swapdb" }
    /// Values of `tls-auth-clients`.
    TlsAuthClients { No = "no", Yes = "yes", Optional = "optional" }
    /// Values of `tls-auth-clients-user`.
    TlsAuthClientsUser { Off = "off", CommonName = "CN" }
    /// Values of `cluster-preferred-endpoint-type`.
    ClusterEndpointType { Ip = "ip", Hostname = "hostname", Unknown = "unknown-endpoint" }
    /// Values of `propagation-error-behavior`.
    PropagationErrorBehavior {
        Ignore = "ignore", Panic = "panic", PanicOnReplicas = "panic-on-replicas",
    }
}

/// Bit of `shutdown-on-sig…`: take a snapshot.
pub const SHUTDOWN_SAVE: i64 = 1;
/// Bit of `shutdown-on-sig…`: take no snapshot.
pub const SHUTDOWN_NOSAVE: i64 = 2;
/// Bit of `shutdown-on-sig…`: don't wait for replicas.
pub const SHUTDOWN_NOW: i64 = 4;
/// Bit of `shutdown-on-sig…`: go even if the snapshot fails.
pub const SHUTDOWN_FORCE: i64 = 8;

/// Names of `shutdown-on-sigint` and `shutdown-on-sigterm`.
pub(crate) const SHUTDOWN: Names = &[
    ("default", 0),
    ("save", SHUTDOWN_SAVE),
    ("nosave", SHUTDOWN_NOSAVE),
    ("now", SHUTDOWN_NOW),
    ("force", SHUTDOWN_FORCE),
];
