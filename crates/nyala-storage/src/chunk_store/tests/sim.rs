// SPDX-License-Identifier: Apache-2.0

//! A file system and a key-value store in memory that crash and fail at a chosen step.
//!
//! What they promise is what the real ones do: after the death of the process, files are as they were last written, and
//! the log has everything up to some point at or after the last flush. After the death of the machine, every 512-byte
//! sector of a file may be as synced or as written, its length anything in between, an unsynced name may be gone or a
//! removed one back; and the log ends somewhere at or after the last sync.

use crate::chunk_store::disk::{ChunkDisk, ChunkFile, Opened};
use crate::chunk_store::table::{Table, Visit};
use nyala_store::{Batch, Lsn, StoreError, Value};
use nyala_wire::storage::ChunkFileId;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::ops::{Bound, ControlFlow};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// What happens at the chosen step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Everything stops; a write may be there in part.
    Crash,
    /// The step fails with this errno; nothing of it was done.
    Fail(i32),
    /// A write does half of what was asked and says so.
    Short,
    /// A write does half of what was asked, then fails.
    HalfThenFail(i32),
}

#[derive(Clone, Default)]
pub struct World {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    steps: u64,
    may_not_grow: bool,
    at: Option<(u64, Event)>,
    crashed: bool,
    files: BTreeMap<ChunkFileId, SimFile>,
    durable_names: Vec<ChunkFileId>,
    log: Vec<Batch>,
    written: usize,
    durable: usize,
    random: u64,
    unreadable: Option<(ChunkFileId, usize)>,
}

#[derive(Clone, Default)]
struct SimFile {
    /// Grows with every making; a handle of an older one is stale.
    content: Vec<u8>,
    synced: Vec<u8>,
    exists: bool,
}

fn crash_error() -> io::Error {
    io::Error::other("simulated crash")
}

impl State {
    /// One step; tells whether to do half of it, and what to say then.
    fn step(&mut self) -> io::Result<Option<io::Result<()>>> {
        if self.crashed {
            return Err(crash_error());
        }
        self.steps += 1;
        match self.at {
            Some((at, event)) if at == self.steps => match event {
                Event::Crash => {
                    self.crashed = true;
                    Ok(Some(Err(crash_error())))
                }
                Event::Fail(errno) => Err(io::Error::from_raw_os_error(errno)),
                Event::Short => Ok(Some(Ok(()))),
                Event::HalfThenFail(errno) => Ok(Some(Err(io::Error::from_raw_os_error(errno)))),
            },
            _ => Ok(None),
        }
    }

    /// One step of something that happens as a whole or not at all.
    fn whole_step(&mut self) -> io::Result<()> {
        match self.step()? {
            Some(Err(error)) => Err(error),
            _ => Ok(()),
        }
    }

    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random >> 33
    }
}

impl World {
    pub fn new(seed: u64) -> World {
        let world = World::default();
        world.state.lock().random = seed;
        world
    }

    pub fn disk(&self) -> Arc<dyn ChunkDisk> {
        Arc::new(self.clone())
    }

    pub fn table(&self) -> Arc<dyn Table> {
        Arc::new(self.clone())
    }

    pub fn steps(&self) -> u64 {
        self.state.lock().steps
    }

    /// Counts from now on and does something at a step.
    pub fn at(&self, at: Option<(u64, Event)>) {
        let mut state = self.state.lock();
        state.steps = 0;
        state.at = at;
    }

    /// Whether the tables keep what is left for removals.
    pub fn keep_for_removals(&self, keep: bool) {
        self.state.lock().may_not_grow = keep;
    }

    pub fn crashed(&self) -> bool {
        self.state.lock().crashed
    }

    /// The process starts anew.
    pub fn restart_process(&self) {
        let mut state = self.state.lock();
        let written = state.written;
        state.log.truncate(written);
        state.crashed = false;
        state.at = None;
    }

