// SPDX-License-Identifier: Apache-2.0

//! The disks of a machine: one under a service's store, one under a storage target's chunk files.
//!
//! **Failure model.** A process dies: what it wrote is there. Power fails: each disk loses for itself what was not synced, or keeps
//! parts of it. A sync takes time, for a while very much; one fails, and takes with it what it should have synced. Bits flip in chunk files that are
//! synced, and in what a log has behind it. A disk is full: no file is made and none grows.

use crate::check::mirrors::Blocks;
use crate::kernel::clock::{self, MILLI, SECOND};
use crate::kernel::sched::Nanos;
use crate::kernel::with;
use crate::memory;
use crate::random::Random;
use nyala_storage::Disks;
use nyala_storage::chunk_store::{ChunkDisk, ChunkStore, ChunkStoreOptions};
use nyala_storage::testing::Chunks;
use nyala_store::testing::Machine as Disk;
use nyala_store::{FreeSpace, LogDisk, LogFile, Options, Recovery, Store, StoreError};
use nyala_wire::storage::BLOCK_BYTES;
use nyala_wire::walk::WalkAt;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Log segments are small: each is kept in memory several times.
const SEGMENT: u64 = 64 << 10;
/// What is kept for removals on a full disk.
const RESERVE: u64 = 128 << 10;
/// A disk with more than this is not limited.
const MOST_FREE: u64 = 1 << 40;
/// So long after the last sync of a chunk file its flag may be there: as long as it has to be idle at most (`Cluster::lazy`), and what that takes.
const FLAGGED: Nanos = 6 * SECOND;
/// How the names of log segments end.
const SEGMENT_END: &str = ".seg";

/// The disks of one service.
#[derive(Clone)]
pub struct Rack {
    pub store: Disk,
    pub chunks: Disk,
    pace: Arc<Pace>,
    boots: Arc<AtomicU64>,
    unsynced: Unsynced,
}

/// Chunk files that the storage service may take for unsynced, when its machine has died.
type Unsynced = Arc<Mutex<Flagged>>;

/// Chunk files that were written, and since when they are synced, if they are. The service takes a file's flag away when it was idle
/// for a while, and that has to be on the disk of its log.
#[derive(Default)]
struct Flagged {
    files: BTreeMap<String, Option<Nanos>>,
    log_synced: Nanos,
}

impl Flagged {
    /// Files of which the service knows for good that they are synced, are none any more.
    fn settle(&mut self) {
        let long_ago = self.log_synced.saturating_sub(FLAGGED);
        self.files.retain(|_, synced| synced.is_none_or(|at| at >= long_ago));
    }

    /// No flag goes any more before the next run.
    fn power_cut(&mut self) {
        self.settle();
        self.files.values_mut().for_each(|synced| *synced = None);
    }
}

/// How long a sync takes at most, nanoseconds, and what draws it.
struct Pace {
    most: AtomicU64,
    random: Mutex<Random>,
}

impl Rack {
    pub fn new(random: &mut Random) -> Rack {
        let pace = Pace { most: AtomicU64::new(2 * MILLI), random: Mutex::new(random.fork()) };
        let mut disk = || Disk::new(random.bits());
        let (store, chunks) = (disk(), disk());
        Rack { store, chunks, pace: Arc::new(pace), boots: Arc::default(), unsynced: Arc::default() }
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
        // The next run may take what it finds there for a write under way.
        self.unsynced.lock().expect("nobody panics with it").power_cut();
        self.store.power_cut();
        self.chunks.power_cut();
    }

    /// Both disks have so much left; the tables cannot grow either, if so.
    pub fn fill(&self, left: u64, tables: bool) {
        self.store.set_free_bytes(Some(left));
        self.store.set_ordered_full(tables);
        self.chunks.set_free_bytes(Some(left));
    }

    /// There is room again.
    pub fn empty(&self) {
        self.store.set_free_bytes(None);
        self.store.set_ordered_full(false);
        self.chunks.set_free_bytes(None);
    }

    /// Flips a bit of a chunk file that is known to be synced, if there is one: its name and the place. In another one, a power cut could make a
    /// flip pass for the remains of a write under way.
    pub fn flip_chunk(&self, random: &mut Random) -> Option<(String, usize)> {
        let mut unsynced = self.unsynced.lock().expect("nobody panics with it");
        unsynced.settle();
        let files = self.chunks.files().into_iter();
        let files = files.filter(|(name, bytes)| *bytes > 0 && !unsynced.files.contains_key(name)).collect();
        drop(unsynced);
        let (name, bytes) = random.pick_of(files)?;
        let offset = random.index(bytes);
        flip(&self.chunks, &name, offset, random)?;
        Some((name, offset))
    }

