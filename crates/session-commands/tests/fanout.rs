//! A connection that gives other threads more to deliver than they do waits until they have delivered
//! it.

mod workers;

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use engine::{Engine, Mailbox, Message, Wire};
use workers::{Worker, engine};

/// More than may wait for a thread with a handful of subscribers.
const MUCH: usize = 4 << 20;

fn value() -> String {
    "v".repeat(1000)
}

fn backlog(w: &Worker) -> usize {
    w.thread.worker().inbox.backlog.bytes()
}

/// Has `writer` run a pipeline that would give `reader` far too much; it waits, and goes on when the
/// reader has delivered.
fn is_held_up(reader: &mut Worker, writer: &mut Worker, pipeline: &str) {
    let mut rest = pipeline;
    let (mut sent, mut pauses) = (0, 0);
    while !rest.is_empty() {
        let (done, crowded) = writer.run_until_crowded(rest);
        rest = &rest[done..];
        assert!(backlog(reader) < MUCH, "{} bytes wait", backlog(reader));
        let Some(thread) = crowded else { break };
        assert_eq!(thread, reader.thread.index);
        assert!(!writer.thread.has_room(&writer.engine, thread));
        pauses += 1;
        sent += reader.deliver();
        assert_eq!(backlog(reader), 0);
        assert!(writer.thread.has_room(&writer.engine, thread));
    }
    sent += reader.deliver();
    assert!(pauses > 2 && sent > 2 * MUCH, "{pauses} pauses, {sent} bytes");
}

fn pair(options: &str) -> (Worker, Worker) {
    let engine = engine(options);
    (Worker::new(&engine), Worker::new(&engine))
}

#[test]
fn publishers_wait_for_threads_that_deliver() {
    let (mut reader, mut writer) = pair("");
    reader.call(&["SUBSCRIBE", "c"]);
    is_held_up(&mut reader, &mut writer, &format!("PUBLISH c {}\r\n", value()).repeat(20_000));
    reader.call(&["UNSUBSCRIBE"]);
    reader.call(&["PSUBSCRIBE", "c*"]);
    is_held_up(&mut reader, &mut writer, &format!("PUBLISH c {}\r\n", value()).repeat(20_000));
    reader.call(&["PUNSUBSCRIBE"]);
    reader.call(&["SSUBSCRIBE", "s"]);
    is_held_up(&mut reader, &mut writer, &format!("SPUBLISH s {}\r\n", value()).repeat(20_000));
}

#[test]
fn transactions_and_scripts_wait_behind_what_they_publish() {
    let (mut reader, mut writer) = pair("");
    reader.call(&["SUBSCRIBE", "c"]);
    let publish = format!("PUBLISH c {}\r\n", value()).repeat(100);
    is_held_up(&mut reader, &mut writer, &format!("MULTI\r\n{publish}EXEC\r\n").repeat(200));
    let script = "for i = 1, 100 do redis.call('PUBLISH', 'c', string.rep('v', 1000)) end";
    is_held_up(&mut reader, &mut writer, &format!("EVAL \"{script}\" 0\r\n").repeat(200));
}

#[test]
fn writers_wait_for_those_who_are_told_of_their_changes() {
    let (mut reader, mut writer) = pair("notify-keyspace-events KEA");
    reader.call(&["PSUBSCRIBE", "__key*"]);
    let key = "k".repeat(1000);
    is_held_up(&mut reader, &mut writer, &format!("SET {key} v\r\n").repeat(10_000));
}

#[test]
fn writers_wait_for_those_who_cache_what_they_change() {
    let (mut reader, mut writer) = pair("");
    reader.call(&["HELLO", "3"]);
    reader.call(&["CLIENT", "TRACKING", "ON", "BCAST"]);
    let key = "k".repeat(1000);
    let sets: String = (0..20_000).map(|i| format!("SET {key}{i} v\r\n")).collect();
    is_held_up(&mut reader, &mut writer, &sets);
}

#[test]
fn everybody_waits_for_a_monitor() {
    let (mut reader, mut writer) = pair("");
    reader.call(&["MONITOR"]);
    is_held_up(&mut reader, &mut writer, &format!("ECHO {}\r\n", value()).repeat(20_000));
}

#[test]
fn who_publishes_to_its_own_thread_waits_too() {
    let engine = engine("");
    let mut w = Worker::new(&engine);
    let mut other = Worker::new(&engine);
    w.call(&["HELLO", "3"]);
    w.call(&["SUBSCRIBE", "c"]);
    let pipeline = format!("PUBLISH c {}\r\n", value()).repeat(20_000);
    // Messages to itself leave with its replies; messages to others wait.
    assert_eq!(w.run_until_crowded(&pipeline), (pipeline.len(), None));
    is_held_up(&mut w, &mut other, &pipeline);
}

#[test]
fn threads_that_publish_to_each_other_go_on() {
    let (mut a, mut b) = pair("");
    a.call(&["HELLO", "3"]);
    a.call(&["SUBSCRIBE", "a"]);
    b.call(&["HELLO", "3"]);
    b.call(&["SUBSCRIBE", "b"]);
    let text = |channel| format!("PUBLISH {channel} {}\r\n", value()).repeat(20_000);
    let (to_a, to_b) = (text("a"), text("b"));
    let (mut from_a, mut from_b) = (to_b.as_str(), to_a.as_str());
    while !from_a.is_empty() || !from_b.is_empty() {
        from_a = &from_a[a.run_until_crowded(from_a).0..];
        from_b = &from_b[b.run_until_crowded(from_b).0..];
        assert!(backlog(&a) < MUCH && backlog(&b) < MUCH);
        // Both wait; each works off its own backlog.
        a.deliver();
        b.deliver();
        for (x, y) in [(&a, &b), (&b, &a)] {
            assert!(x.thread.has_room(&x.engine, y.thread.index));
        }
    }
}

