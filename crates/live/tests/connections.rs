//! What connect and refresh come to, against what Centrifugo does.

use live::connect::{self, Asked, Expiry, Plan};
use live::options::{Options, load};
use live::permission::Step;
use live::proxy::{self, Caller, Event, Outcome, Retry};
use live::rpc::{self, Call};
use live::subscription::Source;
use live::token::{ConnectToken, TokenError, TokenSubscription};
use live::{Disconnect, Error, Refusal};
use serde_json::{Value, json};
use std::sync::Arc;

fn options(file: &Value) -> Arc<Options> {
    load(file.to_string().as_bytes(), &[]).expect("a configuration").options
}

fn token(user: &str) -> ConnectToken {
    ConnectToken { user: user.into(), ..ConnectToken::default() }
}

fn sources(plan: &Plan) -> Vec<(&str, Source)> {
    plan.subscriptions.iter().map(|(name, granted)| (name.as_str(), granted.source)).collect()
}

#[test]
fn a_client_needs_a_source_of_its_user() {
    let begin = |client: Value, asked: &Asked<'_>| match connect::begin(
        &options(&json!({"client": client})),
        asked,
    ) {
        Ok(Step::Allowed(plan)) => format!("user {:?}", plan.user),
        Ok(Step::Token) => "token".into(),
        Ok(Step::Proxy(_)) => "proxy".into(),
        Err(Refusal::Disconnect(disconnect)) => disconnect.code.to_string(),
        Err(Refusal::Error(error)) => error.code.to_string(),
    };
    let proxy = json!({"proxy": {"connect": {"enabled": true, "endpoint": "http://app"}}});
    let header = Asked { user_header: Some("42"), ..Asked::default() };
    let with_token = Asked { token: "t", ..Asked::default() };
    assert_eq!(begin(json!({}), &Asked::default()), "3501");
    assert_eq!(begin(json!({}), &with_token), "token");
    assert_eq!(begin(proxy.clone(), &with_token), "token");
    assert_eq!(begin(proxy, &Asked::default()), "proxy");
    assert_eq!(
        begin(json!({"allow_anonymous_connect_without_token": true}), &Asked::default()),
        "user \"\""
    );
    assert_eq!(begin(json!({"insecure": true}), &Asked::default()), "user \"\"");
    assert_eq!(begin(json!({}), &header), "user \"42\"");
    assert_eq!(begin(json!({"allow_anonymous_connect_without_token": true}), &header), "user \"\"");
}

#[test]
fn a_token_says_user_expiry_and_channels() {
    let options = options(&json!({"channel": {
        "without_namespace": {"presence": true}, "namespaces": [{"name": "ns", "join_leave": true}]
    }}));
    let mut differs = TokenSubscription { info: b"{}".to_vec(), ..TokenSubscription::default() };
    differs.differs.presence = Some(false);
    let subs = vec![("a".to_owned(), TokenSubscription::default()), ("b".to_owned(), differs)];
    let plan = connect::with_token(
        &options,
        &Asked::default(),
        Ok(ConnectToken { expire_at: 50, info: b"1".to_vec(), subs, ..token("42") }),
    )
    .expect("a plan");
    assert_eq!((plan.user.as_str(), plan.expire_at, plan.info.as_slice()), ("42", 50, &b"1"[..]));
    assert!(plan.subscriptions[0].1.presence && !plan.subscriptions[1].1.presence);
    assert_eq!(plan.subscriptions[1].1.info, b"{}");
    assert!(plan.client_side_refresh);
    let unknown =
        ConnectToken { subs: vec![("x:a".into(), TokenSubscription::default())], ..token("42") };
    let refused = connect::with_token(&options, &Asked::default(), Ok(unknown));
    assert_eq!(refused, Err(Error::UNKNOWN_CHANNEL.into()));
}

#[test]
fn a_token_that_does_not_count_ends_the_connection_unless_it_expired() {
    let options = options(&json!({"client": {"disallow_anonymous_connection_tokens": true}}));
    let with = |token| connect::with_token(&options, &Asked::default(), token).map(|_| ());
    assert_eq!(with(Err(TokenError::Expired)), Err(Error::TOKEN_EXPIRED.into()));
    assert_eq!(
        with(Err(TokenError::Invalid(String::new()))),
        Err(Disconnect::INVALID_TOKEN.into())
    );
    assert_eq!(with(Ok(token(""))), Err(Disconnect::PERMISSION_DENIED.into()));
    assert_eq!(with(Ok(token("42"))), Ok(()));
}

