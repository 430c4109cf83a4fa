//! Written by `cargo xtask gen` from the command table; changes here are lost.

use super::table;
use crate::arg::Arg;
use crate::request::{Request, Target};

/// The commands of the group geo.
pub trait GeoCommands: Target {
    /// Adds places to a sorted set.
    ///
    /// `GEOADD key [NX | XX] [CH] longitude latitude member [longitude latitude member ...]`
    fn geoadd(&self, key: impl Arg, longitude_latitude_members: impl Arg) -> Request<'_, options::Geoadd> {
        Request::of(self.target(), &table::GEOADD).with(key).with_last(longitude_latitude_members)
    }

    /// Returns the distance between two places.
    ///
    /// `GEODIST key member1 member2 ["m" | "km" | "ft" | "mi"]`
    fn geodist(&self, key: impl Arg, member1: impl Arg, member2: impl Arg) -> Request<'_, options::Geodist> {
        Request::of(self.target(), &table::GEODIST).with(key).with(member1).with(member2)
    }

    /// Returns places as geohash text.
    ///
    /// `GEOHASH key [member [member ...]]`
    fn geohash(&self, key: impl Arg) -> Request<'_, options::Geohash> {
        Request::of(self.target(), &table::GEOHASH).with(key)
    }

    /// Returns the coordinates of places.
    ///
    /// `GEOPOS key [member [member ...]]`
    fn geopos(&self, key: impl Arg) -> Request<'_, options::Geopos> {
        Request::of(self.target(), &table::GEOPOS).with(key)
    }

    /// Finds places within a distance of coordinates.
    ///
    /// `GEORADIUS key longitude latitude radius <"m" | "km" | "ft" | "mi"> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | DESC] [STORE storekey | STOREDIST storedistkey]`
    ///
    /// Redis has had better since 6.2.0.
    fn georadius(&self, key: impl Arg, longitude: impl Arg, latitude: impl Arg, radius: impl Arg, unit: impl Arg) -> Request<'_, options::Georadius> {
        Request::of(self.target(), &table::GEORADIUS).with(key).with(longitude).with(latitude).with(radius).with(unit)
    }

    /// Finds places within a distance of another.
    ///
    /// `GEORADIUSBYMEMBER key member radius <"m" | "km" | "ft" | "mi"> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | DESC] [STORE storekey | STOREDIST storedistkey]`
    ///
    /// Redis has had better since 6.2.0.
    fn georadiusbymember(&self, key: impl Arg, member: impl Arg, radius: impl Arg, unit: impl Arg) -> Request<'_, options::Georadiusbymember> {
        Request::of(self.target(), &table::GEORADIUSBYMEMBER).with(key).with(member).with(radius).with(unit)
    }

    /// Finds places within a distance of another.
    ///
    /// `GEORADIUSBYMEMBER_RO key member radius <"m" | "km" | "ft" | "mi"> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | DESC]`
    ///
    /// Redis has had better since 6.2.0.
    fn georadiusbymember_ro(&self, key: impl Arg, member: impl Arg, radius: impl Arg, unit: impl Arg) -> Request<'_, options::GeoradiusbymemberRo> {
        Request::of(self.target(), &table::GEORADIUSBYMEMBER_RO).with(key).with(member).with(radius).with(unit)
    }

    /// Finds places within a distance of coordinates.
    ///
    /// `GEORADIUS_RO key longitude latitude radius <"m" | "km" | "ft" | "mi"> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | DESC]`
    ///
    /// Redis has had better since 6.2.0.
    fn georadius_ro(&self, key: impl Arg, longitude: impl Arg, latitude: impl Arg, radius: impl Arg, unit: impl Arg) -> Request<'_, options::GeoradiusRo> {
        Request::of(self.target(), &table::GEORADIUS_RO).with(key).with(longitude).with(latitude).with(radius).with(unit)
    }

    /// Finds places within an area around a place.
    ///
    /// `GEOSEARCH key <FROMMEMBER member | FROMLONLAT longitude latitude> <BYRADIUS radius <"m" | "km" | "ft" | "mi"> | BYBOX width height <"m" | "km" | "ft" | "mi">> [ASC | DESC] [COUNT count [ANY]] [WITHCOORD] [WITHDIST] [WITHHASH]`
    fn geosearch(&self, key: impl Arg, member_or_fromlonlat: impl Arg, byradius_or_bybox: impl Arg) -> Request<'_, options::Geosearch> {
        Request::of(self.target(), &table::GEOSEARCH).with(key).with(member_or_fromlonlat).with(byradius_or_bybox)
    }

    /// Stores the places within an area around a place.
    ///
    /// `GEOSEARCHSTORE destination source <FROMMEMBER member | FROMLONLAT longitude latitude> <BYRADIUS radius <"m" | "km" | "ft" | "mi"> | BYBOX width height <"m" | "km" | "ft" | "mi">> [ASC | DESC] [COUNT count [ANY]] [STOREDIST]`
    fn geosearchstore(&self, destination: impl Arg, source: impl Arg, member_or_fromlonlat: impl Arg, byradius_or_bybox: impl Arg) -> Request<'_, options::Geosearchstore> {
        Request::of(self.target(), &table::GEOSEARCHSTORE).with(destination).with(source).with(member_or_fromlonlat).with(byradius_or_bybox)
    }
}

