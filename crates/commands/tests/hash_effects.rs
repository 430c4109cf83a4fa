//! The effects that the commands of hashes note, and the removal of fields whose time is over.

mod harness;

use harness::Server;
use harness::effects::{check, effects, run};
use transcript::{Reply, format};

#[test]
fn changes_of_fields() {
    check(&["HSET h a 1 b 2"], "2 new@0:h hset@0:h");
    check(&["HSET h a 1", "HSETNX h a 2"], "0");
    check(&["HSET h a 1", "HSETNX h b 2"], "1 hset@0:h");
    check(&["HSET h a 1", "HINCRBY h a 2"], "1 hincrby@0:h");
    check(&["HSET h a 1", "HINCRBYFLOAT h a 2.5"], "1 hincrbyfloat@0:h as HSET h a 3.5");
    check(
        &["HSET h a 1", "HEXPIRE h 9 FIELDS 1 a", "HINCRBYFLOAT h a 2.5"],
        "1 hincrbyfloat@0:h as HSETEX h KEEPTTL FIELDS 1 a 3.5",
    );
    check(&["HSET h a 1 b 2 c 3", "HDEL h a x b"], "2 hdel@0:h");
    check(&["HSET h a 1 b 2", "HDEL h a b"], "2 hdel@0:h del@0:h");
    check(&["HSET h a 1", "HDEL h x"], "0");
    check(&["HSET h a 1 b 2", "HGETDEL h FIELDS 2 x a"], "1 hdel@0:h as HDEL h a");
    check(&["HSET h a 1", "HGETDEL h FIELDS 1 a"], "1 hdel@0:h del@0:h as HDEL h a");
}

#[test]
fn deadlines_of_fields() {
    let set = "HSET h a 1 b 2";
    for (line, journal) in [
        ("HEXPIRE h 10 FIELDS 2 a x", "HPEXPIREAT h NOW+10000 FIELDS 1 a"),
        ("HPEXPIRE h 10 NX FIELDS 1 a", "HPEXPIREAT h NOW+10 FIELDS 1 a"),
        ("HEXPIREAT h 33177117420 FIELDS 1 a", "HPEXPIREAT h 33177117420000 FIELDS 1 a"),
        ("HGETEX h PX 10 FIELDS 2 a x", "HPEXPIREAT h NOW+10 FIELDS 1 a"),
    ] {
        check(&[set, line], &format!("1 hexpire@0:h as {journal}"));
    }
    for line in
        ["HEXPIRE h 0 FIELDS 2 a x", "HPEXPIREAT h 1 FIELDS 1 a", "HGETEX h EX 0 FIELDS 1 a"]
    {
        check(&[set, line], "1 hdel@0:h as HDEL h a");
    }
    check(&[set, "HPEXPIREAT h 1 FIELDS 2 a b"], "2 hdel@0:h del@0:h as HDEL h a b");
    check(&[set, "HEXPIRE h 10 GT FIELDS 1 a"], "0");
    check(&[set, "HPERSIST h FIELDS 1 a"], "0");
    let timed = "HEXPIRE h 10 FIELDS 1 a";
    check(&[set, timed, "HPERSIST h FIELDS 2 a b"], "1 hpersist@0:h as HPERSIST h FIELDS 1 a");
    check(
        &[set, timed, "HGETEX h PERSIST FIELDS 2 a b"],
        "1 hpersist@0:h as HPERSIST h FIELDS 1 a",
    );
    check(&[set, timed, "HGETEX h FIELDS 2 a b"], "0");
    check(
        &[set, "HSETEX h FXX PX 10 FIELDS 2 a 3 b 4"],
        "2 hset@0:h hexpire@0:h as HSETEX h PXAT NOW+10 FIELDS 2 a 3 b 4",
    );
    check(&[set, "HSETEX h KEEPTTL FIELDS 1 a 3"], "1 hset@0:h");
    check(&[set, "HSETEX h FNX FIELDS 1 a 3"], "0");
    check(&[set, "HSETEX h EXAT 1 FIELDS 1 a 3"], "1 hset@0:h hdel@0:h as HDEL h a");
}

