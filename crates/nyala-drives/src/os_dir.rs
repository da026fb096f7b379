// SPDX-License-Identifier: Apache-2.0

//! A directory on a file system of this machine that may become a drive, or be one no more. Failure model: see [`crate::claim`] and [`crate::deletion`].

use crate::claim::{MAX_BYTES, OBJECTS, SpareDir, TABLE};
use crate::drive::Drive;
use crate::files::path_of;
use nyala_raid::{Effect, ObjectId, Reply, key};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Opening does not wait for anybody.
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits() as i32;

pub(crate) struct OsDir<'a>(pub &'a Path);

/// What is not there is as good as removed.
fn unless_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Whether strips of an object lie in a file of this name, in a directory of that one.
fn is_strips(dir: &OsStr, file: &OsStr) -> bool {
    let Some((dir, file)) = dir.to_str().zip(file.to_str()) else { return false };
    let object = u128::from_str_radix(file, 16).ok();
    object.is_some_and(|object| path_of(ObjectId(object)) == format!("{dir}/{file}"))
}

impl SpareDir for OsDir<'_> {
    fn names(&self) -> io::Result<Vec<String>> {
        fs::read_dir(self.0)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        // Without waiting: somebody may have put a pipe there.
        let mut options = OpenOptions::new();
        let file = match options.read(true).custom_flags(NONBLOCK).open(self.0.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let strange = |what: String| Err(io::Error::new(io::ErrorKind::InvalidData, format!("{name} there {what}")));
        if !file.metadata()?.is_file() {
            return strange("is no file".to_owned());
        }
        let mut content = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut content)?;
        if content.len() as u64 > MAX_BYTES {
            return strange(format!("has more than {MAX_BYTES} bytes: it is damaged, or not of a set"));
        }
        Ok(Some(content))
    }

    fn put(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(self.0.join(name))?;
        file.write_all(content)?;
        file.sync_all()
    }

    fn link(&self, from: &str, to: &str) -> io::Result<()> {
        fs::hard_link(self.0.join(from), self.0.join(to))
    }

    fn make_dir(&self, name: &str) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(self.0.join(name))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        unless_missing(fs::remove_file(self.0.join(name)))
    }

    fn remove_dir(&self, name: &str) -> io::Result<()> {
        // Empty ones of strips may be in it. One that has a strip stays, whoever looked before.
        let dir = self.0.join(name);
        match fs::read_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?.try_for_each(|entry| fs::remove_dir(entry?.path()))?,
        }
        unless_missing(fs::remove_dir(dir))
    }

    fn remove_strips(&self) -> io::Result<()> {
        let dirs = match fs::read_dir(self.0.join(OBJECTS)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            dirs => dirs?,
        };
        for dir in dirs {
            let dir = dir?;
            if !dir.file_type()?.is_dir() {
                continue;
            }
            for file in fs::read_dir(dir.path())? {
                let file = file?;
                if file.file_type()?.is_file() && is_strips(&dir.file_name(), &file.file_name()) {
                    unless_missing(fs::remove_file(file.path()))?;
                }
            }
        }
        Ok(())
    }

    fn remove_tree(&self, name: &str) -> io::Result<()> {
        unless_missing(fs::remove_dir_all(self.0.join(name)))
    }

    fn sync(&self) -> io::Result<()> {
        File::open(self.0)?.sync_all()
    }

    fn has_strips(&self) -> io::Result<bool> {
        for dir in fs::read_dir(self.0.join(OBJECTS))? {
            if fs::read_dir(dir?.path())?.next().is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has_superblock(&self) -> io::Result<bool> {
        if fs::read_dir(self.0.join(TABLE))?.next().is_none() {
            return Ok(false);
        }
        let drive = Drive::open(self.0, false).map_err(io::Error::other)?;
        match drive.run(Effect::Get { member: 0, key: key::SUPERBLOCK.to_vec() }) {
            Reply::Value(value) => Ok(value.is_some()),
            _ => Err(io::Error::other("its table cannot be read")),
        }
    }
}
