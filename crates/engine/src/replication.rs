//! What this server is in replication, and the stream of changes on its way to its replicas.
//!
//! Commit appends records to the lanes of the threads ([`crate::commit()`]). A thread with fed
//! connections reads them at the end of its turn, for all threads, and renders them as the commands of Redis's
//! replication stream, in the order of their numbers, into the backlog. Nothing is rendered while no replica is there.
//!
//! A replica does not render: the stream of its primary goes into its backlog byte for byte, so that its own
//! replicas have the same offsets.
//!
//! [`State`] is behind one lock, which no thread holds while it waits for anything. A thread may have shards
//! locked when it takes it; it never locks shards while it has it.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};
use replication::backlog::{Backlog, Batch, Reader};
use replication::history::{History, ReplId};
use replication::render::{GETACK, Renderer};
use stream::Commands;

use crate::acks::Acks;
use crate::feeders::Told;
use crate::own_keys::OwnKeys;

/// Requests to acknowledge are remembered when they lie so far apart, in milliseconds, and so many of them.
const REQUEST_MS: u64 = 5;
const REQUESTS_MAX: usize = 8192;
/// Rendered bytes that go to the backlog at once.
const CHUNK: usize = 64 << 10;

/// See the module's text.
pub struct Replication {
    pub(crate) state: Mutex<State>,
    /// Bytes of the stream that are kept beyond the backlog, for replicas that have not read them.
    held_for_replicas: Arc<AtomicUsize>,
    /// Changes are rendered.
    pub(crate) renders: AtomicBool,
    /// Whether a thread that feeds knows of the changes.
    pub(crate) told: Told,
    /// Replicas with as little lag as `min-replicas-max-lag` asks for, when they were last looked at.
    pub good: AtomicUsize,
    /// What replies wait for.
    pub acks: Acks,
    /// Keys with deadlines that clients of this replica have written.
    pub own_keys: OwnKeys,
    /// `INFO`'s counts.
    pub counts: Counts,
    /// Held by the thread that executes a primary's stream, from the first command of a batch until the bytes
    /// are in the backlog: the thread that has it sees data and offset agree. It is taken before shards are locked.
    pub applying: Mutex<()>,
    /// The database that the stream of this server's primary has selected.
    stream_db: AtomicUsize,
    /// This end of the connection to this server's primary, `address:port`, and its descriptor.
    pub link_end: Mutex<Option<(String, i32)>>,
    /// The state of the crate that replicates, which is above this one.
    pub above: OnceLock<Box<dyn Any + Send + Sync>>,
}

/// How replicas began.
#[derive(Debug, Default)]
pub struct Counts {
    /// Full copies.
    pub full: AtomicU64,
    /// Replicas that went on from their offset.
    pub partial: AtomicU64,
    /// Requests to go on that were refused.
    pub refused: AtomicU64,
    /// Commands of a primary's stream that have failed here.
    pub failed: AtomicU64,
}

/// See the module's text.
pub struct State {
    /// Ids and offset of this server's data.
    pub history: History,
    /// The last bytes of the stream; none: no replica has asked for them.
    pub backlog: Option<Backlog>,
    pub(crate) renderer: Renderer,
    pub(crate) records: Option<stream::Reader>,
    rendered: Vec<u8>,
    batch: Batch,
    marks: Marks,
    held_for_replicas: Arc<AtomicUsize>,
    /// When the last replica went, in Unix milliseconds: the backlog is kept for `repl-backlog-ttl`.
    pub alone_since: i64,
}

/// Up to which number the changes are acknowledged when replicas have acknowledged an offset.
///
/// Messages need no acknowledgement: behind an acknowledged change they count as acknowledged.
#[derive(Debug, Default)]
struct Marks {
    on: bool,
    /// Numbers, and the offsets that stand for them: both grow.
    queue: VecDeque<(u64, i64)>,
    /// The number of the last record that was rendered, and the offset behind the last change.
    last: u64,
    wanted: i64,
    /// Replicas have acknowledged up to here, and were asked up to there.
    acked: i64,
    asked: i64,
    /// Offsets behind requests to acknowledge, and when they were made, in monotonic milliseconds.
    requests: VecDeque<(i64, u64)>,
}

impl Marks {
    fn push(&mut self) {
        match self.queue.back_mut() {
            Some(back) if back.1 == self.wanted => back.0 = self.last,
            _ => self.queue.push_back((self.last, self.wanted)),
        }
    }