impl<T: Target + ?Sized> GeoCommands for T {}

/// Options of GEOADD.
impl Request<'_, options::Geoadd> {
    /// `NX`.
    pub fn nx(self) -> Self {
        self.with("NX")
    }

    /// `XX`.
    pub fn xx(self) -> Self {
        self.with("XX")
    }

    /// `CH`.
    pub fn ch(self) -> Self {
        self.with("CH")
    }
}

/// Options of GEODIST.
impl Request<'_, options::Geodist> {
    /// `m`.
    pub fn m(self) -> Self {
        self.with("m")
    }

    /// `km`.
    pub fn km(self) -> Self {
        self.with("km")
    }

    /// `ft`.
    pub fn ft(self) -> Self {
        self.with("ft")
    }

    /// `mi`.
    pub fn mi(self) -> Self {
        self.with("mi")
    }
}

/// Options of GEOHASH.
impl Request<'_, options::Geohash> {
    /// The argument `member`.
    pub fn members(self, members: impl Arg) -> Self {
        self.with(members)
    }
}

/// Options of GEOPOS.
impl Request<'_, options::Geopos> {
    /// The argument `member`.
    pub fn members(self, members: impl Arg) -> Self {
        self.with(members)
    }
}

/// Options of GEORADIUS.
impl Request<'_, options::Georadius> {
    /// `WITHCOORD`.
    pub fn withcoord(self) -> Self {
        self.with("WITHCOORD")
    }

    /// `WITHDIST`.
    pub fn withdist(self) -> Self {
        self.with("WITHDIST")
    }

    /// `WITHHASH`.
    pub fn withhash(self) -> Self {
        self.with("WITHHASH")
    }

    /// `COUNT`.
    pub fn count(self, count: impl Arg, any: bool) -> Self {
        self.with("COUNT").with(count).with(any.then_some("ANY"))
    }

    /// `ASC`.
    pub fn asc(self) -> Self {
        self.with("ASC")
    }

    /// `DESC`.
    pub fn desc(self) -> Self {
        self.with("DESC")
    }

    /// `STORE`.
    pub fn store(self, storekey: impl Arg) -> Self {
        self.with("STORE").with(storekey)
    }

    /// `STOREDIST`.
    pub fn storedist(self, storedistkey: impl Arg) -> Self {
        self.with("STOREDIST").with(storedistkey)
    }
}

/// Options of GEORADIUSBYMEMBER.
impl Request<'_, options::Georadiusbymember> {
    /// `WITHCOORD`.
    pub fn withcoord(self) -> Self {
        self.with("WITHCOORD")
    }

    /// `WITHDIST`.
    pub fn withdist(self) -> Self {
        self.with("WITHDIST")
    }

    /// `WITHHASH`.
    pub fn withhash(self) -> Self {
        self.with("WITHHASH")
    }

    /// `COUNT`.
    pub fn count(self, count: impl Arg, any: bool) -> Self {
        self.with("COUNT").with(count).with(any.then_some("ANY"))
    }

    /// `ASC`.
    pub fn asc(self) -> Self {
        self.with("ASC")
    }

    /// `DESC`.
    pub fn desc(self) -> Self {
        self.with("DESC")
    }

    /// `STORE`.
    pub fn store(self, storekey: impl Arg) -> Self {
        self.with("STORE").with(storekey)
    }

    /// `STOREDIST`.
    pub fn storedist(self, storedistkey: impl Arg) -> Self {
        self.with("STOREDIST").with(storedistkey)
    }
}

