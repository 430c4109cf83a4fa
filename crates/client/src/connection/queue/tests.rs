//! The queue against a model that knows which reply belongs to which command, under random drops, cuts and
//! timeouts at every step. There is no socket: the "server" answers each command with the command's own number.

use super::{EPOCHS, Payload, Queue, Submitted};
use crate::error::Error;
use crate::value::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};

#[derive(Default)]
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).expect("small")
    }
}

/// A caller that waits, and what it should get.
struct Caller {
    first: i64,
    replies: u32,
    repeatable: bool,
}

/// What a driver and a server do, without their sockets.
struct Model {
    queue: Queue,
    random: Random,
    waker: Waker,
    /// In the order of their slots, so that a seed gives one run.
    callers: BTreeMap<u32, Caller>,
    next: i64,
    /// Bytes that were taken, by their place in the stream, and how many of them were written.
    sent: Vec<(u64, Vec<u8>)>,
    written: u64,
    /// Written and not yet executed, and executed and not yet answered.
    wire: Vec<u8>,
    answers: Vec<Value>,
    executed: HashMap<i64, u32>,
    /// Numbers whose callers were told that they were not executed.
    not_executed: Vec<i64>,
    outcomes: [usize; 3],
}

impl Model {
    fn new(seed: u64) -> Self {
        Self {
            queue: Queue::new(64, 4096),
            random: Random(seed),
            waker: Waker::from(Arc::new(Counter::default())),
            callers: BTreeMap::new(),
            next: 0,
            sent: Vec::new(),
            written: 0,
            wire: Vec::new(),
            answers: Vec::new(),
            executed: HashMap::new(),
            not_executed: Vec::new(),
            outcomes: [0; 3],
        }
    }

    fn submit(&mut self) {
        let replies = if self.random.below(8) == 0 { 2 + self.random.below(3) } else { 1 };
        let replies = u32::try_from(replies).expect("small");
        let repeatable = self.random.below(3) == 0;
        let mut bytes = Vec::new();
        let first = self.next;
        for _ in 0..replies {
            bytes.extend_from_slice(format!("{}\n", self.next).as_bytes());
            self.next += 1;
        }
        let payload = Payload { args: None, bytes: &bytes, replies, repeatable };
        match self.queue.submit(payload, None, &self.waker).expect("open") {
            Submitted::Slot(slot) => {
                let before = self.callers.insert(slot, Caller { first, replies, repeatable });
                assert!(before.is_none(), "a slot was given to two");
            }
            Submitted::Full(ticket) => {
                // It sends nothing, and no caller may wait behind it.
                self.queue.forget_ticket(ticket);
            }
        }
    }

    fn poll_all(&mut self) {
        let slots: Vec<u32> = self.callers.keys().copied().collect();
        for slot in slots {
            let Poll::Ready(result) =
                self.queue.poll_reply(slot, &Context::from_waker(&self.waker))
            else {
                continue;
            };
            let caller = self.callers.remove(&slot).expect("known");
            let numbers: Vec<i64> =
                (0..i64::from(caller.replies)).map(|i| caller.first + i).collect();
            match result {
                Ok(value) => {
                    let expected = match &numbers[..] {
                        [one] => Value::Int(*one),
                        many => Value::Array(many.iter().map(|&n| Value::Int(n)).collect()),
                    };
                    assert_eq!(value, expected, "a reply of another command");
                    self.outcomes[0] += 1;
                }
                Err(error) if error.is_maybe_executed() => self.outcomes[1] += 1,
                Err(_) => {
                    self.not_executed.extend(numbers);
                    self.outcomes[2] += 1;
                }
            }
        }
    }

    fn drop_one(&mut self) {
        if self.callers.is_empty() {
            return;
        }
        let at = self.random.below(self.callers.len());
        if let Some(&slot) = self.callers.keys().nth(at) {
            self.callers.remove(&slot);
            self.queue.abandon(slot);
        }
    }

    fn take(&mut self) {
        let end =
            self.sent.last().map_or(self.written, |(start, bytes)| start + bytes.len() as u64);
        if end == self.written {
            let mut inner = self.queue.lock();
            let start = inner.taken;
            self.written = start;
            let bytes = inner.take(Vec::new());
            self.sent.push((start, bytes));
        }
    }

