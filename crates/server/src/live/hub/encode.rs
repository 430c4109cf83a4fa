//! A push in the bytes of each kind of subscriber: encoded for the first of a kind, appended as it is for the others.
//!
//! Kinds differ by transport and form, by what names the channel (its name, or its number), and by the shape of a
//! publication's data. Numbers of channels are those of the thread, so that subscribers share them.

use live_protocol::{Channel as Named, Publication, Push, delta};

use super::channel::{Latest, Subscriber};
use super::wire::Wire;

/// Bytes of a push besides its channel's name and its data: more is made room for as it comes.
const ROOM: usize = 96;

/// How a subscriber gets the data of a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// As they are.
    Plain,
    /// Whole, for a subscriber that takes deltas: in JSON as a text.
    Whole,
    /// As a delta, in JSON as a text.
    Delta,
}

/// A kind of subscriber, its bytes, and how many of them are the message.
type Made = ((Wire, bool, Shape), Vec<u8>, usize);

/// A push, and the bytes of the kinds that have been asked for: a handful at most.
pub(super) struct Encoded<'a> {
    channel: &'a str,
    number: u64,
    made: Vec<Made>,
}

impl<'a> Encoded<'a> {
    pub(super) fn new(channel: &'a str, number: u64) -> Self {
        Self { channel, number, made: Vec::new() }
    }

    /// The bytes for a subscriber of a push that has the shape, and how many of them are the message.
    pub(super) fn of(&mut self, to: &Subscriber, shape: Shape, push: &Push<'_>) -> (&[u8], usize) {
        let kind = (to.wire, to.compact, shape);
        let at = self.made.iter().position(|(made, ..)| *made == kind).unwrap_or_else(|| {
            let named = if to.compact { Named::Id(self.number) } else { Named::Name(self.channel) };
            let room = self.channel.len() + push.data_len() + ROOM;
            let (mut message, mut framed) = (Vec::with_capacity(room), Vec::with_capacity(room));
            push.encode(named, to.wire.form, to.wire.is_unidirectional(), &mut message);
            to.wire.frame(&message, &mut framed);
            self.made.push((kind, framed, message.len()));
            self.made.len() - 1
        });
        let (_, framed, size) = &self.made[at];
        (framed, *size)
    }
}

/// A publication in its shapes, made when one asks for them.
pub(super) struct Shapes<'a> {
    publication: &'a Publication,
    /// What a delta starts from.
    source: Option<&'a Latest>,
    whole: Option<Publication>,
    /// Tried; none: the delta is not shorter than the data.
    delta: Option<Option<Publication>>,
}

impl<'a> Shapes<'a> {
    pub(super) fn new(publication: &'a Publication, source: Option<&'a Latest>) -> Self {
        Self { publication, source, whole: None, delta: None }
    }

    /// The publication as this subscriber gets it.
    pub(super) fn of(&mut self, to: &Subscriber) -> (Shape, &Publication) {
        if !to.delta {
            return (Shape::Plain, self.publication);
        }
        let publication = self.publication;
        if let Some(source) = self.source.filter(|source| source.offset == to.base) {
            let made = self.delta.get_or_insert_with(|| as_delta(publication, &source.data));
            if let Some(made) = made {
                return (Shape::Delta, made);
            }
        }
        let whole = || Publication { as_text: true, ..publication.clone() };
        (Shape::Whole, self.whole.get_or_insert_with(whole))
    }
}

/// The publication as a delta to data that its subscriber has; none: that would not be shorter.
fn as_delta(publication: &Publication, source: &[u8]) -> Option<Publication> {
    let data = delta::create(source, &publication.data);
    let shorter = data.len() < publication.data.len();
    shorter.then(|| Publication { data, delta: true, as_text: true, ..publication.clone() })
}

/// Publications in a reply, for a subscriber that takes deltas: the first whole, each other as a delta to the one
/// before it.
pub(super) fn chain(publications: &mut [Publication]) {
    for at in (0..publications.len()).rev() {
        let before = at.checked_sub(1).map(|at| &publications[at].data);
        let made = before.and_then(|source| as_delta(&publications[at], source));
        match made {
            Some(made) => publications[at] = made,
            None => publications[at].as_text = true,
        }
    }
}
