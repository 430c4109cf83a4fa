//! Requests as attackers send them, and as browsers do.

use http1::conditional::{Part, date, is_unchanged, part};
use http1::target::decode_path;
use http1::{Body, Framing, Head, Limits, Progress, form, head, mime, response};
use stdx::rng::Rng;

fn parse(text: &str) -> Result<Option<Head<'_>>, u16> {
    head::parse(text.as_bytes(), &Limits::default()).map_err(|bad| bad.status)
}

fn get(fields: &str) -> String {
    format!("GET /a HTTP/1.1\r\nHost: x\r\n{fields}\r\n")
}

fn status(text: &str) -> u16 {
    match parse(text) {
        Ok(Some(_)) => 200,
        Ok(None) => 0,
        Err(status) => status,
    }
}

#[test]
fn ordinary_requests_are_read() {
    let text = "\r\nPOST http://Example.com:80/a%20b/c?x=1&y HTTP/1.1\r\nHost: example.com:80\r\n\
                Content-Length: 3\r\nConnection: keep-alive, Close\r\nExpect: 100-continue\r\n\r\nabc";
    let h = parse(text).expect("a good head").expect("a whole one");
    assert_eq!((h.method.name(), &*h.target.path, h.target.query), ("POST", "/a b/c", "x=1&y"));
    assert_eq!((h.host, h.minor, h.keep_alive), ("example.com:80", 1, false));
    assert_eq!((h.framing, h.expects_continue), (Framing::Length(3), true));
    assert_eq!(&text[h.len..], "abc");
    let old = parse("GET / HTTP/1.0\r\n\r\n").expect("good").expect("whole");
    assert!(!old.keep_alive && old.host.is_empty());
    let old = parse("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").expect("good");
    assert!(old.expect("whole").keep_alive);
    assert_eq!(&*parse("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n").unwrap().unwrap().target.path, "*");
}

#[test]
fn a_request_may_come_in_any_pieces() {
    let text = get("Accept: */*\r\n");
    for n in 0..text.len() {
        assert_eq!(status(&text[..n]), 0, "{n}");
    }
    assert_eq!(status(&text), 200);
}

