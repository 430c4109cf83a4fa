//! Writes a profile down: as pprof's protocol buffer, and as a flame graph.
//!
//! The format is <https://github.com/google/pprof/blob/main/proto/profile.proto>: a handful of
//! messages that are only written, so they are written by hand here rather than by a code generator.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::sampler::HZ;
use super::symbols::{Frame, Line, Mapping, Profile};

/// Nanoseconds of processor time that a sample stands for.
const PERIOD: u64 = 1_000_000_000 / HZ;

/// A message in the making.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    /// A number; an absent field means 0.
    fn number(&mut self, field: u64, n: u64) -> &mut Self {
        if n != 0 {
            self.varint(field << 3);
            self.varint(n);
        }
        self
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) -> &mut Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// A list of numbers, packed.
    fn numbers(&mut self, field: u64, all: impl IntoIterator<Item = u64>) -> &mut Self {
        let mut packed = Message::default();
        all.into_iter().for_each(|n| packed.varint(n));
        self.bytes(field, &packed.0)
    }
}

/// Texts by number; 0 is the empty one.
struct Texts {
    all: Vec<String>,
    known: HashMap<String, u64>,
}

impl Texts {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(n) = self.known.get(text) {
            return *n;
        }
        let n = self.all.len() as u64;
        self.all.push(text.to_owned());
        self.known.insert(text.to_owned(), n);
        n
    }
}

/// The profile as `go tool pprof` reads it.
pub(super) fn gzipped(profile: &Profile) -> io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&encode(profile))?;
    gzip.finish()
}

fn encode(profile: &Profile) -> Vec<u8> {
    let mut texts = Texts { all: vec![String::new()], known: HashMap::from([(String::new(), 0)]) };
    let mut out = Message::default();
    for (kind, unit) in [("samples", "count"), ("cpu", "nanoseconds")] {
        let mut m = Message::default();
        m.number(1, texts.number(kind)).number(2, texts.number(unit));
        out.bytes(1, &m.0);
    }
    let maps = &profile.maps;
    // Locations and functions are numbered from 1 as they come.
    let mut places: HashMap<usize, u64> = HashMap::new();
    let mut functions: HashMap<Line, u64> = HashMap::new();
    let mut locations = Message::default();
    let mut declared = Message::default();
    let thread = texts.number("thread");
    for stack in &profile.stacks {
        let mut ids = Vec::with_capacity(stack.frames.len());
        for place in &stack.frames {
            let next = places.len() as u64 + 1;
            let id = *places.entry(place.address).or_insert_with(|| {
                let m = location(next, place, maps, &mut functions, &mut texts, &mut declared);
                locations.bytes(4, &m.0);
                next
            });
            ids.push(id);
        }
        let mut label = Message::default();
        label.number(1, thread).number(2, texts.number(&stack.thread));
        let mut m = Message::default();
        m.numbers(1, ids).numbers(2, [stack.count, stack.count * PERIOD]).bytes(3, &label.0);
        out.bytes(2, &m.0);
    }
    for (i, map) in maps.iter().enumerate() {
        let mut m = Message::default();
        m.number(1, i as u64 + 1).number(2, map.from).number(3, map.to).number(4, map.offset);
        // It has functions, files, lines and inlined frames.
        m.number(5, texts.number(&map.path)).number(7, 1).number(8, 1).number(9, 1).number(10, 1);
        out.bytes(3, &m.0);
    }
    out.0.extend_from_slice(&locations.0);
    out.0.extend_from_slice(&declared.0);
    let mut period = Message::default();
    period.number(1, texts.number("cpu")).number(2, texts.number("nanoseconds"));
    let comment = match profile.lost {
        0 => 0,
        n => texts.number(&format!("{n} samples were lost: the profile was too long")),
    };
    for text in &texts.all {
        out.bytes(6, text.as_bytes());
    }
    out.number(9, profile.started).number(10, profile.duration.as_nanos() as u64);
    out.bytes(11, &period.0).number(12, PERIOD);
    if comment != 0 {
        out.numbers(13, [comment]);
    }
    out.0
}

