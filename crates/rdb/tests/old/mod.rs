//! The encodings that Redis no longer writes, made by hand.

/// A length in the form of the file.
pub(crate) fn len(n: usize) -> Vec<u8> {
    match n {
        0..64 => vec![n as u8],
        64..16384 => (n as u16 | 1 << 14).to_be_bytes().to_vec(),
        _ => [&[0x80][..], &(n as u32).to_be_bytes()].concat(),
    }
}

/// A string.
pub(crate) fn string(b: &[u8]) -> Vec<u8> {
    [&len(b.len())[..], b].concat()
}

/// A ziplist; what reads as an integer becomes one of the shortest form.
pub(crate) fn ziplist(items: &[&[u8]]) -> Vec<u8> {
    let mut body = Vec::new();
    let (mut before, mut tail) = (0usize, 10);
    for item in items {
        let from = body.len();
        tail = 10 + from;
        match before {
            0..254 => body.push(before as u8),
            n => {
                body.push(254);
                body.extend_from_slice(&(n as u32).to_le_bytes());
            }
        }
        let int = std::str::from_utf8(item).ok().and_then(|t| t.parse::<i64>().ok());
        match int.filter(|n| n.to_string().as_bytes() == *item) {
            Some(n @ 0..=12) => body.push(0xf1 + n as u8),
            Some(n) => {
                let (head, width) = match n {
                    -0x80..=0x7f => (0xfe, 1),
                    -0x8000..=0x7fff => (0xc0, 2),
                    -0x80_0000..=0x7f_ffff => (0xf0, 3),
                    -0x8000_0000..=0x7fff_ffff => (0xd0, 4),
                    _ => (0xe0, 8),
                };
                body.push(head);
                body.extend_from_slice(&n.to_le_bytes()[..width]);
            }
            None => {
                match item.len() {
                    n @ 0..64 => body.push(n as u8),
                    n @ 64..16384 => body.extend_from_slice(&(n as u16 | 0x4000).to_be_bytes()),
                    n => {
                        body.push(0x80);
                        body.extend_from_slice(&(n as u32).to_be_bytes());
                    }
                }
                body.extend_from_slice(item);
            }
        }
        before = body.len() - from;
    }
    let mut out = ((body.len() + 11) as u32).to_le_bytes().to_vec();
    out.extend_from_slice(&(tail as u32).to_le_bytes());
    out.extend_from_slice(&(items.len() as u16).to_le_bytes());
    out.extend_from_slice(&body);
    out.push(0xff);
    out
}

/// A zipmap; every value has some unused bytes behind it.
pub(crate) fn zipmap(pairs: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut out = vec![pairs.len() as u8];
    let len = |out: &mut Vec<u8>, n: usize| match n {
        0..254 => out.push(n as u8),
        n => {
            out.push(254);
            out.extend_from_slice(&(n as u32).to_le_bytes());
        }
    };
    for (field, value) in pairs {
        len(&mut out, field.len());
        out.extend_from_slice(field);
        len(&mut out, value.len());
        out.push(3);
        out.extend_from_slice(value);
        out.extend_from_slice(b"???");
    }
    out.push(0xff);
    out
}

/// A listpack.
pub(crate) fn listpack(items: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.extend_from_slice(&(items.len() as u16).to_le_bytes());
    for item in items {
        data::packed::Item::of(item).encode(&mut out);
    }
    out.push(0xff);
    let total = out.len() as u32;
    out[..4].copy_from_slice(&total.to_le_bytes());
    out
}

