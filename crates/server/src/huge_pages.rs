//! Memory in huge pages, without a request that waits for one.
//!
//! A page of 2 MiB saves walks through the page tables: with a hundred million keys every lookup touches
//! pages that no translation buffer holds. But the kernel fills a huge page at its first touch, and the
//! thread that touches it waits for that, on a virtual machine for milliseconds. So memory begins in small
//! pages. A thread of its own looks for stretches of 2 MiB that are all in use, and has the kernel move each
//! of them into one huge page (`MADV_COLLAPSE`, Linux 6.1). The contents do not change. A thread that touches
//! the stretch meanwhile waits for a copy of 2 MiB.
//!
//! - The kernel says which pages are present and small (`PAGEMAP_SCAN`, Linux 6.7). Older kernels, other
//!   systems and containers that forbid it have small pages, and nothing is reported.
//! - A stretch may have holes, which then use memory: at most one page in 8. Blocks of the allocator and tables that
//!   are growing leave such holes. The arrays of buckets of a hundred million keys all lie in stretches with 8 to 64
//!   missing pages.
//! - The thread holds a huge page of its own. It fills that page, gives it back, and then asks for the collapse:
//!   the kernel takes the page that was freed last. Its memory is then known to the machine below, so the copy,
//!   which makes others wait, meets no page fault there.
//! - It leaves a server alone that uses less than 64 MiB.
//! - It has the lowest priority. With another one, a worker that shares its core with this thread waits several
//!   milliseconds for each collapse.
//! - It rests four times as long as it works, and looks only when the amount of used memory has changed.
//! - While memory grows by more than one part in 256 per second, and for two seconds after that, the thread waits: a
//!   thread that fills new memory takes page faults, and those wait for every collapse, wherever it is.

#![expect(unsafe_code, reason = "advice about memory, and a scan of the page tables")]
// Other systems only have the frame of this.
#![cfg_attr(not(target_os = "linux"), allow(dead_code))]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

/// Bytes of a huge page on x86-64, and on AArch64 with small pages of 4 KiB.
const HUGE: u64 = 2 << 20;
/// Bytes that are present in a stretch that counts as full.
const FULL: u64 = HUGE - HUGE / 8;
/// Between two looks while memory changes.
const OFTEN: Duration = Duration::from_millis(100);
/// Between two questions whether memory has changed, once it has not for a while.
const IDLE: Duration = Duration::from_secs(1);
/// Between two looks without a change: pages may have come and gone.
const SELDOM: Duration = Duration::from_secs(60);
/// Looking for pages takes one part in so many of the time: small ones are looked at one by one.
const SELDOM_ENOUGH: u32 = 50;
/// Bytes by which used memory changes before it is worth a look.
const CHANGE: u64 = 1 << 20;
/// Memory that grows by more than one part in so many per second is being filled.
const FILLING: u64 = 256;
/// Time over which growth is measured, at least.
const WINDOW: Duration = Duration::from_millis(50);
/// After so long without such growth it is filled.
const SETTLED: Duration = Duration::from_secs(2);
/// Rest after a stretch, in units of the time it took.
const REST: u32 = 4;
/// Bytes in use from which memory is moved into huge pages and mimalloc returns whole ones: a small server gains nothing by
/// them, and their holes would count.
const LARGE: u64 = 64 << 20;

/// How the system is kept from filling huge pages at their first touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstTouch {
    /// It does so where it is asked to, or nowhere: memory may be collapsed at any time.
    Asked,
    /// All huge pages are forbidden; the collapsing thread allows them for a moment.
    Forbidden,
}

/// Keeps the kernel from filling huge pages at their first touch.
#[cfg(target_os = "linux")]
pub fn forbid_at_first_touch() -> FirstTouch {
    /// Linux 6.18: except where a program asks for them.
    const EXCEPT_ADVISED: libc::c_ulong = 1 << 1;
    // SAFETY: takes numbers only, and concerns pages that are touched later.
    let disable = |flags: libc::c_ulong| unsafe {
        libc::prctl(libc::PR_SET_THP_DISABLE, 1 as libc::c_ulong, flags, 0, 0)
    };
    if disable(EXCEPT_ADVISED) == 0 {
        return FirstTouch::Asked;
    }
    let mode = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    if mode.is_ok_and(|mode| !mode.contains("[always]")) {
        return FirstTouch::Asked;
    }
    disable(0);
    FirstTouch::Forbidden
}

