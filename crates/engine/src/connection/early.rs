//! Commands that change nothing but their own session, answered while the thread of the session is stuck
//! in a script. The client is answered at once; its session follows when the thread is free, by running
//! the command then, before any other command of this client. The state that others see of the client
//! changes at once.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use commands::{Fail, Outcome};
use resp::{Args, Out, Proto, Reply, Span};

use super::{auth, hello};
use crate::acl::User;
use crate::clients::{Client, Early};
use crate::dispatch::lookup;
use crate::engine::Engine;
use crate::mailbox::Message;
use crate::server::replication;
use crate::session::Session;
use crate::thread::Thread;

/// Answers AUTH, HELLO, RESET, MULTI, DISCARD, WATCH, UNWATCH, REPLCONF and QUIT. Where a transaction is queued,
/// the others than MULTI, DISCARD, WATCH, RESET and QUIT are queued.
///
/// WATCH counts from when the session follows. No command that reads a key is answered before, so that no client has
/// seen a value that is older than its watch.
pub(crate) fn answer(
    engine: &Engine,
    client: &Client,
    name: &str,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let in_multi = client.multi.load(Relaxed) >= 0;
    match name {
        "multi" if in_multi => return Err(Fail::text("ERR MULTI calls can not be nested")),
        "watch" if in_multi => return Err(Fail::text("ERR WATCH inside MULTI is not allowed")),
        "discard" if !in_multi => return Err(Fail::text("ERR DISCARD without MULTI")),
        "multi" => {
            client.multi.store(0, Relaxed);
            reply.ok();
        }
        "discard" => {
            leave_multi(client);
            reply.ok();
        }
        "reset" => {
            leave_multi(client);
            enter(client, engine.acl.default_user(), engine.acl.is_open());
            client.names.write().name.clear();
            client.proto.store(2, Relaxed);
            reply.set_proto(Proto::V2);
            reply.simple("RESET");
        }
        "quit" => {
            client.closing.store(true, Relaxed);
            engine.post(client.thread, Message::Close(client.id));
            reply.ok();
            return Ok(());
        }
        _ if in_multi => {
            client.multi.fetch_add(1, Relaxed);
            reply.simple("QUEUED");
        }
        "auth" => {
            auth::early(engine, client, args)?;
            reply.ok();
        }
        "hello" => hello::early(engine, client, args, reply)?,
        "replconf" => {
            // It changes nothing.
            if replication::check_replconf(args)? {
                reply.ok();
            }
            return Ok(());
        }
        // WATCH and UNWATCH.
        _ => reply.ok(),
    }
    note(client, Early::Done(args.to_vecs(0)));
    Ok(())
}

/// Refuses a command, as [`Thread::refuse`] does: a transaction that is being queued fails. Returns the text of the
/// refusal.
pub(crate) fn refuse(client: &Client, is_exec: bool, fail: Fail) -> Fail {
    if client.multi.load(Relaxed) < 0 {
        return fail;
    }
    if is_exec {
        leave_multi(client);
        note(client, Early::Done(vec![b"DISCARD".to_vec()]));
        return Fail::new(format!("EXECABORT Transaction discarded because of: {}", fail.0));
    }
    client.spoiled.store(true, Relaxed);
    note(client, Early::Refused);
    fail
}

fn note(client: &Client, what: Early) {
    client.early.lock().push(what);
    client.has_early.store(true, Relaxed);
}

/// Others see that the client queues no transaction.
fn leave_multi(client: &Client) {
    client.multi.store(-1, Relaxed);
    client.spoiled.store(false, Relaxed);
}

/// Makes the client act as `user`.
pub(super) fn enter(client: &Client, user: &Arc<User>, authenticated: bool) {
    *client.user.write() = Arc::clone(user);
    client.authenticated.store(authenticated, Relaxed);
}

impl Thread {
    /// Has the session run the commands that were answered while this thread was stuck.
    #[cold]
    pub(crate) fn catch_up(&mut self, engine: &Engine, session: &mut Session) {
        session.client.has_early.store(false, Relaxed);
        let early = std::mem::take(&mut *session.client.early.lock());
        // The commands themselves do so again.
        let queued = session.multi.as_ref().map_or(-1, |m| m.commands().count() as i64);
        session.client.multi.store(queued, Relaxed);
        for what in early {
            let mut words = match what {
                Early::Done(words) => words,
                Early::Refused => {
                    if let Some(multi) = &mut session.multi {
                        multi.failed = true;
                        session.client.spoiled.store(true, Relaxed);
                    }
                    continue;
                }
            };
            let spans: Vec<Span> = (0..words.len()).map(Span::owned).collect();
            let mut args = Args::new(&[], &spans, &mut words);
            let Ok(id) = lookup(engine, &args) else { continue };
            let mut out = Out::default();
            let mut reply = Reply::new(&mut out, session.proto);
            self.since = None;
            if self.queue(engine, session, id, &args) {
                continue;
            }
            self.call_command(engine, session, id, &mut args, &mut reply);
        }
    }
}

/// The text of a command that is refused without its password.
pub(super) fn refused(engine: &Engine, client: &Client, user: &[u8], command: &[u8]) -> Fail {
    crate::acl::note_login(engine, user, client, crate::acl::Context::TopLevel, command);
    auth::WRONGPASS
}
