//! A connection as CLIENT LIST and CLIENT INFO show it.
//!
//! The fields, their order and their units are those of Redis 7.4, so that a parser of Redis's
//! lines reads these; the three counters behind them are those that later versions add.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::clients::{Client, Names, Peer};
use crate::engine::Engine;

/// Output that Redis keeps in a connection's fixed buffer (`obl`) before it makes a list (`omem`).
const FIXED_OUTPUT: u64 = 16 * 1024;

/// Appends the line of `client`, and a line break.
pub fn push_client_line(out: &mut String, engine: &Engine, now_ms: i64, client: &Client) {
    let c = client;
    let get = |n: &AtomicU64| n.load(Relaxed);
    let seconds = |since: i64| now_ms / 1000 - since / 1000;
    let output = get(&c.output_bytes);
    let fixed = output.min(FIXED_OUTPUT);
    let query = get(&c.query_bytes);
    let command = match c.last_cmd.load(Relaxed) {
        0 => "NULL",
        n => engine.table.get(n - 1).row.name,
    };
    let names = c.with_names(Names::clone);
    let link = match c.peer() {
        Peer::Primary => engine.replication.link_end.lock().clone(),
        _ => None,
    };
    let (local, fd) = match &link {
        Some((local, fd)) => (local.as_str(), *fd),
        None => (&*c.endpoint.local, c.endpoint.fd),
    };
    // Writing to a String does not fail.
    let _ = write!(
        out,
        "id={} addr={} laddr={} fd={} name={} age={} idle={} flags={} db={}",
        c.id,
        c.endpoint.peer,
        local,
        fd,
        names.name,
        seconds(c.created_ms).max(0),
        seconds(c.active_ms.load(Relaxed)).max(0),
        flags(c),
        c.db.load(Relaxed),
    );
    let [sub, psub, ssub] = c.receiver.counts.each_ref().map(|n| n.load(Relaxed));
    let (multi, watch) = (c.multi.load(Relaxed), c.watch.load(Relaxed));
    let _ = write!(out, " sub={sub} psub={psub} ssub={ssub} multi={multi} watch={watch}");
    let _ = write!(
        out,
        " qbuf={query} qbuf-free={} argv-mem={} multi-mem={} rbs={fixed} rbp={fixed} obl={fixed} \
         oll={} omem={} tot-mem={} events={}",
        get(&c.query_capacity).saturating_sub(query),
        get(&c.args_bytes),
        c.multi_bytes(),
        c.output_objects.load(Relaxed),
        output - fixed,
        c.memory(),
        if output > 0 { "rw" } else { "r" },
    );
    let _ = write!(
        out,
        " cmd={command} user={} redir={} resp={} lib-name={} lib-ver={} tot-net-in={} \
         tot-net-out={} tot-cmds={}",
        c.user.read().shown(),
        c.receiver.redirect.load(Relaxed),
        c.receiver.proto.load(Relaxed),
        names.lib_name,
        names.lib_ver,
        get(&c.net_in),
        get(&c.net_out),
        get(&c.total_commands),
    );
    // Redis does not tell. Others' lines are as without TLS.
    out.push_str(if c.tls.load(Relaxed) { " tls=yes\n" } else { "\n" });
}

/// One letter for each thing that is special about a connection, `N` if nothing is.
fn flags(c: &Client) -> String {
    let is = |flag: &AtomicBool| flag.load(Relaxed);
    let letters = [
        ('S', matches!(c.peer(), Peer::Replica | Peer::ReplicaCopy)),
        ('C', c.peer() == Peer::ReplicaCopy),
        ('M', c.peer() == Peer::Primary),
        ('O', is(&c.monitor)),
        ('P', is(&c.receiver.subscribed)),
        ('x', c.multi.load(Relaxed) >= 0),
        ('b', is(&c.paused) || c.blocked.lock().is_some()),
        ('t', c.receiver.redirect.load(Relaxed) >= 0),
        ('R', is(&c.receiver.redirect_broken)),
        ('B', is(&c.receiver.bcast)),
        ('d', is(&c.dirty)),
        ('A', is(&c.closing)),
        ('U', c.endpoint.unix),
        ('e', is(&c.no_evict)),
        ('T', is(&c.no_touch)),
    ];
    let set: String = letters.iter().filter(|(_, on)| *on).map(|(letter, _)| letter).collect();
    if set.is_empty() { "N".into() } else { set }
}