/// Does nothing: other systems have no such pages.
#[cfg(not(target_os = "linux"))]
pub fn forbid_at_first_touch() -> FirstTouch {
    FirstTouch::Asked
}

/// Starts the thread that collapses memory. Without it memory stays in small pages.
pub fn start(touch: FirstTouch) {
    let work = move || {
        engine::process::lowest_priority();
        if let Ok(mut collapser) = Collapser::new(touch) {
            collapser.work();
        }
    };
    let _ = std::thread::Builder::new().name("apus-pages".into()).spawn(work);
}

/// What the kernel tells of a stretch of pages of one kind (`struct page_region`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

/// `struct pm_scan_arg` of `PAGEMAP_SCAN`.
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_len: u64,
    pages_max: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

const IS_FILE: u64 = 1 << 2;
const IS_PRESENT: u64 = 1 << 3;
const IS_ZERO_PAGE: u64 = 1 << 5;
const IS_HUGE: u64 = 1 << 6;
/// The end of user space that every kernel accepts.
const END: u64 = (1 << 47) - 4096;
/// Pages that one call finds: it holds a lock of the process for as long as it looks.
const PAGES_AT_ONCE: u64 = 4 << 10;
const REGIONS: usize = 64;

/// See the module's text.
struct Collapser {
    pagemap: File,
    touch: FirstTouch,
    spare: Option<Spare>,
    /// Used memory at the last look; 0 if that did not get to the end.
    used: u64,
    growth: Growth,
    /// How long the kernel took to find small pages, at the last look.
    scanning: Duration,
}

/// How fast used memory grows.
struct Growth {
    used: u64,
    since: Instant,
    /// When it last grew fast.
    filled_at: Option<Instant>,
}

impl Growth {
    /// Whether memory is being filled, if so much of it is used now.
    fn is_filling(&mut self, used: u64, now: Instant) -> bool {
        let elapsed = now.saturating_duration_since(self.since);
        if elapsed >= WINDOW {
            let grown = used.saturating_sub(self.used);
            let allowed = (used / FILLING) as f64 * elapsed.as_secs_f64();
            if grown >= CHANGE && grown as f64 > allowed {
                self.filled_at = Some(now);
            }
            (self.used, self.since) = (used, now);
        }
        self.filled_at.is_some_and(|at| now.saturating_duration_since(at) < SETTLED)
    }
}

/// What one look has found.
#[derive(Default)]
struct Looked {
    /// Memory was being filled before the look got to the end.
    interrupted: bool,
    collapsed: u64,
    /// Stretches for which the machine had no huge page.
    without: u64,
}

/// The 2 MiB that are being looked at.
#[derive(Default)]
struct Stretch {
    base: u64,
    /// Bytes in small pages that are present.
    present: u64,
}

impl Collapser {
    fn new(touch: FirstTouch) -> io::Result<Self> {
        let pagemap = File::open("/proc/self/pagemap")?;
        let growth = Growth { used: 0, since: Instant::now(), filled_at: None };
        let this = Self { pagemap, touch, spare: None, used: 0, growth, scanning: Duration::ZERO };
        // Whether the kernel can.
        this.small_pages(0, &mut [Region::default(); REGIONS])?;
        Ok(this)
    }

