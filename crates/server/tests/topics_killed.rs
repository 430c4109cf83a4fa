//! A server with topics on disk that is killed again and again while producers and readers use them.
//! `APUS_KILLS` for more kills than in every run of the tests, `APUS_SEED` for other moments.

mod killed;

use std::sync::Mutex;

use killed::{Plan, Seen, Server, ask, kill_and_check, number};
use testing::TempDir;

/// Kills after which all is read and checked, and another topic is used.
const EACH: u64 = 25;

#[test]
fn nothing_acknowledged_is_lost_when_the_server_is_killed() {
    let (mut left, mut seed) = (number("APUS_KILLS", 10), number("APUS_SEED", 1) * 1_000_000);
    let kills = left;
    let base = TempDir::new();
    let start = |_: usize| {
        Server::start(|command| {
            command.args(["--dir".as_ref(), base.as_os_str()]);
        })
    };
    let servers = [Mutex::new(start(0))];
    let mut sum = Seen::default();
    while left > 0 {
        let http = servers[0].lock().expect("sound").http;
        let topic = format!("t{seed}");
        let target = format!("/v1/topics/{topic}");
        // Files so small that kills come while a new one begins, too.
        let settings = b"{\"segment_bytes\":1048576}";
        let (status, _) = ask(http, "PUT", &target, settings).expect("an answer");
        assert_eq!(status, 201);
        let plan = Plan { seed, kills: left.min(EACH), pause_ms: 300 };
        let seen = kill_and_check(&servers, &topic, &plan, start);
        sum.acknowledged += seen.acknowledged;
        sum.stored += seen.stored;
        let http = servers[0].lock().expect("sound").http;
        let (status, _) = ask(http, "DELETE", &target, b"").expect("an answer");
        assert_eq!(status, 204);
        left -= plan.kills;
        seed += 1;
        if kills > 100 && left.is_multiple_of(100) {
            eprintln!("{left} kills to go: {sum:?}");
        }
    }
    eprintln!("{kills} kills: {sum:?}");
}
