//! Messages, byte for byte as Centrifugo's own package writes and reads them (fixtures/generate made the file).

use live_protocol::{
    Channel, ClientInfo, ConnectResult, Disconnect, Error, Form, HistoryResult, Publication, Push,
    Reply, ReplyResult, SubscribeResult, Unsubscribe, decode_json, decode_protobuf,
    encode_push_json, json_value, sse_event,
};
use stdx::rng::Rng;

const MESSAGES: &str = include_str!("fixtures/messages.txt");

/// The lines of a kind: name, text and bytes.
fn lines(kind: &str) -> impl Iterator<Item = (&'static str, &'static str, Option<Vec<u8>>)> {
    MESSAGES.lines().filter_map(move |line| {
        let [of, name, text, form] =
            line.split('|').collect::<Vec<_>>().try_into().expect("four fields");
        let digit = |b: u8| char::from(b).to_digit(16).expect("a digit") as u8;
        let bytes =
            || form.as_bytes().chunks(2).map(|two| digit(two[0]) << 4 | digit(two[1])).collect();
        (of == kind).then(|| (name, text, (form != "-").then(bytes)))
    })
}

fn info() -> ClientInfo {
    ClientInfo {
        user: "42".into(),
        client: "c-1".into(),
        conn_info: br#"{"name":"Ann"}"#.to_vec(),
        chan_info: b"[1]".to_vec(),
    }
}

fn publication() -> Publication {
    Publication {
        data: br#"{"text":"hi"}"#.to_vec(),
        info: Some(info()),
        offset: 300,
        tags: vec![("k".into(), "v".into())],
        time: 1_700_000_000_000,
        channel: "wild:1".into(),
        ..Publication::default()
    }
}

fn of(data: &[u8]) -> Publication {
    Publication { data: data.to_vec(), ..Publication::default() }
}

fn subscribed() -> SubscribeResult {
    SubscribeResult {
        expires: true,
        ttl: 600,
        recoverable: true,
        epoch: "ab".into(),
        publications: vec![publication(), of(b"2")].into(),
        recovered: true,
        offset: 7,
        positioned: true,
        data: b"null".to_vec(),
        was_recovering: true,
        delta: true,
        id: 5,
    }
}

fn connected() -> ConnectResult {
    ConnectResult {
        client: "c-1".into(),
        version: "6".into(),
        expires: true,
        ttl: 60,
        data: br#"{"a":1}"#.to_vec(),
        subs: vec![("a:1".into(), subscribed())],
        ping: 25,
        pong: true,
        session: "s".into(),
        node: "n".into(),
        time: 1_700_000_000_000,
    }
}

