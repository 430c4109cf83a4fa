//! Lua 5.1 as Redis's scripts know it: the virtual machine (PUC Lua, vendored C), its sandbox, the
//! libraries `redis`, `cjson`, `cmsgpack`, `struct` and `bit`, and the conversion of replies both
//! ways. Knows nothing of the server: a script's calls go to a [`Host`].
//!
//! A [`Vm`] belongs to one thread. The C code is treated as something that scripts attack: no
//! precompiled code, no collection while parsing, memory and C stack limited, patterns bounded, and
//! all tables that outlive a script out of reach for writing. The libraries are written here, in Rust.
//!
//! Sources: <https://redis.io/docs/latest/develop/interact/programmability/lua-api/> and, where it
//! is silent, the behaviour of Redis 7.

mod base;
mod bit;
mod cjson;
mod cmsgpack;
mod ending;
mod front;
mod host;
mod layout;
mod memory;
mod number;
mod patterns;
mod proof;
mod raw;
mod redis;
mod refusal;
mod reply;
mod sandbox;
mod state;
mod structs;
mod vm;

pub use host::{Called, Entry, Flags, Host, REPL_AOF, Registered, Tick};
pub use proof::{Proof, Rule, Uses};
pub use state::Machine;
pub use vm::{Code, Compiled, Failure, Invocation, Vm};
