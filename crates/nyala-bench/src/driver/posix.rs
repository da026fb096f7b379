// SPDX-License-Identifier: Apache-2.0

//! Ordinary system calls below a directory: a mount, or a local file system to compare with.
//!
//! **Failure model.** Any call can fail, or (through a mount whose cluster is away) take as long as the mount retries. A
//! failed call ends the phase with its path in the message. Where the file system has no direct I/O, the page cache is
//! used and the report says so.

use super::{Content, Done, Mode, Result, Site, Task, compare};
use crate::plan::{Entry, Op, Step};
use nyala_transport::aligned::Aligned;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

/// A directory below which workloads run.
pub struct Posix {
    base: PathBuf,
    dirs: RwLock<Arc<Vec<PathBuf>>>,
}

impl Posix {
    /// Below `base`, which is made and removed.
    pub fn new(base: PathBuf) -> Posix {
        Posix { base, dirs: RwLock::default() }
    }
}

fn at<T>(result: std::io::Result<T>, what: &str, path: &Path) -> Result<T> {
    result.map_err(|error| format!("{what} {}: {error}", path.display()))
}

impl Site for Posix {
    type Task = PosixTask;

    async fn prepare(&self, dirs: &[String]) -> Result<()> {
        let paths: Vec<PathBuf> = dirs.iter().map(|dir| self.base.join(dir)).collect();
        for path in &paths {
            at(fs::create_dir_all(path), "cannot make", path)?;
        }
        *self.dirs.write().expect("nobody panics while holding it") = Arc::new(paths);
        Ok(())
    }

    async fn clean_up(&self) -> Result<()> {
        match fs::remove_dir_all(&self.base) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            result => at(result, "cannot remove", &self.base),
        }
    }

    fn task(&self, content: Content) -> PosixTask {
        let dirs = self.dirs.read().expect("nobody panics while holding it").clone();
        PosixTask { dirs, content, file: None, buffer: Aligned::default() }
    }
}

/// A thread's share.
pub struct PosixTask {
    dirs: Arc<Vec<PathBuf>>,
    content: Content,
    file: Option<(File, PathBuf, bool)>,
    buffer: Aligned,
}

/// The first bytes of the buffer, which is made large enough.
fn aligned(buffer: &mut Aligned, bytes: usize) -> &mut [u8] {
    if buffer.len() < bytes {
        *buffer = Aligned::new(bytes);
    }
    &mut buffer[..bytes]
}

impl PosixTask {
    fn path(&self, entry: &Entry) -> PathBuf {
        self.dirs[entry.dir].join(&entry.name)
    }

    fn name(&mut self, step: Step, path: &Path, bytes: usize, key: u64) -> Result<Done> {
        let create = || OpenOptions::new().write(true).create_new(true).open(path);
        match step {
            Step::Create => drop(at(create(), "cannot create", path)?),
            Step::Stat => at(fs::symlink_metadata(path), "cannot stat", path).map(|_| ())?,
            Step::Unlink => at(fs::remove_file(path), "cannot remove", path)?,
            Step::Mkdir => at(fs::create_dir(path), "cannot make", path)?,
            Step::Rmdir => at(fs::remove_dir(path), "cannot remove", path)?,
            Step::WriteFile => {
                let mut file = at(create(), "cannot create", path)?;
                at(file.write_all(self.content.fill.at(key, 0, bytes)), "cannot write", path)?;
                return Ok(Done::one(bytes));
            }
            Step::ReadFile => {
                let mut file = at(File::open(path), "cannot open", path)?;
                let buffer = aligned(&mut self.buffer, bytes);
                at(file.read_exact(buffer), "cannot read", path)?;
                compare(&self.content, key, 0, buffer, &path.display().to_string())?;
                return Ok(Done::one(bytes));
            }
            other => return Err(format!("{} is not done on a name", other.name())),
        }
        Ok(Done::one(0))
    }

    fn list(&self, dir: usize, plus: bool) -> Result<Done> {
        let path = &self.dirs[dir];
        let mut items = 0;
        for entry in at(fs::read_dir(path), "cannot list", path)? {
            let entry = at(entry, "cannot list", path)?;
            if plus {
                at(entry.metadata(), "cannot stat an entry of", path)?;
            }
            items += 1;
        }
        Ok(Done { items, bytes: 0 })
    }

    fn transfer(&mut self, write: bool, offset: u64, bytes: usize, key: u64) -> Result<Done> {
        let Some((file, path, direct)) = &self.file else { return Err("no file is open".to_owned()) };
        if write {
            let data = self.content.fill.at(key, offset, bytes);
            let data = if *direct {
                let buffer = aligned(&mut self.buffer, bytes);
                buffer.copy_from_slice(data);
                &*buffer
            } else {
                data
            };
            at(file.write_all_at(data, offset), "cannot write", path)?;
        } else {
            let buffer = aligned(&mut self.buffer, bytes);
            at(file.read_exact_at(buffer, offset), "cannot read", path)?;
            if self.content.verify {
                compare(&self.content, key, offset, buffer, &path.display().to_string())?;
            }
        }
        Ok(Done::one(bytes))
    }
}

impl Task for PosixTask {
    async fn open(&mut self, file: &Entry, mode: Mode) -> Result<bool> {
        let path = self.path(file);
        let open = |flags: i32| {
            let mut options = OpenOptions::new();
            options.read(true).write(mode.write).create(mode.create).truncate(false).custom_flags(flags).open(&path)
        };
        let (opened, direct) = match mode.direct.then(|| open(libc::O_DIRECT)) {
            Some(Ok(file)) => (file, true),
            Some(Err(error)) if error.kind() != ErrorKind::InvalidInput => {
                return at(Err(error), "cannot open", &path);
            }
            _ => (at(open(0), "cannot open", &path)?, false),
        };
        self.file = Some((opened, path, direct));
        Ok(direct)
    }

    async fn run(&mut self, op: &Op) -> Result<Done> {
        match op {
            Op::Name { step, entry, bytes, key } => {
                let path = self.path(entry);
                self.name(*step, &path, *bytes, *key)
            }
            Op::Dir { dir, plus } => self.list(*dir, *plus),
            Op::RemoveDir { dir } => {
                let path = &self.dirs[*dir];
                at(fs::remove_dir(path), "cannot remove", path).map(|()| Done::one(0))
            }
            Op::Transfer { write, offset, bytes, key } => self.transfer(*write, *offset, *bytes, *key),
        }
    }

    async fn close(&mut self, sync: bool) -> Result<()> {
        let Some((file, path, _)) = self.file.take() else { return Ok(()) };
        if sync { at(file.sync_all(), "cannot sync", &path) } else { Ok(()) }
    }
}
