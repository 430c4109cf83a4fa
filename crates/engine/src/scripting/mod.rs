//! Scripts and functions, and how they run.
//!
//! ```text
//!  Scripts  (shared)   texts by digest (cache.rs), libraries (library.rs), slow scripts (busy.rs)
//!     │
//!  Machines (one per thread, made when first needed)
//!     ├─ scripts:   compiled by digest, with what is proven about them
//!     └─ functions: libraries loaded, with the entries of their functions
//!     │
//!  run.rs   one run: locked shards, checks, commands
//! ```
//!
//! A thread compiles a script when it first runs it, and loads a library when one of its functions is
//! first called there. State that Lua code keeps between runs (a library's local variables, the
//! random seed, settings of cjson) is therefore per thread.

pub mod busy;
pub mod cache;
mod call;
pub mod library;
mod load;
pub mod payload;
mod run;
pub mod shebang;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use commands::Fail;
use commands::row::{BeginSearch, FindKeys, Flags, Group, KeyFlags, KeySpec, Scope, Traits};
use lua::{Compiled, Entry, Machine, Proof, Rule, Uses, Vm};
use resp::Args;
use slab::Slab;

use self::busy::{AllRunning, Running};
use self::cache::{Cache, Digest, Script};
pub use self::call::NOSCRIPT;
use self::library::{Library, Shelf};
use crate::engine::Engine;
use crate::mailbox::{Job, Message};
use crate::table::{Call, Cmd, Run};
use crate::thread::Thread;
use stdx::hash::Seeded;

/// Bytes that a thread's scripts may use together, and its functions.
pub const MEMORY_MAX: usize = 512 << 20;

/// Compiled scripts of a thread up to which those that have left the cache stay.
const SWEEP_LEAST: usize = 1000;

/// Scripts that are found without a look at the table.
const RECENT: usize = 64;

/// The state that all threads share.
#[derive(Default)]
pub struct Scripts {
    /// Scripts by digest.
    pub cache: Cache,
    /// Libraries of functions.
    pub shelf: Shelf,
    /// Scripts that run.
    pub running: AllRunning,
    /// DEBUG SET-DISABLE-DENY-SCRIPTS: scripts may call commands that are not for them.
    pub allow_all: AtomicBool,
}

/// One thread's half.
pub(crate) struct Machines {
    running: Arc<Running>,
    scripts: Option<ScriptMachine>,
    functions: Option<FunctionMachine>,
}

struct ScriptMachine {
    vm: Vm,
    epoch: u64,
    compiled: Slab<Local>,
    /// Their indices.
    by_digest: HashMap<Digest, usize, Seeded>,
    /// Indices of scripts that were called lately, by a hash of their names: the same few are called all
    /// the time.
    recent: [usize; RECENT],
    /// How many there are when those that have left the cache are dropped.
    sweep_at: usize,
}

/// A compiled script.
struct Local {
    script: Arc<Script>,
    code: Compiled,
    proof: Option<Proof>,
    needs_all: bool,
}

struct FunctionMachine {
    vm: Vm,
    /// [`Shelf::removals`] when `loaded` was last looked through.
    removals: u64,
    /// By the address of the library.
    loaded: HashMap<usize, Loaded>,
}

/// A library in the machine.
struct Loaded {
    library: Arc<Library>,
    /// In the library's order.
    functions: Vec<LocalFunction>,
}

#[derive(Clone)]
struct LocalFunction {
    entry: Entry,
    proof: Option<Arc<Proof>>,
    needs_all: bool,
}

/// A function, found.
struct Found {
    local: LocalFunction,
    library: Arc<Library>,
    /// Its number within the library.
    at: usize,
}

/// Where the keys of a command are, as proofs need it: by constant positions alone.
fn rule(engine: &Engine, name: &[u8]) -> Rule {
    let Some(id) = engine.table.find(name) else { return Rule::None };
    let cmd = engine.table.get(id);
    match (cmd.run, cmd.row.group) {
        _ if !cmd.row.subcommands.is_empty() => Rule::Unknown,
        (Run::Session(_), Group::PubSub | Group::Connection) => Rule::None,
        (Run::Session(_), _) => Rule::Unknown,
        (Run::Data(_), _) => match (cmd.row.scope, cmd.row.keys) {
            (Scope::None, _) => Rule::None,
            (Scope::Keys, [spec]) => range(cmd, spec),
            _ => Rule::Unknown,
        },
    }
}

