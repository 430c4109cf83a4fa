//! The section about topics and their HTTP interface.

use std::sync::atomic::Ordering::Relaxed;

use super::Section;
use engine::Call;

pub(super) fn topics(call: &mut Call<'_>, s: &mut Section) {
    let topics = &call.engine.topics;
    s.put("topics_state", topics.state());
    s.put("topics_memory", stdx::mem::apart());
    s.put("http_connections", topics.http_connections.load(Relaxed));
    let Some(broker) = topics.get() else { return };
    s.put("topics_storage", broker.kind());
    let (f, c) = (broker.figures(), broker.counters());
    s.put("topics_open", f.open_topics);
    s.put("topics_waiting_appends", f.waiting_appends);
    for (name, (used, limit)) in [
        ("topics_pending_bytes", f.pending),
        ("topics_kept_bytes", f.kept),
        ("topics_answers_bytes", f.answers),
        ("topics_descriptors", f.descriptors),
    ] {
        s.put(name, used);
        s.put(&format!("{name}_limit"), limit);
    }
    for (name, count) in [
        ("topics_appends", &c.appends),
        ("topics_appended_records", &c.records),
        ("topics_appended_bytes", &c.bytes),
        ("topics_writes", &c.groups),
        ("topics_duplicates", &c.duplicates),
        ("topics_refused", &c.refused),
        ("topics_reads", &c.reads),
        ("topics_read_bytes", &c.read_bytes),
        ("topics_storage_errors", &c.storage_errors),
    ] {
        s.put(name, count.load(Relaxed));
    }
}
