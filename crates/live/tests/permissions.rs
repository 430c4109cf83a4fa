//! Names and permissions against what Centrifugo does: each row is a case of its handlers.

use live::options::{Options, load};
use live::permission::{self, Asked, Step, Who};
use live::subscription::Source;
use live::token::{SubscribeToken, TokenError};
use live::{Disconnect, Error, Refusal};
use serde_json::{Value, json};
use std::sync::Arc;

fn options(file: &Value) -> Arc<Options> {
    load(file.to_string().as_bytes(), &[]).expect("a configuration").options
}

/// Options with one namespace `ns`, and the options of `client`.
fn with(namespace: Value, client: Value) -> Arc<Options> {
    let mut namespace = namespace;
    namespace["name"] = "ns".into();
    options(&json!({
        "client": client,
        "channel": {
            "proxy": {
                "subscribe": {"endpoint": "http://app/s"},
                "publish": {"endpoint": "http://app/p"},
                "sub_refresh": {"endpoint": "http://app/r"}
            },
            "namespaces": [namespace]
        }
    }))
}

const USER: Who<'_> = Who { user: "42", client: "c" };
const NOBODY: Who<'_> = Who { user: "", client: "c" };

/// What a subscription comes to, as a word: a source, a step or a code.
fn subscribe(options: &Options, who: Who<'_>, channel: &str) -> String {
    subscribe_with(options, who, &Asked { channel, ..Asked::default() })
}

fn subscribe_with(options: &Options, who: Who<'_>, asked: &Asked<'_>) -> String {
    match permission::subscribe(options, who, asked, 0, false) {
        Ok(Step::Allowed(subscription)) => format!("{:?}", subscription.options.source),
        Ok(Step::Token) => "token".into(),
        Ok(Step::Proxy(_)) => "proxy".into(),
        Err(refusal) => code(&refusal),
    }
}

fn code(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Error(error) => error.code.to_string(),
        Refusal::Disconnect(disconnect) => disconnect.code.to_string(),
    }
}

#[test]
fn names_are_taken_apart_at_their_boundaries() {
    let options = options(&json!({}));
    let channels = &options.channel;
    for (name, namespace, rest) in [
        ("chan", "", "chan"),
        ("ns:chan", "ns", "chan"),
        ("ns:a:b", "ns", "a:b"),
        ("$ns:chan", "ns", "chan"),
        ("$chan", "", "$chan"),
        (":chan", "", "chan"),
        ("ns:", "ns", ""),
        ("", "", ""),
        ("ns:user#42", "ns", "user#42"),
    ] {
        assert_eq!(channels.split(name), (namespace, rest), "{name}");
    }
    for (name, user, is_for) in [
        ("a#42", "42", true),
        ("a#42", "4", false),
        ("a#42,43", "43", true),
        ("a#42,43", "42,43", false),
        ("a#1#42", "42", true),
        ("a#1#42", "1", false),
        ("a", "42", true),
        ("a#", "", true),
        ("a#42", "", false),
    ] {
        assert_eq!(channels.is_for_user(name, user), is_for, "{name} {user}");
    }
    assert_eq!(channels.personal("", "42"), "#42");
    assert_eq!(channels.personal("ns", "42"), "ns:#42");
    assert!(channels.is_private("$a") && !channels.is_private("a$"));
    assert!(!channels.is_too_long(&"a".repeat(255)) && channels.is_too_long(&"a".repeat(256)));
}

#[test]
fn boundaries_may_be_others() {
    let options = options(&json!({"channel": {
        "namespace_boundary": "::", "user_boundary": "@", "user_separator": ";", "private_prefix": "secret-",
        "namespaces": [{"name": "ns"}]
    }}));
    let channels = &options.channel;
    assert_eq!(channels.split("secret-ns::a@1;2"), ("ns", "a@1;2"));
    assert!(channels.is_for_user("ns::a@1;2", "2") && channels.is_private("secret-x"));
    assert_eq!(channels.personal("ns", "1"), "ns::@1");
}

