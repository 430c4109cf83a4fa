//! Rows: listening, connections, and the bounds a client is held to.

macro_rules! network_rows {
    ($next:ident $($rest:ident)*; $($seen:tt)*) => { $next! { $($rest)*; $($seen)* Network {

Bind: "bind", [], Bind, "* -::*", MULTI, Effective,
    "Addresses to listen on, separated by spaces; `*` is every address, a leading `-` tolerates an address the machine lacks, an empty value listens on no TCP address.";
Port: "port", [], Int(0, 65535), "6379", RUNTIME, Effective,
    "TCP port to listen on; 0 opens none.";
Unixsocket: "unixsocket", [], Optional(any), "", IMMUTABLE, Effective,
    "Path of a Unix domain socket to listen on besides TCP; empty for none.";
Unixsocketperm: "unixsocketperm", [], Octal(0o777), "0", IMMUTABLE, Effective,
    "Permission bits of the Unix socket, in octal; 0 leaves them to the umask.";
TcpBacklog: "tcp-backlog", [], Int(0, INT_MAX), "511", IMMUTABLE, Effective,
    "Connections the kernel may queue before they are accepted; the kernel caps it with its own limit.";
TcpKeepalive: "tcp-keepalive", [], Int(0, INT_MAX), "300", RUNTIME, Effective,
    "Seconds of silence after which TCP probes whether the peer is still there; 0 never probes.";
Timeout: "timeout", [], Int(0, INT_MAX), "0", RUNTIME, Effective,
    "Seconds after which an idle client is disconnected; 0 keeps it for ever.";
ProtectedMode: "protected-mode", [], Bool, "yes", RUNTIME, Effective,
    "Refuses clients from other machines while the default user has no password.";
SocketMarkId: "socket-mark-id", [], Int(0, UINT_MAX), "0", IMMUTABLE, Accepted(NOT_ROUTED),
    "Mark put on the listening sockets for the packet filter; 0 puts none.";
Maxclients: "maxclients", [], Int(1, UINT_MAX), "10000", RUNTIME, Effective,
    "Connections served at once; one more gets an error and is closed.";
MaxNewConnectionsPerCycle: "max-new-connections-per-cycle", [], Int(1, 1000), "10", RUNTIME, Accepted(ACCEPT_BATCH),
    "Connections accepted in one turn of the event loop.";
MaxNewTlsConnectionsPerCycle: "max-new-tls-connections-per-cycle", [], Int(1, 1000), "1", RUNTIME, Effective,
    "Steps of TLS handshakes that a thread computes in one turn of its event loop; other connections are served between them.";
ClientQueryBufferLimit: "client-query-buffer-limit", [], Memory(MB, BYTES_MAX), "1gb", DEBUG, Effective,
    "Bytes of input a client may leave unfinished, with what MULTI has queued for it, before it is disconnected.";
ClientOutputBufferLimit: "client-output-buffer-limit", [], OutputLimits, "normal 0 0 0 replica 256mb 64mb 60 pubsub 32mb 8mb 60", MULTI, Effective,
    "Per class of client (normal, replica, pubsub): bytes of unread replies that disconnect it at once, bytes that disconnect it when exceeded for long, and how many seconds that is; 0 sets no bound.";
ProtoMaxBulkLen: "proto-max-bulk-len", [], Memory(MB, BYTES_MAX), "512mb", DEBUG, Effective,
    "Bytes one argument of a request may have, and so the longest string value.";
MaxmemoryClients: "maxmemory-clients", [], MemoryOrPercent, "0", RUNTIME, Effective,
    "Bytes all client connections may use together for input, queued commands, watches, subscriptions and output, or a percentage of maxmemory, before the largest is disconnected; 0 sets no bound.";
TrackingTableMaxKeys: "tracking-table-max-keys", [], Int(0, LONG_MAX), "1000000", RUNTIME, Effective,
    "Keys remembered for client-side caching before old ones are invalidated to make room; 0 sets no bound.";
ClientDefaultResp: "client-default-resp", [], Int(2, 3), "2", IMMUTABLE | HIDDEN, Accepted(TESTING),
    "Protocol version a connection starts with.";
    } } };
}
