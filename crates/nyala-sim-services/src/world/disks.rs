// SPDX-License-Identifier: Apache-2.0

//! The disks of a machine: one under a service's store, one under a storage target's chunk files.
//!
//! **Failure model.** A process dies: what it wrote is there. Power fails: each disk loses for itself what was not synced, or keeps
//! parts of it. A sync takes time, for a while very much; one fails, and takes with it what it should have synced.

use crate::check::mirrors::Blocks;
use crate::kernel::clock::{self, MILLI};
use crate::random::Random;
use nyala_storage::Disks;
use nyala_storage::chunk_store::{ChunkDisk, ChunkStore, ChunkStoreOptions};
use nyala_storage::testing::Chunks;
use nyala_store::testing::Machine as Disk;
use nyala_store::{FreeSpace, LogDisk, LogFile, Options, Recovery, Store, StoreError};
use nyala_wire::storage::BLOCK_BYTES;
use nyala_wire::walk::WalkAt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Log segments are small: each is kept in memory several times.
const SEGMENT: u64 = 64 << 10;

/// The disks of one service.
#[derive(Clone)]
pub struct Rack {
    pub store: Disk,
    pub chunks: Disk,
    pace: Arc<Pace>,
    boots: Arc<AtomicU64>,
}

/// How long a sync takes at most, nanoseconds, and what draws it.
struct Pace {
    most: AtomicU64,
    random: std::sync::Mutex<Random>,
}

impl Rack {
    pub fn new(random: &mut Random) -> Rack {
        let pace = Pace { most: AtomicU64::new(2 * MILLI), random: std::sync::Mutex::new(random.fork()) };
        let mut disk = || Disk::new(random.bits());
        Rack { store: disk(), chunks: disk(), pace: Arc::new(pace), boots: Arc::default() }
    }

    /// A sync takes so long at most.
    pub fn set_pace(&self, most: u64) {
        self.pace.most.store(most, Ordering::Relaxed);
    }

    /// The process is gone, and with it the right to use what it had open.
    pub fn process_ended(&self) {
        self.store.process_crash();
        self.chunks.process_crash();
    }

    /// The power is gone.
    pub fn power_cut(&self) {
        self.boots.fetch_add(1, Ordering::Relaxed);
        self.store.power_cut();
        self.chunks.power_cut();
    }

    /// One of the next changes of one of the disks fails.
    pub fn fail_soon(&self, random: &mut Random) {
        let disk = if random.one_in(2) { &self.store } else { &self.chunks };
        disk.fail_at(disk.points() + random.below(20));
    }

    /// Nothing fails any more.
    pub fn fail_not(&self) {
        self.store.fail_at(u64::MAX);
        self.chunks.fail_at(u64::MAX);
    }

    fn paced(&self, disk: &Disk) -> Arc<dyn LogDisk> {
        Arc::new(PacedDisk { inner: disk.disk(), pace: self.pace.clone() })
    }

    /// Opens the service's store.
    pub fn open_store(&self, options: Options) -> Result<(Store, Recovery), StoreError> {
        let options = Options { segment_bytes: SEGMENT, reserve_bytes: 0, ..options };
        Store::open_with(self.paced(&self.store), self.store.ordered(), options)
    }

    /// The blocks (file and offset) that a storage target on these disks has data of, by its own account. No process uses them.
    pub fn blocks(&self) -> Result<Blocks, String> {
        let (kv, _) = self.open_store(Options::default()).map_err(|error| error.to_string())?;
        let disk = self.chunks(Path::new("")).map_err(|error| error.to_string())?;
        let boot_id = self.boot_id(Path::new("")).map_err(|error| error.to_string())?;
        let options = ChunkStoreOptions { label: "compared".into(), boot_id, limit_bytes: None };
        let store = ChunkStore::open(Arc::new(kv), disk, &options).map_err(|error| error.to_string())?;
        let (mut worker, mut found) = (store.worker(0, 1), Blocks::new());
        for at in worker.pieces_from(WalkAt::default(), usize::MAX).map_err(|error| error.to_string())? {
            let piece = worker.piece(at, false).map_err(|error| error.to_string())?;
            let present = piece.map_or(0, |piece| piece.present);
            let there = (0..u64::from(u64::BITS)).filter(|block| present >> block & 1 == 1);
            let name = format!("{}.{}", at.file.inode, at.file.index);
            found.extend(there.map(|block| (name.clone(), at.offset + block * BLOCK_BYTES)));
        }
        Ok(found)
    }
}

impl Disks for Rack {
    fn store(&self, _dir: &Path, options: Options) -> Result<(Store, Recovery), StoreError> {
        self.open_store(options)
    }

    fn chunks(&self, _dir: &Path) -> io::Result<Arc<dyn ChunkDisk>> {
        Ok(Arc::new(Chunks::new(self.paced(&self.chunks))))
    }

    fn boot_id(&self, _dir: &Path) -> io::Result<String> {
        Ok(self.boots.load(Ordering::Relaxed).to_string())
    }
}

impl Pace {
    fn sync(&self) {
        let most = self.most.load(Ordering::Relaxed);
        let time = self.random.lock().expect("nobody panics with it").below(most.max(1));
        clock::sleep(time);
    }
}

struct PacedDisk {
    inner: Arc<dyn LogDisk>,
    pace: Arc<Pace>,
}

struct PacedFile {
    inner: Arc<dyn LogFile>,
    pace: Arc<Pace>,
}

impl PacedDisk {
    fn file(&self, inner: Arc<dyn LogFile>) -> Arc<dyn LogFile> {
        Arc::new(PacedFile { inner, pace: self.pace.clone() })
    }
}

impl LogDisk for PacedDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<Arc<dyn LogFile>> {
        self.inner.create(name, bytes).map(|file| self.file(file))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn LogFile>> {
        self.inner.open(name).map(|file| self.file(file))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.pace.sync();
        self.inner.sync_dir()
    }

    fn free_space(&self) -> io::Result<FreeSpace> {
        self.inner.free_space()
    }

    fn entropy(&self) -> io::Result<u64> {
        self.inner.entropy()
    }

    fn place(&self) -> String {
        self.inner.place()
    }
}

impl LogFile for PacedFile {
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        // Others may run between two writes, and the power may fail.
        clock::sleep(1);
        self.inner.write_at(offset, data)
    }

    fn read_all(&self) -> io::Result<Vec<u8>> {
        self.inner.read_all()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.inner.read_at(offset, buffer)
    }

    fn bytes(&self) -> io::Result<u64> {
        self.inner.bytes()
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        self.inner.allocate(bytes)
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.inner.truncate(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.pace.sync();
        self.inner.sync()
    }
}
