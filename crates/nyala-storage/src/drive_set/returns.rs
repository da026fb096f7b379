// SPDX-License-Identifier: Apache-2.0

//! Drives that were away come back to the running set, each second. Failure model: see the parent module; what is refused is said, and tried again after a minute; a host
//! that does not answer is asked again after some seconds, since others wait for the answer.

use super::identity::TargetDir;
use super::reach::{Reach, ReachError};
use nyala_drives::{DriveSet, SetError, claimed_by};
use nyala_netdrives::{DriveLocation, NetError};
use nyala_raid::member::MemberState;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// A drive that was refused is tried again after so long.
const AGAIN: Duration = Duration::from_secs(60);
/// A host that did not answer is asked again after so long.
const ASK_AGAIN: Duration = Duration::from_secs(3);

/// Where drives of the set may be.
pub(super) struct Returns {
    locations: Mutex<Vec<DriveLocation>>,
    reach: Reach,
    /// Until when a place is left alone.
    refused: Mutex<HashMap<DriveLocation, Instant>>,
}

impl Returns {
    pub fn new(locations: Vec<DriveLocation>, reach: Reach) -> Returns {
        Returns { locations: Mutex::new(locations), reach, refused: Mutex::default() }
    }

    /// A drive was put there.
    pub fn add(&self, location: DriveLocation) {
        let mut locations = self.locations.lock();
        if !locations.contains(&location) {
            locations.push(location);
        }
    }

    /// Takes back what is there again. A drive that failed and was never away is not: it stays out until the service is started again, or it is replaced.
    pub fn take(&self, set: &DriveSet, target: &Mutex<TargetDir>) {
        let members = set.members();
        if members.iter().all(|member| member.state != MemberState::Missing) {
            return;
        }
        let held = |location: &DriveLocation| {
            let text = location.to_string();
            members.iter().any(|member| member.is_held && member.location.as_ref() == Some(&text))
        };
        let locations = self.locations.lock().clone();
        for location in locations.iter().filter(|location| !held(location)) {
            let waits = self.refused.lock().get(location).is_some_and(|until| Instant::now() < *until);
            if !waits && let Some(after) = self.try_one(set, target, location) {
                self.refused.lock().insert(location.clone(), Instant::now() + after);
            }
        }
    }

    /// Gives how long it is left alone then.
    fn try_one(&self, set: &DriveSet, target: &Mutex<TargetDir>, location: &DriveLocation) -> Option<Duration> {
        let ours = set.superblock().set;
        // A spare may be another set's by now: what is of others is not touched.
        if location.dir().is_some_and(|dir| claimed_by(dir).is_ok_and(|owner| owner.is_some_and(|owner| owner != ours)))
        {
            return None;
        }
        if location.dir().is_none() && self.reach.is_of(location, ours).ok().flatten() != Some(true) {
            return Some(ASK_AGAIN);
        }
        let drive = match self.reach.open(location) {
            Ok(drive) => drive,
            Err(error @ ReachError::Net(NetError::Drive { taken: true, .. })) => {
                tracing::warn!(drive = %location, %error, "a drive stays out of its set");
                return Some(AGAIN);
            }
            Err(ReachError::Net(_)) => return Some(ASK_AGAIN),
            // Not there yet, or still held by the thread that used it last.
            Err(_) => return None,
        };
        match set.returned(drive) {
            Ok(member) => {
                tracing::warn!(member, drive = %location, "a drive is back in its set and gets what it missed");
                if let Err(error) = target.lock().add(location.dir()) {
                    tracing::warn!(drive = %location, %error, "the drive cannot say whose it is");
                }
                None
            }
            Err(error) => {
                if !matches!(error, SetError::Stopped { .. }) {
                    tracing::warn!(drive = %location, %error, "a drive stays out of its set");
                }
                Some(AGAIN)
            }
        }
    }
}