/// A payload: a value with version and checksum.
pub(crate) fn payload(kind: u8, value: &[&[u8]], version: u16) -> Vec<u8> {
    let mut out = vec![kind];
    value.iter().for_each(|v| out.extend_from_slice(v));
    out.extend_from_slice(&version.to_le_bytes());
    let crc = rdb::crc64(0, &out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

/// Payloads of encodings that no Redis 7.0 writes, and what they are.
pub(crate) fn payloads() -> Vec<(Vec<u8>, &'static str)> {
    let long = vec![b'x'; 300];
    let longer = vec![b'y'; 20_000];
    let items: Vec<&[u8]> = vec![
        b"a",
        b"0",
        b"12",
        b"13",
        b"-1",
        b"127",
        b"-128",
        b"300",
        b"-32768",
        b"32768",
        b"-8388608",
        b"8388608",
        b"2147483648",
        b"-9223372036854775808",
        b"",
        &long,
        b"b",
        &longer,
        b"c",
    ];
    let few = string(&ziplist(&items[..14]));
    let ttl = |n: i64| n.to_le_bytes();
    let id = |ms: u64, seq: u64| [ms.to_be_bytes(), seq.to_be_bytes()].concat();
    let entries = listpack(&[
        b"2", b"1", b"1", b"f", b"0", // live, deleted, fields
        b"2", b"0", b"0", b"v", b"4", // the same fields
        b"3", b"0", b"1", b"gone", b"4", // deleted
        b"0", b"5", b"7", b"2", b"g", b"1", b"h", b"2", b"8", // other fields
    ]);
    let stream =
        [&len(1)[..], &string(&id(1000, 1)), &string(&entries), &len(2), &len(1005), &len(8)]
            .concat();
    let group = |version: u8| {
        let mut out = [&len(1)[..], &string(b"group"), &len(1000), &len(1)].concat();
        if version >= 2 {
            out.extend(len(1));
        }
        out.extend([&len(1)[..], &id(1000, 1), &ttl(77), &len(3)].concat());
        out.extend([&len(1)[..], &string(b"consumer"), &ttl(5)].concat());
        if version >= 3 {
            out.extend(ttl(6));
        }
        out.extend([&len(1)[..], &id(1000, 1)].concat());
        out
    };
    let about = [len(1000), len(1), len(1000), len(2), len(9)].concat();
    vec![
        (
            payload(10, &[&few], 6),
            "list listpack: a 0 12 13 -1 127 -128 300 -32768 32768 -8388608 \
          8388608 2147483648 -9223372036854775808",
        ),
        (
            payload(10, &[&string(&ziplist(&items[14..]))], 6),
            "list quicklist:  \
          xxxxxxxxxxxxxxxxxxxx… 300 …xxxx b yyyyyyyyyyyyyyyyyyyy… 20000 …yyyy c",
        ),
        (
            payload(14, &[&len(3), &few, &string(&ziplist(&[])), &string(&ziplist(&[b"z"]))], 7),
            "list listpack: a 0 12 13 -1 127 -128 300 -32768 32768 -8388608 8388608 2147483648 \
          -9223372036854775808 z",
        ),
        (
            payload(1, &[&len(3), &string(b"a"), &[0xc0, 0xfe], &string(b"2")], 1),
            "list listpack: a -2 2",
        ),
        (
            payload(2, &[&len(3), &string(b"a"), &[0xc1, 0x39, 5], &string(b"7")], 1),
            "set listpack: 1337 7 a",
        ),
        (payload(2, &[&len(2), &string(b"30"), &[0xc1, 0x39, 5]], 1), "set intset: 1337 30"),
        (
            payload(
                11,
                &[&string(&[4, 0, 0, 0, 2, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 1, 0, 0, 0])],
                6,
            ),
            "set intset: -2 1",
        ),
        (payload(20, &[&string(&listpack(&[b"b", b"a", b"1"]))], 11), "set listpack: 1 a b"),
        (
            payload(
                3,
                &[
                    &len(4),
                    &string(b"a"),
                    b"\x031.5",
                    &string(b"b"),
                    &[254],
                    &string(b"c"),
                    &[255],
                    &string(b"d"),
                    b"\x17-1.0000000000000001e+30",
                ],
                1,
            ),
            "zset listpack: c=-inf d=-1000000000000000200000000000000 a=1.5 b=inf",
        ),
        (
            payload(12, &[&string(&ziplist(&[b"a", b"-1", b"b", b"1.5", b"c", b"inf"]))], 6),
            "zset listpack: a=-1 b=1.5 c=inf",
        ),
        (payload(12, &[&string(&ziplist(&[b"b", b"2", b"a", b"1"]))], 6), "zset listpack: a=1 b=2"),
        (
            payload(13, &[&string(&ziplist(&[b"f", b"v", b"1", b"-7"]))], 6),
            "hash listpack: 1=-7 f=v",
        ),
        (
            payload(9, &[&string(&zipmap(&[(b"f", b"v"), (b"12", b""), (b"g", &[b'w'; 260])]))], 1),
            "hash hashtable: 12= f=v g=wwwwwwwwwwwwwwwwwwww… 260 …wwww",
        ),
        (
            payload(
                22,
                &[
                    &len(2),
                    &len(0),
                    &string(b"f"),
                    &string(b"v"),
                    &len(9000),
                    &string(b"g"),
                    &string(b"w"),
                ],
                12,
            ),
            "hash listpackex: f=v g=w@9000",
        ),
        // Valkey 9 gives the same number to something else; the version says which it is.
        (
            payload(
                22,
                &[
                    &len(2),
                    &string(b"f"),
                    &string(b"v"),
                    &[0xff; 8],
                    &string(b"g"),
                    &string(b"w"),
                    &ttl(9000),
                ],
                80,
            ),
            "hash listpackex: f=v g=w@9000",
        ),
        (
            payload(
                24,
                &[
                    &ttl(9000),
                    &len(3),
                    &len(0),
                    &string(b"f"),
                    &string(b"v"),
                    &len(11),
                    &string(b"g"),
                    &string(b"w"),
                    &len(1),
                    &string(b"h"),
                    &string(b"x"),
                ],
                12,
            ),
            "hash listpackex: f=v g=w@9010 h=x@9000",
        ),
        (
            payload(23, &[&string(&listpack(&[b"g", b"w", b"9000", b"f", b"v", b"0"]))], 12),
            "hash listpackex: f=v g=w@9000",
        ),
        (
            payload(
                25,
                &[&ttl(9000), &string(&listpack(&[b"g", b"w", b"9000", b"f", b"v", b"0"]))],
                12,
            ),
            "hash listpackex: f=v g=w@9000",
        ),
        (
            payload(15, &[&stream, &group(1)], 9),
            "stream stream: 1000-1 f=v 1005-8 g=1 h=2 last \
          1005-8 deleted 0-0 added 2 group last 1000-1 read Some(1) group consumer consumer \
          1000-1 77 3",
        ),
        (
            payload(19, &[&stream, &about, &group(2)], 10),
            "stream stream: 1000-1 f=v 1005-8 g=1 h=2 \
          last 1005-8 deleted 1000-2 added 9 group last 1000-1 read Some(1) group consumer \
          consumer 1000-1 77 3",
        ),
        (
            payload(21, &[&stream, &about, &group(3)], 11),
            "stream stream: 1000-1 f=v 1005-8 g=1 h=2 \
          last 1005-8 deleted 1000-2 added 9 group last 1000-1 read Some(1) group consumer \
          consumer 1000-1 77 3",
        ),
    ]
}
