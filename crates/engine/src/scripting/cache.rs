//! The script cache that all threads share: texts by digest. Compiled scripts are each thread's own.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use parking_lot::RwLock;
use sha1::Digest as _;

use super::shebang;
use stdx::hash::Seeded;

/// Scripts of EVAL that are kept, as in Redis; those of SCRIPT LOAD stay.
const EVALUATED_MAX: usize = 500;
/// Memory of a script besides its text, for INFO.
const OVERHEAD: usize = size_of::<Script>() + 64;

/// A SHA-1.
pub type Digest = [u8; 20];

/// One script.
pub struct Script {
    pub(crate) digest: Digest,
    /// The digest in hexadecimal.
    pub name: String,
    pub(crate) text: Box<[u8]>,
    /// Where its code begins, behind a shebang.
    pub(crate) start: usize,
    /// Its flags; none without a shebang.
    pub(crate) flags: Option<lua::Flags>,
    /// The script is in the cache.
    alive: AtomicBool,
    /// Only EVAL has added it: it is removed when there are too many.
    evaluated: AtomicBool,
    /// When it was used last, in uses of such scripts.
    used: AtomicU64,
}

impl Script {
    /// A script that is in no cache yet.
    ///
    /// # Errors
    /// The text of the error for its shebang.
    pub(crate) fn new(text: &[u8], digest: Digest) -> Result<Arc<Self>, String> {
        let (flags, start) = shebang::of_script(text)?;
        Ok(Arc::new(Self {
            digest,
            name: String::from_utf8_lossy(&stdx::sha1hex(text)).into_owned(),
            text: text.into(),
            start,
            flags,
            alive: AtomicBool::new(false),
            evaluated: AtomicBool::new(false),
            used: AtomicU64::new(0),
        }))
    }

    /// Whether it is still in the cache.
    pub(crate) fn is_alive(&self) -> bool {
        self.alive.load(Relaxed)
    }
}

/// The digest of a text.
pub fn digest(text: &[u8]) -> Digest {
    sha1::Sha1::digest(text).into()
}

/// A digest given in hexadecimal.
pub fn parse(text: &[u8]) -> Option<Digest> {
    /// Values of digits; the others have bits that no digit has.
    const VALUES: [u8; 256] = {
        let mut values = [0xff; 256];
        let mut i = 0;
        while i < 16 {
            let digit = b"0123456789abcdef"[i];
            values[digit as usize] = i as u8;
            values[digit.to_ascii_uppercase() as usize] = i as u8;
            i += 1;
        }
        values
    };
    let text: &[u8; 40] = text.try_into().ok()?;
    let mut digest = [0; 20];
    let mut all = 0;
    for (to, pair) in digest.iter_mut().zip(text.as_chunks::<2>().0) {
        let (high, low) = (VALUES[usize::from(pair[0])], VALUES[usize::from(pair[1])]);
        all |= high | low;
        *to = high << 4 | low & 0xf;
    }
    (all < 16).then_some(digest)
}

/// See the module's text.
#[derive(Default)]
pub struct Cache {
    scripts: RwLock<HashMap<Digest, Arc<Script>, Seeded>>,
    /// Counts SCRIPT FLUSH, after which threads begin anew.
    epoch: AtomicU64,
    uses: AtomicU64,
    evicted: AtomicU64,
    bytes: AtomicU64,
}

impl Cache {
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Relaxed)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.scripts.read().len()
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// How many had to make room for others.
    pub fn evicted(&self) -> u64 {
        self.evicted.load(Relaxed)
    }

    /// The script with this digest.
    pub fn get(&self, digest: &Digest) -> Option<Arc<Script>> {
        self.scripts.read().get(digest).cloned()
    }

    /// Adds a script. `evaluated`: for EVAL; otherwise it stays until SCRIPT FLUSH, even if EVAL had
    /// brought it before. Returns the one that is in the cache afterwards.
    pub(crate) fn add(&self, script: Arc<Script>, evaluated: bool) -> Arc<Script> {
        let mut scripts = self.scripts.write();
        if let Some(there) = scripts.get(&script.digest) {
            if !evaluated {
                there.evaluated.store(false, Relaxed);
            }
            return Arc::clone(there);
        }
        if evaluated {
            self.make_room(&mut scripts);
        }
        script.alive.store(true, Relaxed);
        script.evaluated.store(evaluated, Relaxed);
        self.bytes.fetch_add((script.text.len() + OVERHEAD) as u64, Relaxed);
        scripts.insert(script.digest, Arc::clone(&script));
        script
    }

    /// Evicts the least recently used scripts of EVAL.
    fn make_room(&self, scripts: &mut HashMap<Digest, Arc<Script>, Seeded>) {
        let evaluated = || scripts.values().filter(|s| s.evaluated.load(Relaxed));
        if evaluated().count() < EVALUATED_MAX {
            return;
        }
        let oldest = evaluated().min_by_key(|s| s.used.load(Relaxed)).map(|s| s.digest);
        let Some(script) = oldest.and_then(|digest| scripts.remove(&digest)) else { return };
        script.alive.store(false, Relaxed);
        self.bytes.fetch_sub((script.text.len() + OVERHEAD) as u64, Relaxed);
        self.evicted.fetch_add(1, Relaxed);
    }

    /// A script is being used.
    pub(crate) fn touch(&self, script: &Script) {
        let used = script.used.load(Relaxed);
        // A script that is used all the time is the last one anyway.
        let is_last = used != 0 && used == self.uses.load(Relaxed);
        if script.evaluated.load(Relaxed) && !is_last {
            script.used.store(self.uses.fetch_add(1, Relaxed) + 1, Relaxed);
        }
    }

    /// SCRIPT FLUSH.
    pub fn flush(&self) {
        let mut scripts = self.scripts.write();
        for s in scripts.values() {
            s.alive.store(false, Relaxed);
        }
        scripts.clear();
        self.bytes.store(0, Relaxed);
        self.epoch.fetch_add(1, Relaxed);
    }

    pub(crate) fn reset_stats(&self) {
        self.evicted.store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{Cache, EVALUATED_MAX, Script, digest};

    #[test]
    fn the_script_that_was_not_used_for_longest_goes() {
        let cache = Cache::default();
        let text = |i: usize| format!("return {i}").into_bytes();
        let eval = |i: usize| {
            let script = Script::new(&text(i), digest(&text(i))).expect("no shebang");
            cache.touch(&cache.add(script, true));
        };
        (0..EVALUATED_MAX).for_each(eval);
        eval(0);
        eval(EVALUATED_MAX);
        let is_there = |i: usize| cache.get(&digest(&text(i))).is_some();
        assert!(is_there(0) && !is_there(1) && is_there(2) && is_there(EVALUATED_MAX));
        (EVALUATED_MAX + 1..2 * EVALUATED_MAX).for_each(eval);
        assert!((EVALUATED_MAX..2 * EVALUATED_MAX).all(is_there));
    }
}
