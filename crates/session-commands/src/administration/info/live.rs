//! The section about live channels.

use std::sync::atomic::Ordering::Relaxed;

use super::Section;
use engine::Call;

pub(super) fn live(call: &mut Call<'_>, s: &mut Section) {
    let live = &call.engine.live;
    s.put("live_enabled", u8::from(call.engine.hooks.live.read().is_some()));
    for (name, count) in [
        ("live_clients", &live.clients),
        ("live_subscriptions", &live.subscriptions),
        ("live_channels", &live.channels),
        ("live_connects", &live.connects),
        ("live_published", &live.published),
        ("live_delivered", &live.delivered),
        ("live_recovered", &live.recovered),
        ("live_not_recovered", &live.not_recovered),
        ("live_slow_closes", &live.slow),
    ] {
        s.put(name, count.load(Relaxed));
    }
    if let Some(fields) = &*call.engine.hooks.live_info.read() {
        for (name, value) in fields() {
            s.put(&name, value);
        }
    }
}
