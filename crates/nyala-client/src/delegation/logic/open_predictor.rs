// SPDX-License-Identifier: Apache-2.0

//! In which directories are files opened that were just looked up? There a look-up may bring the content along.
//!
//! Each file that is looked up at a server costs its directory a point, and earns it two when it is opened soon after. So
//! where fewer than half are opened the points run out, where more are they stay at the top, and what a look-up brings in
//! vain is at most [`MAX`] files after a habit changed. Tables are of one size: at worst two directories in one place
//! forget each other's points.

use nyala_wire::InodeId;

/// Places for directories, and for files just looked up.
const PLACES: usize = 1024;
/// Points at the top: more than files are looked up at once and not opened yet.
const MAX: u8 = 64;
/// From so many points on content pays.
const PAYS: u8 = 4;
/// What is opened later than this was not looked up for that.
const SOON_MS: u64 = 2_000;

#[derive(Clone, Copy, Debug)]
struct LookedUp {
    file: InodeId,
    dir: InodeId,
    at_ms: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Habits {
    dirs: Vec<(InodeId, u8)>,
    recent: Vec<Option<LookedUp>>,
}

fn place(inode: InodeId) -> usize {
    // Fibonacci hashing: numbers in a row fall apart.
    (inode.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize % PLACES
}

impl Habits {
    /// Whether files of this directory that are looked up are mostly opened next.
    pub fn are_opened(&self, dir: InodeId) -> bool {
        self.dirs.get(place(dir)).is_some_and(|(known, points)| *known == dir && *points >= PAYS)
    }

    /// A file's name was asked for. No `file`: opening it would need nothing that could have come along.
    pub fn looked_up(&mut self, dir: InodeId, file: Option<InodeId>, now_ms: u64) {
        if self.recent.is_empty() {
            self.dirs = vec![(InodeId(0), 0); PLACES];
            self.recent = vec![None; PLACES];
        }
        let (known, points) = &mut self.dirs[place(dir)];
        if *known == dir {
            *points = points.saturating_sub(1);
        }
        if let Some(file) = file {
            self.recent[place(file)] = Some(LookedUp { file, dir, at_ms: now_ms });
        }
    }

    /// A file is being opened to be read.
    pub fn opened(&mut self, file: InodeId, now_ms: u64) {
        let Some(recent) = self.recent.get_mut(place(file)) else { return };
        let Some(LookedUp { dir, at_ms, .. }) = recent.take_if(|recent| recent.file == file) else { return };
        if now_ms.saturating_sub(at_ms) > SOON_MS {
            return;
        }
        let (known, points) = &mut self.dirs[place(dir)];
        *points = if *known == dir { (*points + 2).min(MAX) } else { 2 };
        *known = dir;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIR: InodeId = InodeId(7);

    /// Looks so many files up and opens every `nth` (0: none); how often content was asked for.
    fn pass(habits: &mut Habits, files: u64, nth: u64) -> usize {
        let mut asked = 0;
        for file in 0..files {
            asked += usize::from(habits.are_opened(DIR));
            habits.looked_up(DIR, Some(InodeId(1000 + file)), file);
            if nth > 0 && file % nth == 0 {
                habits.opened(InodeId(1000 + file), file);
            }
        }
        asked
    }

    #[test]
    fn who_only_looks_never_asks_and_who_opens_soon_does() {
        let mut habits = Habits::default();
        assert_eq!(pass(&mut habits, 5000, 0), 0);
        assert_eq!(pass(&mut habits, 1000, 1), 1000 - 3, "after three files");
        let in_vain = pass(&mut habits, 5000, 0);
        assert!(in_vain <= usize::from(MAX), "{in_vain}");
        assert!(!habits.are_opened(DIR) && !habits.are_opened(InodeId(8)));
    }

    #[test]
    fn half_is_the_border() {
        let asked = |nth| pass(&mut Habits::default(), 1000, nth);
        assert_eq!((asked(5), asked(3)), (0, 0));
        let mut habits = Habits::default();
        pass(&mut habits, 100, 1);
        for file in 0..999 {
            habits.looked_up(DIR, Some(InodeId(file)), 0);
            if file % 3 > 0 {
                habits.opened(InodeId(file), 0);
            }
        }
        assert!(habits.are_opened(DIR), "two of three");
    }

    #[test]
    fn many_at_once_do_not_stop_it() {
        let mut habits = Habits::default();
        pass(&mut habits, 100, 1);
        for round in 0..10 {
            for file in 0..40 {
                assert!(habits.are_opened(DIR), "round {round} file {file}");
                habits.looked_up(DIR, Some(InodeId(file)), 0);
            }
            (0..40).for_each(|file| habits.opened(InodeId(file), 0));
        }
    }

    #[test]
    fn what_is_opened_late_twice_or_needs_nothing_earns_nothing() {
        let mut habits = Habits::default();
        for n in 0..100 {
            habits.opened(InodeId(n), 0);
            habits.looked_up(DIR, Some(InodeId(n)), 0);
            habits.opened(InodeId(n), SOON_MS + 1);
            habits.looked_up(DIR, None, 0);
            habits.opened(InodeId(n), 0);
        }
        assert!(!habits.are_opened(DIR));
        pass(&mut habits, 2, 1);
        for _ in 0..100 {
            habits.opened(InodeId(1000), 1);
        }
        assert!(!habits.are_opened(DIR), "once for each look-up");
    }

    #[test]
    fn directories_in_one_place_do_not_take_each_other_for_themselves() {
        let other = (1..).map(InodeId).find(|other| *other != DIR && place(*other) == place(DIR)).unwrap();
        let mut habits = Habits::default();
        pass(&mut habits, 100, 1);
        habits.looked_up(other, Some(InodeId(1)), 0);
        assert!(habits.are_opened(DIR) && !habits.are_opened(other));
        habits.opened(InodeId(1), 0);
        assert!(!habits.are_opened(DIR) && !habits.are_opened(other));
    }
}
