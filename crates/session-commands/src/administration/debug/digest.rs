//! DEBUG DIGEST and DIGEST-VALUE: the same hashes that Redis computes over the same data
//! (`computeDatasetDigest`), so that data sets of the two can be compared.
//!
//! Everything is SHA-1. *Xor* adds a hash to the digest so far, so that order does not matter;
//! *mix* adds it and hashes the result again, so that order does.

use engine::Call;
use sha1::{Digest as _, Sha1};
use store::{Db, Entry, Kind, Part};

type Digest = [u8; 20];

fn xor(digest: &mut Digest, bytes: &[u8]) {
    for (d, h) in digest.iter_mut().zip(Sha1::digest(bytes)) {
        *d ^= h;
    }
}

fn mix(digest: &mut Digest, bytes: &[u8]) {
    xor(digest, bytes);
    *digest = Sha1::digest(*digest).into();
}

fn hex(digest: Digest) -> String {
    digest.iter().map(|b| format!("{b:02x}")).collect()
}

/// Mixes type and value in, and that there is a deadline, though not which.
fn mix_entry(digest: &mut Digest, e: &Entry) {
    mix(digest, &(e.kind() as u32).to_be_bytes());
    // The parts of an unordered value are hashed by themselves and added; those of an ordered one
    // are mixed in one after the other.
    store::walk(e, &mut |part| match part {
        Part::Text(text) | Part::Element(text) => mix(digest, text),
        Part::Member(member) => xor(digest, member),
        Part::Scored(member, score) => {
            let mut one = Digest::default();
            mix(&mut one, member);
            mix(&mut one, stdx::num::fmt_f64_g17(&mut [0; stdx::num::F64_LEN_MAX], score));
            xor(digest, &one);
        }
        Part::Field(field, value, deadline) if e.kind() == Kind::Hash => {
            let mut one = Digest::default();
            mix(&mut one, field);
            mix(&mut one, value);
            if deadline.is_some() {
                xor(&mut one, b"!!hexpire!!");
            }
            xor(digest, &one);
        }
        Part::Field(field, value, _) => {
            mix(digest, field);
            mix(digest, value);
        }
        Part::Id(ms, seq) => mix(digest, format!("{ms}.{seq}").as_bytes()),
        // Redis looks at the entries of a stream alone.
        Part::Note(_) => {}
    });
    if e.deadline().is_some() {
        xor(digest, b"!!expire!!");
    }
}

/// The digest of all databases at one moment.
pub(super) fn dataset(call: &mut Call<'_>) -> String {
    let mut all = Digest::default();
    let mut db = Db::lock_all(&call.engine.keyspace, 0, &mut call.thread.cx);
    for index in 0..db.databases() {
        db.select(index);
        if db.is_empty() {
            continue;
        }
        mix(&mut all, &(index as u32).to_be_bytes());
        db.for_each(|e| {
            let mut one = Digest::default();
            mix(&mut one, e.key());
            mix_entry(&mut one, e);
            xor(&mut all, &one);
        });
    }
    hex(all)
}

/// Of one key's value; zeros when there is none.
pub(super) fn value(call: &mut Call<'_>, key: &[u8]) -> String {
    let mut digest = Digest::default();
    // Nothing there is no error.
    let _ = super::with_entry(call, key, |e, _| mix_entry(&mut digest, e));
    hex(digest)
}
