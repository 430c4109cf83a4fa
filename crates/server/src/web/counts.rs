//! What the web port has answered, by route: requests, statuses, bytes, hits of the cache, renderings, times.
//!
//! Each thread counts for itself, and a reader adds up. The number of rows is bounded: the first routes of a site
//! have one each, all others share one, and so do all files, all requests for nothing, and all that could not be
//! read. A route keeps its row when the site is read again.
//!
//! Requests that are answered at once (kept pages, files) are timed one in [`SAMPLE`], which then counts for all of
//! them: two looks at the clock would be a tenth of what such a request takes.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use observe::stats::bump;
use pages::Site;
use parking_lot::Mutex;
use stdx::histogram::Histogram;

/// Of so many quick requests one is timed.
pub(super) const SAMPLE: u32 = 16;
/// Routes of a site with a row each.
const ROUTES_MAX: usize = 100;
/// Rows that a thread keeps for routes that are gone.
const ROWS_MAX: usize = 4 * ROUTES_MAX;

/// Rows that are not of one route, by their places.
const SHARED: [&str; 4] = ["(files)", "(none)", "(refused)", "(other routes)"];
pub(super) const FILES: usize = 0;
pub(super) const NONE: usize = 1;
pub(super) const REFUSED: usize = 2;
const OTHERS: usize = 3;

/// Counts of one row on one thread.
#[derive(Default)]
pub(super) struct Row {
    requests: AtomicU64,
    /// By the first digit of their status, from 1.
    classes: [AtomicU64; 5],
    bytes: AtomicU64,
    hits: AtomicU64,
    renderings: AtomicU64,
    latency: OnceLock<Box<Histogram>>,
}

/// One answer.
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) bytes: usize,
    pub(super) hit: bool,
    pub(super) renderings: u32,
    /// Nanoseconds, and for how many requests they stand.
    pub(super) time: Option<(u64, u64)>,
}

impl Row {
    /// Counts an answer. Only the row's thread calls it.
    pub(super) fn count(&self, answered: &Answered) {
        bump(&self.requests, 1);
        let class = usize::from(answered.status / 100).clamp(1, 5) - 1;
        bump(&self.classes[class], 1);
        bump(&self.bytes, answered.bytes as u64);
        if answered.hit {
            bump(&self.hits, 1);
        }
        if answered.renderings > 0 {
            bump(&self.renderings, u64::from(answered.renderings));
        }
        if let Some((nanos, times)) = answered.time {
            self.latency.get_or_init(Default::default).record_many(nanos, times);
        }
    }
}

/// The rows of one thread, by their names.
#[derive(Default)]
struct Own(Mutex<HashMap<Arc<str>, Arc<Row>>>);

/// The rows of a thread for one site, by their places.
pub(super) struct Rows {
    own: Arc<Own>,
    pub(super) rows: Vec<(Arc<str>, Arc<Row>)>,
}

impl Rows {
    pub(super) fn new(counts: &Counts, site: &Site) -> Self {
        let own = Arc::<Own>::default();
        counts.0.lock().push(Arc::clone(&own));
        let mut rows = Self { own, rows: Vec::new() };
        rows.follow(site);
        rows
    }

    /// Has a row for each route of a site.
    pub(super) fn follow(&mut self, site: &Site) {
        let names = SHARED.iter().map(|name| Arc::from(*name));
        let names = names.chain(site.routes().names(ROUTES_MAX)).collect::<Vec<Arc<str>>>();
        let mut own = self.own.0.lock();
        if own.len() + names.len() > ROWS_MAX {
            own.retain(|name, _| names.contains(name));
        }
        self.rows = names
            .into_iter()
            .map(|name| (Arc::clone(&name), Arc::clone(own.entry(name).or_default())))
            .collect();
    }

    /// The place of a route's row.
    pub(super) fn place(&self, route: usize) -> usize {
        let place = SHARED.len() + route;
        if place < self.rows.len() { place } else { OTHERS }
    }
}

/// The rows of all threads.
#[derive(Default)]
pub(crate) struct Counts(Mutex<Vec<Arc<Own>>>);

/// A row, added up over the threads.
#[derive(Default)]
pub(crate) struct Total {
    pub(crate) route: String,
    pub(crate) requests: u64,
    pub(crate) classes: [u64; 5],
    pub(crate) bytes: u64,
    pub(crate) hits: u64,
    pub(crate) renderings: u64,
    /// Bytes of its kept pages.
    pub(crate) memory: u64,
    pub(crate) latency: Box<Histogram>,
}

impl Total {
    fn add(&mut self, row: &Row) {
        self.requests += row.requests.load(Relaxed);
        self.bytes += row.bytes.load(Relaxed);
        self.hits += row.hits.load(Relaxed);
        self.renderings += row.renderings.load(Relaxed);
        for (sum, class) in self.classes.iter_mut().zip(&row.classes) {
            *sum += class.load(Relaxed);
        }
        if let Some(latency) = row.latency.get() {
            self.latency.merge(latency);
        }
    }

    /// Adds another total to this one.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.hits += other.hits;
        self.renderings += other.renderings;
        self.memory += other.memory;
        self.classes.iter_mut().zip(other.classes).for_each(|(sum, n)| *sum += n);
        self.latency.merge(&other.latency);
    }
}

impl Counts {
    /// All rows with requests, by their names. `memory` are bytes of kept pages by the places of their routes.
    pub(crate) fn totals(&self, memory: &HashMap<String, u64>) -> Vec<Total> {
        let mut all: HashMap<Arc<str>, Total> = HashMap::new();
        for own in self.0.lock().iter() {
            for (name, row) in own.0.lock().iter() {
                all.entry(Arc::clone(name)).or_default().add(row);
            }
        }
        let mut all: Vec<Total> = all
            .into_iter()
            .map(|(name, total)| Total {
                route: name.to_string(),
                memory: memory.get(&*name).copied().unwrap_or(0),
                ..total
            })
            .filter(|total| total.requests > 0)
            .collect();
        all.sort_by(|a, b| a.route.cmp(&b.route));
        all
    }
}

/// The name of the row of a route of a site.
pub(super) fn name_of(site: &Site, route: usize) -> String {
    let routes = site.routes();
    routes.names(ROUTES_MAX).nth(route).map_or_else(|| SHARED[OTHERS].to_owned(), |n| n.to_string())
}