    /// The highest number that is acknowledged and was not reported.
    fn settle(&mut self) -> Option<u64> {
        let mut reached = None;
        while let Some(&(sequence, _)) = self.queue.front().filter(|mark| mark.1 <= self.acked) {
            self.queue.pop_front();
            reached = Some(sequence);
        }
        reached
    }
}

impl Replication {
    pub(crate) fn new(id: ReplId) -> Self {
        let held_for_replicas = Arc::new(AtomicUsize::new(0));
        Self {
            held_for_replicas: Arc::clone(&held_for_replicas),
            state: Mutex::new(State {
                held_for_replicas,
                history: History::new(id),
                backlog: None,
                renderer: Renderer::new(),
                records: None,
                rendered: Vec::new(),
                batch: Batch::default(),
                marks: Marks::default(),
                alone_since: 0,
            }),
            renders: AtomicBool::new(false),
            told: Told::default(),
            good: AtomicUsize::new(0),
            acks: Acks::default(),
            own_keys: OwnKeys::default(),
            counts: Counts::default(),
            applying: Mutex::new(()),
            stream_db: AtomicUsize::new(0),
            link_end: Mutex::new(None),
            above: OnceLock::new(),
        }
    }

    /// The state, for a moment.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Bytes of the stream that are kept beyond the backlog, for replicas that have not read them. Eviction does
    /// not count them: the deletions of evicted keys would be kept for these replicas, too.
    pub fn held_for_replicas(&self) -> usize {
        self.held_for_replicas.load(Relaxed)
    }

    /// The database that the stream of this server's primary has selected: a link goes on with it.
    pub fn stream_db(&self) -> usize {
        self.stream_db.load(Relaxed)
    }

    /// The stream of this server's primary has selected a database.
    pub fn set_stream_db(&self, db: usize) {
        self.stream_db.store(db, Relaxed);
    }

    /// `repl-backlog-size` may have changed.
    pub(crate) fn resize_backlog(&self, size: usize) {
        let mut state = self.state.lock();
        if let Some(backlog) = &mut state.backlog {
            backlog.resize(size);
        }
        state.note_held();
    }

    /// Whether changes are rendered for replicas.
    #[inline]
    pub fn renders(&self) -> bool {
        self.renders.load(Relaxed)
    }
}

impl State {
    fn note_held(&self) {
        let held = self.backlog.as_ref().map_or(0, |backlog| backlog.figures().readers_memory);
        self.held_for_replicas.store(held, Relaxed);
    }

    /// Renders all records that are there. Returns whether there were any.
    pub fn render(&mut self) -> bool {
        let Self { history, backlog, renderer, records, rendered, marks, .. } = self;
        let (Some(records), Some(backlog)) = (records, backlog) else { return false };
        let before = history.offset();
        let mut flush = |rendered: &mut Vec<u8>| {
            history.advance(rendered.len());
            backlog.append(rendered);
            rendered.clear();
        };
        let (mut offset, mut any) = (before, false);
        records.read(|sequence, frame| {
            let db = frame.is_messages().then(|| renderer.db().unwrap_or(0));
            let from = rendered.len();
            render_unit(renderer, rendered, frame.payload(), db);
            if marks.on {
                any = true;
                offset += (rendered.len() - from) as i64;
                marks.last = sequence;
                if !frame.is_messages() {
                    marks.wanted = offset;
                }
            }
            if rendered.len() >= CHUNK {
                flush(rendered);
            }
            true
        });
        if !rendered.is_empty() {
            flush(rendered);
        }
        if any {
            marks.push();
        }
        if rendered.capacity() > 4 * CHUNK {
            *rendered = Vec::new();
        }
        let any = history.offset() != before;
        self.note_held();
        any
    }

    /// Appends bytes to the stream: those of a primary as they came, or a PING of this server's own, behind
    /// everything rendered so far.
    pub fn append(&mut self, bytes: &[u8]) {
        self.history.advance(bytes.len());
        if let Some(backlog) = &mut self.backlog {
            backlog.append(bytes);
        }
        self.note_held();
    }

    /// From here on [`acknowledge`](Self::acknowledge) tells which changes are acknowledged; everything up to
    /// number `last` is when the present offset is. Or not any more.
    pub fn mark(&mut self, last: Option<u64>) {
        self.marks = Marks::default();
        if let Some(last) = last {
            let offset = self.history.offset();
            self.marks =
                Marks { on: true, last, wanted: offset, asked: offset, ..Marks::default() };
            self.marks.push();
        }
    }

