//! Options from a checked tree.

use super::proxies;
use super::tree::{Findings, Tree};
use super::types::{
    Channels, Client, DataFormat, FromResp, Handler, HttpApi, HttpResponse, Namespace, Options,
    PersonalChannel, Prefixes, Proxy, Rate, RateLimits, RecoveryMode, Rpc, RpcNamespace, Stream,
    UniStream, UniWebSocket, WebSocket,
};
use crate::channel::Pattern;
use crate::code::Disconnect;
use crate::origin::Origins;
use crate::token::{Config, Verifier};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

type Proxies = HashMap<String, Arc<Proxy>>;

/// Makes the options; what is wrong is added to the findings, and stands in the options as if it were not there.
pub(super) fn build(root: &Tree, findings: &mut Findings) -> Options {
    let named = proxies::named(root, findings);
    let sse = stream(root.group("sse"));
    let http_stream = stream(root.group("http_stream"));
    let emulation = root.group("emulation");
    let is_emulated = sse.enabled || http_stream.enabled;
    let health = root.group("health");
    Options {
        client: client(root.group("client"), findings),
        channel: channels(root.group("channel"), &named, findings),
        rpc: rpc(root.group("rpc"), &named, findings),
        http_api: http_api(root.group("http_api"), findings),
        websocket: websocket(root.group("websocket"), !root.group("websocket").bool("disabled")),
        sse,
        http_stream,
        uni_websocket: uni_websocket(root.group("uni_websocket")),
        uni_sse: uni_stream(root.group("uni_sse"), findings),
        uni_http_stream: uni_stream(root.group("uni_http_stream"), findings),
        emulation: Stream {
            enabled: is_emulated,
            prefix: emulation.text("handler_prefix"),
            body_max: emulation.size("max_request_body_size"),
        },
        prefixes: prefixes(root),
        health: Handler { enabled: health.bool("enabled"), prefix: health.text("handler_prefix") },
        prometheus: root.group("prometheus").bool("enabled"),
        node_name: root.group("node").text("name"),
    }
}

/// What keys begin with. Where Centrifugo has no Redis of its own for presence or histories, both are together.
fn prefixes(root: &Tree) -> Prefixes {
    let (engine, broker) = (root.group("engine"), root.group("broker"));
    let presence = root.group("presence_manager");
    let is_own =
        |tree: &Tree| tree.bool("enabled") && matches!(&*tree.text("type"), "redis" | "redisnats");
    let of = |tree: &Tree| tree.group("redis").text("prefix");
    let all = if is_own(broker) { of(broker) } else { of(engine) };
    Prefixes {
        presence: match () {
            () if is_own(presence) => of(presence),
            () if engine.text("type") == "redis" => of(engine),
            () => all.clone(),
        },
        broker: all,
    }
}

