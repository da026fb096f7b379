// SPDX-License-Identifier: Apache-2.0

//! The files of a run, and what belongs into them.
//!
//! **Failure model.** A disk may be full, fail or lie: an error names the file, and what is read is compared with the checksums of what was
//! written, which are kept in memory. The directory is this process's own, made new and removed when it is dropped; a process that is killed leaves it behind, under a name that says so.

use super::error::FloorError;
use super::file::StoredFile;
use super::message::{CHECKED_BYTES, Location, number};
use nyala_wire::checksum::crc32c;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Tells directories of one process apart.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A directory of the run's own; removed with all that is in it when dropped.
#[derive(Debug)]
pub struct Directory(PathBuf);

impl Directory {
    /// Makes it below `work`.
    pub fn make(work: &Path) -> Result<Directory, FloorError> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = work.join(format!("nyala-floor.{}.{number}", std::process::id()));
        // Not one that exists: it is removed in the end.
        std::fs::create_dir(&path).map_err(FloorError::at("cannot make", &path))?;
        Ok(Directory(path))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("nyala bench: cannot remove {}: {error}", self.0.display());
        }
    }
}

/// The files of one connection.
pub struct Store {
    files: Vec<Checked>,
}

/// A file and what belongs into it.
struct Checked {
    path: PathBuf,
    file: StoredFile,
    /// Of each block of [`CHECKED_BYTES`], in their order.
    crcs: Vec<u32>,
}

impl Store {
    /// Makes empty files for so many bytes each.
    pub fn make(directory: &Directory, connection: usize, files: usize, bytes: u64) -> Result<Store, FloorError> {
        let make = |number| {
            let path = directory.0.join(format!("{connection}.{number}"));
            let file = StoredFile::make(&path).map_err(FloorError::at("cannot make", &path))?;
            let crcs = vec![0; (bytes / CHECKED_BYTES as u64) as usize];
            Ok(Checked { path, file, crcs })
        };
        Ok(Store { files: (0..files).map(make).collect::<Result<_, FloorError>>()? })
    }

    /// Checks what arrived and writes it; `crcs` has four bytes for each block.
    pub fn write(&mut self, at: Location, crcs: &[u8], data: &[u8]) -> Result<(), FloorError> {
        let one = find(&mut self.files, at, data.len())?;
        let first = (at.offset / CHECKED_BYTES as u64) as usize;
        let kept = one.crcs[first..].iter_mut();
        for ((n, piece), kept) in data.chunks_exact(CHECKED_BYTES).enumerate().zip(kept) {
            *kept = number(crcs, n * size_of::<u32>());
            if crc32c(piece) != *kept {
                let offset = at.offset + (n * CHECKED_BYTES) as u64;
                return Err(FloorError::DamagedOnTheWay { file: at.file, offset });
            }
        }
        let written = one.file.write_all(data, at.offset);
        written.map_err(FloorError::at("cannot write", &one.path))
    }

    /// Reads, compares with what was written, and gives the checksums.
    pub fn read(&mut self, at: Location, crcs: &mut [u8], data: &mut [u8]) -> Result<(), FloorError> {
        let one = find(&mut self.files, at, data.len())?;
        let read = one.file.read_all(data, at.offset);
        read.map_err(FloorError::at("cannot read", &one.path))?;
        let first = (at.offset / CHECKED_BYTES as u64) as usize;
        let pieces = data.chunks_exact(CHECKED_BYTES).zip(crcs.chunks_exact_mut(size_of::<u32>()));
        for ((n, (piece, crc)), kept) in pieces.enumerate().zip(&one.crcs[first..]) {
            if crc32c(piece) != *kept {
                let offset = at.offset + (n * CHECKED_BYTES) as u64;
                return Err(FloorError::DamagedInFile { path: one.path.clone(), offset });
            }
            crc.copy_from_slice(&kept.to_le_bytes());
        }
        Ok(())
    }

