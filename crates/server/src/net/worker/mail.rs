//! What other threads ask of a worker.

use std::cmp::Reverse;
use std::sync::atomic::Ordering::Relaxed;

use engine::{Message, Session};
use resp::Out;

use super::Worker;

impl Worker {
    pub(super) fn read_mail(&mut self) {
        let arrivals = std::mem::take(&mut *self.inbox.arrivals());
        for a in arrivals {
            self.welcome(a);
        }
        self.thread.receive();
        for m in self.inbox.worker.mailbox.take() {
            match m {
                Message::Close(id) => {
                    if let Some(&i) = self.places.get(&id) {
                        self.close(i);
                    }
                }
                Message::Push(id, bytes) => {
                    let there = self.places.contains_key(&id);
                    self.thread.push_bytes(id, &bytes, there);
                }
                Message::Answer(id, bytes) => {
                    if let Some(&i) = self.places.get(&id) {
                        self.answered(i, Out { buf: bytes, ..Out::default() });
                    }
                }
                Message::Pieces(id, out) => {
                    if let Some(&i) = self.places.get(&id) {
                        self.answered(i, out);
                    }
                }
                Message::Wakes(id) => {
                    let waiting = self.places.get(&id).map(|&i| &self.conns[i].session);
                    if let Some(at) = waiting.and_then(Session::wakes_at) {
                        self.timers.push(Reverse((at, id)));
                    }
                }
                Message::Fed(id) => self.begin_feeding(id),
                Message::Purge => crate::give_back::purge(),
                Message::Run(job) => {
                    job.run(&self.shared.engine, &mut self.thread);
                    // The job may have taken long, and the next messages run commands.
                    self.thread.tick(&self.shared.engine);
                }
                Message::Resume => {
                    // A command that ends a script must not wait behind one.
                    self.resume_kills();
                    let paused = std::mem::take(&mut self.paused);
                    self.resume(&paused);
                }
            }
        }
    }

    /// Goes on with those paused connections that wait with a command that ends scripts.
    pub(super) fn resume_kills(&mut self) {
        let engine = &self.shared.engine;
        let ends = |i: &usize| self.conns.get(*i).is_some_and(|c| c.ends_scripts(engine));
        let (kills, others) = std::mem::take(&mut self.paused).into_iter().partition(ends);
        self.paused = others;
        self.resume(&kills);
    }

    pub(super) fn resume(&mut self, paused: &[usize]) {
        for &i in paused {
            if let Some(c) = self.conns.get_mut(i) {
                c.wait = None;
                c.session.client.paused.store(false, Relaxed);
                self.serve(i, false);
            }
        }
    }
}
