//! Random commands, most of them valid, over few keys, so that they meet. Their answers depend only
//! on the commands before them. No LCS: it is quadratic, and the values grow.

use stdx::rng::Rng;

/// Shapes of commands: `K` is a key, `V` a value, `I` an integer, `W` an option word; the rest
/// stands for itself. Some are wrong on purpose.
const SHAPES: &[&str] = &[
    "get K",
    "get K",
    "get K",
    "set K V",
    "set K V",
    "set K I",
    "set K V W",
    "set K V W I",
    "set K V W W I",
    "setnx K V",
    "setex K I V",
    "psetex K I V",
    "getset K V",
    "getdel K",
    "getex K W I",
    "getex K",
    "mget K K K",
    "mset K V K V",
    "mset K V K",
    "msetnx K V K V",
    "append K V",
    "strlen K",
    "getrange K I I",
    "substr K I I",
    "setrange K I V",
    "incr K",
    "decr K",
    "incrby K I",
    "decrby K I",
    "incrbyfloat K I",
    "getbit K I",
    "setbit K I 1",
    "bitcount K",
    "del K",
    "del K K K",
    "unlink K K",
    "exists K K K",
    "touch K K",
    "expire K I",
    "pexpire K I W",
    "expireat K I",
    "persist K",
    "ttl K",
    "pttl K",
    "pexpiretime K",
    "type K",
    "rename K K",
    "renamenx K K",
    "copy K K REPLACE",
    "move K 1",
    "object encoding K",
    "dbsize",
    "select 1",
    "select 0",
    "swapdb 0 1",
    "ping",
    "ping V",
    "echo V",
    "client setname V",
    "client getname",
    "client reply on",
    "client no-touch W",
    "client W",
    "hello 3",
    "hello 2",
    "auth V",
    "get",
    "get K K",
    "nosuch K V",
    "W K V I",
];

const WORDS: &[&str] =
    &["EX", "px", "NX", "xx", "GET", "KEEPTTL", "gt", "lt", "PERSIST", "ON", "off", "oops", "EXAT"];
const INTEGERS: &[&str] =
    &["0", "1", "-1", "2", "10", "100", "5000000000", "9223372036854775807", "1.5", "x"];

/// One command.
pub(crate) fn command(rng: &mut Rng) -> Vec<Vec<u8>> {
    let shape = SHAPES[rng.index(SHAPES.len())];
    let word = |w: &str, rng: &mut Rng| -> Vec<u8> {
        match w {
            "K" => format!("key:{}", rng.below(12)).into_bytes(),
            "V" => value(rng),
            "I" => {
                // Offsets of SETRANGE and SETBIT make strings: keep the large ones rare.
                let few = if rng.below(20) == 0 { INTEGERS.len() } else { 6 };
                INTEGERS[rng.index(few)].into()
            }
            "W" => WORDS[rng.index(WORDS.len())].into(),
            other => other.into(),
        }
    };
    shape.split(' ').map(|w| word(w, rng)).collect()
}

fn value(rng: &mut Rng) -> Vec<u8> {
    let len = match rng.below(400) {
        0 => 70_000,
        1..20 => 300,
        _ => rng.index(20),
    };
    match rng.below(3) {
        0 => rng.below(1000).to_string().into_bytes(),
        1 => b"value-".repeat(len / 6 + 1),
        _ => {
            let mut bytes = vec![0; len];
            rng.fill(&mut bytes);
            bytes
        }
    }
}
