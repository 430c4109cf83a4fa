//! What the examples without a network share.

use std::fmt::Display;
use std::sync::Arc;

use engine::{Engine, Options};

/// An engine that logs and saves nothing.
pub(crate) fn engine_with(threads: impl Display) -> Arc<Engine> {
    let config = config::Config::new();
    config::load_text(&config, "bench", format!("threads {threads}").as_bytes()).expect("valid");
    Engine::new(Options {
        config,
        commands: session_commands::ALL,
        durability: Arc::<durable::Durable>::default(),
        renames: Vec::new(),
        clock: stdx::clock::Clock::real(),
        log: engine::log::Log::silent(),
        config_file: None,
        executable: String::new(),
    })
}
