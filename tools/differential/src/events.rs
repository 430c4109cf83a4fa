//! Keyspace events of a round, as a second connection sees them.
//!
//! It is subscribed before the round begins; the round ends with a message of its own, so that all
//! events have arrived when that has.

use transcript::{Client, Reply};

/// The last command of a round.
pub(crate) const END: &str = "PUBLISH round:end x";

/// A connection that listens.
pub(crate) struct Listener(Client);

/// Channel and message.
type Event = (Vec<u8>, Vec<u8>);

impl Listener {
    pub(crate) fn new(address: &str) -> Result<Listener, String> {
        let named = |e: &dyn std::fmt::Display| format!("{address}: {e}");
        let mut client = Client::connect(address).map_err(|e| named(&e))?;
        for words in
            [&["HELLO", "3"][..], &["PSUBSCRIBE", "__keyspace@*"], &["SUBSCRIBE", "round:end"]]
        {
            client.call(words).map_err(|e| named(&e))?;
        }
        Ok(Listener(client))
    }

    /// All events, in order.
    pub(crate) fn all(mut self) -> Result<Vec<Event>, String> {
        let mut events = Vec::new();
        for push in self.0.pushes() {
            events.extend(event(&push));
        }
        while events.last().is_none_or(|(channel, _)| channel != b"round:end") {
            let push = self.0.receive().map_err(|e| format!("events: {e}"))?;
            events.extend(event(&push));
        }
        Ok(events)
    }
}

fn event(push: &Reply) -> Option<Event> {
    let Reply::Push(items) = push else { return None };
    match &items[..] {
        [.., Reply::Bulk(channel), Reply::Bulk(message)] => {
            Some((channel.clone(), message.clone()))
        }
        _ => None,
    }
}

/// Where the two begin to differ: the next few of each.
pub(crate) fn difference(redis: &[Event], apus: &[Event]) -> Option<(String, String)> {
    if redis == apus {
        return None;
    }
    let same = redis.iter().zip(apus).take_while(|(r, a)| r == a).count();
    let shown = |events: &[Event]| {
        let text = |(channel, message): &Event| {
            format!("{} {}", String::from_utf8_lossy(channel), String::from_utf8_lossy(message))
        };
        let next: Vec<String> = events.iter().skip(same).take(4).map(text).collect();
        format!("event {same}: {}", next.join("; "))
    };
    Some((shown(redis), shown(apus)))
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn the_first_difference_is_shown() {
        let event = |key: &str| (key.as_bytes().to_vec(), b"set".to_vec());
        assert_eq!(difference(&[event("a")], &[event("a")]), None);
        let found = difference(&[event("a"), event("b")], &[event("a"), event("c")]);
        assert_eq!(found, Some(("event 1: b set".into(), "event 1: c set".into())));
    }
}