#[test]
fn channels_of_the_server_come_from_token_user_and_wish() {
    let options = options(&json!({
        "client": {"subscribe_to_user_personal_channel": {"enabled": true, "personal_channel_namespace": "me", "single_connection": true}},
        "channel": {
            "proxy": {"subscribe": {"endpoint": "http://app"}},
            "namespaces": [
                {"name": "me", "presence": true},
                {"name": "open", "allow_subscribe_for_client": true},
                {"name": "user", "allow_user_limited_channels": true},
                {"name": "asked", "subscribe_proxy_enabled": true, "allow_subscribe_for_client": true},
                {"name": "shut"}
            ]
        }
    }));
    let wishes =
        ["open:a", "shut:a", "asked:a", "$open:a", "user:a#42", "user:a#43", "open:ä", "me:#42"];
    let asked = Asked { channels: &wishes, ..Asked::default() };
    let subs = vec![("open:t".to_owned(), TokenSubscription::default())];
    let plan = connect::with_token(&options, &asked, Ok(ConnectToken { subs, ..token("42") }))
        .expect("a plan");
    assert_eq!(
        sources(&plan),
        [
            ("open:t", Source::ConnectionToken),
            ("me:#42", Source::UserPersonal),
            ("open:a", Source::UniConnect),
            ("user:a#42", Source::UniConnect)
        ]
    );
    assert_eq!(plan.single_connection.as_deref(), Some("me:#42"));
    let nobody = connect::with_token(&options, &Asked::default(), Ok(token(""))).expect("a plan");
    assert_eq!((nobody.subscriptions.len(), nobody.single_connection), (0, None));
    let unknown = Asked { channels: &["x:a"], ..Asked::default() };
    let refused = connect::with_token(&options, &unknown, Ok(token("42")));
    assert_eq!(refused, Err(Disconnect::BAD_REQUEST.into()));
}

#[test]
fn a_connection_has_limits() {
    let options = options(&json!({
        "client": {"channel_limit": 1, "user_connection_limit": 2},
        "channel": {"without_namespace": {"allow_subscribe_for_client": true}}
    }));
    let asked = Asked { channels: &["a", "b"], ..Asked::default() };
    let refused = connect::with_token(&options, &asked, Ok(token("42")));
    assert_eq!(refused, Err(Disconnect::CHANNEL_LIMIT.into()));
    let mut plan =
        connect::with_token(&options, &Asked::default(), Ok(token("42"))).expect("a plan");
    assert_eq!(plan.admit(0), Ok(Expiry::default()));
    assert_eq!(plan.user_limit(&options), Some(2));
    plan.user.clear();
    assert_eq!(plan.user_limit(&options), None, "nobody is no user");
}

#[test]
fn an_expiry_is_told_to_the_client_that_refreshes() {
    let own = options(&json!({}));
    let proxied = options(
        &json!({"client": {"proxy": {"refresh": {"enabled": true, "endpoint": "http://app"}}}}),
    );
    let admit = |options: &Options, expire_at, now_s| {
        let made = ConnectToken { expire_at, ..token("42") };
        let mut plan = connect::with_token(options, &Asked::default(), Ok(made)).expect("a plan");
        plan.admit(now_s).map(|expiry| (expiry.expires, expiry.ttl, plan.expire_at))
    };
    assert_eq!(admit(&own, 0, 100), Ok((false, 0, 0)));
    assert_eq!(admit(&own, 160, 100), Ok((true, 60, 160)));
    assert_eq!(admit(&own, 99, 100), Err(Error::EXPIRED.into()));
    assert_eq!(admit(&proxied, 160, 100), Ok((false, 0, 160)));
    assert_eq!(admit(&own, i64::MAX, 100), Ok((true, 31_536_000, 31_536_100)), "a year at most");
}