    fn work(&mut self) {
        let (mut pause, mut looked_at) = (OFTEN, Instant::now());
        let (mut tell, mut told_at) = (false, Instant::now());
        loop {
            std::thread::sleep(pause);
            let used = stdx::mem::used();
            if used.abs_diff(self.used) < CHANGE && looked_at.elapsed() < SELDOM {
                pause = (2 * pause).min(IDLE);
                // To count huge pages takes as long as to look for small ones.
                if tell && told_at.elapsed() >= self.scanning * SELDOM_ENOUGH {
                    stdx::mem::set_huge(in_huge_pages());
                    (tell, told_at) = (false, Instant::now());
                }
                continue;
            }
            keep_whole(used);
            if used < LARGE {
                (self.used, looked_at) = (used, Instant::now());
                pause = (2 * pause).min(IDLE);
                continue;
            }
            if self.growth.is_filling(used, Instant::now()) {
                pause = OFTEN;
                continue;
            }
            self.used = used;
            let Ok(looked) = self.look() else { return };
            (looked_at, tell) = (Instant::now(), true);
            if looked.interrupted {
                self.used = 0;
            }
            // A machine without free huge pages is not asked again and again.
            let in_vain = looked.without > 0 && looked.collapsed == 0;
            pause = if in_vain { (2 * pause).min(SELDOM) } else { OFTEN };
            pause = pause.max(self.scanning * SELDOM_ENOUGH);
        }
    }

    /// Collapses what is full.
    fn look(&mut self) -> io::Result<Looked> {
        let mut looked = Looked::default();
        let mut regions = [Region::default(); REGIONS];
        let (mut from, mut stretch) = (0, Stretch::default());
        self.scanning = Duration::ZERO;
        while from < END {
            let since = Instant::now();
            if self.growth.is_filling(stdx::mem::used(), since) {
                looked.interrupted = true;
                break;
            }
            let (found, end) = self.small_pages(from, &mut regions)?;
            self.scanning += since.elapsed();
            for region in regions.iter().take(found) {
                let mut at = region.start;
                while at < region.end {
                    let base = at - at % HUGE;
                    let end = region.end.min(base + HUGE);
                    if base != stretch.base {
                        self.collapse_full(&stretch, &mut looked);
                        stretch = Stretch { base, present: 0 };
                    }
                    stretch.present += end - at;
                    at = end;
                }
            }
            from = end;
        }
        self.collapse_full(&stretch, &mut looked);
        self.spare = None;
        Ok(looked)
    }

    /// Stretches of small pages that are present and no file's, from an address on. Returns how many there are,
    /// and where the next call goes on.
    #[cfg(target_os = "linux")]
    fn small_pages(&self, from: u64, regions: &mut [Region; REGIONS]) -> io::Result<(usize, u64)> {
        /// `_IOWR('f', 16, struct pm_scan_arg)`
        const PAGEMAP_SCAN: libc::c_ulong = 0xc060_6610;
        let mut scan = Scan {
            size: size_of::<Scan>() as u64,
            start: from,
            end: END,
            regions: regions.as_mut_ptr().expose_provenance() as u64,
            regions_len: REGIONS as u64,
            pages_max: PAGES_AT_ONCE,
            category_inverted: IS_FILE | IS_ZERO_PAGE | IS_HUGE,
            category_mask: IS_PRESENT | IS_FILE | IS_ZERO_PAGE | IS_HUGE,
            return_mask: IS_PRESENT,
            ..Scan::default()
        };
        // SAFETY: the structure is the kernel's, its size says which version; the kernel writes at most
        // `regions_len` regions to where `regions` are, and nothing else of this process.
        let found =
            unsafe { libc::ioctl(self.pagemap.as_raw_fd(), PAGEMAP_SCAN as _, &raw mut scan) };
        let found = usize::try_from(found).map_err(|_| io::Error::last_os_error())?;
        // It always goes forward; should it not, this is the end.
        let end = if scan.walk_end > from { scan.walk_end } else { END };
        Ok((found.min(REGIONS), end))
    }

    #[cfg(not(target_os = "linux"))]
    fn small_pages(&self, _: u64, _: &mut [Region; REGIONS]) -> io::Result<(usize, u64)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Collapses a stretch if it is full.
    fn collapse_full(&mut self, stretch: &Stretch, looked: &mut Looked) {
        if stretch.present < FULL {
            return;
        }
        let since = Instant::now();
        self.warm();
        match self.collapse(stretch.base) {
            Ok(()) => looked.collapsed += 1,
            // There is no huge page to be had: `ENOMEM`, and `EBUSY` for one of the process's group.
            Err(libc::ENOMEM | libc::EBUSY) => looked.without += 1,
            // A page is in use by the kernel, or the stretch is not of one mapping.
            Err(_) => {}
        }
        std::thread::sleep(since.elapsed() * REST);
    }

