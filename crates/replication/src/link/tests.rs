//! Handshakes recorded from real servers, cut at every byte, and primaries that misbehave.

use stdx::rng::Rng;

use super::*;
use crate::eof;
use crate::history::ReplId;

/// What a link reported, with neighbouring bytes put together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    events: Vec<String>,
    rdb: Vec<u8>,
    stream: Vec<u8>,
}

impl Seen {
    fn note(&mut self, event: Event<'_>) {
        match event {
            Event::Rdb(bytes) => self.rdb.extend_from_slice(bytes),
            Event::Stream(bytes) => self.stream.extend_from_slice(bytes),
            other => self.events.push(format!("{other:?}")),
        }
    }

    fn failure(&self) -> Option<&str> {
        self.events.iter().find_map(|e| e.strip_prefix("Failed("))
    }
}

fn settings() -> Settings {
    Settings { port: 7001, timeout_ms: 60_000, why_full: "it is new", ..Settings::default() }
}

fn id(c: u8) -> ReplId {
    ReplId::parse(&[c; 40]).expect("an id")
}

/// Hands `pieces` to a link that loads at once. Returns what it saw and what it said.
fn run<'a>(settings: &Settings, pieces: impl Iterator<Item = &'a [u8]>) -> (Seen, Vec<u8>) {
    let (mut link, mut seen, mut said) =
        (Link::new(settings.clone(), 0), Seen::default(), Vec::new());
    for piece in pieces {
        let mut rest = piece;
        loop {
            let taken = link.receive(rest, 0, &mut |e| seen.note(e));
            rest = &rest[taken..];
            link.loaded(0);
            if rest.is_empty() || link.state() == State::Failed {
                break;
            }
        }
        said.append(link.output());
        if link.state() == State::Failed {
            // What a dead link had still to say depends on the cut, and is not sent.
            said.clear();
        }
        assert!(link.line.capacity() <= 2 * LINE_MAX);
    }
    (seen, said)
}

fn cut_everywhere(settings: &Settings, bytes: &[u8]) -> (Seen, Vec<u8>) {
    let whole = run(settings, [bytes].into_iter());
    for at in 1..bytes.len() {
        let cut = run(settings, [&bytes[..at], &bytes[at..]].into_iter());
        assert!(cut == whole, "cut at {at}: {cut:?} instead of {whole:?}");
    }
    assert_eq!(run(settings, bytes.chunks(1)), whole);
    whole
}

/// What Redis 7.0.15 answered to a replica, diskless, with one key.
const REDIS_7: &[u8] = b"+PONG\r\n+OK\r\n+OK\r\n\n+FULLRESYNC 35fe77177aae9fc36529cefb555ae8ace648849b 0\r\n\
    \n$EOF:f3627176c194495dbc5d9b9d4b091a7c82ba6d34\r\nREDIS0010\xfa\tredis-ver\x067.0.15\xfa\n\
    redis-bits\xc0@\xfa\x05ctime\xc2\xcc\x8d\x03k\xfa\x08used-mem\xc2h4\x0f\x00\xfa\x0erepl-stream-db\
    \xc0\x00\xfa\x07repl-id(35fe77177aae9fc36529cefb555ae8ace648849b\xfa\x0brepl-offset\xc0\x00\xfa\
    \x08aof-base\xc0\x00\xfe\x00\xfb\x01\x00\x00\x01a\xc0\x01\xff\xf6\xcd\xe2\x9d\xa8\xd7\xbc\xed\
    f3627176c194495dbc5d9b9d4b091a7c82ba6d34\
    *2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$1\r\n1\r\n";

/// What a replica of Redis 7.0.15 said in its handshake, with a user and a password.
const REPLICA_7: &[u8] = b"*1\r\n$4\r\nPING\r\n*3\r\n$4\r\nAUTH\r\n$3\r\nusr\r\n$2\r\npw\r\n\
    *3\r\n$8\r\nREPLCONF\r\n$14\r\nlistening-port\r\n$5\r\n51381\r\n\
    *5\r\n$8\r\nREPLCONF\r\n$4\r\ncapa\r\n$3\r\neof\r\n$4\r\ncapa\r\n$6\r\npsync2\r\n\
    *3\r\n$5\r\nPSYNC\r\n$1\r\n?\r\n$2\r\n-1\r\n*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$3\r\n100\r\n";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_full_copy_from_redis_7_cut_at_every_byte() {
    let (seen, said) = cut_everywhere(&settings(), REDIS_7);
    assert_eq!(
        seen.events,
        [
            "Log(Notice, \"Master replied to PING, replication can continue...\")",
            "Log(Notice, \"Partial resynchronization not possible (no cached master)\")",
            "Log(Notice, \"Full resync from master: 35fe77177aae9fc36529cefb555ae8ace648849b:0\")",
            "Log(Notice, \"A full copy is needed: it is new\")",
            "FullResync { id: 35fe77177aae9fc36529cefb555ae8ace648849b, offset: 0 }",
            "Log(Notice, \"MASTER <-> REPLICA sync: receiving streamed RDB from master with EOF\")",
            "RdbBegin { bytes: None }",
            "RdbEnd",
        ]
    );
    assert!(seen.rdb.starts_with(b"REDIS0010") && seen.rdb.ends_with(b"\xa8\xd7\xbc\xed"));
    assert_eq!((seen.rdb.len(), seen.stream.len()), (182, 50));
    assert!(text(&said).ends_with("*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$1\r\n0\r\n"));
}