    /// Replicas have acknowledged up to `offset`. Returns the number up to which changes are acknowledged by
    /// that, if it is higher than before.
    pub fn acknowledge(&mut self, offset: i64) -> Option<u64> {
        self.marks.acked = self.marks.acked.max(offset);
        self.marks.settle()
    }

    /// Asks the replicas to acknowledge what they have not been asked for, or in any case.
    pub fn ask(&mut self, in_any_case: bool, now: impl FnOnce() -> u64) -> Option<u64> {
        if self.marks.on && (in_any_case || self.marks.wanted > self.marks.asked) {
            self.marks.asked = self.marks.wanted;
            self.append(GETACK);
            let (now_ms, offset) = (now(), self.history.offset());
            let requests = &mut self.marks.requests;
            if requests.back().is_none_or(|last| now_ms >= last.1 + REQUEST_MS) {
                requests.push_back((offset, now_ms));
            }
            if requests.len() > REQUESTS_MAX {
                requests.pop_front();
            }
        }
        self.marks.settle()
    }

    /// When the last request was made that a replica has seen that has acknowledged up to `offset`: it was still a
    /// replica then. In monotonic milliseconds.
    pub fn requested_before(&self, offset: i64) -> Option<u64> {
        let requests = &self.marks.requests;
        let n = requests.partition_point(|request| request.0 <= offset);
        n.checked_sub(1).map(|last| requests[last].1)
    }

    /// The next change is preceded by SELECT: a reader begins behind this.
    pub fn forget_db(&mut self) {
        self.renderer.forget_db();
    }

    /// The database that the changes rendered so far have selected.
    pub fn rendered_db(&self) -> Option<usize> {
        self.renderer.db()
    }

    /// The backlog, made if there is none: a replica keeps one for its own replicas.
    pub fn ensure_backlog(&mut self, size: usize) {
        let offset = self.history.offset();
        self.backlog.get_or_insert_with(|| Backlog::new(size, offset));
    }

    /// The data is a full copy of a primary's: what was kept of the stream belongs to other data.
    pub fn adopt_full(&mut self, id: ReplId, offset: i64, backlog_size: usize) {
        self.history.adopt_full(id, offset);
        self.backlog = Some(Backlog::new(backlog_size, offset));
        self.note_held();
    }

    /// The data has no position in the history any more: another one begins, with this id and without a backlog.
    pub fn end_history(&mut self, id: ReplId) {
        self.backlog = None;
        self.history.restart(id);
    }

    /// A reader from the byte behind `offset`, which must be held.
    pub fn attach(&mut self, offset: i64) -> Option<Reader> {
        self.backlog.as_mut()?.attach(offset + 1)
    }

    /// The reader is gone.
    pub fn detach(&mut self, reader: Reader) {
        if let Some(backlog) = &mut self.backlog {
            backlog.detach(reader);
        }
        self.note_held();
    }

    /// Appends what comes next for a reader, `max` bytes at most. Returns whether there may be more.
    pub fn read(&mut self, reader: Reader, max: usize, out: &mut Vec<u8>) -> bool {
        let Self { backlog, batch, .. } = self;
        let Some(backlog) = backlog else { return false };
        backlog.read(reader, max, batch);
        batch.slices().for_each(|slice| out.extend_from_slice(slice));
        backlog.advance(reader, batch.len());
        batch.clear();
        let more = backlog.outstanding(reader) > 0;
        self.note_held();
        more
    }

    /// Bytes that a reader has not read.
    pub fn outstanding(&self, reader: Reader) -> u64 {
        self.backlog.as_ref().map_or(0, |backlog| backlog.outstanding(reader))
    }
}

fn render_unit(renderer: &mut Renderer, out: &mut Vec<u8>, payload: &[u8], db: Option<usize>) {
    renderer.begin_unit(out);
    // This process has written it: it is well formed.
    if let Ok(mut commands) = Commands::new(payload) {
        while let Ok(Some(command)) = commands.begin() {
            let args = (0..command.argc).map_while(|_| commands.argument().ok());
            // Messages belong to no database: none is selected for them.
            renderer.command(out, db.unwrap_or(command.db), command.argc, args);
        }
    }
    renderer.end_unit(out);
}
