// SPDX-License-Identifier: Apache-2.0

//! Predicts, for each directory, whether a file that is looked up will be opened next. If so, the lookup fetches its content.
//!
//! A lookup at the server costs the directory one point; an open soon after earns it two. Below one open in two lookups the
//! score falls to zero, above it stays at the maximum. After the access pattern changes at most [`MAX`] files are fetched
//! in vain. The tables have a fixed size: two directories that collide reset each other's score.

use nyala_wire::InodeId;

/// Places for directories, and for files just looked up.
const SLOTS: usize = 1024;
/// Points at the top: more than files are looked up at once and not opened yet.
const MAX: u8 = 64;
/// From so many points on content pays.
const PAYS: u8 = 4;
/// What is opened later than this was not looked up for that.
const SOON_MS: u64 = 2_000;

#[derive(Clone, Copy, Debug)]
struct Lookup {
    file: InodeId,
    dir: InodeId,
    at_ms: u64,
}

/// Scores of directories and recent lookups; see the module.
#[derive(Debug, Default)]
pub struct OpenPredictor {
    dirs: Vec<(InodeId, u8)>,
    recent: Vec<Option<Lookup>>,
}

fn slot(inode: InodeId) -> usize {
    // Fibonacci hashing: numbers in a row fall apart.
    (inode.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize % SLOTS
}

impl OpenPredictor {
    /// Whether files of this directory that are looked up are mostly opened next.
    pub fn predicts_open(&self, dir: InodeId) -> bool {
        self.dirs.get(slot(dir)).is_some_and(|(known, points)| *known == dir && *points >= PAYS)
    }

    /// A file's name was asked for. No `file`: opening it would need nothing that could have come along.
    pub fn looked_up(&mut self, dir: InodeId, file: Option<InodeId>, now_ms: u64) {
        if self.recent.is_empty() {
            self.dirs = vec![(InodeId(0), 0); SLOTS];
            self.recent = vec![None; SLOTS];
        }
        let (known, points) = &mut self.dirs[slot(dir)];
        if *known == dir {
            *points = points.saturating_sub(1);
        }
        if let Some(file) = file {
            self.recent[slot(file)] = Some(Lookup { file, dir, at_ms: now_ms });
        }
    }

    /// A file is being opened to be read.
    pub fn opened(&mut self, file: InodeId, now_ms: u64) {
        let Some(recent) = self.recent.get_mut(slot(file)) else { return };
        let Some(Lookup { dir, at_ms, .. }) = recent.take_if(|recent| recent.file == file) else { return };
        if now_ms.saturating_sub(at_ms) > SOON_MS {
            return;
        }
        let (known, points) = &mut self.dirs[slot(dir)];
        *points = if *known == dir { (*points + 2).min(MAX) } else { 2 };
        *known = dir;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIR: InodeId = InodeId(7);

    /// Looks so many files up and opens every `nth` (0: none); how often content was asked for.
    fn pass(predictor: &mut OpenPredictor, files: u64, nth: u64) -> usize {
        let mut asked = 0;
        for file in 0..files {
            asked += usize::from(predictor.predicts_open(DIR));
            predictor.looked_up(DIR, Some(InodeId(1000 + file)), file);
            if nth > 0 && file % nth == 0 {
                predictor.opened(InodeId(1000 + file), file);
            }
        }
        asked
    }

    #[test]
    fn who_only_looks_never_asks_and_who_opens_soon_does() {
        let mut predictor = OpenPredictor::default();
        assert_eq!(pass(&mut predictor, 5000, 0), 0);
        assert_eq!(pass(&mut predictor, 1000, 1), 1000 - 3, "after three files");
        let in_vain = pass(&mut predictor, 5000, 0);
        assert!(in_vain <= usize::from(MAX), "{in_vain}");
        assert!(!predictor.predicts_open(DIR) && !predictor.predicts_open(InodeId(8)));
    }

    #[test]
    fn half_is_the_border() {
        let asked = |nth| pass(&mut OpenPredictor::default(), 1000, nth);
        assert_eq!((asked(5), asked(3)), (0, 0));
        let mut predictor = OpenPredictor::default();
        pass(&mut predictor, 100, 1);
        for file in 0..999 {
            predictor.looked_up(DIR, Some(InodeId(file)), 0);
            if file % 3 > 0 {
                predictor.opened(InodeId(file), 0);
            }
        }
        assert!(predictor.predicts_open(DIR), "two of three");
    }

    #[test]
    fn many_at_once_do_not_stop_it() {
        let mut predictor = OpenPredictor::default();
        pass(&mut predictor, 100, 1);
        for round in 0..10 {
            for file in 0..40 {
                assert!(predictor.predicts_open(DIR), "round {round} file {file}");
                predictor.looked_up(DIR, Some(InodeId(file)), 0);
            }
            (0..40).for_each(|file| predictor.opened(InodeId(file), 0));
        }
    }

    #[test]
    fn what_is_opened_late_twice_or_needs_nothing_earns_nothing() {
        let mut predictor = OpenPredictor::default();
        for n in 0..100 {
            predictor.opened(InodeId(n), 0);
            predictor.looked_up(DIR, Some(InodeId(n)), 0);
            predictor.opened(InodeId(n), SOON_MS + 1);
            predictor.looked_up(DIR, None, 0);
            predictor.opened(InodeId(n), 0);
        }
        assert!(!predictor.predicts_open(DIR));
        pass(&mut predictor, 2, 1);
        for _ in 0..100 {
            predictor.opened(InodeId(1000), 1);
        }
        assert!(!predictor.predicts_open(DIR), "once for each look-up");
    }

    #[test]
    fn directories_in_one_place_do_not_take_each_other_for_themselves() {
        let other = (1..).map(InodeId).find(|other| *other != DIR && slot(*other) == slot(DIR)).unwrap();
        let mut predictor = OpenPredictor::default();
        pass(&mut predictor, 100, 1);
        predictor.looked_up(other, Some(InodeId(1)), 0);
        assert!(predictor.predicts_open(DIR) && !predictor.predicts_open(other));
        predictor.opened(InodeId(1), 0);
        assert!(!predictor.predicts_open(DIR) && !predictor.predicts_open(other));
    }
}