fn client(tree: &Tree, findings: &mut Findings) -> Client {
    let token = Arc::new(verifier(tree.group("token"), findings));
    let apart = tree.group("subscription_token");
    let subscription_token = if apart.bool("enabled") {
        Arc::new(verifier(apart, findings))
    } else {
        Arc::clone(&token)
    };
    let mut proxy = |name: &str| {
        let tree = tree.group("proxy").group(name);
        tree.bool("enabled").then(|| proxies::proxy(tree, name, findings)).flatten().map(Arc::new)
    };
    let (connect_proxy, refresh_proxy) = (proxy("connect"), proxy("refresh"));
    let allowed_origins = Origins::new(&tree.texts("allowed_origins")).unwrap_or_else(|why| {
        findings.problems.push(format!("`{}`: {why}", tree.at("allowed_origins")));
        Origins::default()
    });
    let personal = tree.group("subscribe_to_user_personal_channel");
    let header = tree.text("user_id_http_header");
    Client {
        token,
        subscription_token,
        connect_proxy,
        refresh_proxy,
        allowed_origins,
        allow_anonymous_connect_without_token: tree.bool("allow_anonymous_connect_without_token"),
        disallow_anonymous_connection_tokens: tree.bool("disallow_anonymous_connection_tokens"),
        ping_interval: tree.duration("ping_interval"),
        pong_timeout: tree.duration("pong_timeout"),
        expired_close_delay: tree.duration("expired_close_delay").unwrap_or_default(),
        expired_sub_close_delay: tree.duration("expired_sub_close_delay").unwrap_or_default(),
        stale_close_delay: tree.duration("stale_close_delay"),
        channel_limit: tree.size("channel_limit"),
        queue_max_size: tree.size("queue_max_size"),
        presence_update_interval: tree
            .duration("presence_update_interval")
            .unwrap_or(Duration::from_secs(27)),
        channel_position_check_delay: tree.duration("channel_position_check_delay"),
        channel_position_max_time_lag: tree.duration("channel_position_max_time_lag"),
        connection_limit: tree.size("connection_limit"),
        user_connection_limit: tree.size("user_connection_limit"),
        connection_rate_limit: u32::try_from(tree.int("connection_rate_limit").max(0))
            .unwrap_or(u32::MAX),
        connect_include_server_time: tree.bool("connect_include_server_time"),
        history_max_publication_limit: tree.size("history_max_publication_limit"),
        recovery_max_publication_limit: tree.size("recovery_max_publication_limit"),
        concurrency: tree.size("concurrency").max(1),
        insecure_skip_token_signature_verify: tree.bool("insecure_skip_token_signature_verify"),
        insecure: tree.bool("insecure"),
        personal_channel: personal.bool("enabled").then(|| PersonalChannel {
            namespace: personal.text("personal_channel_namespace"),
            single_connection: personal.bool("single_connection"),
        }),
        user_id_http_header: (!header.is_empty()).then(|| header.to_lowercase()),
        connect_code_to_disconnect: disconnects(
            tree.group("connect_code_to_unidirectional_disconnect"),
            findings,
        ),
        rate_limit: rate_limits(tree.group("rate_limit").group("client_command"), findings),
    }
}

fn verifier(tree: &Tree, findings: &mut Findings) -> Verifier {
    let config = Config {
        hmac_secret_key: tree.text("hmac_secret_key"),
        hmac_previous_secret_key: tree.text("hmac_previous_secret_key"),
        hmac_previous_secret_key_valid_until: tree.int("hmac_previous_secret_key_valid_until"),
        rsa_public_key: tree.text("rsa_public_key"),
        ecdsa_public_key: tree.text("ecdsa_public_key"),
        jwks_public_endpoint: tree.text("jwks_public_endpoint"),
        audience: tree.text("audience"),
        audience_regex: tree.text("audience_regex"),
        issuer: tree.text("issuer"),
        issuer_regex: tree.text("issuer_regex"),
        user_id_claim: tree.text("user_id_claim"),
        insecure_skip_jwks_endpoint_safety_check: tree
            .bool("insecure_skip_jwks_endpoint_safety_check"),
    };
    Verifier::new(&config).unwrap_or_else(|why| {
        findings.problems.push(format!("`{}`: {why}", tree.path));
        Verifier::default()
    })
}

fn code(tree: &Tree, findings: &mut Findings) -> u32 {
    let code = u32::try_from(tree.int("code")).unwrap_or_default();
    if code == 0 {
        findings.problems.push(format!("`{}` is missing", tree.at("code")));
    }
    code
}

fn disconnects(tree: &Tree, findings: &mut Findings) -> HashMap<u32, Disconnect> {
    let mut all = HashMap::new();
    for item in tree.list("transforms") {
        let to = item.group("to");
        let reason = to.text("reason");
        if !reason.is_ascii() || reason.len() > 123 {
            findings
                .problems
                .push(format!("`{}` is no ASCII, or longer than 123 bytes", to.at("reason")));
        }
        all.insert(
            code(item, findings),
            Disconnect { code: code(to, findings), reason: reason.into() },
        );
    }
    if tree.bool("enabled") { all } else { HashMap::new() }
}

