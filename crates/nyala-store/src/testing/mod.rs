// SPDX-License-Identifier: Apache-2.0

//! A machine in memory, with a log disk and an ordered store that crash, tear and fail on command, repeatably by seed.
//!
//! # Failure model (what it can do to the code under test)
//! - **Process crash**: everything written stays; the write under way may have reached any prefix.
//! - **Power cut**: what was synced stays. Every other write is lost, kept, or kept in some of its 512-byte sectors;
//!   unsynced directory changes survive as some prefix of their order.
//! - **EIO** from a write (after a part of it) or a sync (after which the pages count as clean and are lost), ENOSPC from
//!   an allocation or an ordered commit, flipped bits.
//!
//! Every change of state is a numbered **point**. A test runs a workload once to count the points, then again and again
//! with a crash at each of them:
//!
//! ```
//! # use nyala_store::{Batch, Options, Store, testing::Machine};
//! let workload = |store: &Store| { store.apply(Batch::new().put("k", "v")).and_then(|_| store.sync_blocking()) };
//! let options = || Options { manual: true, segment_bytes: 8192, ..Options::default() };
//! for point in 0..100 {
//!     let machine = Machine::new(point);
//!     machine.crash_at(point);
//!     let synced = Store::open_with(machine.disk(), machine.ordered(), options()).and_then(|(s, _)| workload(&s)).is_ok();
//!     machine.power_cut();
//!     let (store, _) = Store::open_with(machine.disk(), machine.ordered(), options()).unwrap();
//!     assert!(!synced || store.get(b"k").unwrap().is_some());
//! }
//! ```

mod past;
mod sim_disk;
mod sim_file;
mod sim_ordered;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use nyala_wire::SplitMix64;
use parking_lot::Mutex;

use crate::{LogDisk, OrderedStore};
pub use past::Clock;
use past::Past;
use sim_disk::{DirChange, SimDisk};
use sim_file::FileImage;
use sim_ordered::{SimOrdered, Tables};

/// What happens at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CrashOutcome {
    Works,
    Crashes,
    Fails,
}

struct State {
    random: SplitMix64,
    /// Raised by every crash; handles of an earlier life answer with errors.
    life: u64,
    down: bool,
    points: u64,
    crash_at: Option<u64>,
    fail_at: Option<u64>,
    free_bytes: Option<u64>,
    total_bytes: Option<u64>,
    free_inodes: Option<u64>,
    ordered_full: bool,
    files: BTreeMap<u64, FileImage>,
    names: BTreeMap<String, u64>,
    durable_names: BTreeMap<String, u64>,
    dir_changes: Vec<DirChange>,
    ordered: Tables,
    past: Option<Past>,
}

impl State {
    /// The same disks in another machine, which nothing has happened to.
    fn copy(&self) -> State {
        State {
            random: self.random.clone(),
            life: 0,
            down: false,
            points: 0,
            crash_at: None,
            fail_at: None,
            free_bytes: self.free_bytes,
            total_bytes: self.total_bytes,
            free_inodes: self.free_inodes,
            ordered_full: false,
            files: self.files.clone(),
            names: self.names.clone(),
            durable_names: self.durable_names.clone(),
            dir_changes: self.dir_changes.clone(),
            ordered: self.ordered.clone(),
            past: None,
        }
    }

    fn alive(&self, life: u64) -> io::Result<()> {
        if self.down || self.life != life { Err(io::Error::other("the simulated machine is down")) } else { Ok(()) }
    }

    /// Counts a point and says what happens at it.
    fn point(&mut self, life: u64) -> io::Result<CrashOutcome> {
        self.alive(life)?;
        self.remember();
        let point = self.points;
        self.points += 1;
        if self.crash_at == Some(point) {
            self.down = true;
            return Ok(CrashOutcome::Crashes);
        }
        Ok(if self.fail_at == Some(point) { CrashOutcome::Fails } else { CrashOutcome::Works })
    }

    fn restart(&mut self) {
        self.life += 1;
        self.down = false;
        self.crash_at = None;
        self.fail_at = None;
    }
}

fn crashed() -> io::Error {
    io::Error::other("the simulated machine crashed here")
}

fn eio() -> io::Error {
    io::Error::from_raw_os_error(libc::EIO)
}

/// A simulated machine. Clones are the same machine.
#[derive(Clone)]
pub struct Machine {
    state: Arc<Mutex<State>>,
}

