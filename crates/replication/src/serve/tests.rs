//! What replicas say, and what comes of it.

use std::net::Ipv4Addr;

use stdx::rng::Rng;

use super::*;

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn say(r: &mut Replica, line: &str) -> Answer {
    let args: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    r.replconf(&args, 1000, 5000)
}

fn error(text: &str) -> Answer {
    Answer::Error(text.into())
}

#[test]
fn a_handshake_fills_the_line_of_info() {
    let mut r = Replica::default();
    assert_eq!(r.name(PEER), "127.0.0.1:<unknown-replica-port>");
    assert_eq!(say(&mut r, "listening-port 7001"), Answer::Ok);
    assert_eq!(say(&mut r, "capa eof capa psync2 capa rdb-channel-repl"), Answer::Ok);
    assert!(r.eof && r.psync2);
    assert_eq!(say(&mut r, "version 8.1.2"), Answer::Ok);
    assert!(!r.wants_valkeys_form());
    assert_eq!(say(&mut r, "version 9.1.2"), Answer::Ok);
    assert!(r.wants_valkeys_form());
    // An Apus says what it can read, and reads both forms.
    let apus = format!("capa apus-{} version 9.0.0", "a".repeat(40));
    let mut other = Replica::default();
    assert_eq!(say(&mut other, &apus), Answer::Ok);
    assert!(!other.wants_valkeys_form() && !Replica::default().wants_valkeys_form());
    assert_eq!((r.info(PEER, 0), r.role(PEER)), (None, None));
    r.state = Some(State::WaitStart);
    assert_eq!(
        r.info(PEER, 9000).as_deref(),
        Some("ip=127.0.0.1,port=7001,state=wait_bgsave,offset=0,lag=0")
    );
    let line = r.put_online(2000, &r.name(PEER));
    assert_eq!(line.as_deref(), Some("Synchronization with replica 127.0.0.1:7001 succeeded"));
    assert_eq!(say(&mut r, "ack 268"), Answer::Acknowledged { start_stream: false });
    assert_eq!(
        r.info(PEER, 6999).as_deref(),
        Some("ip=127.0.0.1,port=7001,state=online,offset=268,lag=1")
    );
    assert_eq!(r.role(PEER), Some(["127.0.0.1", "7001", "268"].map(String::from)));
    say(&mut r, "ip-address fe80::1");
    assert_eq!(r.name(PEER), "[fe80::1]:7001");
    // What a connection announces must not make lines of INFO.
    r.replconf(&[b"ip-address", b"a\r\nrole:slave"], 0, 0);
    assert_eq!(r.address(PEER), "a??role:slave");
}

#[test]
fn wrong_options_have_redis_errors_and_those_in_front_hold() {
    let mut r = Replica::default();
    let not_integer = "ERR value is not an integer or out of range";
    assert_eq!(say(&mut r, "listening-port"), error("ERR syntax error"));
    assert_eq!(say(&mut r, "listening-port x"), error(not_integer));
    assert_eq!(say(&mut r, "rdb-only x"), error(not_integer));
    let range = "ERR value is out of range, value must between 0 and 1";
    assert_eq!(say(&mut r, "rdb-only 2"), error(range));
    assert_eq!(
        say(&mut r, "listening-port 7 foo 1"),
        error("ERR Unrecognized REPLCONF option: foo")
    );
    assert_eq!(r.port, 7);
    let long = "a".repeat(256);
    assert_eq!(
        say(&mut r, &format!("ip-address {long}")),
        error("ERR REPLCONF ip-address provided by replica instance is too long: 256 bytes")
    );
    assert_eq!(say(&mut r, &format!("ip-address {}", &long[1..])), Answer::Ok);
    assert_eq!(say(&mut r, "version 9.1"), error("ERR Unrecognized version format: 9.1"));
    assert_eq!(
        say(&mut r, "rdb-filter-only keys"),
        error("ERR Unsupported rdb-filter-only option: keys")
    );
    assert_eq!(say(&mut r, "rdb-filter-only \"x"), error("ERR Missing rdb-filter-only values"));
    assert_eq!(r.replconf(&[], 0, 0), Answer::Ok);
}

