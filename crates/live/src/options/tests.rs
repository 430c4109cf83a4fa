use super::duration::parse_duration;
use super::row::{Kind, Row};
use super::tree::flat;
use super::{DataFormat, Endpoint, FromResp, RecoveryMode, load, reference, rows};
use crate::code::{Disconnect, Error, Refusal};
use serde_json::{Value, json};
use std::time::Duration;

fn problems(value: &Value) -> Vec<String> {
    load(value.to_string().as_bytes(), &[]).expect_err("it must not load").problems
}

fn notes(value: &Value) -> Vec<String> {
    let loaded = load(value.to_string().as_bytes(), &[]).expect("it loads");
    loaded.notes.into_iter().map(|note| note.path).collect()
}

fn loaded(value: &Value) -> super::Options {
    std::sync::Arc::into_inner(load(value.to_string().as_bytes(), &[]).expect("it loads").options)
        .expect("alone")
}

/// The row at a path.
fn row(path: &str) -> Option<&'static Row> {
    let mut rows = rows::ROOT;
    let mut found = None;
    for name in path.split('.') {
        found = Some(flat(rows).into_iter().find(|row| row.name == name.trim_end_matches("[]"))?);
        rows = match found?.kind {
            Kind::Group(inner) | Kind::List(inner) => inner,
            _ => &[],
        };
    }
    found
}

