//! Which history the data of this server belongs to: its replication ids and its offset.
//!
//! Two servers with the same id and the same offset have the same data. A server that becomes a primary
//! starts a history of its own, under a new id; as the second id it keeps the history that it comes
//! from, up to the offset at which it left it, so that the other replicas of the old primary can
//! go on without a full copy.
//!
//! Always: `second_offset` is -1 exactly when the second id is [`ReplId::NONE`]; `offset` is in
//! `0..=OFFSET_MAX`.

use std::fmt;

use crate::OFFSET_MAX;

/// A replication id: 40 characters, hexadecimal digits when Apus or Redis made it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReplId([u8; 40]);

impl ReplId {
    /// Characters of an id.
    pub const LEN: usize = 40;
    /// The id of no history: Redis shows it as the second id where there is none.
    pub const NONE: Self = Self([b'0'; 40]);

    /// The id that these random bytes spell. They come from the operating system: two servers
    /// must never draw the same id.
    pub fn from_random(random: [u8; 20]) -> Self {
        let mut id = [0; 40];
        for (pair, byte) in id.chunks_exact_mut(2).zip(random) {
            for (digit, half) in pair.iter_mut().zip([byte >> 4, byte & 15]) {
                *digit = b"0123456789abcdef"[usize::from(half)];
            }
        }
        Self(id)
    }

    /// The id that another server or a file names: 40 visible ASCII characters.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let id: [u8; 40] = text.try_into().ok()?;
        id.iter().all(u8::is_ascii_graphic).then_some(Self(id))
    }

    /// The characters.
    pub fn as_bytes(&self) -> &[u8; 40] {
        &self.0
    }

    /// The characters as text.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).expect("ids are ASCII")
    }

    /// Whether a replica's request names this id; Redis compares without regard to case.
    fn is(&self, name: &[u8]) -> bool {
        self.0.eq_ignore_ascii_case(name)
    }
}

impl fmt::Display for ReplId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for ReplId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Ids and offset of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    id: ReplId,
    second_id: ReplId,
    second_offset: i64,
    offset: i64,
}

/// The part of the stream that a backlog holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Offset of the first byte that is held, or of the next byte when none is.
    pub first: i64,
    /// Bytes that are held.
    pub len: i64,
}

/// What a primary answers to `PSYNC id offset`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// `+CONTINUE`, with the primary's id when the replica has the capability `psync2`, and then the
    /// stream from the byte that the replica asked for.
    Continue,
    /// A full copy.
    Full {
        /// Why, as a notice in the log.
        reason: String,
        /// A warning for the log: the replica is ahead of this server.
        warning: Option<String>,
        /// Whether `sync_partial_err` counts it: the replica did ask to go on.
        refused: bool,
    },
}

impl History {
    /// The history of a server that has just begun one.
    pub fn new(id: ReplId) -> Self {
        Self { id, second_id: ReplId::NONE, second_offset: -1, offset: 0 }
    }

    /// The history of a server that was a primary or stands alone, and has loaded data that was
    /// saved at `offset` of history `saved`. It goes on under a new id, since it may have lost
    /// writes behind what was saved.
    pub fn restored_as_primary(id: ReplId, saved: ReplId, offset: i64) -> Self {
        let offset = offset.clamp(0, OFFSET_MAX);
        Self { id, second_id: saved, second_offset: offset + 1, offset }
    }

    /// The history of a replica that has loaded data that was saved at `offset` of history `saved`.
    pub fn restored_as_replica(saved: ReplId, offset: i64) -> Self {
        let offset = offset.clamp(0, OFFSET_MAX);
        Self { id: saved, second_id: ReplId::NONE, second_offset: -1, offset }
    }

    /// The id: `master_replid`.
    pub fn id(&self) -> ReplId {
        self.id
    }

    /// The id of the history before: `master_replid2`, [`ReplId::NONE`] without one.
    pub fn second_id(&self) -> ReplId {
        self.second_id
    }

    /// The first offset that this server has not in common with the history before:
    /// `second_repl_offset`; -1 without one.
    pub fn second_offset(&self) -> i64 {
        self.second_offset
    }