/// The keys that a script uses, if a proof of that holds for a call whose keys begin at argument 3.
/// Without locks no caller needs to know.
fn proven(engine: &Engine, proof: Option<&Proof>, args: &Args<'_>, keys: usize) -> Option<Uses> {
    if engine.keyspace.is_single() {
        return Some(Uses::default());
    }
    let proof = proof?;
    let argument = |n: usize| args.get(2 + keys + n);
    let holds = proof.commands.iter().all(|n| match argument(*n) {
        // Without an argument there the call is an error.
        None => true,
        Some(name) => rule(engine, name) == Rule::None,
    });
    let key = |n: usize| args.get(2 + n).filter(|_| n <= keys);
    holds.then(|| proof.uses(key, argument))
}

fn range(cmd: &Cmd, spec: &KeySpec) -> Rule {
    let (BeginSearch::Index(first), FindKeys::Range { last, step, limit }) =
        (spec.begin, spec.find)
    else {
        return Rule::Unknown;
    };
    let open = KeyFlags::INCOMPLETE.or(KeyFlags::NOT_KEY);
    // A row that finds keys itself may do so only to determine their access.
    let own = cmd.row.get_keys.is_some() && !spec.flags.has(KeyFlags::VARIABLE_FLAGS);
    if limit > 1 || spec.flags.has_any(open) || own {
        return Rule::Unknown;
    }
    let last = if last >= 0 { i64::from(first) + i64::from(last) } else { i64::from(last) };
    Rule::Range { first: usize::from(first), last, step: usize::from(step) }
}

impl ScriptMachine {
    fn new(epoch: u64, seed: u64) -> Self {
        let vm = Vm::new(Machine::Scripts, crate::COMPAT_VERSION, MEMORY_MAX, seed);
        Self {
            vm,
            epoch,
            compiled: Slab::new(),
            by_digest: HashMap::default(),
            recent: [usize::MAX; RECENT],
            sweep_at: SWEEP_LEAST,
        }
    }

    /// The position of the script with this name among the recent ones.
    #[inline]
    fn recent_at(name: &[u8; 40]) -> usize {
        let word = name.first_chunk().map_or(0, |w| u64::from_le_bytes(*w));
        (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % RECENT
    }

    /// The index of a script that was called by this name lately, and is still in the cache.
    #[inline]
    fn recent(&self, name: &[u8; 40]) -> Option<usize> {
        let at = self.recent[Self::recent_at(name)];
        let script = &self.compiled.get(at)?.script;
        (script.name.as_bytes() == name && script.is_alive()).then_some(at)
    }

    /// The index of the script with this digest, which `prepare` compiles if this thread has not.
    fn find(
        &mut self,
        digest: &Digest,
        prepare: impl FnOnce(&mut Self) -> Result<usize, Fail>,
    ) -> Result<usize, Fail> {
        let there = self.by_digest.get(digest).copied();
        let alive = |at: &usize| self.compiled.get(*at).is_some_and(|l| l.script.is_alive());
        let at = match there.filter(alive) {
            Some(at) => at,
            None => prepare(self)?,
        };
        let script = self.compiled.get(at).map(|l| &l.script);
        if let Some(Ok(name)) = script.map(|s| s.name.as_bytes().try_into()) {
            self.recent[Self::recent_at(name)] = at;
        }
        Ok(at)
    }

    /// Compiles a script of the cache. Returns its index.
    fn local(&mut self, engine: &Engine, script: Arc<Script>) -> Result<usize, Fail> {
        let digest = script.digest;
        if self.compiled.len() >= self.sweep_at {
            let (vm, compiled) = (&mut self.vm, &mut self.compiled);
            self.by_digest.retain(|_, at| {
                let stays = compiled.get(*at).is_some_and(|l| l.script.is_alive());
                if !stays && let Some(gone) = compiled.try_remove(*at) {
                    vm.release(gone.code);
                }
                stays
            });
            self.sweep_at = SWEEP_LEAST.max(2 * self.compiled.len());
        }
        let code = self.vm.compile(&script.text[script.start..]).map_err(|text| {
            Fail::new(format!("ERR Error compiling script (new function): {text}"))
        })?;
        let proof = self.vm.uses_declared_keys(&code, &|name| rule(engine, name));
        let local = Local { script, code, proof, needs_all: false };
        let at = self.compiled.insert(local);
        let before = self.by_digest.insert(digest, at);
        if let Some(old) = before.and_then(|at| self.compiled.try_remove(at)) {
            self.vm.release(old.code);
        }
        Ok(at)
    }
}

impl FunctionMachine {
    fn new(seed: u64) -> Self {
        let vm = Vm::new(Machine::Functions, crate::COMPAT_VERSION, MEMORY_MAX, seed);
        Self { vm, removals: 0, loaded: HashMap::new() }
    }

