use super::{
    ApiError, Body, ClientInfo, DecodeError, HistoryPage, METHODS, Method, Node, PublicationOut,
    ReplyResult, Request, check, decode, encode, encode_batch, encode_error, encode_legacy,
    is_authorized, legacy,
};
use crate::code::Disconnect;
use crate::options::load;
use serde_json::json;

fn one(method: Method, body: &str) -> Request {
    match decode(method, body.as_bytes()) {
        Ok(Body::One(request)) => request,
        other => panic!("{body}: {other:?}"),
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

#[test]
fn requests_are_read() {
    let body = r#"{"channel":"c","data":{"n": 1.10},"tags":{"k":"v"},"idempotency_key":"i","delta":true,"skip_history":true,"version":3,"version_epoch":"e"}"#;
    let Request::Publish(publish) = one(Method::Publish, body) else { panic!("publish") };
    assert_eq!(
        (publish.channel.as_str(), publish.publication.data.as_slice()),
        ("c", &br#"{"n": 1.10}"#[..])
    );
    assert_eq!(publish.publication.tags, [("k".to_owned(), "v".to_owned())]);
    assert!(publish.publication.delta && publish.publication.skip_history);
    assert_eq!((publish.publication.version, publish.publication.version_epoch.as_str()), (3, "e"));
    let Request::Publish(binary) = one(Method::Publish, r#"{"channel":"c","b64data":"AAE="}"#)
    else {
        panic!()
    };
    assert_eq!(binary.publication.data, [0, 1]);
    let Request::Publish(null) = one(Method::Publish, r#"{"channel":"c","data":null}"#) else {
        panic!()
    };
    assert_eq!(null.publication.data, b"null");
    let Request::Subscribe(subscribe) = one(
        Method::Subscribe,
        r#"{"channel":"c","user":"u","client":"x","recover_since":{"offset":5,"epoch":"e"},"override":{"presence":{"value":true}}}"#,
    ) else {
        panic!()
    };
    assert_eq!(subscribe.recover_since.map(|position| position.offset), Some(5));
    assert_eq!((subscribe.target.client.as_str(), subscribe.differs.presence), ("x", Some(true)));
    let Request::Disconnect(gone) = one(Method::Disconnect, r#"{"user":"u","whitelist":["a"]}"#)
    else {
        panic!()
    };
    assert_eq!(
        (gone.disconnect, gone.whitelist),
        (Disconnect::FORCE_NO_RECONNECT, vec!["a".to_owned()])
    );
    let own = one(Method::Disconnect, r#"{"user":"u","disconnect":{"code":4000,"reason":"r"}}"#);
    assert!(matches!(own, Request::Disconnect(own) if own.disconnect.code == 4000));
    let Request::History(history) =
        one(Method::History, r#"{"channel":"c","limit":-1,"reverse":true}"#)
    else {
        panic!()
    };
    assert_eq!((history.limit, history.since, history.reverse), (-1, None, true));
    assert_eq!(one(Method::Info, ""), Request::Info);
    assert_eq!(one(Method::Channels, "{}"), Request::Channels { pattern: String::new() });
    assert!(
        METHODS
            .iter()
            .all(|(method, name)| Method::of(name) == Some(*method) && method.name() == *name)
    );
    assert_eq!(Method::of("map_publish"), None);
}

#[test]
fn what_is_no_request_is_told_from_what_makes_no_sense() {
    let of = |method, body: &str| decode(method, body.as_bytes()).expect_err("no request");
    for (method, body, why) in [
        (Method::Publish, "{", "it is not a JSON object"),
        (
            Method::Publish,
            r#"{"channel":1}"#,
            "`channel` must be a string, and is a number, or one out of range",
        ),
        (Method::Publish, r#"{"channel":"c","tags":{"k":1}}"#, "`tags.k` must be a string"),
        (
            Method::History,
            r#"{"channel":"c","since":{"offset":-1}}"#,
            "`since.offset` must be an integer that is not negative",
        ),
        (
            Method::Batch,
            r#"{"commands":{}}"#,
            "`commands` must be a list of objects, and is an object",
        ),
    ] {
        assert!(
            matches!(of(method, body), DecodeError::Malformed(text) if text.starts_with(why)),
            "{body}"
        );
    }
    for (method, body, code) in [
        (Method::Publish, "{}", 107),
        (Method::Broadcast, r#"{"channels":[]}"#, 107),
        (Method::Rpc, "{}", 107),
        (Method::Disconnect, r#"{"user":"u","disconnect":{"code":1}}"#, 107),
        (Method::Disconnect, r#"{"all_users":true}"#, 108),
        (Method::Unsubscribe, r#"{"label_filter":{"op":"x"}}"#, 108),
    ] {
        assert!(
            matches!(of(method, body), DecodeError::Refused(error) if error.code == code),
            "{body}"
        );
    }
    assert!(matches!(
        one(Method::Disconnect, r#"{"user":"u","all_users":false}"#),
        Request::Disconnect(_)
    ));
}

#[test]
fn a_batch_has_a_request_or_an_error_in_each_place() {
    let body = r#"{"commands":[{"publish":{"channel":"c","data":1}},{},null,{"presence":{}},{"info":{}}],"parallel":true}"#;
    let Ok(Body::Batch { requests, parallel }) = decode(Method::Batch, body.as_bytes()) else {
        panic!("a batch")
    };
    assert!(parallel && requests.len() == 5);
    assert!(matches!(&requests[0], Ok(Request::Publish(_))));
    let codes: Vec<u32> = requests
        .iter()
        .filter_map(|request| request.as_ref().err())
        .map(|error| error.code)
        .collect();
    assert_eq!(codes, [104, 107, 107]);
    let replies = [
        (Some(Method::Publish), Ok(ReplyResult::Publish { offset: 1, epoch: "e".into() })),
        (None, Err(ApiError::NOT_FOUND)),
    ];
    assert_eq!(
        text(encode_batch(&replies)),
        r#"{"replies":[{"publish":{"offset":1,"epoch":"e"}},{"error":{"code":104,"message":"not found"}}]}"#
    );
    assert_eq!(text(encode_batch(&[])), "{}");
}

#[test]
fn the_old_route_takes_commands_by_name_and_number() {
    let body = "{\"id\":1,\"method\":\"publish\",\"params\":{\"channel\":\"c\",\"data\":{}}}\n{\"method\":\"INFO\"} {\"method\":4,\"params\":{\"channel\":\"c\"}}{\"method\":\"x\"}";
    let commands = legacy(body.as_bytes()).expect("commands");
    assert_eq!(commands.len(), 4);
    assert!(commands[0].id == 1 && matches!(&commands[0].request, Ok(Request::Publish(_))));
    assert_eq!(commands[1].request, Ok(Request::Info));
    assert_eq!(commands[2].request, Ok(Request::Presence { channel: "c".into() }));
    assert_eq!(commands[3].request, Err(ApiError::NOT_FOUND));
    assert!(legacy(b"").is_err() && legacy(b"{} x").is_err() && legacy(b"[]").is_err());
    assert_eq!(text(encode_legacy(1, &Ok(ReplyResult::Empty))), r#"{"id":1,"result":{}}"#);
}

#[test]
fn replies_have_centrifugos_fields() {
    let client = ClientInfo {
        user: "u".into(),
        client: "c".into(),
        conn_info: b"{}".to_vec(),
        chan_info: Vec::new(),
    };
    for (result, expected) in [
        (ReplyResult::Publish { offset: 0, epoch: String::new() }, r#"{"result":{}}"#),
        (
            ReplyResult::PresenceStats { num_clients: 0, num_users: 0 },
            r#"{"result":{"num_clients":0,"num_users":0}}"#,
        ),
        (
            ReplyResult::Presence(vec![client.clone()]),
            r#"{"result":{"presence":{"c":{"user":"u","client":"c","conn_info":{}}}}}"#,
        ),
        (
            ReplyResult::History(HistoryPage {
                publications: vec![PublicationOut {
                    data: b"[1]".to_vec(),
                    info: Some(client),
                    offset: 7,
                    tags: vec![("k".into(), "v".into())],
                }],
                offset: 7,
                epoch: "e".into(),
            }),
            r#"{"result":{"publications":[{"data":[1],"info":{"user":"u","client":"c","conn_info":{}},"offset":7,"tags":{"k":"v"}}],"epoch":"e","offset":7}}"#,
        ),
        (
            ReplyResult::History(HistoryPage::default()),
            r#"{"result":{"publications":[],"epoch":"","offset":0}}"#,
        ),
        (
            ReplyResult::Broadcast(vec![
                Ok(ReplyResult::Publish { offset: 1, epoch: "e".into() }),
                Err(ApiError::UNKNOWN_CHANNEL),
            ]),
            r#"{"result":{"responses":[{"result":{"offset":1,"epoch":"e"}},{"error":{"code":102,"message":"unknown channel"}}]}}"#,
        ),
        (
            ReplyResult::Channels(vec![("c".into(), super::ChannelInfo { num_clients: 2 })]),
            r#"{"result":{"channels":{"c":{"num_clients":2}}}}"#,
        ),
        (
            ReplyResult::Info(vec![Node { uid: "u".into(), uptime: 3, ..Node::default() }]),
            r#"{"result":{"nodes":[{"uid":"u","name":"","version":"","num_clients":0,"num_users":0,"num_channels":0,"uptime":3,"num_subs":0}]}}"#,
        ),
        (ReplyResult::Rpc(b"7".to_vec()), r#"{"result":{"data":7}}"#),
    ] {
        assert_eq!(text(encode(&Ok(result))), expected);
    }
    assert_eq!(
        text(encode(&Err(ApiError::INTERNAL))),
        r#"{"error":{"code":100,"message":"internal server error"}}"#
    );
    assert_eq!(text(encode_error(&ApiError::CONFLICT)), r#"{"code":113,"message":"conflict"}"#);
    assert_eq!(
        [100, 102, 104, 107, 108, 112, 113]
            .map(|code| ApiError { code, ..ApiError::INTERNAL }.status()),
        [500, 404, 404, 400, 400, 416, 409]
    );
}

#[test]
fn requests_show_the_key() {
    for (x_api_key, authorization, query, is_let_in) in [
        (Some("k"), None, None, true),
        (None, Some("apikey k"), None, true),
        (None, Some("ApiKey  k"), None, true),
        (None, None, Some("k"), true),
        (Some("x"), None, Some("k"), true),
        (Some("x"), Some("apikey k"), None, false),
        (Some("x"), None, None, false),
        (None, Some("Bearer k"), None, false),
        (None, Some("apikey k k"), None, false),
        (None, None, Some(""), false),
        (None, None, None, false),
    ] {
        assert_eq!(
            is_authorized("k", x_api_key, authorization, query),
            is_let_in,
            "{x_api_key:?} {authorization:?} {query:?}"
        );
    }
    assert!(!is_authorized("", Some(""), None, Some("")), "without a key nobody is let in");
}

#[test]
fn namespaces_say_what_the_api_may_ask() {
    let file = json!({"channel": {"namespaces": [
        {"name": "ns", "presence": true, "history_size": 2, "history_ttl": "1m", "publication_data_format": "json", "channel_regex": "^a$"},
        {"name": "maps", "subscription_type": "map"}
    ]}});
    let options = load(file.to_string().as_bytes(), &[]).expect("a configuration").options;
    let publication = |data: &[u8], skip_history| super::Publication {
        data: data.to_vec(),
        skip_history,
        ..Default::default()
    };
    let publish = |channel: &str, data: &[u8]| {
        check::publish(&options, channel, &publication(data, false))
            .map(|plan| plan.history.is_some())
            .map_err(|error| error.code)
    };
    assert_eq!(publish("ns:anything", b"1"), Ok(true), "names of the API need not match");
    assert_eq!(publish("a", b"1"), Ok(false));
    assert_eq!(publish("ns:a", b"{"), Err(107));
    assert_eq!(publish("a", b""), Err(107));
    assert_eq!(publish("", b"1"), Err(107));
    assert_eq!(publish("no:a", b"1"), Err(102));
    assert_eq!(publish("maps:a", b"1"), Err(108));
    assert!(
        check::publish(&options, "ns:a", &publication(b"1", true))
            .expect("a plan")
            .history
            .is_none()
    );
    assert_eq!(check::presence(&options, "ns:a").map(|_| ()).map_err(|error| error.code), Ok(()));
    assert_eq!(check::presence(&options, "a").map(|_| ()).map_err(|error| error.code), Err(108));
    assert_eq!(check::history(&options, "a").map(|_| ()).map_err(|error| error.code), Err(108));
    assert_eq!(check::history(&options, "").map(|_| ()).map_err(|error| error.code), Err(107));
    assert_eq!(check::unsubscribe(&options, ""), Ok(()));
    assert_eq!(check::unsubscribe(&options, "no:a").map_err(|error| error.code), Err(102));
}