    /// Bytes of the stream so far: `master_repl_offset`.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// `bytes` have been appended to the stream.
    pub fn advance(&mut self, bytes: usize) {
        let bytes = i64::try_from(bytes).unwrap_or(OFFSET_MAX);
        self.offset = self.offset.saturating_add(bytes).min(OFFSET_MAX);
    }

    /// The server turns from a replica into a primary: a history of its own begins. Returns the line
    /// for the log.
    ///
    /// The stream must name the database before its next command (`Renderer::forget_db`), since the
    /// replicas that go on do not know what this server last selected.
    pub fn promote(&mut self, id: ReplId) -> String {
        self.second_id = self.id;
        // A replica that has all bytes up to `offset` asks for the one behind it.
        self.second_offset = self.offset + 1;
        self.id = id;
        format!(
            "Setting secondary replication ID to {}, valid up to offset: {}. New replication ID is {}",
            self.second_id, self.second_offset, self.id
        )
    }

    /// A history without a past: when a primary creates or frees its backlog. While there is none,
    /// writes do not move the offset, so that an offset of the old id says nothing any more.
    pub fn restart(&mut self, id: ReplId) {
        self.id = id;
        self.clear_second();
    }

    /// Forgets the history before.
    pub fn clear_second(&mut self) {
        self.second_id = ReplId::NONE;
        self.second_offset = -1;
    }

    /// The data is a full copy of the primary's at `offset` of history `id`.
    pub fn adopt_full(&mut self, id: ReplId, offset: i64) {
        *self = Self::restored_as_replica(id, offset);
    }

    /// The primary has answered `+CONTINUE`, perhaps with an id. Returns whether the id is another one:
    /// then this server's own replicas are disconnected, so that they learn it, too.
    pub fn adopt_continue(&mut self, id: Option<ReplId>) -> bool {
        let Some(id) = id.filter(|id| *id != self.id) else { return false };
        self.second_id = self.id;
        self.second_offset = self.offset + 1;
        self.id = id;
        true
    }

    /// What a replica with this data asks for: `PSYNC id offset`.
    pub fn resume(&self) -> (ReplId, i64) {
        (self.id, self.offset + 1)
    }

