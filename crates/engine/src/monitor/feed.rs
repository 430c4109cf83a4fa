//! Sending commands to the clients that run MONITOR.

use std::fmt::Write as _;
use std::sync::Arc;

use commands::row::Row;
use resp::Args;

use super::Monitors;
use crate::engine::Engine;
use crate::mailbox::Message;
use crate::session::Session;

impl Monitors {
    /// Sends a command that `session` is about to run to all of them.
    pub fn feed(
        &self,
        engine: &Engine,
        session: &Session,
        wall_us: u64,
        row: &Row,
        args: &Args<'_>,
    ) {
        let peer = &session.client.endpoint;
        let from = if peer.unix { format!("unix:{}", peer.local) } else { peer.peer.to_string() };
        self.feed_from(engine, (session.db, &from), wall_us, row, args);
    }

    /// The same of a command that a script of `session` runs.
    pub(crate) fn feed_script(
        &self,
        engine: &Engine,
        session: &Session,
        wall_us: u64,
        row: &Row,
        args: &Args<'_>,
    ) {
        self.feed_from(engine, (session.db, "lua"), wall_us, row, args);
    }

    fn feed_from(
        &self,
        engine: &Engine,
        (db, from): (usize, &str),
        wall_us: u64,
        row: &Row,
        args: &Args<'_>,
    ) {
        let list = self.list.lock().clone();
        if list.is_empty() {
            return;
        }
        let mut line = String::new();
        let (s, us) = (wall_us / 1_000_000, wall_us % 1_000_000);
        let _ = write!(line, "+{s}.{us:06} [{db} {from}]");
        for (i, a) in args.iter_from(0).enumerate() {
            line.push(' ');
            if row.is_secret(args, i) {
                stdx::repr::push_quoted(&mut line, Row::REDACTED.as_bytes());
            } else {
                stdx::repr::push_quoted(&mut line, a);
            }
        }
        line.push_str("\r\n");
        let line = Arc::new(line.into_bytes());
        for (id, thread) in list {
            if let Some(worker) = engine.worker(thread) {
                worker.inbox.backlog.add(line.len());
                worker.mailbox.post(Message::Push(id, Arc::clone(&line)));
            }
        }
    }
}