/// Options of GEORADIUSBYMEMBER_RO.
impl Request<'_, options::GeoradiusbymemberRo> {
    /// `WITHCOORD`.
    pub fn withcoord(self) -> Self {
        self.with("WITHCOORD")
    }

    /// `WITHDIST`.
    pub fn withdist(self) -> Self {
        self.with("WITHDIST")
    }

    /// `WITHHASH`.
    pub fn withhash(self) -> Self {
        self.with("WITHHASH")
    }

    /// `COUNT`.
    pub fn count(self, count: impl Arg, any: bool) -> Self {
        self.with("COUNT").with(count).with(any.then_some("ANY"))
    }

    /// `ASC`.
    pub fn asc(self) -> Self {
        self.with("ASC")
    }

    /// `DESC`.
    pub fn desc(self) -> Self {
        self.with("DESC")
    }
}

/// Options of GEORADIUS_RO.
impl Request<'_, options::GeoradiusRo> {
    /// `WITHCOORD`.
    pub fn withcoord(self) -> Self {
        self.with("WITHCOORD")
    }

    /// `WITHDIST`.
    pub fn withdist(self) -> Self {
        self.with("WITHDIST")
    }

    /// `WITHHASH`.
    pub fn withhash(self) -> Self {
        self.with("WITHHASH")
    }

    /// `COUNT`.
    pub fn count(self, count: impl Arg, any: bool) -> Self {
        self.with("COUNT").with(count).with(any.then_some("ANY"))
    }

    /// `ASC`.
    pub fn asc(self) -> Self {
        self.with("ASC")
    }

    /// `DESC`.
    pub fn desc(self) -> Self {
        self.with("DESC")
    }
}

/// Options of GEOSEARCH.
impl Request<'_, options::Geosearch> {
    /// `ASC`.
    pub fn asc(self) -> Self {
        self.with("ASC")
    }

    /// `DESC`.
    pub fn desc(self) -> Self {
        self.with("DESC")
    }

    /// `COUNT`.
    pub fn count(self, count: impl Arg, any: bool) -> Self {
        self.with("COUNT").with(count).with(any.then_some("ANY"))
    }

    /// `WITHCOORD`.
    pub fn withcoord(self) -> Self {
        self.with("WITHCOORD")
    }

    /// `WITHDIST`.
    pub fn withdist(self) -> Self {
        self.with("WITHDIST")
    }

    /// `WITHHASH`.
    pub fn withhash(self) -> Self {
        self.with("WITHHASH")
    }
}

/// Options of GEOSEARCHSTORE.
impl Request<'_, options::Geosearchstore> {
    /// `ASC`.
    pub fn asc(self) -> Self {
        self.with("ASC")
    }

    /// `DESC`.
    pub fn desc(self) -> Self {
        self.with("DESC")
    }

    /// `COUNT`.
    pub fn count(self, count: impl Arg, any: bool) -> Self {
        self.with("COUNT").with(count).with(any.then_some("ANY"))
    }

    /// `STOREDIST`.
    pub fn storedist(self) -> Self {
        self.with("STOREDIST")
    }
}

pub(super) mod options {
    //! The commands of this group that have options.

    /// Of GEOADD.
    #[derive(Debug)]
    pub enum Geoadd {}
    /// Of GEODIST.
    #[derive(Debug)]
    pub enum Geodist {}
    /// Of GEOHASH.
    #[derive(Debug)]
    pub enum Geohash {}
    /// Of GEOPOS.
    #[derive(Debug)]
    pub enum Geopos {}
    /// Of GEORADIUS.
    #[derive(Debug)]
    pub enum Georadius {}
    /// Of GEORADIUSBYMEMBER.
    #[derive(Debug)]
    pub enum Georadiusbymember {}
    /// Of GEORADIUSBYMEMBER_RO.
    #[derive(Debug)]
    pub enum GeoradiusbymemberRo {}
    /// Of GEORADIUS_RO.
    #[derive(Debug)]
    pub enum GeoradiusRo {}
    /// Of GEOSEARCH.
    #[derive(Debug)]
    pub enum Geosearch {}
    /// Of GEOSEARCHSTORE.
    #[derive(Debug)]
    pub enum Geosearchstore {}
}