#[test]
fn redis_cli_asks_for_functions_only() {
    let mut r = Replica::default();
    assert_eq!(say(&mut r, "rdb-only 1 rdb-filter-only functions"), Answer::Ok);
    assert_eq!((r.exclude_data, r.exclude_functions), (true, false));
    let refused = Admission::Refuse("ERR Filtered replica requires EOF capability");
    assert_eq!(r.admit(Server::default(), false), refused);
    say(&mut r, "capa eof");
    assert_eq!(r.admit(Server::default(), false), Admission::Go);
    assert_eq!(r.put_online(0, "x"), None);
    assert_eq!((r.info(PEER, 0), r.is_online()), (None, false));
    r.replconf(&[b"rdb-filter-only", b""], 0, 0);
    assert!(r.exclude_data && r.exclude_functions);
}

#[test]
fn acknowledgements_count_from_replicas_only_and_never_beyond_what_was_sent() {
    let mut r = Replica::default();
    assert_eq!(say(&mut r, "ack 5"), Answer::Silent);
    r.state = Some(State::WaitEnd);
    r.stream_on_ack = true;
    assert_eq!(say(&mut r, "ACK 5"), Answer::Acknowledged { start_stream: false });
    r.state = Some(State::Online);
    assert_eq!(say(&mut r, "ack 7 fack 6"), Answer::Acknowledged { start_stream: true });
    assert_eq!(say(&mut r, "ack 6 fack 5"), Answer::Acknowledged { start_stream: false });
    assert_eq!((r.ack(), r.fack()), (7, 6));
    say(&mut r, "ack 1001 fack 1001");
    assert_eq!((r.ack(), r.fack()), (7, 6));
    assert_eq!(say(&mut r, "ack x"), Answer::Silent);
    assert_eq!(say(&mut r, "ack 8 fack x"), Answer::Silent);
    assert_eq!(say(&mut r, "getack *"), Answer::GetAck);
}

#[test]
fn a_silent_replica_times_out_when_it_is_online() {
    let mut r = Replica { state: Some(State::WaitEnd), ..Replica::default() };
    assert!(!r.is_timed_out(0, 1_000_000, 60_000));
    r.put_online(1000, "x");
    assert!(!r.is_timed_out(0, 61_000, 60_000));
    assert!(r.is_timed_out(0, 61_001, 60_000));
    // An empty line while it loads.
    assert!(!r.is_timed_out(1001, 61_001, 60_000));
    r.heard(61_001);
    assert!(!r.is_timed_out(0, 61_002, 60_000));
    r.pre_psync = true;
    assert!(!r.is_timed_out(0, u64::MAX, 60_000));
}

#[test]
fn whether_a_connection_may_synchronize() {
    let r = Replica::default();
    let replica = Server { is_replica: true, ..Server::default() };
    let refused = "NOMASTERLINK Can't SYNC while not connected with my master";
    assert_eq!(r.admit(replica, true), Admission::Refuse(refused));
    let chained = Server { link_is_up: true, ..replica };
    assert_eq!(r.admit(chained, false), Admission::Go);
    assert_eq!(
        r.admit(chained, true),
        Admission::Refuse("ERR SYNC and PSYNC are invalid with pending output")
    );
    let failing = Server { fails_over: true, ..Server::default() };
    assert_eq!(
        r.admit(failing, false),
        Admission::Refuse("NOMASTERLINK Can't SYNC while failing over")
    );
    let online = Replica { state: Some(State::Online), ..Replica::default() };
    assert_eq!(online.admit(failing, true), Admission::Ignore);
    let own = ReplId::parse(&[b'a'; 40]).expect("an id");
    assert_eq!(failover_request(&[b'A'; 40], own, true), Ok(()));
    assert!(failover_request(&[b'A'; 40], own, false).is_err());
    assert!(failover_request(&[b'b'; 40], own, true).is_err());
}

#[test]
fn no_words_make_it_panic() {
    let mut rng = Rng::from_seed(23);
    let words = [
        "ack",
        "fack",
        "getack",
        "capa",
        "listening-port",
        "ip-address",
        "rdb-only",
        "version",
        "rdb-filter-only",
        "functions",
        "*",
        "-1",
        "0",
        "1",
        "9223372036854775807",
        "1.2.3",
        "\"",
    ];
    for _ in 0..20_000 {
        let state = (rng.index(2) == 0).then_some(State::Online);
        let mut r = Replica { state, ..Replica::default() };
        let args: Vec<&[u8]> =
            (0..rng.index(7)).map(|_| words[rng.index(words.len())].as_bytes()).collect();
        r.replconf(&args, 1000, 0);
        assert!(r.ack() <= 1000 && r.fack() <= 1000);
    }
}