    fn write(&mut self) {
        let Some((start, bytes)) = self.sent.last() else { return };
        let at = usize::try_from(self.written - start).expect("small");
        let n = self.random.below(bytes.len() - at + 1);
        self.wire.extend_from_slice(&bytes[at..at + n]);
        self.written += n as u64;
    }

    fn execute(&mut self) {
        while let Some(end) = self.wire.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.wire.drain(..=end).collect();
            let number: i64 =
                String::from_utf8_lossy(&line).trim().parse().expect("a whole command");
            *self.executed.entry(number).or_default() += 1;
            self.answers.push(Value::Int(number));
            if self.random.below(4) == 0 {
                return;
            }
        }
    }

    fn answer(&mut self) {
        let n = self.random.below(self.answers.len() + 1);
        let mut replies = self.answers.drain(..n).collect();
        let mut wakers = Vec::new();
        let mut inner = self.queue.lock();
        inner.deliver(&mut replies, &mut wakers).expect("a command for each reply");
        inner.make_room(&self.queue, &mut wakers);
        let oldest = inner.oldest();
        drop(inner);
        self.sent.retain(|(start, bytes)| start + bytes.len() as u64 > oldest.min(self.written));
    }

    fn cut(&mut self) {
        let sent = &self.sent;
        let bytes = |from: u64, length: usize| {
            let (start, bytes) =
                sent.iter().find(|(s, b)| (*s..s + b.len() as u64).contains(&from)).expect("kept");
            let at = usize::try_from(from - start).expect("small");
            bytes[at..at + length].to_vec()
        };
        let mut inner = self.queue.lock();
        inner.interrupted(self.written, &Error::connection("cut"), bytes, &mut Vec::new());
        self.written = inner.taken;
        drop(inner);
        self.sent.clear();
        self.answers.clear();
        // What the server has read whole it may execute all the same.
        if self.random.below(2) == 0 {
            self.execute();
        }
        self.wire.clear();
        self.answers.clear();
    }

    fn tick(&mut self) {
        self.queue.lock().tick(true, &mut Vec::new());
    }

    fn run(&mut self, steps: usize) {
        let mut writes_once = HashMap::new();
        for _ in 0..steps {
            match self.random.below(100) {
                0..30 => {
                    let first = self.next;
                    self.submit();
                    // Those that are repeatable may be executed more than once.
                    let is_write = !self.callers.values().any(|c| c.first == first && c.repeatable);
                    writes_once.extend((first..self.next).map(|n| (n, is_write)));
                }
                30..50 => self.poll_all(),
                50..58 => self.drop_one(),
                58..68 => self.take(),
                68..80 => self.write(),
                80..88 => self.execute(),
                88..97 => self.answer(),
                97 => self.tick(),
                98 => self.cut(),
                _ => {}
            }
        }
        for (number, times) in &self.executed {
            assert!(*times == 1 || !writes_once[number], "{number} was executed {times} times");
        }
        for number in &self.not_executed {
            assert!(!self.executed.contains_key(number), "{number} was executed after all");
        }
    }
}

#[test]
fn replies_belong_to_their_commands_under_drops_and_cuts() {
    let mut outcomes = [0; 3];
    for seed in 1..=400_u64 {
        let mut model = Model::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        model.run(5_000);
        (0..3).for_each(|i| outcomes[i] += model.outcomes[i]);
    }
    // Each kind of outcome was there, and most commands were answered.
    assert!(outcomes[0] > 100_000 && outcomes[1] > 1_000 && outcomes[2] > 100, "{outcomes:?}");
}

#[test]
fn what_nobody_waits_for_is_not_sent() {
    let queue = Queue::new(10, 1000);
    let waker = Waker::noop();
    let submit = |bytes: &[u8]| match queue.submit(
        Payload { args: None, bytes, replies: 1, repeatable: false },
        None,
        waker,
    ) {
        Ok(Submitted::Slot(slot)) => slot,
        other => panic!("{other:?}"),
    };
    let (_a, b, c) = (submit(b"a"), submit(b"b"), submit(b"c"));
    queue.abandon(b);
    assert_eq!(queue.lock().take(Vec::new()), b"ac");
    // Too late: its reply is thrown away, and not given to the next one.
    queue.abandon(c);
    let d = submit(b"d");
    assert_eq!(queue.lock().take(Vec::new()), b"d");
    let mut replies = vec![Value::Int(1), Value::Int(3), Value::Int(4)];
    queue.lock().deliver(&mut replies, &mut Vec::new()).expect("three commands");
    let Poll::Ready(Ok(value)) = queue.poll_reply(d, &Context::from_waker(waker)) else {
        panic!("no reply")
    };
    assert_eq!(value, Value::Int(4));
    assert!(queue.lock().deliver(&mut vec![Value::Nil], &mut Vec::new()).is_err());
}

