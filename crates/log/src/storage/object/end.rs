//! What this process knows of a topic's end, and since when. See [`super::tail`].

use std::time::{Duration, Instant, SystemTime};

use object_store::UpdateVersion;

use super::head::Head;
use crate::settings::Settings;

/// A moment, by both clocks: one stands still while the machine sleeps, the other may be set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    steady: Instant,
    wall: SystemTime,
}

impl Moment {
    pub(super) fn now() -> Self {
        Self { steady: Instant::now(), wall: SystemTime::now() }
    }

    /// At least the time that has passed since.
    pub(super) fn age(&self) -> Duration {
        let wall = SystemTime::now().duration_since(self.wall).unwrap_or_default();
        self.steady.elapsed().max(wall)
    }
}

/// The known end, and since when it is known.
pub(super) struct Tail {
    pub(super) head: Head,
    pub(super) version: UpdateVersion,
    /// When no name from the end on had ever been deleted.
    pub(super) confirmed: Moment,
    /// When the topic was certainly there, and began where the head says.
    pub(super) checked: Moment,
    /// Objects and bytes since the state was written down.
    pub(super) since: (u64, u64),
    /// The condemned objects, and since when this process has known.
    pub(super) condemned: (u64, Moment),
    /// The settings that were seen last …
    pub(super) settings: Settings,
    /// … if the broker does not know them.
    pub(super) changed: Option<Settings>,
}