    /// The machine starts anew.
    pub fn restart_machine(&self) {
        let mut state = self.state.lock();
        let (durable, written) = (state.durable, state.written);
        let keep = durable + (state.random() as usize % (written - durable + 1));
        state.log.truncate(keep);
        (state.written, state.durable) = (keep, keep);
        let mut files = std::mem::take(&mut state.files);
        for (id, file) in &mut files {
            let named = state.durable_names.contains(id);
            if named != file.exists && state.random().is_multiple_of(2) {
                file.exists = named;
            }
            let (a, b) = (file.synced.len(), file.content.len());
            let between = a.min(b) + state.random() as usize % (a.abs_diff(b) + 1);
            let len = [a, b, between][state.random() as usize % 3];
            let mut content = vec![0; len];
            for (number, sector) in content.chunks_mut(512).enumerate() {
                let from = if state.random().is_multiple_of(2) { &file.synced } else { &file.content };
                let rest = from.get(number * 512..).unwrap_or(&[]);
                let n = rest.len().min(sector.len());
                sector[..n].copy_from_slice(&rest[..n]);
            }
            file.content = content.clone();
            file.synced = content;
        }
        files.retain(|_, file| file.exists);
        state.durable_names = files.keys().copied().collect();
        state.files = files;
        state.crashed = false;
        state.at = None;
    }

    /// Changes a file behind the store's back.
    pub fn tamper(&self, file: ChunkFileId, change: impl FnOnce(&mut Vec<u8>)) {
        change(&mut self.state.lock().files.get_mut(&file).expect("the file is there").content);
    }

    /// The disk cannot read a byte any more.
    pub fn lose(&self, file: ChunkFileId, at: usize) {
        self.state.lock().unreadable = Some((file, at));
    }

    /// Number of chunk files.
    pub fn files(&self) -> usize {
        self.state.lock().files.values().filter(|file| file.exists).count()
    }

    /// Keys with this first byte.
    pub fn keys(&self, tag: u8) -> usize {
        self.tables().keys().filter(|key| key[0] == tag).count()
    }

    fn tables(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let state = self.state.lock();
        let mut tables = BTreeMap::new();
        for (key, value) in state.log.iter().flat_map(Batch::iter) {
            match value {
                Some(value) => drop(tables.insert(key.to_vec(), value.to_vec())),
                None => drop(tables.remove(key)),
            }
        }
        tables
    }
}

impl ChunkDisk for World {
    fn open(&self, file: ChunkFileId, create: bool) -> io::Result<Option<Opened>> {
        let mut state = self.state.lock();
        if state.crashed {
            return Err(crash_error());
        }
        let created = !state.files.get(&file).is_some_and(|file| file.exists);
        if created && !create {
            return Ok(None);
        }
        if created {
            state.whole_step()?;
            state.files.insert(file, SimFile { exists: true, ..SimFile::default() });
        }
        drop(state);
        Ok(Some(Opened { file: Arc::new(Handle { world: self.clone(), file }), created }))
    }

    fn remove(&self, file: ChunkFileId) -> io::Result<()> {
        let mut state = self.state.lock();
        state.whole_step()?;
        if let Some(file) = state.files.get_mut(&file) {
            file.exists = false;
        }
        Ok(())
    }

    fn sync_dirs(&self, file: ChunkFileId) -> io::Result<()> {
        let mut state = self.state.lock();
        state.whole_step()?;
        state.durable_names.push(file);
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.whole_step()?;
        state.files.values_mut().for_each(|file| file.synced = file.content.clone());
        state.durable_names = state.files.iter().filter(|(_, file)| file.exists).map(|(id, _)| *id).collect();
        Ok(())
    }
}

struct Handle {
    world: World,
    file: ChunkFileId,
}

impl Handle {
    fn change(&self, change: impl FnOnce(&mut SimFile)) -> io::Result<()> {
        let mut state = self.world.state.lock();
        state.whole_step()?;
        change(state.files.entry(self.file).or_default());
        Ok(())
    }
}

