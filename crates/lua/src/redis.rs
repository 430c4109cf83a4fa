//! The library `redis`.

use std::borrow::Cow;

use resp::{Args, Out, Proto, Reply, Span};
use stdx::carried::carried;

use crate::front::is_front;
use crate::host::{Called, Flags, Registered};
use crate::layout::Item;
use crate::number;
use crate::raw::{LuaType, Raise, Returned, Stack, stdx_cast};
use crate::refusal::{push_error, push_refusal};
use crate::reply::push;
use crate::state::{Ending, KILLED, Machine, SHUTDOWN, Scratch};

/// Pushes the library.
pub(crate) fn open(s: Stack, machine: Machine, version: &str) {
    s.new_table(0, 32);
    s.set_function("call", call);
    s.set_function("pcall", pcall);
    shared(s, version);
    s.set_function("setresp", setresp);
    s.set_function("sha1hex", sha1hex);
    s.set_function("error_reply", error_reply);
    s.set_function("status_reply", status_reply);
    s.set_function("set_repl", set_repl);
    let targets = [("NONE", 0), ("AOF", 1), ("SLAVE", 2), ("REPLICA", 2), ("ALL", 3)];
    for (name, n) in targets {
        s.push_number(f64::from(n));
        s.set_field(-2, &format!("REPL_{name}"));
    }
    s.set_function("acl_check_cmd", acl_check_cmd);
    if machine == Machine::Scripts {
        s.set_function("breakpoint", breakpoint);
        s.set_function("debug", debug);
        s.set_function("replicate_commands", replicate_commands);
    }
}

/// Pushes the library as it is while functions are loaded.
pub(crate) fn open_loading(s: Stack, version: &str) {
    s.new_table(0, 8);
    s.set_function("register_function", register_function);
    shared(s, version);
}

fn shared(s: Stack, version: &str) {
    s.set_function("log", log);
    for (n, name) in ["DEBUG", "VERBOSE", "NOTICE", "WARNING"].into_iter().enumerate() {
        s.push_number(n as f64);
        s.set_field(-2, &format!("LOG_{name}"));
    }
    let number = version.split('.').fold(0u32, |n, part| n << 8 | part.parse::<u32>().unwrap_or(0));
    s.push_number(f64::from(number));
    s.set_field(-2, "REDIS_VERSION_NUM");
    s.push_bytes(version);
    s.set_field(-2, "REDIS_VERSION");
}

/// An error of this library: a table, as those of commands.
fn fail(s: Stack, text: &str) -> Returned {
    push_refusal(s, &carried(text), false);
    Err(Raise::Top)
}

// ---- calling commands ------------------------------------------------------------------------------

fn call(s: Stack) -> Returned {
    generic(s, true)
}

fn pcall(s: Stack) -> Returned {
    generic(s, false)
}

/// Appends a text. Most are short, and two copies of constant length, which may overlap, cost less
/// than a call of `memcpy`.
#[inline]
fn append(to: &mut Vec<u8>, text: &[u8]) {
    #[inline]
    fn overlapping<const N: usize>(to: &mut Vec<u8>, text: &[u8]) -> bool {
        let (Some(head), Some(tail)) = (text.first_chunk::<N>(), text.last_chunk::<N>()) else {
            return false;
        };
        if text.len() > 2 * N {
            return false;
        }
        let end = to.len() + text.len();
        to.reserve(2 * N);
        to.extend_from_slice(head);
        to.truncate(end - N);
        to.extend_from_slice(tail);
        true
    }
    let done = overlapping::<4>(to, text)
        || overlapping::<8>(to, text)
        || overlapping::<16>(to, text)
        || overlapping::<1>(to, text);
    if !done {
        to.extend_from_slice(text);
    }
}

/// Puts the arguments into the buffer. The texts of numbers are made there; Lua's own strings are
/// copied, so that a command may do as it likes while the collector runs.
#[inline]
fn read_args(s: Stack, scratch: &mut Scratch) -> Result<(), &'static str> {
    let Scratch { args, spans, .. } = scratch;
    args.clear();
    spans.clear();
    let items = s.arguments();
    let max = s.state().memory_limit().saturating_mul(2).min(u32::MAX as usize);
    if items.is_empty() {
        return Err("Please specify at least one argument for this redis lib call");
    }
    spans.reserve(items.len());
    for item in items {
        let start = args.len();
        match item.read() {
            Item::Text(text) => append(args, text),
            Item::Number(n) => number::argument(args, n),
            _ => return Err("Lua redis lib command arguments must be strings or integers"),
        }
        let n = args.len() - start;
        // One string may be an argument many times.
        if args.len() >= max {
            return Err("the arguments are too large");
        }
        spans.push(Span::new(start, n));
    }
    Ok(())
}

