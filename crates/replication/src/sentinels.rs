//! The lease: a primary acknowledges writes only while so many Sentinels see it that the others cannot
//! promote a replica because they do not (`sentinel-lease-ms`).
//!
//! **What Sentinel does** (sentinel.c of Redis 8.0). Each Sentinel sends a PING every second, or every
//! `down-after-milliseconds` when that is shorter. It calls the primary down when an unanswered PING, or,
//! without a connection, the last valid answer, is older than `down-after-milliseconds`, D. When `quorum`
//! Sentinels do, one of them may ask all for votes, and needs a majority. **A Sentinel votes without looking
//! at the primary itself**: what protects a primary that is seen is the quorum, not the majority.
//!
//! **The argument.** Let p be the time at which the primary sent a PONG, by its own clock, that a
//! Sentinel has received. A PING that is unanswered after that was sent after the PONG's arrival,
//! and the last valid answer is not older than it. So this Sentinel does not call the primary down
//! before p + D, however long messages take. With a lease L that is shorter than D by the drift of the
//! clocks (and by Sentinel's pauses in which it decides on what it has not yet read: it enters TILT
//! mode after those of 2 s), a Sentinel that received a PONG sent after now − L does not call the primary
//! down now. Of n Sentinels a failover needs `quorum` that do. When n − quorum + 1 do not, none begins.
//! With a quorum that is a majority this is a majority, too; with a smaller quorum more Sentinels are
//! needed, and [`Sentinels::needed`] says so.
//!
//! **That a PING arrived does not prove that PONGs do**: when only the way back is cut, PINGs go on for
//! up to D/2, and longer on a young connection. So the caller reports a PONG when the Sentinel's
//! machine has acknowledged all that was sent on the connection (the socket's send queue is empty), with
//! the time at which it was sent.
//!
//! **D must exceed L, and L the period of the PINGs plus the time until the next look at the socket**:
//! with D = 1 s no lease is safe and quiet at once. Up to D plus the period are safe only if connections break
//! silently: a Sentinel whose connection is reset counts from the last answer, not from the next PING.
//!
//! The lease does nothing against `SENTINEL FAILOVER`, which asks no other Sentinel: see [`crate::in_sync`]. It
//! ends at once when a hello names another primary with a higher epoch ([`Sentinels::is_deposed`]).

use stdx::num::parse_u64;

use crate::history::ReplId;

/// Sentinels that are remembered at most; hellos are published by any client that may.
const KNOWN_MAX: usize = 64;
/// Bytes of a master's name or address in a hello at most.
const NAME_MAX: usize = 256;

/// A message on the channel `__sentinel__:hello`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello<'a> {
    /// The Sentinel's id.
    pub run_id: ReplId,
    /// The highest epoch that it knows: it grows with every vote.
    pub epoch: u64,
    /// The name of the primary in its configuration.
    pub master: &'a [u8],
    /// Where it believes the primary is.
    pub address: (&'a [u8], u16),
    /// The epoch of the failover that made that server the primary.
    pub config_epoch: u64,
}

impl<'a> Hello<'a> {
    /// Reads `ip,port,runid,epoch,name,ip,port,config-epoch`.
    pub fn parse(text: &'a [u8]) -> Option<Self> {
        let mut parts = text.split(|b| *b == b',');
        let mut next = || parts.next();
        let (_, _) = (next()?, next()?);
        let (run_id, epoch, master) = (ReplId::parse(next()?)?, parse_u64(next()?)?, next()?);
        let (ip, port) = (next()?, u16::try_from(parse_u64(next()?)?).ok()?);
        let config_epoch = parse_u64(next()?)?;
        let fits = master.len() <= NAME_MAX && ip.len() <= NAME_MAX && next().is_none();
        fits.then_some(Self { run_id, epoch, master, address: (ip, port), config_epoch })
    }
}

/// The first eight characters of a Sentinel's id, if a connection's name is that of the connection
/// on which a Sentinel sends PINGs: `sentinel-XXXXXXXX-cmd`.
pub fn of_connection(name: &[u8]) -> Option<[u8; 8]> {
    name.strip_prefix(b"sentinel-")?.strip_suffix(b"-cmd")?.try_into().ok()
}

#[derive(Clone, Debug)]
struct Sentinel {
    run_id: ReplId,
    /// When the primary sent the last PONG that this Sentinel has.
    pong_ms: Option<u64>,
    epoch: u64,
    /// When its last hello arrived that names this server as the primary.
    hello_ms: u64,
    /// Its last hello does, or it names the server there.
    names_us: bool,
    names: (Vec<u8>, u16),
}

