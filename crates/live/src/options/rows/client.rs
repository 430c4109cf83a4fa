//! Options of connections: `client`.

use super::super::row::{Row, bool, duration, group, int, list, text, texts};
use super::proxy::PROXY;

/// Defaults are Centrifugo's.
pub(super) const CLIENT: &[Row] = &[
    group("proxy", &[group("connect", CLIENT_PROXY), group("refresh", CLIENT_PROXY)]),
    texts(
        "allowed_origins",
        "Patterns of the origins that browsers may come from; without them only requests without an origin connect.",
    ),
    group("token", TOKEN),
    group("subscription_token", SUBSCRIPTION_TOKEN),
    bool("allow_anonymous_connect_without_token", "Clients without a token connect, as nobody."),
    bool("disallow_anonymous_connection_tokens", "Tokens without a user do not connect (3507)."),
    duration("ping_interval", "Time between pings; below zero: none.").default("25s"),
    duration(
        "pong_timeout",
        "Time for the answer to a ping (3012); below zero: it is not waited for.",
    )
    .default("8s"),
    duration("expired_close_delay", "Grace after a connection's expiry (3005).").default("25s"),
    duration("expired_sub_close_delay", "Grace after a subscription's expiry (2501, 3006).")
        .default("25s"),
    duration("stale_close_delay", "Time for the connect command (3502).").default("10s"),
    int("channel_limit", "Most channels of a connection (106, 3505).").default("128"),
    int("queue_max_size", "Most bytes that wait for a connection (3008).").default("1048576"),
    duration("presence_update_interval", "Time between refreshes of a client's presence.")
        .default("27s"),
    int(
        "concurrency",
        "Commands of a connection that may wait for an application at the same time; 0 and 1: one after the other.",
    ),
    duration("channel_position_check_delay", "Time between checks of a position (2500, 3010).")
        .default("40s"),
    duration(
        "channel_position_max_time_lag",
        "Most age of a publication on its way; then the position counts as wrong.",
    ),
    int("connection_limit", "Most connections of the server; 0: no limit."),
    int("user_connection_limit", "Most connections of a user (3504); 0: no limit."),
    int("connection_rate_limit", "Most new connections in a second; 0: no limit."),
    bool("connect_include_server_time", "The reply to connect has the server's time."),
    int("history_max_publication_limit", "Most publications in a reply to history.").default("300"),
    int(
        "recovery_max_publication_limit",
        "Most publications in a recovery; with more, `recovered` is false.",
    )
    .default("300"),
    bool("insecure_skip_token_signature_verify", "Tokens are read, not verified: for tests alone."),
    text(
        "user_id_http_header",
        "A header that names the user, from a trusted proxy before the server.",
    ),
    bool("insecure", "Clients may do anything: for tests alone."),
    group(
        "subscribe_to_user_personal_channel",
        &[
            bool("enabled", "The server subscribes each user to a channel of its own."),
            text("personal_channel_namespace", "The channel's namespace."),
            bool(
                "single_connection",
                "A new connection of a user ends the others (3504); needs presence.",
            ),
        ],
    ),
    group(
        "connect_code_to_unidirectional_disconnect",
        &[
            bool("enabled", "Errors of connect end unidirectional connections with other codes."),
            list(
                "transforms",
                &[
                    int("code", "The error's code."),
                    group(
                        "to",
                        &[int("code", "The end's code."), text("reason", "The end's text.")],
                    ),
                ],
                "Which code becomes which.",
            ),
        ],
    ),
    group(
        "rate_limit",
        &[
            group("client_command", RATES).pro(),
            group("user_command", &[]).pro().refused(
                "limits by user across servers are not supported; limits by connection are",
            ),
            group("client_error", &[]).pro().listed("connections do not end because of errors"),
        ],
    )
    .pro(),
    duration("write_delay", "Time that messages wait for others.").pro().listed(
        "messages of one turn of the loop go out together; see `batch_max_delay` of namespaces",
    ),
    int("max_messages_in_frame", "Most messages of one frame.")
        .pro()
        .listed("a frame has what is there"),
    bool("reply_without_queue", "Replies overtake messages.")
        .pro()
        .listed("replies keep their order"),
];

const CLIENT_PROXY: &[Row] = &[bool("enabled", "The proxy is asked."), group("", PROXY)];

/// Tokens of connections.
pub(super) const TOKEN: &[Row] = &[
    text("hmac_secret_key", "The secret of HS256, HS384 and HS512."),
    text("hmac_previous_secret_key", "The secret before it, while it is being changed."),
    int(
        "hmac_previous_secret_key_valid_until",
        "Until when that counts, in seconds of the Unix clock; 0: for ever.",
    ),
    text("rsa_public_key", "The key of RS256, RS384 and RS512, in PEM; 2048 to 8192 bits."),
    text("ecdsa_public_key", "The key of ES256, ES384 or ES512, by its curve, in PEM."),
    text(
        "jwks_public_endpoint",
        "The URL of a document of keys (RSA, EC, Ed25519); then the keys above do not count.",
    ),
    text("audience", "The claim `aud` must have it."),
    text("audience_regex", "The claim `aud` must have one that matches."),
    text("issuer", "The claim `iss` must be it."),
    text("issuer_regex", "The claim `iss` must match."),
    text("user_id_claim", "The claim that names the user, in place of `sub`."),
    bool(
        "insecure_skip_jwks_endpoint_safety_check",
        "Tokens may choose the server of their keys: for tests alone.",
    ),
];

const SUBSCRIPTION_TOKEN: &[Row] = &[
    bool("enabled", "Tokens of subscriptions have keys and claims of their own."),
    group("", TOKEN),
];

const RATES: &[Row] = &[
    bool("enabled", "Rates of commands of one connection are limited."),
    group("total", BUCKETS),
    group("default", BUCKETS),
    group("subscribe", BUCKETS),
    group("publish", BUCKETS),
    group("history", BUCKETS),
    group("presence", BUCKETS),
    group("presence_stats", BUCKETS),
    group("refresh", BUCKETS),
    group("sub_refresh", BUCKETS),
    group("rpc", RPC_BUCKETS),
];

const BUCKETS: &[Row] =
    &[bool("enabled", "The rates count."), list("buckets", BUCKET, "Rates; all of them hold.")];

const RPC_BUCKETS: &[Row] = &[
    bool("enabled", "The rates count."),
    list("buckets", BUCKET, "Rates; all of them hold."),
    list(
        "method_overrides",
        &[text("method", ""), bool("enabled", ""), list("buckets", BUCKET, "")],
        "Rates by method.",
    )
    .listed("methods share the rates of `rpc`"),
];

const BUCKET: &[Row] = &[
    duration("interval", "The time that the rate is counted over."),
    int("rate", "How many in that time."),
];