    /// Frees a huge page whose memory has just been touched.
    fn warm(&mut self) {
        self.spare = self.spare.take().or_else(Spare::new);
        if let Some(spare) = &self.spare {
            spare.fill_and_free();
        }
    }

    #[cfg(target_os = "linux")]
    fn collapse(&self, at: u64) -> Result<(), i32> {
        const MADV_COLLAPSE: libc::c_int = 25;
        let forbid = |on: libc::c_ulong| {
            if self.touch == FirstTouch::Forbidden {
                // SAFETY: takes numbers only.
                unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, on, 0, 0, 0) };
            }
        };
        forbid(0);
        let at = std::ptr::without_provenance_mut::<libc::c_void>(at as usize);
        // SAFETY: the contents of memory stay as they are, and so does who may use it, whatever lies at this
        // address by now: this changes only which pages of the machine hold it.
        let done = unsafe { libc::madvise(at, HUGE as usize, MADV_COLLAPSE) };
        let error = io::Error::last_os_error().raw_os_error().unwrap_or(0);
        forbid(1);
        if done == 0 { Ok(()) } else { Err(error) }
    }

    #[cfg(not(target_os = "linux"))]
    fn collapse(&self, _: u64) -> Result<(), i32> {
        Ok(())
    }
}

/// Room for a huge page of the collapsing thread's own.
struct Spare {
    at: NonNull<libc::c_void>,
    huge: NonNull<libc::c_void>,
}

impl Spare {
    #[cfg(target_os = "linux")]
    fn new() -> Option<Self> {
        let (prot, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new private mapping that touches no other memory.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), 2 * HUGE as usize, prot, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            return None;
        }
        let before = at.cast::<u8>().align_offset(HUGE as usize);
        let huge = at.wrapping_byte_add(before);
        Some(Self { at: NonNull::new(at)?, huge: NonNull::new(huge)? })
    }

    #[cfg(not(target_os = "linux"))]
    fn new() -> Option<Self> {
        None
    }

    fn fill_and_free(&self) {
        #[cfg(target_os = "linux")]
        // SAFETY: `huge` and the 2 MiB behind it lie in the mapping of 4 MiB, which no code but this refers to.
        // Advice that is not taken leaves nothing behind.
        unsafe {
            libc::madvise(self.huge.as_ptr(), HUGE as usize, libc::MADV_HUGEPAGE);
            libc::madvise(self.huge.as_ptr(), HUGE as usize, libc::MADV_POPULATE_WRITE);
            libc::madvise(self.huge.as_ptr(), HUGE as usize, libc::MADV_DONTNEED);
        }
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        // SAFETY: the mapping is this one's, and no code refers to it any more.
        unsafe {
            libc::munmap(self.at.as_ptr(), 2 * HUGE as usize);
        }
    }
}

/// `mi_option_minimal_purge_size`, in KiB; 0 is the system's page.
const MINIMAL_PURGE_SIZE: libmimalloc_sys::mi_option_t = 44;

/// Whether mimalloc returns memory in whole huge pages, or in any pages: a part that is returned splits
/// the huge page that it lies in. A small server returns all it can.
fn keep_whole(used: u64) {
    let kib = if used < LARGE { 0 } else { (HUGE / 1024) as libc::c_long };
    // SAFETY: only this thread sets the number, an aligned word, which mimalloc loads when it returns memory;
    // it can do with either value at any time.
    unsafe {
        if libmimalloc_sys::mi_option_get(MINIMAL_PURGE_SIZE) != kib {
            libmimalloc_sys::mi_option_set(MINIMAL_PURGE_SIZE, kib);
        }
    }
}

