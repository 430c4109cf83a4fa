//! Places as 52-bit numbers that keep neighbours together, and the search for what is near.
//!
//! Longitude and latitude are each halved 26 times; the bits of the two halvings alternate, the
//! longitude's first. A prefix of the number is then a cell of the map, and a range of numbers all
//! places within it, which is how a sorted set answers "what is near".
//!
//! The arithmetic follows Redis operation by operation (geohash.c and geohash_helper.c), since its
//! answers are to be met to the last digit: the same cells are searched, which decides the order of
//! an unsorted reply, and distances are computed from the same rounded coordinates.

/// Bits of either coordinate in a score.
const STEPS: u32 = 26;
/// Longitudes, in degrees.
const LONGITUDE: (f64, f64) = (-180.0, 180.0);
/// Latitudes, in degrees: what a Mercator map can show.
const LATITUDE: (f64, f64) = (-85.051_128_78, 85.051_128_78);
/// Quadratic mean radius of the WGS-84 ellipsoid in metres.
const EARTH_RADIUS: f64 = 6_372_797.560856;
/// Half the length of the equator on a Mercator map, in metres.
const MERCATOR_MAX: f64 = 20_037_726.37;

/// A place in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coordinates {
    /// -180 to 180.
    pub longitude: f64,
    /// About -85 to 85.
    pub latitude: f64,
}

impl Coordinates {
    /// A place, if the coordinates are on the map.
    pub fn new(longitude: f64, latitude: f64) -> Option<Self> {
        let within = |x: f64, (min, max): (f64, f64)| x >= min && x <= max;
        (within(longitude, LONGITUDE) && within(latitude, LATITUDE))
            .then_some(Self { longitude, latitude })
    }

    /// The place that a score stands for: the middle of its cell.
    pub fn of_score(score: f64) -> Self {
        let area = Cell { bits: bits_of(score), steps: STEPS }.area();
        let middle = |(min, max): (f64, f64), (least, most)| ((min + max) / 2.0).clamp(least, most);
        Self {
            longitude: middle(area.longitude, LONGITUDE),
            latitude: middle(area.latitude, LATITUDE),
        }
    }

    /// The score that stands for it.
    pub fn score(self) -> f64 {
        Cell::around(self, STEPS, LATITUDE).bits as f64
    }

    /// Metres to another place along a great circle.
    pub fn distance(self, other: Self) -> f64 {
        let v = ((radians(other.longitude) - radians(self.longitude)) / 2.0).sin();
        if v == 0.0 {
            return latitude_distance(self.latitude, other.latitude);
        }
        let (lat1, lat2) = (radians(self.latitude), radians(other.latitude));
        let u = ((lat2 - lat1) / 2.0).sin();
        let a = u * u + lat1.cos() * lat2.cos() * v * v;
        2.0 * EARTH_RADIUS * a.sqrt().asin()
    }

    /// The 11 letters of the usual geohash, the last of which is always `0`.
    pub fn geohash(self) -> [u8; 11] {
        const LETTERS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
        // The usual one divides latitudes from pole to pole.
        let bits = Cell::around(self, STEPS, (-90.0, 90.0)).bits;
        let mut text = [b'0'; 11];
        for (i, letter) in text[..10].iter_mut().enumerate() {
            *letter = LETTERS[(bits >> (52 - 5 * (i + 1))) as usize & 31];
        }
        text
    }
}

fn radians(degrees: f64) -> f64 {
    degrees * (std::f64::consts::PI / 180.0)
}

fn degrees(radians: f64) -> f64 {
    radians / (std::f64::consts::PI / 180.0)
}

fn latitude_distance(a: f64, b: f64) -> f64 {
    EARTH_RADIUS * (radians(b) - radians(a)).abs()
}

/// A cell of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    bits: u64,
    /// Halvings of either coordinate, 1 to 26.
    steps: u32,
}

/// The edges of a cell.
#[derive(Clone, Copy)]
struct Area {
    longitude: (f64, f64),
    latitude: (f64, f64),
}

