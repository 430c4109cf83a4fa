//! Frames, good and bad, in one piece and in many.

use stdx::rng::Rng;
use websocket::frame::{self, Kind, masked};
use websocket::{Bad, Closing, Decoder, EMPTY_MAX, Message, Side, handshake};

const MASK: [u8; 4] = [1, 2, 0x83, 4];

fn one(kind: Kind, last: bool, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    masked(&mut out, kind, last, MASK, bytes);
    out
}

/// All messages of an input that arrives in pieces of `step` bytes.
fn read(decoder: &mut Decoder, input: &[u8], step: usize) -> Result<Vec<Message>, Bad> {
    let (mut buffer, mut all) = (Vec::new(), Vec::new());
    for piece in input.chunks(step) {
        buffer.extend_from_slice(piece);
        while let Some((n, message)) = decoder.take(&buffer, 100_000)? {
            buffer.drain(..n);
            all.extend(message);
        }
    }
    assert!(buffer.is_empty(), "something is left");
    Ok(all)
}

#[test]
fn messages_arrive_in_any_pieces() {
    let euro = "\u{20ac}".as_bytes();
    let mut input = one(Kind::Text, false, &euro[..1]);
    input.extend(one(Kind::Ping, true, b"p"));
    input.extend(one(Kind::Continuation, false, b""));
    input.extend(one(Kind::Continuation, true, &euro[1..]));
    input.extend(one(Kind::Binary, true, &[7; 125]));
    input.extend(one(Kind::Binary, true, &[7; 126]));
    input.extend(one(Kind::Binary, true, &[7; 70_000]));
    input.extend(one(Kind::Pong, true, b""));
    input.extend(one(Kind::Close, true, b"\x03\xe8bye"));
    for step in [1, 2, 3, 7, 100, 1 << 20] {
        let all = read(&mut Decoder::default(), &input, step).expect("good");
        let expected = [
            Message::Ping(b"p".to_vec()),
            Message::Text(euro.to_vec()),
            Message::Binary(vec![7; 125]),
            Message::Binary(vec![7; 126]),
            Message::Binary(vec![7; 70_000]),
            Message::Pong,
            Message::Close(Some(1000), b"bye".to_vec()),
        ];
        assert!(all == expected, "in steps of {step}");
    }
}

#[test]
fn bad_frames_end_the_connection_with_their_codes() {
    let bad = |bytes: &[u8]| Decoder::default().take(bytes, 3).expect_err("bad").0;
    let first = |byte: u8| [&[byte], &one(Kind::Text, true, b"x")[1..]].concat();
    assert_eq!(bad(&one(Kind::Text, true, b"long")), 1009);
    assert_eq!(bad(&[0x81, 0xff, 0, 0, 0, 1, 0, 0, 0, 0]), 1009, "before the payload is there");
    assert_eq!(bad(&[0x81, 1, b'x']), 1002, "no mask");
    for byte in [0xc1, 0xa1, 0x91, 0x83, 0x87, 0x8b, 0x8f, 0x09, 0x08, 0x80] {
        assert_eq!(bad(&first(byte)), 1002, "{byte:#x}");
    }
    assert_eq!(bad(&[0x89, 0xfe, 0, 126, 1, 2, 3, 4]), 1002, "a long ping");
    assert_eq!(bad(&[0x81, 0xfe, 0, 3, 1, 2, 3, 4]), 1002, "not the shortest length");
    assert_eq!(bad(&[0x81, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff]), 1002, "not the shortest length");
    assert_eq!(bad(&[0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0]), 1002, "the highest bit");
    assert_eq!(bad(&one(Kind::Text, true, b"\xff")), 1007);
    assert_eq!(bad(&one(Kind::Close, true, b"\x03")), 1002, "half a code");
    assert_eq!(bad(&one(Kind::Close, true, b"\x03\xe8\xff")), 1007);
    for code in [0u16, 999, 1004, 1005, 1006, 1015, 2999, 5000] {
        assert_eq!(bad(&one(Kind::Close, true, &code.to_be_bytes())), 1002, "{code}");
    }
    let within = [one(Kind::Text, false, b"a"), one(Kind::Text, true, b"b")].concat();
    assert_eq!(read(&mut Decoder::default(), &within, 99).expect_err("bad").0, 1002);
    let parts = [one(Kind::Text, false, b"ab"), one(Kind::Continuation, true, b"cd")].concat();
    let mut decoder = Decoder::default();
    let (n, _) = decoder.take(&parts, 3).expect("good").expect("whole");
    assert_eq!(decoder.take(&parts[n..], 3).expect_err("bad").0, 1009, "too large in parts");
}

