// SPDX-License-Identifier: Apache-2.0

//! Drives that were away come back to the running set, each second. Failure model: see the parent module; what is refused is said, and tried again after a minute.

use super::identity::TargetDir;
use nyala_drives::{Drive, DriveSet, SetError};
use nyala_raid::member::MemberState;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A drive that was refused is tried again after so long.
const AGAIN: Duration = Duration::from_secs(60);

/// Where drives of the set may be.
pub(super) struct Returns {
    dirs: Mutex<Vec<PathBuf>>,
    refused: Mutex<HashMap<PathBuf, Instant>>,
}

impl Returns {
    pub fn new(dirs: Vec<PathBuf>) -> Returns {
        Returns { dirs: Mutex::new(dirs), refused: Mutex::default() }
    }

    /// A drive was put there.
    pub fn add(&self, dir: &Path) {
        let mut dirs = self.dirs.lock();
        if !dirs.iter().any(|known| known == dir) {
            dirs.push(dir.to_owned());
        }
    }

    /// Takes back what is there again. A drive that failed and was never away is not: it stays out until the service is started again, or it is replaced.
    pub fn take(&self, set: &DriveSet, target: &Mutex<TargetDir>) {
        let members = set.members();
        if members.iter().all(|member| member.state != MemberState::Missing) {
            return;
        }
        let held = |dir: &Path| {
            members.iter().any(|member| member.is_held && member.place.as_deref().map(Path::new) == Some(dir))
        };
        let dirs = self.dirs.lock().clone();
        for dir in dirs.iter().filter(|dir| !held(dir)) {
            let waits = self.refused.lock().get(dir).is_some_and(|since| since.elapsed() < AGAIN);
            if !waits {
                self.try_one(set, target, dir);
            }
        }
    }

    fn try_one(&self, set: &DriveSet, target: &Mutex<TargetDir>, dir: &Path) {
        // Not there yet, or still held by the thread that used it last.
        let Ok(drive) = Drive::open(dir, false) else { return };
        match set.returned(drive) {
            Ok(member) => {
                tracing::warn!(member, drive = %dir.display(), "a drive is back in its set and gets what it missed");
                self.refused.lock().remove(dir);
                if let Err(error) = target.lock().add(dir) {
                    tracing::warn!(drive = %dir.display(), %error, "the drive cannot say whose it is");
                }
            }
            Err(error) => {
                if !matches!(error, SetError::Stopped { .. }) {
                    tracing::warn!(drive = %dir.display(), %error, "a drive stays out of its set");
                }
                self.refused.lock().insert(dir.to_owned(), Instant::now());
            }
        }
    }
}