/// Spreads 32 bits over the even places of 64.
fn spread(x: u32) -> u64 {
    let mut x = u64::from(x);
    x = (x | x << 16) & 0x0000_ffff_0000_ffff;
    x = (x | x << 8) & 0x00ff_00ff_00ff_00ff;
    x = (x | x << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    x = (x | x << 2) & 0x3333_3333_3333_3333;
    (x | x << 1) & 0x5555_5555_5555_5555
}

/// Collects the even places of 64 bits.
fn pick_bits(x: u64) -> u32 {
    let mut x = x & 0x5555_5555_5555_5555;
    x = (x | x >> 1) & 0x3333_3333_3333_3333;
    x = (x | x >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
    x = (x | x >> 4) & 0x00ff_00ff_00ff_00ff;
    x = (x | x >> 8) & 0x0000_ffff_0000_ffff;
    (x | x >> 16) as u32
}

impl Cell {
    /// The cell around a place.
    fn around(place: Coordinates, steps: u32, latitudes: (f64, f64)) -> Self {
        let part = |x: f64, (min, max): (f64, f64)| {
            let offset = (x - min) / (max - min) * (1u64 << steps) as f64;
            spread(offset as u32)
        };
        let bits = part(place.latitude, latitudes) | part(place.longitude, LONGITUDE) << 1;
        Self { bits, steps }
    }

    fn area(self) -> Area {
        let edges = |i: u32, (min, max): (f64, f64)| {
            let scale = (1u64 << self.steps) as f64;
            let at = |i: u32| min + (f64::from(i) / scale) * (max - min);
            (at(i), at(i.wrapping_add(1)))
        };
        Area {
            latitude: edges(pick_bits(self.bits), LATITUDE),
            longitude: edges(pick_bits(self.bits >> 1), LONGITUDE),
        }
    }

    /// The cell next to it: `east` and `north` are -1, 0 or 1. The map has no edges: it goes on at
    /// the other side.
    fn beside(self, east: i32, north: i32) -> Self {
        let mask = u32::MAX >> (32 - self.steps);
        // A place on the last edge has one bit more than the mask; it stays unless there is a step.
        let step = |i: u32, by: i32| if by == 0 { i } else { i.wrapping_add_signed(by) & mask };
        let (y, x) = (pick_bits(self.bits), pick_bits(self.bits >> 1));
        let bits = spread(step(y, north)) | spread(step(x, east)) << 1;
        Self { bits, ..self }
    }

    /// The scores of all places within: from the first up to, and without, the second.
    fn scores(self) -> (f64, f64) {
        let shift = 52 - 2 * self.steps;
        ((self.bits << shift) as f64, ((self.bits + 1) << shift) as f64)
    }
}

/// The area around a place that is searched, in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchShape {
    /// A circle of this radius.
    Circle(f64),
    /// A rectangle of this width and height.
    Box(f64, f64),
}

/// A search around a place.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// Its middle.
    pub center: Coordinates,
    /// The area.
    pub shape: SearchShape,
}

impl Search {
    /// The distance in metres to a place within the shape; none for one outside.
    pub fn distance(&self, place: Coordinates) -> Option<f64> {
        match self.shape {
            SearchShape::Circle(radius) => {
                Some(self.center.distance(place)).filter(|distance| *distance <= radius)
            }
            SearchShape::Box(width, height) => {
                let level = Coordinates { longitude: self.center.longitude, ..place };
                let within = latitude_distance(place.latitude, self.center.latitude)
                    <= height / 2.0
                    && place.distance(level) <= width / 2.0;
                within.then(|| self.center.distance(place))
            }
        }
    }

    /// How finely to divide the map so that the shape lies within a cell and its neighbours.
    fn steps(&self) -> u32 {
        let mut range = match self.shape {
            SearchShape::Circle(radius) => radius,
            SearchShape::Box(width, height) => {
                ((width / 2.0) * (width / 2.0) + (height / 2.0) * (height / 2.0)).sqrt()
            }
        };
        if range == 0.0 {
            return STEPS;
        }
        let mut steps = 1i32;
        while range < MERCATOR_MAX {
            range *= 2.0;
            steps += 1;
        }
        steps -= 2;
        // Towards the poles, cells are narrower than the map shows.
        let latitude = self.center.latitude.abs();
        steps -= i32::from(latitude > 66.0) + i32::from(latitude > 80.0);
        steps.clamp(1, STEPS as i32) as u32
    }

    /// The edges of the shape.
    fn bounds(&self) -> Area {
        let (width, height) = match self.shape {
            SearchShape::Circle(radius) => (radius, radius),
            SearchShape::Box(width, height) => (width / 2.0, height / 2.0),
        };
        let Coordinates { longitude, latitude } = self.center;
        let up = degrees(height / EARTH_RADIUS);
        // The shape is widest in degrees at its edge nearer to a pole.
        let edge = if latitude < 0.0 { latitude - up } else { latitude + up };
        let along = degrees(width / EARTH_RADIUS / radians(edge).cos());
        Area {
            longitude: (longitude - along, longitude + along),
            latitude: (latitude - up, latitude + up),
        }
    }