#[test]
fn who_may_subscribe() {
    let client = json!({"allow_subscribe_for_client": true});
    let anonymous =
        json!({"allow_subscribe_for_client": true, "allow_subscribe_for_anonymous": true});
    let only_anonymous = json!({"allow_subscribe_for_anonymous": true});
    let limited = json!({"allow_user_limited_channels": true, "allow_subscribe_for_client": true});
    let proxied = json!({"subscribe_proxy_enabled": true, "allow_subscribe_for_client": true, "allow_user_limited_channels": true});
    let regex = json!({"allow_subscribe_for_client": true, "channel_regex": "^[a-zä]+$"});
    for (namespace, who, channel, expected) in [
        (json!({}), USER, "ns:a", "103"),
        (client.clone(), USER, "ns:a", "ClientAllowed"),
        (client.clone(), NOBODY, "ns:a", "103"),
        (anonymous.clone(), NOBODY, "ns:a", "ClientAllowed"),
        (only_anonymous, NOBODY, "ns:a", "103"),
        (client.clone(), USER, "nobody:a", "102"),
        (client.clone(), USER, "a", "103"),
        (client.clone(), USER, "", "3501"),
        (client.clone(), USER, "ns:ä", "107"),
        (regex.clone(), USER, "ns:ä", "ClientAllowed"),
        (regex, USER, "ns:1", "107"),
        (client.clone(), USER, "$ns:a", "103"),
        (limited.clone(), USER, "ns:a#42", "UserLimited"),
        (limited.clone(), USER, "ns:a#41,42", "UserLimited"),
        (limited.clone(), USER, "ns:a#41", "103"),
        (limited.clone(), NOBODY, "ns:a#41", "103"),
        (limited, USER, "ns:a", "ClientAllowed"),
        (client, USER, "ns:a#41", "ClientAllowed"),
        (proxied.clone(), USER, "ns:a", "proxy"),
        (proxied.clone(), NOBODY, "ns:a", "proxy"),
        (proxied.clone(), USER, "ns:a#42", "UserLimited"),
        (proxied.clone(), USER, "ns:a#41", "103"),
        (proxied, USER, "$ns:a", "103"),
        (
            json!({"subscription_type": "map", "allow_subscribe_for_client": true}),
            USER,
            "ns:a",
            "108",
        ),
    ] {
        let options = with(namespace.clone(), json!({}));
        assert_eq!(subscribe(&options, who, channel), expected, "{namespace} {who:?} {channel}");
    }
}

#[test]
fn an_insecure_server_lets_everybody_subscribe_but_not_to_private_names() {
    let options = with(json!({"allow_user_limited_channels": true}), json!({"insecure": true}));
    assert_eq!(subscribe(&options, NOBODY, "ns:a"), "ClientInsecure");
    assert_eq!(subscribe(&options, USER, "ns:a#41"), "ClientInsecure");
    assert_eq!(subscribe(&options, USER, "$ns:a"), "103");
}

#[test]
fn limits_come_before_permissions() {
    let options = with(json!({}), json!({"channel_limit": 2}));
    let code_of = |channel: &str, channels, is_subscribed| {
        code(
            &permission::subscribe(
                &options,
                USER,
                &Asked { channel, ..Asked::default() },
                channels,
                is_subscribed,
            )
            .expect_err("refused"),
        )
    };
    assert_eq!(code_of("nobody:a", 2, true), "105");
    assert_eq!(code_of("nobody:a", 2, false), "106");
    assert_eq!(code_of("nobody:a", 1, false), "102");
    assert_eq!(code_of(&"a".repeat(256), 2, true), "107");
}

