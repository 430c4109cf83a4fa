//! The times of commands that scripts call.
//!
//! To read the clock takes longer than many a command. So the calls of one script in eight, chosen at
//! random, are timed: each from the end of the one before, for the script's own share is small. A
//! call of any other script counts as if it had taken as long as the last one of that command that was
//! timed; the sums and averages of `INFO commandstats` come out the same, over some time.

/// See the module's text. One thread's.
#[derive(Debug, Default)]
pub struct CallTimes {
    /// Draws the scripts that are timed.
    random: u64,
    /// The present one is.
    on: bool,
    /// Nanoseconds of each command's last call that was timed, by its number; 0: there was none.
    last: Vec<u32>,
}

impl CallTimes {
    /// A script begins.
    #[inline]
    pub fn begin(&mut self) {
        // Knuth's generator; its upper bits are good.
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.on = self.random >> 61 == 0;
    }

    /// None: the calls of this script are timed. Otherwise the time of the last call of this command,
    /// if there was one; without one, it is to be timed.
    #[inline]
    pub fn known(&self, id: u16) -> Option<Option<u64>> {
        if self.on {
            return None;
        }
        let last = self.last.get(usize::from(id)).copied().unwrap_or(0);
        Some((last != 0).then_some(u64::from(last)))
    }

    /// A call took so long.
    #[inline]
    pub fn note(&mut self, id: u16, nanos: u64) {
        let id = usize::from(id);
        if id >= self.last.len() {
            self.last.resize(id + 1, 0);
        }
        self.last[id] = u32::try_from(nanos).unwrap_or(u32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_script_in_eight_is_timed_and_every_new_command() {
        let mut t = CallTimes::default();
        let mut timed = 0;
        for _ in 0..8000 {
            t.begin();
            timed += u32::from(t.known(3).is_none());
        }
        assert!((800..1200).contains(&timed), "{timed}");
        while t.on {
            t.begin();
        }
        assert_eq!(t.known(3), Some(None));
        t.note(3, 700);
        assert_eq!((t.known(3), t.known(2), t.known(4)), (Some(Some(700)), Some(None), Some(None)));
    }
}
