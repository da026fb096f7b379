// SPDX-License-Identifier: Apache-2.0

//! Rebuild and check of a set, a few stripes at a time, at a rate that gives way to what clients want. Failure model: see the parent module.

use super::load::Load;
use nyala_drives::{DriveSet, Progress, SetError};
use nyala_raid::member::MemberState;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Between two steps where the rate allows no more, and where there is nothing to do.
const PAUSE: Duration = Duration::from_millis(10);
const IDLE: Duration = Duration::from_millis(100);
/// All is compared so often.
const CHECK_EVERY_S: u64 = 30 * 24 * 3600;
/// Bytes of drives that are rebuilt or compared at once, about.
const STEP_BYTES: u64 = 4 << 20;

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// What is done in the background.
pub(super) struct Background {
    pub set: Arc<DriveSet>,
    pub load: Arc<Load>,
    checking: AtomicBool,
    /// A check is to begin anew.
    check_wanted: AtomicBool,
    /// Bytes a second that an operator wishes; 0: as fast as it goes.
    wished: Mutex<Option<u64>>,
}

impl Background {
    /// Goes on where the set is.
    pub fn new(set: Arc<DriveSet>, load: Arc<Load>) -> Background {
        let checking = AtomicBool::new(set.scrub().behind.is_some());
        let wished = Mutex::new(set.options().bytes_per_s);
        Background { set, load, checking, check_wanted: AtomicBool::new(false), wished }
    }

    /// A check begins from the start.
    pub fn begin_check(&self) {
        self.check_wanted.store(true, Ordering::Relaxed);
    }

    /// A check begins if it is time.
    pub fn look_at_the_time(&self) {
        if !self.is_checking() && self.set.scrub().is_due(now_s(), CHECK_EVERY_S) {
            self.begin_check();
        }
    }

    /// Sets the rate; none: what leaves room for work.
    pub fn set_rate(&self, bytes_per_s: Option<u64>) {
        *self.wished.lock() = bytes_per_s;
    }

    /// Bytes a second; 0: as fast as it goes.
    pub fn rate(&self) -> u64 {
        self.wished.lock().unwrap_or_else(|| self.load.rate())
    }

    /// Whether a check is under way.
    pub fn is_checking(&self) -> bool {
        self.checking.load(Ordering::Relaxed) || self.check_wanted.load(Ordering::Relaxed)
    }

    /// Whether there is a drive that does not have everything yet.
    pub fn is_rebuilding(&self) -> bool {
        let behind = |state| matches!(state, MemberState::CatchingUp | MemberState::Rebuilding { .. });
        self.set.members().iter().any(|member| behind(member.state))
    }

    /// A few stripes, if there is something to do and it may be done now. How long to wait then.
    pub fn step(&self) -> Result<Duration, SetError> {
        if self.check_wanted.load(Ordering::Relaxed) {
            self.set.begin_scrub(now_s());
            self.checking.store(true, Ordering::Relaxed);
            // Last, so that it is under way all the time for those who ask.
            self.check_wanted.store(false, Ordering::Relaxed);
        }
        let rebuilding = self.is_rebuilding();
        let left = rebuilding || self.checking.load(Ordering::Relaxed);
        self.load.tick(left);
        if !left {
            return Ok(IDLE);
        }
        let geometry = self.set.geometry();
        let whole = (geometry.strip_bytes() * geometry.width()) as u64;
        let most = (STEP_BYTES / whole).max(1);
        let wished = *self.wished.lock();
        if wished.is_none() && !self.load.take(most * whole) {
            return Ok(PAUSE);
        }
        let began = Instant::now();
        let stripes = usize::try_from(most).unwrap_or(1);
        let progress = match rebuilding {
            true => self.set.rebuild_some(stripes)?,
            false => self.set.scrub_some(stripes, now_s())?,
        };
        if !rebuilding && progress.done {
            self.checking.store(false, Ordering::Relaxed);
        }
        Ok(self.pause(wished, most * whole, progress, began))
    }

    fn pause(&self, wished: Option<u64>, taken: u64, progress: Progress, began: Instant) -> Duration {
        match wished {
            None => {
                self.load.took(taken, progress.bytes);
                Duration::ZERO
            }
            Some(0) => Duration::ZERO,
            Some(rate) => Duration::from_secs_f64(progress.bytes as f64 / rate as f64).saturating_sub(began.elapsed()),
        }
    }
}
