//! Commands of places, which are members of sorted sets whose scores are [`store::geo`] hashes.

mod geoadd;
mod geodist;
mod geohash;
mod geopos;
mod georadius;
mod georadius_ro;
mod georadiusbymember;
mod georadiusbymember_ro;
mod geosearch;
mod geosearchstore;
mod search;

use resp::{Args, Reply};
use stdx::num::parse_f64;
use store::geo::Coordinates;

use crate::command::DataCommand;
use crate::fail::Fail;

pub(crate) static COMMANDS: &[&DataCommand] = &[
    &geoadd::GEOADD,
    &geodist::GEODIST,
    &geohash::GEOHASH,
    &geopos::GEOPOS,
    &georadius::GEORADIUS,
    &georadius_ro::GEORADIUS_RO,
    &georadiusbymember::GEORADIUSBYMEMBER,
    &georadiusbymember_ro::GEORADIUSBYMEMBER_RO,
    &geosearch::GEOSEARCH,
    &geosearchstore::GEOSEARCHSTORE,
];

/// A required member is not there.
const MEMBER: Fail = Fail::text("ERR could not decode requested zset member");

/// The place whose coordinates are arguments `i` and `i + 1`.
fn coordinates(args: &Args<'_>, i: usize) -> Result<Coordinates, Fail> {
    let longitude = parse_f64(&args[i]).ok_or(Fail::NOT_FLOAT)?;
    let latitude = parse_f64(&args[i + 1]).ok_or(Fail::NOT_FLOAT)?;
    Coordinates::new(longitude, latitude).ok_or_else(|| {
        let pair = format!("{longitude:.6},{latitude:.6}");
        Fail::new(format!("ERR invalid longitude,latitude pair {pair}"))
    })
}

/// Metres of the unit that argument `i` names.
fn unit(args: &Args<'_>, i: usize) -> Result<f64, Fail> {
    [("m", 1.0), ("km", 1000.0), ("ft", 0.3048), ("mi", 1609.34)]
        .into_iter()
        .find_map(|(name, metres)| args.is(i, name).then_some(metres))
        .ok_or(Fail::text("ERR unsupported unit provided. please use M, KM, FT, MI"))
}

/// Writes a distance: a bulk string with four decimals in both protocols.
fn put_distance(reply: &mut Reply<'_>, distance: f64) {
    let n = (distance * 10_000.0).round_ties_even() as u64;
    reply.bulk(format!("{}.{:04}", n / 10_000, n % 10_000));
}

/// Writes coordinates.
fn put_place(reply: &mut Reply<'_>, place: Coordinates) {
    reply.array(2);
    for coordinate in [place.longitude, place.latitude] {
        let mut text = Vec::with_capacity(32);
        stdx::num::push_f64_human(&mut text, coordinate);
        reply.double_text(&text);
    }
}