fn location(
    id: u64,
    place: &Arc<Frame>,
    maps: &[Mapping],
    functions: &mut HashMap<Line, u64>,
    texts: &mut Texts,
    declared: &mut Message,
) -> Message {
    let address = place.address as u64;
    let map = maps.iter().position(|m| m.contains(address));
    let mut m = Message::default();
    m.number(1, id).number(2, map.map_or(0, |i| i as u64 + 1)).number(3, address);
    for line in &place.lines {
        let key = Line { line: 0, ..line.clone() };
        let next = functions.len() as u64 + 1;
        let function = *functions.entry(key).or_insert_with(|| {
            let (name, file) = (texts.number(&line.name), texts.number(&line.file));
            let mut f = Message::default();
            f.number(1, next).number(2, name).number(3, name).number(4, file);
            declared.bytes(5, &f.0);
            next
        });
        let mut l = Message::default();
        l.number(1, function).number(2, u64::from(line.line));
        m.bytes(4, &l.0);
    }
    m
}

/// The profile as a picture: width is time, and a function stands on its caller.
pub(super) fn flame_graph(profile: &Profile, seconds: u64) -> io::Result<Vec<u8>> {
    let mut lines: Vec<String> = profile
        .stacks
        .iter()
        .map(|s| {
            // `;` and spaces separate in this form.
            let clean = |name: &str| name.replace(';', ":");
            let mut line = clean(&s.thread);
            for name in s.names().rev() {
                line.push(';');
                line.push_str(&clean(name));
            }
            format!("{line} {}", s.count)
        })
        .collect();
    if lines.is_empty() {
        // An idle server has used no time, which is an answer too.
        lines.push("no processor time was used 1".to_owned());
    }
    let mut options = inferno::flamegraph::Options::default();
    options.title = format!("Apus, {seconds} seconds of processor time");
    options.count_name = "samples".into();
    let mut svg = Vec::new();
    inferno::flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut svg)
        .map_err(io::Error::other)?;
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::symbols::Stack;

    fn profile() -> Profile {
        let line = |name: &str, line| Line { name: name.into(), file: "x.rs".into(), line };
        let inner =
            Arc::new(Frame { address: 0x10, lines: vec![line("inlined", 1), line("function", 2)] });
        let outer = Arc::new(Frame { address: 0x20, lines: vec![line("main", 3)] });
        let stack = |frames: Vec<Arc<Frame>>, count| Stack { thread: "t;1".into(), frames, count };
        Profile {
            stacks: vec![stack(vec![Arc::clone(&inner), outer], 5), stack(vec![inner], 1)],
            ..Profile::default()
        }
    }

    /// Field numbers and contents of the top level.
    fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        fn varint(bytes: &mut &[u8]) -> u64 {
            let (mut n, mut shift) = (0, 0);
            loop {
                let b = bytes[0];
                *bytes = &bytes[1..];
                n |= u64::from(b & 0x7f) << shift;
                if b < 0x80 {
                    return n;
                }
                shift += 7;
            }
        }
        let mut all = Vec::new();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes);
            let n = varint(&mut bytes);
            if tag & 7 == 2 {
                let (content, rest) = bytes.split_at(n as usize);
                all.push((tag >> 3, content.to_vec()));
                bytes = rest;
            } else {
                all.push((tag >> 3, n.to_string().into_bytes()));
            }
        }
        all
    }

    #[test]
    fn a_place_and_a_function_are_written_once() {
        let all = fields(&encode(&profile()));
        let of = |field| all.iter().filter(|f| f.0 == field).map(|f| &f.1[..]).collect::<Vec<_>>();
        assert_eq!(of(1).len(), 2, "kinds of values");
        // Locations 1 and 2, then 5 samples of 10,101,010 ns.
        let samples = of(2);
        assert_eq!(samples.len(), 2);
        assert_eq!(samples[0][..6], [0x0a, 2, 1, 2, 0x12, 5]);
        assert_eq!(of(4).len(), 2, "locations");
        assert_eq!(of(5).len(), 3, "functions");
        let texts = of(6);
        assert_eq!(texts[0], b"");
        for text in ["inlined", "function", "main", "x.rs", "thread", "t;1", "cpu"] {
            assert_eq!(texts.iter().filter(|t| **t == text.as_bytes()).count(), 1, "{text}");
        }
    }

    #[test]
    fn the_picture_shows_the_names() {
        let svg = flame_graph(&profile(), 1).expect("a picture");
        let svg = String::from_utf8(svg).expect("text");
        for text in ["<svg", "inlined", "function", "main", "t:1"] {
            assert!(svg.contains(text), "{text}");
        }
        let idle = flame_graph(&Profile::default(), 1).expect("a picture");
        assert!(String::from_utf8_lossy(&idle).contains("no processor time"));
    }
}
