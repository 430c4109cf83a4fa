//! Libraries of functions, shared by all threads as an immutable snapshot that commands replace.
//! Libraries loaded into a machine are each thread's own.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use commands::Fail;
use lua::{Called, Entry, Host, Machine, Registered, Tick, Vm};
use parking_lot::{RwLock, RwLockReadGuard};
use resp::{Args, Reply};
use stdx::carried::carry;

use super::{MEMORY_MAX, shebang};
use crate::engine::Engine;
use stdx::hash::Seeded;

/// A library that takes longer to load is refused, in nanoseconds, as in Redis.
const LOAD_NS: u64 = 500_000_000;

/// One function of a library.
#[derive(Debug, Clone)]
pub struct Function {
    /// Its name.
    pub name: Vec<u8>,
    /// Its description, if it has one.
    pub description: Option<Vec<u8>>,
    /// Its flags.
    pub flags: lua::Flags,
}

/// One library.
#[derive(Debug)]
pub struct Library {
    /// Its name.
    pub name: Vec<u8>,
    /// With its shebang.
    pub code: Vec<u8>,
    /// Where the code behind the shebang begins.
    start: usize,
    /// Its functions.
    pub functions: Vec<Function>,
}

impl Library {
    /// Bytes that it takes, for INFO.
    fn bytes(&self) -> u64 {
        let f = |f: &Function| {
            f.name.len() + f.description.as_ref().map_or(0, Vec::len) + size_of::<Function>()
        };
        let functions: usize = self.functions.iter().map(f).sum();
        (size_of::<Self>() + self.code.len() + self.name.len() + functions) as u64
    }
}

/// All libraries at one moment.
#[derive(Debug, Default, Clone)]
pub struct Libraries {
    /// By their names.
    pub by_name: BTreeMap<Vec<u8>, Arc<Library>>,
    /// By the names of functions in lower case: the library, and the function's number within it.
    pub functions: HashMap<Vec<u8>, (Arc<Library>, usize), Seeded>,
}

impl Libraries {
    /// The library and the number of a function.
    pub(crate) fn find(&self, name: &[u8]) -> Option<&(Arc<Library>, usize)> {
        self.functions.get(name).or_else(|| self.functions.get(&name.to_ascii_lowercase()))
    }

    fn add(&mut self, library: Arc<Library>) {
        for (i, f) in library.functions.iter().enumerate() {
            self.functions.insert(f.name.to_ascii_lowercase(), (Arc::clone(&library), i));
        }
        self.by_name.insert(library.name.clone(), library);
    }

    pub(crate) fn remove(&mut self, name: &[u8]) -> bool {
        let Some(library) = self.by_name.remove(name) else { return false };
        for f in &library.functions {
            self.functions.remove(&f.name.to_ascii_lowercase());
        }
        true
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> u64 {
        self.by_name.values().map(|l| l.bytes()).sum()
    }

    /// Adds a library that is loaded already, in place of one of its name if `replace`.
    pub(crate) fn put(&mut self, library: Arc<Library>, replace: bool) -> Result<(), Fail> {
        let there = self.by_name.get(&library.name).cloned();
        if there.is_some() && !replace {
            return Err(exists(&library.name));
        }
        let other = |f: &&Function| match self.functions.get(&f.name.to_ascii_lowercase()) {
            Some((l, _)) => there.as_ref().is_none_or(|t| !Arc::ptr_eq(t, l)),
            None => false,
        };
        if let Some(f) = library.functions.iter().find(other) {
            let name = carry(&f.name);
            return Err(Fail::new(format!("ERR Function {name} already exists")));
        }
        self.remove(&library.name);
        self.add(library);
        Ok(())
    }
}

fn exists(name: &[u8]) -> Fail {
    Fail::new(format!("ERR Library '{}' already exists", carry(name)))
}

/// The state that threads share.
#[derive(Default)]
pub struct Shelf {
    now: RwLock<Libraries>,
    /// Counts removals, after which threads drop the libraries that they have loaded.
    removals: AtomicU64,
}

impl Shelf {
    pub(crate) fn removals(&self) -> u64 {
        self.removals.load(Relaxed)
    }

    /// The libraries, which stay as they are meanwhile.
    pub fn read(&self) -> RwLockReadGuard<'_, Libraries> {
        self.now.read()
    }

    /// Adds a library that is loaded already, in place of one of its name if `replace`.
    pub(crate) fn put(&self, library: Arc<Library>, replace: bool) -> Result<(), Fail> {
        let mut now = self.now.write();
        if now.by_name.contains_key(&library.name) {
            self.removals.fetch_add(1, Relaxed);
        }
        now.put(library, replace)
    }

    /// Removes a library. Returns whether it was there.
    pub fn remove(&self, name: &[u8]) -> bool {
        let removed = self.now.write().remove(name);
        self.removals.fetch_add(1, Relaxed);
        removed
    }

    /// Changes several libraries at once; nothing happens when `change` fails.
    pub fn change(
        &self,
        change: impl FnOnce(&mut Libraries) -> Result<(), Fail>,
    ) -> Result<(), Fail> {
        let mut now = self.now.write();
        let mut next = now.clone();
        change(&mut next)?;
        *now = next;
        self.removals.fetch_add(1, Relaxed);
        Ok(())
    }
}

impl Engine {
    /// Forgets all libraries, before those of a snapshot replace them.
    pub(crate) fn clear_functions(&self) {
        // It never fails: nothing replaces them.
        let _ = self.scripts.shelf.change(|all| {
            *all = Libraries::default();
            Ok(())
        });
    }

