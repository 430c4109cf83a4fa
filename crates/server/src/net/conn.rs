//! One connection: its socket, its session, its incomplete input, and output that is not sent yet.
//!
//! An idle connection holds no buffer: input is read into the thread's shared buffer, replies are
//! written from the thread's shared output. Only leftovers are kept here.
//!
//! While the socket does not take the replies, nothing more is executed. Input that the peer sends
//! meanwhile is read from the socket all the same and kept as *stock*: there are clients that send a
//! whole pipeline, however long, before they read the first reply, and both sides would wait for ever.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use engine::{Session, Thread};
use parking_lot::Mutex;
use resp::{Out, Parser};

use super::Stream;
use super::count::add;
use super::gathered::Gathered;
use super::receive::receive;
use super::stream::write_until;
use super::tls::Handshake;
use super::web::WebConn;

/// Bytes that are received at once at most: the size of the thread's shared buffer.
pub(super) const INPUT: usize = 256 * 1024;
/// Pieces of one write.
const PIECES: usize = 64;

pub(crate) struct Conn {
    pub(crate) stream: Arc<Stream>,
    pub(crate) session: Session,
    pub(crate) parser: Parser,
    /// The beginning of a command that is not whole, or input that must wait.
    pub(crate) buf: Vec<u8>,
    /// Input behind that, received while replies waited to be sent.
    pub(crate) stock: Stock,
    /// Replies that the socket did not take.
    kept: Option<Box<Kept>>,
    /// The socket may have more to read.
    pub(crate) readable: bool,
    /// The peer has closed its side; the remaining input is still read.
    pub(crate) hangup: bool,
    /// The command that waits.
    pub(crate) wait: Option<Wait>,
    /// Waits until a thread to which it has given much to deliver has less.
    pub(crate) crowded: bool,
    /// In the worker's list of connections to go on with.
    pub(crate) queued: bool,
    /// Its last input was short: probably it sends one request at a time.
    pub(crate) short: bool,
    /// What must be durable before anything is sent.
    pub(crate) gate: Option<Gated>,
    /// The term in which its last batch began: see [`engine::acks`].
    pub(crate) term: u64,
    /// It speaks TLS.
    pub(crate) tls: bool,
    /// It speaks HTTP, for pages.
    pub(crate) web: Option<Box<WebConn>>,
    /// What few connections have.
    pub(super) rare: Option<Box<Rare>>,
}

// It is as large as a block of the allocator.
const _: () = assert!(size_of::<Conn>() <= 224, "a connection has got larger");

/// The part of a connection that is made when it is first needed.
#[derive(Default)]
pub(crate) struct Rare {
    /// Since when the soft output limit is exceeded, in nanoseconds of the monotonic clock.
    pub(crate) soft_since: Option<NonZeroU64>,
    /// The Sentinel that sends its PINGs here.
    pub(crate) sentinel: Option<Sentinel>,
    /// Its handshake is under way, and nothing else is done with it.
    pub(crate) handshake: Option<Handshake>,
}

/// Replies that the socket did not take.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) out: Out,
    /// Bytes of `out` that are gone already.
    sent: usize,
}

/// A Sentinel at the other end.
pub(crate) struct Sentinel {
    /// The beginning of its id.
    pub(crate) id: [u8; 8],
    /// When the last PONG was sent to it that it is not known to have got, in monotonic nanoseconds.
    pub(crate) pong: Option<u64>,
}

/// Why a command of a connection waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// Until CLIENT PAUSE ends, or what else holds the command back ([`engine::Next::Wait`]).
    Paused,
    /// Until it is answered.
    Blocked,
}

/// Output that waits for the journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Gated {
    /// The journal must be durable up to here.
    pub(crate) until: u64,
    /// The output reports changes that this connection has made.
    pub(crate) acts: bool,
    /// It waits for replicas, too, in a term ([`engine::acks`]).
    pub(crate) holds: bool,
    pub(crate) term: u64,
}