#[test]
fn a_copy_of_known_length_ends_after_its_bytes() {
    let bytes = [
        b"+PONG\r\n+OK\r\n+OK\r\n+FULLRESYNC ".as_slice(),
        &[b'a'; 40],
        b" 100\r\n$5\r\nREDIS*1\r\n$4\r\nPING\r\n",
    ]
    .concat();
    let (seen, _) = cut_everywhere(&settings(), &bytes);
    assert_eq!(seen.rdb, b"REDIS");
    assert_eq!(seen.stream, b"*1\r\n$4\r\nPING\r\n");
    assert!(seen.events.contains(&"RdbBegin { bytes: Some(5) }".to_owned()));
}

#[test]
fn a_replica_says_what_redis_7_says() {
    let settings = Settings {
        user: Some(b"usr".to_vec()),
        password: Some(b"pw".to_vec()),
        port: 51381,
        ..settings()
    };
    let bytes = [
        b"+PONG\r\n+OK\r\n+OK\r\n+OK\r\n\n+FULLRESYNC ".as_slice(),
        &[b'a'; 40],
        b" 100\r\n$3\r\nrdb",
    ]
    .concat();
    let (_, said) = cut_everywhere(&settings, &bytes);
    assert_eq!(text(&said), text(REPLICA_7));
}

#[test]
fn a_replica_that_has_the_history_goes_on() {
    let settings = Settings {
        resume: Some((id(b'a'), 188)),
        announce_ip: Some(b"10.0.0.1".to_vec()),
        ..settings()
    };
    let bytes =
        [b"+PONG\r\n+OK\r\n+OK\r\n+OK\r\n+CONTINUE ".as_slice(), &[b'b'; 40], b"\r\n123"].concat();
    let (seen, said) = cut_everywhere(&settings, &bytes);
    assert_eq!(seen.stream, b"123");
    assert_eq!(
        seen.events.last().expect("some"),
        &format!("Continue {{ id: Some({}) }}", id(b'b'))
    );
    let asked = format!("*3\r\n$5\r\nPSYNC\r\n$40\r\n{}\r\n$3\r\n188\r\n", id(b'a'));
    let ack = "*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$3\r\n187\r\n";
    assert!(text(&said).ends_with(&(asked + ack)), "{}", text(&said));
    assert!(
        text(&said).contains("*3\r\n$8\r\nREPLCONF\r\n$10\r\nip-address\r\n$8\r\n10.0.0.1\r\n")
    );
    // Without an id the history stays.
    let bytes = b"+PONG\r\n+OK\r\n+OK\r\n+OK\r\n+CONTINUE\r\n";
    let (seen, _) = cut_everywhere(&settings, bytes);
    assert_eq!(seen.events.last().expect("some"), "Continue { id: None }");
}

