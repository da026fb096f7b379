// SPDX-License-Identifier: Apache-2.0

//! Files for sorted facts, which have no name and go with the process.

use nyala_fsck::sort::{Scratch, ScratchFile};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A directory for such files.
#[derive(Clone, Debug)]
pub struct TempFiles {
    dir: PathBuf,
    made: u64,
}

impl TempFiles {
    /// In this directory.
    pub fn of(dir: &Path) -> TempFiles {
        TempFiles { dir: dir.to_owned(), made: 0 }
    }

    fn make(&mut self) -> io::Result<File> {
        loop {
            self.made += 1;
            let path = self.dir.join(format!(".nyala-fsck-{}-{}", std::process::id(), self.made));
            match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => return std::fs::remove_file(&path).map(|()| file),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(io::Error::new(error.kind(), format!("{}: {error}", self.dir.display())));
                }
            }
        }
    }
}

impl Scratch for TempFiles {
    fn file(&mut self) -> io::Result<Box<dyn ScratchFile>> {
        Ok(Box::new(self.make()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};

    #[test]
    fn files_leave_nothing_behind_and_are_apart() {
        let dir = tempfile::tempdir().unwrap();
        let (mut files, mut others) = (TempFiles::of(dir.path()), TempFiles::of(dir.path()));
        let mut all: Vec<_> = (0..3).map(|_| [files.file().unwrap(), others.file().unwrap()]).collect();
        for (n, file) in (0..).zip(all.iter_mut().flatten()) {
            file.write_all(&[n]).unwrap();
        }
        for (n, file) in (0..).zip(all.iter_mut().flatten()) {
            let mut byte = [9];
            file.rewind().unwrap();
            file.read_exact(&mut byte).unwrap();
            assert_eq!(byte, [n]);
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let error = TempFiles::of(Path::new("/nowhere")).file().err().unwrap();
        assert!(error.to_string().contains("/nowhere"), "{error}");
    }
}