    /// Ranges of scores (from the first up to, and without, the second) that hold everything
    /// within the shape, in the order in which Redis searches them: nine at most.
    pub fn ranges(&self) -> impl Iterator<Item = (f64, f64)> {
        let bounds = self.bounds();
        let mut steps = self.steps();
        let mut cell = Cell::around(self.center, steps, LATITUDE);
        let short = cell.beside(0, 1).area().latitude.1 < bounds.latitude.1
            || cell.beside(0, -1).area().latitude.0 > bounds.latitude.0
            || cell.beside(1, 0).area().longitude.1 < bounds.longitude.1
            || cell.beside(-1, 0).area().longitude.0 > bounds.longitude.0;
        if steps > 1 && short {
            steps -= 1;
            cell = Cell::around(self.center, steps, LATITUDE);
        }
        let area = cell.area();
        // Neighbours that the shape does not reach.
        let (mut south, mut north, mut west, mut east) = (true, true, true, true);
        if steps >= 2 {
            south = area.latitude.0 >= bounds.latitude.0;
            north = area.latitude.1 <= bounds.latitude.1;
            west = area.longitude.0 >= bounds.longitude.0;
            east = area.longitude.1 <= bounds.longitude.1;
        }
        let mut previous = None;
        [(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1)]
            .into_iter()
            .enumerate()
            .filter_map(move |(i, (x, y))| {
                let beyond = x > 0 && !east || x < 0 && !west || y > 0 && !north || y < 0 && !south;
                let beside = cell.beside(x, y);
                // On a coarse map, neighbours may be the same cell. As in Redis, one is left out
                // that equals the one before it, unless that was the middle.
                if beyond || previous == Some(beside) {
                    return None;
                }
                previous = (i > 0).then_some(beside);
                Some(beside.scores())
            })
    }
}

/// The bits of a score that may be any number, since places are members of sorted sets: what C's
/// conversion to `uint64_t` gives on x86-64 and Redis therefore shows. Negative ones wrap.
fn bits_of(score: f64) -> u64 {
    const HALF: f64 = (1u64 << 63) as f64;
    // What does not fit a register becomes the smallest number.
    let signed = |x: f64| if (-HALF..HALF).contains(&x) { x as i64 } else { i64::MIN };
    if score < HALF { signed(score) as u64 } else { signed(score - HALF) as u64 ^ 1 << 63 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn palermo() -> Coordinates {
        Coordinates::new(13.361389, 38.115556).expect("on the map")
    }

    /// The values that the documentation of GEOADD, GEOHASH and GEODIST shows.
    #[test]
    fn known_places() {
        let catania = Coordinates::new(15.087269, 37.502669).expect("on the map");
        assert_eq!(palermo().score(), 3_479_099_956_230_698.0);
        let (a, b) =
            (Coordinates::of_score(palermo().score()), Coordinates::of_score(catania.score()));
        assert_eq!((a.longitude, a.latitude), (13.361389338970184, 38.1155563954963));
        assert_eq!(&a.geohash(), b"sqc8b49rny0");
        assert_eq!(&b.geohash(), b"sqdtr74hyu0");
        assert_eq!(format!("{:.4}", a.distance(b)), "166274.1516");
        assert_eq!(Coordinates::new(181.0, 0.0), None);
        assert_eq!(Coordinates::new(0.0, 86.0), None);
    }

    #[test]
    fn ranges_hold_everything_within_the_shape() {
        let mut seed = 9u64;
        let mut random = move |min: f64, max: f64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            min + (seed >> 11) as f64 / (1u64 << 53) as f64 * (max - min)
        };
        for round in 0..4000 {
            let center =
                Coordinates::new(random(-170.0, 170.0), random(-70.0, 70.0)).expect("there");
            let reach = [100.0, 10_000.0, 300_000.0][round % 3];
            let shape = if round % 2 == 0 {
                SearchShape::Circle(reach)
            } else {
                SearchShape::Box(reach * 2.0, reach)
            };
            let search = Search { center, shape };
            let near = reach / 111_000.0;
            let place = Coordinates::new(
                center.longitude + random(-near, near),
                center.latitude + random(-near, near),
            );
            let Some(place) = place.map(|place| Coordinates::of_score(place.score())) else {
                continue;
            };
            if search.distance(place).is_some() {
                let score = place.score();
                assert!(
                    search.ranges().any(|(from, to)| (from..to).contains(&score)),
                    "{search:?} {place:?}"
                );
            }
        }
    }

    #[test]
    fn bits_are_spread_and_gathered() {
        for x in [0, 1, 0x8000_0001, 0xdead_beef, u32::MAX] {
            assert_eq!(pick_bits(spread(x)), x);
            assert_eq!(spread(x) & 0xaaaa_aaaa_aaaa_aaaa, 0);
        }
    }
}
