//! Options of channels: `channel`.

use super::super::row::{Row, bool, duration, group, int, list, text, texts};
use super::foreign::{MAP_CONFIG, SHARED_POLL_CONFIG};
use super::proxy::PROXY;

const MAPS: &str =
    "map subscriptions are not supported: the namespace's channels are not available (108)";
const STREAMS: &str = "stream proxies, which need gRPC, are not supported: the namespace's channels are not available (108)";
const CEL: &str = "expressions are not supported; without them fewer things are allowed, not more";

/// Defaults are Centrifugo's.
pub(super) const CHANNEL: &[Row] = &[
    group(
        "proxy",
        &[
            group("subscribe", PROXY),
            group("publish", PROXY),
            group("sub_refresh", PROXY),
            group("subscribe_stream", PROXY).listed(STREAMS),
            group("map_publish", PROXY).listed(MAPS),
            group("map_remove", PROXY).listed(MAPS),
            group("shared_poll_refresh", PROXY).listed(MAPS),
        ],
    ),
    group("without_namespace", NAMESPACE),
    list(
        "namespaces",
        &[
            text("name", "The namespace's name, at least two of A-Z, a-z, 0-9, `-`, `_`, `.`."),
            group("", NAMESPACE),
        ],
        "Namespaces.",
    ),
    duration("history_meta_ttl", "How long offset and epoch are kept after their last use.")
        .default("720h"),
    text(
        "publication_data_format",
        "What publications must be, where the namespace does not say: `json`, `json_object`, `binary`.",
    ),
    int("max_length", "Most bytes of a name (107).").default("255"),
    text("private_prefix", "Names that begin so need a token.").default("$"),
    text("namespace_boundary", "Ends the namespace in a name.").default(":"),
    text("user_boundary", "Begins the users in a name.").default("#"),
    text("user_separator", "Parts the users in a name.").default(","),
];

/// Options of a namespace.
const NAMESPACE: &[Row] = &[
    bool("presence", "Clients in a channel are listed."),
    bool("join_leave", "Joins and leaves are published."),
    bool("force_push_join_leave", "They are pushed to clients that did not ask."),
    text("map_clients_presence_channel_prefix", "").listed(MAPS),
    text("map_users_presence_channel_prefix", "").listed(MAPS),
    int("history_size", "Most publications of the history; 0: there is none."),
    duration("history_ttl", "How long the history is kept after its last publication; whole seconds."),
    duration("history_meta_ttl", "As `channel.history_meta_ttl`, for this namespace; whole seconds."),
    bool("force_positioning", "Clients follow their position even if they did not ask."),
    bool("allow_positioning", "Clients may ask for it without access to the history."),
    bool("force_recovery", "Clients recover even if they did not ask."),
    bool("allow_recovery", "Clients may ask for it without access to the history."),
    text("force_recovery_mode", "How they recover: `stream` or `cache`."),
    bool("auto_cache_recover", "In the mode `cache` the latest publication comes with the subscription."),
    texts("allowed_delta_types", "Kinds of delta that clients may ask for: `fossil`."),
    bool("allow_tags_filter", "Clients may filter by tags."),
    bool("delta_publish", "Every publication may go out as a delta."),
    bool("allow_subscribe_for_anonymous", "`allow_subscribe_for_client` counts for clients without a user, too."),
    bool("allow_subscribe_for_client", "Clients may subscribe without a token."),
    bool("allow_publish_for_anonymous", "The options of publishing count for clients without a user, too."),
    bool("allow_publish_for_subscriber", "Subscribers may publish."),
    bool("allow_publish_for_client", "Clients may publish."),
    bool("allow_presence_for_anonymous", "The options of presence count for clients without a user, too."),
    bool("allow_presence_for_subscriber", "Subscribers may ask who is there."),
    bool("allow_presence_for_client", "Clients may ask who is there."),
    bool("allow_history_for_anonymous", "The options of the history count for clients without a user, too."),
    bool("allow_history_for_subscriber", "Subscribers may read the history."),
    bool("allow_history_for_client", "Clients may read the history."),
    bool("allow_user_limited_channels", "Names with users are for those users."),
    text("channel_regex", "What follows the namespace in a name must match; without it names are ASCII (107)."),
    text("publication_data_format", "What publications must be: `json`, `json_object`, `binary`; empty: not empty."),
    bool("subscribe_proxy_enabled", "The proxy decides on subscriptions without a token."),
    text("subscribe_proxy_name", "Which proxy; `default` is `channel.proxy.subscribe`.").default("default"),
    bool("publish_proxy_enabled", "The proxy decides on publications of clients."),
    text("publish_proxy_name", "Which proxy; `default` is `channel.proxy.publish`.").default("default"),
    bool("sub_refresh_proxy_enabled", "The proxy refreshes subscriptions."),
    text("sub_refresh_proxy_name", "Which proxy; `default` is `channel.proxy.sub_refresh`.").default("default"),
    bool("subscribe_stream_proxy_enabled", "").listed(STREAMS),
    text("subscribe_stream_proxy_name", "").default("default").listed(STREAMS),
    bool("subscribe_stream_proxy_bidirectional", "").listed(STREAMS),
    text("subscription_type", "`stream`; the channels of other types are not available (108)."),
    group("map", MAP_CONFIG).listed(MAPS),
    group("shared_poll", SHARED_POLL_CONFIG).listed("shared polls are not supported: the namespace's channels are not available (108)"),
    int("batch_max_size", "Most publications that wait; then they go out.").pro(),
    duration("batch_max_delay", "How long publications wait for others, to go out together.").pro(),
    bool("batch_flush_latest", "Of what waits only the latest goes out.").pro(),
    bool("allow_channel_compaction", "Clients may have a number in place of the channel's name; here `true` by default.").pro().default("true"),
    bool("keep_latest_publication", "Deltas without a history.").pro().listed("deltas need a history here"),
    bool("shared_position_sync", "One check of a position for all subscribers.").pro().listed("checks are of memory here"),
    bool("subscribe_cel_enabled", "").pro().listed(CEL),
    text("subscribe_cel", "").pro().listed(CEL),
    text("publish_cel", "").pro().listed(CEL),
    text("history_cel", "").pro().listed(CEL),
    text("presence_cel", "").pro().listed(CEL),
    text("topic", "The topic of the log that the channels are; `{channel}` stands for the name after the namespace.").apus(),
    text("publish_from_resp", "What PUBLISH of Redis's protocol does: nothing (empty), `json`: JSON goes out and other text is left out, `wrap`: other text goes out as a JSON string, `binary`: as it is.").apus(),
];
