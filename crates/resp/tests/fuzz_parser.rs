//! The incremental parser against one that sees all of the input and remembers nothing: whatever
//! the bytes and however they are cut, the same commands and the same error come out.
//!
//! `APUS_FUZZ_SECONDS` says for how long (default: a few hundred rounds), `APUS_FUZZ_SEED` from
//! where. Only the splitting of inline commands into words is shared (`stdx::split` has tests of
//! its own).

use std::time::{Duration, Instant};

use resp::{Args, Limits, Parsed, Parser};
use stdx::rng::Rng;

const LINE_MAX: usize = 64 * 1024;
/// Arguments from this size on may arrive in a vector of their own.
const BIG: usize = 64 * 1024;

type Command = Vec<Vec<u8>>;
/// The commands in some bytes, and the error that ended them.
type Outcome = (Vec<Command>, Option<String>);

/// What the reference makes of the start of some bytes.
enum Step {
    /// A command (none for an empty line), and where it ends.
    Command(Option<Command>, usize),
    /// More bytes could make it whole.
    Partial,
    Error(String),
}

fn error(text: &str) -> Step {
    Step::Error(format!("Protocol error: {text}"))
}

/// The number in the header line at `at`, and where the line ends.
fn header(bytes: &[u8], at: usize, too_big: &str) -> Result<(Option<i64>, usize), Step> {
    match bytes[at..].iter().position(|b| *b == b'\r') {
        Some(cr) if cr >= LINE_MAX => Err(error(too_big)),
        None if bytes.len() - at >= LINE_MAX => Err(error(too_big)),
        Some(cr) if at + cr + 1 < bytes.len() => {
            let text = std::str::from_utf8(&bytes[at..at + cr]).unwrap_or_default();
            // Only the form that would be printed: no sign, no blank, no leading zero.
            let number = text.parse::<i64>().ok().filter(|n| n.to_string() == text);
            Ok((number, at + cr + 2))
        }
        _ => Err(Step::Partial),
    }
}

fn reference_inline(bytes: &[u8]) -> Step {
    let Some(end) = bytes.iter().take(LINE_MAX + 1).position(|b| *b == b'\n') else {
        return match bytes.len() > LINE_MAX {
            true => error("too big inline request"),
            false => Step::Partial,
        };
    };
    let line = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
    match stdx::split::split_args(line) {
        Ok(words) if words.is_empty() => Step::Command(None, end + 1),
        Ok(words) => Step::Command(Some(words), end + 1),
        Err(_) => error("unbalanced quotes in request"),
    }
}

fn reference_array(bytes: &[u8], limits: &Limits) -> Result<Step, Step> {
    let (count, mut at) = header(bytes, 1, "too big mbulk count string")?;
    let count = match count {
        None => return Err(error("invalid multibulk length")),
        Some(n) if n > i64::from(i32::MAX) => return Err(error("invalid multibulk length")),
        Some(n) if n > 10 && limits.unauthenticated => {
            return Err(error("unauthenticated multibulk length"));
        }
        Some(n) if n <= 0 => return Ok(Step::Command(None, at)),
        Some(n) => n,
    };
    let mut args = Vec::new();
    for _ in 0..count {
        match bytes.get(at) {
            None => return Err(Step::Partial),
            Some(b'$') => {}
            Some(other) => {
                let shown = if (b' '..=b'~').contains(other) { *other as char } else { ' ' };
                return Err(error(&format!("expected '$', got '{shown}'")));
            }
        }
        let (len, start) = header(bytes, at + 1, "too big bulk count string")?;
        let len = match len {
            Some(n) if n >= 0 && n <= limits.bulk_max as i64 => n as usize,
            _ => return Err(error("invalid bulk length")),
        };
        if len > 16384 && limits.unauthenticated {
            return Err(error("unauthenticated bulk length"));
        }
        if bytes.len() < start + len + 2 {
            return Err(Step::Partial);
        }
        args.push(bytes[start..start + len].to_vec());
        at = start + len + 2;
    }
    Ok(Step::Command(Some(args), at))
}