/// What the Sentinels call the primary, and the epoch in which it was made one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Primary {
    name: Vec<u8>,
    config_epoch: u64,
}

/// What a primary knows of its Sentinels.
#[derive(Clone, Debug)]
pub struct Sentinels {
    expected: usize,
    quorum: usize,
    lease_ms: u64,
    known: Vec<Sentinel>,
    primary: Option<Primary>,
    deposed: bool,
    was_named: bool,
    raised_ms: Option<u64>,
}

impl Sentinels {
    /// `expected` is the number of Sentinels, so that a primary that has just started does not take the
    /// one that it hears first for all of them; more are learned from hellos. `quorum` is the one in
    /// their configuration.
    pub fn new(expected: usize, quorum: usize, lease_ms: u64) -> Self {
        Self {
            expected,
            quorum: quorum.max(1),
            lease_ms,
            known: Vec::new(),
            primary: None,
            deposed: false,
            was_named: false,
            raised_ms: None,
        }
    }

    /// A hello has arrived; `names_us` says whether it names this server as the primary.
    pub fn hello(&mut self, hello: &Hello<'_>, names_us: bool, now_ms: u64) {
        let first = self.primary.is_none();
        let primary = self.primary.get_or_insert_with(|| Primary {
            name: hello.master.to_vec(),
            config_epoch: hello.config_epoch,
        });
        if primary.name != hello.master {
            return;
        }
        if first || hello.config_epoch > primary.config_epoch {
            primary.config_epoch = hello.config_epoch;
            self.deposed = !names_us;
        }
        self.was_named |= names_us;
        let before = self.epoch();
        let at = match self.known.iter().position(|s| s.run_id == hello.run_id) {
            Some(at) => at,
            None if self.known.len() < KNOWN_MAX => {
                let run_id = hello.run_id;
                let names = (Vec::new(), 0);
                let new =
                    Sentinel { run_id, pong_ms: None, epoch: 0, hello_ms: 0, names_us, names };
                self.known.push(new);
                self.known.len() - 1
            }
            None => return,
        };
        let sentinel = &mut self.known[at];
        sentinel.epoch = sentinel.epoch.max(hello.epoch);
        sentinel.names_us = names_us;
        sentinel.names = (hello.address.0.to_vec(), hello.address.1);
        if names_us {
            sentinel.hello_ms = now_ms;
        }
        if before > 0 && hello.epoch > before {
            self.raised_ms = Some(now_ms);
        }
    }

    /// The other server that a majority of the Sentinels names as the primary.
    pub fn other_primary(&self) -> Option<(&[u8], u16)> {
        let others: Vec<_> = self.known.iter().filter(|s| !s.names_us).map(|s| &s.names).collect();
        let votes = |name: &(Vec<u8>, u16)| others.iter().filter(|other| **other == name).count();
        let most = others.iter().max_by_key(|name| votes(name))?;
        (votes(most) > self.count() / 2).then_some((most.0.as_slice(), most.1))
    }

    /// Whether the last election that is known of has chosen this server.
    pub fn is_ours(&self) -> bool {
        let chosen = self.primary.as_ref().map_or(0, |primary| primary.config_epoch);
        !self.deposed && chosen >= self.epoch()
    }

    /// Whether hellos have named this server as the primary, and newer ones another. One that has just been
    /// promoted has not been named yet.
    pub fn is_replaced(&self) -> bool {
        self.was_named && self.deposed
    }

    /// When the highest epoch was last seen to grow.
    pub fn raised_ms(&self) -> Option<u64> {
        self.raised_ms
    }

    /// A PONG that the primary sent at `sent_ms` has reached the Sentinel on this connection (see
    /// [`of_connection`]).
    pub fn pong_received(&mut self, id: [u8; 8], sent_ms: u64) {
        // Two with the same beginning cannot be told apart: neither counts.
        let mut same = self.known.iter_mut().filter(|s| s.run_id.as_bytes().starts_with(&id));
        if let (Some(sentinel), None) = (same.next(), same.next()) {
            sentinel.pong_ms = sentinel.pong_ms.max(Some(sent_ms));
        }
    }

    /// The Sentinel with this id does not exist any more.
    pub fn forget(&mut self, run_id: ReplId) {
        self.known.retain(|s| s.run_id != run_id);
    }