fn rate_limits(tree: &Tree, findings: &mut Findings) -> RateLimits {
    const COMMANDS: [&str; 8] = [
        "subscribe",
        "publish",
        "history",
        "presence",
        "presence_stats",
        "refresh",
        "sub_refresh",
        "rpc",
    ];
    if !tree.bool("enabled") {
        return RateLimits::default();
    }
    let mut rates = |name: &str| {
        let tree = tree.group(name);
        let mut rates = Vec::new();
        for bucket in tree.list("buckets") {
            match (bucket.duration("interval"), u32::try_from(bucket.int("rate"))) {
                (Some(interval), Ok(rate)) if rate > 0 => rates.push(Rate { interval, rate }),
                _ => findings
                    .problems
                    .push(format!("`{}` needs `interval` and `rate` above zero", bucket.path)),
            }
        }
        if tree.bool("enabled") { Some(rates) } else { None }
    };
    RateLimits {
        total: rates("total").unwrap_or_default(),
        default: rates("default").unwrap_or_default(),
        commands: COMMANDS.into_iter().filter_map(|name| Some((name, rates(name)?))).collect(),
    }
}

fn channels(tree: &Tree, named: &Proxies, findings: &mut Findings) -> Channels {
    let without = namespace(tree, tree.group("without_namespace"), String::new(), named, findings);
    let mut namespaces = HashMap::new();
    for item in tree.list("namespaces") {
        let name = item.text("name");
        if !proxies::is_name(&name) {
            findings.problems.push(format!(
                "`{}` must have at least two characters of A-Z, a-z, 0-9, `-`, `_`, `.`",
                item.at("name")
            ));
        }
        let made = namespace(tree, item, name.clone(), named, findings);
        if namespaces.insert(name.clone(), Arc::new(made)).is_some() {
            findings
                .problems
                .push(format!("`{}`: there are two namespaces {name:?}", item.at("name")));
        }
    }
    Channels {
        without_namespace: Arc::new(without),
        namespaces,
        max_length: tree.size("max_length"),
        private_prefix: tree.text("private_prefix"),
        namespace_boundary: tree.text("namespace_boundary"),
        user_boundary: tree.text("user_boundary"),
        user_separator: tree.text("user_separator"),
    }
}

/// An option that is one of a few words.
fn choice<T: Copy>(tree: &Tree, name: &str, choices: &[(&str, T)], findings: &mut Findings) -> T {
    let text = tree.text(name);
    let found = choices.iter().find(|(word, _)| *word == text);
    if found.is_none() {
        let words: Vec<&str> =
            choices.iter().map(|(word, _)| *word).filter(|word| !word.is_empty()).collect();
        findings.problems.push(format!(
            "`{}` must be one of {}, and is {text:?}",
            tree.at(name),
            words.join(", ")
        ));
    }
    found.unwrap_or(&choices[0]).1
}

const FORMATS: [(&str, DataFormat); 4] = [
    ("", DataFormat::NotEmpty),
    ("json", DataFormat::Json),
    ("json_object", DataFormat::JsonObject),
    ("binary", DataFormat::Binary),
];

const RECOVERY_MODES: [(&str, RecoveryMode); 3] =
    [("", RecoveryMode::Stream), ("stream", RecoveryMode::Stream), ("cache", RecoveryMode::Cache)];

const FROM_RESP: [(&str, FromResp); 4] = [
    ("", FromResp::Off),
    ("json", FromResp::Json),
    ("wrap", FromResp::Wrap),
    ("binary", FromResp::Binary),
];