#[test]
fn a_refresh_is_of_the_same_user_and_channels() {
    let options = options(&json!({}));
    let refresh = |token, of_token: &[&str], now_s| {
        connect::refresh(&options, "42", token, |name| name == "a", of_token, now_s)
            .map(|refreshed| refreshed.expire_at)
    };
    let with = |names: &[&str], expire_at| {
        let subs =
            names.iter().map(|name| ((*name).to_owned(), TokenSubscription::default())).collect();
        Some(Ok(ConnectToken { subs, expire_at, ..token("42") }))
    };
    assert_eq!(refresh(None, &[], 0), Err(Disconnect::BAD_REQUEST.into()));
    assert_eq!(refresh(Some(Err(TokenError::Expired)), &[], 0), Err(Disconnect::EXPIRED.into()));
    assert_eq!(
        refresh(Some(Err(TokenError::Invalid(String::new()))), &[], 0),
        Err(Disconnect::INVALID_TOKEN.into())
    );
    assert_eq!(refresh(Some(Ok(token("43"))), &[], 0), Err(Disconnect::INVALID_TOKEN.into()));
    assert_eq!(refresh(with(&["a"], 9), &["a"], 0), Ok(9));
    assert_eq!(
        refresh(with(&["b"], 9), &[], 0),
        Err(Disconnect::INSUFFICIENT_STATE.into()),
        "a channel more"
    );
    assert_eq!(
        refresh(with(&[], 9), &["a"], 0),
        Err(Disconnect::INSUFFICIENT_STATE.into()),
        "a channel less"
    );
    assert_eq!(refresh(with(&[], 9), &[], 9), Err(Error::EXPIRED.into()));
    let proxied = self::options(
        &json!({"client": {"proxy": {"refresh": {"enabled": true, "endpoint": "http://app"}}}}),
    );
    let refused = connect::refresh(&proxied, "42", with(&[], 9), |_| true, &[], 0);
    assert_eq!(refused, Err(Disconnect::BAD_REQUEST.into()));
}

#[test]
fn unidirectional_clients_are_told_by_the_end() {
    let own = options(&json!({"client": {"connect_code_to_unidirectional_disconnect": {
        "enabled": true, "transforms": [{"code": 1404, "to": {"code": 4904, "reason": "gone"}}]
    }}}));
    let told = |error| connect::unidirectional(&own, Refusal::Error(error)).code;
    assert_eq!(told(Error::TOKEN_EXPIRED), 3005);
    assert_eq!(told(Error::PERMISSION_DENIED), 3507);
    assert_eq!(told(Error::TOO_MANY_REQUESTS), 3013);
    assert_eq!(told(Error::UNKNOWN_CHANNEL), 3004);
    assert_eq!(told(Error { code: 1404, message: "x".into(), temporary: false }), 4904);
}

fn proxied(more: Value) -> Arc<Options> {
    let mut proxy = json!({"enabled": true, "endpoint": "http://app", "http": {"status_to_code_transforms": [
        {"status_code": 404, "to_error": {"code": 1404, "message": "gone"}},
        {"status_code": 403, "to_disconnect": {"code": 4503, "reason": "no"}}
    ]}});
    proxy.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    options(&json!({
        "client": {"proxy": {"connect": proxy}},
        "channel": {"namespaces": [{"name": "ns", "presence": true, "history_size": 5, "history_ttl": "1m", "delta_publish": true}]}
    }))
}

fn answer(value: &Value) -> Outcome {
    Outcome::Answer(value.to_string().into_bytes())
}

