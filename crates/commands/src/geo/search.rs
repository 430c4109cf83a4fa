//! The search for nearby places: GEOSEARCH and the older commands that it replaces.

use resp::{Args, Reply};
use store::geo::{Coordinates, Search, SearchShape};
use store::zset::{Draft, View};
use store::{Db, Kind};

use super::{MEMBER, coordinates, put_distance, put_place, unit};
use crate::command::Outcome;
use crate::fail::Fail;
use crate::keys;
use crate::parse::int;
use crate::row::Row;
use crate::zset::{store_draft, text};

/// How a command states its search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// GEORADIUS: coordinates, radius, unit; with its row, if it may store.
    Coordinates(Option<&'static Keyed>),
    /// GEORADIUSBYMEMBER: member, radius, unit; likewise.
    Member(Option<&'static Keyed>),
    /// GEOSEARCH: everything by options.
    Options,
    /// GEOSEARCHSTORE: likewise, and the result goes to argument 1.
    Store,
}

/// A row, from which to learn which arguments are keys.
pub(super) struct Keyed(pub(super) &'static Row);

impl PartialEq for Keyed {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}
impl Eq for Keyed {}
impl std::fmt::Debug for Keyed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}

impl Form {
    fn by_options(self) -> bool {
        matches!(self, Self::Options | Self::Store)
    }

    fn storing_row(self) -> Option<&'static Row> {
        match self {
            Self::Coordinates(row) | Self::Member(row) => row.map(|keyed| keyed.0),
            Self::Options | Self::Store => None,
        }
    }
}

/// Everything that a call says.
struct Call {
    center: Option<Coordinates>,
    /// In units.
    shape: Option<SearchShape>,
    /// Metres of a unit.
    unit: f64,
    with_distance: bool,
    with_hash: bool,
    with_place: bool,
    /// Whether to sort, and if so whether downwards.
    sort: Option<bool>,
    /// 0 is none.
    count: usize,
    any: bool,
    /// Argument of the key to store at.
    store: Option<usize>,
    store_distance: bool,
}

fn number(args: &Args<'_>, i: usize, error: &'static str) -> Result<f64, Fail> {
    stdx::num::parse_f64(&args[i]).ok_or(Fail::text(error))
}

impl Call {
    /// Radius and unit from argument `i` on.
    fn circle(&mut self, args: &Args<'_>, i: usize) -> Result<(), Fail> {
        let radius = number(args, i, "ERR need numeric radius")?;
        if radius < 0.0 {
            return Err(Fail::text("ERR radius cannot be negative"));
        }
        self.unit = unit(args, i + 1)?;
        self.shape = Some(SearchShape::Circle(radius));
        Ok(())
    }

    /// Width, height and unit from argument `i` on.
    fn rectangle(&mut self, args: &Args<'_>, i: usize) -> Result<(), Fail> {
        let width = number(args, i, "ERR need numeric width")?;
        let height = number(args, i + 1, "ERR need numeric height")?;
        if width < 0.0 || height < 0.0 {
            return Err(Fail::text("ERR height or width cannot be negative"));
        }
        self.unit = unit(args, i + 2)?;
        self.shape = Some(SearchShape::Box(width, height));
        Ok(())
    }

    fn parse(args: &Args<'_>, form: Form, source: Option<View<'_>>) -> Result<Self, Fail> {
        let mut call = Self {
            center: None,
            shape: None,
            unit: 1.0,
            with_distance: false,
            with_hash: false,
            with_place: false,
            sort: None,
            count: 0,
            any: false,
            store: (form == Form::Store).then_some(1),
            store_distance: false,
        };
        let first = match form {
            Form::Coordinates(_) => {
                call.center = Some(coordinates(args, 2)?);
                call.circle(args, 4)?;
                6
            }
            Form::Member(_) => {
                // Without the key there is nothing to look at, but the options still decide the
                // reply.
                if let Some(source) = source {
                    call.center = Some(of_member(source, &args[2])?);
                    call.circle(args, 3)?;
                }
                5
            }
            Form::Options => 2,
            Form::Store => 3,
        };
        call.options(args, form, source, first)?;
        Ok(call)
    }