#[test]
fn every_refusal_has_the_line_that_redis_logs() {
    let with_password = Settings { password: Some(b"pw".to_vec()), ..settings() };
    let full = "+PONG\r\n+OK\r\n+OK\r\n+FULLRESYNC aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1\r\n";
    let long = "x".repeat(LINE_MAX + 1);
    for (settings, bytes, line) in [
        (
            settings(),
            "-LOADING wait\r\n".into(),
            "Error reply to PING from master: '-LOADING wait'",
        ),
        (settings(), "HTTP/1.1 400\r\n".into(), "Error reply to PING from master: 'HTTP/1.1 400'"),
        (settings(), long.clone(), "Bad protocol from MASTER, a line is too long: it begins with"),
        (
            with_password,
            "-NOAUTH x\r\n-WRONGPASS no\r\n".into(),
            "Unable to AUTH to MASTER: -WRONGPASS no",
        ),
        (
            settings(),
            "+PONG\r\n-ERR a\r\n-ERR b\r\n-NOMASTERLINK Can't SYNC while not connected\r\n".into(),
            "Master is currently unable to PSYNC but should be in the future: -NOMASTERLINK Can't SYNC",
        ),
        (
            settings(),
            "+PONG\r\n+OK\r\n+OK\r\n-ERR unknown command\r\n".into(),
            "Master does not support PSYNC or is in error state (reply: -ERR unknown command)",
        ),
        (
            settings(),
            "+PONG\r\n+OK\r\n+OK\r\n-NOAUTH no\r\n".into(),
            "Unexpected reply to PSYNC from master: -NOAUTH no",
        ),
        (
            settings(),
            "+PONG\r\n+OK\r\n+OK\r\n+FULLRESYNC abc 1\r\n".into(),
            "Master replied with wrong +FULLRESYNC syntax.",
        ),
        (
            settings(),
            full.replace(" 1\r", " -1\r"),
            "Master replied with wrong +FULLRESYNC syntax.",
        ),
        (
            settings(),
            full.replace(" 1\r", &format!(" {}\r", i64::MAX)),
            "Master replied with wrong +FULLRESYNC syntax.",
        ),
        (
            settings(),
            "+PONG\r\n+OK\r\n+OK\r\n+CONTINUE\r\n".into(),
            "Master replied +CONTINUE to a",
        ),
        (
            settings(),
            full.to_owned() + "-ERR no disk\r\n",
            "MASTER aborted replication with an error: ERR no disk",
        ),
        (
            settings(),
            full.to_owned() + "REDIS\r\n",
            "Bad protocol from MASTER, the first byte is not '$' (we received 'REDIS'), are you",
        ),
        (settings(), full.to_owned() + "$-1\r\n", "Bad protocol from MASTER"),
        (settings(), full.to_owned() + "$EOF:short\r\n", "Bad protocol from MASTER"),
        (settings(), full.to_owned() + "$99999999999999999999\r\n", "Bad protocol from MASTER"),
    ] {
        let (seen, _) = cut_everywhere_but_long(&settings, bytes.as_bytes());
        let failure = seen.failure().unwrap_or_else(|| panic!("{bytes:?} is accepted: {seen:?}"));
        assert!(failure[1..].starts_with(line), "{failure} instead of {line}");
    }
}

/// The line that names where an endless one began depends on the cut; the failure does not.
fn cut_everywhere_but_long(settings: &Settings, bytes: &[u8]) -> (Seen, Vec<u8>) {
    if bytes.len() > LINE_MAX {
        let whole = run(settings, [bytes].into_iter());
        assert!(run(settings, bytes.chunks(7)).0.failure().is_some());
        return whole;
    }
    cut_everywhere(settings, bytes)
}

#[test]
fn a_silent_primary_is_given_up_in_every_state() {
    let stages: [(&[u8], &str); 4] = [
        (b"", "Timeout connecting to the MASTER..."),
        (b"+PONG\r\n+OK\r\n", "Timeout connecting to the MASTER..."),
        (
            b"+PONG\r\n+OK\r\n+OK\r\n+FULLRESYNC aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1\r\n$9\r\nx",
            "Timeout receiving bulk data from MASTER... If the problem persists",
        ),
        (REDIS_7, "MASTER timeout: no data nor PING received..."),
    ];
    for (bytes, line) in stages {
        let (mut link, mut seen) = (Link::new(settings(), 0), Seen::default());
        let taken = link.receive(bytes, 1000, &mut |e| seen.note(e));
        link.loaded(1000);
        link.receive(&bytes[taken..], 1000, &mut |e| seen.note(e));
        let from = if bytes.is_empty() { 0 } else { 1000 };
        link.tick(from + 60_000, &mut |e| seen.note(e));
        assert_eq!(seen.failure(), None);
        link.tick(from + 60_001, &mut |e| seen.note(e));
        assert!(seen.failure().is_some_and(|f| f[1..].starts_with(line)), "{seen:?}");
        assert_eq!(link.state(), State::Failed);
        let events = seen.events.len();
        link.tick(from + 99_001, &mut |e| seen.note(e));
        link.lost("x", &mut |e| seen.note(e));
        assert_eq!(link.receive(b"+OK\r\n", 0, &mut |e| seen.note(e)), 0);
        assert_eq!(seen.events.len(), events, "a dead link says nothing");
    }
}

