//! The parser against examples, every way to cut them, and garbage.

use super::{Limits, Parser};
use crate::value::{ServerError, Value};

fn bulk(text: &str) -> Value {
    Value::Bulk(text.to_owned().into())
}

/// Replies with what they mean: those of the RESP specification's page, and of every type that Redis sends.
fn corpus() -> Vec<(&'static [u8], Value)> {
    vec![
        (b"+OK\r\n", Value::Okay),
        (b"+QUEUED\r\n", Value::Simple("QUEUED".into())),
        (
            b"-ERR unknown command 'asdf'\r\n",
            Value::Error(ServerError::new(b"ERR unknown command 'asdf'")),
        ),
        (b":0\r\n", Value::Int(0)),
        (b":+7\r\n", Value::Int(7)),
        (b":-9223372036854775808\r\n", Value::Int(i64::MIN)),
        (b":9223372036854775807\r\n", Value::Int(i64::MAX)),
        (b"$5\r\nhello\r\n", bulk("hello")),
        (b"$0\r\n\r\n", bulk("")),
        (b"$-1\r\n", Value::Nil),
        (b"*-1\r\n", Value::Nil),
        (b"_\r\n", Value::Nil),
        (b"*0\r\n", Value::Array(vec![])),
        (
            b"*2\r\n$5\r\nhello\r\n$5\r\nwo\r\nd\r\n",
            Value::Array(vec![bulk("hello"), bulk("wo\r\nd")]),
        ),
        (
            b"*2\r\n*1\r\n:1\r\n*0\r\n",
            Value::Array(vec![Value::Array(vec![Value::Int(1)]), Value::Array(vec![])]),
        ),
        (b"#t\r\n", Value::Bool(true)),
        (b"#f\r\n", Value::Bool(false)),
        (b",1.23\r\n", Value::Double(1.23)),
        (b",10\r\n", Value::Double(10.0)),
        (b",-inf\r\n", Value::Double(f64::NEG_INFINITY)),
        (
            b"(3492890328409238509324850943850943825024385\r\n",
            Value::BigNumber("3492890328409238509324850943850943825024385".into()),
        ),
        (
            b"!21\r\nSYNTAX invalid syntax\r\n",
            Value::Error(ServerError::new(b"SYNTAX invalid syntax")),
        ),
        (b"=15\r\ntxt:Some string\r\n", Value::Verbatim(*b"txt", "Some string".into())),
        (
            b"%2\r\n+first\r\n:1\r\n+second\r\n%0\r\n",
            Value::Map(vec![
                (Value::Simple("first".into()), Value::Int(1)),
                (Value::Simple("second".into()), Value::Map(vec![])),
            ]),
        ),
        (b"~2\r\n+a\r\n#t\r\n", Value::Set(vec![Value::Simple("a".into()), Value::Bool(true)])),
        (
            b">2\r\n+message\r\n$1\r\nx\r\n",
            Value::Push(vec![Value::Simple("message".into()), bulk("x")]),
        ),
        // Attributes are left out, in front of a reply and within one.
        (
            b"|1\r\n+ttl\r\n:3600\r\n*2\r\n:1\r\n|1\r\n+a\r\n*1\r\n:9\r\n:2\r\n",
            Value::Array(vec![Value::Int(1), Value::Int(2)]),
        ),
    ]
}

/// Feeds pieces as a connection does: what is left stands in front of what follows.
fn fed(pieces: &[&[u8]]) -> Result<Vec<Value>, crate::Error> {
    let mut parser = Parser::new(Limits::default());
    let (mut buffer, mut values) = (Vec::new(), Vec::new());
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            let (done, value) = parser.parse(&buffer)?;
            buffer.drain(..done);
            match value {
                Some(value) => values.push(value),
                None => break,
            }
        }
    }
    assert!(buffer.is_empty() && parser.is_idle(), "{buffer:?}");
    Ok(values)
}

#[test]
fn every_type_whole_and_in_single_bytes() {
    for (bytes, value) in corpus() {
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(fed(&[bytes]).expect("parsed"), std::slice::from_ref(&value), "{text}");
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(fed(&single).expect("parsed"), [value], "{text}");
    }
}

