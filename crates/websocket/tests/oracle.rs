//! The crate `tungstenite` reads the same frames: good streams give the same messages, and bad ones end both, after the
//! same messages.

use std::io::{self, Cursor, Read, Write};

use stdx::rng::Rng;
use tungstenite::protocol::{Role, WebSocket, WebSocketConfig};
use websocket::frame::{self, Kind, masked};
use websocket::{Decoder, Message, Side};

const MAX: usize = 2000;

/// Input from memory; what is written is thrown away.
struct Wire(Cursor<Vec<u8>>);

impl Read for Wire {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

impl Write for Wire {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How a stream of frames ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// With its last byte; the last frame may be a part of one.
    Input,
    /// With a closing frame.
    Closed,
    /// With something that is against the protocol.
    Bad,
}

fn ours(side: Side, input: &[u8]) -> (Vec<Message>, End) {
    let (mut decoder, mut at, mut all) = (Decoder::new(side), 0, Vec::new());
    loop {
        match decoder.take(&input[at..], MAX) {
            Ok(Some((n, message))) => {
                at += n;
                all.extend(message);
                if matches!(all.last(), Some(Message::Close(..))) {
                    return (all, End::Closed);
                }
            }
            Ok(None) => return (all, End::Input),
            Err(_) => return (all, End::Bad),
        }
    }
}

fn theirs(role: Role, input: &[u8]) -> (Vec<Message>, End) {
    let config = WebSocketConfig::default().max_message_size(Some(MAX)).max_frame_size(Some(MAX));
    let wire = Wire(Cursor::new(input.to_vec()));
    let mut socket = WebSocket::from_raw_socket(wire, role, Some(config));
    let mut all = Vec::new();
    loop {
        match socket.read() {
            Ok(tungstenite::Message::Text(text)) => {
                all.push(Message::Text(text.as_bytes().to_vec()))
            }
            Ok(tungstenite::Message::Binary(bytes)) => all.push(Message::Binary(bytes.to_vec())),
            Ok(tungstenite::Message::Ping(bytes)) => all.push(Message::Ping(bytes.to_vec())),
            Ok(tungstenite::Message::Pong(_)) => all.push(Message::Pong),
            Ok(tungstenite::Message::Close(frame)) => {
                all.push(match frame {
                    None => Message::Close(None, Vec::new()),
                    Some(f) => Message::Close(Some(f.code.into()), f.reason.as_bytes().to_vec()),
                });
                return (all, End::Closed);
            }
            Ok(tungstenite::Message::Frame(_)) => unreachable!("reading gives no bare frames"),
            Err(tungstenite::Error::Io(_)) => return (all, End::Input),
            Err(tungstenite::Error::Protocol(
                tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
            )) => return (all, End::Input),
            Err(_) => return (all, End::Bad),
        }
    }
}

/// Text of one to four bytes a character.
fn text(rng: &mut Rng, len: usize) -> String {
    (0..len).map(|_| ['a', 'é', '€', '😀'][rng.below(4) as usize]).collect()
}

/// A stream of a client, good in itself: messages in pieces, controls between them.
fn stream(rng: &mut Rng) -> Vec<u8> {
    let mut out = Vec::new();
    let mask = |rng: &mut Rng| (rng.next_u64() as u32).to_ne_bytes();
    for _ in 0..1 + rng.below(4) {
        let len = [0, 1, 30, 125, 126, 300][rng.below(6) as usize];
        let (mut kind, bytes) = match rng.below(2) {
            0 => (Kind::Text, text(rng, len).into_bytes()),
            _ => (Kind::Binary, (0..len).map(|_| rng.next_u64() as u8).collect()),
        };
        let mut rest = &bytes[..];
        for left in (0..1 + rng.below(3)).rev() {
            let n = if left == 0 { rest.len() } else { rng.below(rest.len() as u64 + 1) as usize };
            let (piece, further) = rest.split_at(n);
            rest = further;
            masked(&mut out, kind, left == 0, mask(rng), piece);
            kind = Kind::Continuation;
            match rng.below(8) {
                0 => masked(&mut out, Kind::Ping, true, mask(rng), b"ping"),
                1 => masked(&mut out, Kind::Pong, true, mask(rng), b""),
                _ => {}
            }
        }
    }
    if rng.below(3) == 0 {
        let code = [1000u16, 1001, 3000, 4999][rng.below(4) as usize];
        let mut bytes = code.to_be_bytes().to_vec();
        bytes.extend(text(rng, 5).into_bytes());
        masked(&mut out, Kind::Close, true, mask(rng), &bytes);
    }
    out
}

#[test]
fn good_streams_are_read_alike() {
    let mut rng = Rng::from_seed(21);
    let mut messages = 0;
    for round in 0..20_000 {
        let input = stream(&mut rng);
        let (mine, end) = ours(Side::Server, &input);
        assert_ne!(end, End::Bad, "round {round}");
        assert_eq!(
            (&mine, end),
            (&theirs(Role::Server, &input).0, theirs(Role::Server, &input).1),
            "round {round}"
        );
        messages += mine.len();
    }
    assert!(messages > 40_000, "{messages}");
}

/// Where the two differ, and why that is right: a length that is not the shortest is against the protocol (section
/// 5.2) and not looked at by tungstenite; a closing code that may not be sent is read by tungstenite as 1002 or the
/// like; text that is not UTF-8 ends tungstenite with its fragment, here with its message, after the controls between.
fn may_differ(mine: &(Vec<Message>, End), other: &(Vec<Message>, End)) -> bool {
    let same = mine.0.iter().zip(&other.0).take_while(|(a, b)| a == b).count();
    match (mine.1, other.1) {
        // Refused here only.
        (End::Bad, _) if same == mine.0.len() => true,
        // Both end: only controls may stand between the two ends.
        (_, End::Bad) if same == other.0.len() => mine.0[same..]
            .iter()
            .all(|m| matches!(m, Message::Ping(_) | Message::Pong | Message::Close(..))),
        _ => false,
    }
}

#[test]
fn what_is_bad_ends_both_after_the_same_messages() {
    let mut rng = Rng::from_seed(22);
    let (mut alike, mut bad, mut stricter) = (0, 0, 0);
    for round in 0..60_000 {
        let mut input = stream(&mut rng);
        for _ in 0..1 + rng.below(2) {
            let at = rng.below(input.len() as u64) as usize;
            match rng.below(3) {
                0 => input[at] ^= 1 << rng.below(8),
                1 => input.truncate(at.max(1)),
                _ => input[at] = rng.next_u64() as u8,
            }
        }
        let (mine, other) = (ours(Side::Server, &input), theirs(Role::Server, &input));
        bad += usize::from(mine.1 == End::Bad);
        if mine == other {
            alike += 1;
            continue;
        }
        assert!(
            may_differ(&mine, &other),
            "round {round}: {mine:?} here, {other:?} there: {input:02x?}"
        );
        stricter += usize::from(mine.1 == End::Bad && other.1 != End::Bad);
    }
    assert!(bad > 10_000 && alike > 50_000, "{bad} bad, {alike} alike");
    // Lengths in a longer form, and codes: rare among what is changed at random.
    assert!(stricter < 3000, "{stricter} refused here only");
}

#[test]
fn what_a_server_writes_is_read_by_a_client() {
    let mut rng = Rng::from_seed(23);
    for _ in 0..5000 {
        let mut out = Vec::new();
        for _ in 0..1 + rng.below(5) {
            let len = [0, 1, 125, 126, 500][rng.below(5) as usize];
            match rng.below(4) {
                0 => frame::text(&mut out, &vec![b'x'; len]),
                1 => frame::binary(&mut out, &vec![0xff; len]),
                2 => frame::ping(&mut out, &vec![1; len]),
                _ => frame::pong(&mut out, &vec![1; len]),
            }
        }
        if rng.below(2) == 0 {
            frame::close(&mut out, 3008, &text(&mut rng, 100));
        }
        let (mine, end) = ours(Side::Client, &out);
        assert_ne!(end, End::Bad);
        assert_eq!((mine, end), theirs(Role::Client, &out));
    }
}
