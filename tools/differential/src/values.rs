//! The values that patterns have placeholders for.
//!
//! Few keys and few members, so that commands meet; numbers at the edges of what they may be; and
//! now and then something that is not of its kind at all.

use stdx::rng::Rng;

/// Far enough that no test lives to see it: 2100-01-01, in seconds.
const FAR_SECONDS: u64 = 4_102_444_800;

/// Kinds of keys: `$s` draws a key that mostly holds a string, and so on. `$k` draws any.
const KEYS: &[&str] = &["s", "h", "l", "t", "z", "x", "p", "g"];

/// Keys of each kind.
const KEYS_EACH: u64 = 3;

const WORDS: &[&str] =
    &["", "a", "b", "c", "d", "e", "f", "foo", "bar", "Hello", "1", "2", "3", "10", "-5", "3.5"];

const INTEGERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "10",
    "-1",
    "-2",
    "-3",
    "100",
    "-100",
    "255",
    "256",
    "32767",
    "32768",
    "-32769",
    "2147483647",
    "2147483648",
    "-2147483649",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "01",
    "+1",
    " 1",
    "1 ",
    "-0",
    "1.0",
    "",
];

const DOUBLES: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "1.5",
    "-1",
    "-2.25",
    "0.1",
    "3.0e3",
    "1e20",
    "-1e-7",
    "1e300",
    "inf",
    "-inf",
    "+inf",
    "nan",
    "1e400",
    "0x10",
    "17.123456789012345",
    "3.3333333333333335",
    "-0",
    "-0.0",
    "1 ",
    "abc",
    "100000000000000000",
    "4503599627370496.5",
    "5e-324",
    "",
];

/// What DUMP of Redis 7.0 gives for a value of each kind.
const DUMPS: &[&[u8]] = &[
    b"\x00\xc0\x0c\n\x00<*\xf8Q\\\x04\xbc\xd5",
    b"\x00\x05hello\n\x00cr\xdfve4 \n",
    b"\x00\xc3\t@\xc8\x01xx\xe0\xbb\x00\x01xx\n\x00\xaa\x8d\xb4J\n\xd7\x9d\xcd",
    b"\x12\x01\x02\xc3\x17@W\x0fW\x00\x00\x00\x03\x00\x01\x01\x83two\x04\xe0Fx\xe0<\x00\x01H\xff\
      \n\x00\x1at\x81\x9a~\x8f\x83\xea",
    b"\x10\x14\x14\x00\x00\x00\x04\x00\x82f1\x03\x81v\x02\x82f2\x03\x02\x01\xff\n\x00B*\x92\xaf\xf9\
      \xe0W\xae",
    b"\x11\x14\x14\x00\x00\x00\x04\x00\x81a\x02\x01\x01\x81b\x02\x832.5\x04\xff\n\x00\xd4Ln\xa4\
      \xf6D\xd9\xd7",
    b"\x0b\x0e\x02\x00\x00\x00\x03\x00\x00\x00\x01\x00\x02\x00,\x01\n\x00\xe5\x10\xb2\x8e{\x95)\xaa",
    b"\x02\x02\x01b\x01a\n\x00u\xd9\x9d\x83^\xf8_e",
    b"\x13\x01\x10\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x01\x1d\x1d\x00\x00\
      \x00\n\x00\x01\x01\x00\x01\x01\x01\x81f\x02\x00\x01\x02\x01\x00\x01\x00\x01\x81v\x02\x04\x01\
      \xff\x01\x05\x01\x05\x01\x00\x00\x01\x01\x02g1\x00\x00\x81\xff\xff\xff\xff\xff\xff\xff\xff\x00\
      \x00\n\x00\x11\x03d\x18>g\xab4",
];

type Draw = fn(&mut Rng) -> Vec<u8>;