fn namespace(
    channel: &Tree,
    tree: &Tree,
    name: String,
    named: &Proxies,
    findings: &mut Findings,
) -> Namespace {
    let beside = channel.group("proxy");
    let subscribe_proxy =
        proxies::referred(tree, "subscribe_proxy", beside.group("subscribe"), named, findings);
    let publish_proxy =
        proxies::referred(tree, "publish_proxy", beside.group("publish"), named, findings);
    let sub_refresh_proxy =
        proxies::referred(tree, "sub_refresh_proxy", beside.group("sub_refresh"), named, findings);
    let topic = tree.text("topic");
    let channel_regex = channel_regex(tree, findings);
    let formatted = if tree.text("publication_data_format").is_empty() { channel } else { tree };
    Namespace {
        name,
        is_available: is_available(tree, findings),
        presence: tree.bool("presence"),
        join_leave: tree.bool("join_leave"),
        force_push_join_leave: tree.bool("force_push_join_leave"),
        history_size: tree.size("history_size"),
        history_ttl: tree.duration("history_ttl").unwrap_or_default(),
        history_meta_ttl: tree
            .duration("history_meta_ttl")
            .or_else(|| channel.duration("history_meta_ttl"))
            .unwrap_or(Duration::from_secs(720 * 3600)),
        force_positioning: tree.bool("force_positioning"),
        allow_positioning: tree.bool("allow_positioning"),
        force_recovery: tree.bool("force_recovery"),
        allow_recovery: tree.bool("allow_recovery"),
        recovery_mode: choice(tree, "force_recovery_mode", &RECOVERY_MODES, findings),
        auto_cache_recover: tree.bool("auto_cache_recover"),
        delta_fossil: delta_fossil(tree, findings),
        delta_publish: tree.bool("delta_publish"),
        allow_tags_filter: tree.bool("allow_tags_filter"),
        allow_subscribe_for_client: tree.bool("allow_subscribe_for_client"),
        allow_subscribe_for_anonymous: tree.bool("allow_subscribe_for_anonymous"),
        allow_publish_for_client: tree.bool("allow_publish_for_client"),
        allow_publish_for_subscriber: tree.bool("allow_publish_for_subscriber"),
        allow_publish_for_anonymous: tree.bool("allow_publish_for_anonymous"),
        allow_presence_for_client: tree.bool("allow_presence_for_client"),
        allow_presence_for_subscriber: tree.bool("allow_presence_for_subscriber"),
        allow_presence_for_anonymous: tree.bool("allow_presence_for_anonymous"),
        allow_history_for_client: tree.bool("allow_history_for_client"),
        allow_history_for_subscriber: tree.bool("allow_history_for_subscriber"),
        allow_history_for_anonymous: tree.bool("allow_history_for_anonymous"),
        allow_user_limited_channels: tree.bool("allow_user_limited_channels"),
        channel_regex,
        publication_data_format: choice(formatted, "publication_data_format", &FORMATS, findings),
        subscribe_proxy,
        publish_proxy,
        sub_refresh_proxy,
        batch_max_delay: tree.duration("batch_max_delay").unwrap_or_default(),
        batch_max_size: tree.size("batch_max_size"),
        batch_flush_latest: tree.bool("batch_flush_latest"),
        allow_channel_compaction: tree.bool("allow_channel_compaction"),
        topic: (!topic.is_empty()).then_some(topic),
        publish_from_resp: choice(tree, "publish_from_resp", &FROM_RESP, findings),
    }
}

/// What names of the namespace's channels must match, if anything.
fn channel_regex(tree: &Tree, findings: &mut Findings) -> Option<Pattern> {
    let regex = tree.text("channel_regex");
    if regex.is_empty() {
        return None;
    }
    let pattern = Pattern::new(&regex);
    pattern
        .map_err(|why| findings.problems.push(format!("`{}`: {why}", tree.at("channel_regex"))))
        .ok()
}

