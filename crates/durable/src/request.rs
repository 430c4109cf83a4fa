//! Requests to end the server.

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

/// The end of the server.
#[derive(Default)]
pub struct Shutdown {
    /// Ends the server; set by the owner of the listeners.
    pub hook: RwLock<Option<ShutdownHook>>,
    /// A shutdown that a signal requested and that has not begun.
    pub(crate) asked: Mutex<Option<ShutdownRequest>>,
}