#[test]
fn a_question_has_the_fields_of_centrifugos_proxies() {
    let caller = Caller {
        client: "c",
        transport: "websocket",
        protocol: "json",
        user: "42",
        meta: Some(br#"{"m":1}"#),
    };
    let ask = |more: Value, event: &Event<'_>| {
        let options = proxied(more);
        let proxy = options.client.connect_proxy.clone().expect("a proxy");
        serde_json::from_slice::<Value>(&proxy::request(&proxy, &caller, event)).expect("JSON")
    };
    let connect =
        Event::Connect { data: br#"{"x": 1.0}"#, name: "js", version: "", channels: &["a"] };
    assert_eq!(
        ask(json!({}), &connect),
        json!({"client": "c", "transport": "websocket", "protocol": "json", "encoding": "json", "data": {"x": 1.0},
               "name": "js", "channels": ["a"]})
    );
    let publish = Event::Publish { channel: "ns:a", data: b"[1]" };
    assert_eq!(
        ask(json!({"binary_encoding": true, "include_connection_meta": true}), &publish),
        json!({"client": "c", "transport": "websocket", "protocol": "json", "encoding": "binary", "user": "42",
               "channel": "ns:a", "b64data": "WzFd", "meta": {"m": 1}})
    );
    let subscribe = Event::Subscribe { channel: "ns:a", token: "t", data: b"" };
    assert_eq!(ask(json!({}), &subscribe)["token"], "t");
    assert_eq!(ask(json!({}), &Event::SubRefresh { channel: "ns:a" })["channel"], "ns:a");
    assert_eq!(ask(json!({}), &Event::Rpc { method: "m", data: b"1" })["method"], "m");
    assert_eq!(ask(json!({}), &Event::Refresh)["user"], "42");
    let binary = ask(json!({}), &Event::Rpc { method: "m", data: b"\xff}, \"user\": \"1\"" });
    assert_eq!(binary["user"], "42", "bytes that are no JSON cannot become fields");
    assert!(binary["b64data"].is_string());
}

#[test]
fn headers_go_along_if_they_are_listed() {
    let options = proxied(
        json!({"http_headers": ["Cookie", "X-A"], "emulated_headers": ["Authorization", "X-A"],
        "http": {"static_headers": {"X-S": "s", "Cookie": "none"}}}),
    );
    let proxy = options.client.connect_proxy.clone().expect("a proxy");
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let emulated =
        [pair("authorization", "Bearer"), pair("cookie", "forged"), pair("x-a", "emulated")];
    let request = [
        pair("cookie", "real"),
        pair("x-a", "real"),
        pair("host", "h"),
        pair("authorization", "no"),
    ];
    let mut headers = proxy::headers(&proxy, &emulated, &request);
    headers.sort();
    assert_eq!(
        headers,
        [
            pair("Content-Type", "application/json"),
            pair("X-S", "s"),
            pair("authorization", "Bearer"),
            pair("cookie", "real"),
            pair("x-a", "real")
        ]
    );
    let forged = [pair("authorization", "a\r\nX-Admin: 1")];
    assert!(proxy::headers(&proxy, &forged, &[]).iter().all(|(name, _)| name != "authorization"));
}

#[test]
fn a_connect_answer_is_a_plan() {
    let options = proxied(json!({}));
    let proxy = options.client.connect_proxy.clone().expect("a proxy");
    let ask = |outcome: &Outcome| proxy::connect(&options, &proxy, outcome);
    let full = answer(&json!({"result": {
        "user": "42", "expire_at": 9, "info": {"n": 1}, "b64data": "WzFd", "meta": {"m": 1}, "channels": ["ns:a", "ns:b"],
        "subs": {"ns:b": {"override": {"presence": {"value": false}}, "data": [2]}}
    }}));
    let full = ask(&full).expect("an answer").expect("a result");
    assert_eq!(
        (full.user.as_str(), full.expire_at, full.info.as_slice()),
        ("42", 9, &br#"{"n":1}"#[..])
    );
    assert_eq!(
        (full.data.as_slice(), full.meta.as_deref()),
        (&b"[1]"[..], Some(&br#"{"m":1}"#[..]))
    );
    let b = full.subscriptions.iter().find(|(name, _)| name == "ns:b").expect("a channel");
    assert!(!b.1.presence && b.1.data == b"[2]" && full.subscriptions[0].1.presence);
    let plan = connect::with_proxy(&options, &Asked::default(), Some(full)).expect("a plan");
    assert_eq!(plan.subscriptions.len(), 2);

    assert_eq!(ask(&answer(&json!({}))), Ok(None));
    assert_eq!(
        connect::with_proxy(&options, &Asked::default(), None),
        Err(Disconnect::BAD_REQUEST.into())
    );
    for (outcome, expected) in [
        (
            answer(&json!({"error": {"code": 1000, "message": "m", "temporary": true}})),
            Refusal::Error(Error { code: 1000, message: "m".into(), temporary: true }),
        ),
        (
            answer(&json!({"disconnect": {"code": 4500, "reason": "r"}, "error": {"code": 1000}})),
            Refusal::Disconnect(Disconnect { code: 4500, reason: "r".into() }),
        ),
        (answer(&json!({"result": {"channels": ["x:a"]}})), Error::UNKNOWN_CHANNEL.into()),
        (answer(&json!({"result": {"user": 42}})), Error::INTERNAL.into()),
        (answer(&json!({"result": {"b64info": "?"}})), Error::INTERNAL.into()),
        (
            answer(&json!({"result": {"subs": {"ns:a": {"server_tags_filter": {"op": "x"}}}}})),
            Error::INTERNAL.into(),
        ),
        (Outcome::Answer(b"<html>".to_vec()), Error::INTERNAL.into()),
        (Outcome::Failed("away".into()), Error::INTERNAL.into()),
        (Outcome::Status(500), Error::INTERNAL.into()),
        (
            Outcome::Status(404),
            Refusal::Error(Error { code: 1404, message: "gone".into(), temporary: false }),
        ),
        (Outcome::Status(403), Refusal::Disconnect(Disconnect { code: 4503, reason: "no".into() })),
    ] {
        assert_eq!(ask(&outcome), Err(expected), "{outcome:?}");
    }
}

#[test]
fn other_answers_come_to_their_decisions() {
    let options = proxied(json!({}));
    let proxy = options.client.connect_proxy.clone().expect("a proxy");
    let namespace = &options.channel.namespaces["ns"];
    let granted = proxy::subscribe(
        namespace,
        &proxy,
        &answer(&json!({"result": {"expire_at": 5, "info": 1}})),
    )
    .unwrap();
    assert_eq!(
        (granted.expire_at, granted.info.as_slice(), granted.source),
        (5, &b"1"[..], Source::SubscribeProxy)
    );
    assert!(proxy::subscribe(namespace, &proxy, &answer(&json!({}))).is_ok(), "no result permits");

    let plain = proxy::publish(namespace, &proxy, &answer(&json!({}))).unwrap();
    assert_eq!(
        (plain.data, plain.plan.history.map(|(size, _)| size), plain.plan.delta),
        (None, Some(5), false)
    );
    let other = json!({"result": {"data": {"x": 1}, "skip_history": true, "tags": {"k": "v"}, "version": 3, "delta": true}});
    let other = proxy::publish(namespace, &proxy, &answer(&other)).unwrap();
    assert_eq!((other.data.as_deref(), other.plan.history), (Some(&br#"{"x":1}"#[..]), None));
    assert_eq!(
        (other.tags, other.version, other.plan.delta),
        (vec![("k".into(), "v".into())], 3, true)
    );

    assert_eq!(proxy::rpc(&proxy, &answer(&json!({"result": {"data": 7}}))), Ok(b"7".to_vec()));
    assert_eq!(
        proxy::rpc(&proxy, &answer(&json!({"error": {"code": 400, "message": ""}})))
            .map_err(|r| matches!(r, Refusal::Error(_))),
        Err(true)
    );

    let again = |outcome| match proxy::refresh(&proxy, &outcome, 100).unwrap() {
        Retry::Refreshed(refreshed) => refreshed.expire_at,
        Retry::Expired => -1,
    };
    assert_eq!(again(answer(&json!({"result": {"expire_at": 500}}))), 500);
    assert_eq!(again(answer(&json!({"result": {"expired": true}}))), -1);
    assert_eq!(again(answer(&json!({}))), -1);
    assert_eq!(
        again(Outcome::Failed("away".into())),
        160,
        "a connection outlives its application's restart"
    );
    assert_eq!(again(Outcome::Status(500)), 160);
}

#[test]
fn methods_have_their_proxies() {
    let options = options(&json!({
        "proxies": [{"name": "app", "endpoint": "http://app"}],
        "rpc": {"ping": {"enabled": true}, "namespaces": [
            {"name": "app", "proxy_enabled": true, "proxy_name": "app"}, {"name": "off"}
        ]}
    }));
    assert_eq!(rpc::call(&options, "ping"), Ok(Call::Ping));
    assert!(matches!(rpc::call(&options, "app:x"), Ok(Call::Proxy(proxy)) if proxy.name == "app"));
    assert_eq!(rpc::call(&options, "off:x"), Err(Error::NOT_AVAILABLE));
    assert_eq!(rpc::call(&options, "x"), Err(Error::NOT_AVAILABLE));
    assert_eq!(rpc::call(&options, "no:x"), Err(Error::METHOD_NOT_FOUND));
    assert_eq!(rpc::call(&self::options(&json!({})), "x"), Err(Error::METHOD_NOT_FOUND));
}