    /// Decides about `PSYNC id offset` of the replica that is called `name` in the log. `window` is
    /// what the backlog holds, if there is a backlog.
    pub fn decide(&self, id: &[u8], offset: i64, window: Option<Window>, name: &str) -> Decision {
        let full = |reason: String| Decision::Full { reason, warning: None, refused: true };
        let second = self.second_id.is(id);
        if !self.id.is(id) && (!second || offset > self.second_offset) {
            if id.first() == Some(&b'?') {
                let reason = format!("Full resync requested by replica {name}");
                return Decision::Full { reason, warning: None, refused: false };
            }
            if second {
                return full(format!(
                    "Partial resynchronization not accepted: Requested offset for second ID was \
                     {offset}, but I can reply up to {}",
                    self.second_offset
                ));
            }
            return full(format!(
                "Partial resynchronization not accepted: Replication ID mismatch (Replica asked for \
                 '{}', my replication IDs are '{}' and '{}')",
                crate::text::printable(id),
                self.id,
                self.second_id
            ));
        }
        if window.is_some_and(|w| (w.first..=w.first + w.len).contains(&offset)) {
            return Decision::Continue;
        }
        let warning = (offset > self.offset).then(|| {
            format!(
                "Warning: replica {name} tried to PSYNC with an offset that is greater than the \
                 master replication offset."
            )
        });
        Decision::Full {
            reason: format!(
                "Unable to partial resync with replica {name} for lack of backlog (Replica request \
                 was: {offset})."
            ),
            warning,
            refused: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(c: u8) -> ReplId {
        ReplId([c; 40])
    }

    fn reason(d: Decision) -> String {
        match d {
            Decision::Continue => "continue".into(),
            Decision::Full { reason, .. } => reason,
        }
    }

    #[test]
    fn ids_are_forty_visible_characters() {
        let made = ReplId::from_random(std::array::from_fn(|i| i as u8 * 13));
        assert_eq!(made.as_str(), "000d1a2734414e5b6875828f9ca9b6c3d0ddeaf7");
        assert_eq!(ReplId::parse(made.as_bytes()), Some(made));
        assert_eq!(ReplId::parse(&[b'a'; 39]), None);
        assert_eq!(ReplId::parse(&[b'a'; 41]), None);
        assert_eq!(ReplId::parse(&[b' '; 40]), None);
        assert_eq!(ReplId::parse(&[0xff; 40]), None);
    }

    #[test]
    fn a_replica_goes_on_within_the_window_only() {
        let mut h = History::new(id(b'a'));
        h.advance(100);
        let window = Some(Window { first: 51, len: 50 });
        for (offset, goes_on) in [(50, false), (51, true), (101, true), (102, false), (-1, false)] {
            let d = h.decide(&[b'A'; 40], offset, window, "r");
            assert_eq!(d == Decision::Continue, goes_on, "{offset}");
        }
        let Decision::Full { warning, refused, .. } = h.decide(&[b'a'; 40], 102, window, "r")
        else {
            panic!("goes on")
        };
        assert!(warning.is_some() && refused);
        assert_eq!(
            reason(h.decide(&[b'a'; 40], 7, None, "h:1")),
            "Unable to partial resync with replica h:1 for lack of backlog (Replica request was: 7)."
        );
    }

    #[test]
    fn after_a_promotion_the_old_history_is_good_up_to_the_promotion() {
        let mut h = History::new(id(b'a'));
        h.advance(100);
        let line = h.promote(id(b'b'));
        assert!(
            line.ends_with(&format!("valid up to offset: 101. New replication ID is {}", id(b'b')))
        );
        h.advance(50);
        let window = Some(Window { first: 1, len: 150 });
        assert_eq!(h.decide(&[b'a'; 40], 101, window, "r"), Decision::Continue);
        assert_eq!(h.decide(&[b'b'; 40], 151, window, "r"), Decision::Continue);
        assert_eq!(
            reason(h.decide(&[b'a'; 40], 102, window, "r")),
            "Partial resynchronization not accepted: Requested offset for second ID was 102, but I can \
             reply up to 101"
        );
        assert!(reason(h.decide(b"junk\n", 1, window, "r")).contains("Replica asked for 'junk?'"));
        // Redis asks for no history at all by any word that begins like this.
        let Decision::Full { reason, refused, .. } = h.decide(b"?", -1, window, "r") else {
            panic!("goes on")
        };
        assert_eq!((reason.as_str(), refused), ("Full resync requested by replica r", false));
    }

    #[test]
    fn the_id_of_no_history_is_never_gone_on_with() {
        let h = History::new(id(b'a'));
        let window = Some(Window { first: 1, len: 0 });
        for offset in [-2, -1, 0, 1, 2, i64::MIN, i64::MAX] {
            assert_ne!(h.decide(&[b'0'; 40], offset, window, "r"), Decision::Continue, "{offset}");
        }
    }

    #[test]
    fn a_replica_adopts_what_its_primary_says() {
        let mut h = History::new(id(b'a'));
        h.adopt_full(id(b'b'), 500);
        assert_eq!((h.id(), h.offset(), h.second_offset()), (id(b'b'), 500, -1));
        assert_eq!(h.resume(), (id(b'b'), 501));
        assert!(!h.adopt_continue(None));
        assert!(!h.adopt_continue(Some(id(b'b'))));
        h.advance(10);
        assert!(h.adopt_continue(Some(id(b'c'))));
        assert_eq!((h.id(), h.second_id(), h.second_offset()), (id(b'c'), id(b'b'), 511));
        h.restart(id(b'd'));
        assert_eq!((h.id(), h.second_id(), h.second_offset()), (id(b'd'), ReplId::NONE, -1));
        assert_eq!(h.offset(), 510);
    }

    #[test]
    fn no_offset_overflows() {
        let mut h = History::restored_as_primary(id(b'a'), id(b'b'), i64::MAX);
        h.advance(usize::MAX);
        h.promote(id(b'c'));
        assert_eq!((h.offset(), h.second_offset()), (OFFSET_MAX, OFFSET_MAX + 1));
        assert_eq!(History::restored_as_replica(id(b'a'), -5).offset(), 0);
    }
}
