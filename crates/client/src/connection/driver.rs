//! The task of a connection: it connects, writes what callers queue, hands replies out, and connects again.
//!
//! Reads and writes are in one place. A turn reads what has come, wakes the callers whose replies are there,
//! and lets them run before it looks into the queue: what they send then leaves in one write.
//!
//! The bytes of a write are kept until the replies are there. So commands that only read can be written again
//! after the connection broke, without a copy per command.

use crate::connection::delay::Delay;
use crate::connection::queue::{EPOCHS, Inner, Queue};
use crate::connection::settings::Settings;
use crate::connection::stream::Stream;
use crate::error::{Error, ErrorKind, Result};
use crate::parse::{LINE_BYTES_MAX, Parser};
use crate::value::Value;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Half of it is a line without an end, at most.
const READ_BYTES: usize = 2 * LINE_BYTES_MAX;
/// So much is not held back in the hope of more.
const GATHER_BYTES: usize = 32 << 10;
/// Reads of one turn; others want to run, too.
const READS_AT_ONCE: usize = 16;
/// Callers whose replies came together are woken in so many pieces, each of at least so many callers.
const PIECES: usize = 4;
const PIECE_MIN: usize = 32;
/// Buffers that are kept for use again, and how large they may be.
const SPARES: usize = 4;
const SPARE_BYTES: usize = 1 << 20;

/// What a connection hands pushes to.
pub(crate) type OnPush = Box<dyn FnMut(Option<Vec<Value>>) + Send>;

pub(crate) struct Driver {
    queue: Arc<Queue>,
    settings: Arc<Settings>,
    on_push: Option<OnPush>,
    /// Buffers that were taken and whose replies are not all there; `(start, bytes)`.
    sent: VecDeque<(u64, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
    /// Where in the stream the next byte to be written stands.
    written: u64,
    taken: u64,
    gathered: bool,
    delay: Option<Delay>,
    /// What callers had queued before the last write, and what of it since the write before it.
    count: u64,
    last_count: u64,
    tick: Option<Pin<Box<Sleep>>>,
    /// Ticks since bytes arrived.
    silent: u32,
    values: Vec<Value>,
    wakers: Vec<Waker>,
    /// Callers with replies that are woken when the commands of those before them are written.
    later: VecDeque<Waker>,
    /// Callers of a piece.
    piece: usize,
    /// The read of this turn has woken a piece.
    is_split: bool,
}

/// What belongs to one connection and not to the next.
struct Wire {
    stream: Stream,
    parser: Parser,
    input: Box<[u8]>,
    filled: usize,
}

impl Driver {
    pub(crate) fn new(queue: Arc<Queue>, settings: Arc<Settings>, on_push: Option<OnPush>) -> Self {
        Self {
            queue,
            settings,
            on_push,
            sent: VecDeque::new(),
            spare: Vec::new(),
            written: 0,
            taken: 0,
            gathered: false,
            delay: None,
            count: 0,
            last_count: 0,
            tick: None,
            silent: 0,
            values: Vec::new(),
            wakers: Vec::new(),
            later: VecDeque::new(),
            piece: PIECE_MIN,
            is_split: false,
        }
    }

    /// Runs until no handle is left; `stream` is the first connection, if there is one already.
    pub(crate) async fn run(mut self, mut stream: Option<Stream>) {
        if let Some(delay) = self.settings.flush_delay {
            self.delay = Delay::new(delay).ok();
        }
        loop {
            let stream = match stream.take() {
                Some(stream) => stream,
                None => match self.connect().await {
                    Some(stream) => stream,
                    None => return,
                },
            };
            self.queue.lock().connected();
            #[cfg(feature = "tracing")]
            tracing::debug!(address = %self.settings.config.address, "connected");
            let mut wire = Wire {
                stream,
                parser: Parser::new(self.settings.limits),
                input: vec![0; READ_BYTES].into(),
                filled: 0,
            };
            self.silent = 0;
            match poll_fn(|cx| self.poll(&mut wire, cx)).await {
                Ok(()) => return self.end(&Error::new(ErrorKind::Closed, "the client is closed")),
                Err(error) => {
                    #[cfg(feature = "tracing")]
                    tracing::debug!(address = %self.settings.config.address, %error, "the connection broke");
                    self.interrupted(&error);
                }
            }
            if !self.settings.reconnect {
                let error = Error::connection("the connection is gone");
                self.queue.lock().set_down(Some(error.clone()));
                return self.end(&error);
            }
        }
    }

