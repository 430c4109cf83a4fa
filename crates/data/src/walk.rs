//! What a value consists of, whatever its type and encoding: for digests, dumps and tests.

use stdx::num::I64_LEN_MAX;

use crate::entry::{Entry, Kind, Str};
use crate::hash;
pub use crate::part::Part;
use crate::set::Set;
use crate::stream::Stream;

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