#[test]
fn a_token_decides_alone() {
    let options =
        with(json!({"force_recovery": true, "history_size": 1, "history_ttl": "1s"}), json!({}));
    let asked = Asked { channel: "$ns:a", token: "t", ..Asked::default() };
    assert_eq!(subscribe_with(&options, USER, &asked), "token");
    let token = SubscribeToken {
        user: "42".into(),
        channel: "$ns:a".into(),
        expire_at: 7,
        ..SubscribeToken::default()
    };
    let decide = |token| permission::subscribe_with_token(&options, USER, &asked, token);
    let granted = decide(Ok(token.clone())).expect("granted");
    assert_eq!((granted.options.source, granted.options.expire_at), (Source::SubscriptionToken, 7));
    assert!(granted.options.recovery && granted.client_side_refresh);
    for (token, expected) in [
        (SubscribeToken { user: "43".into(), ..token.clone() }, "3500"),
        (SubscribeToken { channel: "ns:a".into(), ..token.clone() }, "3500"),
        (SubscribeToken { channel: "nobody:a".into(), ..token.clone() }, "102"),
        (SubscribeToken { client: "other".into(), ..token.clone() }, "3500"),
    ] {
        assert_eq!(code(&decide(Ok(token)).expect_err("refused")), expected);
    }
    assert!(decide(Ok(SubscribeToken { client: "c".into(), ..token })).is_ok());
    assert_eq!(decide(Err(TokenError::Expired)), Err(Error::TOKEN_EXPIRED.into()));
    assert_eq!(
        decide(Err(TokenError::Invalid(String::new()))),
        Err(Error::PERMISSION_DENIED.into())
    );
    assert_eq!(decide(Err(TokenError::Unavailable(String::new()))), Err(Error::INTERNAL.into()));
}

#[test]
fn a_token_may_differ_from_the_namespace() {
    let options = with(json!({"presence": true}), json!({}));
    let asked = Asked { channel: "ns:a", token: "t", ..Asked::default() };
    let mut token =
        SubscribeToken { user: "42".into(), channel: "ns:a".into(), ..SubscribeToken::default() };
    token.subscription.differs.presence = Some(false);
    token.subscription.differs.force_positioning = Some(true);
    let granted = permission::subscribe_with_token(&options, USER, &asked, Ok(token))
        .expect("granted")
        .options;
    assert!(!granted.presence && granted.positioning && !granted.recovery);
}

#[test]
fn what_a_client_asks_for_it_has_if_it_may_read_it() {
    let asked = Asked {
        channel: "ns:a",
        positioned: true,
        recoverable: true,
        join_leave: true,
        ..Asked::default()
    };
    for (namespace, expected) in [
        (json!({}), (false, false, false)),
        (json!({"allow_positioning": true}), (true, false, false)),
        (json!({"allow_recovery": true}), (false, true, false)),
        (json!({"allow_history_for_client": true}), (true, true, false)),
        (json!({"allow_history_for_subscriber": true}), (true, true, false)),
        (json!({"join_leave": true}), (false, false, false)),
        (json!({"join_leave": true, "allow_presence_for_subscriber": true}), (false, false, true)),
        (json!({"allow_presence_for_subscriber": true}), (false, false, false)),
        (json!({"force_positioning": true}), (true, false, false)),
    ] {
        let mut all = namespace.clone();
        all["allow_subscribe_for_client"] = true.into();
        let options = with(all, json!({}));
        let Ok(Step::Allowed(granted)) = permission::subscribe(&options, USER, &asked, 0, false)
        else {
            panic!("it is allowed")
        };
        let granted = granted.options;
        assert_eq!(
            (granted.positioning, granted.recovery, granted.push_join_leave),
            expected,
            "{namespace}"
        );
    }
}

