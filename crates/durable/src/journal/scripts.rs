//! Scripts in an append-only file of Redis: before 5.0 (and up to 6.2 with `lua-replicate-commands no`)
//! it holds the scripts where later ones hold the effects of the scripts. They run again as they ran
//! there: their random numbers begin anew, and replies without an order come sorted, so that they do
//! the same.
//!
//! The loader has the whole keyspace locked. A script that calls a command that cannot be replayed ends
//! the load: the command's effects are unknown.

use std::borrow::Cow;
use std::collections::HashMap;

use commands::Fail;
use commands::row::{Flags, Traits};
use engine::scripting::cache::{self, Digest};
use engine::scripting::{MEMORY_MAX, key_count, shebang};
use engine::{Engine, Replayed, Run, Table, replay_data};
use lua::{Called, Code, Compiled, Failure, Host, Invocation, Machine, Registered, Tick, Vm};
use resp::{Args, Out, Proto, Reply};
use store::{Context, Db};

/// The scripts of a file. It begins without any.
#[derive(Default)]
pub(super) struct Replayer {
    vm: Option<Vm>,
    compiled: HashMap<Digest, (String, Compiled)>,
}

/// Where a script runs.
pub(super) struct Target<'a> {
    pub(super) engine: &'a Engine,
    /// Commands under their own names.
    pub(super) table: &'a Table,
    pub(super) cx: &'a mut Context,
    pub(super) db: usize,
}

impl Replayer {
    /// Replays a session command: EVAL, EVALSHA, SCRIPT LOAD or SCRIPT FLUSH. The inner result is the
    /// script's own failure, which happened the first time, too. `name` is that of its row.
    ///
    /// # Errors
    /// The reason that it cannot be replayed.
    pub(super) fn play(
        &mut self,
        name: &str,
        target: Target<'_>,
        args: &Args<'_>,
    ) -> Result<Result<(), Fail>, String> {
        let traits =
            find(target.table, args).map_or(Traits::NONE, |id| target.table.get(id).traits);
        match traits {
            t if t.has(Traits::RUNS_TEXT) => Ok(match self.compile(&args[1]) {
                Ok(digest) => return self.run(digest, target, args),
                Err(fail) => Err(fail),
            }),
            t if t.has(Traits::RUNS_DIGEST) => match cache::parse(&args[1]) {
                Some(digest) => self.run(digest, target, args),
                None => Err("EVALSHA without a digest".to_owned()),
            },
            t if t.has(Traits::KEEPS_TEXT) => Ok(self.compile(&args[2]).map(|_| ())),
            t if t.has(Traits::FORGETS_SCRIPTS) => {
                *self = Self::default();
                Ok(Ok(()))
            }
            _ => Err(format!("{name} cannot be loaded")),
        }
    }

    fn compile(&mut self, text: &[u8]) -> Result<Digest, Fail> {
        let digest = cache::digest(text);
        if !self.compiled.contains_key(&digest) {
            let (_, start) = shebang::of_script(text).map_err(Fail::new)?;
            let vm = self.vm.get_or_insert_with(|| {
                Vm::new(Machine::Scripts, engine::COMPAT_VERSION, MEMORY_MAX, 0)
            });
            let code = vm.compile(text.get(start..).unwrap_or_default()).map_err(Fail::new)?;
            let name = String::from_utf8_lossy(&stdx::sha1hex(text)).into_owned();
            self.compiled.insert(digest, (name, code));
        }
        Ok(digest)
    }

    fn run(
        &mut self,
        digest: Digest,
        target: Target<'_>,
        args: &Args<'_>,
    ) -> Result<Result<(), Fail>, String> {
        let (Some(vm), Some((name, code))) = (&mut self.vm, self.compiled.get(&digest)) else {
            return Err("EVALSHA of a script that is not in the file".to_owned());
        };
        let keys = match key_count(args, Fail::NOT_INTEGER) {
            Ok(keys) => keys,
            Err(fail) => return Ok(Err(fail)),
        };
        let what = Invocation { code: Code::Script(code), name, args, first: 3, keys };
        let mut out = Out::default();
        let mut host = Again { target, trouble: None };
        host.target.cx.in_script = true;
        let outcome = vm.run(&what, &mut host, &mut Reply::new(&mut out, Proto::V2));
        host.target.cx.in_script = false;
        if let Some(command) = host.trouble {
            return Err(format!("a script calls {command}, which cannot be done while loading"));
        }
        Ok(outcome.map_err(|failure| match failure {
            Failure::Error(text, _) => Fail::new(String::from_utf8_lossy(&text).into_owned()),
            Failure::Aborted => Fail::text("ERR the script was ended"),
        }))
    }
}