impl Machine {
    /// An empty machine whose accidents follow from `seed`.
    pub fn new(seed: u64) -> Machine {
        let state = State {
            random: SplitMix64::new(seed),
            life: 0,
            down: false,
            points: 0,
            crash_at: None,
            fail_at: None,
            free_bytes: None,
            total_bytes: None,
            free_inodes: None,
            ordered_full: false,
            files: BTreeMap::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            dir_changes: Vec::new(),
            ordered: Tables::default(),
            past: None,
        };
        Machine { state: Arc::new(Mutex::new(state)) }
    }

    /// The log disk, for [`Store::open_with`](crate::Store::open_with). Valid until the next crash.
    pub fn disk(&self) -> Arc<dyn LogDisk> {
        Arc::new(SimDisk { state: self.state.clone(), life: self.state.lock().life })
    }

    /// The ordered store. Valid until the next crash.
    pub fn ordered(&self) -> Arc<dyn OrderedStore> {
        Arc::new(SimOrdered { state: self.state.clone(), life: self.state.lock().life })
    }

    /// Changes of state so far: creations, writes, truncations, syncs, renames, removals, commits.
    pub fn points(&self) -> u64 {
        self.state.lock().points
    }

    /// The machine goes down during point number `point`, counted from 0.
    pub fn crash_at(&self, point: u64) {
        self.state.lock().crash_at = Some(point);
    }

    /// Point number `point` fails with EIO; the machine goes on.
    pub fn fail_at(&self, point: u64) {
        self.state.lock().fail_at = Some(point);
    }

    /// Whether the crash has happened.
    pub fn is_down(&self) -> bool {
        self.state.lock().down
    }

    /// Bytes that may still be allocated; `None` is no limit.
    pub fn set_free_bytes(&self, bytes: Option<u64>) {
        self.state.lock().free_bytes = bytes;
    }

    /// Size of the disk as the file system tells it, bytes; `None` is a very large one.
    pub fn set_total_bytes(&self, bytes: Option<u64>) {
        self.state.lock().total_bytes = bytes;
    }

    /// Files that may still be made; `None` is no limit.
    pub fn set_free_inodes(&self, inodes: Option<u64>) {
        self.state.lock().free_inodes = inodes;
    }

    /// Makes commits of the ordered store fail for lack of space.
    pub fn set_ordered_full(&self, full: bool) {
        self.state.lock().ordered_full = full;
    }

    /// The process dies (if it has not yet) and can be started again; all that was written is still there.
    pub fn process_crash(&self) {
        self.state.lock().restart();
    }

    /// The power fails and comes back: unsynced writes are lost, kept or torn.
    pub fn power_cut(&self) {
        let state = &mut *self.state.lock();
        state.restart();
        sim_disk::cut_directory(state);
        for file in state.files.values_mut() {
            file.cut_power(&mut state.random);
        }
    }

    /// Names and sizes of the files.
    pub fn files(&self) -> Vec<(String, usize)> {
        let state = self.state.lock();
        let size = |id: &u64| state.files.get(id).map_or(0, |file| file.content().len());
        state.names.iter().map(|(name, id)| (name.clone(), size(id))).collect()
    }

    /// Content of a file.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.state.lock();
        state.names.get(name).and_then(|id| state.files.get(id)).map(|file| file.content().to_vec())
    }

    /// Replaces the content of a file behind everyone's back, durably.
    pub fn overwrite(&self, name: &str, content: Vec<u8>) {
        let state = &mut *self.state.lock();
        if let Some(file) = state.names.get(name).and_then(|id| state.files.get_mut(id)) {
            *file = FileImage::durable(content);
        }
    }

    /// Replaces a part of a file's content behind everyone's back, durably.
    pub fn patch(&self, name: &str, offset: usize, bytes: &[u8]) {
        let state = &mut *self.state.lock();
        if let Some(file) = state.names.get(name).and_then(|id| state.files.get_mut(id)) {
            file.patch(offset, bytes);
        }
    }

    /// Removes a file behind everyone's back, durably.
    pub fn lose(&self, name: &str) {
        let mut state = self.state.lock();
        state.names.remove(name);
        state.durable_names.remove(name);
    }

    /// An independent machine in the same state, as after a clean restart.
    pub fn fork(&self) -> Machine {
        Machine { state: Arc::new(Mutex::new(self.state.lock().copy())) }
    }
}
