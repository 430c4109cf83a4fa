//! The section about the costs of commands; see [`observe::costs`].

use super::Section;
use engine::Call;
use observe::costs::EVERY;

pub(super) fn costs(call: &mut Call<'_>, s: &mut Section) {
    let engine = call.engine;
    let t = engine.totals();
    let b = engine.costs();
    let per_command = |n: u64| format!("{:.4}", n as f64 / t.commands_processed.max(1) as f64);
    s.put("costs_sample_every", EVERY);
    s.put("costs_sampled_batches", b.sampled_batches);
    let per_batch = t.commands_processed as f64 / t.batches.max(1) as f64;
    s.put("commands_per_batch", format_args!("{per_batch:.2}"));
    s.put("reads_per_command", per_command(t.reads_processed));
    s.put("writes_per_command", per_command(t.writes_processed));
    s.put("waits_per_command", per_command(t.eventloop_cycles));
    let calls = t.reads_processed + t.writes_processed + t.eventloop_cycles;
    s.put("syscalls_per_command", per_command(calls));
    s.put("read_usec_per_call", format_args!("{:.3}", b.read / 1000.0));
    s.put("write_usec_per_call", format_args!("{:.3}", b.write / 1000.0));
    for f in b.families {
        let value = format!(
            "calls={},sampled={},parse_ns={:.1},lock_wait_ns={:.1},execute_ns={:.1},\
             write_ns={:.1},lock_waits={}",
            f.calls, f.sampled, f.parse, f.lock_wait, f.execute, f.write, f.lock_waits
        );
        s.put(&format!("cost_{}", f.family), value);
    }
}