#[test]
fn it_acknowledges_once_a_second_and_when_asked() {
    let (mut link, mut seen) = (Link::new(settings(), 0), Seen::default());
    let taken = link.receive(REDIS_7, 0, &mut |e| seen.note(e));
    assert_eq!(taken, REDIS_7.len() - 50, "nothing is taken while the snapshot is loaded");
    assert_eq!(link.state(), State::Loading);
    link.output().clear();
    link.tick(999, &mut |e| seen.note(e));
    assert_eq!(link.output(), b"");
    link.tick(100_000, &mut |e| seen.note(e));
    assert_eq!(link.output(), b"\n", "a replica that loads is alive");
    link.output().clear();
    link.loaded(100_000);
    assert_eq!(text(link.output()), "*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$1\r\n0\r\n");
    link.output().clear();
    link.receive(&REDIS_7[taken..], 100_001, &mut |e| seen.note(e));
    assert_eq!(link.offset(), 50);
    link.tick(100_999, &mut |e| seen.note(e));
    assert_eq!(link.output(), b"");
    link.applied(50, Some(23));
    link.tick(101_000, &mut |e| seen.note(e));
    let ack = "*5\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$2\r\n50\r\n$4\r\nFACK\r\n$2\r\n23\r\n";
    assert_eq!(text(link.output()), ack);
    // A primary that asks without reading does not fill the memory.
    for _ in 0..100_000 {
        link.acknowledge(101_000);
    }
    assert!(link.output().len() < 2 * OUTPUT_MAX);
}

#[test]
fn no_primary_makes_it_panic_or_keep_much() {
    let mut rng = Rng::from_seed(17);
    let words: [&[u8]; 12] = [
        b"+PONG\r\n",
        b"+OK\r\n",
        b"\n",
        b"\r\n",
        b"-ERR x\r\n",
        b"+CONTINUE\r\n",
        b"$5\r\n",
        b"$EOF:",
        b"+FULLRESYNC aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1\r\n",
        b"$EOF:mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm\r\n",
        b"mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm",
        b"$9223372036854775807\r\n",
    ];
    for round in 0..5000 {
        let mut bytes =
            if round % 2 == 0 { b"+PONG\r\n+OK\r\n+OK\r\n".to_vec() } else { Vec::new() };
        for _ in 0..rng.index(12) {
            bytes.extend_from_slice(words[rng.index(words.len())]);
            if rng.index(4) == 0 {
                let mut noise = vec![0; rng.index(100)];
                rng.fill(&mut noise);
                bytes.extend_from_slice(&noise);
            }
        }
        let resume = (rng.index(2) == 0).then(|| (id(b'a'), 1));
        let settings = Settings { resume, ..settings() };
        if bytes.is_empty() {
            continue;
        }
        let n = 1 + rng.index(50);
        let whole = run(&settings, [&bytes[..]].into_iter());
        assert_eq!(run(&settings, bytes.chunks(n)), whole);
    }
}

/// Up to the answer to PSYNC.
const HELLO: &[u8] = b"+PONG\r\n+OK\r\n+OK\r\n";

#[test]
fn the_stream_comes_beside_the_copy_of_redis_8() {
    let settings = Settings { channels: true, ..settings() };
    let stream = b"*1\r\n$4\r\nPING\r\n";
    let bytes = [HELLO, b"+RDBCHANNELSYNC 23\r\n", stream].concat();
    for at in 1..bytes.len() {
        let (mut link, mut seen) = (Link::new(settings.clone(), 0), Seen::default());
        for piece in [&bytes[..at], &bytes[at..]] {
            assert_eq!(link.receive(piece, 0, &mut |e| seen.note(e)), piece.len());
        }
        assert!(text(link.output()).contains("rdb-channel-repl"));
        assert_eq!(seen.events.last().expect("one"), "Beside(Redis(23))");
        assert_eq!((link.state(), &seen.stream[..]), (State::Beside, &stream[..]));
        link.output().clear();
        // It acknowledges nothing before the copy is loaded, and is not given up.
        link.tick(10_000_000, &mut |e| seen.note(e));
        assert_eq!((seen.failure(), &link.output()[..]), (None, &b"\n"[..]));
        link.copied(100, 10_000_000);
        assert_eq!((link.state(), link.offset()), (State::Stream, 100 + stream.len() as i64));
        assert!(text(link.output()).ends_with("ACK\r\n$3\r\n100\r\n"));
    }
}

