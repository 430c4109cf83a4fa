//! Keyspace notifications: <https://redis.io/docs/latest/develop/use/keyspace-notifications/>

use config::events;
use pubsub::{ChannelKind, Hub, Local, Payload, Peers, Wanted};
use store::Event;

/// Publishes an event of the keyspace on the channels that `notify-keyspace-events` asks for. To be
/// called while the key's shard is locked: the events of a key then reach every subscriber in the
/// order in which they happened, whatever threads they happened on.
pub(crate) fn notify<P: Peers>(hub: &Hub, peers: &P, local: &mut Local<P::Peer>, event: &Event) {
    let flags = local.notify;
    if flags & event.class as u32 == 0 {
        return;
    }
    let mut channel = Vec::with_capacity(event.key.len() + 32);
    let mut digits = itoa::Buffer::new();
    let db = digits.format(event.db).as_bytes();
    let mut send = |space: &[u8], last: &[u8], message: &[u8]| {
        channel.clear();
        for part in [space, db, b"__:", last] {
            channel.extend_from_slice(part);
        }
        local.publish(hub, ChannelKind::Channel, Wanted::new(&channel), Payload::of(message));
    };
    if flags & events::KEYSPACE != 0 {
        send(b"__keyspace@", &event.key, event.name.as_bytes());
    }
    if flags & events::KEYEVENT != 0 {
        send(b"__keyevent@", event.name.as_bytes(), &event.key);
    }
    local.post(peers);
}