    /// The number of Sentinels whose hellos have arrived.
    pub fn heard(&self) -> usize {
        self.known.len()
    }

    /// The number of Sentinels.
    pub fn count(&self) -> usize {
        self.known.len().max(self.expected)
    }

    /// Sentinels that must see the primary: a majority, and so many that the others are no quorum.
    pub fn needed(&self) -> usize {
        let n = self.count();
        (n / 2 + 1).max((n + 1).saturating_sub(self.quorum))
    }

    /// The time at which the lease ends, unless PONGs arrive until then; `None` when there is none.
    pub fn until_ms(&self) -> Option<u64> {
        if self.deposed {
            return None;
        }
        let mut pongs: Vec<u64> =
            self.known.iter().filter(|s| s.names_us).filter_map(|s| s.pong_ms).collect();
        pongs.sort_unstable_by(|a, b| b.cmp(a));
        pongs.get(self.needed() - 1)?.checked_add(self.lease_ms)
    }

    /// Whether the primary may acknowledge and answer now. Without any Sentinel, known or expected, there
    /// is none that would promote another server.
    pub fn is_valid(&self, now_ms: u64) -> bool {
        self.count() == 0 || self.until_ms().is_some_and(|until| now_ms < until)
    }

    /// Whether a hello has named another server as the primary, with a higher epoch. It ends when
    /// Sentinels name this one again.
    pub fn is_deposed(&self) -> bool {
        self.deposed
    }

    /// The highest epoch that any Sentinel has named.
    pub fn epoch(&self) -> u64 {
        self.known.iter().map(|s| s.epoch).max().unwrap_or(0)
    }

    /// Whether a majority, or all, have named this server in hellos that arrived after `since_ms`
    /// and no Sentinel knows an epoch above `epoch`: no election since has chosen another primary.
    pub fn confirm(&self, since_ms: u64, epoch: u64, all: bool) -> bool {
        let agree = self.known.iter().filter(|s| s.hello_ms > since_ms && s.epoch <= epoch).count();
        let needed = if all { self.count() } else { self.count() / 2 + 1 };
        !self.deposed && self.epoch() <= epoch && agree >= needed
    }
}

#[cfg(test)]
mod tests {
    use stdx::rng::Rng;

    use super::*;

    fn hello(sentinel: u8, epoch: u64, port: u16, config_epoch: u64) -> String {
        let id = char::from(sentinel).to_string().repeat(40);
        format!("10.0.0.9,26379,{id},{epoch},mymaster,10.0.0.1,{port},{config_epoch}")
    }

    fn hear(s: &mut Sentinels, text: &str, now_ms: u64) {
        let hello = Hello::parse(text.as_bytes()).expect("a hello");
        s.hello(&hello, hello.address.1 == 6379, now_ms);
    }

    fn with(n: u8, quorum: usize) -> Sentinels {
        let mut s = Sentinels::new(0, quorum, 900);
        for i in 0..n {
            hear(&mut s, &hello(b'a' + i, 3, 6379, 3), 100);
        }
        s
    }

    #[test]
    fn hellos_and_names_are_read() {
        let text = hello(b'a', 7, 6379, 5);
        let h = Hello::parse(text.as_bytes()).expect("a hello");
        assert_eq!((h.epoch, h.config_epoch, h.master), (7, 5, b"mymaster".as_slice()));
        assert_eq!(h.address, (b"10.0.0.1".as_slice(), 6379));
        for cut in 0..text.len() {
            assert_eq!(Hello::parse(&text.as_bytes()[..cut]), None);
        }
        assert_eq!(Hello::parse(format!("{text},").as_bytes()), None);
        assert_eq!(of_connection(b"sentinel-0a1b2c3d-cmd"), Some(*b"0a1b2c3d"));
        for name in ["sentinel-0a1b2c3d-pubsub", "sentinel-0a1b2c3-cmd", "sentinel--cmd", ""] {
            assert_eq!(of_connection(name.as_bytes()), None);
        }
    }

    #[test]
    fn the_lease_lasts_from_the_sending_of_the_pong_that_completes_the_majority() {
        let mut s = with(3, 2);
        assert!(!s.is_valid(0));
        s.pong_received([b'a'; 8], 1000);
        assert!(!s.is_valid(1000));
        s.pong_received([b'b'; 8], 1500);
        assert_eq!(s.until_ms(), Some(1900));
        assert!(s.is_valid(1899) && !s.is_valid(1900));
        s.pong_received([b'c'; 8], 1700);
        assert_eq!(s.until_ms(), Some(2400));
        s.pong_received([b'c'; 8], 1600);
        s.pong_received([b'x'; 8], 9000);
        assert_eq!(s.until_ms(), Some(2400), "neither old news nor strangers count");
    }