    /// Fails what is left.
    fn end(&mut self, error: &Error) {
        self.queue.lock().fail_all(error, &mut self.wakers);
        self.wake();
    }

    fn interrupted(&mut self, error: &Error) {
        self.tell_push(None);
        let mut inner = self.queue.lock();
        let sent = &self.sent;
        let bytes = |start: u64, length: usize| {
            let at = sent.partition_point(|(begin, _)| *begin <= start);
            let from = at.checked_sub(1).map(|i| &sent[i]);
            let piece = from.and_then(|(begin, bytes)| {
                let at = usize::try_from(start - begin).ok()?;
                bytes.get(at..at + length)
            });
            piece.unwrap_or_default().to_vec()
        };
        inner.interrupted(self.written, error, bytes, &mut self.wakers);
        inner.make_room(&self.queue, &mut self.wakers);
        self.written = inner.taken;
        self.taken = inner.taken;
        drop(inner);
        self.sent.clear();
        self.wake();
    }

    /// Fails what is queued and what comes, until there is a connection.
    fn refuse(&mut self, error: &Error) {
        let mut inner = self.queue.lock();
        inner.set_down(Some(error.clone()));
        inner.fail_all(error, &mut self.wakers);
        self.written = inner.taken;
        self.taken = inner.taken;
        drop(inner);
        self.wake();
    }

    fn tell_push(&mut self, push: Option<Vec<Value>>) {
        if let Some(on_push) = &mut self.on_push {
            on_push(push);
        }
    }

    /// Wakes all callers whose replies have come.
    fn wake(&mut self) {
        self.later.drain(..).for_each(Waker::wake);
        self.wake_now();
    }

    /// Wakes those that need not wait for their piece's turn.
    fn wake_now(&mut self) {
        self.wakers.drain(..).for_each(Waker::wake);
    }

    fn wake_piece(&mut self) {
        let piece = self.piece.min(self.later.len());
        self.later.drain(..piece).for_each(Waker::wake);
    }

    /// Wakes callers whose replies have come. If the server has nothing to do now, it gets the commands of the first
    /// piece of them while the next ones have not run yet: otherwise it and the callers would always wait for each
    /// other.
    fn wake_in_turn(&mut self, server_is_idle: bool) {
        let waiting = self.later.len() + self.wakers.len();
        if server_is_idle && waiting >= PIECE_MIN && self.delay.is_none() {
            self.later.extend(self.wakers.drain(..));
            self.piece = PIECE_MIN.max(waiting / PIECES);
            self.wake_piece();
            self.is_split = true;
        } else {
            self.wake();
        }
    }

    /// Connects, with longer and longer pauses; nothing if no handle is left. Callers' time runs meanwhile.
    async fn connect(&mut self) -> Option<Stream> {
        let settings = self.settings.clone();
        let mut attempt = 0;
        loop {
            let mut connecting = pin!(settings.connect());
            let result = poll_fn(|cx| self.beside(connecting.as_mut(), cx)).await?;
            match result {
                Ok(stream) => {
                    self.queue.lock().set_down(None);
                    return Some(stream);
                }
                Err(error) => {
                    #[cfg(feature = "tracing")]
                    tracing::debug!(address = %settings.config.address, %error, attempt, "cannot connect");
                    self.queue.lock().stats.connects_failed += 1;
                    if settings.fail_while_down {
                        self.refuse(&error);
                    }
                }
            }
            let mut pause = pin!(tokio::time::sleep(settings.backoff.pause(attempt)));
            poll_fn(|cx| self.beside(pause.as_mut(), cx)).await?;
            attempt += 1;
        }
    }

