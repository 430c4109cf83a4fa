//! One run on one server: connections, load, storm.

use std::net::ToSocketAddrs;
use std::time::{Duration, Instant};

use super::crowd::{Crowd, Tally};
use super::options::{Options, Place, Publish};
use super::publisher::Publisher;
use crate::kv::histogram::Histogram;
use crate::kv::sys;

/// When nothing more arrives for so long, it is lost.
const PATIENCE: Duration = Duration::from_secs(3);

/// What a server did in a while.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub(super) seconds: f64,
    /// CPU time of the server's process, if it is known.
    pub(super) server_ns: Option<u64>,
    pub(super) client_ns: u64,
}

/// All connect and subscribe.
#[derive(Clone, Debug)]
pub(super) struct Gathered {
    pub(super) spent: Spent,
    pub(super) joining: Histogram,
    /// Bytes that the server's memory grew by.
    pub(super) grown: Option<u64>,
}

/// Messages are published.
#[derive(Clone, Debug, Default)]
pub(super) struct Loaded {
    pub(super) spent: Spent,
    pub(super) messages: u64,
    pub(super) deliveries: u64,
    pub(super) latency: Histogram,
    /// Seconds from the end of publishing to the last delivery.
    pub(super) behind: f64,
}

/// All drop, miss messages, and come back.
#[derive(Clone, Debug)]
pub(super) struct Stormed {
    pub(super) spent: Spent,
    pub(super) joining: Histogram,
    pub(super) recovered: u64,
    pub(super) failed: u64,
    pub(super) replayed: u64,
}

/// What one run has measured.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) gathered: Gathered,
    pub(super) loaded: Option<Loaded>,
    pub(super) stormed: Option<Stormed>,
    pub(super) gaps: u64,
    pub(super) duplicates: u64,
    pub(super) lost: u64,
    pub(super) ended: u64,
    pub(super) note: Option<String>,
}

/// Measures a while.
struct Watch {
    pid: Option<u32>,
    before: std::collections::HashMap<String, sys::Cpu>,
    client_ns: u64,
    begun: Instant,
}

impl Watch {
    fn new(place: &Place) -> Self {
        Self {
            pid: place.pid,
            before: place.pid.map(sys::process_cpu).unwrap_or_default(),
            client_ns: sys::thread_cpu_ns(),
            begun: Instant::now(),
        }
    }

    fn spent(&self) -> Spent {
        let after = self.pid.map(sys::process_cpu);
        let server = after.and_then(|after| sys::cpu_between(&self.before, &after));
        Spent {
            seconds: self.begun.elapsed().as_secs_f64(),
            server_ns: server.map(|(ran, _)| ran),
            client_ns: sys::thread_cpu_ns() - self.client_ns,
        }
    }
}

/// The messages of a run so far.
struct Sent {
    messages: u64,
    /// Deliveries that are due for them.
    promised: u64,
}

/// Runs it all.
///
/// # Errors
/// The server is unreachable, refuses something, or answers a publication with an error.
pub(super) fn run(o: &Options, place: &Place) -> Result<Run, String> {
    let named = |e: String| format!("{}: {e}", place.name);
    let at = (place.host.as_str(), place.port).to_socket_addrs();
    let at = at.map_err(|e| named(e.to_string()))?.next();
    let at = at.ok_or_else(|| named("the name has no address".to_owned()))?;
    let mut crowd = Crowd::new(o, place, at).map_err(|e| named(e.to_string()))?;
    let gathered = gather(o, place, &mut crowd).map_err(named)?;
    let mut sent = Sent { messages: 0, promised: 0 };
    let (mut loaded, mut stormed) = (None, None);
    if o.publish == Publish::None {
        rest(&mut crowd, o.duration).map_err(named)?;
    } else {
        for _ in 0..o.publishers {
            let publisher = Publisher::connect(o, place, at).map_err(named)?;
            crowd.add_publisher(publisher).map_err(|e| named(e.to_string()))?;
        }
        loaded = Some(load(o, place, &mut crowd, &mut sent).map_err(named)?);
        if o.storm > 0 {
            stormed = Some(storm(o, place, &mut crowd, &mut sent).map_err(named)?);
        }
    }
    let Tally { delivered, gaps, duplicates, ended, note, .. } = &crowd.tally;
    Ok(Run {
        gathered,
        loaded,
        stormed,
        gaps: *gaps,
        duplicates: *duplicates,
        lost: sent.promised.saturating_sub(delivered - duplicates),
        ended: *ended,
        note: note.clone(),
    })
}

fn gather(o: &Options, place: &Place, crowd: &mut Crowd<'_>) -> Result<Gathered, String> {
    let before = place.pid.and_then(sys::resident_bytes);
    let watch = Watch::new(place);
    crowd.gather(o.subscribers, o.burst)?;
    let spent = watch.spent();
    // What the server tells others of the new ones (joins) is over then.
    rest(crowd, Duration::from_millis(500))?;
    let after = place.pid.and_then(sys::resident_bytes);
    let grown = before.zip(after).map(|(before, after)| after.saturating_sub(before));
    Ok(Gathered { spent, joining: std::mem::take(&mut crowd.tally.joining), grown })
}