/// Autobahn's cases 9.3 and 9.4 have 65,536 frames of 64 bytes.
#[test]
fn a_message_has_many_frames_but_few_empty_ones() {
    for kind in [Kind::Text, Kind::Binary] {
        let mut input = one(kind, false, b"x");
        input.extend(one(Kind::Continuation, false, b"x").repeat(99_998));
        input.extend(one(Kind::Continuation, false, b"").repeat(EMPTY_MAX as usize));
        let rest = one(Kind::Continuation, true, b"x");
        let all = read(&mut Decoder::default(), &[&*input, &rest].concat(), 4096);
        let all = all.expect("good");
        let [Message::Text(bytes) | Message::Binary(bytes)] = &*all else { panic!("one message") };
        assert_eq!(bytes.len(), 100_000);
        let more = [&*input, &one(Kind::Continuation, false, b"x"), &rest].concat();
        assert_eq!(read(&mut Decoder::default(), &more, 4096).expect_err("bad").0, 1009);
    }
    for first in [b"".as_slice(), b"x"] {
        let mut endless = one(Kind::Text, false, first);
        endless.extend(one(Kind::Continuation, false, b"").repeat(EMPTY_MAX as usize + 1));
        assert_eq!(read(&mut Decoder::default(), &endless, 4096).expect_err("bad").0, 1009);
    }
}

#[test]
fn a_servers_frames_are_read_by_a_client() {
    let mut out = Vec::new();
    frame::text(&mut out, b"hi");
    frame::binary_head(&mut out, 70_000);
    out.extend_from_slice(&[1; 70_000]);
    frame::ping(&mut out, &[2; 200]);
    frame::close(&mut out, 3008, &"\u{20ac}".repeat(60));
    let all = read(&mut Decoder::new(Side::Client), &out, 1000).expect("good");
    assert_eq!(all[0], Message::Text(b"hi".to_vec()));
    assert_eq!(all[2], Message::Ping(vec![2; 125]));
    assert_eq!(all[3], Message::Close(Some(3008), "\u{20ac}".repeat(41).into_bytes()));
    assert_eq!(
        Decoder::new(Side::Client).take(&one(Kind::Text, true, b"x"), 9).expect_err("bad").0,
        1002
    );
}

#[test]
fn random_and_mutated_frames_never_panic() {
    let mut rng = Rng::from_seed(4);
    let mut input = one(Kind::Text, false, b"abc");
    input.extend(one(Kind::Ping, true, b"p"));
    input.extend(one(Kind::Continuation, true, &[b'x'; 300]));
    let mut good = 0;
    for _ in 0..50_000 {
        let mut bytes = input.clone();
        for _ in 0..rng.below(3) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.next_u64() as u8;
        }
        let mut decoder = Decoder::default();
        let mut at = 0;
        while let Ok(Some((n, message))) = decoder.take(&bytes[at..], 1000) {
            assert!(n > 0);
            at += n;
            good += usize::from(message.is_some());
        }
    }
    assert!(good > 20_000, "{good} messages");
}

#[test]
fn handshakes_are_checked() {
    let check = |change: (&str, &'static str)| {
        handshake::check("GET", |name| {
            if name == change.0 {
                return Some(change.1);
            }
            Some(match name {
                "connection" => "keep-alive, Upgrade",
                "upgrade" => "WebSocket",
                "sec-websocket-version" => "13",
                "sec-websocket-key" => "dGhlIHNhbXBsZSBub25jZQ==",
                _ => return None,
            })
        })
    };
    let good = check(("", "")).expect("good");
    assert_eq!((good.accept.as_str(), good.protobuf), ("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", false));
    let good = check(("sec-websocket-protocol", "x, centrifuge-protobuf")).expect("good");
    let mut out = Vec::new();
    good.answer(&mut out);
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(
        text.starts_with("HTTP/1.1 101 ")
            && text.ends_with("\r\nSec-WebSocket-Protocol: centrifuge-protobuf\r\n\r\n")
    );
    assert_eq!(check(("sec-websocket-version", "8")).expect_err("bad").0, 426);
    assert_eq!(check(("sec-websocket-key", "c2hvcnQ=")).expect_err("bad").0, 400);
    assert_eq!(check(("connection", "close")).expect_err("bad").0, 400);
    assert_eq!(check(("upgrade", "h2c")).expect_err("bad").0, 400);
    assert_eq!(handshake::check("POST", |_| None).expect_err("bad").0, 405);
}

#[test]
fn each_side_closes_once() {
    let mut closing = Closing::default();
    assert!(closing.is_open() && closing.receive() && closing.send());
    assert!(!closing.send() && !closing.is_open() && closing.is_done());
    let mut closing = Closing::default();
    assert!(closing.send() && !closing.is_done() && !closing.receive() && closing.is_done());
}

#[test]
fn neighbouring_messages_are_joined() {
    let (mut out, mut is) = (Vec::new(), Vec::new());
    frame::text(&mut out, b"a");
    frame::text(&mut out, &[b'b'; 200]);
    frame::text(&mut out, &[b'c'; 70_000]);
    frame::ping(&mut out, b"p");
    frame::text(&mut out, b"d");
    frame::binary(&mut out, b"e");
    frame::binary(&mut out, b"f");
    frame::close(&mut out, 1000, "x");
    let long = [&b"a\n"[..], &[b'b'; 200], b"\n", &[b'c'; 70_000]].concat();
    frame::text(&mut is, &long);
    frame::ping(&mut is, b"p");
    frame::text(&mut is, b"d");
    frame::binary(&mut is, b"ef");
    frame::close(&mut is, 1000, "x");
    assert!(frame::join(&out) == is);
    assert_eq!(frame::join(b""), b"");
}