    /// Drops libraries that are gone.
    fn refresh(&mut self, engine: &Engine) {
        let removals = engine.scripts.shelf.removals();
        if removals == self.removals {
            return;
        }
        self.removals = removals;
        let now = engine.scripts.shelf.read();
        let vm = &mut self.vm;
        let is_gone = |l: &Loaded| {
            now.by_name.get(&l.library.name).is_none_or(|n| !Arc::ptr_eq(n, &l.library))
        };
        for (_, l) in self.loaded.extract_if(|_, l| is_gone(l)) {
            l.functions.into_iter().for_each(|f| vm.forget(f.entry));
        }
    }

    /// Notes a library's functions.
    fn add(&mut self, engine: &Engine, library: Arc<Library>, entries: Vec<Entry>) {
        let functions = entries
            .into_iter()
            .map(|entry| {
                let rule = |name: &[u8]| rule(engine, name);
                let proof = self.vm.function_uses_declared_keys(entry, &rule).map(Arc::new);
                LocalFunction { entry, proof, needs_all: false }
            })
            .collect();
        self.loaded.insert(Arc::as_ptr(&library).addr(), Loaded { library, functions });
    }

    /// Notes that a function needs every shard.
    fn needs_all(&mut self, f: &Found) {
        let loaded = self.loaded.get_mut(&Arc::as_ptr(&f.library).addr());
        if let Some(local) = loaded.and_then(|l| l.functions.get_mut(f.at)) {
            local.needs_all = true;
        }
    }

    /// A function; loads its library if this thread has not.
    fn function(&mut self, engine: &Engine, name: &[u8]) -> Result<Found, Fail> {
        self.refresh(engine);
        let not_found = || Fail::text("ERR Function not found");
        let found = engine.scripts.shelf.read().find(name).cloned();
        let (library, at) = found.ok_or_else(not_found)?;
        let address = Arc::as_ptr(&library).addr();
        if !self.loaded.contains_key(&address) {
            let entries = library.load_again(&mut self.vm, engine)?;
            self.add(engine, Arc::clone(&library), entries);
        }
        let local = self.loaded.get(&address).and_then(|l| l.functions.get(at)).cloned();
        Ok(Found { local: local.ok_or_else(not_found)?, library, at })
    }
}

impl Thread {
    /// Takes this thread's machines, which must be put back.
    fn take_machines(&mut self, engine: &Engine) -> Box<Machines> {
        self.machines.take().unwrap_or_else(|| {
            let running = engine.scripts.running.add();
            Box::new(Machines { running, scripts: None, functions: None })
        })
    }

    fn put_machines(&mut self, m: Box<Machines>) {
        self.machines = Some(m);
    }

    /// Ends this thread's machine of a kind: the cache, or all libraries, are gone.
    fn drop_machine(&mut self, kind: Machine) {
        let Some(m) = &mut self.machines else { return };
        match kind {
            Machine::Scripts => {
                m.scripts = None;
                m.running.vm_scripts.store(0, Relaxed);
            }
            Machine::Functions => {
                m.functions = None;
                m.running.vm_functions.store(0, Relaxed);
            }
        }
    }