    /// Waits until all of it is on the disk.
    pub fn sync(&self) -> Result<(), FloorError> {
        self.files.iter().try_for_each(|one| one.file.sync().map_err(FloorError::at("cannot sync", &one.path)))
    }

    /// Whether large transfers go past the page cache, as far as the file system has said.
    pub fn is_direct(&self) -> bool {
        self.files.iter().all(|one| one.file.is_direct())
    }
}

/// The file that a message names, if it has so many bytes at this place.
fn find(files: &mut [Checked], at: Location, len: usize) -> Result<&mut Checked, FloorError> {
    let blocks = |bytes: u64| bytes / CHECKED_BYTES as u64;
    let inside = |one: &&mut Checked| {
        let end = at.offset.checked_add(len as u64).map(blocks);
        at.offset.is_multiple_of(CHECKED_BYTES as u64) && end.is_some_and(|end| end <= one.crcs.len() as u64)
    };
    let unexpected = FloorError::Unexpected { file: at.file as u32, offset: at.offset };
    files.get_mut(at.file).filter(inside).ok_or(unexpected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    fn crcs(data: &[u8]) -> Vec<u8> {
        data.chunks(CHECKED_BYTES).flat_map(|piece| crc32c(piece).to_le_bytes()).collect()
    }

    #[test]
    fn what_was_written_is_read_and_a_changed_byte_is_an_error() {
        let work = tempfile::tempdir().unwrap();
        let directory = Directory::make(work.path()).unwrap();
        let mut store = Store::make(&directory, 0, 2, 128 << 10).unwrap();
        let data: Vec<u8> = (0..128 << 10_u32).map(|at| (at * 7 % 251) as u8).collect();
        let at = Location { file: 1, offset: 0 };
        store.write(at, &crcs(&data), &data).unwrap();
        store.sync().unwrap();
        let path = directory.0.join("0.1");
        assert_eq!(std::fs::read(&path).unwrap(), data);
        let (mut sums, mut got) = (vec![0; 128], vec![0; 128 << 10]);
        store.read(at, &mut sums, &mut got).unwrap();
        assert!(got == data && sums == crcs(&data));

        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.write_all_at(&[data[70_000] ^ 1], 70_000).unwrap();
        let error = store.read(at, &mut sums, &mut got).unwrap_err();
        assert!(matches!(error, FloorError::DamagedInFile { offset: 69_632, .. }), "{error}");
        file.set_len(100_000).unwrap();
        assert!(matches!(
            store.read(Location { file: 1, offset: 98_304 }, &mut sums, &mut got[..4096]),
            Err(FloorError::Io { .. })
        ));
        drop((store, directory));
        assert_eq!(std::fs::read_dir(work.path()).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn what_arrives_damaged_or_has_no_place_is_refused() {
        let work = tempfile::tempdir().unwrap();
        let directory = Directory::make(work.path()).unwrap();
        let mut store = Store::make(&directory, 0, 1, 8192).unwrap();
        let data = vec![3; 8192];
        let mut sums = crcs(&data);
        sums[4] ^= 1;
        let error = store.write(Location { file: 0, offset: 0 }, &sums, &data).unwrap_err();
        assert!(matches!(error, FloorError::DamagedOnTheWay { file: 0, offset: 4096 }), "{error}");
        assert_eq!(std::fs::metadata(directory.0.join("0.0")).unwrap().len(), 0, "nothing of it was written");
        for (file, offset) in [(1, 0), (0, 4096), (0, 1), (0, u64::MAX - 4095)] {
            let at = Location { file, offset };
            let refused = store.write(at, &crcs(&data), &data);
            assert!(matches!(refused, Err(FloorError::Unexpected { .. })), "{at:?}");
            assert!(
                matches!(store.read(at, &mut sums, &mut vec![0; 8192]), Err(FloorError::Unexpected { .. })),
                "{at:?}"
            );
        }
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let error = Directory::make(Path::new("/proc/none")).unwrap_err();
        assert!(error.to_string().contains("/proc/none/nyala-floor"), "{error}");
    }
}
