//! What a value consists of, whatever its type and encoding: for digests, dumps and tests.

use stdx::num::I64_LEN_MAX;

use crate::entry::{Entry, Kind, Str};
use crate::hash;
use crate::set::Set;
use crate::stream::Stream;

/// A part of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part<'a> {
    /// The whole of a string.
    Text(&'a [u8]),
    /// An element of a list, in order.
    Element(&'a [u8]),
    /// A member of a set, in any order.
    Member(&'a [u8]),
    /// A member of a sorted set with its score, in order.
    Scored(&'a [u8], f64),
    /// A field of a hash, its value and its deadline (Unix milliseconds), in any order.
    Field(&'a [u8], &'a [u8], Option<i64>),
    /// An entry of a stream, in order: its ID, followed by its fields as `Field`.
    Id(u64, u64),
    /// Anything else that a stream has (last ID, groups, consumers, pending entries), as text.
    Note(&'a [u8]),
}

/// Calls `f` for every part of the value.
pub fn walk(e: &Entry, f: &mut dyn FnMut(Part<'_>)) {
    match e.kind() {
        Kind::String => match e.str() {
            Str::Int(n) => f(Part::Text(n.to_string().as_bytes())),
            Str::Inline(b) => f(Part::Text(b)),
            Str::Shared(b) => f(Part::Text(b)),
        },
        Kind::List => {
            let mut buf = [0; I64_LEN_MAX];
            crate::list::View::of(e).each(0, |elem| {
                f(Part::Element(elem.text(&mut buf)));
                true
            });
        }
        Kind::Set => {
            let mut buf = [0; I64_LEN_MAX];
            Set::of(e).each(|item| {
                f(Part::Member(item.text(&mut buf)));
                true
            });
        }
        Kind::ZSet => crate::zset::View::of(e).for_each(|member, score| {
            f(Part::Scored(member.text(&mut [0; I64_LEN_MAX]), score));
        }),
        Kind::Hash => hash::for_each(e, |field, value, deadline| {
            let (mut a, mut b) = ([0; I64_LEN_MAX], [0; I64_LEN_MAX]);
            f(Part::Field(field.text(&mut a), value.text(&mut b), deadline));
        }),
        Kind::Stream => {
            if let Some(stream) = e.value::<Stream>() {
                stream.walk(f);
            }
        }
    }
}
