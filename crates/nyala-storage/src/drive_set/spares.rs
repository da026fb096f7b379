// SPDX-License-Identifier: Apache-2.0

//! Spares take the place of drives that stay away. Failure model: see the parent module; a spare that is refused is tried again, and the next one is taken.

use super::identity::TargetDir;
use super::reach::Reach;
use super::replace::replace;
use nyala_drives::DriveSet;
use nyala_raid::member::MemberState;
use parking_lot::Mutex;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A drive that is missing for so long is replaced by a spare.
const SPARE_AFTER: Duration = Duration::from_secs(60);

/// Directories without a drive of the set, and since when members are missing.
pub(super) struct Spares {
    dirs: Mutex<Vec<PathBuf>>,
    missing: Mutex<Vec<Option<Instant>>>,
}

impl Spares {
    pub fn new(dirs: Vec<PathBuf>) -> Spares {
        Spares { dirs: Mutex::new(dirs), missing: Mutex::default() }
    }

    /// Those that are left.
    pub fn remaining(&self) -> Vec<PathBuf> {
        self.dirs.lock().clone()
    }

    /// One was taken by somebody else.
    pub fn remove(&self, dir: &Path) {
        self.dirs.lock().retain(|spare| spare != dir);
    }

    /// Gives spares to members that have been missing for long, and says which.
    pub fn take(&self, set: &DriveSet, dir: &Mutex<TargetDir>, reach: &Reach) -> Vec<PathBuf> {
        let mut taken = Vec::new();
        for (member, status) in set.members().iter().enumerate() {
            if self.is_due(member, status.state == MemberState::Missing, Instant::now()) {
                taken.extend(self.give(set, (dir, reach), member));
            }
        }
        taken
    }

    fn is_due(&self, member: usize, is_missing: bool, now: Instant) -> bool {
        let mut missing = self.missing.lock();
        if missing.len() <= member {
            missing.resize(member + 1, None);
        }
        let since = is_missing.then(|| missing[member].unwrap_or(now));
        missing[member] = since;
        since.is_some_and(|since| now.saturating_duration_since(since) >= SPARE_AFTER)
    }

    fn give(&self, set: &DriveSet, with: (&Mutex<TargetDir>, &Reach), member: usize) -> Option<PathBuf> {
        let mut dirs = self.dirs.lock();
        let locations = set.members().into_iter().filter_map(|status| status.location);
        let mounts =
            locations.map(PathBuf::from).filter(|location| location.exists()).all(|location| is_mount(&location));
        let fits = |spare: &Path| !mounts || is_mount(spare);
        let give = |spare: &PathBuf| replace(set, with, member, &spare.clone().into());
        let taken = dirs.iter().position(|spare| fits(spare) && give(spare).is_ok());
        let spare = dirs.remove(taken?);
        tracing::warn!(member, drive = %spare.display(), "a spare takes the place of a drive that is missing");
        Some(spare)
    }
}

/// Whether a file system begins there. Where those of a set do, the directory of a spare that is not mounted is not taken for it.
fn is_mount(dir: &Path) -> bool {
    let device = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.dev());
    matches!((device(dir), device(&dir.join(".."))), (Ok(here), Ok(above)) if here != above)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_that_comes_back_in_time_keeps_its_place() {
        let (spares, now) = (Spares::new(vec![]), Instant::now());
        let at = |seconds| now + Duration::from_secs(seconds);
        assert!(!spares.is_due(3, true, now) && !spares.is_due(3, true, at(59)));
        assert!(!spares.is_due(1, true, at(60)), "each has a time of its own");
        assert!(spares.is_due(3, true, at(60)));
        assert!(!spares.is_due(3, false, at(61)) && !spares.is_due(3, true, at(62)), "it begins anew");
        assert!(!spares.is_due(3, true, at(121)) && spares.is_due(3, true, at(122)));
    }
}