impl Gated {
    /// Whether it waits for replicas in this term.
    pub(crate) fn holds_in(&self, term: u64) -> bool {
        self.holds && self.term == term
    }
}

/// What a connection does next, by what comes first. It is derived from the reasons, and not stored: several of them can
/// hold at the same time (a connection that is to be closed still sends, one that waits can be crowded), and each is set
/// and taken back where it arises. Code that acts on a connection asks for its state, and for no single reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// It is neither read from nor executed: it waits until a thread has less to deliver.
    Crowded,
    /// Its replies have not been taken, by the socket or because the journal is not durable. Nothing is
    /// executed.
    Sending,
    /// It is to be closed.
    Closing,
    /// A command of it waits, and input is not read.
    Waiting(Wait),
    /// A large argument is being received.
    BigArgument,
    /// Its input is read and executed.
    Reading,
}

impl Conn {
    pub(crate) fn new(stream: Arc<Stream>, session: Session) -> Self {
        Self {
            tls: stream.is_tls(),
            stream,
            session,
            parser: Parser::default(),
            buf: Vec::new(),
            stock: Stock::default(),
            kept: None,
            readable: false,
            hangup: false,
            wait: None,
            crowded: false,
            queued: false,
            short: true,
            gate: None,
            term: 0,
            web: None,
            rare: None,
        }
    }

    /// What few connections have, if this one had some of it.
    #[inline]
    pub(crate) fn get_rare(&mut self) -> Option<&mut Rare> {
        self.rare.as_deref_mut()
    }

    /// Its handshake, while it is under way.
    pub(crate) fn handshake(&self) -> Option<&Handshake> {
        self.rare.as_ref()?.handshake.as_ref()
    }

    /// What few connections have; it is made.
    pub(crate) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// What it does next.
    #[inline]
    pub(crate) fn state(&self) -> State {
        if self.crowded && !self.is_closing() {
            // Whichever client sends: see `Worker::resume_crowded`.
            State::Crowded
        } else if self.unsent() > 0 && (self.session.feed.is_none() || self.is_closing()) {
            // A replica is read from all the same: it acknowledges what it has got.
            State::Sending
        } else if self.is_closing() {
            State::Closing
        } else if let Some(wait) = self.wait {
            State::Waiting(wait)
        } else if self.parser.is_big() {
            State::BigArgument
        } else {
            State::Reading
        }
    }

