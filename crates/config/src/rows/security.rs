//! Rows: passwords, access control and guarded commands.

macro_rules! security_rows {
    ($next:ident $($rest:ident)*; $($seen:tt)*) => { $next! { $($rest)*; $($seen)* Security {

Requirepass: "requirepass", [], Optional(any), "", SENSITIVE, Effective,
    "Password of the default user; empty asks for none.";
EnableProtectedConfigs: "enable-protected-configs", [], Choice(ProtectedAction::NAMES), "no", IMMUTABLE, Effective,
    "Whether CONFIG SET may change options that name files or open the HTTP ports: no, yes, or only from this machine (local).";
EnableDebugCommand: "enable-debug-command", [], Choice(ProtectedAction::NAMES), "no", IMMUTABLE, Effective,
    "Whether DEBUG may be used: no, yes, or only from this machine (local).";
EnableModuleCommand: "enable-module-command", [], Choice(ProtectedAction::NAMES), "no", IMMUTABLE, Accepted(NO_MODULES),
    "Whether MODULE may be used: no, yes, or only from this machine (local).";
Aclfile: "aclfile", [], Text(any), "", IMMUTABLE, Effective,
    "File that holds the users; empty keeps them in the configuration file.";
AclPubsubDefault: "acl-pubsub-default", [], Choice(AclPubsubDefault::NAMES), "resetchannels", RUNTIME, Effective,
    "Channels a new user may use: all, or none.";
AcllogMaxLen: "acllog-max-len", [], Int(0, LONG_MAX), "128", RUNTIME, Effective,
    "Entries that ACL LOG keeps.";
SanitizeDumpPayload: "sanitize-dump-payload", [], Choice(SanitizeDumpPayload::NAMES), "no", DEBUG, Accepted(ALWAYS_CHECKED),
    "Whether the insides of values given to RESTORE or read from a snapshot are verified.";
HideUserDataFromLog: "hide-user-data-from-log", [], Bool, "no", RUNTIME, Accepted(NO_USER_DATA),
    "Keeps keys and values out of the log.";
    } } };
}