/// Bytes of the process in huge pages; 0 where the system does not say. Takes milliseconds per gigabyte of
/// small pages.
fn in_huge_pages() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("AnonHugePages:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB"));
    kib.and_then(|kib| kib.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Memory for some huge pages.
    fn memory(pages: usize) -> &'static mut [u8] {
        let len = (pages + 1) * HUGE as usize;
        let (prot, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, which is never unmapped, of zeros.
        unsafe {
            let at = libc::mmap(std::ptr::null_mut(), len, prot, flags, -1, 0);
            assert_ne!(at, libc::MAP_FAILED);
            let at = at.cast::<u8>();
            let at = at.add(at.align_offset(HUGE as usize));
            std::slice::from_raw_parts_mut(at, pages * HUGE as usize)
        }
    }

    /// Which of the stretches from `base` on have small pages.
    fn small(collapser: &Collapser, base: u64, stretches: u64) -> Vec<bool> {
        let mut regions = [Region::default(); REGIONS];
        let mut small = vec![false; stretches as usize];
        let end = base + stretches * HUGE;
        let mut from = base;
        while from < end {
            let (found, next) = collapser.small_pages(from, &mut regions).expect("it could before");
            for region in &regions[..found] {
                for at in (region.start..region.end.min(end)).step_by(4096) {
                    small[((at - base) / HUGE) as usize] = true;
                }
            }
            from = next;
        }
        small
    }

    #[test]
    fn full_stretches_are_collapsed_and_one_with_many_holes_is_not() {
        let mut collapser = match Collapser::new(FirstTouch::Asked) {
            Ok(collapser) => collapser,
            Err(e) => return eprintln!("LEFT OUT: no scan of the page tables: {e}"),
        };
        let memory = memory(3);
        let base = memory.as_ptr().addr() as u64;
        // Of 512 pages each: none, 65 and 64.
        let is_hole = |page: usize| (612..677).contains(&page) || (1100..1164).contains(&page);
        for (page, bytes) in memory.chunks_mut(4096).enumerate() {
            if !is_hole(page) {
                bytes.fill(page as u8 | 1);
            }
        }
        if small(&collapser, base, 3) != [true; 3] {
            return eprintln!("LEFT OUT: the system fills huge pages at their first touch");
        }
        let looked = collapser.look().expect("it could before");
        if looked.collapsed == 0 {
            return eprintln!("LEFT OUT: the system refuses, {} for want of pages", looked.without);
        }
        assert_eq!(small(&collapser, base, 3), [false, true, false]);
        let huge = in_huge_pages();
        assert!(huge >= 2 * HUGE, "{huge}");
        for (page, bytes) in memory.chunks(4096).enumerate() {
            let expected = if is_hole(page) { 0 } else { page as u8 | 1 };
            assert!(bytes.iter().all(|b| *b == expected), "page {page}");
        }
    }

    #[test]
    fn memory_is_filled_while_it_grows_by_more_than_a_part_in_256_per_second() {
        const MIB: u64 = 1 << 20;
        let since = Instant::now();
        let mut growth = Growth { used: 1024 * MIB, since, filled_at: None };
        let at = |ms: u64| since + Duration::from_millis(ms);
        // Too soon to tell.
        assert!(!growth.is_filling(1100 * MIB, at(49)));
        // 3 MiB of 1 GiB in a second, and 5.
        assert!(!growth.is_filling(1027 * MIB, at(1000)));
        assert!(growth.is_filling(1032 * MIB, at(2000)));
        // Two seconds have to pass without that.
        assert!(growth.is_filling(1032 * MIB, at(3999)));
        assert!(!growth.is_filling(1032 * MIB, at(4000)));
        // Less than a mebibyte does not count, and nor does memory that is given back.
        assert!(!growth.is_filling(1033 * MIB - 1, at(4100)));
        assert!(!growth.is_filling(500 * MIB, at(4200)));
    }

    #[test]
    fn the_number_of_the_option_is_right() {
        // What is next to it has other defaults: huge pages, and the largest object in KiB.
        // SAFETY: reads numbers.
        let values =
            [-1, 0, 1].map(|i| unsafe { libmimalloc_sys::mi_option_get(MINIMAL_PURGE_SIZE + i) });
        assert!(matches!(values, [1, 0 | 2048, 2_097_152]), "{values:?}");
    }
}