    /// Whether it is closed as soon as its replies have been sent.
    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.session.closing || self.session.client.closing.load(Relaxed)
    }

    /// Whether nothing but new, short input is to be expected from this connection.
    #[inline]
    pub(crate) fn may_be_read_ahead(&self) -> bool {
        self.short
            && self.readable
            && !self.hangup
            && self.buf.is_empty()
            && self.stock.is_empty()
            && !self.parser.is_active()
            && self.session.deferred.is_none()
            && self.state() == State::Reading
    }

    /// Whether the command that had to wait is one that ends scripts.
    pub(crate) fn ends_scripts(&self, engine: &engine::Engine) -> bool {
        self.session.deferred.as_ref().is_some_and(|deferred| engine.ends_scripts(&deferred.words))
    }

    /// Whether there is nothing to do for this connection except to send the kept output.
    pub(crate) fn has_only_output(&self) -> bool {
        !self.readable
            && !self.hangup
            && self.buf.is_empty()
            && self.stock.is_empty()
            && self.session.deferred.is_none()
            && !self.is_closing()
    }

    /// Whether the socket may have input although the last read was short. Only with TLS.
    #[inline]
    pub(crate) fn has_more(&self) -> bool {
        self.tls && self.stream.has_more()
    }

    /// Whether the kept output begins with a reply: nothing of it has been sent.
    pub(crate) fn has_sent_none(&self) -> bool {
        self.kept.as_ref().is_none_or(|kept| kept.sent == 0)
    }

    /// Bytes that wait to be sent.
    pub(crate) fn unsent(&self) -> usize {
        self.kept.as_ref().map_or(0, |kept| kept.out.len() - kept.sent)
    }

    /// The replies that the socket did not take, if there are any.
    pub(crate) fn kept(&mut self) -> Option<&mut Kept> {
        self.kept.as_deref_mut()
    }

    /// Sends `out`, which is empty afterwards; bytes that the socket does not take are kept. Returns
    /// bytes sent.
    pub(crate) fn send(&mut self, out: &mut Out) -> io::Result<usize> {
        if self.kept.is_some() || self.gate.is_some() {
            self.keep(out, 0);
            return Ok(0);
        }
        let total = out.len();
        let mut sent = 0;
        let r = write_from(&self.stream, out, &mut sent);
        if sent < total && r.is_ok() {
            self.keep(out, sent);
        }
        out.clear();
        self.note_output();
        r.map(|()| sent)
    }

    /// Lets an answer wait for those of other connections, unless it must not; then it is empty. `i` is the connection's
    /// place; see [`Gathered::add`].
    pub(super) fn gather(
        &self,
        i: usize,
        gathered: &Mutex<Gathered>,
        long: bool,
        thread: &mut Thread,
        out: &mut Out,
    ) -> bool {
        let at_once = self.hangup || self.gate.is_some() || self.unsent() > 0;
        if at_once || !out.shared.is_empty() {
            return false;
        }
        let of = (i, &self.session.client, &self.stream);
        let waits = gathered.lock().add(of, long, &out.buf);
        if waits {
            thread.answer_waits();
            out.clear();
        }
        waits
    }

    /// Keeps what the socket did not take of an answer that was sent past the connection.
    pub(crate) fn keep_rest(&mut self, rest: &[u8]) {
        if !rest.is_empty() {
            self.kept.get_or_insert_default().out.buf.extend_from_slice(rest);
        }
        self.note_output();
    }

    /// Sends the kept output. Returns bytes sent.
    pub(crate) fn send_pending(&mut self) -> io::Result<usize> {
        if self.gate.is_some() {
            return Ok(0);
        }
        let Some(kept) = &mut self.kept else { return Ok(0) };
        let before = kept.sent;
        write_from(&self.stream, &kept.out, &mut kept.sent)?;
        let n = kept.sent - before;
        if kept.sent == kept.out.len() {
            // Given back: a connection that caught up is as small as an idle one.
            self.kept = None;
        }
        self.note_output();
        Ok(n)
    }

    /// Counts a write of `n` bytes. A client that receives replies is not idle, as in Redis.
    #[inline]
    pub(crate) fn note_sent(&self, stats: &observe::stats::ThreadStats, n: usize, now_ms: i64) {
        let client = &self.session.client;
        add(&stats.writes_processed, 1);
        add(&stats.net_output_bytes, n as u64);
        if self.session.feed.is_some() {
            add(&stats.net_repl_output_bytes, n as u64);
        }
        add(&client.net_out, n as u64);
        if n > 0 {
            client.active_ms.store(now_ms, Relaxed);
        }
    }

    fn keep(&mut self, out: &mut Out, sent: usize) {
        if out.is_empty() {
            return;
        }
        let kept = self.kept.get_or_insert_default();
        if !kept.out.is_empty() {
            let base = kept.out.buf.len();
            kept.out.buf.extend_from_slice(&out.buf);
            kept.out.shared.extend(out.shared.drain(..).map(|(at, s)| (base + at, s)));
        } else if out.shared.is_empty() {
            kept.out.buf.extend_from_slice(&out.buf[sent..]);
        } else {
            kept.out.buf.extend_from_slice(&out.buf);
            kept.out.shared = std::mem::take(&mut out.shared);
            kept.sent = sent;
        }
        out.clear();
        self.note_output();
    }

    fn note_output(&mut self) {
        if self.kept.is_none()
            && let Some(rare) = self.get_rare()
        {
            rare.soft_since = None;
        }
        let c = &self.session.client;
        c.output_bytes.store(self.unsent() as u64, Relaxed);
        c.output_objects.store(u32::from(self.kept.is_some()), Relaxed);
    }

    /// How large the buffer is to be that has `left` bytes of a command and gets more: for all of it, if
    /// the rest is like the bytes so far, but in proportion to those.
    pub(crate) fn room(&self, left: usize) -> usize {
        self.parser.expected().min(left.saturating_mul(8)).max(left).saturating_add(INPUT)
    }

    /// Publishes the size of the kept input.
    pub(crate) fn note_input(&self) {
        let c = &self.session.client;
        // An argument that is still arriving is input, one that is whole an argument.
        let (arrived, room) = self.parser.arriving();
        let (bytes, capacity) = (self.buf.len(), self.buf.capacity());
        // An incomplete command whose bytes are all parsed must still count as input: see `stuck`.
        let begun = usize::from(self.parser.is_active());
        c.query_bytes.store((bytes + self.stock.len() + arrived).max(begun) as u64, Relaxed);
        c.query_capacity.store((capacity + self.stock.capacity() + room) as u64, Relaxed);
        c.args_bytes.store((self.parser.memory() - room) as u64, Relaxed);
    }
}

