//! Links over a pipe in memory: handshakes, records in parts, sockets that take little, ends, and bad peers.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::path::PathBuf;
use std::rc::Rc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use testing::TempDir;
use transport::{Asks, Check, Client, ClientOptions, Identity, Link, Server, ServerOptions};

struct Files {
    dir: TempDir,
    ca: PathBuf,
}

impl Files {
    fn new() -> (Self, Issuer<'static, KeyPair>) {
        let dir = TempDir::new();
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "Authority");
        let ca = dir.write("ca.crt", params.self_signed(&key).expect("signed").pem());
        (Self { dir, ca }, Issuer::new(params, key))
    }

    /// A certificate with this common name, and its key.
    fn issue(
        &self,
        issuer: &Issuer<'_, KeyPair>,
        name: &str,
        change: impl FnOnce(&mut CertificateParams),
    ) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
        params.distinguished_name.push(DnType::CommonName, name);
        change(&mut params);
        let certificate = params.signed_by(&key, issuer).expect("signed");
        (
            self.dir.write(&format!("{name}.crt"), certificate.pem()),
            self.dir.write(&format!("{name}.key"), key.serialize_pem()),
        )
    }

    fn server(&self, (certificate, key): (PathBuf, PathBuf), asks: Asks) -> ServerOptions {
        ServerOptions {
            certificate,
            key,
            asks,
            authority: Some(self.ca.clone()),
            resume: Some(100),
            resume_seconds: 100,
            ..ServerOptions::default()
        }
    }

    fn client(&self) -> ClientOptions {
        ClientOptions { authority: Some(self.ca.clone()), ..ClientOptions::default() }
    }
}

/// One direction.
#[derive(Default)]
struct Way {
    bytes: VecDeque<u8>,
    room: usize,
    closed: bool,
}

/// One end of a connection.
struct End {
    from: Rc<RefCell<Way>>,
    to: Rc<RefCell<Way>>,
    /// Bytes of one read at most.
    sip: usize,
}

fn pipe(room: usize) -> (End, End) {
    let way = || Rc::new(RefCell::new(Way { room, ..Way::default() }));
    let (a, b) = (way(), way());
    let end = |from: &Rc<_>, to: &Rc<_>| End {
        from: Rc::clone(from),
        to: Rc::clone(to),
        sip: usize::MAX,
    };
    (end(&a, &b), end(&b, &a))
}

impl Read for End {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let mut way = self.from.borrow_mut();
        let n = to.len().min(self.sip);
        match way.bytes.read(&mut to[..n])? {
            0 if way.closed => Ok(0),
            0 => Err(ErrorKind::WouldBlock.into()),
            n => Ok(n),
        }
    }
}

impl Write for End {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let mut way = self.to.borrow_mut();
        let n = from.len().min(way.room.saturating_sub(way.bytes.len()));
        way.bytes.extend(&from[..n]);
        if n == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(n) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Pair {
    server: Link,
    client: Link,
    at_server: End,
    at_client: End,
}

impl Pair {
    fn new(server: &Server, client: &Client, room: usize) -> Self {
        let (at_server, at_client) = pipe(room);
        let server = Link::new(server.session().expect("a session"));
        let client = Link::new(client.session("localhost").expect("a session"));
        Self { server, client, at_server, at_client }
    }

    /// The ends' errors, the client's first.
    fn shake(&mut self) -> (io::Result<bool>, io::Result<bool>) {
        let mut last = (Ok(false), Ok(false));
        for _ in 0..10_000 {
            last.0 = self.client.handshake(&mut self.at_client);
            last.1 = self.server.handshake(&mut self.at_server);
            if !matches!(last, (Ok(false), Ok(_)) | (Ok(_), Ok(false))) {
                break;
            }
        }
        last
    }