/// tests/options/centrifugo.txt is made from Centrifugo's own structures by tests/options/extract.py.
#[test]
fn every_option_of_centrifugo_is_known_with_its_type_and_default() {
    let mut wrong = Vec::new();
    for line in include_str!("../../tests/options/centrifugo.txt").lines() {
        let mut words = line.split(' ');
        let (path, kind, default) =
            (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let default = if default == "-" { "" } else { default };
        let Some(row) = row(path) else {
            wrong.push(format!("{path} is not known"));
            continue;
        };
        let own = match row.kind {
            Kind::Bool => "bool",
            Kind::Int => "int",
            Kind::Text => "text",
            Kind::Texts => "texts",
            Kind::Duration => "duration",
            Kind::Map => "map",
            Kind::List(_) => "list",
            Kind::Group(_) | Kind::Any => "group",
        };
        let is_same = match row.kind {
            Kind::Duration => parse_duration(row.default) == parse_duration(default),
            // The addresses of stores, which are not here.
            Kind::Texts => true,
            Kind::Int => row.default.parse().unwrap_or(0) == default.parse().unwrap_or(0),
            _ => row.default == default,
        };
        if own != kind || !is_same {
            wrong.push(format!("{path} is {own} {:?} and not {kind} {default:?}", row.default));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_are_lower_case_and_alone_in_their_group() {
    fn check(rows: &'static [Row], path: &str) {
        let rows = flat(rows);
        for (index, row) in rows.iter().enumerate() {
            assert!(
                row.name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
            );
            assert!(
                !rows[..index].iter().any(|other| other.name == row.name),
                "{path}.{} twice",
                row.name
            );
            if let Kind::Group(inner) | Kind::List(inner) = row.kind {
                check(inner, row.name);
            }
        }
    }
    check(rows::ROOT, "");
}

#[test]
fn without_a_file_there_are_defaults() {
    let options = loaded(&json!({}));
    assert_eq!(options.client.ping_interval, Some(Duration::from_secs(25)));
    assert_eq!(options.client.pong_timeout, Some(Duration::from_secs(8)));
    assert_eq!(options.client.channel_limit, 128);
    assert_eq!(options.client.queue_max_size, 1 << 20);
    assert_eq!(options.channel.private_prefix, "$");
    assert_eq!(options.channel.without_namespace.history_meta_ttl, Duration::from_secs(720 * 3600));
    assert!(options.websocket.enabled && options.http_api.enabled);
    assert!(!options.sse.enabled && !options.uni_sse.stream.enabled && !options.emulation.enabled);
    assert!(!options.client.allowed_origins.allows(Some("https://example.com")));
    assert_eq!(options.http_api.prefix, "/api");
}

#[test]
fn an_existing_file_loads() {
    let file = json!({
        "http_server": {"port": "8000", "internal_port": 9000},
        "engine": {"type": "redis", "redis": {"address": ["redis:6379"]}},
        "log": {"level": "debug"},
        "admin": {"enabled": true, "password": "p", "secret": "s"},
        "client": {
            "token": {"hmac_secret_key": "secret"},
            "allowed_origins": ["https://*.example.com"],
            "subscribe_to_user_personal_channel": {"enabled": true, "personal_channel_namespace": "personal"},
            "proxy": {"refresh": {"enabled": true, "endpoint": "http://app/refresh", "http_headers": ["Cookie"]}}
        },
        "http_api": {"key": "k"},
        "sse": {"enabled": true},
        "channel": {
            "proxy": {"subscribe": {"endpoint": "https://app/subscribe", "timeout": "3s"}},
            "without_namespace": {"allow_subscribe_for_client": true},
            "namespaces": [
                {"name": "personal", "presence": true},
                {"name": "chat", "history_size": 100, "history_ttl": "5m", "force_recovery": true,
                 "force_recovery_mode": "cache", "allowed_delta_types": ["fossil"], "channel_regex": "^[a-z]+$",
                 "subscribe_proxy_enabled": true, "publish_proxy_enabled": true, "publish_proxy_name": "app",
                 "publication_data_format": "json_object"}
            ]
        },
        "proxies": [{"name": "app", "endpoint": "function:decide", "http": {
            "static_headers": [{"key": "X-A", "value": "b"}],
            "status_to_code_transforms": [
                {"status_code": 404, "to_error": {"code": 1404, "message": "gone", "temporary": true}},
                {"status_code": 403, "to_disconnect": {"code": 4503, "reason": "no"}}
            ]
        }}],
        "rpc": {"namespaces": [{"name": "app", "proxy_enabled": true, "proxy_name": "app"}], "ping": {"enabled": true}}
    });
    let options = loaded(&file);
    let chat = &options.channel.namespaces["chat"];
    assert_eq!((chat.history_size, chat.history_ttl), (100, Duration::from_secs(300)));
    assert_eq!(
        (chat.recovery_mode, chat.publication_data_format),
        (RecoveryMode::Cache, DataFormat::JsonObject)
    );
    assert!(chat.delta_fossil && chat.has_history());
    let subscribe = chat.subscribe_proxy.as_ref().expect("a proxy");
    assert_eq!(subscribe.endpoint, Endpoint::Http("https://app/subscribe".into()));
    assert_eq!(subscribe.timeout, Duration::from_secs(3));
    let app = chat.publish_proxy.as_ref().expect("a proxy");
    assert_eq!((app.name.as_str(), &app.endpoint), ("app", &Endpoint::Function("decide".into())));
    assert_eq!(app.static_headers, [("X-A".to_owned(), "b".to_owned())]);
    assert_eq!(
        app.status_transforms.iter().map(|transform| transform.to.clone()).collect::<Vec<_>>(),
        [
            Refusal::Error(Error { code: 1404, message: "gone".into(), temporary: true }),
            Refusal::Disconnect(Disconnect { code: 4503, reason: "no".into() })
        ]
    );
    let refresh = options.client.refresh_proxy.as_ref().expect("a proxy");
    assert_eq!(refresh.http_headers, ["cookie"]);
    assert!(options.sse.enabled && options.emulation.enabled && !options.http_stream.enabled);
    assert_eq!(options.rpc.ping_method.as_deref(), Some("ping"));
    let mut paths = notes(&file);
    paths.sort();
    assert_eq!(paths, ["admin", "engine", "http_server", "http_server.internal_port", "log"]);
}

#[test]
fn what_does_nothing_is_noted_once_with_its_reason() {
    let file = json!({
        "engine": {"type": "redis", "redis": {"address": "r:1", "prefix": "p"}},
        "grpc_api": {"enabled": false},
        "log": {"level": "info"},
        "websocket": {"compression": true},
        "channel": {"namespaces": [{"name": "maps", "subscription_type": "map", "map": {"mode": "persistent"}}]},
        "http_api": {"key": "k"},
        "client": {"token": {"hmac_secret_key": "s"}}
    });
    let mut paths = notes(&file);
    paths.sort();
    assert_eq!(
        paths,
        [
            "channel.namespaces[0].map",
            "channel.namespaces[0].subscription_type",
            "engine",
            "websocket.compression"
        ]
    );
    assert!(!loaded(&file).channel.namespaces["maps"].is_available);
}

#[test]
fn errors_name_the_option_and_what_it_must_be() {
    for (file, expected) in [
        (
            json!({"client": {"ping_intervall": "1s"}}),
            "`client.ping_intervall` is no option; did you mean `ping_interval`?",
        ),
        (json!({"chanel": {}}), "`chanel` is no option; did you mean `channel`?"),
        (json!({"xyzzy": 1}), "`xyzzy` is no option"),
        (
            json!({"client": {"ping_interval": "1 second"}}),
            "`client.ping_interval` must be a duration as \"25s\" or \"1m30s\"",
        ),
        (
            json!({"client": {"ping_interval": 25}}),
            "`client.ping_interval` must be a duration as \"25s\" or \"1m30s\"",
        ),
        (
            json!({"client": {"channel_limit": "many"}}),
            "`client.channel_limit` must be an integer, and is a string",
        ),
        (
            json!({"client": {"insecure": []}}),
            "`client.insecure` must be true or false, and is a list",
        ),
        (json!({"client": []}), "`client` must be an object, and is a list"),
        (
            json!({"channel": {"namespaces": {}}}),
            "`channel.namespaces` must be a list of objects, and is an object",
        ),
        (
            json!({"channel": {"namespaces": [1]}}),
            "`channel.namespaces[0]` must be an object, and is a number",
        ),
        (
            json!({"channel": {"namespaces": [{"name": "ab", "history_size": 1}]}}),
            "`channel.namespaces[0]`: a history needs both `history_size` and `history_ttl`",
        ),
        (
            json!({"channel": {"namespaces": [{"name": "ab", "history_size": 1, "history_ttl": "1500ms"}]}}),
            "`channel.namespaces[0].history_ttl` must be whole seconds",
        ),
        (
            json!({"channel": {"without_namespace": {"force_recovery": true}}}),
            "`channel.without_namespace`: `force_recovery` needs `history_size` and `history_ttl`",
        ),
        (
            json!({"channel": {"namespaces": [{"name": "ab"}, {"name": "ab"}]}}),
            "`channel.namespaces[1].name`: there are two namespaces \"ab\"",
        ),
        (
            json!({"channel": {"namespaces": [{"name": "a:b"}]}}),
            "`channel.namespaces[0].name` must have at least two characters of A-Z, a-z, 0-9, `-`, `_`, `.`",
        ),
        (
            json!({"channel": {"namespaces": [{"name": "ab", "channel_regex": "("}]}}),
            "`channel.namespaces[0].channel_regex`: unclosed group",
        ),
        (
            json!({"channel": {"namespaces": [{"name": "ab", "force_recovery_mode": "x"}]}}),
            "`channel.namespaces[0].force_recovery_mode` must be one of stream, cache, and is \"x\"",
        ),
        (
            json!({"channel": {"namespaces": [{"name": "ab", "allowed_delta_types": ["x"]}]}}),
            "`channel.namespaces[0].allowed_delta_types` must be fossil, and has \"x\"",
        ),
        (
            json!({"channel": {"namespaces": [{"name": "ab", "subscribe_proxy_name": "who"}]}}),
            "`channel.namespaces[0].subscribe_proxy_name`: there is no proxy \"who\"",
        ),
        (
            json!({"channel": {"namespaces": [{"name": "ab", "subscribe_proxy_enabled": true}]}}),
            "`channel.proxy.subscribe.endpoint` is missing",
        ),
        (
            json!({"client": {"subscribe_to_user_personal_channel": {"enabled": true, "personal_channel_namespace": "x"}}}),
            "`client.subscribe_to_user_personal_channel.personal_channel_namespace`: there is no namespace \"x\"",
        ),
        (
            json!({"client": {"subscribe_to_user_personal_channel": {"enabled": true, "single_connection": true}}}),
            "`client.subscribe_to_user_personal_channel.single_connection` needs `presence` of the channel's namespace",
        ),
        (
            json!({"client": {"token": {"rsa_public_key": "x"}}}),
            "`client.token`: `rsa_public_key`: it is not PEM",
        ),
        (
            json!({"client": {"allowed_origins": ["{"]}}),
            "`client.allowed_origins`: \"{\" is no pattern: a brace is not closed",
        ),
        (
            json!({"proxies": [{"name": "app", "endpoint": "http://a", "http": {"static_headers": {"A": "${CENTRIFUGO_VAR_X}"}}}]}),
            "`proxies[0].http.static_headers` needs the variable CENTRIFUGO_VAR_X, which is not set",
        ),
    ] {
        assert_eq!(problems(&file), [expected], "{file}");
    }
    assert!(load(b"{", &[]).unwrap_err().problems[0].contains("is not JSON"));
    assert!(load(b"a: 1", &[]).unwrap_err().problems[0].contains("convert the file to JSON"));
    assert_eq!(load(b"[]", &[]).unwrap_err().problems, ["the file must be a JSON object"]);
}

#[test]
fn all_problems_are_told_at_once() {
    assert_eq!(problems(&json!({"client": {"insecure": {}, "x_y_z": 1}, "channel": 1})).len(), 3);
}

#[test]
fn what_would_let_in_what_was_kept_out_stops_the_start() {
    for file in [
        json!({"http_server": {"tls": {"enabled": true}}}),
        json!({"http_server": {"tls_autocert": {"enabled": true}}}),
        json!({"client": {"proxy": {"connect": {"enabled": true, "endpoint": "grpc://app:1"}}}}),
        json!({"proxies": [{"name": "app", "endpoint": "app:1"}]}),
        json!({"http_api": {"insecure": true}, "http_server": {"internal_port": 9000}}),
        json!({"user_block": {"enabled": true}}),
        json!({"client": {"token": {"audience": "a", "audience_regex": "b"}}}),
        json!({"client": {"token": {"jwks_public_endpoint": "https://{{t}}/k", "issuer_regex": "(?P<t>.+)"}}}),
    ] {
        assert_eq!(problems(&file).len(), 1, "{file}");
    }
    assert!(load(br#"{"http_server": {"tls": {"enabled": false}}}"#, &[]).is_ok());
}

/// A file in which each group is there, and each list has items.
fn a_file_of_everything() -> Value {
    let proxy = |name: &str| {
        json!({"name": name, "enabled": true, "endpoint": "https://a", "http": {
            "tls": {"enabled": true},
            "status_to_code_transforms": [
                {"status_code": 404, "to_error": {"code": 1404, "message": "x"}},
                {"status_code": 403, "to_disconnect": {"code": 4503, "reason": "x"}},
            ],
        }})
    };
    let beside = |names: &[&str]| {
        let of = |name: &&str| {
            let mut proxy = proxy(name);
            proxy.as_object_mut().expect("an object").remove("name");
            ((*name).to_owned(), proxy)
        };
        Value::Object(names.iter().map(of).collect())
    };
    let mut channel_proxies = beside(&["subscribe", "publish", "sub_refresh"]);
    let mut rpc_proxy = beside(&["x"])["x"].take();
    for proxy in channel_proxies.as_object_mut().expect("an object").values_mut() {
        proxy.as_object_mut().expect("an object").remove("enabled");
    }
    rpc_proxy.as_object_mut().expect("an object").remove("enabled");
    let mut named = proxy("app");
    named.as_object_mut().expect("an object").remove("enabled");
    let rate = json!({"enabled": true, "buckets": [{"interval": "1s", "rate": 1}]});
    let commands = [
        "total",
        "default",
        "subscribe",
        "publish",
        "history",
        "presence",
        "presence_stats",
        "refresh",
        "sub_refresh",
        "rpc",
    ];
    let mut rates: serde_json::Map<String, Value> =
        commands.iter().map(|name| ((*name).to_owned(), rate.clone())).collect();
    rates.insert("enabled".into(), json!(true));
    let enabled = json!({"enabled": true});
    let codes = |to: Value| json!({"enabled": true, "transforms": [{"code": 109, "to": to}]});
    let responses = json!({"enabled": true, "connect_code_to_http_response": codes(json!({"status_code": 404}))});
    let namespace = json!({"name": "ns", "subscribe_proxy_enabled": true, "publish_proxy_enabled": true,
        "sub_refresh_proxy_enabled": true});
    json!({
        "client": {
            "proxy": beside(&["connect", "refresh"]),
            "subscription_token": {"enabled": true, "hmac_secret_key": "x"},
            "subscribe_to_user_personal_channel": enabled,
            "connect_code_to_unidirectional_disconnect": codes(json!({"code": 4000, "reason": "x"})),
            "rate_limit": {"client_command": rates},
        },
        "channel": {"proxy": channel_proxies, "without_namespace": {"subscribe_proxy_enabled": true},
            "namespaces": [namespace]},
        "rpc": {"proxy": rpc_proxy, "without_namespace": {"proxy_enabled": true}, "ping": enabled,
            "namespaces": [{"name": "ns", "proxy_enabled": true}]},
        "proxies": [named],
        "uni_sse": responses,
        "uni_http_stream": responses,
    })
}

/// What the reference does not mark has a reader: in the loader, and what the loader makes of it in the server.
#[test]
fn every_option_that_is_not_marked_is_read() {
    let file = a_file_of_everything();
    let mut findings = super::tree::Findings::default();
    let tree = super::tree::check(
        rows::ROOT,
        file.as_object().expect("an object"),
        "",
        false,
        &mut findings,
    );
    let options = super::build::build(&tree, &mut findings);
    super::check::check(&tree, &options, &mut findings);
    assert_eq!(findings.problems, Vec::<String>::new());
    let mut unread = Vec::new();
    tree.unread(rows::ROOT, &mut unread);
    assert_eq!(unread, Vec::<String>::new());
}

/// A field with a name that others have, too, may pass without a reader of its own.
#[test]
fn every_field_of_the_options_has_a_reader() {
    fn sources(dir: &std::path::Path, all: &mut String) {
        for entry in std::fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true if path.ends_with("live/src/options") => {}
                true => sources(&path, all),
                false => all.push_str(&std::fs::read_to_string(&path).unwrap_or_default()),
            }
        }
    }
    let mut all = String::new();
    for dir in ["src", "../server/src/live", "../server/src/admin", "../live-http/src"] {
        sources(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(dir), &mut all);
    }
    let of_types = include_str!("types.rs");
    all.push_str(&of_types[of_types.find("impl Namespace").expect("its methods")..]);
    let is_read = |field: &str| {
        let next = |at: usize| all[at..].chars().next().unwrap_or(' ');
        let read = format!(".{field}");
        all.match_indices(&read)
            .any(|(at, _)| !matches!(next(at + read.len()), 'a'..='z' | '0'..='9' | '_' | '('))
    };
    let fields =
        of_types.lines().filter_map(|line| line.strip_prefix("    pub ")?.split_once(": "));
    let unread: Vec<&str> = fields
        .map(|(field, _)| field)
        .filter(|field| !field.contains('(') && !is_read(field))
        .collect();
    assert_eq!(unread, Vec::<&str>::new());
}

#[test]
fn keys_have_the_prefix_of_the_redis_that_centrifugo_would_use() {
    let prefixes = |value: &Value| {
        let prefixes = loaded(value).prefixes;
        (prefixes.broker, prefixes.presence)
    };
    let is = |broker: &str, presence: &str| (broker.to_owned(), presence.to_owned());
    let redis =
        |prefix: &str| json!({"enabled": true, "type": "redis", "redis": {"prefix": prefix}});
    assert_eq!(prefixes(&json!({})), is("centrifugo", "centrifugo"));
    assert_eq!(prefixes(&json!({"engine": redis_engine("a")})), is("a", "a"));
    let memory = json!({"engine": {"redis": {"prefix": "a"}}});
    assert_eq!(prefixes(&memory), is("a", "a"), "a type is for Centrifugo");
    assert_eq!(prefixes(&json!({"broker": redis("b")})), is("b", "b"));
    assert_eq!(
        prefixes(&json!({"broker": {"redis": {"prefix": "b"}}})),
        is("centrifugo", "centrifugo")
    );
    let both = json!({"engine": redis_engine("a"), "broker": redis("b")});
    assert_eq!(prefixes(&both), is("b", "a"));
    let all =
        json!({"engine": redis_engine("a"), "broker": redis("b"), "presence_manager": redis("p")});
    assert_eq!(prefixes(&all), is("b", "p"));
}

fn redis_engine(prefix: &str) -> Value {
    json!({"type": "redis", "redis": {"prefix": prefix}})
}

#[test]
fn a_prefix_is_not_noted_and_another_database_is() {
    let told = |redis: Value| {
        let all = notes(&json!({"engine": {"redis": redis}, "http_api": {"disabled": true}}));
        all.into_iter().filter(|path| path.starts_with("engine")).collect::<Vec<_>>()
    };
    assert!(told(json!({"prefix": "a"})).is_empty());
    assert_eq!(told(json!({"db": 3})), ["engine", "engine.redis.db"]);
    for (address, is_noted) in [
        ("redis://u:p@host:6379/2", true),
        ("rediss://host:6379/2?x=1", true),
        ("redis://host:6379/0", false),
        ("redis://host:6379", false),
        ("host:6379", false),
        ("unix:///tmp/a.sock", false),
    ] {
        let is = told(json!({"address": [address]})).contains(&"engine.redis.address".to_owned());
        assert_eq!(is, is_noted, "{address}");
    }
}

#[test]
fn a_problem_with_a_variable_names_it() {
    let variable = |name: &str, value: &str| {
        let file = json!({"channel": {"namespaces": [{"name": "my-chat"}]}});
        let variables = [(name.to_owned(), value.to_owned())];
        load(file.to_string().as_bytes(), &variables).map(|_| ()).map_err(|e| e.problems)
    };
    for (name, value, problem) in [
        ("CENTRIFUGO_CLIENT_PING_INTERVAL", "bad", "`client.ping_interval` "),
        ("CENTRIFUGO_CLIENT_CHANNEL_LIMIT", "x", "`client.channel_limit` must be an integer"),
        (
            "CENTRIFUGO_CHANNEL_NAMESPACES_MY_CHAT_HISTORY_TTL",
            "x",
            "`channel.namespaces[0].history_ttl` ",
        ),
        ("CENTRIFUGO_HTTP_SERVER_TLS_ENABLED", "true", "`http_server.tls` is not supported"),
        ("CENTRIFUGO_USER_BLOCK_ENABLED", "true", "`user_block` is not supported"),
    ] {
        let problems = variable(name, value).expect_err("it must not load");
        assert!(problems[0].starts_with(problem), "{problems:?}");
        let is_named = problems[0].ends_with(&format!(" (from the environment: {name})"));
        // Of a group no variable is the only one.
        assert!(is_named || name.contains("TLS"), "{problems:?}");
    }
    variable("CENTRIFUGO_USER_BLOCK_ENABLED", "false").expect("it is off");
}

#[test]
fn the_environment_counts_more_than_the_file() {
    let file = json!({
        "client": {"ping_interval": "1s", "channel_limit": 5},
        "channel": {"namespaces": [{"name": "my-chat.1", "history_size": 1, "history_ttl": "1s"}]},
    });
    let variables = [
        ("CENTRIFUGO_CLIENT_PING_INTERVAL", "2s"),
        ("CENTRIFUGO_CLIENT_CHANNEL_LIMIT", ""),
        ("CENTRIFUGO_CLIENT_TOKEN_HMAC_SECRET_KEY", "secret"),
        ("CENTRIFUGO_CLIENT_ALLOWED_ORIGINS", "https://a.example https://b.example"),
        ("CENTRIFUGO_CLIENT_INSECURE", "true"),
        ("CENTRIFUGO_CHANNEL_NAMESPACES_MY_CHAT_1_HISTORY_SIZE", "7"),
        ("CENTRIFUGO_PROXIES", r#"[{"name":"app","endpoint":"http://a"}]"#),
        ("CENTRIFUGO_PROXIES_APP_TIMEOUT", "9s"),
        ("CENTRIFUGO_CHANNEL_WITHOUT_NAMESPACE_PUBLISH_PROXY_NAME", "app"),
        ("CENTRIFUGO_CHANNEL_WITHOUT_NAMESPACE_PUBLISH_PROXY_ENABLED", "1"),
        ("CENTRIFUGO_CLIENT_PINGINTERVAL", "2s"),
        ("CENTRIFUGO_VAR_X", "1"),
        ("CENTRIFUGO_SERVICE_HOST", "1"),
        ("HOME", "/"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let loaded = load(file.to_string().as_bytes(), &variables).expect("it loads");
    let options = &loaded.options;
    assert_eq!(options.client.ping_interval, Some(Duration::from_secs(2)));
    assert_eq!(options.client.channel_limit, 5, "an empty variable is not set");
    assert!(options.client.token.has_keys() && options.client.insecure);
    assert!(options.client.allowed_origins.allows(Some("https://b.example")));
    assert_eq!(options.channel.namespaces["my-chat.1"].history_size, 7);
    let proxy = options.channel.without_namespace.publish_proxy.as_ref().expect("a proxy");
    assert_eq!(proxy.timeout, Duration::from_secs(9));
    let notes: Vec<&str> = loaded.notes.iter().map(|note| note.path.as_str()).collect();
    assert_eq!(notes, ["CENTRIFUGO_CLIENT_PINGINTERVAL", "http_api.key", "client.insecure"]);
}

#[test]
fn zero_is_not_set_and_below_zero_is_none_as_in_centrifugo() {
    let options = loaded(&json!({
        "client": {"channel_limit": 0, "ping_interval": "0s", "stale_close_delay": "-1s", "queue_max_size": -1},
        "channel": {"private_prefix": ""}
    }));
    assert_eq!(options.client.channel_limit, 128);
    assert_eq!(options.client.ping_interval, Some(Duration::from_secs(25)));
    assert_eq!((options.client.stale_close_delay, options.client.queue_max_size), (None, 0));
    assert_eq!(options.channel.private_prefix, "$");
}

#[test]
fn values_may_be_written_as_text_and_names_in_any_case() {
    let options = loaded(
        &json!({"Client": {"CHANNEL_LIMIT": "7", "insecure": "true", "allowed_origins": "*"}}),
    );
    assert_eq!(options.client.channel_limit, 7);
    assert!(options.client.insecure && options.client.allowed_origins.allows_all());
}

#[test]
fn additions_have_their_options() {
    let file = json!({"channel": {"namespaces": [
        {"name": "log", "topic": "audit-{channel}", "batch_max_delay": "20ms", "force_recovery": true},
        {"name": "plain", "publish_from_resp": "wrap"}
    ]}});
    let options = loaded(&file);
    assert!(!notes(&file).iter().any(|note| note.contains("namespaces")), "nothing is without use");
    let log = &options.channel.namespaces["log"];
    assert_eq!(log.topic_of("x").as_deref(), Some("audit-x"));
    assert_eq!(log.batch_max_delay, Duration::from_millis(20));
    assert_eq!(options.channel.namespaces["plain"].publish_from_resp, FromResp::Wrap);
    assert!(log.has_history() && log.allow_channel_compaction);
    let off =
        loaded(&json!({"channel": {"without_namespace": {"allow_channel_compaction": false}}}));
    assert!(!off.channel.without_namespace.allow_channel_compaction);
}

#[test]
fn what_topics_exclude_is_told() {
    for (options, why) in [
        (json!({"topic": "a/{channel}"}), "`topic` is a topic's name"),
        (json!({"topic": ".hidden"}), "`topic` is a topic's name"),
        (
            json!({"topic": "a", "publish_from_resp": "json"}),
            "`publish_from_resp` is not for topics",
        ),
        (
            json!({"topic": "a", "history_size": 1, "history_ttl": "1s"}),
            "a topic is its own history",
        ),
    ] {
        let found = problems(&json!({"channel": {"without_namespace": options}}));
        assert!(found.len() == 1 && found[0].contains(why), "{found:?}");
    }
}

#[test]
fn what_is_open_to_more_than_it_may_seem_is_noted() {
    let file = json!({"http_api": {"key": "k"}, "client": {
        "allowed_origins": ["*"], "insecure_skip_token_signature_verify": true, "user_id_http_header": "X-User"
    }});
    let expected = [
        "client.insecure_skip_token_signature_verify",
        "client.user_id_http_header",
        "client.allowed_origins",
    ];
    assert_eq!(notes(&file), expected);
}

#[test]
fn an_origin_without_a_scheme_is_noted() {
    let file = json!({"http_api": {"key": "k"}, "client": {
        "allowed_origins": ["https://a.example", "b.example"], "allow_anonymous_connect_without_token": true
    }});
    assert_eq!(notes(&file), ["client.allowed_origins"]);
}

#[test]
fn rates_are_read() {
    let options = loaded(&json!({"client": {"rate_limit": {"client_command": {
        "enabled": true,
        "total": {"enabled": true, "buckets": [{"interval": "1s", "rate": 20}]},
        "publish": {"enabled": true, "buckets": [{"interval": "1s", "rate": 1}]},
        "rpc": {"enabled": false, "buckets": [{"interval": "1s", "rate": 1}]}
    }}}}));
    assert_eq!(options.client.rate_limit.total[0].rate, 20);
    assert_eq!(options.client.rate_limit.commands.len(), 1);
    let file = json!({"client": {"rate_limit": {"client_command": {"enabled": true, "publish": {"enabled": true, "buckets": [{"rate": 1}]}}}}});
    assert_eq!(
        problems(&file),
        [
            "`client.rate_limit.client_command.publish.buckets[0]` needs `interval` and `rate` above zero"
        ]
    );
}

/// With LIVE_OPTIONS_WRITE set the page is written.
#[test]
fn the_reference_is_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/live-options.md");
    let page = reference();
    if std::env::var_os("LIVE_OPTIONS_WRITE").is_some() {
        std::fs::write(path, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == page,
        "docs/live-options.md is not what the table says: LIVE_OPTIONS_WRITE=1 cargo test -p live"
    );
}
