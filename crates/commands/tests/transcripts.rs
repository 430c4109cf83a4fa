//! Replays every command's transcript against its function, with no server around it.

mod harness;

use harness::{Arrival, Server, leaves};
use resp::Proto;
use transcript::check;

/// Each session runs twice on servers of its own: in the protocol that its lines show, with the
/// arguments in the input buffer; and in the other protocol, with the arguments in buffers of
/// their own. The first must reply as written, the second the same in other words.
#[test]
fn transcripts() {
    let (sessions, skipped) = harness::sessions();
    let (mut count, mut wrong) = (0, Vec::new());
    for session in &sessions {
        let (mut shown, mut other) = (Server::new(), Server::new());
        for step in &session.steps {
            let protos = [Proto::V2, Proto::V3];
            let [a, b] = if step.resp == 2 { protos } else { [protos[1], protos[0]] };
            let shown = shown.call(0, &step.args, a, Arrival::Buffer).expect("known").reply;
            let other = other.call(0, &step.args, b, Arrival::Owned).expect("known").reply;
            if let Err(mismatch) = check(step, &shown) {
                wrong.push(format!("{}: {mismatch}", session.of));
            }
            if leaves(&shown) != leaves(&other) {
                let text = transcript::format(&other);
                wrong.push(format!("{}: {b:?} differs at {}: {text}\n", session.of, step.source));
            }
            count += 1;
        }
    }
    eprintln!("{count} steps; {skipped} sessions need a session command and run elsewhere");
    assert!(count > 0);
    assert!(wrong.is_empty(), "\n{}", wrong.concat());
}
