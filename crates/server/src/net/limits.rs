//! The limits of waiting input and output: a connection beyond them is closed.

use std::num::NonZeroU64;
use std::sync::atomic::Ordering::Relaxed;

use config::{ClientClass, FIXED_OUTPUT, Id};
use engine::log;
use resp::Out;

use super::conn::Conn;
use super::count::add;

/// Bytes of replies beyond [`FIXED_OUTPUT`] that a client may leave unread before it authenticates, as in
/// Redis 7.4.3.
const UNAUTHENTICATED_OUTPUT: usize = 1024;

/// Whether a connection is there to receive messages.
pub(super) fn is_subscriber(c: &Conn) -> bool {
    c.session.client.receiver.subscribed.load(Relaxed)
}

/// Whether the bytes of an incomplete command, with the commands that MULTI has queued, are more than
/// `client-query-buffer-limit` allows; logged and counted. Redis counts the queue since 7.2. Without `maxmemory`
/// and `maxmemory-clients` this is the only bound of the queue.
pub(super) fn over_query_limit(
    engine: &engine::Engine,
    c: &Conn,
    stats: &observe::stats::ThreadStats,
) -> bool {
    let limit = engine.config.bytes(Id::ClientQueryBufferLimit) as usize;
    let queued = c.session.queued_bytes();
    if c.buf.len() + c.stock.len() + c.parser.received() + queued <= limit {
        return false;
    }
    log!(
        engine.log,
        Warning,
        "Closing client that reached max query buffer length: id={} addr={}",
        c.session.client.id,
        c.session.client.endpoint.peer
    );
    add(&stats.client_query_buffer_limit_disconnections, 1);
    true
}

/// The bytes beyond which [`over_output_limit`] closes a connection at once; 0 for none.
pub(super) fn hard_limit(engine: &engine::Engine, c: &Conn) -> usize {
    engine.config.output_limits(class_of(c)).most()
}

fn class_of(c: &Conn) -> ClientClass {
    if c.session.feed.is_some() {
        ClientClass::Replica
    } else if is_subscriber(c) {
        ClientClass::Pubsub
    } else {
        ClientClass::Normal
    }
}

/// Whether `queued` bytes that wait to be sent are more than `client-output-buffer-limit` allows, or more than a
/// client may have that has not authenticated.
pub(super) fn over_output_limit(engine: &engine::Engine, c: &mut Conn, queued: usize) -> bool {
    let class = class_of(c);
    let l = engine.config.output_limits(class);
    // The backlog keeps the bytes in any case: a replica that is closed for them would come again for the same ones.
    let backlog = match class {
        ClientClass::Replica => engine.config.bytes(Id::ReplBacklogSize),
        _ => 0,
    };
    let n = if queued > FIXED_OUTPUT { queued as u64 } else { 0 };
    let mut over = l.hard > 0 && n > l.hard.max(backlog);
    over |= queued > FIXED_OUTPUT + UNAUTHENTICATED_OUTPUT && c.session.needs_auth(engine);
    if l.soft > 0 && n > l.soft {
        let now = NonZeroU64::MIN.saturating_add(engine.clock.monotonic_ns());
        let since = *c.rare().soft_since.get_or_insert(now);
        over |= now.get() - since.get() > l.soft_seconds.saturating_mul(1_000_000_000);
    } else if let Some(rare) = c.get_rare() {
        rare.soft_since = None;
    }
    if over {
        log!(
            engine.log,
            Warning,
            "Client id={} addr={} scheduled to be closed ASAP for overcoming of output buffer limits.",
            c.session.client.id,
            c.session.client.endpoint.peer
        );
    }
    over
}

/// Whether a reply is more than the limit allows, before the socket takes any of it. One that was stopped by
/// the limit is not whole, even if the limit has changed since.
pub(super) fn is_over_limit(engine: &engine::Engine, c: &mut Conn, out: &Out) -> bool {
    let queued = out.len();
    queued > FIXED_OUTPUT && (over_output_limit(engine, c, queued) || out.is_in_vain())
}