/// Placeholders that are not keys.
const VALUES: &[(&str, Draw)] = &[
    ("v", value),
    ("e", member),
    ("f", |rng| one_of(rng, &["f1", "f2", "f3", "f4", "f5", "f6", "name", "", "a"])),
    ("n", |rng| mostly(rng, |rng| small(rng, -3, 12), INTEGERS)),
    ("i", |rng| mostly(rng, |rng| small(rng, -5, 8), INTEGERS)),
    ("c", |rng| mostly(rng, |rng| small(rng, 0, 6), INTEGERS)),
    // How many of a random choice: Redis repeats a member as often as a negative number says, so
    // that a great one fills the memory of the machine.
    ("some", |rng| {
        let odd = &["-100", "9223372036854775807", "-9223372036854775808", "01", "x", ""];
        mostly(rng, |rng| small(rng, -5, 8), odd)
    }),
    // A count that never draws from a random source: either all or none of what is there.
    ("all", |rng| one_of(rng, &["1000", "100000"])),
    ("d", |rng| mostly(rng, |rng| small(rng, -3, 12), DOUBLES)),
    ("min", bound),
    ("max", bound),
    ("lex", lex),
    ("id", id),
    ("gid", |rng| if rng.below(3) > 0 { b">".to_vec() } else { id(rng) }),
    ("rid", |rng| match rng.below(5) {
        0 => b"-".to_vec(),
        1 => b"+".to_vec(),
        2 => [b"(".to_vec(), id(rng)].concat(),
        _ => id(rng),
    }),
    ("group", |rng| one_of(rng, &["g1", "g1", "g1", "g2", "nogroup"])),
    ("consumer", |rng| one_of(rng, &["c1", "c2", "c3"])),
    ("at", |rng| far(rng, 1)),
    ("pat", |rng| far(rng, 1000)),
    ("bit", |rng| one_of(rng, &["0", "1", "0", "1", "0", "1", "2", "-1", "x"])),
    ("off", |rng| {
        mostly(rng, |rng| small(rng, 0, 300), &["-1", "4294967296", "x", "1000", "4095"])
    }),
    ("field", |rng| {
        let sign = one_of(rng, &["u", "i"]);
        [sign, one_of(rng, &["1", "4", "5", "8", "13", "16", "31", "32", "63", "64", "0", "65"])]
            .concat()
    }),
    ("foff", |rng| {
        let offset = small(rng, 0, 90);
        if rng.below(2) == 0 { offset } else { [b"#".to_vec(), offset].concat() }
    }),
    ("lon", |rng| {
        one_of(rng, &["13.361389", "15.087269", "0", "-122.4", "179.9", "2.35", "181", "x"])
    }),
    ("lat", |rng| one_of(rng, &["38.115556", "37.502669", "0", "37.7", "-85", "48.85", "86", "x"])),
    ("radius", |rng| one_of(rng, &["0", "1", "100", "200", "500.5", "20000", "1e6", "-1", "x"])),
    ("unit", |rng| one_of(rng, &["m", "km", "km", "mi", "ft", "KM", "parsec"])),
    ("glob", |rng| {
        one_of(rng, &["*", "s?", "f*", "[abc]", "h[1-2]", "?", "nothing", "*1", "\\*", ""])
    }),
    ("by", |rng| one_of(rng, &["s*", "h*->f1", "*", "nosort", "w_*", "z1", "s*->x", "h*->"])),
    ("get", |rng| one_of(rng, &["#", "s*", "h*->f1", "h1->*", "nope", "*"])),
    ("dump", |rng| match rng.index(DUMPS.len() + 1) {
        // What is damaged is refused.
        at if at == DUMPS.len() => value(rng),
        at => DUMPS.get(at).map_or_else(Vec::new, |dump| dump.to_vec()),
    }),
    // Scripts that run their arguments as a command, or that return what is converted.
    ("call", |rng| {
        one_of(
            rng,
            &[
                "return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))",
                "return redis.pcall(ARGV[1], KEYS[1], unpack(ARGV, 2))",
                "redis.setresp(3) return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))",
                "local r = redis.pcall(ARGV[1], KEYS[1], unpack(ARGV, 2)) if type(r) == 'table' \
                 then return {type(r), #r, r.err, r.ok, r[1], r[2]} end return {type(r), r}",
                "redis.call('SET', KEYS[1] .. 'x', 1) redis.call('DEL', KEYS[1] .. 'x') \
                 return {redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2)), #ARGV}",
            ],
        )
    }),
    ("made", |rng| {
        one_of(
            rng,
            &[
                "return {1, 2.9, -3.9, 'x', true, false, 'not seen behind nil'}",
                "return {1, nil, 2}",
                "return {{ok='fine'}, {err='ERR mine'}, {1, {2, {}}}}",
                "return {ok='fine', err='both'}",
                "return {double=2.5}",
                "return {map={a=1}}",
                "return {set={a=true}}",
                "return {big_number='123456789012345678901234567890'}",
                "return {verbatim_string={format='txt', string='hi'}}",
                "redis.setresp(3) return {double=2.5}",
                "redis.setresp(3) return {map={a=1}}",
                "return redis.error_reply('ERR mine')",
                "return redis.error_reply('mine')",
                "return redis.status_reply('fine')",
                "return redis.sha1hex(ARGV[1] or '')",
                "return tostring(#KEYS) .. tostring(#ARGV)",
                "return KEYS",
                "return ARGV",
                "return cjson.encode({ARGV[1], #ARGV, 1.5, true})",
                "return cjson.encode(cjson.decode('[1,2.5,\"x\",{\"a\":[]},null]'))",
                "return cmsgpack.unpack(cmsgpack.pack({1, -1, 'x', 2.5, true}))",
                "return struct.unpack('>I2', struct.pack('>I2', 513))",
                "return bit.tohex(bit.bor(1, 256))",
                "return redis.call('NOSUCH')",
                "return redis.call('GET')",
                "return error('oops')",
                "return error({err='ERR thrown'})",
                "return 1e15",
                "return 9007199254740993",
                "return",
                "retur",
                "x = 1",
                "return nosuch",
                "return string.rep('a', 3)",
                "return redis.REPL_ALL",
                "return tostring(1/0)",
                "return 0/0 == 0/0",
                "return tonumber('0x10')",
            ],
        )
    }),
    ("type", |rng| one_of(rng, &["string", "list", "set", "zset", "hash", "stream", "nothing"])),
];