    fn options(
        &mut self,
        args: &Args<'_>,
        form: Form,
        source: Option<View<'_>>,
        mut i: usize,
    ) -> Result<(), Fail> {
        let (mut from_member, mut from_place) = (false, false);
        while i < args.len() {
            let more = args.len() - i - 1;
            let options = form.by_options();
            let circle = matches!(self.shape, Some(SearchShape::Circle(_)));
            let rectangle = matches!(self.shape, Some(SearchShape::Box(..)));
            match () {
                () if args.is(i, "withdist") => self.with_distance = true,
                () if args.is(i, "withhash") => self.with_hash = true,
                () if args.is(i, "withcoord") => self.with_place = true,
                () if args.is(i, "any") => self.any = true,
                () if args.is(i, "asc") => self.sort = Some(false),
                () if args.is(i, "desc") => self.sort = Some(true),
                () if args.is(i, "count") && more >= 1 => {
                    i += 1;
                    let bad = Fail::text("ERR COUNT must be > 0");
                    let n = int(args, i)?;
                    self.count = usize::try_from(n).ok().filter(|n| *n > 0).ok_or(bad)?;
                }
                () if form.storing_row().is_some()
                    && more >= 1
                    && (args.is(i, "store") || args.is(i, "storedist")) =>
                {
                    self.store_distance = args.is(i, "storedist");
                    i += 1;
                    self.store = Some(i);
                }
                () if form == Form::Store && args.is(i, "storedist") => self.store_distance = true,
                () if options && more >= 1 && !from_place && args.is(i, "frommember") => {
                    i += 1;
                    from_member = true;
                    if let Some(source) = source {
                        self.center = Some(of_member(source, &args[i])?);
                    }
                }
                () if options && more >= 2 && !from_member && args.is(i, "fromlonlat") => {
                    from_place = true;
                    self.center = Some(coordinates(args, i + 1)?);
                    i += 2;
                }
                () if options && more >= 2 && !rectangle && args.is(i, "byradius") => {
                    self.circle(args, i + 1)?;
                    i += 2;
                }
                () if options && more >= 3 && !circle && args.is(i, "bybox") => {
                    self.rectangle(args, i + 1)?;
                    i += 3;
                }
                () => return Err(Fail::SYNTAX),
            }
            i += 1;
        }
        self.check(args, form, from_member || from_place)
    }

    /// Checks that the options fit together; `centered`: one of them has named the center.
    fn check(&self, args: &Args<'_>, form: Form, centered: bool) -> Result<(), Fail> {
        if self.store.is_some() && (self.with_distance || self.with_hash || self.with_place) {
            let who =
                if form == Form::Store { "GEOSEARCHSTORE" } else { "STORE option in GEORADIUS" };
            return Err(Fail::new(format!(
                "ERR {who} is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
            )));
        }
        let missing = |what: &str| {
            let name = crate::fail::quoted(&args[0]);
            Fail::new(format!("ERR exactly one of {what} can be specified for {name}"))
        };
        if form.by_options() && !centered {
            return Err(missing("FROMMEMBER or FROMLONLAT"));
        }
        if form.by_options() && self.shape.is_none() {
            return Err(missing("BYRADIUS and BYBOX"));
        }
        if self.any && self.count == 0 {
            return Err(Fail::text("ERR the ANY argument requires COUNT argument"));
        }
        Ok(())
    }

    /// The shape to search, in metres; none if the source is missing.
    fn search(&self) -> Option<Search> {
        let shape = match self.shape? {
            SearchShape::Circle(radius) => SearchShape::Circle(radius * self.unit),
            SearchShape::Box(width, height) => {
                SearchShape::Box(width * self.unit, height * self.unit)
            }
        };
        Some(Search { center: self.center?, shape })
    }
}

fn of_member(source: View<'_>, member: &[u8]) -> Result<Coordinates, Fail> {
    source.score(member).map(Coordinates::of_score).ok_or(MEMBER)
}

/// The members found; their bytes lie in one buffer.
#[derive(Default)]
struct Found {
    bytes: Vec<u8>,
    points: Vec<Point>,
}

impl Found {
    fn member(&self, point: &Point) -> &[u8] {
        self.bytes.get(point.from..point.to).unwrap_or_default()
    }
}

struct Point {
    from: usize,
    to: usize,
    place: Coordinates,
    /// In metres.
    distance: f64,
    score: f64,
}

/// Members looked at before the number found is compared with the limit.
const STEP: usize = 256;

