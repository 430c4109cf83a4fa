//! Options of transports and of the server API.

use super::super::row::{Row, bool, duration, group, int, list, text};

const COMPRESSION: &str = "frames are not compressed; deltas save more";
const BUFFERS: &str = "buffers are the event loop's";
const WRITES: &str = "no write waits: a client that does not take what it is sent is ended by `client.queue_max_size`, or \
                      by Apus's `web-idle-timeout`";
const BODY: &str = "Most bytes of a request's body.";

pub(super) const WEBSOCKET: &[Row] = &[
    bool("disabled", "It is not there."),
    text("handler_prefix", "Its path.").default("/connection/websocket"),
    group("", WEBSOCKET_COMMON),
];

const WEBSOCKET_COMMON: &[Row] = &[
    bool("compression", "").listed(COMPRESSION),
    int("compression_min_size", "").listed(COMPRESSION),
    int("compression_level", "").default("1").listed(COMPRESSION),
    int("read_buffer_size", "").listed(BUFFERS),
    bool("use_write_buffer_pool", "").listed(BUFFERS),
    int("write_buffer_size", "").listed(BUFFERS),
    duration("write_timeout", "").default("1s").listed(WRITES),
    int("message_size_limit", "Most bytes of a message.").default("65536"),
    int("decompressed_message_size_limit", "").listed(COMPRESSION),
];

pub(super) const UNI_WEBSOCKET: &[Row] = &[
    bool("enabled", "It is there."),
    text("handler_prefix", "Its path.").default("/connection/uni_websocket"),
    group("", WEBSOCKET_COMMON),
    bool("disable_closing_handshake", "").listed("the closing handshake is always begun"),
    bool("disable_disconnect_push", "No push says why the connection ends; the close frame does."),
    bool("join_push_messages", "Pushes of one write are one message."),
];

pub(super) const SSE: &[Row] = &[
    bool("enabled", "It is there."),
    text("handler_prefix", "Its path.").default("/connection/sse"),
    int("max_request_body_size", BODY).default("65536"),
];

pub(super) const HTTP_STREAM: &[Row] = &[
    bool("enabled", "It is there."),
    text("handler_prefix", "Its path.").default("/connection/http_stream"),
    int("max_request_body_size", BODY).default("65536"),
];

pub(super) const UNI_SSE: &[Row] = &[
    bool("enabled", "It is there."),
    text("handler_prefix", "Its path.").default("/connection/uni_sse"),
    int("max_request_body_size", BODY).default("65536"),
    group("connect_code_to_http_response", RESPONSES),
];

pub(super) const UNI_HTTP_STREAM: &[Row] = &[
    bool("enabled", "It is there."),
    text("handler_prefix", "Its path.").default("/connection/uni_http_stream"),
    int("max_request_body_size", BODY).default("65536"),
    group("connect_code_to_http_response", RESPONSES),
];

const RESPONSES: &[Row] = &[
    bool("enabled", "Errors of connect are responses of HTTP."),
    list(
        "transforms",
        &[
            int("code", "The error's code."),
            group("to", &[int("status_code", "The status."), text("body", "The body.")]),
        ],
        "Which code becomes which response.",
    ),
];

pub(super) const EMULATION: &[Row] = &[
    text("handler_prefix", "Where clients of `sse` and `http_stream` send.").default("/emulation"),
    int("max_request_body_size", BODY).default("65536"),
];

pub(super) const HTTP_API: &[Row] = &[
    bool("disabled", "It is not there."),
    text("handler_prefix", "Its paths begin so.").default("/api"),
    text("key", "The key that requests show; without one none is let in."),
    text("error_mode", "`transport`: errors are statuses of HTTP."),
    bool("external", "It is on the external port, too.")
        .listed("there is one port for the web; see `http_server.internal_port`"),
    bool("insecure", "No key is asked for."),
];

pub(super) const PROMETHEUS: &[Row] = &[
    bool("enabled", "Metrics have Centrifugo's names, too; they are on Apus's admin port."),
    text("handler_prefix", "")
        .default("/metrics")
        .listed("metrics are at `/metrics` of Apus's admin port"),
    bool("instrument_http_handlers", "").listed("requests are counted anyway"),
    bool("recovered_publications_histogram", "").listed("recoveries are counted, not their sizes"),
    bool("native_histograms", "").listed("histograms have buckets"),
];

pub(super) const HEALTH: &[Row] = &[
    bool("enabled", "A check of health is there."),
    text("handler_prefix", "Its path.").default("/health"),
];

pub(super) const NODE: &[Row] = &[
    text("name", "The node's name, in `info`."),
    duration("info_metrics_aggregate_interval", "").default("60s").listed("`info` has no metrics"),
];

pub(super) const SHUTDOWN: &[Row] = &[duration("timeout", "")
    .default("30s")
    .listed("all clients are told at once, and the end does not wait for them")];

pub(super) const RPC_NAMESPACE: &[Row] = &[
    bool("proxy_enabled", "The proxy is called."),
    text("proxy_name", "Which proxy; `default` is `rpc.proxy`.").default("default"),
];

pub(super) const RPC: &[Row] = &[
    group("proxy", super::proxy::PROXY),
    group("without_namespace", RPC_NAMESPACE),
    list(
        "namespaces",
        &[text("name", "The namespace's name."), group("", RPC_NAMESPACE)],
        "Namespaces of methods.",
    ),
    group(
        "ping",
        &[
            bool("enabled", "There is a method that replies at once."),
            text("method", "Its name.").default("ping"),
        ],
    ),
    text("namespace_boundary", "Ends the namespace in a method's name.").default(":"),
];
