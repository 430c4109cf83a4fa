//! From addresses to functions, files and lines, inlined functions included.
//!
//! The names come from the symbol table and the line tables in the program's own file (the release
//! profile keeps both; see docs/profiling.md for what that costs). In a stripped program addresses
//! stay addresses, which `go tool pprof` can name by an unstripped copy.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use super::sampler::Samples;

/// A function at a line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) file: String,
    pub(super) line: u32,
}

/// An address, and the functions it belongs to: the innermost of those inlined into each other
/// first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) address: usize,
    pub(super) lines: Vec<Line>,
}

/// One thread's stack, innermost first.
#[derive(Debug)]
pub(super) struct Stack {
    pub(super) thread: String,
    pub(super) frames: Vec<Arc<Frame>>,
    pub(super) count: u64,
}

impl Stack {
    /// The names of all functions, innermost first.
    pub(super) fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.frames.iter().flat_map(|place| place.lines.iter().map(|l| l.name.as_str()))
    }
}

/// A profile that people can read.
#[derive(Debug, Default)]
pub(super) struct Profile {
    pub(super) stacks: Vec<Stack>,
    pub(super) lost: u64,
    /// Unix nanoseconds.
    pub(super) started: u64,
    pub(super) duration: Duration,
    /// The code that was executed.
    pub(super) maps: Vec<Mapping>,
}

/// Names everything.
pub(super) fn resolve(samples: &Samples) -> Profile {
    let maps = mappings();
    let mut known: HashMap<usize, Arc<Frame>> = HashMap::new();
    let mut stacks = Vec::with_capacity(samples.stacks.len());
    for s in &samples.stacks {
        // The outermost caller has no caller: its return address is 0.
        let known_frames = s.frames.iter().filter(|frame| **frame != 0);
        let frames = known_frames.enumerate().map(|(i, &frame)| {
            // The instruction that was interrupted, or the call before a return address.
            let address = if i == 0 { frame } else { frame.saturating_sub(1) };
            Arc::clone(known.entry(address).or_insert_with(|| Arc::new(place(address, &maps))))
        });
        stacks.push(Stack { thread: s.thread.clone(), frames: frames.collect(), count: s.count });
    }
    // The tables it was looked up in are megabytes, and this is rare.
    backtrace::clear_symbol_cache();
    let (lost, started, duration) = (samples.lost, samples.started, samples.duration);
    Profile { stacks, lost, started, duration, maps }
}

fn place(address: usize, maps: &[Mapping]) -> Frame {
    let mut lines: Vec<Line> = Vec::new();
    // It looks at the byte before the given address, since it expects return addresses.
    backtrace::resolve((address + 1) as *mut c_void, |symbol| {
        let file = symbol.filename().map_or_else(String::new, |f| f.display().to_string());
        let name = symbol.name().map(|n| qualified(&format!("{n:#}"), &file));
        let name = name.unwrap_or_else(|| format!("{address:#x}"));
        lines.push(Line { name, file, line: symbol.lineno().unwrap_or(0) });
    });
    if lines.is_empty() {
        // The kernel's part of the process, for one, has no file to look names up in.
        let map = maps.iter().find(|m| m.contains(address as u64));
        let name = match map.map(|m| m.path.as_str()) {
            Some(path) if path.starts_with('[') => path.to_owned(),
            _ => format!("{address:#x}"),
        };
        lines.push(Line { name, ..Line::default() });
    }
    Frame { address, lines }
}

/// A name with its module in front. Line tables know functions that were inlined by their last name
/// only (`run`), and say which file they are in: crates/engine/src/thread.rs makes it
/// `engine::thread::run`.
fn qualified(name: &str, file: &str) -> String {
    // Types that it was made for are left out there: `call_once<a::B, ()>` is `call_once`.
    let base = name.find('<').filter(|at| *at > 0).map_or(name, |at| &name[..at]);
    if base.contains("::") || base.starts_with('<') || !file.ends_with(".rs") {
        return name.to_owned();
    }
    let Some((outside, inside)) = file.rsplit_once("/src/") else { return name.to_owned() };
    let package = outside.rsplit('/').next().unwrap_or(outside);
    // Of the registry's name-1.2.3, the name.
    let package = match package.rsplit_once('-') {
        Some((name, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => name,
        _ => package,
    };
    let mut path = package.replace('-', "_");
    for part in inside.trim_end_matches(".rs").split('/') {
        if !matches!(part, "mod" | "lib" | "main") {
            path.push_str("::");
            path.push_str(part);
        }
    }
    format!("{path}::{base}")
}

/// A part of the address space that is executed, and the file it comes from.
#[derive(Debug)]
pub(super) struct Mapping {
    pub(super) from: u64,
    pub(super) to: u64,
    /// Offset in the file.
    pub(super) offset: u64,
    /// Path of the file, or a word in brackets.
    pub(super) path: String,
}

impl Mapping {
    pub(super) fn contains(&self, address: u64) -> bool {
        (self.from..self.to).contains(&address)
    }
}

/// The code that is executed in this process.
fn mappings() -> Vec<Mapping> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().filter_map(mapping).collect()
}

fn mapping(line: &str) -> Option<Mapping> {
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let mut words = line.split_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let executable = words.next()?.contains('x');
    let offset = hex(words.next()?)?;
    let path = words.nth(2)?.to_owned();
    executable.then_some(Mapping { from: hex(from)?, to: hex(to)?, offset, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_their_module() {
        for (name, file, whole) in [
            ("run", "/x/crates/engine/src/thread.rs", "engine::thread::run"),
            ("new", "/r/mio-1.0.4/src/poll/mod.rs", "mio::poll::new"),
            ("get", "/rustc/1/library/core/src/slice/index.rs", "core::slice::index::get"),
            ("main", "/x/crates/server/src/main.rs", "server::main"),
            ("f", "/r/http-body-util-0.1.3/src/lib.rs", "http_body_util::f"),
            ("a::b", "/x/crates/engine/src/thread.rs", "a::b"),
            ("<A as b::C>::d", "/x/crates/engine/src/thread.rs", "<A as b::C>::d"),
            ("f<a::B, ()>", "/x/crates/engine/src/thread.rs", "engine::thread::f"),
            ("mi_free", "/x/c_src/mimalloc/src/free.c", "mi_free"),
            ("send", "", "send"),
        ] {
            assert_eq!(qualified(name, file), whole);
        }
    }

    #[test]
    fn what_is_executed_is_mapped() {
        let m = mapping("55d0-55f0 r-xp 00001000 08:01 123  /usr/bin/apus").expect("a mapping");
        assert_eq!(
            (m.from, m.to, m.offset, m.path.as_str()),
            (0x55d0, 0x55f0, 0x1000, "/usr/bin/apus")
        );
        assert!(mapping("55d0-55f0 r--p 00001000 08:01 123 /usr/bin/apus").is_none());
        assert!(mapping("").is_none());
    }
}