#[test]
fn who_may_publish() {
    let publish = |options: &Options, who, channel: &str, data: &[u8], is_subscribed| {
        match permission::publish(options, who, channel, data, is_subscribed) {
            Ok(Step::Allowed(_)) => "ok".to_owned(),
            Ok(_) => "proxy".to_owned(),
            Err(refusal) => code(&refusal),
        }
    };
    let subscriber = json!({"allow_publish_for_subscriber": true});
    for (namespace, who, channel, data, is_subscribed, expected) in [
        (json!({}), USER, "ns:a", "1", true, "103"),
        (json!({"allow_publish_for_client": true}), USER, "ns:a", "1", false, "ok"),
        (json!({"allow_publish_for_client": true}), NOBODY, "ns:a", "1", false, "103"),
        (
            json!({"allow_publish_for_client": true, "allow_publish_for_anonymous": true}),
            NOBODY,
            "ns:a",
            "1",
            false,
            "ok",
        ),
        (subscriber.clone(), USER, "ns:a", "1", false, "103"),
        (subscriber.clone(), USER, "ns:a", "1", true, "ok"),
        (subscriber, NOBODY, "ns:a", "1", true, "103"),
        (json!({"allow_publish_for_client": true}), USER, "ns:a", "", false, "107"),
        (json!({"publish_proxy_enabled": true}), USER, "ns:a", "1", false, "proxy"),
        (
            json!({"publish_proxy_enabled": true, "publication_data_format": "json_object"}),
            USER,
            "ns:a",
            "1",
            false,
            "107",
        ),
        (
            json!({"allow_publish_for_client": true, "publication_data_format": "json"}),
            USER,
            "ns:a",
            "{",
            false,
            "107",
        ),
        (
            json!({"allow_publish_for_client": true, "publication_data_format": "json_object"}),
            USER,
            "ns:a",
            " {}",
            false,
            "ok",
        ),
        (
            json!({"allow_publish_for_client": true, "publication_data_format": "binary"}),
            USER,
            "ns:a",
            "",
            false,
            "ok",
        ),
        (json!({}), USER, "nobody:a", "", false, "102"),
        (json!({}), USER, "ns:ä", "", false, "107"),
        (json!({}), USER, "", "1", false, "3501"),
    ] {
        let options = with(namespace.clone(), json!({}));
        let came = publish(&options, who, channel, data.as_bytes(), is_subscribed);
        assert_eq!(came, expected, "{namespace} {who:?} {channel} {data:?}");
    }
    assert_eq!(
        publish(&with(json!({}), json!({"insecure": true})), NOBODY, "ns:a", b"1", false),
        "ok"
    );
}

#[test]
fn who_may_ask_for_presence_and_history() {
    let history = |namespace: &Value| {
        let mut namespace = namespace.clone();
        namespace["history_size"] = 1.into();
        namespace["history_ttl"] = "1s".into();
        namespace
    };
    for (what, for_client, for_subscriber, for_anonymous) in [
        (
            "presence",
            "allow_presence_for_client",
            "allow_presence_for_subscriber",
            "allow_presence_for_anonymous",
        ),
        (
            "history",
            "allow_history_for_client",
            "allow_history_for_subscriber",
            "allow_history_for_anonymous",
        ),
    ] {
        let ask = |namespace: Value, who, channel: &str, is_subscribed| {
            let mut namespace = namespace;
            if namespace["off"].is_null() {
                namespace = history(&namespace);
                namespace["presence"] = true.into();
            }
            namespace.as_object_mut().expect("an object").remove("off");
            let options = with(namespace, json!({}));
            let result = match what {
                "presence" => {
                    permission::presence(&options, who, channel, is_subscribed).map(|_| ())
                }
                _ => permission::history(&options, who, channel, is_subscribed).map(|_| ()),
            };
            result.map_or_else(|refusal| code(&refusal), |()| "ok".into())
        };
        assert_eq!(ask(json!({}), USER, "ns:a", true), "103", "{what}");
        assert_eq!(ask(json!({for_client: true}), USER, "ns:a", false), "ok");
        assert_eq!(ask(json!({for_client: true}), NOBODY, "ns:a", false), "103");
        assert_eq!(
            ask(json!({for_client: true, for_anonymous: true}), NOBODY, "ns:a", false),
            "ok"
        );
        assert_eq!(ask(json!({for_subscriber: true}), USER, "ns:a", false), "103");
        assert_eq!(ask(json!({for_subscriber: true}), USER, "ns:a", true), "ok");
        assert_eq!(ask(json!({for_subscriber: true}), NOBODY, "ns:a", true), "103");
        assert_eq!(ask(json!({for_client: true, "off": true}), USER, "ns:a", true), "108");
        assert_eq!(ask(json!({for_client: true}), USER, "nobody:a", true), "102");
        assert_eq!(ask(json!({for_client: true}), USER, "ns:ä", true), "107");
        assert_eq!(ask(json!({for_client: true}), USER, "", true), "3501");
    }
}