    /// Runs `f` with this thread's machine for scripts.
    fn with_scripts<T>(
        &mut self,
        engine: &Engine,
        f: impl FnOnce(&mut Self, &mut ScriptMachine, &Arc<Running>) -> T,
    ) -> T {
        let mut m = self.take_machines(engine);
        let epoch = engine.scripts.cache.epoch();
        if m.scripts.as_ref().is_some_and(|s| s.epoch != epoch) {
            m.scripts = None;
        }
        let scripts =
            m.scripts.get_or_insert_with(|| ScriptMachine::new(epoch, self.cx.rng.next_u64()));
        let outcome = f(self, scripts, &m.running);
        m.running.vm_scripts.store(scripts.vm.memory() as u64, Relaxed);
        self.put_machines(m);
        outcome
    }

    /// Runs `f` with this thread's machine for functions.
    fn with_functions<T>(
        &mut self,
        engine: &Engine,
        f: impl FnOnce(&mut Self, &mut FunctionMachine, &Arc<Running>) -> T,
    ) -> T {
        let mut m = self.take_machines(engine);
        let functions =
            m.functions.get_or_insert_with(|| FunctionMachine::new(self.cx.rng.next_u64()));
        let outcome = f(self, functions, &m.running);
        m.running.vm_functions.store(functions.vm.memory() as u64, Relaxed);
        self.put_machines(m);
        outcome
    }

    /// Stops wall time until [`unfreeze`](Self::unfreeze) is given the result.
    fn freeze(&mut self) -> Option<u64> {
        let before = self.frozen_us;
        self.frozen_us = before.or(Some(self.wall_us_at_last_look()));
        before
    }

    fn unfreeze(&mut self, before: Option<u64>) {
        self.frozen_us = before;
    }
}

/// Ends the machines of a kind on all threads, each when it comes to it.
pub fn drop_machines(call: &mut Call<'_>, kind: Machine) {
    call.thread.drop_machine(kind);
    for i in 0..call.engine.workers().len() {
        if i != call.thread.index {
            let job = Job::new(move |_, thread| thread.drop_machine(kind));
            call.engine.post(i, Message::Run(job));
        }
    }
}

/// `redis.log`, at level 0 to 3.
pub fn log(engine: &Engine, level: u8, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let log = &engine.log;
    match level {
        0 => crate::log!(log, Debug, "{}", text),
        1 => crate::log!(log, Verbose, "{}", text),
        2 => crate::log!(log, Notice, "{}", text),
        _ => crate::log!(log, Warning, "{}", text),
    }
}

/// The number of a call's arguments that are keys; `bad` is the error when that is no number.
pub fn key_count(args: &Args<'_>, bad: Fail) -> Result<usize, Fail> {
    let n = stdx::num::parse_i64(&args[2]).ok_or(bad)?;
    if n > (args.len() - 3) as i64 {
        return Err(Fail::text("ERR Number of keys can't be greater than number of args"));
    }
    usize::try_from(n).map_err(|_| Fail::text("ERR Number of keys can't be negative"))
}

/// The flags of a call that runs a script or a function, which its script may say more about: whether
/// it writes, needs memory, and runs on a replica without a link.
pub(crate) fn flags_of(engine: &Engine, cmd: &Cmd, args: &Args<'_>) -> Flags {
    let flags = cmd.row.flags;
    let said = match cmd.traits {
        t if t.has(Traits::RUNS_TEXT) => shebang::of_script(&args[1]).ok().and_then(|(f, _)| f),
        t if t.has(Traits::RUNS_DIGEST) => {
            cache::parse(&args[1]).and_then(|d| engine.scripts.cache.get(&d)).and_then(|s| s.flags)
        }
        t if t.has(Traits::RUNS_FUNCTION) => {
            let now = engine.scripts.shelf.read();
            now.find(&args[1]).map(|(l, i)| l.functions[*i].flags)
        }
        _ => None,
    };
    match said {
        None => flags,
        Some(said) => {
            let told = Flags::MAY_REPLICATE.or(Flags::WRITE).or(Flags::DENYOOM).or(Flags::STALE);
            let mut flags = flags.without(told);
            if said.has(lua::Flags::ALLOW_STALE) {
                flags = flags.or(Flags::STALE);
            }
            if !said.has(lua::Flags::NO_WRITES) {
                flags = flags.or(Flags::WRITE);
                if !said.has(lua::Flags::ALLOW_OOM) {
                    flags = flags.or(Flags::DENYOOM);
                }
            }
            flags
        }
    }
}