fn reference(mut bytes: &[u8], limits: &Limits) -> Outcome {
    let mut commands = Vec::new();
    while let Some(first) = bytes.first() {
        let step = match first {
            b'*' => reference_array(bytes, limits).unwrap_or_else(|step| step),
            _ => reference_inline(bytes),
        };
        match step {
            Step::Command(command, end) => {
                commands.extend(command);
                bytes = &bytes[end..];
            }
            Step::Partial => break,
            Step::Error(text) => return (commands, Some(text)),
        }
    }
    (commands, None)
}

/// What the parser makes of `bytes` that come in pieces of 1 to `piece_max`.
fn parsed(bytes: &[u8], limits: &Limits, rng: &mut Rng, piece_max: usize) -> Outcome {
    let mut parser = Parser::default();
    let mut commands = Vec::new();
    let mut rest = bytes;
    let mut buf: Vec<u8> = Vec::new();
    let mut piece = |rest: &mut &[u8], max: usize| {
        let (now, later) = rest.split_at((1 + rng.index(piece_max)).min(rest.len()).min(max));
        *rest = later;
        now.to_vec()
    };
    while !rest.is_empty() {
        if let Some((big, missing)) = parser.big() {
            big.extend_from_slice(&piece(&mut rest, missing));
            if parser.big().is_some() {
                continue;
            }
        } else {
            buf.extend_from_slice(&piece(&mut rest, usize::MAX));
        }
        // A batch: several commands of one buffer share the spans and the owned arguments.
        let (mut at, mut spans, mut owned) = (0, Vec::new(), Vec::new());
        let mut ends = Vec::new();
        let goes_on = loop {
            match parser.parse(&buf[at..], at, limits, &mut spans, &mut owned) {
                Parsed::Command(end) => {
                    assert!(end <= buf.len() - at);
                    at += end;
                    ends.push(spans.len());
                }
                Parsed::Nothing(end) => {
                    assert!(end > 0 && end <= buf.len() - at);
                    at += end;
                }
                Parsed::Incomplete => break Ok(true),
                Parsed::Big { at: big } => {
                    assert!(big <= buf.len() - at);
                    break Ok(false);
                }
                Parsed::Error(e) => break Err(e.0),
            }
        };
        assert_eq!(spans.len(), ends.last().copied().unwrap_or(0), "spans of no command");
        let mut from = 0;
        for end in ends {
            commands.push(Args::new(&buf, &spans[from..end], &mut owned).to_vecs(0));
            from = end;
        }
        match goes_on {
            Ok(true) => drop(buf.drain(..at)),
            Ok(false) => buf.clear(),
            Err(text) => return (commands, Some(text)),
        }
        // Memory follows what has come, not what was announced; a span is 8 bytes for at least 6.
        let came = bytes.len() - rest.len();
        assert!(parser.memory() <= 4 * came + (2 << 20), "{} bytes for {came}", parser.memory());
    }
    (commands, None)
}

/// Text that a parser has opinions about.
const PIECES: &[&[u8]] = &[
    b"*",
    b"$",
    b"\r\n",
    b"\r",
    b"\n",
    b"*0\r\n",
    b"*-1\r\n",
    b"*1\r\n",
    b"*2\r\n",
    b"*10\r\n",
    b"*11\r\n",
    b"*2147483647\r\n",
    b"*2147483648\r\n",
    b"$0\r\n\r\n",
    b"$-1\r\n",
    b"$1\r\na\r\n",
    b"$9\r\n",
    b"$10\r\n0123456789\r\n",
    b"$100\r\n",
    b"$16384\r\n",
    b"$16385\r\n",
    b"$70000\r\n",
    b"$100000\r\n",
    b"$100001\r\n",
    b"$536870912\r\n",
    b"$9223372036854775808\r\n",
    b"$01\r\n",
    b"*+1\r\n",
    b"* 1\r\n",
    b"PING\r\n",
    b"GET k\n",
    b"\"",
    b"'",
    b"\\x41",
    b"\\",
    b" ",
    b"\0",
    b"-",
    b"*1\r\n$4\r\nPING\r\n",
    b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n",
];