#[test]
fn a_history_has_a_limit() {
    let limited = with(json!({}), json!({}));
    let unlimited = with(json!({}), json!({"history_max_publication_limit": -1}));
    for (asked, of_limited, of_unlimited) in [
        (0, Some(0), Some(0)),
        (10, Some(10), Some(10)),
        (301, Some(300), Some(301)),
        (-1, Some(300), None),
    ] {
        assert_eq!(permission::history_limit(&limited, asked), of_limited);
        assert_eq!(permission::history_limit(&unlimited, asked), of_unlimited);
    }
}

#[test]
fn subscriptions_are_refreshed_by_their_own_tokens() {
    let token = SubscribeToken {
        user: "42".into(),
        channel: "ns:a".into(),
        expire_at: 9,
        ..SubscribeToken::default()
    };
    let refresh = |token| permission::sub_refresh(USER, "ns:a", token);
    assert_eq!(refresh(Ok(token.clone())).map(|token| token.expire_at), Ok(9));
    let invalid = Err(Refusal::from(Disconnect::INVALID_TOKEN));
    assert_eq!(
        refresh(Ok(SubscribeToken { user: "43".into(), ..token.clone() })).map(|_| ()),
        invalid
    );
    assert_eq!(
        refresh(Ok(SubscribeToken { channel: "ns:b".into(), ..token })).map(|_| ()),
        invalid
    );
    assert_eq!(refresh(Err(TokenError::Invalid(String::new()))).map(|_| ()), invalid);
    assert_eq!(refresh(Err(TokenError::Expired)).map(|_| ()), Err(Error::TOKEN_EXPIRED.into()));
}

#[test]
fn a_recovery_is_all_or_nothing() {
    for (epoch, offset, missed, expected) in [
        ("e", 5, None, true),
        ("", 5, None, true),
        ("x", 5, None, false),
        ("e", 4, None, false),
        ("e", 6, None, false),
        ("e", 3, Some((4, 5)), true),
        ("e", 2, Some((4, 5)), false),
        ("e", 3, Some((4, 4)), false),
        ("e", u64::MAX, Some((0, 5)), false),
    ] {
        assert_eq!(
            permission::is_recovered("e", 5, epoch, offset, missed),
            expected,
            "{epoch} {offset} {missed:?}"
        );
    }
    for (epoch, offset, latest, expected) in [
        ("e", 5, Some(5), (true, false)),
        ("e", 4, Some(5), (true, true)),
        ("x", 5, Some(5), (true, true)),
        ("", 0, Some(5), (true, true)),
        ("e", 5, Some(4), (false, false)),
        ("e", 5, None, (true, false)),
        ("e", 0, None, (false, false)),
    ] {
        assert_eq!(
            permission::is_cache_recovered("e", 5, epoch, offset, latest),
            expected,
            "{epoch} {offset}"
        );
    }
}

#[test]
fn topics_are_followed_and_not_published_to() {
    let open = json!({
        "topic": "t.{channel}", "allow_publish_for_client": true, "publish_proxy_enabled": true,
        "allow_subscribe_for_client": true, "allow_history_for_client": true
    });
    let options = with(open, json!({"insecure": true}));
    let published = permission::publish(&options, USER, "ns:a", b"1", true);
    assert_eq!(published.map(|_| ()).map_err(|refusal| code(&refusal)), Err("108".into()));
    assert!(permission::history(&options, USER, "ns:a", false).is_ok());
    let asked = Asked { channel: "ns:a", ..Asked::default() };
    let Ok(Step::Allowed(granted)) = permission::subscribe(&options, USER, &asked, 0, false) else {
        panic!("it is allowed")
    };
    assert!(granted.options.positioning && granted.options.recovery, "without asking");
    let found = options.channel.find("ns:a").expect("there");
    assert_eq!(found.namespace.topic_of(found.rest).as_deref(), Some("t.a"));
}
