//! Requests to end the server.

use std::sync::OnceLock;

use engine::{Engine, Thread};
use parking_lot::{Mutex, RwLock};

/// How a shutdown was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShutdownRequest {
    /// SAVE (`Some(true)`), NOSAVE (`Some(false)`), or as configured.
    pub save: Option<bool>,
    /// NOW: do not wait for replicas.
    pub now: bool,
    /// Go on even when saving fails.
    pub force: bool,
}

/// Carries out a shutdown.
pub type ShutdownHook = Box<dyn Fn(ShutdownRequest) + Send + Sync>;

/// Whether a shutdown has to wait. The function that says so carries it out when it is time. The last argument is the
/// manner of the end, as [`engine::ends`] names it.
pub type WaitsHook = fn(&Engine, &mut Thread, ShutdownRequest, u8) -> bool;

/// What a request to end the server leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The server ends.
    Now,
    /// The replicas are waited for.
    Waits,
}

/// The end of the server.
#[derive(Default)]
pub struct Shutdown {
    /// Asked before a shutdown begins; set by the owner of the replicas.
    pub waits: OnceLock<WaitsHook>,
    /// Ends the server; set by the owner of the listeners.
    pub hook: RwLock<Option<ShutdownHook>>,
    /// A shutdown that a signal requested and that has not begun.
    pub(crate) asked: Mutex<Option<ShutdownRequest>>,
}