    #[test]
    fn a_small_quorum_needs_more_than_a_majority() {
        assert_eq!([1, 2, 3].map(|q| with(3, q).needed()), [3, 2, 2]);
        assert_eq!([1, 2, 3, 5].map(|q| with(5, q).needed()), [5, 4, 3, 3]);
        assert_eq!([1, 2].map(|q| with(2, q).needed()), [2, 2]);
        // Whichever see the primary: the others are no quorum.
        for n in 1..8 {
            for q in 1..=usize::from(n) {
                assert!(usize::from(n) - with(n, q).needed() < q);
            }
        }
    }

    #[test]
    fn a_primary_that_has_just_started_does_not_take_one_sentinel_for_all() {
        assert!(Sentinels::new(0, 1, 900).is_valid(5));
        let mut s = Sentinels::new(3, 2, 900);
        assert!(!s.is_valid(5));
        hear(&mut s, &hello(b'a', 1, 6379, 1), 0);
        s.pong_received([b'a'; 8], 5);
        assert!(!s.is_valid(6));
    }

    #[test]
    fn a_hello_with_a_higher_epoch_that_names_another_deposes() {
        let mut s = with(3, 2);
        for id in [b'a', b'b', b'c'] {
            s.pong_received([id; 8], 1000);
        }
        hear(&mut s, &hello(b'a', 4, 7000, 2), 1001);
        assert!(s.is_valid(1001), "old news");
        hear(&mut s, &hello(b'a', 4, 7000, 4), 1001);
        assert!(s.is_deposed() && !s.is_valid(1001));
        hear(&mut s, &hello(b'b', 5, 6379, 5), 1002);
        assert!(!s.is_deposed() && s.is_valid(1002));
    }

    #[test]
    fn a_majority_confirms_only_after_the_loss_and_in_the_same_epoch() {
        let mut s = with(3, 2);
        assert!(!s.confirm(100, 3, false) && s.confirm(99, 3, true));
        hear(&mut s, &hello(b'a', 3, 6379, 3), 200);
        assert!(!s.confirm(100, 3, false));
        hear(&mut s, &hello(b'b', 3, 6379, 3), 200);
        assert!(s.confirm(100, 3, false) && !s.confirm(100, 3, true));
        hear(&mut s, &hello(b'c', 4, 6379, 3), 200);
        assert!(!s.confirm(100, 3, false), "a Sentinel has voted");
    }

    #[test]
    fn a_promoted_server_is_replaced_only_when_it_has_been_named() {
        let mut s = Sentinels::new(3, 2, 900);
        for id in [b'a', b'b'] {
            hear(&mut s, &hello(id, 4, 7000, 3), 1);
        }
        assert_eq!(s.other_primary(), Some((b"10.0.0.1".as_slice(), 7000)));
        assert!(!s.is_replaced(), "they do not know yet");
        s.pong_received([b'a'; 8], 2);
        s.pong_received([b'b'; 8], 2);
        assert!(!s.is_valid(3), "PONGs of Sentinels that name another");
        for id in [b'a', b'b'] {
            hear(&mut s, &hello(id, 4, 6379, 4), 5);
        }
        assert!(s.is_valid(6) && s.other_primary().is_none() && !s.is_replaced());
        hear(&mut s, &hello(b'a', 5, 7000, 5), 7);
        assert!(s.is_replaced() && s.other_primary().is_none(), "one is no majority");
        assert_eq!(s.raised_ms(), Some(7));
    }

    #[test]
    fn strangers_do_not_fill_the_memory() {
        let mut rng = Rng::from_seed(1);
        let mut s = with(3, 2);
        for _ in 0..10_000 {
            let mut id = [0; 20];
            rng.fill(&mut id);
            let text =
                hello(b'a', 1, 6379, 1).replace(&"a".repeat(40), ReplId::from_random(id).as_str());
            hear(&mut s, &text, 1);
            let mut noise = text.into_bytes();
            let i = rng.index(noise.len());
            noise[i] = rng.next_u64() as u8;
            if let Some(h) = Hello::parse(&noise) {
                s.hello(&h, true, 2);
            }
        }
        assert!(s.known.len() <= KNOWN_MAX);
    }
}
