// SPDX-License-Identifier: Apache-2.0

//! The simulated log directory.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use super::sim_file::FileImage;
use super::{CrashOutcome, State, crashed, eio};
use crate::{FreeSpace, LogDisk, LogFile};

/// A directory change that was not synced yet.
#[derive(Clone)]
pub(super) enum DirChange {
    Create(String, u64),
    Rename(String, String),
    Remove(String),
}

impl DirChange {
    fn apply(&self, names: &mut BTreeMap<String, u64>) {
        match self {
            DirChange::Create(name, id) => {
                names.insert(name.clone(), *id);
            }
            DirChange::Rename(from, to) => {
                if let Some(id) = names.remove(from) {
                    names.insert(to.clone(), id);
                }
            }
            DirChange::Remove(name) => {
                names.remove(name);
            }
        }
    }
}

/// A journal keeps directory changes in order, so a prefix of them survives.
pub(super) fn cut_directory(state: &mut State) {
    let kept = state.random.below(state.dir_changes.len() as u64 + 1) as usize;
    for change in state.dir_changes.drain(..).take(kept) {
        change.apply(&mut state.durable_names);
    }
    state.names = state.durable_names.clone();
}

pub(super) struct SimDisk {
    pub state: Arc<Mutex<State>>,
    pub life: u64,
}

impl SimDisk {
    /// At a crash, chance says whether the change had still happened.
    fn change(&self, state: &mut State, change: DirChange) -> io::Result<()> {
        let fate = state.point(self.life)?;
        if fate == CrashOutcome::Fails {
            return Err(eio());
        }
        if fate == CrashOutcome::Works || state.random.coin() {
            change.apply(&mut state.names);
            state.dir_changes.push(change);
        }
        if fate == CrashOutcome::Crashes { Err(crashed()) } else { Ok(()) }
    }

    fn existing(&self, state: &State, name: &str) -> io::Result<u64> {
        state.alive(self.life)?;
        state.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl LogDisk for SimDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        let state = self.state.lock();
        state.alive(self.life)?;
        Ok(state.names.keys().cloned().collect())
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<Arc<dyn LogFile>> {
        let state = &mut *self.state.lock();
        let inodes = state.free_inodes.map(|free| free.checked_sub(1));
        let left = state.free_bytes.map(|free| free.checked_sub(bytes));
        if inodes == Some(None) || left == Some(None) {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        (state.free_inodes, state.free_bytes) = (inodes.flatten(), left.flatten());
        let id = state.files.keys().next_back().map_or(1, |last| last + 1);
        let mut file = FileImage::default();
        file.resize(bytes as usize);
        state.files.insert(id, file);
        self.change(state, DirChange::Create(name.to_owned(), id))?;
        Ok(Arc::new(SimFile { state: self.state.clone(), life: self.life, id }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn LogFile>> {
        let id = self.existing(&self.state.lock(), name)?;
        Ok(Arc::new(SimFile { state: self.state.clone(), life: self.life, id }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let state = &mut *self.state.lock();
        self.existing(state, from)?;
        self.change(state, DirChange::Rename(from.to_owned(), to.to_owned()))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let state = &mut *self.state.lock();
        let id = self.existing(state, name)?;
        let bytes = state.files.get(&id).map_or(0, |file| file.content().len() as u64);
        self.change(state, DirChange::Remove(name.to_owned()))?;
        state.free_bytes = state.free_bytes.map(|free| free + bytes);
        state.free_inodes = state.free_inodes.map(|free| free + 1);
        Ok(())
    }

    fn free_space(&self) -> io::Result<FreeSpace> {
        const LARGE: u64 = 1 << 50;
        let state = self.state.lock();
        state.alive(self.life)?;
        let total_bytes = state.total_bytes.unwrap_or(LARGE);
        Ok(FreeSpace { bytes: state.free_bytes.unwrap_or(LARGE), total_bytes, inodes: state.free_inodes })
    }

    fn sync_dir(&self) -> io::Result<()> {
        let state = &mut *self.state.lock();
        match state.point(self.life)? {
            CrashOutcome::Crashes => Err(crashed()),
            CrashOutcome::Fails => Err(eio()),
            CrashOutcome::Works => {
                for change in state.dir_changes.drain(..) {
                    change.apply(&mut state.durable_names);
                }
                Ok(())
            }
        }
    }

    fn entropy(&self) -> io::Result<u64> {
        Ok(self.state.lock().random.bits())
    }

    fn location(&self) -> String {
        "simulated disk".to_owned()
    }
}

struct SimFile {
    state: Arc<Mutex<State>>,
    life: u64,
    id: u64,
}

impl SimFile {
    fn with<T>(&self, run: impl FnOnce(&mut State, u64) -> io::Result<T>) -> io::Result<T> {
        run(&mut self.state.lock(), self.life)
    }
}

fn image(state: &mut State, id: u64) -> io::Result<&mut FileImage> {
    state.files.get_mut(&id).ok_or_else(|| io::ErrorKind::NotFound.into())
}

impl LogFile for SimFile {
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.with(|state, life| {
            let fate = state.point(life)?;
            let reached = if fate == CrashOutcome::Works {
                data.len()
            } else {
                state.random.below(data.len() as u64 + 1) as usize
            };
            image(state, self.id)?.write(offset, &data[..reached]);
            match fate {
                CrashOutcome::Works => Ok(()),
                CrashOutcome::Crashes => Err(crashed()),
                CrashOutcome::Fails => Err(eio()),
            }
        })
    }

    fn read_all(&self) -> io::Result<Vec<u8>> {
        self.with(|state, life| {
            state.alive(life)?;
            Ok(image(state, self.id)?.content().to_vec())
        })
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.with(|state, life| {
            state.alive(life)?;
            let content = image(state, self.id)?.content();
            let there = content.get(offset as usize..).and_then(|rest| rest.get(..buffer.len()));
            buffer.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    fn bytes(&self) -> io::Result<u64> {
        self.with(|state, life| {
            state.alive(life)?;
            Ok(image(state, self.id)?.content().len() as u64)
        })
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        let more = bytes.saturating_sub(self.bytes()?);
        if more == 0 {
            return Ok(());
        }
        self.with(|state, life| {
            if state.free_bytes.is_some_and(|free| free < more) {
                return Err(io::Error::from_raw_os_error(libc::ENOSPC));
            }
            let fate = state.point(life)?;
            if fate == CrashOutcome::Fails {
                return Err(eio());
            }
            if fate == CrashOutcome::Works || state.random.coin() {
                state.free_bytes = state.free_bytes.map(|free| free - more);
                image(state, self.id)?.resize(bytes as usize);
            }
            if fate == CrashOutcome::Crashes { Err(crashed()) } else { Ok(()) }
        })
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.with(|state, life| {
            let fate = state.point(life)?;
            if fate == CrashOutcome::Fails {
                return Err(eio());
            }
            if fate == CrashOutcome::Works || state.random.coin() {
                image(state, self.id)?.resize(bytes as usize);
            }
            if fate == CrashOutcome::Crashes { Err(crashed()) } else { Ok(()) }
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.with(|state, life| {
            let fate = state.point(life)?;
            let file = image(state, self.id)?;
            match fate {
                CrashOutcome::Works => {
                    file.sync();
                    Ok(())
                }
                CrashOutcome::Crashes => Err(crashed()),
                CrashOutcome::Fails => {
                    file.fail_sync();
                    Err(eio())
                }
            }
        })
    }
}