    /// Takes a library out of a snapshot. One of its name that is there already is replaced, or
    /// makes this fail.
    pub fn load_function(&self, code: &[u8], replace: bool) -> Result<(), String> {
        let seed = self.clock.monotonic_ns();
        // Threads load it into their own machines when they next need one of its functions.
        let mut vm = Vm::new(Machine::Functions, crate::COMPAT_VERSION, MEMORY_MAX, seed);
        let put = load(&mut vm, code, self, |_| false).and_then(|(library, entries)| {
            entries.into_iter().for_each(|e| vm.forget(e));
            self.scripts.shelf.put(Arc::new(library), replace)
        });
        put.map_err(|fail| fail.0.into_owned())
    }

    /// Whether a library's code could be loaded.
    ///
    /// # Errors
    /// The reason why not.
    pub fn try_function(&self, code: &[u8]) -> Result<(), String> {
        let seed = self.clock.monotonic_ns();
        let mut vm = Vm::new(Machine::Functions, crate::COMPAT_VERSION, MEMORY_MAX, seed);
        let tried = load(&mut vm, code, self, |_| false);
        tried
            .map(|(_, e)| e.into_iter().for_each(|e| vm.forget(e)))
            .map_err(|fail| fail.0.into_owned())
    }

    /// The code of all libraries, for a snapshot.
    pub fn function_codes(&self) -> Vec<Arc<Library>> {
        self.scripts.shelf.read().by_name.values().map(Arc::clone).collect()
    }
}

/// Loads a library's code into a machine. Returns the library and its functions' entries; the
/// caller gives those back when it does not keep them. `is_taken`: whether its name is one that it may
/// not have, which is asked before its code runs.
pub(super) fn load(
    vm: &mut Vm,
    code: &[u8],
    engine: &Engine,
    is_taken: impl FnOnce(&[u8]) -> bool,
) -> Result<(Library, Vec<Entry>), Fail> {
    let (language, name, start) = shebang::of_library(code).map_err(Fail::new)?;
    verify(&name).map_err(|text| Fail::new(format!("ERR {text}")))?;
    if !language.eq_ignore_ascii_case(b"lua") {
        let language = carry(&language);
        return Err(Fail::new(format!("ERR Engine '{language}' not found")));
    }
    if is_taken(&name) {
        return Err(exists(&name));
    }
    let mut loader = Loader::new(engine, true);
    let outcome = vm.load(&code[start..], &mut loader);
    let found = loader.found;
    let entries: Vec<Entry> = found.iter().map(|r| r.entry).collect();
    let outcome = outcome.map_err(|text| Fail::new(format!("ERR {text}")));
    if let Err(fail) = outcome.and_then(|()| {
        if found.is_empty() { Err(Fail::text("ERR No functions registered")) } else { Ok(()) }
    }) {
        entries.into_iter().for_each(|e| vm.forget(e));
        return Err(fail);
    }
    let functions = found
        .into_iter()
        .map(|r| Function { name: r.name, description: r.description, flags: r.flags })
        .collect();
    Ok((Library { name, code: code.to_vec(), start, functions }, entries))
}

impl Library {
    /// Loads it into another machine.
    pub(super) fn load_again(&self, vm: &mut Vm, engine: &Engine) -> Result<Vec<Entry>, Fail> {
        let mut loader = Loader::new(engine, false);
        let outcome = vm.load(&self.code[self.start..], &mut loader);
        let found = loader.found;
        if let Err(text) = outcome {
            found.into_iter().for_each(|r| vm.forget(r.entry));
            return Err(Fail::new(format!("ERR {text}")));
        }
        Ok(found.into_iter().map(|r| r.entry).collect())
    }
}

fn verify(name: &[u8]) -> Result<(), &'static str> {
    if name.is_empty() || !name.iter().all(|c| c.is_ascii_alphanumeric() || *c == b'_') {
        return Err(
            "Library names can only contain letters, numbers, or underscores(_) and must be \
                    at least one character long",
        );
    }
    Ok(())
}

/// The server, as a library that is loaded sees it.
struct Loader<'a> {
    engine: &'a Engine,
    /// Its log lines are written once, by the thread that loads it first.
    logs: bool,
    start: u64,
    found: Vec<Registered>,
}

impl<'a> Loader<'a> {
    fn new(engine: &'a Engine, logs: bool) -> Self {
        Self { engine, logs, start: engine.clock.monotonic_ns(), found: Vec::new() }
    }
}

impl Host for Loader<'_> {
    fn call(&mut self, _: &mut Args<'_>, _: &mut Reply<'_>) -> Called {
        Called::Refused("redis.call can only be called inside a script invocation".into())
    }

    fn log(&mut self, level: u8, text: &[u8]) {
        if self.logs {
            super::log(self.engine, level, text);
        }
    }

    fn may_call(&mut self, _: &Args<'_>) -> Option<bool> {
        None
    }

    fn set_repl(&mut self, _: u8) {}

    fn count_error(&mut self, _: &[u8]) {}

    fn tick(&mut self) -> Tick {
        let elapsed = self.engine.clock.monotonic_ns().saturating_sub(self.start);
        if elapsed > LOAD_NS { Tick::Kill } else { Tick::Continue }
    }

    fn register(&mut self, f: Registered) -> Result<(), Cow<'static, str>> {
        verify(&f.name)?;
        if self.found.iter().any(|r| r.name.eq_ignore_ascii_case(&f.name)) {
            return Err("Function already exists in the library".into());
        }
        self.found.push(f);
        Ok(())
    }
}