    /// Flips a bit of a log that others follow in the log: its file, its place, and the byte as it was. No process uses it.
    pub fn flip_log(&self, random: &mut Random) -> Option<(String, usize, u8)> {
        let mut segments: Vec<_> =
            self.store.files().into_iter().filter(|(name, _)| name.ends_with(SEGMENT_END)).collect();
        // By number. The end of the last one may be cut for what it is: something that was not synced.
        segments.pop();
        let (name, _) = random.pick_of(segments)?;
        let used = self.store.read(&name)?.iter().rposition(|byte| *byte != 0)? + 1;
        let offset = random.index(used);
        let was = flip(&self.store, &name, offset, random)?;
        Some((name, offset, was))
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

    fn paced(&self, disk: &Disk, unsynced: &Unsynced) -> Arc<dyn LogDisk> {
        let (pace, unsynced) = (self.pace.clone(), unsynced.clone());
        Arc::new(PacedDisk { inner: disk.disk(), disk: disk.clone(), pace, unsynced })
    }

    /// Opens the service's store.
    pub fn open_store(&self, options: Options) -> Result<(Store, Recovery), StoreError> {
        let options = Options { segment_bytes: SEGMENT, reserve_bytes: RESERVE, ..options };
        Store::open_with(self.paced(&self.store, &self.unsynced), self.store.ordered(), options)
    }

    /// The blocks (file and offset) that a storage target on these disks has data of, by its own account. No process uses them.
    pub fn blocks(&self) -> Result<Blocks, String> {
        let (kv, _) = self.open_store(Options::default()).map_err(|error| error.to_string())?;
        let disk = self.chunks(Path::new("")).map_err(|error| error.to_string())?;
        let boot_id = self.boot_id(Path::new("")).map_err(|error| error.to_string())?;
        let options = ChunkStoreOptions { label: "compared".into(), boot_id, limit_bytes: None };
        let store = ChunkStore::open(Arc::new(kv), disk, &options).map_err(|error| error.to_string())?;
        let (mut worker, mut found) = (store.worker(0, 1), Blocks::default());
        for at in worker.pieces_from(WalkAt::default(), usize::MAX).map_err(|error| error.to_string())? {
            let Some(piece) = worker.piece(at, true).map_err(|error| error.to_string())? else { continue };
            let name = format!("{}.{}", at.file.inode, at.file.index);
            let of = |bits: u64| (0..u64::from(u64::BITS)).filter(move |block| bits >> block & 1 == 1);
            let place = |block: u64| (name.clone(), at.offset + block * BLOCK_BYTES);
            found.present.extend(of(piece.present).map(place));
            found.bad.extend(of(piece.bad).map(place));
        }
        Ok(found)
    }
}

impl Disks for Rack {
    fn store(&self, _dir: &Path, options: Options) -> Result<(Store, Recovery), StoreError> {
        self.open_store(options)
    }

    fn chunks(&self, _dir: &Path) -> io::Result<Arc<dyn ChunkDisk>> {
        Ok(Arc::new(Chunks::new(self.paced(&self.chunks, &self.unsynced))))
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

/// Flips a bit of a byte, and says what the byte was.
fn flip(disk: &Disk, name: &str, offset: usize, random: &mut Random) -> Option<u8> {
    let was = *disk.read(name)?.get(offset)?;
    disk.patch(name, offset, &[was ^ 1 << random.below(8)]);
    Some(was)
}

struct PacedDisk {
    inner: Arc<dyn LogDisk>,
    disk: Disk,
    pace: Arc<Pace>,
    unsynced: Unsynced,
}

struct PacedFile {
    name: String,
    inner: Arc<dyn LogFile>,
    disk: Disk,
    pace: Arc<Pace>,
    unsynced: Unsynced,
}

impl PacedDisk {
    fn file(&self, name: &str, inner: Arc<dyn LogFile>) -> Arc<dyn LogFile> {
        let (disk, pace, unsynced) = (self.disk.clone(), self.pace.clone(), self.unsynced.clone());
        Arc::new(PacedFile { name: name.to_owned(), inner, disk, pace, unsynced })
    }
}

impl LogDisk for PacedDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<Arc<dyn LogFile>> {
        memory::as_world(|| self.inner.create(name, bytes)).map(|file| self.file(name, file))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn LogFile>> {
        self.inner.open(name).map(|file| self.file(name, file))
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

    fn location(&self) -> String {
        self.inner.location()
    }
}

impl PacedFile {
    /// A file that grows takes what is free, if that is limited.
    fn take_room(&self, end: u64) -> io::Result<()> {
        let grows = end.saturating_sub(self.inner.bytes()?);
        let free = self.disk.disk().free_space()?.bytes;
        if grows == 0 || free > MOST_FREE {
            return Ok(());
        }
        let full = || io::Error::from_raw_os_error(libc::ENOSPC);
        let left = free.checked_sub(grows).ok_or_else(full)?;
        self.disk.set_free_bytes(Some(left));
        Ok(())
    }
}

impl LogFile for PacedFile {
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        // Others may run between two writes, and the power may fail.
        clock::sleep(1);
        self.take_room(offset + data.len() as u64)?;
        self.unsynced.lock().expect("nobody panics with it").files.insert(self.name.clone(), None);
        memory::as_world(|| self.inner.write_at(offset, data))
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
        memory::as_world(|| self.inner.allocate(bytes))
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.unsynced.lock().expect("nobody panics with it").files.insert(self.name.clone(), None);
        memory::as_world(|| self.inner.truncate(bytes))
    }

    fn sync(&self) -> io::Result<()> {
        let began = with(|kernel| kernel.sched.now);
        self.pace.sync();
        memory::as_world(|| self.inner.sync())?;
        let mut unsynced = self.unsynced.lock().expect("nobody panics with it");
        if self.name.ends_with(SEGMENT_END) {
            unsynced.log_synced = unsynced.log_synced.max(began);
        } else if let Some(synced) = unsynced.files.get_mut(&self.name) {
            *synced = Some(began);
        }
        Ok(())
    }
}
