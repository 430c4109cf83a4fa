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
use crate::clients::Client;
use crate::dispatch::lookup;
use crate::engine::Engine;
use crate::mailbox::Message;
use crate::session::Session;
use crate::thread::Thread;

/// Answers AUTH, HELLO, RESET, MULTI and QUIT.
pub(crate) fn answer(
    engine: &Engine,
    client: &Client,
    name: &str,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    match name {
        "auth" => {
            auth::early(engine, client, args)?;
            reply.ok();
        }
        "hello" => hello::early(engine, client, args, reply)?,
        "reset" => {
            enter(client, engine.acl.default_user(), engine.acl.is_open());
            client.names.write().name.clear();
            client.receiver.set_proto(Proto::V2);
            reply.set_proto(Proto::V2);
            reply.simple("RESET");
        }
        "multi" => {
            client.multi.store(0, Relaxed);
            reply.ok();
        }
        _ => {
            client.closing.store(true, Relaxed);
            engine.post(client.thread, Message::Close(client.id));
            reply.ok();
            return Ok(());
        }
    }
    client.early.lock().push(args.to_vecs(0));
    client.has_early.store(true, Relaxed);
    Ok(())
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
        // The command itself does so again.
        session.client.multi.store(-1, Relaxed);
        for mut words in early {
            let spans: Vec<Span> = (0..words.len()).map(Span::owned).collect();
            let mut args = Args::new(&[], &spans, &mut words);
            let Ok(id) = lookup(engine, &args) else { continue };
            let mut out = Out::default();
            let mut reply = Reply::new(&mut out, session.proto);
            self.since = None;
            self.call_command(engine, session, id, &mut args, &mut reply);
        }
    }
}

/// The text of a command that is refused without its password.
pub(super) fn refused(engine: &Engine, client: &Client, user: &[u8], command: &[u8]) -> Fail {
    crate::acl::note_login(engine, user, client, crate::acl::Context::TopLevel, command);
    auth::WRONGPASS
}