/// The server, as a script of the file sees it.
struct Again<'a> {
    target: Target<'a>,
    /// A command that cannot be replayed.
    trouble: Option<String>,
}

/// The number of the command that `args` call.
fn find(table: &Table, args: &Args<'_>) -> Option<u16> {
    let top = table.find(&args[0])?;
    if table.get(top).row.subcommands.is_empty() {
        return Some(top);
    }
    table.find_sub(top, args.get(1)?)
}

impl Again<'_> {
    /// A command that needs a session.
    fn session(&mut self, id: u16, args: &Args<'_>, reply: &mut Reply<'_>) -> Called {
        let Target { engine, table, db, .. } = &mut self.target;
        let Some(run) = table.in_replayed_scripts(id) else {
            self.trouble = Some(table.get(id).row.name.to_uppercase());
            return Called::Abort;
        };
        if let Err(fail) = run(&mut Replayed { engine, db }, args, reply) {
            reply.error(&*fail.0);
        }
        Called::Replied
    }
}

impl Host for Again<'_> {
    fn call(&mut self, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Called {
        let Some(id) = find(self.target.table, args) else {
            return Called::Refused("Unknown Redis command called from script".into());
        };
        let cmd = self.target.table.get(id);
        if !cmd.arity_fits(args.len()) {
            return Called::Refused(
                "Wrong number of args calling Redis command from script".into(),
            );
        }
        if cmd.row.flags.has(Flags::NOSCRIPT) {
            return Called::Refused("This Redis command is not allowed from script".into());
        }
        let Run::Data(run) = cmd.run else { return self.session(id, args, reply) };
        let target = &mut self.target;
        let mut db = Db::lock_all(&target.engine.keyspace, target.db, target.cx);
        if reply.proto() == Proto::V2 && cmd.traits.has(Traits::SORTED_FOR_SCRIPTS) {
            let mut out = Out::default();
            match replay_data(&mut db, run, args, &mut Reply::new(&mut out, Proto::V2)) {
                Ok(()) => {
                    let bytes = out.join();
                    let sorted = sorted(&bytes).unwrap_or_default();
                    reply.array(sorted.len());
                    sorted.iter().for_each(|element| reply.bulk(element));
                }
                Err(fail) => reply.error(&*fail.0),
            }
        } else if let Err(fail) = replay_data(&mut db, run, args, reply) {
            reply.error(&*fail.0);
        }
        Called::Replied
    }

    fn log(&mut self, level: u8, text: &[u8]) {
        engine::scripting::log(self.target.engine, level, text);
    }

    fn may_call(&mut self, args: &Args<'_>) -> Option<bool> {
        find(self.target.table, args).map(|_| true)
    }

    fn set_repl(&mut self, _: u8) {}

    fn count_error(&mut self, _: &[u8]) {}

    fn tick(&mut self) -> Tick {
        Tick::Continue
    }

    fn register(&mut self, _: Registered) -> Result<(), Cow<'static, str>> {
        Err("redis.register_function can only be called on FUNCTION LOAD command".into())
    }
}

/// The elements of an array of strings, in order.
fn sorted(reply: &[u8]) -> Option<Vec<&[u8]>> {
    let mut rest = reply;
    let n = number_line(&mut rest, b'*')?;
    let mut all = Vec::new();
    for _ in 0..n {
        let len = number_line(&mut rest, b'$')?;
        let (element, behind) = rest.split_at_checked(len)?;
        all.push(element);
        rest = behind.strip_prefix(b"\r\n")?;
    }
    all.sort_unstable();
    Some(all)
}

/// Takes a line that is a number behind a byte.
fn number_line(bytes: &mut &[u8], kind: u8) -> Option<usize> {
    let rest = bytes.strip_prefix(&[kind])?;
    let end = rest.iter().position(|b| *b == b'\r')?;
    let n = stdx::num::parse_i64(rest.get(..end)?)?;
    *bytes = rest.get(end + 2..)?;
    usize::try_from(n).ok()
}
