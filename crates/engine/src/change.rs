//! Changes of options while the server runs, by CONFIG SET or SIGHUP, and their consequences: log level,
//! working directory, slow log, eviction, and, through [`Engine::on_config`], the listeners.

use config::{Caller, Config, Id, LogFormat, Loglevel, SetError};

use crate::engine::Engine;
use crate::log::Level;
use crate::thread::Thread;

/// Sets options, all or none, and applies the consequences.
pub fn change(
    engine: &Engine,
    thread: &mut Thread,
    pairs: &[(&[u8], &[u8])],
    caller: Caller,
) -> Result<Vec<Id>, SetError> {
    // EXEC has locked it before it took the shards.
    let _gate = (!thread.in_transaction).then(|| engine.lock_config());
    let outcome = engine.config.set(pairs, caller, &mut |id, c| {
        engine.durability.apply(engine, thread, id, c)?;
        apply(engine, id, c)
    });
    // After a refusal too: other threads may have seen options with the values that they did not
    // keep.
    engine.config_changed();
    thread.refresh(&engine.config);
    let changed = outcome?;
    if changed.contains(&Id::Maxmemory) {
        let max = engine.config.bytes(Id::Maxmemory);
        let used = stdx::mem::used().saturating_sub(stdx::mem::apart());
        if max > 0 && used > max {
            crate::log!(
                engine.log,
                Warning,
                "the new maxmemory of {} bytes is less than the {} in use: \
                 keys will be evicted, or writes refused",
                max,
                used
            );
            // Within a transaction nothing disappears between two commands: the next command evicts.
            if !thread.in_transaction {
                thread.make_room(engine);
            }
        }
    }
    engine.durability.options_set(engine, &changed);
    Ok(changed)
}

/// Applies the effects of a changed option beyond its value.
fn apply(engine: &Engine, id: Id, c: &Config) -> Result<(), String> {
    match id {
        Id::Loglevel => engine.log.set_level(match c.chosen(Id::Loglevel) {
            Loglevel::Debug => Level::Debug,
            Loglevel::Verbose => Level::Verbose,
            Loglevel::Notice => Level::Notice,
            Loglevel::Warning => Level::Warning,
            Loglevel::Nothing => Level::Nothing,
        }),
        Id::LogFormat => {
            engine.log.sink().set_json(matches!(c.chosen(Id::LogFormat), LogFormat::Json));
        }
        Id::SlowlogMaxLen => {
            engine.slowlog.trim(usize::try_from(c.int(id)).unwrap_or(0));
        }
        Id::Dir => {
            let dir = c.string(id);
            std::env::set_current_dir(&dir).map_err(|e| config::os_text(&e))?;
        }
        _ => {}
    }
    match engine.hooks.config.read().as_ref() {
        Some(hook) => hook(id, c),
        None => Ok(()),
    }
}