fn one_of(rng: &mut Rng, texts: &[&str]) -> Vec<u8> {
    texts.get(rng.index(texts.len())).unwrap_or(&"").as_bytes().to_vec()
}

fn mostly(rng: &mut Rng, usual: Draw, unusual: &[&str]) -> Vec<u8> {
    if rng.below(8) == 0 { one_of(rng, unusual) } else { usual(rng) }
}

fn small(rng: &mut Rng, from: i64, to: i64) -> Vec<u8> {
    let span = u64::try_from(to - from + 1).unwrap_or(1);
    (from + i64::try_from(rng.below(span)).unwrap_or(0)).to_string().into_bytes()
}

fn value(rng: &mut Rng) -> Vec<u8> {
    match rng.below(12) {
        0..5 => one_of(rng, WORDS),
        5 | 6 => small(rng, -20, 300),
        7 => one_of(rng, INTEGERS),
        8 => one_of(rng, DOUBLES),
        // Bytes, some of which are not text; often the 44 and 45 of embstr and raw.
        9 => {
            let len = match rng.below(4) {
                0 => 44,
                1 => 45,
                _ => rng.index(100),
            };
            (0..len).map(|_| rng.next_u64() as u8).collect()
        }
        10 => vec![b'x'; rng.index(130)],
        // Now and then one that does not fit a small run whatever the thresholds.
        _ if rng.below(10) == 0 => vec![b'L'; 4_000 + rng.index(9_000)],
        _ => vec![b'y'; 60 + rng.index(8)],
    }
}

fn member(rng: &mut Rng) -> Vec<u8> {
    match rng.below(10) {
        0..6 => one_of(rng, &["a", "b", "c", "d", "e", "f", "g", "h", "Palermo", "Catania"]),
        6 | 7 => small(rng, -3, 12),
        _ => value(rng),
    }
}

fn bound(rng: &mut Rng) -> Vec<u8> {
    let number = match rng.below(6) {
        0 => one_of(rng, DOUBLES),
        1 => one_of(rng, &["-inf", "+inf"]),
        _ => small(rng, -3, 12),
    };
    if rng.below(4) == 0 { [b"(".to_vec(), number].concat() } else { number }
}

fn lex(rng: &mut Rng) -> Vec<u8> {
    match rng.below(8) {
        0 => b"-".to_vec(),
        1 => b"+".to_vec(),
        2 => one_of(rng, WORDS),
        3..6 => [b"[".to_vec(), member(rng)].concat(),
        _ => [b"(".to_vec(), member(rng)].concat(),
    }
}

fn id(rng: &mut Rng) -> Vec<u8> {
    match rng.below(12) {
        0 => one_of(rng, &["-", "+", "$", "0", "0-0", "x", "1-", "-1", "1-x", ""]),
        1 => one_of(rng, &["18446744073709551615-18446744073709551615", "18446744073709551616"]),
        2 => small(rng, 0, 20),
        _ => [small(rng, 1, 20), b"-".to_vec(), small(rng, 0, 4)].concat(),
    }
}

/// A deadline: far in the future, in the past, or nonsense; never one that a run could meet.
fn far(rng: &mut Rng, per_second: u64) -> Vec<u8> {
    match rng.below(12) {
        0 => small(rng, 0, 1000),
        1 => one_of(
            rng,
            &["-1", "9223372036854775807", "9223372036854775", "x", "-9223372036854775808"],
        ),
        _ => ((FAR_SECONDS + rng.below(5)) * per_second).to_string().into_bytes(),
    }
}

pub(crate) fn is_known(name: &str) -> bool {
    name == "k"
        || name == "y"
        || KEYS.contains(&name)
        || VALUES.iter().any(|(known, _)| *known == name)
}

/// A value for the placeholder `name`.
pub(crate) fn draw(name: &str, rng: &mut Rng) -> Vec<u8> {
    if let Some((_, draw)) = VALUES.iter().find(|(known, _)| *known == name) {
        return draw(rng);
    }
    // Sorted sets whose members all score the same: what ranges by member give for others is
    // not defined. No other command may store a sorted set there.
    if name == "y" {
        return format!("y{}", rng.below(KEYS_EACH) + 1).into_bytes();
    }
    // One in ten is a key of another type.
    let kind = match KEYS.iter().find(|kind| **kind == name) {
        Some(kind) if rng.below(10) > 0 => *kind,
        _ => KEYS.get(rng.index(KEYS.len())).copied().unwrap_or("s"),
    };
    format!("{kind}{}", rng.below(KEYS_EACH) + 1).into_bytes()
}

/// Anything at all, to put in the place of an argument.
pub(crate) fn anything(rng: &mut Rng) -> Vec<u8> {
    let names = VALUES.len() + 1;
    let name = VALUES.get(rng.index(names)).map_or("k", |(name, _)| name);
    draw(name, rng)
}