#[test]
fn a_stream_of_replies_cut_anywhere() {
    let all: Vec<u8> = corpus().iter().flat_map(|(bytes, _)| bytes.to_vec()).collect();
    let values: Vec<Value> = corpus().into_iter().map(|(_, value)| value).collect();
    for cut in 0..all.len() {
        assert_eq!(fed(&[&all[..cut], &all[cut..]]).expect("parsed"), values, "cut at {cut}");
    }
}

#[test]
fn nan_is_a_number() {
    let values = fed(&[b",nan\r\n"]).expect("parsed");
    assert!(matches!(values[..], [Value::Double(n)] if n.is_nan()));
}

#[test]
fn what_is_not_resp_is_an_error() {
    let long_line = [b"+".as_slice(), &[b'x'; 40 << 10]].concat();
    let bad: &[&[u8]] = &[
        b"HTTP/1.1 400 Bad Request\r\n",
        b"\r\n",
        b"+OK\n",
        b":\r\n",
        b":1x\r\n",
        b":9223372036854775808\r\n",
        b":99999999999999999999\r\n",
        b"$-2\r\n",
        b"$x\r\n",
        b"$4294967296\r\n",
        b"$999999999\r\n",
        b"$1\r\nabc",
        b"$1\r\nxyz\r\n",
        b"*-2\r\n",
        b"*9999999999\r\n",
        b"%99999999999\r\n",
        b"#x\r\n",
        b"_x\r\n",
        b",x\r\n",
        b"(\r\n",
        b"(12x\r\n",
        b"=3\r\ntxt\r\n",
        b"=2\r\nab\r\n",
        b"*1\r\n>1\r\n:1\r\n",
        b"$?\r\n",
        b"*?\r\n",
        b"\0",
        &long_line,
    ];
    for bytes in bad {
        let error =
            fed(&[bytes]).expect_err(&String::from_utf8_lossy(&bytes[..bytes.len().min(40)]));
        assert_eq!(error.kind(), crate::ErrorKind::Protocol);
    }
}

#[test]
fn limits_hold() {
    let limits = Limits { depth_max: 3, string_bytes_max: 10, reply_bytes_max: 60 };
    let parse = |bytes: &[u8]| Parser::new(limits).parse(bytes).map(|(_, value)| value.is_some());
    assert!(parse(b"*1\r\n*1\r\n*1\r\n:1\r\n").expect("three deep"));
    assert!(parse(b"*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n").is_err());
    assert!(parse(b"*1\r\n*1\r\n*1\r\n*0\r\n").is_err());
    assert!(parse(b"$10\r\n0123456789\r\n").expect("ten bytes"));
    assert!(parse(b"$11\r\n0123456789x\r\n").is_err());
    assert!(parse(&[b"*20\r\n".as_slice(), &b":1\r\n".repeat(13)].concat()).is_ok());
    assert!(parse(&[b"*20\r\n".as_slice(), &b":1\r\n".repeat(20)].concat()).is_err());
    // Each reply has its own bytes.
    let mut parser = Parser::new(limits);
    for _ in 0..100 {
        assert!(parser.parse(b"$10\r\n0123456789\r\n").expect("parsed").1.is_some());
    }
}

#[test]
fn a_header_alone_takes_no_memory() {
    let mut parser = Parser::new(Limits { depth_max: 64, ..Limits::default() });
    // 64 arrays of four billion elements each.
    for _ in 0..64 {
        assert!(parser.parse(b"*4294967295\r\n").expect("not wrong yet").1.is_none());
    }
    let mut parser = Parser::new(Limits::default());
    assert!(parser.parse(b"$536870912\r\nx").expect("not wrong yet").1.is_none());
    assert!(parser.long.expect("a string").bytes.capacity() < 10_000);
}

#[test]
fn random_garbage_never_panics() {
    let corpus = corpus();
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |n: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % n as u64).expect("small")
    };
    for _ in 0..200_000 {
        let mut bytes = Vec::new();
        for _ in 0..1 + next(3) {
            bytes.extend_from_slice(corpus[next(corpus.len())].0);
        }
        for _ in 0..next(4) {
            let at = next(bytes.len());
            match next(3) {
                0 => bytes[at] = u8::try_from(next(256)).expect("a byte"),
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, b"*$%~>|:-1\r\n"[next(11)]),
            }
        }
        let mut parser = Parser::new(Limits::default());
        let mut rest = &bytes[..];
        while let Ok((done, Some(_))) = parser.parse(rest) {
            rest = &rest[done..];
        }
    }
}