fn generic(s: Stack, raise: bool) -> Returned {
    if s.state().aborted {
        s.push_bytes("the script was ended");
        return Err(Raise::Top);
    }
    let Some(host) = s.state().host() else { return fail(s, "no command may be called here") };
    // No other code has the buffers: hosts do not call scripts.
    let mut scratch = s.state().scratch.take().unwrap_or_default();
    let failed = match read_args(s, &mut scratch) {
        Err(text) => {
            push_refusal(s, text.as_bytes(), false);
            true
        }
        Ok(()) => {
            let proto = s.state().proto;
            let Scratch { args, spans, out } = &mut *scratch;
            let called =
                host.call(&mut Args::new(args, spans, &mut []), &mut Reply::new(out, proto));
            match called {
                Called::Replied if proto == Proto::V2 && !is_error(out) && s.is_last() => {
                    // The script does nothing further except return this reply: it need not become
                    // values to be a reply again.
                    s.state().passes = true;
                    s.state().scratch = Some(scratch);
                    s.push_nil();
                    return Ok(1);
                }
                Called::Replied if !is_error(out) && s.is_ignored() => {
                    scratch.clear();
                    s.state().scratch = Some(scratch);
                    return Ok(0);
                }
                Called::Replied if out.shared.is_empty() => convert(s, &out.buf)?,
                Called::Replied => convert(s, &out.join())?,
                Called::Refused(text) => {
                    push_refusal(s, &carried(&text), true);
                    true
                }
                Called::Abort => {
                    s.state().aborted = true;
                    s.hook_lines();
                    s.push_bytes("the script was ended");
                    s.state().scratch = Some(scratch);
                    return Err(Raise::Top);
                }
                Called::Kill | Called::Shutdown => {
                    let killed = called == Called::Kill;
                    s.state().ending = if killed { Ending::Killed } else { Ending::Shutdown };
                    s.hook_lines();
                    push_refusal(s, if killed { KILLED } else { SHUTDOWN }, false);
                    scratch.clear();
                    s.state().scratch = Some(scratch);
                    return Err(Raise::Top);
                }
            }
        }
    };
    scratch.clear();
    s.state().scratch = Some(scratch);
    if failed && raise { Err(Raise::Top) } else { Ok(1) }
}

fn is_error(out: &Out) -> bool {
    out.buf.first() == Some(&b'-')
}

/// Pushes a reply. Returns whether it is an error.
#[inline]
fn convert(s: Stack, mut bytes: &[u8]) -> Result<bool, Raise> {
    let failed = bytes.first() == Some(&b'-');
    push(s, &mut bytes, 0)?;
    Ok(failed)
}

fn acl_check_cmd(s: Stack) -> Returned {
    let Some(host) = s.state().host() else { return fail(s, "no command may be called here") };
    let mut scratch = s.state().scratch.take().unwrap_or_default();
    let answer = read_args(s, &mut scratch)
        .map(|()| host.may_call(&Args::new(&scratch.args, &scratch.spans, &mut [])));
    s.state().scratch = Some(scratch);
    match answer {
        Err(text) => fail(s, text),
        Ok(None) => fail(s, "Invalid command passed to redis.acl_check_cmd()"),
        Ok(Some(may)) => {
            s.push_bool(may);
            Ok(1)
        }
    }
}

// ---- the rest --------------------------------------------------------------------------------------

fn sha1hex(s: Stack) -> Returned {
    if s.top() != 1 {
        return fail(s, "wrong number of arguments");
    }
    let text = s.bytes(1).unwrap_or(&[]);
    s.charge(text.len());
    s.push_bytes(stdx::sha1hex(text));
    Ok(1)
}

fn one_string<'a>(s: Stack) -> Option<&'a [u8]> {
    if s.top() == 1 { s.string(1) } else { None }
}

const WRONG: &[u8] = b"wrong number or type of arguments";

fn error_reply(s: Stack) -> Returned {
    match one_string(s) {
        None => push_refusal(s, WRONG, false),
        Some(text) if text.first() == Some(&b'-') => push_refusal(s, text, false),
        Some(text) => push_error(s, text, false),
    }
    Ok(1)
}

fn status_reply(s: Stack) -> Returned {
    match one_string(s) {
        None => push_refusal(s, WRONG, false),
        Some(text) => {
            s.new_table(0, 1);
            s.push_bytes(text);
            s.set_field(-2, "ok");
        }
    }
    Ok(1)
}

fn setresp(s: Stack) -> Returned {
    if s.top() != 1 {
        return fail(s, "redis.setresp() requires one argument.");
    }
    s.state().proto = match stdx_cast(s.number(1)) {
        2 => Proto::V2,
        3 => Proto::V3,
        _ => return fail(s, "RESP version must be 2 or 3."),
    };
    Ok(0)
}

fn set_repl(s: Stack) -> Returned {
    if s.top() != 1 {
        return fail(s, "redis.set_repl() requires one argument.");
    }
    let flags = stdx_cast(s.number(1));
    if flags & !3 != 0 {
        return fail(
            s,
            "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.",
        );
    }
    if let Some(host) = s.state().host() {
        host.set_repl(flags as u8);
    }
    Ok(0)
}

