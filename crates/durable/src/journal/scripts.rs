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
use commands::row::Flags;
use engine::scripting::cache::{self, Digest};
use engine::scripting::{MEMORY_MAX, key_count, shebang};
use engine::{Engine, Run, Table, replay_data};
use lua::{Called, Code, Compiled, Failure, Host, Invocation, Machine, Registered, Tick, Vm};
use resp::{Args, Out, Proto, Reply};
use store::{Context, Db};

/// The commands whose replies Redis sorted for scripts while it replicated the scripts themselves.
const SORTED: [&str; 7] = ["keys", "hkeys", "hvals", "smembers", "sinter", "sunion", "sdiff"];

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
    /// Whether a command is one of those that are replayed here.
    pub(super) fn knows(name: &str) -> bool {
        matches!(name, "eval" | "evalsha" | "script|load" | "script|flush")
    }

    /// Replays it: EVAL, EVALSHA, SCRIPT LOAD or SCRIPT FLUSH. The inner result is the script's own
    /// failure, which happened the first time, too.
    ///
    /// # Errors
    /// The reason that it cannot be replayed.
    pub(super) fn play(
        &mut self,
        name: &str,
        target: Target<'_>,
        args: &Args<'_>,
    ) -> Result<Result<(), Fail>, String> {
        match name {
            "eval" => Ok(match self.compile(&args[1]) {
                Ok(digest) => return self.run(digest, target, args),
                Err(fail) => Err(fail),
            }),
            "evalsha" => match cache::parse(&args[1]) {
                Some(digest) => self.run(digest, target, args),
                None => Err("EVALSHA without a digest".to_owned()),
            },
            "script|load" => Ok(self.compile(&args[2]).map(|_| ())),
            _ => {
                *self = Self::default();
                Ok(Ok(()))
            }
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

impl Again<'_> {
    fn find(&self, args: &Args<'_>) -> Option<u16> {
        let table = self.target.table;
        let top = table.find(&args[0])?;
        if table.get(top).row.subcommands.is_empty() {
            return Some(top);
        }
        table.find_sub(top, args.get(1)?)
    }

    /// Commands that need a session: of no consequence here, except SELECT.
    fn session(&mut self, name: &str, args: &Args<'_>, reply: &mut Reply<'_>) -> Called {
        match name {
            "select" => {
                let n = stdx::num::parse_i64(&args[1]).and_then(|n| usize::try_from(n).ok());
                match n.filter(|n| *n < self.target.engine.keyspace.databases()) {
                    Some(n) => {
                        self.target.db = n;
                        reply.ok();
                    }
                    None => reply.error("ERR DB index is out of range"),
                }
            }
            "publish" => reply.int(0),
            "ping" if args.len() == 1 => reply.simple("PONG"),
            "ping" | "echo" => reply.bulk(&args[1]),
            "time" => {
                let ms = self.target.engine.clock.wall_ms();
                reply.array(2);
                reply.bulk((ms / 1000).to_string());
                reply.bulk((ms % 1000 * 1000).to_string());
            }
            _ => {
                self.trouble = Some(name.to_uppercase());
                return Called::Abort;
            }
        }
        Called::Replied
    }
}

impl Host for Again<'_> {
    fn call(&mut self, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Called {
        let Some(id) = self.find(args) else {
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
        let name = cmd.row.name;
        let Run::Data(run) = cmd.run else { return self.session(name, args, reply) };
        let target = &mut self.target;
        let mut db = Db::lock_all(&target.engine.keyspace, target.db, target.cx);
        if reply.proto() == Proto::V2 && SORTED.contains(&name) {
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
        self.find(args).map(|_| true)
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