/// Input that waits.
#[derive(Default)]
pub(crate) struct Stock(Option<Box<Stocked>>);

struct Stocked {
    bytes: VecDeque<u8>,
}

impl Stock {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |stocked| stocked.bytes.len())
    }

    fn capacity(&self) -> usize {
        self.0.as_ref().map_or(0, |stocked| stocked.bytes.capacity())
    }

    pub(crate) fn add(&mut self, input: &[u8]) {
        if !input.is_empty() {
            let new = || Box::new(Stocked { bytes: VecDeque::new() });
            self.0.get_or_insert_with(new).bytes.extend(input);
        }
    }

    /// Moves bytes to `to`.
    fn take(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let Some(stocked) = &mut self.0 else { return Ok(0) };
        let n = stocked.bytes.read(to)?;
        if stocked.bytes.is_empty() {
            self.0 = None;
        }
        Ok(n)
    }
}

/// Where the input of a connection comes from: the stock, then the socket.
pub(crate) struct Source<'a> {
    pub(crate) stock: &'a mut Stock,
    pub(crate) stream: &'a Stream,
    /// Bytes that came from the socket.
    pub(crate) received: usize,
}

impl Read for Source<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.stock.is_empty() {
            let n = self.stream.read(to)?;
            self.received += n;
            return Ok(n);
        }
        self.stock.take(to)
    }
}

impl Source<'_> {
    /// Reads at most `max` bytes behind the content of `to`, into the room that is there.
    pub(crate) fn append(&mut self, to: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        if self.stock.is_empty() {
            let n = receive(self.stream, to, max)?;
            self.received += n;
            return Ok(n);
        }
        let len = to.len();
        to.resize(len + max, 0);
        let n = self.read(&mut to[len..])?;
        to.truncate(len + n);
        Ok(n)
    }
}

/// Writes `out` from byte `*sent` on, as far as the socket takes it.
fn write_from(mut stream: &Stream, out: &Out, sent: &mut usize) -> io::Result<()> {
    if out.shared.is_empty() {
        return stream.write_some(&out.buf, sent);
    }
    write_until(out.len(), sent, |from| {
        let mut pieces = Vec::with_capacity(PIECES);
        let mut skip = from;
        let mut add = |piece: &'_ [u8]| {
            if skip >= piece.len() {
                skip -= piece.len();
                None
            } else {
                let rest = skip..piece.len();
                skip = 0;
                Some(rest)
            }
        };
        let mut from = 0;
        for (at, s) in &out.shared {
            for piece in [&out.buf[from..*at], s.as_slice()] {
                if let Some(r) = add(piece) {
                    pieces.push(IoSlice::new(&piece[r]));
                }
            }
            from = *at;
            if pieces.len() + 2 > PIECES {
                break;
            }
        }
        if pieces.len() + 2 <= PIECES {
            let piece = &out.buf[from..];
            if let Some(r) = add(piece) {
                pieces.push(IoSlice::new(&piece[r]));
            }
        }
        stream.write_vectored(&pieces)
    })
}
