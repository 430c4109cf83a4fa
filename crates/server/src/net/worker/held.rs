//! Replies that wait for replicas: when they are sent, and when they are given up.

use std::sync::Arc;

use config::Id;
use engine::acks::{Pong, of_connection};
use engine::journal::Gate;

use super::super::conn::{Gated, Rare, Sentinel};
use super::super::limits::is_subscriber;
use super::super::outq;
use super::super::unacknowledged::{UNCERTAIN, UNSEEN, replace_replies};
use super::Worker;

impl Worker {
    /// Sends the replies that have waited for replicas and need not wait any more. Whether connections went on with
    /// requests that had come meanwhile.
    pub(super) fn release_held(&mut self) -> bool {
        let mut went_on = false;
        if self.held.is_empty() {
            return went_on;
        }
        self.inbox.worker.wake_request.announce();
        let shared = Arc::clone(&self.shared);
        let (journal, acks) = (&shared.engine.journal, &shared.engine.replication.acks);
        while let Some(held) = self.held.front().copied() {
            let ended = acks.term() != held.term;
            let gate = journal.reached(held.until);
            let place = self.places.get(&held.client);
            let gate_of = place.and_then(|&i| self.conns[i].gate);
            let acts = gate_of.is_some_and(|gated| gated.acts);
            let passes = || acks.pass(held.until, acts, || shared.engine.clock.monotonic_ns());
            if gate_of.is_some()
                && !ended
                && gate != Gate::Never
                && (gate != Gate::Open || !passes())
            {
                break;
            }
            self.held.pop_front();
            let Some(&i) = self.places.get(&held.client) else { continue };
            let c = &mut *self.conns[i];
            let mine = |g: &Gated| g.until == held.until && g.holds_in(held.term);
            let Some(gated) = c.gate.filter(mine) else { continue };
            if gate == Gate::Never && gated.acts {
                self.close(i);
            } else if ended {
                went_on |= self.give_up(i, gated.acts);
            } else {
                c.gate = None;
                went_on |= self.go_on_sending(i);
            }
        }
        went_on
    }

    fn go_on_sending(&mut self, i: usize) -> bool {
        let c = &mut *self.conns[i];
        if c.has_only_output() {
            let sent = c.send_pending();
            self.note_sent(i, sent);
            false
        } else {
            self.serve(i, true);
            true
        }
    }

    /// What a connection was to be told will not be acknowledged in time: it gets errors.
    fn give_up(&mut self, i: usize, acts: bool) -> bool {
        let c = &mut *self.conns[i];
        c.gate = None;
        let error = if acts { UNCERTAIN } else { UNSEEN };
        // In RESP2 messages look like replies.
        let fits = c.web.is_none() && !is_subscriber(c) && c.has_sent_none();
        if !fits || !c.kept().is_some_and(|kept| replace_replies(&mut kept.out, error)) {
            self.close(i);
            return false;
        }
        self.go_on_sending(i)
    }

    /// Gives up what has waited for replicas for too long.
    pub(super) fn give_up_late(&mut self) {
        let timeout = self.shared.engine.config.int(Id::MinReplicasAckTimeout).max(0) as u64;
        let now = self.shared.engine.clock.monotonic_ns();
        while timeout > 0
            && let Some(held) = self.held.front().copied()
            && now.saturating_sub(held.since) >= timeout * 1_000_000
        {
            self.held.pop_front();
            let Some(&i) = self.places.get(&held.client) else { continue };
            let mine = |g: &Gated| g.until == held.until && g.holds_in(held.term);
            if let Some(gated) = self.conns[i].gate.filter(mine) {
                self.give_up(i, gated.acts);
            }
        }
    }

    /// Reports the PONGs that have reached Sentinels.
    pub(super) fn note_pongs(&mut self) {
        let engine = &self.shared.engine;
        if !engine.replication.acks.listens() {
            return;
        }
        for (_, c) in &mut self.conns {
            if c.get_rare().is_none_or(|rare| rare.sentinel.is_none()) {
                let client = &c.session.client;
                let id = client.with_names(|names| of_connection(names.name.as_bytes()));
                if let Some(id) = id {
                    let local = client.endpoint.local.to_string();
                    c.rare().sentinel = Some(Sentinel { id, pong: None });
                    engine.replication.acks.pong(Pong { id, sent_ms: None, local });
                }
            }
            let (unsent, fd) = (c.unsent(), c.session.client.endpoint.fd);
            if let Some(Rare { sentinel: Some(Sentinel { id, pong }), .. }) = c.get_rare()
                && let Some(sent) = *pong
                && unsent == 0
                && outq::is_delivered(fd)
            {
                *pong = None;
                let id = *id;
                let local = c.session.client.endpoint.local.to_string();
                engine.replication.acks.pong(Pong { id, sent_ms: Some(sent / 1_000_000), local });
            }
        }
    }
}
