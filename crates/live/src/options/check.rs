//! What options must not say together, and what an operator should know of.

use super::Note;
use super::tree::{Findings, Tree};
use super::types::{FromResp, Namespace, Options, RecoveryMode};

/// Checks the whole.
pub(super) fn check(root: &Tree, options: &Options, findings: &mut Findings) {
    let channel = root.group("channel");
    namespace(channel.group("without_namespace"), &options.channel.without_namespace, findings);
    for item in channel.list("namespaces") {
        if let Some(made) = options.channel.namespaces.get(&item.text("name")) {
            namespace(item, made, findings);
        }
    }
    whole_seconds(channel, "history_meta_ttl", findings);
    personal_channel(root, options, findings);
    databases(root, findings);
    security(root, options, findings);
}

fn whole_seconds(tree: &Tree, name: &str, findings: &mut Findings) {
    if tree.duration(name).is_some_and(|duration| duration.subsec_nanos() != 0) {
        findings.problems.push(format!("`{}` must be whole seconds", tree.at(name)));
    }
}

fn namespace(tree: &Tree, made: &Namespace, findings: &mut Findings) {
    whole_seconds(tree, "history_ttl", findings);
    whole_seconds(tree, "history_meta_ttl", findings);
    let mut problem = |why: &str| findings.problems.push(format!("`{}`: {why}", tree.path));
    if (made.history_size == 0) != made.history_ttl.is_zero() {
        problem("a history needs both `history_size` and `history_ttl`");
    }
    if made.history_meta_ttl < made.history_ttl {
        problem("`history_meta_ttl` must not be less than `history_ttl`");
    }
    if made.force_recovery && !made.has_history() {
        problem("`force_recovery` needs `history_size` and `history_ttl`");
    }
    if made.auto_cache_recover
        && !(made.force_recovery && made.recovery_mode == RecoveryMode::Cache)
    {
        problem("`auto_cache_recover` needs `force_recovery` and the `force_recovery_mode` cache");
    }
    if made.topic.is_some() && made.history_size > 0 {
        problem("a topic is its own history: leave out `history_size` and `history_ttl`");
    }
    if let Some(topic) = &made.topic {
        let fine = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        let named = topic.replace("{channel}", "x");
        if named.len() > 200 || named.starts_with('.') || !named.bytes().all(fine) {
            problem(
                "`topic` is a topic's name (letters, digits, dots, dashes, underscores), or has `{channel}` in it",
            );
        }
        if made.publish_from_resp != FromResp::Off {
            problem("`publish_from_resp` is not for topics: only their records are publications");
        }
    }
    let streams = tree.bool("subscribe_stream_proxy_enabled");
    let others = made.subscribe_proxy.is_some()
        || made.publish_proxy.is_some()
        || made.sub_refresh_proxy.is_some();
    if streams && others {
        problem("`subscribe_stream_proxy_enabled` excludes the other proxies");
    }
}

fn personal_channel(root: &Tree, options: &Options, findings: &mut Findings) {
    let Some(personal) = &options.client.personal_channel else { return };
    let path = root.group("client").at("subscribe_to_user_personal_channel");
    let channels = &options.channel;
    let namespace = match personal.namespace.as_str() {
        "" => Some(&channels.without_namespace),
        name => channels.namespaces.get(name),
    };
    match namespace {
        None => findings.problems.push(format!(
            "`{path}.personal_channel_namespace`: there is no namespace {:?}",
            personal.namespace
        )),
        Some(namespace) if personal.single_connection && !namespace.presence => {
            findings.problems.push(format!(
                "`{path}.single_connection` needs `presence` of the channel's namespace"
            ));
        }
        Some(_) => {}
    }
}

/// Centrifugo may keep its keys in another database than the first.
fn databases(root: &Tree, findings: &mut Findings) {
    for name in ["engine", "broker", "presence_manager"] {
        let redis = root.group(name).group("redis");
        let is_first = |address: &String| {
            let url = address.split_once("://").filter(|(scheme, _)| *scheme != "unix");
            let path = url.and_then(|(_, rest)| rest.split(['?', '#']).next()?.split_once('/'));
            path.is_none_or(|(_, path)| matches!(path.trim_matches('/'), "" | "0"))
        };
        let at = match () {
            () if redis.int("db") != 0 => "db",
            () if !redis.texts("address").iter().all(is_first) => "address",
            () => continue,
        };
        findings.notes.push(Note {
            path: redis.at(at),
            why: "the database does not count: keys of channels are in the database 0, or in that of `live-broker`, \
                  and nodes that share them must use the same"
                .into(),
        });
    }
}

/// What lets in more than it may seem to.
fn security(root: &Tree, options: &Options, findings: &mut Findings) {
    let server = root.group("http_server");
    let has_internal =
        !server.text("internal_port").is_empty() || !server.text("internal_address").is_empty();
    let is_external = root.group("http_api").bool("external");
    let api = &options.http_api;
    if api.enabled && api.insecure && has_internal && !is_external {
        findings.problems.push(
            "`http_api.insecure`: the API was only on `http_server.internal_port`, and would be open on the port for \
             the web: set `http_api.key`"
                .into(),
        );
    }
    let mut note =
        |path: &str, why: &str| findings.notes.push(Note { path: path.into(), why: why.into() });
    if api.enabled && !api.insecure && has_internal && !is_external {
        note(
            "http_server.internal_port",
            "there is one port for the web: the API is on it, behind `http_api.key`",
        );
    }
    if api.enabled && !api.insecure && api.key.is_empty() {
        note("http_api.key", "without a key the API over HTTP lets nobody in");
    }
    let client = &options.client;
    let insecure = [
        ("client.insecure", client.insecure, "clients may do anything"),
        (
            "client.insecure_skip_token_signature_verify",
            client.insecure_skip_token_signature_verify,
            "anybody may make tokens",
        ),
        ("http_api.insecure", api.enabled && api.insecure, "anybody may use the API"),
        (
            "client.user_id_http_header",
            client.user_id_http_header.is_some(),
            "a client that reaches the port past the trusted proxy may be any user",
        ),
        (
            "client.allowed_origins",
            client.allowed_origins.allows_all(),
            "every site may connect its visitors",
        ),
    ];
    insecure.iter().filter(|(_, is_set, _)| *is_set).for_each(|(path, _, why)| note(path, why));
    if let Some(pattern) = client.allowed_origins.without_scheme() {
        let why = format!(
            "{pattern:?} has no scheme, so that no browser's origin matches it: write https://…"
        );
        note("client.allowed_origins", &why);
    }
    let nobody = client.connect_proxy.is_none()
        && !client.token.has_keys()
        && !client.allow_anonymous_connect_without_token
        && !client.insecure
        && !client.insecure_skip_token_signature_verify
        && client.user_id_http_header.is_none();
    if nobody {
        note(
            "client.token",
            "without keys, proxy and `allow_anonymous_connect_without_token` no client connects",
        );
    }
}