impl ChunkFile for Handle {
    fn stat(&self) -> io::Result<(u64, u64)> {
        let state = self.world.state.lock();
        if state.crashed {
            return Err(crash_error());
        }
        let len = state.files.get(&self.file).map_or(0, |file| file.content.len() as u64);
        Ok((len, len.div_ceil(512)))
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.world.state.lock();
        if state.crashed {
            return Err(crash_error());
        }
        let (from, to) = (offset as usize, offset as usize + buf.len());
        if state.unreadable.is_some_and(|(file, at)| file == self.file && (from..to).contains(&at)) {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        let content = state.files.get(&self.file).map_or(&[][..], |file| &file.content);
        let rest = content.get(offset as usize..).unwrap_or(&[]);
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }

    fn read_cached(&self, buf: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        self.read_at(buf, offset).map(Some)
    }

    fn is_cached(&self, _offset: u64, _len: usize) -> bool {
        true
    }

    fn is_mostly_cached(&self, _offset: u64, _len: usize) -> bool {
        true
    }

    fn descriptor(&self, _direct: bool) -> Option<BorrowedFd<'_>> {
        None
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = self.world.state.lock();
        let (n, result) = match state.step()? {
            None => (data.len(), Ok(())),
            Some(result) => (data.len().div_ceil(2), result),
        };
        let end = offset as usize + n;
        let content = &mut state.files.entry(self.file).or_default().content;
        if content.len() < end {
            content.resize(end, 0);
        }
        content[offset as usize..end].copy_from_slice(&data[..n]);
        result.map(|()| n)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(|file| file.content.resize(len as usize, 0))
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        self.change(|file| {
            let end = (offset + len).min(file.content.len() as u64) as usize;
            file.content[(offset as usize).min(end)..end].fill(0);
        })
    }

    fn allocate(&self, _offset: u64, _len: u64) -> io::Result<()> {
        self.change(|_| ())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.change(|file| file.synced = file.content.clone())
    }
}

fn poisoned(error: io::Error) -> StoreError {
    StoreError::Poisoned { operation: "write", cause: Arc::new(error) }
}

impl Table for World {
    fn get(&self, key: &[u8]) -> Result<Option<Value>, StoreError> {
        let state = self.state.lock();
        if state.crashed {
            return Err(poisoned(crash_error()));
        }
        let found = state.log.iter().rev().flat_map(|batch| batch.iter().collect::<Vec<_>>().into_iter().rev());
        Ok(found.into_iter().find(|(k, _)| *k == key).and_then(|(_, value)| value.map(Value::from)))
    }

    fn scan(&self, from: Bound<&[u8]>, to: Bound<&[u8]>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        for (key, value) in self.tables().range::<[u8], _>((from, to)) {
            if let ControlFlow::Break(()) = visit(key, value) {
                break;
            }
        }
        Ok(())
    }

    fn apply(&self, batch: &Batch) -> Result<Lsn, StoreError> {
        let mut state = self.state.lock();
        match state.whole_step() {
            Ok(()) => {}
            Err(e) if e.raw_os_error() == Some(libc::ENOSPC) => {
                return Err(StoreError::Full { bytes: 0, location: String::new() });
            }
            Err(e) => return Err(poisoned(e)),
        }
        if !batch.is_empty() {
            state.log.push(batch.clone());
        }
        Ok(Lsn(state.log.len() as u64))
    }

    fn flush(&self) -> Result<Lsn, StoreError> {
        let mut state = self.state.lock();
        match state.whole_step() {
            // A failed flush poisons the real store, which is another test; here only crashes stop it.
            Err(e) if state.crashed => return Err(poisoned(e)),
            _ => {}
        }
        state.written = state.log.len();
        Ok(Lsn(state.written as u64))
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.flush()?;
        let mut state = self.state.lock();
        if let Err(e) = state.whole_step()
            && state.crashed
        {
            return Err(poisoned(e));
        }
        state.durable = state.written;
        Ok(())
    }

    fn durable(&self) -> Lsn {
        Lsn(self.state.lock().durable as u64)
    }

    fn wait_room(&self) {}

    fn may_grow(&self) -> bool {
        !self.state.lock().may_not_grow
    }

    fn has_room(&self) -> bool {
        true
    }
}