    /// Does something while there is no connection; nothing if no handle is left.
    fn beside<F: Future>(
        &mut self,
        what: Pin<&mut F>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<F::Output>> {
        if let Poll::Ready(output) = what.poll(cx) {
            return Poll::Ready(Some(output));
        }
        self.poll_tick(false, cx);
        let mut inner = self.queue.lock();
        if inner.is_closed() {
            drop(inner);
            self.end(&Error::new(ErrorKind::Closed, "the client is closed"));
            return Poll::Ready(None);
        }
        inner.sleep(cx.waker());
        // A first command starts the clock.
        if self.tick.is_none() && inner.pending() > 0 {
            drop(inner);
            self.start_clock();
            self.poll_tick(false, cx);
        }
        Poll::Pending
    }

    fn poll(&mut self, wire: &mut Wire, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.poll_tick(true, cx);
        if self.silent > EPOCHS {
            return Poll::Ready(Err(Error::new(ErrorKind::Timeout, "the server is silent")));
        }
        self.poll_read(wire, cx)?;
        if !std::mem::take(&mut self.is_split) {
            let polled = self.poll_write(wire, cx);
            if polled.is_ready() || self.later.is_empty() {
                return polled;
            }
            self.wake_piece();
        }
        // Behind those that were woken.
        self.gathered = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn start_clock(&mut self) {
        let Some(timeout) = self.settings.response_timeout else { return };
        self.silent = 0;
        self.tick = Some(Box::pin(tokio::time::sleep(timeout / EPOCHS)));
    }

    fn poll_tick(&mut self, is_connected: bool, cx: &mut Context<'_>) {
        loop {
            let Some(tick) = &mut self.tick else { return };
            if tick.as_mut().poll(cx).is_pending() {
                return;
            }
            let timeout = self.settings.response_timeout.unwrap_or(Duration::MAX / 2);
            tick.as_mut().reset(Instant::now() + timeout / EPOCHS);
            let mut inner = self.queue.lock();
            inner.tick(is_connected, &mut self.wakers);
            inner.make_room(&self.queue, &mut self.wakers);
            // The clock stands still while no caller waits.
            if inner.pending() == 0 {
                self.tick = None;
            } else if inner.oldest() < self.written {
                self.silent += 1;
            } else {
                self.silent = 0;
            }
            drop(inner);
            self.wake();
        }
    }

    /// Reads what has come and hands it out.
    fn poll_read(&mut self, wire: &mut Wire, cx: &mut Context<'_>) -> Result<()> {
        for turn in 0.. {
            if turn == READS_AT_ONCE {
                cx.waker().wake_by_ref();
                break;
            }
            let mut room = ReadBuf::new(&mut wire.input[wire.filled..]);
            match Pin::new(&mut wire.stream).poll_read(cx, &mut room) {
                Poll::Pending => break,
                Poll::Ready(Err(error)) => {
                    return Err(Error::connection(format!("the connection broke: {error}")));
                }
                Poll::Ready(Ok(())) => {}
            }
            let n = room.filled().len();
            if n == 0 {
                return Err(Error::connection("the server closed the connection"));
            }
            wire.filled += n;
            self.silent = 0;
            let parsed = wire.parse(&mut self.values);
            // Replies before a mistake are good.
            let delivered = self.deliver();
            parsed.and(delivered)?;
        }
        Ok(())
    }

    fn deliver(&mut self) -> Result<()> {
        if self.values.iter().any(|value| matches!(value, Value::Push(_))) {
            let (pushes, replies) =
                self.values.drain(..).partition(|value| matches!(value, Value::Push(_)));
            self.values = replies;
            self.queue.lock().stats.pushes += <Vec<Value>>::len(&pushes) as u64;
            for push in pushes {
                if let Value::Push(items) = push {
                    self.tell_push(Some(items));
                }
            }
        }
        let mut inner = self.queue.lock();
        inner.stats.reads += 1;
        let delivered = inner.deliver(&mut self.values, &mut self.wakers);
        inner.make_room(&self.queue, &mut self.wakers);
        let oldest = inner.oldest();
        drop(inner);
        self.recycle(oldest);
        self.wake_in_turn(oldest >= self.taken);
        delivered
    }

    /// Buffers whose replies are all there are used again.
    fn recycle(&mut self, oldest: u64) {
        while let Some((start, bytes)) = self.sent.front()
            && start + bytes.len() as u64 <= oldest.min(self.written)
            && let Some((_, mut bytes)) = self.sent.pop_front()
        {
            if self.spare.len() < SPARES && bytes.capacity() <= SPARE_BYTES {
                bytes.clear();
                self.spare.push(bytes);
            }
        }
    }

    /// Writes what is queued; ready when nothing is left to do at all.
    fn poll_write(&mut self, wire: &mut Wire, cx: &mut Context<'_>) -> Poll<Result<()>> {
        loop {
            while self.written < self.taken {
                let Some((start, bytes)) = self.sent.back() else { break };
                // In range: the last buffer is the one that is being written.
                let at = usize::try_from(self.written - start).unwrap_or(usize::MAX);
                match Pin::new(&mut wire.stream).poll_write(cx, &bytes[at..]) {
                    Poll::Pending => return self.rest(cx),
                    Poll::Ready(Ok(0)) => {
                        return Poll::Ready(Err(Error::connection(
                            "the connection takes no bytes",
                        )));
                    }
                    Poll::Ready(Ok(n)) => self.written += n as u64,
                    Poll::Ready(Err(error)) => {
                        let error = Error::connection(format!("the connection broke: {error}"));
                        return Poll::Ready(Err(error));
                    }
                }
            }
            // TLS keeps bytes that it could not write.
            if let Poll::Ready(Err(error)) = Pin::new(&mut wire.stream).poll_flush(cx) {
                let error = Error::connection(format!("the connection broke: {error}"));
                return Poll::Ready(Err(error));
            }
            let queue = self.queue.clone();
            let mut inner = queue.lock();
            if inner.take_kick() {
                return Poll::Ready(Err(moved()));
            }
            if inner.is_closed() {
                return Poll::Ready(Ok(()));
            }
            if inner.out.is_empty() {
                inner.sleep(cx.waker());
                drop(inner);
                self.gathered = false;
                self.wake_now();
                return Poll::Pending;
            }
            // A command that comes now need not wake us: we look again.
            inner.awake();
            if self.must_gather(&inner, cx) {
                return Poll::Pending;
            }
            self.take(&mut inner);
            // What was given up has left room.
            inner.make_room(&self.queue, &mut self.wakers);
            drop(inner);
            self.wake_now();
            if self.tick.is_none() {
                self.start_clock();
                self.poll_tick(true, cx);
            }
        }
    }

    /// Waits for the socket; the last handle that goes away wakes us, too.
    fn rest(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.wake_now();
        let mut inner = self.queue.lock();
        if inner.is_closed() {
            return Poll::Ready(Ok(()));
        }
        if inner.take_kick() {
            return Poll::Ready(Err(moved()));
        }
        inner.sleep(cx.waker());
        Poll::Pending
    }

    /// Whether it is better to wait for more commands, in which case something wakes us.
    fn must_gather(&mut self, inner: &Inner, cx: &mut Context<'_>) -> bool {
        if inner.out.len() >= GATHER_BYTES {
            return false;
        }
        // A caller alone need not wait for others.
        let is_alone = inner.pending() <= 1 && self.last_count <= 1;
        if !is_alone
            && let Some(delay) = &mut self.delay
            && delay.poll(cx).is_pending()
        {
            self.gathered = true;
            return true;
        }
        if !self.gathered {
            // Behind the tasks that are ready to run: those that our replies have woken, for example.
            self.gathered = true;
            cx.waker().wake_by_ref();
            return true;
        }
        false
    }

    fn take(&mut self, inner: &mut Inner) {
        let start = inner.taken;
        let bytes = inner.take(self.spare.pop().unwrap_or_default());
        inner.stats.writes += 1;
        self.last_count = inner.submitted - self.count;
        self.count = inner.submitted;
        if let Some(delay) = &mut self.delay {
            delay.restart();
        }
        self.taken = inner.taken;
        self.written = start;
        self.gathered = false;
        if !bytes.is_empty() {
            self.sent.push_back((start, bytes));
        }
    }
}

fn moved() -> Error {
    Error::connection("the connection is made anew: its server has moved")
}

impl Wire {
    /// Parses what has been read and keeps what is not a whole element.
    fn parse(&mut self, values: &mut Vec<Value>) -> Result<()> {
        let mut at = 0;
        loop {
            let (done, value) = self.parser.parse(&self.input[at..self.filled])?;
            at += done;
            match value {
                Some(value) => values.push(value),
                None => break,
            }
        }
        self.input.copy_within(at..self.filled, 0);
        self.filled -= at;
        Ok(())
    }
}