#[test]
fn valkeys_first_connection_asks_for_the_stream_when_it_is_told_the_position() {
    let settings = Settings { channels: true, ..settings() };
    let (mut link, mut seen) = (Link::new(settings, 0), Seen::default());
    link.receive(&[HELLO, b"+DUALCHANNELSYNC\r\n"].concat(), 0, &mut |e| seen.note(e));
    // Otherwise it sends the form of Redis 7.2, which has not all of its types.
    assert!(text(link.output()).contains("$7\r\nversion\r\n$5\r\n9.0.0\r\n*"));
    assert_eq!(seen.events.last().expect("one"), "Beside(Valkey)");
    link.output().clear();
    link.tick(5000, &mut |e| seen.note(e));
    assert!(link.asks() && link.output().is_empty());
    link.asks_beside(id(b'b'), 100, 7);
    let words = text(link.output());
    assert!(words.contains("set-rdb-client-id\r\n$1\r\n7\r\n"), "{words}");
    assert!(!words.contains("PSYNC"), "{words}");
    link.output().clear();
    link.receive(b"+OK\r\n", 0, &mut |e| seen.note(e));
    let words = text(link.output());
    assert!(words.ends_with(&format!("{}\r\n$3\r\n101\r\n", id(b'b'))), "{words}");
    link.receive(b"+CONTINUE\r\nabc", 0, &mut |e| seen.note(e));
    assert!(!link.asks());
    link.copied(100, 0);
    assert_eq!((link.offset(), &seen.stream[..]), (103, &b"abc"[..]));
}

#[test]
fn a_second_connection_fetches_a_copy_and_nothing_else() {
    let mark = [b'm'; eof::MARK];
    let copy = [b"$EOF:", &mark[..], b"\r\nREDIS", &mark].concat();
    let first =
        |channel| Settings { channel: Some(channel), password: Some(b"pw".to_vec()), ..settings() };
    let full =
        [b"+PONG\r\n+OK\r\n+OK\r\n\n+FULLRESYNC ".as_slice(), &[b'a'; 40], b" 100\r\n\n", &copy]
            .concat();
    let (seen, said) = cut_everywhere(&first(Channel::Redis(23)), &full);
    assert_eq!(seen.rdb, b"REDIS");
    let words = "$8\r\nrdb-only\r\n$1\r\n1\r\n$11\r\nrdb-channel\r\n$1\r\n1\r\n$17\r\nmain-ch-client-id\r\n$2\r\n23";
    assert!(text(&said).contains(words), "{}", text(&said));
    let ends =
        [b"+PONG\r\n+OK\r\n+OK\r\n\n$ENDOFF:100 ".as_slice(), &[b'a'; 40], b" 0 9\r\n", &copy]
            .concat();
    let (seen, said) = cut_everywhere(&first(Channel::Valkey), &ends);
    assert_eq!(seen.rdb, b"REDIS");
    assert!(seen.events.contains(&"EndOffset { number: 9 }".to_owned()));
    assert!(text(&said).contains("*1\r\n$4\r\nSYNC\r\n"));
}

#[test]
fn a_second_connection_that_is_refused_or_offered_another_fails() {
    let id = text(&[b'a'; 40]);
    let answers = [
        (Channel::Redis(1), "-ERR Unrecognized RDB client id: 1\r\n".to_owned()),
        (Channel::Redis(1), "+OK\r\n+RDBCHANNELSYNC 1\r\n".to_owned()),
        (Channel::Redis(1), "+OK\r\n+CONTINUE\r\n".to_owned()),
        (Channel::Valkey, "+OK\r\n+FULLRESYNC\r\n".to_owned()),
        (Channel::Valkey, format!("+OK\r\n$ENDOFF:-1 {id} 0 9\r\n")),
        (Channel::Valkey, format!("+OK\r\n$ENDOFF:1 {id} 0\r\n")),
        (Channel::Valkey, format!("+OK\r\n$ENDOFF:1 {id} 0 9 9\r\n")),
    ];
    for (channel, answer) in answers {
        let settings = Settings { channel: Some(channel), ..settings() };
        let bytes = format!("+PONG\r\n{answer}");
        let (seen, _) = cut_everywhere(&settings, bytes.as_bytes());
        assert!(seen.failure().is_some(), "{answer}: {seen:?}");
    }
    for answer in ["+RDBCHANNELSYNC\r\n", "+RDBCHANNELSYNC x\r\n", "+DUALCHANNELSYNC\r\n+X\r\n"] {
        let bytes = [HELLO, answer.as_bytes()].concat();
        let (seen, _) = cut_everywhere(&settings(), &bytes);
        assert!(seen.failure().is_some(), "{answer}: {seen:?}");
    }
}