/// The same for a connection that is fed: what waits for it counts, wherever it lies.
pub(super) fn over_replica_limit(engine: &engine::Engine, c: &mut Conn) -> bool {
    let waiting = c.session.feed.as_ref().map_or(0, |feed| feed.waiting());
    let queued = c.unsent() + usize::try_from(waiting).unwrap_or(usize::MAX / 2);
    over_output_limit(engine, c, queued)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use config::{Caller, Config};
    use engine::log::Log;
    use engine::{Endpoint, Engine, Fed, Feed, Mailbox, Options, Session};
    use stdx::clock::Clock;

    use super::super::Stream;
    use super::*;

    /// An engine with an option, and a connection.
    fn connection(
        clock: Clock,
        option: (&[u8], &[u8]),
    ) -> (Arc<Engine>, Conn, mio::net::UnixStream) {
        let config = Config::new();
        config
            .set(&[option], Caller::default(), &mut |_, _| Ok(()))
            .expect("an option with its value");
        let engine = Engine::new(Options {
            config,
            commands: session_commands::ALL,
            durability: Arc::<durable::Durable>::default(),
            renames: Vec::new(),
            clock,
            log: Log::silent(),
            config_file: None,
            executable: String::new(),
        });
        let (thread, _) = engine.add_worker(Mailbox::new(|| {}));
        let (ours, theirs) = mio::net::UnixStream::pair().expect("sockets");
        let stream = Stream::Unix(ours);
        let endpoint: Endpoint = stream.endpoint();
        let c = Conn::new(Arc::new(stream), Session::new(&engine, thread, endpoint));
        (engine, c, theirs)
    }

    /// A feed with nothing in it.
    struct Nothing;

    impl Feed for Nothing {
        fn next(&self, _: &mut Vec<u8>) -> Fed {
            Fed::Nothing
        }

        fn waiting(&self) -> u64 {
            0
        }

        fn ended(&self) {}
    }

    #[test]
    fn a_replica_may_be_as_far_behind_as_the_backlog_is_long() {
        let (clock, _) = Clock::simulated(1_770_000_000_000);
        let limit: (&[u8], &[u8]) =
            (b"client-output-buffer-limit", b"normal 100000 0 0 replica 100000 0 0");
        let (engine, mut c, _theirs) = connection(clock, limit);
        let backlog = engine.config.bytes(Id::ReplBacklogSize) as usize;
        assert!(over_output_limit(&engine, &mut c, 100_001));
        c.session.feed = Some(Box::new(Arc::new(Nothing)));
        assert!(!over_output_limit(&engine, &mut c, backlog));
        assert!(over_output_limit(&engine, &mut c, backlog + 1));
    }

    #[test]
    fn the_soft_limit_may_be_exceeded_for_all_of_its_time() {
        let (clock, hand) = Clock::simulated(1_770_000_000_000);
        let limit: (&[u8], &[u8]) = (b"client-output-buffer-limit", b"normal 0 20000 3");
        let (engine, mut c, _theirs) = connection(clock, limit);
        // In the middle of a millisecond.
        hand.advance_us(900);
        assert!(!over_output_limit(&engine, &mut c, 20_001));
        hand.advance_us(2_999_999);
        assert!(!over_output_limit(&engine, &mut c, 20_001));
        // A step of the wall clock makes no difference.
        hand.set_wall_ms(1_780_000_000_000);
        assert!(!over_output_limit(&engine, &mut c, 20_001));
        hand.advance_us(2);
        assert!(over_output_limit(&engine, &mut c, 20_001));
        // Output below the limit ends the period.
        assert!(!over_output_limit(&engine, &mut c, 20_000));
        assert!(!over_output_limit(&engine, &mut c, 20_001));
    }
}