    fn open(server: &Server, client: &Client, room: usize) -> Self {
        let mut pair = Self::new(server, client, room);
        assert!(matches!(pair.shake(), (Ok(true), Ok(true))));
        pair
    }
}

fn both() -> (Files, Server, Client) {
    let (files, issuer) = Files::new();
    let server = Server::new(&files.server(files.issue(&issuer, "server", |_| {}), Asks::No));
    let client = Client::new(&files.client());
    (files, server.expect("a server"), client.expect("a client"))
}

/// Writes all of it from the server, whatever little the socket takes, while the client reads.
fn carry(pair: &mut Pair, content: &[u8], pieces: usize) -> Vec<u8> {
    let (mut sent, mut got) = (0, Vec::new());
    let mut buf = vec![0; 7000];
    while got.len() < content.len() {
        if sent < content.len() {
            let part = &content[sent..];
            let cut = part.len().min(pieces.max(1) * 100);
            let io: Vec<IoSlice<'_>> =
                part[..cut].chunks(100).chain([&part[cut..]]).map(IoSlice::new).collect();
            let n = match pieces {
                0 => pair.server.write(&mut pair.at_server, part),
                _ => pair.server.write_pieces(&mut pair.at_server, &io),
            };
            match n {
                Ok(n) => sent += n,
                Err(e) => assert_eq!(e.kind(), ErrorKind::WouldBlock),
            }
        }
        match pair.client.read(&mut pair.at_client, &mut buf) {
            Ok(n) => got.extend_from_slice(&buf[..n]),
            Err(e) => assert_eq!(e.kind(), ErrorKind::WouldBlock),
        }
    }
    assert_eq!(sent, content.len(), "nothing more than that was received");
    got
}

#[test]
fn content_arrives_whole_however_little_the_socket_takes() {
    let (_files, server, client) = both();
    let content: Vec<u8> = (0..1_000_000u32).map(|i| (i * 7 / 3) as u8).collect();
    for (room, sip) in [(usize::MAX, usize::MAX), (1000, 7), (1, 1), (70_000, 3000)] {
        let mut pair = Pair::open(&server, &client, room);
        pair.at_client.sip = sip;
        let part = &content[..content.len().min(room.saturating_mul(30))];
        for pieces in [0, 3, 40] {
            assert!(carry(&mut pair, part, pieces) == part, "room {room}, pieces {pieces}");
        }
        assert!(pair.server.memory() <= 70_000, "{}", pair.server.memory());
    }
}

#[test]
fn a_write_that_is_not_sent_wholly_leaves_a_byte() {
    let (_files, server, client) = both();
    let mut pair = Pair::open(&server, &client, 5000);
    let content = vec![b'x'; 6000];
    let n = pair.server.write(&mut pair.at_server, &content).expect("some");
    assert_eq!(n, 5999, "a caller that has none left would not come again");
    let again = pair.server.write(&mut pair.at_server, &content[n..]);
    assert_eq!(again.expect_err("it is full").kind(), ErrorKind::WouldBlock);
    let mut got = vec![0; 10_000];
    let _ = pair.client.read(&mut pair.at_client, &mut got);
    assert_eq!(pair.server.write(&mut pair.at_server, &content[n..]).expect("room"), 1);
    assert_eq!(pair.client.read(&mut pair.at_client, &mut got).expect("all"), 6000);
}

#[test]
fn an_idle_link_keeps_nothing_and_content_without_room_waits() {
    let (_files, server, client) = both();
    let mut pair = Pair::open(&server, &client, usize::MAX);
    pair.client.write(&mut pair.at_client, &[b'a'; 300]).expect("written");
    let mut small = [0; 100];
    for _ in 0..3 {
        assert_eq!(pair.server.read(&mut pair.at_server, &mut small).expect("some"), 100);
    }
    assert!(!pair.server.has_more());
    assert_eq!(pair.server.memory(), 0);
    pair.client.write(&mut pair.at_client, b"look").expect("written");
    for _ in 0..2 {
        assert_eq!(pair.server.peek(&mut pair.at_server, &mut small).expect("some"), 4);
        assert!(pair.server.has_more());
    }
    assert_eq!(pair.server.read(&mut pair.at_server, &mut small).expect("some"), 4);
    assert_eq!(&small[..4], b"look");
}

#[test]
fn ends_with_and_without_a_word() {
    let (_files, server, client) = both();
    let mut pair = Pair::open(&server, &client, usize::MAX);
    pair.client.write(&mut pair.at_client, b"last").expect("written");
    pair.client.finish(&mut pair.at_client);
    let mut buf = [0; 100];
    assert_eq!(pair.server.read(&mut pair.at_server, &mut buf).expect("content"), 4);
    assert_eq!(pair.server.read(&mut pair.at_server, &mut buf).expect("the end"), 0);
    // Only that direction is closed.
    assert_eq!(pair.server.write(&mut pair.at_server, b"reply").expect("written"), 5);
    assert_eq!(pair.client.read(&mut pair.at_client, &mut buf).expect("content"), 5);
    let mut pair = Pair::open(&server, &client, usize::MAX);
    pair.at_server.from.borrow_mut().closed = true;
    assert_eq!(pair.server.read(&mut pair.at_server, &mut buf).expect("the end"), 0);
    let mut pair = Pair::new(&server, &client, usize::MAX);
    pair.at_server.from.borrow_mut().closed = true;
    let e = pair.server.handshake(&mut pair.at_server).expect_err("it was cut off");
    assert_eq!(e.kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn what_is_no_tls_is_told_from_what_is_wrong() {
    let (_files, server, client) = both();
    for (bytes, plain) in [
        (&b"*1\r\n$4\r\nPING\r\n"[..], true),
        (b"GET / HTTP/1.1\r\n\r\n", true),
        (b"\x16\x03\x01\x00\x05\xff\xff\xff\xff\xff", false),
        (b"\x16\x03\x01\xff\xff\xff\xff\xff\xff\xff", false),
        (b"\x17\x03\x03\x00\x02ab", false),
    ] {
        let mut pair = Pair::new(&server, &client, usize::MAX);
        pair.at_server.from.borrow_mut().bytes.extend(bytes);
        let mut e = pair.server.handshake(&mut pair.at_server);
        if e.as_ref().is_ok_and(|done| !done) {
            e = pair.server.handshake(&mut pair.at_server);
        }
        let e = e.expect_err("this is no handshake");
        let inner = e.get_ref().and_then(|e| e.downcast_ref::<transport::Error>());
        assert_eq!(matches!(inner, Some(transport::Error::NoTls)), plain, "{bytes:?}: {e}");
    }
    // Damage behind the handshake.
    let mut pair = Pair::open(&server, &client, usize::MAX);
    pair.client.write(&mut pair.at_client, b"content").expect("written");
    *pair.at_server.from.borrow_mut().bytes.back_mut().expect("bytes") ^= 1;
    let e = pair.server.read(&mut pair.at_server, &mut [0; 100]).expect_err("it is damaged");
    assert_eq!(e.kind(), ErrorKind::InvalidData);
}

#[test]
fn clients_show_what_they_must() {
    let (files, issuer) = Files::new();
    let (_, other) = Files::new();
    let shown = files.issue(&issuer, "server", |_| {});
    let make = |name: &str, by: &Issuer<'_, KeyPair>, old: bool| {
        files.issue(by, name, |p| {
            if old {
                p.not_after = rcgen::date_time_ymd(2001, 1, 1);
            }
        })
    };
    let clients = [
        ("none", None),
        ("good", Some(make("good", &issuer, false))),
        ("strange", Some(make("strange", &other, false))),
        ("expired", Some(make("expired", &issuer, true))),
    ];
    for (asks, let_in) in [(Asks::Yes, &["good"][..]), (Asks::Optional, &["none", "good"])] {
        let server = Server::new(&files.server(shown.clone(), asks)).expect("a server");
        for (name, certificate) in &clients {
            let options = ClientOptions { certificate: certificate.clone(), ..files.client() };
            let client = Client::new(&options).expect("a client");
            let mut pair = Pair::new(&server, &client, usize::MAX);
            let (_, at_server) = pair.shake();
            assert_eq!(at_server.is_ok(), let_in.contains(name), "{asks:?} {name}");
            let names = pair.server.session().peer_certificate();
            let names = names.map(|c| transport::names_of(c).expect("names").common);
            if at_server.is_ok() && certificate.is_some() {
                assert_eq!(names.as_deref(), Some(&[(*name).to_owned()][..]));
            }
        }
    }
}

#[test]
fn servers_are_checked_as_asked() {
    let (files, issuer) = Files::new();
    let (strangers, _) = Files::new();
    let elsewhere = files.issue(&issuer, "elsewhere", |p| {
        p.subject_alt_names =
            vec![rcgen::SanType::DnsName("other.example".try_into().expect("a name"))];
    });
    let server = Server::new(&files.server(elsewhere, Asks::No)).expect("a server");
    for (check, ca, agrees) in [
        (Check::Authority, &files.ca, true),
        (Check::Name, &files.ca, false),
        (Check::Authority, &strangers.ca, false),
        (Check::Nothing, &strangers.ca, true),
    ] {
        let options = ClientOptions { check, authority: Some(ca.clone()), ..Default::default() };
        let client = Client::new(&options).expect("a client");
        let mut pair = Pair::new(&server, &client, usize::MAX);
        assert_eq!(pair.shake().0.is_ok(), agrees, "{check:?}");
    }
}

#[test]
fn files_that_cannot_be_used_say_why() {
    let (files, issuer) = Files::new();
    let good = files.issue(&issuer, "server", |_| {});
    let other = files.issue(&issuer, "other", |_| {});
    let old = files.issue(&issuer, "old", |p| p.not_after = rcgen::date_time_ymd(2001, 1, 1));
    let junk = files.dir.write("junk", "no certificate");
    let sealed = files.dir.write("sealed.key", SEALED);
    let legacy = files.dir.write(
        "legacy.key",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n",
    );
    let says = |certificate: &PathBuf, key: &PathBuf, password: &str| {
        Identity::read(certificate, key, password).expect_err("it cannot be used").to_string()
    };
    assert!(says(&files.dir.path().join("absent"), &good.1, "").contains("absent: No such file"));
    assert!(says(&junk, &good.1, "").contains("no certificate in it"));
    assert!(says(&good.0, &junk, "").contains("no private key in it"));
    assert!(says(&good.0, &other.1, "").contains("not the key of"));
    assert!(says(&good.0, &sealed, "").contains("protected with a password"));
    assert!(says(&good.0, &sealed, "wrong").contains("cannot be opened"));
    assert!(says(&good.0, &legacy, "secret").contains("openssl pkcs8"));
    // The password opens it; that it is another key shows only then.
    assert!(says(&good.0, &sealed, "secret").contains("not the key of"));
    let old = Identity::read(&old.0, &old.1, "").expect("it can be read");
    assert!(old.check_time().expect_err("old").to_string().contains("has expired on 2001"));
    assert!(Identity::read(&good.0, &good.1, "").expect("good").check_time().is_ok());
}

/// `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -aes-256-cbc -pass pass:secret`
const SEALED: &str = include_str!("sealed.key");

#[test]
fn a_session_is_resumed_once() {
    let (_files, server, client) = both();
    let mut first = Pair::open(&server, &client, usize::MAX);
    // The tickets come behind the handshake.
    let _ = first.client.read(&mut first.at_client, &mut [0; 10]);
    let second = Pair::open(&server, &client, usize::MAX);
    let kind = |link: &Link| format!("{:?}", link.session().resumed());
    assert_eq!(kind(&first.server), "false");
    assert_eq!(kind(&second.server), "true");
}
