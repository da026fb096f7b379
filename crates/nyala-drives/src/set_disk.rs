// SPDX-License-Identifier: Apache-2.0

//! A part of a set's files as the disk of a store. Failure model: that of [`SetFiles`].

use crate::directory::Entry;
use crate::set_file::SetFile;
use crate::set_files::SetFiles;
use nyala_store::{FreeSpace, LogDisk, LogFile};
use std::io;
use std::sync::Arc;

/// Longest name, bytes.
const MAX_NAME_BYTES: usize = 255;

/// Files of a set whose names begin with `prefix`, which their users do not see.
pub fn set_disk(files: &Arc<SetFiles>, prefix: &str) -> Arc<dyn LogDisk> {
    Arc::new(SetDisk { files: files.clone(), prefix: prefix.to_owned() })
}

struct SetDisk {
    files: Arc<SetFiles>,
    prefix: String,
}

impl SetDisk {
    fn name(&self, name: &str) -> io::Result<String> {
        let whole = format!("{}{name}", self.prefix);
        if name.is_empty() || whole.len() > MAX_NAME_BYTES {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        Ok(whole)
    }

    fn file(&self, name: String, number: u64) -> Arc<dyn LogFile> {
        Arc::new(SetFile { files: self.files.clone(), name, number })
    }
}

impl LogDisk for SetDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.files.names(&self.prefix))
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<Arc<dyn LogFile>> {
        let name = self.name(name)?;
        if self.free_space()?.bytes < bytes {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let number = self.files.change(|list| {
            let number = list.next_object;
            list.next_object += 1;
            let before = list.files.insert(name.clone(), Entry { object: number, bytes });
            list.removed.extend(before.map(|entry| entry.object));
            Ok(number)
        })?;
        Ok(self.file(name, number))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn LogFile>> {
        let name = self.name(name)?;
        let entry = self.files.entry(&name);
        let entry = entry.ok_or(io::ErrorKind::NotFound)?;
        Ok(self.file(name, entry.object))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.name(from)?, self.name(to)?);
        self.files.change(|list| {
            let entry = list.files.remove(&from).ok_or(io::ErrorKind::NotFound)?;
            let before = list.files.insert(to, entry);
            list.removed.extend(before.map(|entry| entry.object));
            Ok(())
        })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let name = self.name(name)?;
        self.files.change(|list| {
            let entry = list.files.remove(&name).ok_or(io::ErrorKind::NotFound)?;
            list.removed.push(entry.object);
            Ok(())
        })
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.files.sync()
    }

    fn free_space(&self) -> io::Result<FreeSpace> {
        let (total_bytes, bytes) = self.files.set().space().unwrap_or((1 << 50, 1 << 50));
        Ok(FreeSpace { bytes, total_bytes, inodes: None })
    }

    fn entropy(&self) -> io::Result<u64> {
        let mut bytes = [0_u8; 8];
        io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn location(&self) -> String {
        format!("{} on drive set {:032x}", self.prefix.trim_end_matches('/'), self.files.set().superblock().set.0)
    }
}
