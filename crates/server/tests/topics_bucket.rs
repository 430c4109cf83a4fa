//! Two servers on one bucket of an object store's server (`MINIO` or `AZURITE` names it, or `GCS`), both of
//! which are killed again and again while producers and readers use them. Not part of `cargo test` by
//! itself, since it must not pass without one; `cargo xtask test` has them installed. `APUS_KILLS` for more kills than there,
//! `APUS_SEED` for other moments.

mod killed;
#[path = "../../log/tests/server/mod.rs"]
mod server;

use std::sync::Mutex;

use killed::{Plan, Server, ask, kill_and_check, number};
use testing::TempDir;

const SERVERS: usize = 2;

#[test]
fn two_servers_on_one_bucket_are_killed() {
    let (kills, seed) = (number("APUS_KILLS", 20), number("APUS_SEED", 1));
    let store = server::Server::start();
    let dirs: Vec<TempDir> = (0..SERVERS).map(|_| TempDir::new()).collect();
    let start = |i: usize| {
        Server::start(|command| {
            command
                .args(["--topic-storage", &store.url("two")])
                .args(["--topic-cache-size", "2mb"])
                .args(["--dir".as_ref(), dirs[i].as_os_str()])
                .envs(store.environment());
        })
    };
    let servers: Vec<Mutex<Server>> = (0..SERVERS).map(|i| Mutex::new(start(i))).collect();
    let http = servers[0].lock().expect("sound").http;
    let (status, _) = ask(http, "PUT", "/v1/topics/t", b"{\"linger_ms\":5}").expect("an answer");
    assert_eq!(status, 201);
    let plan = Plan { seed, kills, pause_ms: 900 };
    let seen = kill_and_check(&servers, "t", &plan, start);
    assert!(seen.acknowledged > 100, "{seen:?}");
    eprintln!("{kills} kills: {seen:?}");
    drop(servers);
}
