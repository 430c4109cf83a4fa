//! Calls of scripts and functions: found, compiled if this thread has not, and run.

use std::sync::Arc;

use commands::{Fail, Outcome};
use lua::{Code, Invocation};
use resp::{Args, Reply};
use stdx::carried::carry;

use super::run::{self, Task};
use super::{Local, LocalFunction, ScriptMachine, cache, key_count, proven};
use crate::engine::Engine;
use crate::table::Call;

/// There is no script with this digest.
pub const NOSCRIPT: Fail = Fail::text("NOSCRIPT No matching script. Please use EVAL.");

impl Call<'_> {
    /// Runs the script whose text is argument 1, with `keys` keys.
    ///
    /// # Errors
    /// The script cannot be compiled, or it fails.
    pub fn run_script(
        &mut self,
        keys: usize,
        args: &Args<'_>,
        reply: &mut Reply<'_>,
        read_only: bool,
    ) -> Outcome {
        let digest = cache::digest(&args[1]);
        self.run_found(keys, args, reply, read_only, |machine, engine| {
            machine.find(&digest, |machine| {
                let script = match engine.scripts.cache.get(&digest) {
                    Some(there) => there,
                    None => cache::Script::new(&args[1], digest).map_err(Fail::new)?,
                };
                let at = machine.local(engine, Arc::clone(&script))?;
                // Only scripts that can be compiled get there.
                let there = engine.scripts.cache.add(Arc::clone(&script), true);
                if Arc::ptr_eq(&there, &script) { Ok(at) } else { machine.local(engine, there) }
            })
        })
    }

    /// Runs the script of the cache that has this name, with `keys` keys.
    ///
    /// # Errors
    /// The cache has no such script, or the script fails.
    pub fn run_named_script(
        &mut self,
        name: &[u8; 40],
        keys: usize,
        args: &Args<'_>,
        reply: &mut Reply<'_>,
        read_only: bool,
    ) -> Outcome {
        self.run_found(keys, args, reply, read_only, |machine, engine| {
            if let Some(at) = machine.recent(name) {
                return Ok(at);
            }
            let digest = cache::parse(name).ok_or(NOSCRIPT)?;
            machine.find(&digest, |machine| {
                let there = engine.scripts.cache.get(&digest).ok_or(NOSCRIPT)?;
                machine.local(engine, there)
            })
        })
    }

    /// Runs the script whose index `find` returns.
    fn run_found(
        &mut self,
        keys: usize,
        args: &Args<'_>,
        reply: &mut Reply<'_>,
        read_only: bool,
        find: impl FnOnce(&mut ScriptMachine, &Engine) -> Result<usize, Fail>,
    ) -> Outcome {
        let Call { engine, thread, session } = self;
        let engine: &Engine = engine;
        thread.with_scripts(engine, |thread, machine, running| {
            let at = find(machine, engine)?;
            let ScriptMachine { vm, compiled, .. } = machine;
            let Some(local) = compiled.get_mut(at) else { return Err(NOSCRIPT) };
            let Local { script, code, proof, needs_all } = local;
            engine.scripts.cache.touch(script);
            let what =
                Invocation { code: Code::Script(code), name: &script.name, args, first: 3, keys };
            let task = Task {
                what,
                is_eval: true,
                flags: script.flags,
                read_only,
                proven: proven(engine, proof.as_ref(), args, keys),
                needs_all: *needs_all,
                running,
            };
            let mut call = Call { engine, thread, session };
            let (outcome, needed_all) = run::run(&mut call, vm, &task, reply);
            *needs_all |= needed_all;
            outcome
        })
    }

    /// Runs the function whose name is argument 1.
    ///
    /// # Errors
    /// No such function exists, the number of keys is wrong, or the function fails.
    pub fn run_function(
        &mut self,
        args: &Args<'_>,
        reply: &mut Reply<'_>,
        read_only: bool,
    ) -> Outcome {
        let Call { engine, thread, session } = self;
        let engine: &Engine = engine;
        thread.with_functions(engine, |thread, machine, running| {
            let found = machine.function(engine, &args[1])?;
            let keys = key_count(args, Fail::text("ERR Bad number of keys provided"))?;
            let function = &found.library.functions[found.at];
            let LocalFunction { entry, proof, needs_all } = &found.local;
            let name = carry(&function.name);
            let what =
                Invocation { code: Code::Function(*entry), name: &name, args, first: 3, keys };
            let task = Task {
                what,
                is_eval: false,
                flags: Some(function.flags),
                read_only,
                proven: proven(engine, proof.as_deref(), args, keys),
                needs_all: *needs_all,
                running,
            };
            let mut call = Call { engine, thread, session };
            let (outcome, needed_all) = run::run(&mut call, &mut machine.vm, &task, reply);
            if needed_all {
                machine.needs_all(&found);
            }
            outcome
        })
    }
}
