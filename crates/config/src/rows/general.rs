//! Rows: the process, logging, observation, scripts, and Apus's own options.

macro_rules! general_rows {
    ($next:ident $($rest:ident)*; $($seen:tt)*) => { $next! { $($rest)*; $($seen)*
Apus {
Threads: "threads", [], Int(0, 1024), "0", IMMUTABLE, Effective,
    "Worker threads, each with its own connections; 0 for one per core.";
CollapseHugePages: "collapse-huge-pages", [], Bool, "yes", IMMUTABLE, Effective,
    "A background thread moves memory that is in use and no longer grows into huge pages (Linux 6.7, from 64 MB on), which makes commands on many gigabytes faster. A request that touches a page while it is moved waits for a millisecond, rarely for some.";
LogFormat: "log-format", [], Choice(LogFormat::NAMES), "text", RUNTIME, Effective,
    "Form of the log's lines: text for people, json for machines.";
AdminPort: "admin-port", [], Int(0, 65535), "0", PROTECTED, Effective,
    "Port of the HTTP interface for operators (health, metrics, profiles); 0 opens none.";
AdminBind: "admin-bind", [], Bind, "127.0.0.1 -::1", MULTI | PROTECTED, Effective,
    "Addresses the HTTP interface for operators listens on, written as for `bind`.";
AdminTls: "admin-tls", [], Bool, "no", PROTECTED, Effective,
    "Speaks HTTPS, and nothing else, on the port of the HTTP interface for operators.";
AdminTlsCertFile: "admin-tls-cert-file", [], Optional(any), "", PROTECTED | VOLATILE, Effective,
    "Certificate (PEM) of the port of the HTTP interface for operators; empty uses that of tls-cert-file.";
AdminTlsKeyFile: "admin-tls-key-file", [], Optional(any), "", PROTECTED | VOLATILE, Effective,
    "Private key (PEM) of admin-tls-cert-file. A protected one is opened with tls-key-file-pass.";
WebPort: "web-port", [], Int(0, 65535), "0", PROTECTED, Effective,
    "Port that serves pages and files over HTTP; 0 opens none.";
WebBind: "web-bind", [], Bind, "127.0.0.1 -::1", MULTI | PROTECTED, Effective,
    "Addresses that serve pages and files, written as for `bind`.";
WebTls: "web-tls", [], Bool, "no", PROTECTED, Effective,
    "Speaks HTTPS, and nothing else, on the port for pages and files.";
WebTlsCertFile: "web-tls-cert-file", [], Optional(any), "", PROTECTED | VOLATILE, Effective,
    "Certificate (PEM) of the port for pages and files; empty uses that of tls-cert-file.";
WebTlsKeyFile: "web-tls-key-file", [], Optional(any), "", PROTECTED | VOLATILE, Effective,
    "Private key (PEM) of web-tls-cert-file. A protected one is opened with tls-key-file-pass.";
WebRoot: "web-root", [], Optional(any), "", IMMUTABLE, Effective,
    "Directory with the templates, routes and files of the site; empty for none. A relative path begins in `dir`. It is read again when a file changes.";
WebKey: "web-key", [], Optional(any), "", IMMUTABLE, Effective,
    "Hash with the files of a site, by their paths; empty for none. It comes before web-root, path by path. A change is served at once.";
WebKeyUsers: "web-key-users", [], Optional(any), "", IMMUTABLE, Effective,
    "Users that the routes of a site in web-key may call functions as, with commas between them; empty for none besides web-user.";
WebUser: "web-user", [], Optional(any), "", IMMUTABLE, Effective,
    "User that reads keys for pages; empty for one that may read every key and change nothing.";
LiveConfig: "live-config", [], Optional(any), "", VOLATILE, Effective,
    "File with the options of live channels, a config.json of Centrifugo 6; empty for no live channels. `{}` is a configuration, which admits no client. The file is read again when it changes. Live channels begin and end with a restart only.";
LiveBroker: "live-broker", [], Optional(any), "", SENSITIVE | IMMUTABLE, Effective,
    "Where live channels are: the URL of another Apus or Redis, as `redis://host:6379`, `rediss://…`, `unix:///path`, `redis+sentinel://host:26379?sentinel_master_name=…` or `redis+cluster://host:7000`, behind which several servers serve one set of channels. Several, in quotes and with blanks between them, share the channels. Empty: in this server.";
LiveBrokerPartitions: "live-broker-partitions", [], Int(0, 16384), "0", IMMUTABLE, Effective,
    "Over how many partitions of sharded PUB/SUB live channels are spread in a cluster, as with centrifuge's `NumShardedPubSubPartitions`; 0 uses PUB/SUB without shards.";
LiveUser: "live-user", [], Optional(any), "", IMMUTABLE, Effective,
    "User that runs the functions that authorise live channels; empty for one with all rights.";
WebCacheSize: "web-cache-size", [], Memory(0, BYTES_MAX), "64mb", RUNTIME, Effective,
    "Bytes of finished pages that are kept until a key of theirs changes; 0 keeps none.";
WebLiveMax: "web-live-max", [], Int(0, 1_000_000), "10000", RUNTIME, Effective,
    "Streams for live blocks of pages that are open at once; 0 allows none.";
WebLiveRate: "web-live-rate", [], Int(1, 1000), "10", RUNTIME, Effective,
    "How often a second a page with live blocks is rendered again for those who watch it, at most; the last state always arrives.";
WebLiveBuffer: "web-live-buffer", [], Memory(4096, 64 * MB), "256kb", RUNTIME, Effective,
    "Bytes that wait for a stream of live blocks whose client does not take them; with more it is closed, and the client catches up.";
WebMaxBody: "web-max-body", [], Memory(0, 64 * MB), "1mb", RUNTIME, Effective,
    "Bytes that the body of a request to the web port may have.";
WebHeadTimeout: "web-head-timeout", [], Int(1, 3600), "10", RUNTIME, Effective,
    "Seconds that the head of a request to the web port may take.";
WebBodyTimeout: "web-body-timeout", [], Int(1, 3600), "30", RUNTIME, Effective,
    "Seconds that the body of a request to the web port may take.";
WebIdleTimeout: "web-idle-timeout", [], Int(1, 86400), "60", RUNTIME, Effective,
    "Seconds that a connection to the web port stays open without a request.";
WebCompression: "web-compression", [], Choice(WebCompression::NAMES), "kept", RUNTIME, Effective,
    "Compresses with brotli and gzip: `kept` what is kept (files, and pages that are asked for again), on a thread of its own; `all` also other pages, as they are made; `no` nothing.";
WebAccessLog: "web-access-log", [], Optional(any), "", PROTECTED | VOLATILE, Effective,
    "File that gets a line for every request to the web port; empty for none. A relative path begins in `dir`. It is opened again when it was moved, and when it is set.";
WebAccessLogFormat: "web-access-log-format", [], Choice(AccessLogFormat::NAMES), "combined", RUNTIME, Effective,
    "Form of the lines of web-access-log.";
WebAccessLogQuery: "web-access-log-query", [], Bool, "no", RUNTIME, Effective,
    "Writes the queries of addresses into web-access-log. They may contain secrets.";
WebTrustedProxies: "web-trusted-proxies", [], Optional(networks), "", RUNTIME, Effective,
    "Addresses and networks (10.0.0.0/8) of proxies, with commas or blanks between them, which are believed about a client's address, scheme and host.";
WebForwardedHeader: "web-forwarded-header", [], Choice(ForwardedHeader::NAMES), "x-forwarded", RUNTIME, Effective,
    "Where a proxy of web-trusted-proxies tells of its client: in X-Forwarded-For, -Proto and -Host, or in Forwarded.";
WebSecret: "web-secret", [], Optional(secrets), "", SENSITIVE | PROTECTED, Effective,
    "Secret of at least 32 characters that signs cookies and tokens. Behind a blank, older ones that are still believed. Empty: one that the server makes and keeps in the file `web-secret` in `dir`.";
TopicHttpPort: "topic-http-port", ["http-port"], Int(0, 65535), "0", PROTECTED, Effective,
    "Port of the HTTP interface of topics; 0 opens none.";
TopicHttpBind: "topic-http-bind", ["http-bind"], Bind, "127.0.0.1 -::1", MULTI | PROTECTED, Effective,
    "Addresses the HTTP interface of topics listens on, written as for `bind`.";
TopicHttpTls: "topic-http-tls", [], Bool, "no", PROTECTED, Effective,
    "Speaks HTTPS, and nothing else, on the port of the HTTP interface of topics.";
TopicHttpTlsCertFile: "topic-http-tls-cert-file", [], Optional(any), "", PROTECTED | VOLATILE, Effective,
    "Certificate (PEM) of the port of the HTTP interface of topics; empty uses that of tls-cert-file.";
TopicHttpTlsKeyFile: "topic-http-tls-key-file", [], Optional(any), "", PROTECTED | VOLATILE, Effective,
    "Private key (PEM) of topic-http-tls-cert-file. A protected one is opened with tls-key-file-pass.";
TopicHttpApiKey: "topic-http-api-key", ["http-api-key"], Optional(any), "", SENSITIVE | IMMUTABLE, Effective,
    "Key that requests to the HTTP interface of topics must have in their Authorization header, unless they name a user and their password; empty asks for none.";
TopicHttpMaxConnections: "topic-http-max-connections", ["http-max-connections"], Int(1, 100_000), "1024", IMMUTABLE, Effective,
    "Connections to the HTTP interface of topics at once; further ones wait.";
HttpAllowedHosts: "http-allowed-hosts", [], Text(any), "", RUNTIME, Effective,
    "Names by which the HTTP ports may be called besides addresses and `localhost`, separated by spaces, with or without a port; `*` for any.";
HttpAllowedOrigins: "http-allowed-origins", [], Text(any), "", RUNTIME, Effective,
    "Origins whose pages may send requests to the HTTP ports (`https://app.example`), separated by spaces, besides pages of this machine; `*` for any.";
TopicStorage: "topic-storage", [], Text(any), "disk", IMMUTABLE, Effective,
    "Where topics are kept: disk (in `topics` under `dir`), memory, or an object store that other servers may use as well: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX. Credentials and endpoints come from the environment.";
TopicCache: "topic-cache", [], Text(any), "topic-cache", IMMUTABLE, Effective,
    "Directory for copies of what is in an object store; under `dir`, unless it begins with a slash.";
TopicCacheSize: "topic-cache-size", [], Memory(0, BYTES_MAX), "1gb", IMMUTABLE, Effective,
    "Bytes of such copies at most; 0 keeps none.";
TopicAutoCreate: "topic-auto-create", [], Bool, "yes", IMMUTABLE, Effective,
    "Creates a topic when records are appended to it and it is not there.";
TopicReadOnly: "topic-read-only", [], Bool, "no", IMMUTABLE, Effective,
    "Takes no records in and changes no topic.";
TopicMemory: "topic-memory", [], Memory(16 * MB, BYTES_MAX), "256mb", IMMUTABLE, Effective,
    "Bytes of records in memory: up to half of it is waiting to be stored, beyond which producers are told to wait, up to a quarter is kept or fetched for readers, and up to a quarter are answers that readers have not taken yet.";
}
Process {
Databases: "databases", [], Int(1, INT_MAX), "16", IMMUTABLE, Effective,
    "Number of databases that SELECT can choose from.";
Daemonize: "daemonize", [], Bool, "no", IMMUTABLE, Accepted(SUPERVISOR),
    "Goes to the background after starting.";
Pidfile: "pidfile", [], Optional(any), "", IMMUTABLE, Effective,
    "File to write the process id to; empty for none.";
Supervised: "supervised", [], Choice(Supervised::NAMES), "no", IMMUTABLE, Effective,
    "Whether systemd is told when the server is ready (Type=notify of its service): systemd; auto: if it asks to be told; no and upstart: never.";
AlwaysShowLogo: "always-show-logo", [], Bool, "no", IMMUTABLE, Accepted(COSMETIC),
    "Prints a banner at the start.";
SetProcTitle: "set-proc-title", [], Bool, "yes", IMMUTABLE, Accepted(COSMETIC),
    "Shows addresses in the title of the process.";
ProcTitleTemplate: "proc-title-template", [], Text(title_template), "{title} {listen-addr} {server-mode}", RUNTIME, Accepted(COSMETIC),
    "Form of the title of the process.";
LocaleCollate: "locale-collate", [], Text(any), "", RUNTIME, Accepted(BYTE_ORDER),
    "Locale by which strings are compared; empty for the environment's.";
Hz: "hz", [], Hz, "10", RUNTIME, Effective,
    "Turns of background work (expiry, idle clients) per second, from 1 to 500.";
DynamicHz: "dynamic-hz", [], Bool, "yes", RUNTIME, Accepted(OWN_PACE),
    "Raises hz when there are many clients.";
IoThreads: "io-threads", [], Int(1, 128), "1", DEBUG | IMMUTABLE, Accepted(ALL_THREADS),
    "Threads that read and write sockets for a single executor.";
IoThreadsDoReads: "io-threads-do-reads", [], Bool, "no", DEBUG | IMMUTABLE, Accepted(ALL_THREADS),
    "Lets the io-threads also read.";
ServerCpulist: "server-cpulist", ["server_cpulist"], Optional(any), "", IMMUTABLE, Accepted(AFFINITY),
    "Cores for the threads that serve clients.";
BioCpulist: "bio-cpulist", ["bio_cpulist"], Optional(any), "", IMMUTABLE, Accepted(AFFINITY),
    "Cores for the background threads.";
OomScoreAdj: "oom-score-adj", [], Choice(OomScoreAdj::NAMES), "no", RUNTIME, Accepted(SUPERVISOR),
    "Whether the kernel's out-of-memory score is set: no, relative to the present one, or absolute.";
OomScoreAdjValues: "oom-score-adj-values", [], OomValues, "0 200 800", MULTI, Accepted(SUPERVISOR),
    "Out-of-memory scores (-2000 to 2000) of a primary, a replica and a child process.";
DisableThp: "disable-thp", [], Bool, "yes", IMMUTABLE, Effective,
    "Has no huge page at a first touch, which can take milliseconds; with no, it is as the system says. See collapse-huge-pages.";
CrashLogEnabled: "crash-log-enabled", [], Bool, "yes", RUNTIME, Accepted(CORE_DUMP),
    "Writes a report when the process crashes.";
CrashMemcheckEnabled: "crash-memcheck-enabled", [], Bool, "yes", RUNTIME, Accepted(CORE_DUMP),
    "Tests the machine's memory when the process crashes.";
UseExitOnPanic: "use-exit-on-panic", [], Bool, "no", HIDDEN, Accepted(TESTING),
    "Ends with exit and not with abort on a broken invariant.";
WatchdogPeriod: "watchdog-period", [], Int(0, INT_MAX), "0", HIDDEN, Accepted(TESTING),
    "Milliseconds after which a slow event loop logs where it is; 0 never.";
IgnoreWarnings: "ignore-warnings", [], Text(any), "", RUNTIME, Accepted(NO_WARNINGS),
    "Names of start-up warnings that don't stop the server.";
}
Logging {
Loglevel: "loglevel", [], Choice(Loglevel::NAMES), "notice", RUNTIME, Effective,
    "Least important lines to log: debug, verbose, notice, warning, or nothing.";
Logfile: "logfile", [], Text(any), "", IMMUTABLE, Effective,
    "File to log to; empty logs to the standard output.";
SyslogEnabled: "syslog-enabled", [], Bool, "no", IMMUTABLE, Accepted(SUPERVISOR),
    "Also logs to the system's log.";
SyslogIdent: "syslog-ident", [], Text(any), "redis", IMMUTABLE, Accepted(SUPERVISOR),
    "Name used in the system's log.";
SyslogFacility: "syslog-facility", [], Choice(SyslogFacility::NAMES), "local0", IMMUTABLE, Accepted(SUPERVISOR),
    "Facility used in the system's log.";
ReqResLogfile: "req-res-logfile", [], Optional(any), "", IMMUTABLE | HIDDEN, Accepted(TESTING),
    "File that requests and replies are written to, for tests.";
}
Observation {
SlowlogLogSlowerThan: "slowlog-log-slower-than", [], Int(-1, LONG_MAX), "10000", RUNTIME, Effective,
    "Microseconds from which a command enters the slow log; 0 logs all, -1 none.";
SlowlogMaxLen: "slowlog-max-len", [], Int(0, LONG_MAX), "128", RUNTIME, Effective,
    "Entries the slow log keeps.";
LatencyMonitorThreshold: "latency-monitor-threshold", [], Int(0, LONG_MAX), "0", RUNTIME, Effective,
    "Milliseconds from which an event enters the latency monitor; 0 turns it off.";
LatencyTracking: "latency-tracking", [], Bool, "yes", RUNTIME, Effective,
    "Keeps a histogram of latency for every command.";
LatencyTrackingInfoPercentiles: "latency-tracking-info-percentiles", [], Percentiles, "50 99 99.9", MULTI, Effective,
    "Percentiles (0 to 100) that INFO latencystats shows.";
NotifyKeyspaceEvents: "notify-keyspace-events", [], Events, "", RUNTIME, Effective,
    "Key events to publish, by letter: K and E choose the channels, g$lshzxetdmn the classes, A is all of g$lshzxetd; empty publishes none.";
}
Scripts {
BusyReplyThreshold: "busy-reply-threshold", ["lua-time-limit"], Int(0, LONG_MAX), "5000", RUNTIME, Effective,
    "Milliseconds a script may run before other clients are told BUSY; 0 never tells them.";
}
    } };
}