/// Only takes what comes.
fn rest(crowd: &mut Crowd<'_>, time: Duration) -> Result<(), String> {
    let begun = Instant::now();
    while let Some(left) = time.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
        crowd.turn(Some(left)).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn subscribers_of(o: &Options, channel: usize) -> u64 {
    (o.subscribers / o.channels + usize::from(channel < o.subscribers % o.channels)) as u64
}

impl Sent {
    fn publish(&mut self, o: &Options, crowd: &mut Crowd<'_>, due_ns: u64) {
        let channel = (self.messages % o.channels as u64) as usize;
        let publisher = (self.messages % o.publishers as u64) as usize;
        let name = o.channel_name(channel);
        crowd.publishers[publisher].publish(&name, due_ns, self.messages);
        self.messages += 1;
        self.promised += subscribers_of(o, channel);
    }
}

fn failed(crowd: &Crowd<'_>) -> Result<(), String> {
    match &crowd.tally.note {
        Some(note) if crowd.tally.ended > 0 => Err(note.clone()),
        _ => Ok(()),
    }
}

/// Sends what is due, or what has room. Returns how long there is nothing to send.
fn send(
    o: &Options,
    crowd: &mut Crowd<'_>,
    sent: &mut Sent,
    begun_ns: u64,
) -> Result<Duration, String> {
    let now_ns = crowd.now_ns();
    let wait = if let Some(rate) = o.rate {
        let due = |n: u64| begun_ns + (u128::from(n) * 1_000_000_000 / u128::from(rate)) as u64;
        // So many at a time that what arrives is not kept waiting.
        for _ in 0..64 {
            if due(sent.messages) > now_ns {
                break;
            }
            let due_ns = due(sent.messages);
            sent.publish(o, crowd, due_ns);
        }
        Duration::from_nanos(due(sent.messages).saturating_sub(now_ns))
    } else {
        let each = (o.subscribers / o.channels).max(1) as u64;
        while sent.promised.saturating_sub(crowd.tally.delivered) < o.in_flight * each {
            sent.publish(o, crowd, now_ns);
        }
        Duration::from_millis(100)
    };
    crowd.publishers.iter_mut().try_for_each(Publisher::flush)?;
    Ok(wait)
}

fn load(
    o: &Options,
    place: &Place,
    crowd: &mut Crowd<'_>,
    sent: &mut Sent,
) -> Result<Loaded, String> {
    let (begun, begun_ns) = (Instant::now(), crowd.now_ns());
    let phase = |crowd: &mut Crowd<'_>, sent: &mut Sent, until: Duration| {
        while begun.elapsed() < until {
            let wait = send(o, crowd, sent, begun_ns)?;
            let turned = match o.rate {
                Some(_) => crowd.pause(wait),
                None => crowd.turn(Some(wait)),
            };
            turned.map_err(|e| e.to_string())?;
            failed(crowd)?;
        }
        Ok::<_, String>(())
    };
    phase(crowd, sent, o.warm_up)?;
    let watch = Watch::new(place);
    let (messages, delivered) = (sent.messages, crowd.tally.delivered);
    crowd.measuring = true;
    phase(crowd, sent, o.warm_up + o.duration)?;
    let mut loaded = Loaded {
        spent: watch.spent(),
        messages: sent.messages - messages,
        deliveries: crowd.tally.delivered - delivered,
        ..Loaded::default()
    };
    // What was sent in the time measured counts, however late it comes.
    loaded.behind = drain(crowd, sent)?;
    crowd.measuring = false;
    loaded.latency = std::mem::take(&mut crowd.tally.latency);
    Ok(loaded)
}

/// Waits for all deliveries that are due. Returns the seconds until the last one.
fn drain(crowd: &mut Crowd<'_>, sent: &Sent) -> Result<f64, String> {
    let begun = Instant::now();
    let (mut last, mut seen) = (begun, crowd.tally.delivered);
    let answered = |crowd: &Crowd<'_>| crowd.publishers.iter().all(|p| p.unanswered == 0);
    while (crowd.tally.delivered < sent.promised || !answered(crowd)) && last.elapsed() < PATIENCE {
        crowd.turn(Some(Duration::from_millis(20))).map_err(|e| e.to_string())?;
        failed(crowd)?;
        if crowd.tally.delivered != seen {
            (last, seen) = (Instant::now(), crowd.tally.delivered);
        }
    }
    Ok(last.duration_since(begun).as_secs_f64())
}

fn storm(
    o: &Options,
    place: &Place,
    crowd: &mut Crowd<'_>,
    sent: &mut Sent,
) -> Result<Stormed, String> {
    let all = crowd.drop_all();
    rest(crowd, Duration::from_millis(500))?;
    let delivered = crowd.tally.delivered;
    for _ in 0..o.storm * o.channels as u64 {
        let now_ns = crowd.now_ns();
        sent.publish(o, crowd, now_ns);
    }
    crowd.publishers.iter_mut().try_for_each(Publisher::flush)?;
    while crowd.publishers.iter().any(|p| p.unanswered > 0) {
        crowd.turn(Some(Duration::from_millis(20))).map_err(|e| e.to_string())?;
        failed(crowd)?;
    }
    let watch = Watch::new(place);
    crowd.return_all(all)?;
    let spent = watch.spent();
    drain(crowd, sent)?;
    Ok(Stormed {
        spent,
        joining: std::mem::take(&mut crowd.tally.joining),
        recovered: crowd.tally.recovered,
        failed: crowd.tally.failed,
        replayed: crowd.tally.delivered - delivered,
    })
}