/// Members that are looked at, if all of them are.
fn candidates(source: View<'_>, search: &Search) -> usize {
    let of = |(min, max): (f64, f64)| {
        let to = source.count_scores(|score| score < max);
        to.saturating_sub(source.count_scores(|score| score < min))
    };
    search.ranges().map(of).sum()
}

/// Everything within the shape, or any `limit` of it.
fn find(source: View<'_>, search: &Search, limit: usize) -> Found {
    let mut found = Found::default();
    for (min, max) in search.ranges() {
        let to = source.count_scores(|score| score < max);
        let mut from = source.count_scores(|score| score < min);
        while from < to && found.points.len() < limit {
            let n = STEP.min(to - from);
            source.each(from, n, false, |member, score| {
                let place = Coordinates::of_score(score);
                if found.points.len() < limit
                    && let Some(distance) = search.distance(place)
                {
                    let from = found.bytes.len();
                    text(member, |member| found.bytes.extend_from_slice(member));
                    let to = found.bytes.len();
                    found.points.push(Point { from, to, place, distance, score });
                }
            });
            from += n;
        }
    }
    found
}

/// Runs a command of this family; `source` is the argument of its source.
pub(super) fn run(
    db: &mut Db<'_>,
    args: &Args<'_>,
    reply: &mut Reply<'_>,
    source: usize,
    form: Form,
) -> Outcome {
    let (key, budget) = (db.key(&args[source]), db.cx.budget);
    let e = db.read_as(key, Kind::ZSet)?;
    let view = e.as_ref().map(|e| View::of(e));
    let call = Call::parse(args, form, view)?;
    if let (Some(row), Some(store)) = (form.storing_row(), call.store) {
        // Of several STORE options the last counts, but key extraction knows one: a key that it did
        // not name must not be written.
        let mut named = false;
        let _ = keys::positions(row, args, &mut |at| named |= at == store);
        if !named {
            return Err(Fail::SYNTAX);
        }
    }
    let mut found = match (view, call.search()) {
        (Some(view), Some(search)) => {
            if let Some(e) = &e
                && budget.is_exceeded(e, view.len(), view.len(), 1)
                && budget.is_exceeded(e, candidates(view, &search), view.len(), 1)
            {
                db.hand_over(1);
                return Ok(());
            }
            find(view, &search, if call.any { call.count } else { usize::MAX })
        }
        _ => Found::default(),
    };
    let down = match call.sort {
        // The nearest members, unless any will do.
        None if call.count > 0 && !call.any => Some(false),
        sort => sort,
    };
    if let Some(down) = down {
        found.points.sort_by(|a, b| {
            let order = a.distance.total_cmp(&b.distance);
            if down { order.reverse() } else { order }
        });
    }
    if call.count > 0 {
        found.points.truncate(call.count);
    }
    if let Some(store) = call.store {
        let event = if form == Form::Store { "geosearchstore" } else { "georadiusstore" };
        store_points(db, &args[store], &call, &found, event, reply);
    } else {
        put_points(reply, &call, &found);
    }
    Ok(())
}

/// Stores the members that were found, and replies with their number.
fn store_points(
    db: &mut Db<'_>,
    key: &[u8],
    call: &Call,
    found: &Found,
    event: &'static str,
    reply: &mut Reply<'_>,
) {
    let mut draft = Draft::default();
    for point in &found.points {
        let score = if call.store_distance { point.distance / call.unit } else { point.score };
        // On a map of few cells, a place may be found twice.
        draft.join(found.member(point), score, |_, new| new);
    }
    let key = db.key(key);
    let n = draft.len() as u64;
    store_draft(db, key, draft, event, reply);
    // Redis counts every member stored.
    db.dirty(n.saturating_sub(1));
}

/// Replies with the members that were found, each with what the options ask for.
fn put_points(reply: &mut Reply<'_>, call: &Call, found: &Found) {
    reply.array(found.points.len());
    let extras = [call.with_distance, call.with_hash, call.with_place];
    let extras = extras.into_iter().filter(|extra| *extra).count();
    for point in &found.points {
        if extras > 0 {
            reply.array(1 + extras);
        }
        reply.bulk(found.member(point));
        if call.with_distance {
            put_distance(reply, point.distance / call.unit);
        }
        if call.with_hash {
            reply.int(point.score as i64);
        }
        if call.with_place {
            put_place(reply, point.place);
        }
    }
}
