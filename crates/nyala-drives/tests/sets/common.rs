// SPDX-License-Identifier: Apache-2.0

//! Drives on simulated machines that crash together and lose what was not synced each for itself.

use nyala_drives::{Drive, DriveFiles};
use nyala_raid::ObjectId;
use nyala_raid::member::{DriveId, SetId};
use nyala_store::testing::Machine;
use nyala_store::{LogDisk, LogFile, Options, Store};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub const SET: SetId = SetId(0x5e7);

/// A drive's files on a simulated disk. Space is not simulated: what is discarded becomes zeros. A sync takes so many milliseconds.
struct SimFiles(Arc<dyn LogDisk>, Arc<AtomicU64>);

fn name(object: ObjectId) -> String {
    format!("object-{:x}", object.0)
}

impl SimFiles {
    fn file(&self, object: ObjectId) -> io::Result<Option<Arc<dyn LogFile>>> {
        match self.0.open(&name(object)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        }
    }
}

impl DriveFiles for SimFiles {
    fn read(&self, object: ObjectId, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        buffer.fill(0);
        let Some(file) = self.file(object)? else { return Ok(()) };
        let there = file.bytes()?.saturating_sub(offset).min(buffer.len() as u64) as usize;
        if there == 0 { Ok(()) } else { file.read_at(offset, &mut buffer[..there]) }
    }

    fn write(&self, object: ObjectId, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let file = match self.file(object)? {
            Some(file) => file,
            None => self.0.create(&name(object), 0)?,
        };
        file.write_at(offset, bytes)
    }

    fn discard(&self, object: ObjectId, offset: u64, len: Option<u64>) -> io::Result<()> {
        let Some(file) = self.file(object)? else { return Ok(()) };
        if len.is_none() && offset == 0 {
            return self.0.remove(&name(object));
        }
        let end = file.bytes()?.min(len.map_or(u64::MAX, |len| offset + len));
        if end > offset { file.write_at(offset, &vec![0; (end - offset) as usize]) } else { Ok(()) }
    }

    fn sync(&self) -> io::Result<()> {
        // sleeps: a slow disk
        std::thread::sleep(Duration::from_millis(self.1.load(Ordering::Relaxed)));
        for name in self.0.list()? {
            if name.starts_with("object-") {
                match self.0.open(&name) {
                    Ok(file) => file.sync()?,
                    // Removed by another thread meanwhile: these drives have none of their own.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
        }
        self.0.sync_dir()
    }
}

/// A machine has a disk for the files and one for the table: both are the drive's.
#[derive(Clone)]
pub struct SimDrive {
    pub files: Machine,
    pub table: Machine,
    /// How long a sync of its files takes, milliseconds.
    pub sync_ms: Arc<AtomicU64>,
}

impl SimDrive {
    pub fn new(seed: u64) -> SimDrive {
        SimDrive { files: Machine::new(seed), table: Machine::new(seed + 1000), sync_ms: Arc::default() }
    }

    /// The drive, unless it cannot be opened now.
    pub fn open(&self) -> Option<Drive> {
        let options = Options { manual: true, segment_bytes: 1 << 20, ..Options::default() };
        let (table, _) = Store::open_with(self.table.disk(), self.table.ordered(), options).ok()?;
        Some(Drive::new(Arc::new(SimFiles(self.files.disk(), self.sync_ms.clone())), table, "simulated"))
    }

    pub fn points(&self) -> u64 {
        self.files.points() + self.table.points()
    }

    pub fn is_down(&self) -> bool {
        self.files.is_down() || self.table.is_down()
    }

    pub fn power_cut(&self) {
        self.files.power_cut();
        self.table.power_cut();
    }
}

pub fn ids(count: usize) -> Vec<DriveId> {
    (0..count).map(|at| DriveId(at as u128 + 0x100)).collect()
}
