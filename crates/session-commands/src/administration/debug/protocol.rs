//! DEBUG PROTOCOL: a reply of every type there is, for tests of clients. The values are Redis's.

use commands::{Fail, Outcome};
use resp::{Args, Proto, Reply};

pub(super) fn answer(args: &Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    const BIG: &str = "1234567999999999999999999999999999999";
    #[expect(clippy::approx_constant, reason = "it is the text 3.141 that clients compare")]
    const DOUBLE: f64 = 3.141;
    let v3 = reply.proto() == Proto::V3;
    match args[2].to_ascii_lowercase().as_slice() {
        b"string" => reply.bulk("Hello World"),
        b"integer" => reply.int(12345),
        b"double" => reply.double(DOUBLE),
        b"bignum" if v3 => reply.out().buf.extend_from_slice(format!("({BIG}\r\n").as_bytes()),
        b"bignum" => reply.bulk(BIG),
        b"null" => reply.null(),
        b"array" => {
            reply.array(3);
            (0..3).for_each(|n| reply.int(n));
        }
        b"set" => {
            reply.set(3);
            (0..3).for_each(|n| reply.int(n));
        }
        b"map" => {
            reply.map(3);
            for n in 0..3 {
                reply.int(n);
                reply.bool(n == 1);
            }
        }
        b"attrib" => {
            if v3 {
                reply.out().buf.extend_from_slice(b"|1\r\n");
                reply.bulk("key-popularity");
                reply.array(2);
                reply.bulk("key:123");
                reply.int(90);
            }
            // An attribute stands before a reply and is none itself.
            reply.bulk("Some real reply following the attribute");
        }
        b"push" if !v3 => return Err(Fail::text("ERR RESP2 is not supported by this command")),
        b"push" => {
            reply.push(2);
            reply.bulk("server-cpu-usage");
            reply.int(42);
            // Clients take a push aside and go on waiting for a reply.
            reply.bulk("Some real reply following the push reply");
        }
        b"true" => reply.bool(true),
        b"false" => reply.bool(false),
        b"verbatim" => reply.verbatim("txt", "This is a verbatim\nstring"),
        _ => {
            return Err(Fail::text(
                "ERR Wrong protocol type name. Please use one of the following: \
                 string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false",
            ));
        }
    }
    Ok(())
}
