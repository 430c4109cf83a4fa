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
pub(super) struct Place {
    pub(super) address: usize,
    pub(super) lines: Vec<Line>,
}

/// One thread's stack, innermost first.
#[derive(Debug)]
pub(super) struct Stack {
    pub(super) thread: String,
    pub(super) frames: Vec<Arc<Place>>,
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
}

/// Names everything.
pub(super) fn resolve(samples: &Samples) -> Profile {
    let mut known: HashMap<usize, Arc<Place>> = HashMap::new();
    let mut stacks = Vec::with_capacity(samples.stacks.len());
    for s in &samples.stacks {
        let frames = s.frames.iter().enumerate().map(|(i, &frame)| {
            // The instruction that was interrupted, or the call before a return address.
            let address = if i == 0 { frame } else { frame.saturating_sub(1) };
            Arc::clone(known.entry(address).or_insert_with(|| Arc::new(place(address))))
        });
        stacks.push(Stack { thread: s.thread.clone(), frames: frames.collect(), count: s.count });
    }
    // The tables it was looked up in are megabytes, and this is rare.
    backtrace::clear_symbol_cache();
    Profile { stacks, lost: samples.lost, started: samples.started, duration: samples.duration }
}

fn place(address: usize) -> Place {
    let mut lines = Vec::new();
    // It looks at the byte before what it is given, since it expects return addresses.
    backtrace::resolve((address + 1) as *mut c_void, |symbol| {
        let name = symbol.name().map(|n| format!("{n:#}"));
        lines.push(Line {
            name: name.unwrap_or_else(|| format!("{address:#x}")),
            file: symbol.filename().map_or_else(String::new, |f| f.display().to_string()),
            line: symbol.lineno().unwrap_or(0),
        });
    });
    if lines.is_empty() {
        lines.push(Line { name: format!("{address:#x}"), ..Line::default() });
    }
    Place { address, lines }
}
