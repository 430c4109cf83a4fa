//! Every option of Centrifugo 6, by name.

mod channel;
mod client;
mod foreign;
mod proxy;
mod transport;

use super::row::{Row, any, bool, group, list, text};

const STORE: &str =
    "Apus is the store: history, presence and messages between nodes are its keys and channels";
const PRO: &str = "a feature of Centrifugo PRO";

/// The whole configuration.
pub(super) const ROOT: &[Row] = &[
    group("client", client::CLIENT),
    group("channel", channel::CHANNEL),
    group("rpc", transport::RPC),
    list(
        "proxies",
        &[text("name", "The proxy's name, for namespaces to refer to."), group("", proxy::PROXY)],
        "Proxies.",
    ),
    group("http_api", transport::HTTP_API),
    group("websocket", transport::WEBSOCKET),
    group("sse", transport::SSE),
    group("http_stream", transport::HTTP_STREAM),
    group("emulation", transport::EMULATION),
    group("uni_websocket", transport::UNI_WEBSOCKET),
    group("uni_sse", transport::UNI_SSE),
    group("uni_http_stream", transport::UNI_HTTP_STREAM),
    group("prometheus", transport::PROMETHEUS),
    group("health", transport::HEALTH),
    group("node", transport::NODE),
    group("shutdown", transport::SHUTDOWN),
    group("http_server", foreign::HTTP_SERVER)
        .listed("addresses, ports and TLS of the web are in Apus's own configuration"),
    group("engine", foreign::ENGINE).listed(STORE),
    group("broker", foreign::BROKER).listed(STORE),
    group("presence_manager", foreign::PRESENCE_MANAGER).listed(STORE),
    group("controller", foreign::CONTROLLER).listed(STORE),
    group("map_broker", foreign::MAP_BROKER).listed("map subscriptions are not supported"),
    group("shared_poll", foreign::SHARED_POLL).listed("shared polls are not supported"),
    group("grpc_api", foreign::GRPC_API)
        .listed("there is no gRPC; the HTTP API and `LIVE.*` commands have the same methods"),
    group("uni_grpc", foreign::UNI_GRPC)
        .listed("there is no gRPC; the other unidirectional transports have the same pushes"),
    group("webtransport", foreign::WEB_TRANSPORT).listed("there is no HTTP/3"),
    list("consumers", foreign::CONSUMER, "")
        .listed("nothing is consumed: applications publish into Apus, which is a store and a log"),
    group("admin", foreign::ADMIN).listed("Apus has an admin port of its own"),
    group("swagger", foreign::SWAGGER).listed("the API is described in docs/live.md"),
    group("debug", foreign::DEBUG).listed("profiles are on Apus's admin port"),
    group("init", foreign::CONN_INIT).listed("clients connect directly"),
    group("opentelemetry", foreign::OPEN_TELEMETRY)
        .listed("there are no traces; metrics are on Apus's admin port"),
    group("graphite", foreign::GRAPHITE).listed("metrics are fetched, not sent"),
    group("usage_stats", foreign::USAGE_STATS).listed("nothing is reported to anybody"),
    group("log", foreign::LOG).listed("logs are in Apus's own configuration"),
    text("pid_file", "").listed("the file is in Apus's own configuration"),
    bool("enable_unreleased_features", "").listed("there are none"),
    any("license").pro().listed(PRO),
    any("user_block")
        .pro()
        .refused("blocked users would connect; disconnect them by the API, and let tokens expire"),
    any("token_revoke").pro().refused("revoked tokens would count; let tokens expire soon"),
    any("user_tokens_invalidate")
        .pro()
        .refused("tokens that are no longer valid would count; let tokens expire soon"),
    any("user_status").pro().listed(PRO),
    any("push_notifications").pro().listed(PRO),
    any("clickhouse_analytics").pro().listed(PRO),
    any("distributed_rate_limit").pro().listed(PRO),
    any("database").pro().listed(PRO),
    any("tracing").pro().listed(PRO),
];
