//! MEMORY DOCTOR: <https://redis.io/docs/latest/commands/memory-doctor/>

use commands::Outcome;
use commands::row::{Group, Row, Scope};
use resp::{Args, Reply};

use super::Figures;
use super::figures::ratio;
use crate::administration::command;
use engine::{Call, SessionCommand};

pub(super) static DOCTOR: SessionCommand = command(
    Row {
        name: "memory|doctor",
        group: Group::Server,
        since: "4.0.0",
        arity: 2,
        tips: super::TIPS,
        scope: Scope::Each,
        complexity: "O(1)",
        summary: "Reports on problems with memory.",
        syntax: "MEMORY DOCTOR",
        transcript: r#"
> MEMORY DOCTOR
...
"#,
        ..Row::DEFAULT
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let figures = Figures::now(call);
        reply.verbatim("txt", report(&figures, call.engine.clients.count() as u64));
        Ok(())
    },
);

const MB: u64 = 1 << 20;

/// The limits are Redis's.
fn report(f: &Figures, clients: u64) -> String {
    if f.used < 5 * MB {
        return "There is next to nothing in memory yet, so there is nothing to judge.\n".into();
    }
    let mut found = Vec::new();
    if ratio(f.peak, f.used) > 1.5 {
        found.push(
            "Peak: this server has used over half as much again as it does now. Memory that was \
             freed is returned to the system only in part, so the resident size may stay above \
             what is used; it is taken again when data grows.",
        );
    }
    if f.fragmentation() > 1.4 && f.fragmentation_bytes() > 10 * MB as i64 {
        found.push(
            "Resident size: the process occupies over 1.4 times what it uses, because of an \
             earlier peak or of sizes that changed much. Memory that is free inside is used \
             again.",
        );
    }
    if f.clients / clients.max(1) > 200 << 10 {
        found.push(
            "Clients: connections hold over 200 KB each on average. CLIENT LIST shows which: \
             those that do not read their replies, or that send huge pipelines.",
        );
    }
    if found.is_empty() {
        return "Nothing about memory looks wrong.\n".into();
    }
    found.iter().map(|text| format!("* {text}\n\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_problem_is_named() {
        let calm = Figures { used: 100 * MB, peak: 110 * MB, rss: 120 * MB, ..Figures::default() };
        assert!(report(&Figures::default(), 1).contains("nothing to judge"));
        assert!(report(&calm, 1).contains("Nothing"));
        let high = Figures { peak: 151 * MB, ..calm.clone() };
        assert!(report(&high, 1).starts_with("* Peak"));
        let wide = Figures { rss: 150 * MB, ..calm.clone() };
        assert!(report(&wide, 1).starts_with("* Resident"));
        let heavy = Figures { clients: MB, ..calm };
        assert!(report(&heavy, 1).starts_with("* Clients"));
        assert!(report(&heavy, 10).contains("Nothing"));
    }
}
