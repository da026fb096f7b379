// SPDX-License-Identifier: Apache-2.0

//! What a set's target does by itself: looks whether drives are there, takes back those that were away, takes spares, rebuilds, compares. One thread.
//!
//! **Failure model.** See the parent module. What cannot be done now is said and tried again later. Rebuild and check go on where they were after a restart: where that is lies
//! on the drives.

use super::background::Background;
use super::describe::describe;
use super::figures::SetFigures;
use super::identity::TargetDir;
use super::load::Load;
use super::modify::{Changes, modify};
use super::reach::Reach;
use super::replace::replace;
use super::returns::Returns;
use super::spares::Spares;
use nyala_drives::{DriveSet, SetError};
use nyala_netdrives::DriveLocation;
use nyala_wire::raid::{RaidOrder, RaidState};
use nyala_wire::{ErrorCode, WireError};
use parking_lot::Mutex;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Drives are looked at so often.
const LOOK: Duration = Duration::from_secs(1);
/// After something failed.
const AGAIN: Duration = Duration::from_secs(5);

/// The thread's side, and that of those who ask.
pub struct Upkeep {
    work: Background,
    dir: Arc<Mutex<TargetDir>>,
    spares: Spares,
    returns: Returns,
    reach: Reach,
    stop: Mutex<Option<mpsc::Sender<()>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Upkeep {
    /// Begins. `spares` have no drive of the set, `drives` the places where its drives may be.
    pub(super) fn start(
        set: Arc<DriveSet>,
        load: Arc<Load>,
        dir: Arc<Mutex<TargetDir>>,
        (spares, spare_after): (Vec<DriveLocation>, Option<Duration>),
        (drives, reach): (Vec<DriveLocation>, Reach),
    ) -> std::io::Result<Arc<Upkeep>> {
        let (stop, stopped) = mpsc::channel();
        let (work, spares, returns) =
            (Background::new(set, load), Spares::new(spares, spare_after), Returns::new(drives, reach.clone()));
        let (stop, thread) = (Mutex::new(Some(stop)), Mutex::default());
        let upkeep = Arc::new(Upkeep { work, dir, spares, returns, reach, stop, thread });
        let mine = upkeep.clone();
        let thread = std::thread::Builder::new().name("nyala-raid".into()).spawn(move || mine.run(&stopped))?;
        *upkeep.thread.lock() = Some(thread);
        Ok(upkeep)
    }

    /// Ends the thread.
    pub fn stop(&self) {
        drop(self.stop.lock().take());
        if self.thread.lock().take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the upkeep of a drive set has panicked");
        }
    }

    fn run(&self, stopped: &mpsc::Receiver<()>) {
        let mut looked: Option<Instant> = None;
        loop {
            if looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
                looked = Some(Instant::now());
                self.look();
            }
            let pause = self.work.step().unwrap_or_else(|error| {
                tracing::error!(%error, "a drive set cannot be rebuilt or compared now");
                AGAIN
            });
            if !matches!(stopped.recv_timeout(pause), Err(mpsc::RecvTimeoutError::Timeout)) {
                return;
            }
        }
    }

    fn look(&self) {
        if let Err(error) = self.work.set.check_presence() {
            tracing::error!(%error, "a drive set");
        }
        self.work.load.room_is(self.work.set.space());
        self.work.look_at_the_time();
        self.returns.take(&self.work.set, &self.dir);
        for taken in self.spares.take(&self.work.set, &self.dir, &self.reach) {
            self.returns.add(taken);
        }
        self.spares.count(&self.work.set, &self.reach);
    }

    /// What is counted of the set.
    pub fn figures(&self) -> SetFigures {
        SetFigures::of(&self.work.set, self.spares.free())
    }

    /// A set with drives of other hosts has stopped: too many of them are away, or somebody else has taken it over. Opened again it may go on.
    pub fn has_stopped(&self) -> Option<SetError> {
        self.reach.0.as_ref().and_then(|_| self.work.set.stopped())
    }

    /// Bytes that the set takes in all, and still takes.
    pub fn space(&self) -> (u64, u64) {
        self.work.set.space().unwrap_or_default()
    }

    /// Does what an operator asks, and says how it is then.
    pub fn order(&self, order: RaidOrder) -> Result<RaidState, WireError> {
        match order {
            RaidOrder::Show => {}
            RaidOrder::Replace { member, drive } => {
                let location: DriveLocation =
                    drive.parse().map_err(|error| ErrorCode::INVALID.with(format!("{error}")))?;
                replace(&self.work.set, (&self.dir, &self.reach), usize::from(member), &location)?;
                self.spares.remove(&location);
                self.returns.add(location);
            }
            RaidOrder::Check => self.work.begin_check(),
            RaidOrder::Rate { bytes_per_s } => self.work.set_rate(bytes_per_s),
            RaidOrder::Modify { bytes_per_s, errors, within_ms, add_spares, remove_spares } => {
                let changes = Changes { bytes_per_s, errors, within_ms, add_spares, remove_spares };
                let options = modify(&self.work.set, &self.spares, &self.reach, &changes)?;
                if changes.bytes_per_s.is_some() {
                    self.work.set_rate(options.bytes_per_s);
                }
            }
        }
        let busy = (self.work.is_rebuilding(), self.work.is_checking());
        let spares = self.spares.remaining(&self.work.set, &self.reach);
        Ok(describe(&self.work.set, &spares, self.work.rate(), busy))
    }
}