#[test]
fn what_could_end_in_two_places_is_refused() {
    for (fields, wanted) in [
        ("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", 400),
        ("Content-Length: 3\r\nContent-Length: 3\r\n", 400),
        ("Content-Length: 3\r\ncontent-length: 4\r\n", 400),
        ("Content-Length: 3, 3\r\n", 400),
        ("Content-Length: +3\r\n", 400),
        ("Content-Length: 0x3\r\n", 400),
        ("Content-Length: -1\r\n", 400),
        ("Content-Length: 3 4\r\n", 400),
        ("Content-Length:\r\n", 400),
        ("Content-Length: 99999999999999999999\r\n", 400),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Transfer-Encoding: gzip, chunked\r\n", 501),
        ("Transfer-Encoding: xchunked\r\n", 501),
        ("Transfer-Encoding: chunked, identity\r\n", 400),
        ("Transfer-Encoding : chunked\r\n", 400),
        ("Transfer-Encoding\r\n", 400),
        ("X: a\r\n b\r\n", 400),
        ("X: a\r\n\tb\r\n", 400),
        (" X: a\r\n", 400),
        ("X: a\nY: b\r\n", 400),
        ("X: a\rY: b\r\n", 400),
        ("X: a\0b\r\n", 400),
        ("X\0: a\r\n", 400),
        (": a\r\n", 400),
        ("Host: y\r\n", 400),
        ("Expect: 200-ok\r\n", 417),
    ] {
        assert_eq!(status(&get(fields)), wanted, "{fields:?}");
    }
    for (text, wanted) in [
        ("GET /a HTTP/1.1\r\n\r\n", 400),
        ("GET /a HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        ("GET /a HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
        ("GET /a HTTP/1.1\nHost: x\n\r\n\r\n", 400),
        ("GET  /a HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET /a  HTTP/1.1\r\nHost: x\r\n\r\n", 505),
        ("GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", 505),
        ("GET /a HTTP/2.0\r\nHost: x\r\n\r\n", 505),
        ("GET /a\r\nHost: x\r\n\r\n", 400),
        ("CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n", 501),
        ("TRACE / HTTP/1.1\r\nHost: x\r\n\r\n", 501),
        ("GET x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n", 400),
        ("GET * HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n", 400),
        ("GET http:///a HTTP/1.1\r\nHost: \r\n\r\n", 400),
        ("GET http://u@a/ HTTP/1.1\r\nHost: u@a\r\n\r\n", 400),
        ("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("get / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("\x16\x03\x01\x02\0\x01", 400),
    ] {
        assert_eq!(status(text), wanted, "{text:?}");
    }
}

#[test]
fn the_head_is_limited() {
    let long = "a".repeat(9000);
    assert_eq!(status(&format!("GET /{long} HTTP/1.1\r\nHost: x\r\n\r\n")), 414);
    assert_eq!(status(&format!("GET /{long}")), 414);
    assert_eq!(status(&get(&format!("X: {long}{long}\r\n"))), 431);
    assert_eq!(status(&format!("GET / HTTP/1.1\r\nX: {long}{long}")), 431);
    assert_eq!(status(&get(&"X: a\r\n".repeat(64))), 431);
    assert_eq!(status(&get(&"X: a\r\n".repeat(63))), 200);
}

#[test]
fn no_path_leads_out() {
    for path in [
        "/..",
        "/../a",
        "/a/../b",
        "/a/..",
        "/./a",
        "/a/.",
        "/%2e%2e/a",
        "/%2E./a",
        "/.%2e",
        "/..%2f",
        "/a%2fb",
        "/a%2Fb",
        "/a%5c..",
        "/..\\a",
        "/a\\b",
        "/a%00",
        "/%00",
        "/a%0a",
        "/a%7f",
        "/%",
        "/%4",
        "/%zz",
        "/%c0%af",
        "/%c0%ae%c0%ae",
        "/%e0%80%af",
        "/%ff",
        "a",
        "",
        "/%C2%85",
        "/a%2e%2e%2f",
        "/%2f",
    ] {
        assert!(decode_path(path).is_err(), "{path}");
    }
    for (path, decoded) in [
        ("/", "/"),
        ("/a%20b", "/a b"),
        ("/...", "/..."),
        ("/a..b", "/a..b"),
        ("/%c3%a9", "/é"),
        ("/%252e%252e", "/%2e%2e"),
        ("//a", "//a"),
    ] {
        assert_eq!(decode_path(path).as_deref(), Ok(decoded));
    }
    assert_eq!(status("GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
    assert_eq!(status("GET /\u{e9} HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
}

fn chunks(text: &[u8], piece: usize) -> Result<Option<(Vec<u8>, usize)>, u16> {
    let limits = Limits { body_max: 100, ..Limits::default() };
    let mut body = Body::new(Framing::Chunked, &limits).expect("no length is too large yet");
    let mut used = 0;
    for p in text.chunks(piece) {
        let (n, progress) = body.take(p).map_err(|bad| bad.status)?;
        used += n;
        if progress == Progress::Whole {
            return Ok(Some((body.bytes, used)));
        }
        assert_eq!(n, p.len());
    }
    Ok(None)
}

#[test]
fn chunks_are_joined() {
    let text = b"3\r\nabc\r\n0A;x=\"y\"\r\n0123456789\r\n0\r\nX: y\r\n\r\nGET";
    for piece in 1..text.len() {
        let wanted = (b"abc0123456789".to_vec(), text.len() - 3);
        assert_eq!(chunks(text, piece), Ok(Some(wanted)), "{piece}");
    }
    assert_eq!(chunks(b"3\r\nab", 1), Ok(None));
}

#[test]
fn bad_chunks_are_refused() {
    for (text, wanted) in [
        ("\r\n", 400),
        ("g\r\n", 400),
        ("-1\r\n", 400),
        ("+1\r\n", 400),
        (" 1\r\n", 400),
        ("1 \r\n", 400),
        ("0x1\r\n", 400),
        ("1\na\r\n", 400),
        ("1\r\nab", 400),
        ("1\r\na\n0\r\n\r\n", 400),
        ("1\r\na\r0\r\n\r\n", 400),
        ("1;\0\r\n", 400),
        ("1;a\nb\r\n", 400),
        ("000000000\r\n", 400),
        ("100000000\r\n", 413),
        ("ffffffff\r\n", 413),
        ("65\r\n", 413),
        ("0\r\n X: a\r\n\r\n", 400),
        ("0\r\nX: a\n\r\n", 400),
        ("0\r\nX: a\0\r\n\r\n", 400),
        ("0\r\n\n", 400),
    ] {
        assert_eq!(chunks(text.as_bytes(), 1), Err(wanted), "{text:?}");
    }
    assert_eq!(chunks(format!("1;{}\r\n", "a".repeat(300)).as_bytes(), 7), Err(400));
    assert_eq!(chunks(format!("0\r\nX: {}", "a".repeat(5000)).as_bytes(), 7), Err(431));
    let two = "32\r\n".to_owned() + &"a".repeat(50) + "\r\n33\r\n";
    assert_eq!(chunks(two.as_bytes(), 9), Err(413));
}

#[test]
fn bodies_are_limited_by_their_length() {
    let limits = Limits { body_max: 5, ..Limits::default() };
    assert!(Body::new(Framing::Length(6), &limits).is_err());
    assert!(Body::new(Framing::Length(u64::MAX), &limits).is_err());
    let mut body = Body::new(Framing::Length(5), &limits).expect("short enough");
    assert_eq!(body.take(b"abc"), Ok((3, Progress::More)));
    assert_eq!(body.take(b"defg"), Ok((2, Progress::Whole)));
    assert_eq!(body.bytes, b"abcde");
}

#[test]
fn conditions_hold() {
    let at = 784_111_777;
    assert_eq!(date(at), "Sun, 06 Nov 1994 08:49:37 GMT");
    let same = |fields: &str| {
        let text = get(fields);
        is_unchanged(&parse(&text).expect("good").expect("whole"), "\"abc\"", at)
    };
    assert!(same("If-None-Match: \"abc\"\r\n"));
    assert!(same("If-None-Match: \"x\", W/\"abc\"\r\n"));
    assert!(same("If-None-Match: *\r\n"));
    assert!(same("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n"));
    assert!(same("If-Modified-Since: Sunday, 06-Nov-94 08:49:38 GMT\r\n"));
    assert!(!same("If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n"));
    assert!(!same("If-Modified-Since: now\r\n"));
    // The tag decides where there is one.
    assert!(!same("If-None-Match: \"x\"\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n"));
    assert!(!same(""));
}

#[test]
fn ranges_are_parts() {
    let of = |fields: &str| {
        let text = get(fields);
        part(&parse(&text).expect("good").expect("whole"), 100, "\"abc\"", 784_111_777)
    };
    assert_eq!(of("Range: bytes=0-9\r\n"), Part::Bytes(0..10));
    assert_eq!(of("Range: bytes=90-\r\n"), Part::Bytes(90..100));
    assert_eq!(of("Range: bytes=90-999999999999999999999\r\n"), Part::Bytes(90..100));
    assert_eq!(of("Range: bytes=-5\r\n"), Part::Bytes(95..100));
    assert_eq!(of("Range: bytes=-500\r\n"), Part::Bytes(0..100));
    assert_eq!(of("Range: bytes=100-\r\n"), Part::Beyond);
    assert_eq!(of("Range: bytes=-0\r\n"), Part::Beyond);
    for whole in ["bytes=9-0", "bytes=a-", "bytes=0-1,3-4", "lines=0-1", "bytes=", "bytes=-", "x"] {
        assert_eq!(of(&format!("Range: {whole}\r\n")), Part::Whole, "{whole}");
    }
    let if_range = |v: &str| of(&format!("Range: bytes=0-0\r\nIf-Range: {v}\r\n"));
    assert_eq!(if_range("\"abc\""), Part::Bytes(0..1));
    assert_eq!(if_range("Sun, 06 Nov 1994 08:49:37 GMT"), Part::Bytes(0..1));
    assert_eq!(if_range("\"x\""), Part::Whole);
    assert_eq!(if_range("W/\"abc\""), Part::Whole);
}

#[test]
fn forms_and_cookies_are_decoded() {
    let pairs = |text: &str| form::urlencoded(text.as_bytes());
    let own = |list: &[(&str, &str)]| -> form::Pairs {
        list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    };
    assert_eq!(
        pairs("a=1+2&b=%C3%A9&&c&=d&e=%"),
        own(&[("a", "1 2"), ("b", "é"), ("c", ""), ("", "d"), ("e", "%")])
    );
    assert_eq!(form::cookies(b"a=1; b=\"x y\";c; =d"), own(&[("a", "1"), ("b", "x y")]));
}

#[test]
fn forms_of_many_parts_are_read() {
    let body = b"--B\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\nhi\r\n--B\r\n\
        content-disposition: Form-Data; name=f; filename=\"x;y=\\\"1\\\".%22b\\c\"\r\nContent-Type: a/b\r\n\r\n1\r\n\xff\r\n--B--\r\n";
    let of = |body| form::multipart("multipart/form-data; charset=x; boundary=\"B\"", body);
    let parts = of(&body[..]).expect("a good body");
    let seen: Vec<_> = parts
        .iter()
        .map(|p| (&*p.name, p.filename.as_deref(), &*p.content_type, p.bytes))
        .collect();
    let file = Some("x;y=\"1\".\"b\\c");
    assert_eq!(seen, [("t", None, "text/plain", &b"hi"[..]), ("f", file, "a/b", b"1\r\n\xff")]);
    for n in 0..body.len() - 4 {
        assert_eq!(of(&body[..n]), None, "{n}");
    }
    let of_part = |head: &str| {
        let body = format!("--B\r\n{head}\r\n\r\nx\r\n--B--");
        form::multipart("multipart/form-data; boundary=B", body.as_bytes()).map(|p| p.len())
    };
    assert_eq!(of_part("Content-Disposition: form-data; name=a"), Some(1));
    let long = "a".repeat(2000);
    for bad in [
        "X: y".to_owned(),
        "Content-Disposition: form-data".to_owned(),
        "Content-Disposition: attachment; name=a".to_owned(),
        "Content-Disposition: form-data; name=\"a".to_owned(),
        "Content-Disposition: form-data; filename=a".to_owned(),
        format!("Content-Disposition: form-data; name={long}"),
        format!("Content-Disposition: form-data; name=a; filename={long}"),
        format!("X: {long}{long}{long}\r\nContent-Disposition: form-data; name=a"),
    ] {
        assert_eq!(of_part(&bad), None, "{bad}");
    }
    let part = "--B\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n";
    let many = |n: usize| format!("{}--B--", part.repeat(n));
    let count =
        |n| form::multipart("multipart/form-data; boundary=B", many(n).as_bytes()).map(|p| p.len());
    assert_eq!((count(form::PAIRS_MAX), count(form::PAIRS_MAX + 1)), (Some(form::PAIRS_MAX), None));
    for bad in ["multipart/form-data", "multipart/form-data; boundary=", "x; boundary=\"B"] {
        assert_eq!(form::multipart(bad, &body[..]), None);
    }
    // Damage does no harm.
    let mut rng = Rng::from_seed(7);
    for _ in 0..20_000 {
        let mut bad = body.to_vec();
        for _ in 0..1 + rng.below(3) {
            let at = rng.index(bad.len());
            bad[at] = b"\r\n\"\\;=-B:%"[rng.index(10)];
        }
        let _ = form::multipart("multipart/form-data; boundary=B", &bad);
    }
}

#[test]
fn names_have_types_and_clients_have_tastes() {
    assert_eq!(mime::of("/a/b.HTML"), "text/html; charset=utf-8");
    assert_eq!(mime::of("/a.b/c"), mime::BYTES);
    assert!(mime::is_compressible("image/svg+xml") && !mime::is_compressible("image/png"));
    let mut out = Vec::new();
    response::field(&mut out, "X", "a\r\nSet-Cookie: b");
    response::field(&mut out, "X\r\nY", "a");
    assert!(out.is_empty());
}

/// Random damage to good requests: nothing panics, and what is accepted is accepted in pieces, too.
#[test]
fn damaged_requests_do_no_harm() {
    let seeds = [
        get("Content-Length: 5\r\nConnection: close\r\nRange: bytes=1-2\r\n"),
        get("Transfer-Encoding: chunked\r\nCookie: a=b; c\r\nIf-None-Match: \"x\"\r\n"),
        "POST http://x/a%41/../?b=%zz HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
    ];
    let parts: [&[u8]; 12] = [
        b"\r\n",
        b"\n",
        b"\r",
        b"\0",
        b":",
        b" ",
        b"%",
        b"..",
        b"chunked",
        b"\xff",
        b"9",
        b"Host: y\r\n",
    ];
    let mut rng = Rng::from_seed(19);
    let mut accepted = 0;
    for round in 0..60_000usize {
        let mut text = seeds[round % seeds.len()].clone().into_bytes();
        for _ in 0..rng.next_u64() % 4 {
            let at = (rng.next_u64() % text.len() as u64) as usize;
            match rng.next_u64() % 3 {
                0 => text[at] = rng.next_u64() as u8,
                1 => {
                    drop(text.splice(at..at, parts[(rng.next_u64() % 12) as usize].iter().copied()))
                }
                _ => text.truncate(at.max(1)),
            }
        }
        let limits = Limits::default();
        let Ok(Some(h)) = head::parse(&text, &limits) else { continue };
        accepted += 1;
        assert!(!text[..h.len].windows(2).any(|w| w[1] == b'\n' && w[0] != b'\r'));
        assert!(h.target.path.split('/').all(|s| s != ".."), "{:?}", h.target);
        let _ = (part(&h, 10, "\"x\"", 1), is_unchanged(&h, "\"x\"", 1));
        let lengths = h.fields().filter(|(n, _)| n.eq_ignore_ascii_case("content-length")).count();
        let codings =
            h.fields().filter(|(n, _)| n.eq_ignore_ascii_case("transfer-encoding")).count();
        assert!(lengths + codings <= 1);
        let early = h.len - 1;
        assert!(matches!(head::parse(&text[..early], &limits), Ok(None)));
    }
    assert!(accepted > 5000, "{accepted}");
    for _ in 0..20_000 {
        let mut text = b"3\r\nabc\r\nA;x\r\n0123456789\r\n0\r\nX: y\r\n\r\n".to_vec();
        for _ in 0..rng.next_u64() % 3 {
            let at = (rng.next_u64() % text.len() as u64) as usize;
            text[at] = parts[(rng.next_u64() % 12) as usize][0];
        }
        let whole = chunks(&text, text.len());
        assert_eq!(whole, chunks(&text, 1 + (rng.next_u64() % 7) as usize));
    }
}

#[test]
fn the_path_of_a_head_that_is_not_whole() {
    let path = |text: &str| head::early_path(text.as_bytes()).map(str::to_owned);
    for text in ["GET /a/b?c=d", "GET /a/b HTTP/1.1", "\r\nPOST /a/b?", "OPTIONS /a/b "] {
        assert_eq!(path(text).as_deref(), Some("/a/b"), "{text}");
    }
    for text in ["", "GET", "GET ", "GET /a/b", "GET * ", "GET http://x/a/b ", "ABCDEFGHI /a "] {
        assert_eq!(path(text), None, "{text}");
    }
    assert_eq!(head::early_path(b"GET /\xff "), None);
}
