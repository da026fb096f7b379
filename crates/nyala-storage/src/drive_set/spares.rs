// SPDX-License-Identifier: Apache-2.0

//! Spares take the place of drives that stay away. Failure model: see the parent module; a spare that is refused is tried again, and the next one is taken.

use super::identity::TargetDir;
use super::reach::Reach;
use super::replace::replace;
use nyala_drives::DriveSet;
use nyala_netdrives::DriveLocation;
use nyala_raid::member::MemberState;
use parking_lot::Mutex;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A drive that is missing for so long is replaced by a spare, unless that is set.
const SPARE_AFTER: Duration = Duration::from_secs(60);

/// Those that nobody has are counted so often.
const COUNT_EVERY: Duration = Duration::from_secs(10);

/// Directories without a drive of the set, of this host or others, and since when members are missing. Other sets may have the same.
pub(super) struct Spares {
    locations: Mutex<Vec<DriveLocation>>,
    missing: Mutex<Vec<Option<Instant>>>,
    after: Duration,
    /// Those that nobody has, as they were counted last, and when.
    free: Mutex<(u64, Option<Instant>)>,
}

impl Spares {
    pub fn new(locations: Vec<DriveLocation>, after: Option<Duration>) -> Spares {
        let (locations, after) = (Mutex::new(locations), after.unwrap_or(SPARE_AFTER));
        Spares { locations, missing: Mutex::default(), after, free: Mutex::default() }
    }

    /// Those that nobody has taken.
    pub fn remaining(&self, set: &DriveSet, reach: &Reach) -> Vec<DriveLocation> {
        let (all, ours) = (self.locations.lock().clone(), set.superblock().set);
        all.into_iter().filter(|spare| reach.is_free(spare, ours)).collect()
    }

    /// Counts those, but not each time: other hosts are asked for theirs.
    pub fn count(&self, set: &DriveSet, reach: &Reach) {
        if self.free.lock().1.is_none_or(|counted| counted.elapsed() >= COUNT_EVERY) {
            let free = self.remaining(set, reach).len() as u64;
            *self.free.lock() = (free, Some(Instant::now()));
        }
    }

    /// How many there were when they were counted last.
    pub fn free(&self) -> u64 {
        self.free.lock().0
    }

    /// Whether the set may take it.
    pub fn has(&self, location: &DriveLocation) -> bool {
        self.locations.lock().contains(location)
    }

    /// The set may take it from now on.
    pub fn add(&self, location: DriveLocation) {
        if !self.has(&location) {
            self.locations.lock().push(location);
            self.free.lock().1 = None;
        }
    }

    /// An operator gave one to the set, or wants it for others.
    pub fn remove(&self, location: &DriveLocation) {
        self.locations.lock().retain(|spare| spare != location);
        self.free.lock().1 = None;
    }

    /// Gives spares to members that have been missing for long, and says which.
    pub fn take(&self, set: &DriveSet, dir: &Mutex<TargetDir>, reach: &Reach) -> Vec<DriveLocation> {
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
        since.is_some_and(|since| now.saturating_duration_since(since) >= self.after)
    }

    fn give(&self, set: &DriveSet, with: (&Mutex<TargetDir>, &Reach), member: usize) -> Option<DriveLocation> {
        let all = self.locations.lock().clone();
        let locations = set.members().into_iter().filter_map(|status| status.location);
        let mounts =
            locations.map(PathBuf::from).filter(|location| location.exists()).all(|location| is_mount(&location));
        let fits = |spare: &DriveLocation| !mounts || spare.dir().is_none_or(is_mount);
        let ours = set.superblock().set;
        // One that another set has taken meanwhile is refused, whoever looked first.
        let give = |spare: &&DriveLocation| {
            fits(spare) && with.1.is_free(spare, ours) && replace(set, with, member, spare).is_ok()
        };
        let spare = all.iter().find(give)?.clone();
        self.remove(&spare);
        tracing::warn!(member, drive = %spare, "a spare takes the place of a drive that is missing");
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
        let (spares, now) = (Spares::new(vec![], None), Instant::now());
        let at = |seconds| now + Duration::from_secs(seconds);
        assert!(!spares.is_due(3, true, now) && !spares.is_due(3, true, at(59)));
        assert!(!spares.is_due(1, true, at(60)), "each has a time of its own");
        assert!(spares.is_due(3, true, at(60)));
        assert!(!spares.is_due(3, false, at(61)) && !spares.is_due(3, true, at(62)), "it begins anew");
        assert!(!spares.is_due(3, true, at(121)) && spares.is_due(3, true, at(122)));
    }
}