/// Whether the namespace's channels are of the kind that is supported.
fn is_available(tree: &Tree, findings: &mut Findings) -> bool {
    let kinds = [
        ("", true),
        ("stream", true),
        ("map", false),
        ("map_clients", false),
        ("map_users", false),
        ("shared_poll", false),
    ];
    let is_stream = choice(tree, "subscription_type", &kinds, findings);
    if !is_stream {
        findings.notes.push(super::Note {
            path: tree.at("subscription_type"),
            why: "only channels of the type `stream` are supported; those of the namespace are not available (108)".into(),
        });
    }
    is_stream && !tree.bool("subscribe_stream_proxy_enabled")
}

fn delta_fossil(tree: &Tree, findings: &mut Findings) -> bool {
    let kinds = tree.texts("allowed_delta_types");
    if let Some(unknown) = kinds.iter().find(|kind| *kind != "fossil") {
        findings.problems.push(format!(
            "`{}` must be fossil, and has {unknown:?}",
            tree.at("allowed_delta_types")
        ));
    }
    !kinds.is_empty()
}

fn rpc(tree: &Tree, named: &Proxies, findings: &mut Findings) -> Rpc {
    let beside = tree.group("proxy");
    let one = |item: &Tree, findings: &mut Findings| RpcNamespace {
        proxy: proxies::referred(item, "proxy", beside, named, findings),
    };
    let without_namespace = one(tree.group("without_namespace"), findings);
    let mut namespaces = HashMap::new();
    for item in tree.list("namespaces") {
        let name = item.text("name");
        let made = one(item, findings);
        if !proxies::is_name(&name) || namespaces.insert(name.clone(), made).is_some() {
            findings.problems.push(format!(
                "`{}` must be a name of at least two of A-Z, a-z, 0-9, `-`, `_`, `.` that no other has",
                item.at("name")
            ));
        }
    }
    let ping = tree.group("ping");
    Rpc {
        without_namespace,
        namespaces,
        namespace_boundary: tree.text("namespace_boundary"),
        ping_method: ping.bool("enabled").then(|| ping.text("method")),
    }
}

fn http_api(tree: &Tree, findings: &mut Findings) -> HttpApi {
    HttpApi {
        enabled: !tree.bool("disabled"),
        prefix: tree.text("handler_prefix").trim_end_matches('/').to_owned(),
        key: tree.text("key"),
        insecure: tree.bool("insecure"),
        error_mode_transport: choice(
            tree,
            "error_mode",
            &[("", false), ("transport", true)],
            findings,
        ),
    }
}

fn websocket(tree: &Tree, enabled: bool) -> WebSocket {
    WebSocket {
        enabled,
        prefix: tree.text("handler_prefix"),
        message_max: tree.size("message_size_limit"),
    }
}

fn uni_websocket(tree: &Tree) -> UniWebSocket {
    UniWebSocket {
        websocket: websocket(tree, tree.bool("enabled")),
        disable_disconnect_push: tree.bool("disable_disconnect_push"),
        join_push_messages: tree.bool("join_push_messages"),
    }
}

fn stream(tree: &Tree) -> Stream {
    Stream {
        enabled: tree.bool("enabled"),
        prefix: tree.text("handler_prefix"),
        body_max: tree.size("max_request_body_size"),
    }
}

fn uni_stream(tree: &Tree, findings: &mut Findings) -> UniStream {
    let transforms = tree.group("connect_code_to_http_response");
    let mut all = HashMap::new();
    for item in transforms.list("transforms") {
        let to = item.group("to");
        let status = u16::try_from(to.int("status_code")).unwrap_or_default();
        if !(200..1000).contains(&status) {
            findings.problems.push(format!("`{}` must be a status", to.at("status_code")));
        }
        all.insert(code(item, findings), HttpResponse { status, body: to.text("body") });
    }
    UniStream {
        stream: stream(tree),
        connect_code_to_response: transforms.bool("enabled").then_some(all),
    }
}
