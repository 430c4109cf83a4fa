//! Scripts and libraries of functions are loaded: by SCRIPT LOAD, FUNCTION LOAD and RESTORE, and by the
//! journal.

use std::sync::Arc;

use commands::{Fail, Outcome};
use resp::Args;
use stdx::carried::carry;

use super::cache::{self, Script};
use super::library::{Libraries, load};
use super::{FunctionMachine, payload};
use crate::engine::Engine;
use crate::thread::Thread;

impl Thread {
    /// Compiles a script here and keeps it in the cache.
    ///
    /// # Errors
    /// The library cannot be compiled.
    pub fn load_script(&mut self, engine: &Engine, text: &[u8]) -> Result<Arc<Script>, Fail> {
        let digest = cache::digest(text);
        let script = match engine.scripts.cache.get(&digest) {
            Some(there) => there,
            None => Script::new(text, digest).map_err(Fail::new)?,
        };
        self.with_scripts(engine, |_, machine, _| {
            machine.local(engine, Arc::clone(&script))?;
            // Only scripts that can be compiled get there.
            let there = engine.scripts.cache.add(Arc::clone(&script), false);
            if !Arc::ptr_eq(&there, &script) {
                machine.local(engine, there)?;
            }
            Ok(script)
        })
    }

    /// Loads a library here and offers it to all threads. Returns its name.
    ///
    /// # Errors
    /// Its code is wrong, or its name or one of its functions' is taken.
    pub fn load_library(
        &mut self,
        engine: &Engine,
        code: &[u8],
        replace: bool,
    ) -> Result<Vec<u8>, Fail> {
        self.with_functions(engine, |_, machine, _| load_in(engine, machine, code, replace))
    }

    /// Loads all libraries or none; with `flush`, in place of all others.
    ///
    /// # Errors
    /// As [`load_library`](Self::load_library).
    pub fn restore_libraries(
        &mut self,
        engine: &Engine,
        codes: &[Vec<u8>],
        flush: bool,
        replace: bool,
    ) -> Outcome {
        self.with_functions(engine, |_, machine, _| restore(engine, machine, codes, flush, replace))
    }
}

impl Engine {
    /// Replays a command of a journal or an append-only file about libraries.
    pub fn replay_function(&self, args: &Args<'_>) -> Result<(), String> {
        let last = &args[args.len() - 1];
        let clear = || {
            self.scripts.shelf.change(|all| {
                *all = Libraries::default();
                Ok(())
            })
        };
        let outcome = match () {
            () if args.is(1, "load") => return self.load_function(last, true),
            () if args.is(1, "flush") => clear(),
            () if args.is(1, "delete") => self.scripts.shelf.change(|all| {
                all.remove(last);
                Ok(())
            }),
            () if args.is(1, "restore") && args.len() > 2 => {
                let codes = payload::read(&args[2]).map_err(|fail| fail.0.into_owned())?;
                if args.is(args.len() - 1, "flush") {
                    clear().map_err(|fail| fail.0.into_owned())?;
                }
                return codes.iter().try_for_each(|code| self.load_function(code, true));
            }
            () => return Err("it is no change of libraries".to_owned()),
        };
        outcome.map_err(|fail| fail.0.into_owned())
    }
}

/// Loads a library here and offers it to all threads.
fn load_in(
    engine: &Engine,
    machine: &mut FunctionMachine,
    code: &[u8],
    replace: bool,
) -> Result<Vec<u8>, Fail> {
    let shelf = &engine.scripts.shelf;
    let is_taken = |name: &[u8]| !replace && shelf.read().by_name.contains_key(name);
    let (library, entries) = load(&mut machine.vm, code, engine, is_taken)?;
    let library = Arc::new(library);
    if let Err(fail) = shelf.put(Arc::clone(&library), replace) {
        entries.into_iter().for_each(|e| machine.vm.forget(e));
        return Err(fail);
    }
    machine.add(engine, Arc::clone(&library), entries);
    machine.refresh(engine);
    Ok(library.name.clone())
}

/// Loads all libraries or none.
fn restore(
    engine: &Engine,
    machine: &mut FunctionMachine,
    codes: &[Vec<u8>],
    flush: bool,
    replace: bool,
) -> Outcome {
    let mut loaded = Vec::new();
    let mut fresh = Libraries::default();
    let mut outcome = Ok(());
    for code in codes {
        outcome = load(&mut machine.vm, code, engine, |name| fresh.by_name.contains_key(name))
            .and_then(|(library, entries)| {
                let library = Arc::new(library);
                loaded.push((Arc::clone(&library), entries));
                fresh.put(library, false)
            });
        if outcome.is_err() {
            break;
        }
    }
    let outcome = outcome.and_then(|()| {
        engine.scripts.shelf.change(|all| {
            if flush {
                *all = Libraries::default();
            }
            // Libraries that are replaced go first: functions may move from one library to another.
            for (library, _) in &loaded {
                let name = carry(&library.name).into_owned();
                if all.by_name.contains_key(&library.name) && !replace {
                    return Err(Fail::new(format!("ERR Library {name} already exists")));
                }
                all.remove(&library.name);
            }
            loaded.iter().try_for_each(|(library, _)| all.put(Arc::clone(library), false))
        })
    });
    for (library, entries) in loaded {
        if outcome.is_ok() {
            machine.add(engine, library, entries);
        } else {
            entries.into_iter().for_each(|e| machine.vm.forget(e));
        }
    }
    machine.refresh(engine);
    outcome
}