#[test]
fn who_waits_is_woken_when_there_is_room() {
    let engine: Arc<Engine> = engine("");
    let woken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&woken);
    let mut reader = Worker::new(&engine);
    let mut writer = Worker::with(&engine, Mailbox::new(move || _ = count.fetch_add(1, Relaxed)));
    reader.call(&["SUBSCRIBE", "c"]);
    let pipeline = format!("PUBLISH c {}\r\n", value()).repeat(20_000);
    let crowded = writer.run_until_crowded(&pipeline).1.expect("too much");
    assert!(!writer.thread.has_room(&engine, crowded));
    reader.thread.relieve(&engine);
    assert_eq!(woken.load(Relaxed), 0);
    reader.deliver();
    assert_eq!(woken.load(Relaxed), 1);
}

#[test]
fn nobody_else_is_held_up() {
    let (mut reader, mut writer) = pair("");
    reader.call(&["SUBSCRIBE", "c"]);
    let mut bystander = Worker::new(&writer.engine);
    let pipeline = format!("PUBLISH c {}\r\n", value()).repeat(20_000);
    assert!(writer.run_until_crowded(&pipeline).1.is_some());
    let pipeline = "SET k v\r\nGET k\r\nPUBLISH nobody x\r\n".repeat(1000);
    assert_eq!(bystander.run_until_crowded(&pipeline), (pipeline.len(), None));
    assert_eq!(reader.run_until_crowded("PING\r\n").1, None);
}

#[test]
fn keys_expire_no_faster_than_their_events_are_delivered() {
    let (mut reader, mut writer) = pair("notify-keyspace-events Ex");
    reader.call(&["PSUBSCRIBE", "__keyevent*"]);
    let key = "k".repeat(1000);
    let at = reader.engine.clock.wall_ms() + 2;
    let sets: String = (0..10_000).map(|i| format!("SET {key}{i} v PXAT {at}\r\n")).collect();
    writer.run(&sets);
    while reader.engine.clock.wall_ms() <= at {
        std::thread::yield_now();
    }
    let engine = Arc::clone(&writer.engine);
    let (mut sent, mut pauses) = (0, 0);
    while writer.thread.cron(&engine, 1, u64::MAX) {
        let waiting = backlog(&reader);
        assert!(waiting < MUCH, "{waiting} bytes wait");
        // Nothing more expires before the events have been delivered.
        if waiting > MUCH / 4 {
            pauses += 1;
            assert!(writer.thread.cron(&engine, 1, u64::MAX) || backlog(&reader) == waiting);
            assert_eq!(backlog(&reader), waiting);
            sent += reader.deliver();
        }
    }
    sent += reader.deliver();
    assert!(pauses > 2 && sent > 10_000 * 1000, "{pauses} pauses, {sent} bytes");
}

/// A server that takes everything.
struct Taker;

impl Read for Taker {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        buffer[..5].copy_from_slice(b"+OK\r\n");
        Ok(5)
    }
}

impl Write for Taker {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Wire for Taker {
    fn limit(&self, _: Duration) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn who_moves_keys_waits_until_their_deletions_are_delivered() {
    let (mut reader, mut writer) = pair("notify-keyspace-events Eg");
    reader.call(&["PSUBSCRIBE", "__keyevent*"]);
    let engine = Arc::clone(&writer.engine);
    *engine.hooks.dial.write() = Some(Arc::new(|_, _, _, _| Ok(Box::new(Taker) as Box<dyn Wire>)));
    let keys: Vec<String> = (0..500).map(|i| format!("{}{i}", "k".repeat(10_000))).collect();
    writer.run(&keys.iter().map(|key| format!("SET {key} v\r\n")).collect::<String>());
    let mut words = vec!["MIGRATE", "h", "1", "", "0", "1000", "KEYS"];
    words.extend(keys.iter().map(String::as_str));
    let bulk = |word: &&str| format!("${}\r\n{word}\r\n", word.len());
    let line = format!("*{}\r\n{}", words.len(), words.iter().map(bulk).collect::<String>());
    assert_eq!(writer.run_until_crowded(&line), (line.len(), None));
    let mut answered = false;
    while !answered {
        for worker in [&mut reader, &mut writer] {
            for message in worker.thread.worker().mailbox.take() {
                match message {
                    Message::Run(job) => job.run(&engine, &mut worker.thread),
                    Message::Answer(_, reply) => {
                        assert_eq!(reply, b"+OK\r\n");
                        answered = true;
                    }
                    _ => {}
                }
            }
        }
        std::thread::yield_now();
    }
    // The connection waits for this thread before it goes on.
    assert_eq!(writer.session.client.crowded.load(Relaxed), reader.thread.index as u32 + 1);
    assert!(backlog(&reader) > MUCH && !writer.thread.has_room(&engine, reader.thread.index));
    assert!(reader.deliver() > 500 * 10_000);
    assert!(writer.thread.has_room(&engine, reader.thread.index));
}