fn command(rng: &mut Rng, input: &mut Vec<u8>) {
    let count = if rng.below(20) == 0 { rng.index(200) } else { rng.index(6) };
    input.extend_from_slice(format!("*{count}\r\n").as_bytes());
    for _ in 0..count {
        let len = match rng.below(200) {
            0 => BIG - 2 + rng.index(5),
            1 => rng.index(2 * BIG),
            2..10 => rng.index(2000),
            _ => rng.index(15),
        };
        let mut bytes = vec![0; len];
        rng.fill(&mut bytes);
        input.extend_from_slice(format!("${len}\r\n").as_bytes());
        input.extend_from_slice(&bytes);
        input.extend_from_slice(b"\r\n");
    }
}

fn input(rng: &mut Rng) -> Vec<u8> {
    let mut input = Vec::new();
    for _ in 0..rng.index(30) {
        match rng.below(40) {
            0..25 => command(rng, &mut input),
            25..38 => input.extend_from_slice(PIECES[rng.index(PIECES.len())]),
            // A line at, or a little off, the longest.
            38 => {
                input.extend_from_slice([b"*".as_slice(), b"*1\r\n$", b"a"][rng.index(3)]);
                let len = input.len() + LINE_MAX - 3 + rng.index(6);
                input.resize(len, b'1');
                input.extend_from_slice([b"\r\n".as_slice(), b"\n", b""][rng.index(3)]);
            }
            _ => {
                let mut bytes = vec![0; rng.index(50)];
                rng.fill(&mut bytes);
                input.extend_from_slice(&bytes);
            }
        }
    }
    for _ in 0..rng.index(4) {
        let at = rng.index(input.len() + 1);
        match rng.below(4) {
            0 => input.truncate(at),
            1 => drop(input.drain(at..(at + rng.index(20)).min(input.len()))),
            2 if at < input.len() => input[at] = rng.below(256) as u8,
            _ => {
                input.splice(at..at, PIECES[rng.index(PIECES.len())].iter().copied());
            }
        }
    }
    input
}

fn env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn any_bytes_in_any_pieces() {
    let time = env("APUS_FUZZ_SECONDS").map_or(Duration::ZERO, Duration::from_secs);
    let seed =
        env("APUS_FUZZ_SEED").unwrap_or_else(|| Rng::from_os().map_or(1, |mut r| r.next_u64()));
    eprintln!("APUS_FUZZ_SEED={seed}");
    let start = Instant::now();
    let (mut rounds, mut commands, mut errors) = (0u64, 0, 0);
    while rounds < 300 || start.elapsed() < time {
        // A round can be repeated alone: its seed follows from the first and its number.
        let mut rng = Rng::from_seed(seed.wrapping_add(rounds));
        let limits = Limits { bulk_max: 100_000, unauthenticated: rng.below(4) == 0 };
        let bytes = input(&mut rng);
        let expected = reference(&bytes, &limits);
        for piece_max in [1 << 20, 5000, 40] {
            let actual = parsed(&bytes, &limits, &mut rng, piece_max);
            assert!(
                actual == expected,
                "round {rounds}, pieces of {piece_max}: {}\nexpected: {expected:?}\nactual: {actual:?}",
                bytes.escape_ascii()
            );
        }
        commands += expected.0.len();
        errors += usize::from(expected.1.is_some());
        rounds += 1;
    }
    eprintln!("{rounds} rounds, {commands} commands, {errors} errors");
    assert!(commands > 0 && errors > 0);
}