fn reply(name: &str) -> Option<Reply> {
    let small =
        || ConnectResult { client: "c-1".into(), version: "6".into(), ..ConnectResult::default() };
    let escapes =
        "\"\\/\u{8}\u{c}\n\r\t\0\u{1f}\u{7f}<>& \u{e9} \u{20ac} \u{1f600} \u{2028}\u{2029}";
    let (id, result) = match name {
        "error" => (3, ReplyResult::Error(Error::INTERNAL)),
        "connect" => (1, ReplyResult::Connect(Box::new(connected()))),
        "connect_small" => (1, ReplyResult::Connect(Box::new(small()))),
        "subscribe" => (2, ReplyResult::Subscribe(Box::new(subscribed()))),
        "subscribe_small" => (u32::MAX, ReplyResult::Subscribe(Box::default())),
        "unsubscribe" => (4, ReplyResult::Unsubscribe),
        "publish" => (5, ReplyResult::Publish),
        "presence" => (6, ReplyResult::Presence(vec![("c-1".into(), info())])),
        "presence_none" => (6, ReplyResult::Presence(Vec::new())),
        "presence_stats" => (7, ReplyResult::PresenceStats { clients: 2, users: 1 }),
        "presence_zero" => (7, ReplyResult::PresenceStats { clients: 0, users: 0 }),
        "history" => {
            let page = HistoryResult {
                publications: vec![publication()],
                epoch: "ab".into(),
                offset: 1 << 63,
            };
            (8, ReplyResult::History(page))
        }
        "history_none" => (
            8,
            ReplyResult::History(HistoryResult { epoch: "ab".into(), ..HistoryResult::default() }),
        ),
        "rpc" => (9, ReplyResult::Rpc(br#""x""#.to_vec())),
        "rpc_none" => (9, ReplyResult::Rpc(Vec::new())),
        "refresh" => (
            10,
            ReplyResult::Refresh {
                client: "c-1".into(),
                version: "6".into(),
                expires: true,
                ttl: 9,
            },
        ),
        "sub_refresh" => (11, ReplyResult::SubRefresh { expires: true, ttl: 9 }),
        "escapes" => {
            (12, ReplyResult::Error(Error { code: 1, message: escapes.into(), temporary: false }))
        }
        _ => return None,
    };
    Some(Reply { id, result })
}

#[test]
fn replies_are_those_of_centrifugo() {
    let mut seen = 0;
    for (name, text, bytes) in lines("reply") {
        // An empty message is a ping; transports write it.
        let Some(reply) = reply(name) else {
            assert_eq!((name, text), ("ping", "{}"));
            continue;
        };
        let (mut json, mut protobuf) = (Vec::new(), Vec::new());
        reply.encode(Form::Json, &mut json);
        reply.encode(Form::Protobuf, &mut protobuf);
        assert_eq!(String::from_utf8(json).expect("UTF-8"), text, "{name}");
        assert_eq!(Some(protobuf), bytes, "{name}");
        seen += 1;
    }
    assert_eq!(seen, 18);
}

/// Both forms of a push.
fn forms(push: &Push<'_>, channel: Channel<'_>) -> (String, Vec<u8>) {
    let (mut json, mut protobuf) = (Vec::new(), Vec::new());
    push.encode(channel, Form::Json, true, &mut json);
    push.encode(channel, Form::Protobuf, true, &mut protobuf);
    (String::from_utf8(json).expect("UTF-8"), protobuf)
}

#[test]
fn pushes_are_those_of_centrifugo() {
    let leaves = ClientInfo { client: "c-2".into(), ..ClientInfo::default() };
    let sub = SubscribeResult {
        recoverable: true,
        epoch: "ab".into(),
        offset: 9,
        positioned: true,
        data: b"1".to_vec(),
        ..SubscribeResult::default()
    };
    let connect = ConnectResult {
        data: b"1".to_vec(),
        ttl: 2,
        time: 3,
        subs: vec![(
            "a".into(),
            SubscribeResult { recoverable: true, ..SubscribeResult::default() },
        )],
        ..connected()
    };
    let mut seen = 0;
    for (name, text, bytes) in lines("push") {
        let c = Channel::Name("c");
        let nobody = || Some(ClientInfo::default());
        let made = match name {
            "publication" => forms(&Push::Publication(&publication()), "chat:1".into()),
            "publication_id" => forms(&Push::Publication(&publication()), Channel::Id(5)),
            "publication_lines" => {
                // A line end becomes a space here, and nothing there.
                let (json, protobuf) = forms(&Push::Publication(&of(b"{\n\"a\":\n1}")), c);
                assert!(json.contains("{ \"a\": 1}"), "{json}");
                (json.replace("{ \"a\": 1}", "{\"a\":1}"), protobuf)
            }
            "publication_delta" => {
                let p = Publication { delta: true, offset: 2, ..of(br#""1\n""#) };
                let text = Publication { as_text: true, data: b"1\n".to_vec(), ..p.clone() };
                assert_eq!(
                    forms(&Push::Publication(&text), c).0,
                    forms(&Push::Publication(&p), c).0,
                    "a delta as a text"
                );
                forms(&Push::Publication(&p), c)
            }
            "publication_user" => {
                forms(&Push::Publication(&Publication { info: nobody(), ..of(b"0") }), c)
            }
            "join" => forms(&Push::Join(&info()), c),
            "leave" => forms(&Push::Leave(&leaves), c),
            "unsubscribe" => forms(&Push::Unsubscribe(&Unsubscribe::SERVER), c),
            "message" => forms(&Push::Message(b"[]"), "".into()),
            "subscribe" => forms(&Push::Subscribe(&sub), c),
            "connect" => forms(&Push::Connect(&connect), "".into()),
            "disconnect" => forms(&Push::Disconnect(&Disconnect::SLOW), "".into()),
            "refresh" => forms(&Push::Refresh { expires: true, ttl: 100 }, "".into()),
            _ => panic!("{name} is not known"),
        };
        assert_eq!(made.0, text, "{name}");
        assert_eq!(Some(made.1), bytes, "{name}");
        seen += 1;
    }
    assert_eq!(seen, 13);
}

#[test]
fn commands_are_understood_as_centrifugo_understands_them() {
    // A member that comes twice: the last one counts there, and is refused here.
    let stricter = |text: &str| text.matches("\"subscribe\"").count() > 1;
    let mut good = 0;
    for (_, text, bytes) in lines("command") {
        let json = decode_json(text.as_bytes());
        match bytes.filter(|_| !stricter(text)) {
            None => assert_eq!(json, None, "{text}"),
            Some(bytes) => {
                // The file's bytes have the length of the message before it, as in a frame.
                assert_eq!(json, decode_protobuf(&bytes), "{text}");
                assert_eq!(json.expect(text).len(), 1, "{text}");
                good += 1;
            }
        }
    }
    assert_eq!(good, 23);
}

#[test]
fn a_frame_has_several_commands_and_bad_ones_are_refused() {
    let of =
        |text: &[u8]| decode_json(text).map(|all| all.iter().map(|c| c.id).collect::<Vec<_>>());
    assert_eq!(of(b"{\"id\":1,\"ping\":{}}\n{\"id\":2}\n"), Some(vec![1, 2]));
    assert_eq!(of(b"{\"id\":1}\n[]"), None);
    assert_eq!(of(b"{\"id\":1}\n{\"id\":"), None);
    assert_eq!(of(&b"{}".repeat(5000)), None, "too many");
    assert_eq!(of(b"{\"id\":1,\"ping\":\xff}"), None);
    let deep = |n| format!(r#"{{"publish":{{"data":{}{}}}}}"#, "[".repeat(n), "]".repeat(n));
    assert!(of(deep(100_000).as_bytes()).is_none_or(|all| all == [0]), "no stack is used up");
    let nodes = format!(
        r#"{{"subscribe":{{"tf":{}{}}}}}"#,
        r#"{"nodes":["#.repeat(5000),
        "]}".repeat(5000)
    );
    assert_eq!(of(nodes.as_bytes()), None, "filters within filters");
    let of = |bytes: &[u8]| decode_protobuf(bytes).map(|all| all.len());
    assert_eq!(of(&[2, 8, 1, 2, 8, 2]), Some(2));
    for bad in
        [&[3, 8, 1][..], &[0x80], &[1, 8], &[2, 0, 1], &[3, 0x22, 5, 1], &[2, 0x0b, 1], &[0xff; 11]]
    {
        assert_eq!(of(bad), None, "{bad:?}");
    }
    assert_eq!(of(&[0; 5000]), None, "too many");
}

#[test]
fn random_and_mutated_frames_never_panic() {
    let mut rng = Rng::from_seed(3);
    let frames: Vec<(bool, Vec<u8>)> = lines("command")
        .flat_map(|(_, text, bytes)| {
            [Some((true, text.as_bytes().to_vec())), bytes.map(|b| (false, b))]
        })
        .flatten()
        .filter(|(_, frame)| !frame.is_empty())
        .collect();
    let mut good = 0;
    for _ in 0..60_000 {
        let (json, mut frame) = frames[rng.below(frames.len() as u64) as usize].clone();
        for _ in 0..rng.below(4) {
            let at = rng.below(frame.len() as u64) as usize;
            match rng.below(3) {
                0 => frame[at] = rng.next_u64() as u8,
                1 => frame.insert(at, b"\"{}[]:,0\n"[rng.below(9) as usize]),
                _ => frame.truncate(at.max(1)),
            }
        }
        let read = if json { decode_json(&frame) } else { decode_protobuf(&frame) };
        good += usize::from(read.is_some());
        let _ =
            (Publication::of_protobuf(&frame), ClientInfo::of_protobuf(&frame), json_value(&frame));
    }
    assert!(good > 10_000, "{good} were good");
}

#[test]
fn publications_come_back_and_pushes_are_one_line() {
    let p = publication();
    assert_eq!(Publication::of_protobuf(&p.to_protobuf()), Some(p.clone()));
    let long = Publication { data: vec![b'x'; 40_000], ..p };
    assert_eq!(
        Publication::of_protobuf(&long.to_protobuf()),
        Some(long),
        "lengths of several bytes"
    );
    let mut out = Vec::new();
    encode_push_json(&mut out, "c", &of(b"[\r\n1]"));
    assert_eq!(out, br#"{"push":{"channel":"c","pub":{"data":[  1]}}}"#);
    let mut event = Vec::new();
    sse_event(&mut event, &out);
    assert!(event.starts_with(b"data: {") && event.ends_with(b"}\n\n"));
    assert_eq!(&*json_value(b" {\"a\": 1}"), b" {\"a\": 1}");
    assert_eq!(&*json_value(b"hi \"x\""), br#""hi \"x\"""#);
    assert_eq!(&*json_value(b"\xff"), "\"\u{fffd}\"".as_bytes());
    assert_eq!(&*json_value(b""), br#""""#);
}