fn log(s: Stack) -> Returned {
    if s.top() < 2 {
        return fail(s, "redis.log() requires two arguments or more.");
    }
    if !s.is_number(1) {
        return fail(s, "First argument must be a number (log level).");
    }
    let level = stdx_cast(s.number(1));
    if !(0..=3).contains(&level) {
        return fail(s, "Invalid log level.");
    }
    let mut text = Vec::new();
    for i in 2..=s.top() {
        if let Some(piece) = s.bytes(i as i32) {
            if i > 2 {
                text.push(b' ');
            }
            text.extend_from_slice(piece);
        }
    }
    if let Some(host) = s.state().host() {
        host.log(level as u8, &text);
    }
    Ok(0)
}

/// There is no debugger: as Redis without a debugging session.
fn breakpoint(s: Stack) -> Returned {
    s.push_bool(false);
    Ok(1)
}

fn debug(_: Stack) -> Returned {
    Ok(0)
}

fn replicate_commands(s: Stack) -> Returned {
    s.push_bool(true);
    Ok(1)
}

// ---- functions -------------------------------------------------------------------------------------

fn register_function(s: Stack) -> Returned {
    if !s.state().loading {
        return fail(s, "redis.register_function can only be called on FUNCTION LOAD command");
    }
    let function = match s.top() {
        1 => named(s),
        2 => positional(s),
        _ => Err("wrong number of arguments to redis.register_function".into()),
    };
    let function = match function {
        Ok(f) => f,
        Err(text) => return fail(s, &text),
    };
    let entry = function.entry;
    let outcome = match s.state().host() {
        Some(host) => host.register(function),
        None => Err("redis.register_function can only be called on FUNCTION LOAD command".into()),
    };
    match outcome {
        Ok(()) => Ok(0),
        Err(text) => {
            s.forget(entry);
            fail(s, &text)
        }
    }
}

type Read<T> = Result<T, Cow<'static, str>>;

fn positional(s: Stack) -> Read<Registered> {
    let Some(name) = s.bytes(1) else {
        return Err("first argument to redis.register_function must be a string".into());
    };
    if s.kind(2) != LuaType::Function {
        return Err("second argument to redis.register_function must be a function".into());
    }
    let name = name.to_vec();
    let entry = s.keep_entry();
    Ok(Registered { name, description: None, flags: Flags::default(), entry })
}

fn named(s: Stack) -> Read<Registered> {
    if s.kind(1) != LuaType::Table || is_front(s, 1) {
        return Err(
            "calling redis.register_function with a single argument is only applicable to \
                    Lua table (representing named arguments)."
                .into(),
        );
    }
    let (mut name, mut description, mut flags) = (None, None, Flags::default());
    let mut callback = false;
    s.set_top(1);
    // The callback, once it is known.
    s.push_nil();
    s.push_nil();
    while s.next(1) {
        // A number as key would be changed by being read as text, which breaks the walk.
        let Some(key) = s.string(-2) else {
            return Err(
                "named argument key given to redis.register_function is not a string".into()
            );
        };
        let text = |what: &str| match s.kind(-1) {
            LuaType::String | LuaType::Number => Ok(s.bytes(-1).unwrap_or(&[]).to_vec()),
            _ => Err(Cow::Owned(format!(
                "{what} argument given to redis.register_function must be a string"
            ))),
        };
        match key.to_ascii_lowercase().as_slice() {
            b"function_name" => name = Some(text("function_name")?),
            b"description" => description = Some(text("description")?),
            b"callback" => {
                if s.kind(-1) != LuaType::Function {
                    return Err("callback argument given to redis.register_function must be a \
                                function"
                        .into());
                }
                callback = true;
                s.push_value(-1);
                s.replace(2);
            }
            b"flags" => {
                if s.kind(-1) != LuaType::Table {
                    return Err("flags argument to redis.register_function must be a table \
                                representing function flags"
                        .into());
                }
                flags = read_flags(s)?;
            }
            _ => return Err("unknown argument given to redis.register_function".into()),
        }
        s.pop(1);
    }
    let Some(name) = name else {
        return Err("redis.register_function must get a function name argument".into());
    };
    if !callback {
        return Err("redis.register_function must get a callback argument".into());
    }
    s.push_value(2);
    let entry = s.keep_entry();
    Ok(Registered { name, description, flags, entry })
}

fn read_flags(s: Stack) -> Read<Flags> {
    let mut flags = Flags::default();
    for i in 1.. {
        s.raw_get_at(-1, i);
        if s.kind(-1) == LuaType::Nil {
            s.pop(1);
            break;
        }
        let named = s.bytes(-1).and_then(|n| Flags::named(&n.to_ascii_lowercase()));
        s.pop(1);
        flags = flags.or(named.ok_or("unknown flag given")?);
    }
    Ok(flags)
}
