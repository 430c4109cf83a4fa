//! The engine without session commands: data commands work, and nothing else is there.

use config::Config;
use engine::log::Log;
use engine::{CommandSet, Endpoint, Engine, Mailbox, Options, Session, Thread};
use stdx::clock::Clock;

#[test]
fn data_commands_need_no_others() {
    let engine = Engine::new(Options {
        config: Config::new(),
        commands: CommandSet::NONE,
        durability: std::sync::Arc::new(()),
        renames: Vec::new(),
        clock: Clock::real(),
        log: Log::silent(),
        config_file: None,
        executable: String::new(),
    });
    let (index, worker) = engine.add_worker(Mailbox::new(|| {}));
    let mut thread = Thread::new(&engine, index, worker);
    let mut session = Session::new(&engine, index, Endpoint::nowhere());
    let mut call = |words: &[&[u8]]| thread.call(&engine, &mut session, words).join();
    assert_eq!(call(&[b"SET", b"k", b"v"]), b"+OK\r\n");
    assert_eq!(call(&[b"GET", b"k"]), b"$1\r\nv\r\n");
    assert!(call(&[b"EVAL", b"return 1", b"0"]).starts_with(b"-ERR unknown command 'EVAL'"));
    assert!(call(&[b"MULTI"]).starts_with(b"-ERR unknown command 'MULTI'"));
}
