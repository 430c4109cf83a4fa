//! Until when a primary answers: what its replicas and the Sentinels have said.

use config::Id;
use engine::acks::Silence;
use engine::{Engine, log};
use replication::sentinels::Hello;

use super::{Inner, Lapse, UNKNOWN, hold_off_ms};

impl Inner {
    /// Takes notice of what the Sentinels have said.
    pub(super) fn hear(&mut self, engine: &Engine, now: u64) {
        let acks = &engine.replication.acks;
        if !acks.is_on() {
            acks.take_pongs();
            return;
        }
        let Some(sentinels) = &mut self.sentinels else { return };
        let pongs = acks.take_pongs();
        for pong in &pongs {
            self.locals.insert(pong.id, pong.local.clone());
        }
        for note in acks.take_notes().iter().filter(|note| note.hello) {
            let Some(hello) = Hello::parse(&note.text) else { continue };
            let Some(id) = hello.run_id.as_bytes().first_chunk::<8>() else { continue };
            let Some(local) = self.locals.get(id) else { continue };
            sentinels.hello(&hello, names(engine, local, hello.address), now);
        }
        for pong in pongs {
            if let Some(sent_ms) = pong.sent_ms {
                sentinels.pong_received(pong.id, sent_ms);
            }
        }
    }

    /// The primary that a majority of the Sentinels names while this server is none of theirs.
    pub(super) fn other_primary(&self) -> Option<(String, u16)> {
        let starts = self.set.members().any(|(key, _)| key == UNKNOWN);
        let on = self.lease_ms > 0 && self.needed > 0;
        let sentinels = self.sentinels.as_ref().filter(|s| on && (starts || s.is_replaced()))?;
        let (host, port) = sentinels.other_primary()?;
        Some((String::from_utf8(host.to_vec()).ok()?, port))
    }

    /// Until when this server answers: what its replicas and its Sentinels allow. Returns whether the Sentinels, if
    /// their lease is asked for, allow anything now.
    pub(super) fn follow_lease(&mut self, engine: &Engine, now: u64) -> bool {
        let mut until = u64::MAX;
        let mut is_seen = true;
        if self.needed > 0 {
            let hold_off = hold_off_ms(self.window_ms(engine));
            for (key, _) in self.set.members() {
                let named = self.named.get(&key);
                // Other servers than Apus make no such promise: for them there is the Sentinels' lease.
                let foreign = named.is_some_and(|n| n.id.is_none()) && key != UNKNOWN;
                let follows = named.and_then(|n| n.follows_ms);
                let mine = follows.map_or(0, |at| at + hold_off - hold_off / 10);
                until = if foreign { until } else { until.min(mine) };
            }
        }
        if self.lease_ms > 0 {
            let lease = self.sentinels_lease(engine, now);
            is_seen = lease > now;
            until = until.min(lease);
            let unknown = self.set.members().any(|(key, _)| key == UNKNOWN);
            // Sentinels that have just promoted it are to see that.
            let lapsed = self.lapsed.is_some() && self.had_lease;
            engine.replication.acks.set_silence(match (unknown, lapsed) {
                (true, _) => Silence::Ping,
                (false, true) => Silence::Info,
                (false, false) => Silence::None,
            });
        }
        engine.replication.acks.set_lease(until.saturating_mul(1_000_000));
        is_seen
    }

    fn sentinels_lease(&mut self, engine: &Engine, now: u64) -> u64 {
        let window = self.window_ms(engine);
        let Some(sentinels) = &self.sentinels else { return 0 };
        let until = sentinels.until_ms().unwrap_or(0);
        if until <= now || sentinels.count() == 0 {
            let epoch = sentinels.epoch();
            if self.lapsed.is_none() && epoch > 0 {
                log!(
                    engine.log,
                    Warning,
                    "Too few Sentinels see this primary: nothing is acknowledged"
                );
            }
            let lapse = self.lapsed.get_or_insert(Lapse { since_ms: now, epoch });
            lapse.since_ms = now;
            return 0;
        }
        if let Some(lapse) = &self.lapsed {
            // An election may have been held meanwhile: hellos from behind it say that there was none, or, after
            // one that has chosen no server, that this server is still the primary.
            let (epoch, late) = (sentinels.epoch(), now.saturating_sub(lapse.since_ms) > window);
            let known = if lapse.epoch == 0 { epoch } else { lapse.epoch };
            let known = if late { epoch } else { known };
            if !sentinels.confirm(lapse.since_ms, known, false) {
                return 0;
            }
            log!(engine.log, Notice, "A majority of the Sentinels sees this primary");
            self.lapsed = None;
        }
        self.had_lease = true;
        until
    }
}

/// Whether a hello's address is that at which a Sentinel has connected to this server.
fn names(engine: &Engine, local: &str, (ip, port): (&[u8], u16)) -> bool {
    let Some((own_ip, own_port)) = local.rsplit_once(':') else { return false };
    let announced = engine.config.string(Id::ReplicaAnnounceIp);
    let own_ip = own_ip.trim_start_matches('[').trim_end_matches(']');
    let own_ip = if announced.is_empty() { own_ip } else { &announced };
    let own_port = match engine.config.int(Id::ReplicaAnnouncePort) {
        0 => own_port.parse().unwrap_or(0),
        port => port as u16,
    };
    ip == own_ip.as_bytes() && port == own_port
}
