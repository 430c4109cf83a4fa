//! A machine with a host that answers from a table, for tests.

use std::borrow::Cow;

use lua::{Called, Code, Failure, Host, Invocation, Machine, Registered, Tick, Vm};
use resp::{Args, Out, Proto, Reply, Span};

/// Records its calls.
#[derive(Default)]
pub(crate) struct Mock {
    pub(crate) calls: Vec<Vec<Vec<u8>>>,
    pub(crate) logs: Vec<String>,
    pub(crate) registered: Vec<Registered>,
    pub(crate) ticks: u32,
    pub(crate) kill: bool,
}

impl Host for Mock {
    fn call(&mut self, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Called {
        self.calls.push(args.to_vecs(0));
        match &args[0] {
            b"RAW" => {
                let raw = args[1].to_vec();
                reply.out().buf.extend_from_slice(&raw);
            }
            b"ECHO" => reply.bulk(&args[1]),
            b"MAP" => {
                reply.map(1);
                reply.bulk("k");
                reply.bulk("v");
            }
            b"ABORT" => return Called::Abort,
            b"NO" => return Called::Refused("no such thing".into()),
            _ => reply.ok(),
        }
        Called::Replied
    }

    fn log(&mut self, level: u8, text: &[u8]) {
        self.logs.push(format!("{level} {}", String::from_utf8_lossy(text)));
    }

    fn may_call(&mut self, args: &Args<'_>) -> Option<bool> {
        (&args[0] != b"NO").then_some(true)
    }

    fn set_repl(&mut self, _: u8) {}

    fn count_error(&mut self, _: &[u8]) {}

    fn tick(&mut self) -> Tick {
        self.ticks += 1;
        if self.kill { Tick::Kill } else { Tick::Continue }
    }

    fn register(&mut self, f: Registered) -> Result<(), Cow<'static, str>> {
        self.registered.push(f);
        Ok(())
    }
}

pub(crate) fn machine() -> Vm {
    Vm::new(Machine::Scripts, "7.4.0", 64 << 20, 1)
}

/// One with little memory.
pub(crate) fn small() -> Vm {
    Vm::new(Machine::Scripts, "7.4.0", 8 << 20, 1)
}

pub(crate) fn run_in(
    vm: &mut Vm,
    host: &mut Mock,
    text: &str,
    words: &[&str],
    proto: Proto,
) -> String {
    let script = match vm.compile(text.as_bytes()) {
        Ok(c) => c,
        Err(e) => return format!("compile: {e}"),
    };
    let mut owned: Vec<Vec<u8>> = words.iter().map(|w| w.as_bytes().to_vec()).collect();
    let spans: Vec<Span> = (0..owned.len()).map(Span::owned).collect();
    let args = Args::new(&[], &spans, &mut owned);
    let mut out = Out::default();
    let mut reply = Reply::new(&mut out, proto);
    let what = Invocation {
        code: Code::Script(&script),
        name: "sha",
        args: &args,
        first: 0,
        keys: words.len().min(1),
    };
    let outcome = vm.run(&what, host, &mut reply);
    vm.release(script);
    match outcome {
        Ok(()) => String::from_utf8_lossy(&out.join()).into_owned(),
        Err(Failure::Error(text, _)) => format!("error: {}", String::from_utf8_lossy(&text)),
        Err(Failure::Aborted) => "aborted".into(),
    }
}

/// Runs a script in a machine of its own.
pub(crate) fn run(text: &str) -> String {
    run_in(&mut machine(), &mut Mock::default(), text, &["key", "arg1", "arg2"], Proto::V2)
}
