// SPDX-License-Identifier: Apache-2.0

//! A file of a store that lies on a set. Failure model: that of [`SetFiles`].

use crate::directory::{Entry, object};
use crate::set_files::{SetFiles, failed, find};
use nyala_store::LogFile;
use std::io;
use std::sync::Arc;

pub(crate) struct SetFile {
    pub files: Arc<SetFiles>,
    pub name: String,
    pub number: u64,
}

impl SetFile {
    fn set_bytes(&self, new: impl Fn(u64) -> u64) -> io::Result<()> {
        self.files.change(|list| {
            let (name, bytes) = find(list, &self.name, self.number).ok_or(io::ErrorKind::NotFound)?;
            list.files.insert(name, Entry { object: self.number, bytes: new(bytes) });
            Ok(())
        })
    }
}

impl LogFile for SetFile {
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let end = offset.checked_add(data.len() as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        self.files.set().write(object(self.number), offset, data).map_err(failed)?;
        if end > self.bytes()? { self.set_bytes(|bytes| bytes.max(end)) } else { Ok(()) }
    }

    fn read_all(&self) -> io::Result<Vec<u8>> {
        let bytes = self.bytes()?;
        self.files.set().read(object(self.number), 0..bytes).map_err(failed)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buffer.len() as u64).filter(|end| self.bytes().is_ok_and(|bytes| *end <= bytes));
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(&self.files.set().read(object(self.number), offset..end).map_err(failed)?);
        Ok(())
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.files.bytes(&self.name, self.number).ok_or(io::ErrorKind::NotFound)?)
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        let more = bytes.saturating_sub(self.bytes()?);
        if more == 0 {
            return Ok(());
        }
        if self.files.set().space().is_some_and(|(_, free)| free < more) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.set_bytes(|before| before.max(bytes))
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        let before = self.bytes()?;
        if bytes < before {
            // First of all: what was cut must not be there when the file is longer again.
            self.files.set().clear(object(self.number), bytes, before).map_err(failed)?;
        }
        self.set_bytes(|_| bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.files.sync()
    }
}