/// A hash of a (overdue) and b in database 0, as each of the encodings.
fn overdue() -> [Server; 2] {
    [510, 10].map(|limit| {
        let mut server = Server::new();
        server.cx.small.hash_max_listpack_value = limit;
        run(&mut server, "HSET h a 1 b 22222222222");
        run(&mut server, "HEXPIRE h 1 FIELDS 1 a");
        server.cx.set_now(server.cx.now + 1001);
        server
    })
}

#[test]
fn fields_whose_time_is_over_are_not_there() {
    for (line, answer, said) in [
        ("HGET h a", "(nil)", "0 -0:h.a hexpired@0:h"),
        ("HMGET h b a", "1) \"22222222222\"\n2) (nil)", "0 -0:h.a hexpired@0:h"),
        ("HEXISTS h a", "(integer) 0", "0 -0:h.a hexpired@0:h"),
        ("HSTRLEN h a", "(integer) 0", "0 -0:h.a hexpired@0:h"),
        ("HINCRBY h a 5", "(integer) 5", "1 -0:h.a hexpired@0:h hincrby@0:h"),
        ("HINCRBYFLOAT h a 5", "\"5\"", "1 -0:h.a hexpired@0:h hincrbyfloat@0:h as HSET h a 5"),
        ("HSETNX h a 5", "(integer) 1", "1 -0:h.a hexpired@0:h hset@0:h"),
        ("HSET h a 5", "(integer) 1", "1 hset@0:h"),
        ("HGETALL h", "1) \"b\"\n2) \"22222222222\"", "0"),
        ("HKEYS h", "1) \"b\"", "0"),
        ("HVALS h", "1) \"22222222222\"", "0"),
        ("HSCAN h 0 NOVALUES", "1) \"0\"\n2) 1) \"b\"", "0"),
        ("HRANDFIELD h", "\"b\"", "0 -0:h.a hexpired@0:h"),
        ("HTTL h FIELDS 2 a b", "1) (integer) -2\n2) (integer) -1", "0"),
        ("HPERSIST h FIELDS 1 a", "1) (integer) -2", "0"),
        ("HEXPIRE h 10 FIELDS 1 a", "1) (integer) -2", "0 -0:h.a hexpired@0:h"),
        ("HGETDEL h FIELDS 1 a", "1) (nil)", "0 -0:h.a hexpired@0:h"),
        ("HGETEX h EX 10 FIELDS 1 a", "1) (nil)", "0 -0:h.a hexpired@0:h"),
        ("HSETEX h FXX FIELDS 1 a 1", "(integer) 0", "0 -0:h.a hexpired@0:h"),
        ("HSETEX h KEEPTTL FIELDS 1 a 1", "(integer) 1", "1 -0:h.a hexpired@0:h hset@0:h"),
    ] {
        for mut server in overdue() {
            let reply = run(&mut server, line);
            assert_eq!(format(&reply).trim_end(), answer, "{line}");
            assert_eq!(effects(&server), said, "{line}");
            assert_eq!(server.cx.counters.expired_subkeys, said.contains("hexpired").into());
        }
    }
    // The key is deleted with its last field.
    for mut server in overdue() {
        run(&mut server, "HDEL h b");
        assert_eq!(run(&mut server, "HLEN h"), Reply::Integer(1));
        run(&mut server, "HGET h a");
        assert_eq!(effects(&server), "0 -0:h.a hexpired@0:h del@0:h");
        assert_eq!(run(&mut server, "EXISTS h"), Reply::Integer(0));
    }
    // While writes are paused, reads see the same and remove nothing.
    for mut server in overdue() {
        server.cx.keep_expired = true;
        for (line, answer) in [("HGET h a", Reply::Nil), ("HLEN h", Reply::Integer(2))] {
            assert_eq!(run(&mut server, line), answer);
            assert_eq!(effects(&server), "0");
        }
        assert_eq!(format(&run(&mut server, "HRANDFIELD h 5")).trim_end(), "1) \"b\"");
    }
}