#[test]
fn a_full_queue_lets_callers_wait_in_order() {
    let queue = Queue::new(2, 1000);
    let payload = Payload { args: None, bytes: b"x", replies: 1, repeatable: false };
    let counters: Vec<Arc<Counter>> = (0..4).map(|_| Arc::default()).collect();
    let wakers: Vec<Waker> = counters.iter().map(|counter| Waker::from(counter.clone())).collect();
    let submit = |i: usize, ticket| queue.submit(payload, ticket, &wakers[i]).expect("open");
    assert!(
        matches!(submit(0, None), Submitted::Slot(_))
            && matches!(submit(1, None), Submitted::Slot(_))
    );
    let (Submitted::Full(third), Submitted::Full(fourth)) = (submit(2, None), submit(3, None))
    else {
        panic!("there was room");
    };
    queue.lock().take(Vec::new());
    let mut woken = Vec::new();
    let mut inner = queue.lock();
    inner.deliver(&mut vec![Value::Okay], &mut woken).expect("a command");
    inner.make_room(&queue, &mut woken);
    drop(inner);
    woken.into_iter().for_each(Waker::wake);
    let counts = || counters.iter().map(|counter| counter.0.load(Relaxed)).collect::<Vec<_>>();
    assert_eq!(counts(), [1, 0, 1, 0]);
    // The third goes away: the room is the fourth's.
    queue.forget_ticket(third);
    assert_eq!(counts(), [1, 0, 1, 1]);
    assert!(matches!(submit(3, Some(fourth)), Submitted::Slot(_)));
}

#[test]
fn what_was_given_up_takes_no_room() {
    let queue = Queue::new(2, 1000);
    let payload = Payload { args: None, bytes: b"x", replies: 1, repeatable: false };
    let counter = Arc::<Counter>::default();
    let waker = Waker::from(counter.clone());
    let submit = |ticket| queue.submit(payload, ticket, &waker).expect("open");
    let (Submitted::Slot(first), Submitted::Slot(_)) = (submit(None), submit(None)) else {
        panic!("no room")
    };
    let Submitted::Full(ticket) = submit(None) else { panic!("there was room") };
    queue.abandon(first);
    assert_eq!(counter.0.load(Relaxed), 1, "the one that waits is woken");
    assert!(matches!(submit(Some(ticket)), Submitted::Slot(_)));
    assert_eq!(queue.lock().take(Vec::new()), b"xx");
}

#[test]
fn a_late_reply_is_not_the_next_commands() {
    let queue = Queue::new(10, 1000);
    let payload = Payload { args: None, bytes: b"x", replies: 1, repeatable: false };
    let context = &Context::from_waker(Waker::noop());
    let Ok(Submitted::Slot(slow)) = queue.submit(payload, None, Waker::noop()) else {
        panic!("no room")
    };
    queue.lock().take(Vec::new());
    (0..=EPOCHS).for_each(|_| queue.lock().tick(true, &mut Vec::new()));
    let Poll::Ready(Err(error)) = queue.poll_reply(slow, context) else { panic!("it was in time") };
    assert!(error.is_maybe_executed());
    let Ok(Submitted::Slot(next)) = queue.submit(payload, None, Waker::noop()) else {
        panic!("no room")
    };
    assert_eq!(next, slow, "the slot is used again");
    queue.lock().take(Vec::new());
    queue
        .lock()
        .deliver(&mut vec![Value::Int(1), Value::Int(2)], &mut Vec::new())
        .expect("two commands");
    let Poll::Ready(Ok(value)) = queue.poll_reply(next, context) else { panic!("no reply") };
    assert_eq!(value, Value::Int(2));
}
