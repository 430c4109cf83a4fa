//! SLOWLOG: the last commands that took long.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use resp::Args;

/// Arguments of a command that are kept, and bytes of each, as in Redis.
const ARGS_MAX: usize = 32;
const BYTES_MAX: usize = 128;

/// One slow command.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// Counts up from 0.
    pub id: u64,
    /// Unix seconds.
    pub at: i64,
    /// How long it took, in microseconds.
    pub micros: u64,
    /// Its arguments, cut to a reasonable length.
    pub args: Vec<Vec<u8>>,
    /// The client's address.
    pub peer: String,
    /// The client's name.
    pub name: String,
}

/// See the module's text.
#[derive(Default)]
pub struct Slowlog {
    list: Mutex<(u64, VecDeque<Arc<Entry>>)>,
}

impl Slowlog {
    /// Keeps a command with these arguments, and at most `max` in all. `slow` says the rest about it: its
    /// `id` and `args` are filled in here. `hidden` is the text for an argument that must not be shown.
    #[cold]
    pub fn record(
        &self,
        max: usize,
        slow: Entry,
        args: &Args<'_>,
        hidden: impl Fn(usize) -> Option<&'static str>,
    ) {
        if max == 0 {
            return;
        }
        let n = args.len();
        let keep = if n > ARGS_MAX { ARGS_MAX - 1 } else { n };
        let mut kept: Vec<Vec<u8>> = Vec::with_capacity(keep + 1);
        for (i, a) in args.iter_from(0).take(keep).enumerate() {
            if let Some(text) = hidden(i) {
                kept.push(text.as_bytes().to_vec());
            } else if a.len() > BYTES_MAX {
                let mut cut = a[..BYTES_MAX].to_vec();
                cut.extend_from_slice(
                    format!("... ({} more bytes)", a.len() - BYTES_MAX).as_bytes(),
                );
                kept.push(cut);
            } else {
                kept.push(a.to_vec());
            }
        }
        if n > keep {
            kept.push(format!("... ({} more arguments)", n - keep).into_bytes());
        }
        let mut list = self.list.lock();
        let id = list.0;
        list.0 += 1;
        list.1.push_front(Arc::new(Entry { id, args: kept, ..slow }));
        list.1.truncate(max);
    }

    /// The newest entries, newest first.
    pub fn newest(&self, n: usize) -> Vec<Arc<Entry>> {
        self.list.lock().1.iter().take(n).cloned().collect()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.list.lock().1.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets the oldest beyond `max` (`slowlog-max-len`).
    pub fn trim(&self, max: usize) {
        self.list.lock().1.truncate(max);
    }

    /// Forgets them all.
    pub fn reset(&self) {
        self.list.lock().1.clear();
    }
}

#[cfg(test)]
mod tests {
    use resp::Span;

    use super::*;

    fn record(log: &Slowlog, max: usize, words: &[&[u8]]) {
        let mut words: Vec<Vec<u8>> = words.iter().map(|w| w.to_vec()).collect();
        let spans: Vec<Span> = (0..words.len()).map(Span::owned).collect();
        let slow = Entry { at: 7, micros: 9, peer: "p".into(), ..Entry::default() };
        let args = Args::new(&[], &spans, &mut words);
        log.record(max, slow, &args, |i| (i == 1).then_some("(hidden)"));
    }

    #[test]
    fn arguments_are_cut_and_hidden() {
        let log = Slowlog::default();
        record(&log, 9, &[b"AUTH", b"secret", &[b'x'; 130]]);
        record(&log, 9, &[b"a".as_slice(); 33]);
        let [many, auth] = &log.newest(5)[..] else { panic!("two entries") };
        assert_eq!((auth.id, auth.at, auth.micros, auth.peer.as_str()), (0, 7, 9, "p"));
        assert_eq!(auth.args[1], b"(hidden)");
        assert_eq!(auth.args[2].len(), 128 + "... (2 more bytes)".len());
        assert_eq!((many.id, many.args.len()), (1, 32));
        assert_eq!(many.args[31], b"... (2 more arguments)");
    }

    #[test]
    fn the_oldest_are_forgotten_and_numbers_go_on() {
        let log = Slowlog::default();
        record(&log, 0, &[b"PING"]);
        assert!(log.is_empty());
        (0..5).for_each(|_| record(&log, 2, &[b"PING"]));
        assert_eq!(log.newest(9).iter().map(|e| e.id).collect::<Vec<_>>(), [4, 3]);
        log.trim(1);
        assert_eq!(log.len(), 1);
        log.reset();
        record(&log, 2, &[b"PING"]);
        assert_eq!(log.newest(1)[0].id, 5);
    }
}
