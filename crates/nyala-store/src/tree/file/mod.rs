// SPDX-License-Identifier: Apache-2.0

//! The file of the tree: pages by number, checked when they are read; growing.
//!
//! # Failure model
//! - What is read is compared with the checksum that whoever points to it has: what was torn, lost, misdirected or flipped,
//!   or is older, is an error with file and offset. So is a file that is too short.
//! - Writes are late until [`PageFile::sync`] and may be torn or lost before it. Nothing is tried again here.
//! - Out of space, by the file system or by the limit, is an error of its own kind, in growing, writing and syncing. The
//!   file is then as long as it was.

mod header;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::cell::{Large, Pointer};
use super::page::PAGE_BYTES;
use super::root::FreeList;
use crate::StoreError;
use crate::error::is_out_of_space;
use crate::log::disk::LogFile;
use nyala_wire::checksum::crc32c;

/// The file grows by at least this, and by a part of what it has.
const GROWTH_BYTES: u64 = 256 << 10;

/// An open file of pages.
pub(super) struct PageFile {
    file: Arc<dyn LogFile>,
    path: String,
    max_bytes: u64,
    /// Size that is allocated. Changes only under the writer's lock.
    bytes: AtomicU64,
    /// There was no room for the reserve when it was last tried.
    lacks_reserve: AtomicBool,
}

fn offset(page: u64) -> u64 {
    page.saturating_mul(PAGE_BYTES as u64)
}

impl PageFile {
    /// Damage at a page.
    pub(super) fn damaged(&self, page: u64, reason: &str) -> StoreError {
        StoreError::TableDamaged { file: self.path.clone(), offset: offset(page), reason: reason.to_owned() }
    }

    /// Fills `buffer` from a page on, and checks it.
    fn read(&self, page: u64, crc: u32, buffer: &mut [u8]) -> Result<(), StoreError> {
        self.file.read_at(offset(page), buffer).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => self.damaged(page, "the file ends before it does"),
            _ => StoreError::io("read", &self.path, error),
        })?;
        if crc32c(buffer) != crc {
            return Err(self.damaged(page, "it does not match its checksum"));
        }
        Ok(())
    }

    /// A page, as its pointer vouches for it; what is in it is not looked at.
    pub(super) fn read_page(&self, pointer: Pointer) -> Result<Box<[u8; PAGE_BYTES]>, StoreError> {
        let mut bytes = Box::new([0; PAGE_BYTES]);
        self.read(pointer.page, pointer.crc, &mut bytes[..])?;
        Ok(bytes)
    }

    /// A value that has pages of its own.
    pub(super) fn read_large(&self, large: Large) -> Result<Vec<u8>, StoreError> {
        if offset(large.page).saturating_add(u64::from(large.bytes)) > self.bytes.load(Ordering::Relaxed) {
            return Err(self.damaged(large.page, "the file ends before it does"));
        }
        let mut bytes = vec![0; large.bytes as usize];
        self.read(large.page, large.crc, &mut bytes)?;
        Ok(bytes)
    }

    /// The encoded list of free pages.
    pub(super) fn read_list(&self, list: FreeList) -> Result<Vec<u8>, StoreError> {
        if list.bytes == 0 {
            return Ok(Vec::new());
        }
        self.read_large(Large { page: list.page, bytes: list.bytes, crc: list.crc })
    }

    /// Allocates up to and including page `end` - 1.
    pub(super) fn grow(&self, end: u64) -> Result<(), StoreError> {
        let (has, needs) = (self.bytes.load(Ordering::Relaxed), offset(end));
        if needs <= has {
            return Ok(());
        }
        let full = |reason: String| StoreError::OrderedFull { store: self.path.clone(), reason };
        if needs > self.max_bytes {
            return Err(full(format!("it may have {} bytes", self.max_bytes)));
        }
        let step = (has / 16).clamp(GROWTH_BYTES, 64 << 20);
        let wanted = needs.max(has.saturating_add(step)).min(self.max_bytes);
        // Where there is no room for more than what is needed now, that will do.
        let grown = self.file.allocate(wanted).map(|()| wanted).or_else(|error| match is_out_of_space(&error) {
            true => self.file.allocate(needs).map(|()| needs),
            false => Err(error),
        });
        let grown = grown.map_err(|error| match is_out_of_space(&error) {
            true => full(error.to_string()),
            false => StoreError::io("grow", &self.path, error),
        })?;
        self.bytes.store(grown, Ordering::Relaxed);
        Ok(())
    }

    /// Allocates `bytes` behind page `end`, so that the next commits find room on a full disk. Where there is none now, it is
    /// tried again after the next commit.
    pub(super) fn reserve(&self, end: u64, bytes: u64) {
        let (has, wanted) = (self.bytes.load(Ordering::Relaxed), offset(end).saturating_add(bytes).min(self.max_bytes));
        if wanted <= has {
            return;
        }
        let made = self.file.allocate(wanted);
        // Said once: it is tried after each commit, and on a full disk there are many.
        let was_said = self.lacks_reserve.swap(made.is_err(), Ordering::Relaxed);
        match made {
            Ok(()) => self.bytes.store(wanted, Ordering::Relaxed),
            Err(_) if was_said => {}
            Err(error) => tracing::warn!(file = self.path, %error, "no space for the reserve that checkpoints need"),
        }
    }

    /// Bytes that are allocated from a page on.
    pub(super) fn bytes_behind(&self, end: u64) -> u64 {
        self.bytes.load(Ordering::Relaxed).saturating_sub(offset(end))
    }

    /// Writes from a page on.
    pub(super) fn write(&self, page: u64, bytes: &[u8]) -> Result<(), StoreError> {
        // Also where space is allocated a file system may run out of it, if it never writes over what it has.
        self.file.write_at(offset(page), bytes).map_err(|error| match is_out_of_space(&error) {
            true => StoreError::OrderedFull { store: self.path.clone(), reason: error.to_string() },
            false => StoreError::io("write", &self.path, error),
        })
    }

    /// Makes durable what was written.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        self.file.sync().map_err(|error| match is_out_of_space(&error) {
            true => StoreError::OrderedFull { store: self.path.clone(), reason: error.to_string() },
            false => StoreError::io("sync", &self.path, error),
        })
    }
}
