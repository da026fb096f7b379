// SPDX-License-Identifier: Apache-2.0

//! One task: what it does next, and what its files are then.

use super::SUBDIRS;
use super::expected::{Expected, XATTR};
use crate::sys::{removexattr, setxattr};
use nyala_wire::SplitMix64;
use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes, OpenOptions, Permissions};
use std::io::{Result, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// In one half of so many steps files are made one after the other, and the same is done to each; then they are looked at.
const ROUND: u64 = 80;
const FEWEST_FILES: usize = 6;
const MOST_FILES: usize = 200;
/// Most of a file that is kept with its inode, and most of one that is not.
const SMALL: usize = 9_000;
const LARGE: usize = 300_000;

/// What is done to a file.
#[derive(Clone, Copy, Debug)]
enum Change {
    Link,
    Rename,
    Unlink,
    Chmod,
    Truncate,
    Append,
    Write,
    SetTime,
    Rewrite,
    Replace,
    Xattr,
}

/// What is done to files right after they were made, in one round after the other.
const AFTER_MAKING: [Change; 8] = [
    Change::Link,
    Change::Chmod,
    Change::Append,
    Change::Link,
    Change::Write,
    Change::SetTime,
    Change::Xattr,
    Change::Truncate,
];
const ANY: [Change; 11] = [
    Change::Link,
    Change::Rename,
    Change::Unlink,
    Change::Chmod,
    Change::Truncate,
    Change::Append,
    Change::Write,
    Change::SetTime,
    Change::Rewrite,
    Change::Replace,
    Change::Xattr,
];

pub struct Task<'a> {
    number: usize,
    dirs: &'a [PathBuf],
    random: SplitMix64,
    /// By when they were made.
    files: BTreeMap<u64, Expected>,
    made: u64,
}

impl<'a> Task<'a> {
    pub fn new(seed: u64, number: usize, dirs: &'a [PathBuf]) -> Task<'a> {
        let random = SplitMix64::new(seed.wrapping_mul(1_000_003) ^ (number as u64) << 32);
        Task { number, dirs, random, files: BTreeMap::new(), made: 0 }
    }

    /// Does something, and says what was wrong.
    pub fn step(&mut self, step: u64) -> std::result::Result<(), String> {
        let (burst, room) = (step % ROUND < ROUND / 2, self.files.len() < MOST_FILES);
        let makes = self.files.len() < FEWEST_FILES
            || room && if burst { step.is_multiple_of(2) } else { self.random.index(4) == 0 };
        let did = if makes {
            self.make(step).map(|()| "a file was made".to_owned())
        } else if burst {
            let change = AFTER_MAKING[(step / ROUND) as usize % AFTER_MAKING.len()];
            self.change(self.files.len() - 1, change, step)
        } else {
            let (nth, change) = (self.random.index(self.files.len()), ANY[self.random.index(ANY.len())]);
            self.change(nth, change, step)
        };
        let did = did.map_err(|error| format!("step {step}: {error}"))?;
        let look = !burst || self.random.index(8) == 0;
        if look { self.look(step).map_err(|wrong| format!("step {step}, {did}: {wrong}")) } else { Ok(()) }
    }

    /// At one of those that were made last, one after the other, or at any.
    fn look(&mut self, step: u64) -> std::result::Result<(), String> {
        let Some(last) = self.files.len().checked_sub(1) else { return Ok(()) };
        let back = (step % ROUND).saturating_sub(ROUND / 2) as usize;
        let nth = if back < ROUND as usize / 4 { last.saturating_sub(back) } else { self.random.index(last + 1) };
        let Some(file) = self.files.values().nth(nth) else { return Ok(()) };
        let name = &file.names[self.random.index(file.names.len())];
        let path = self.dirs[self.random.index(self.dirs.len())].join(name);
        let wrong = file.check(&path, self.random.index(2) == 0);
        wrong.map_err(|wrong| {
            format!("{name} of {:?}: {wrong}; a moment later: {:?}", file.names, file.check(&path, true))
        })
    }

    fn new_name(&mut self) -> String {
        self.made += 1;
        format!("{}/f{}.{}", SUBDIRS[self.random.index(SUBDIRS.len())], self.number, self.made)
    }

    fn root(&mut self) -> &'a Path {
        &self.dirs[self.random.index(self.dirs.len())]
    }

    fn bytes(&mut self, len: usize, step: u64) -> Vec<u8> {
        (0..len).map(|at| (at as u64 * 31 + step) as u8 | 1).collect()
    }

    fn make(&mut self, step: u64) -> Result<()> {
        let most = if self.random.index(20) == 0 { LARGE } else { SMALL };
        let len = self.random.index(most);
        let (data, name, piece) = (self.bytes(len, step), self.new_name(), 1 + self.random.index(5_000));
        let path = self.root().join(&name);
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        data.chunks(piece).try_for_each(|piece| file.write_all(piece))?;
        if self.random.index(8) == 0 {
            file.sync_all()?;
        }
        let mode = file.metadata()?.mode() & 0o7777;
        self.files.insert(step, Expected { data, mode, names: vec![name], mtime: None, xattr: None });
        Ok(())
    }

    /// Changes the `nth` file; what was done.
    fn change(&mut self, nth: usize, change: Change, step: u64) -> Result<String> {
        let (Some(key), root) = (self.files.keys().nth(nth).copied(), self.root()) else { return Ok(String::new()) };
        let Some(mut file) = self.files.remove(&key) else { return Ok(String::new()) };
        let at = self.random.index(file.names.len());
        let (name, to) = (file.names[at].clone(), self.new_name());
        let path = root.join(&name);
        match change {
            Change::Link => {
                fs::hard_link(&path, root.join(&to))?;
                file.names.push(to);
            }
            Change::Rename => {
                fs::rename(&path, root.join(&to))?;
                file.names[at] = to;
            }
            Change::Unlink => {
                fs::remove_file(&path)?;
                file.names.remove(at);
            }
            Change::Replace => {
                let data = self.bytes(300, step);
                fs::write(root.join(&to), &data)?;
                let mode = fs::metadata(root.join(&to))?.mode() & 0o7777;
                fs::rename(root.join(&to), &path)?;
                file.names.remove(at);
                // Keys are steps, of which each makes one file at most.
                self.files.insert(step, Expected { data, mode, names: vec![name.clone()], mtime: None, xattr: None });
            }
            Change::Chmod => {
                file.mode = 0o600 | self.random.index(0o200) as u32;
                fs::set_permissions(&path, Permissions::from_mode(file.mode))?;
            }
            Change::Xattr => self.change_xattr(&path, &mut file, step)?,
            Change::SetTime => {
                let seconds = 1_000_000_000 + self.random.index(1_000_000) as u64;
                let times = FileTimes::new().set_modified(UNIX_EPOCH + Duration::from_secs(seconds));
                File::open(&path)?.set_times(times)?;
                file.mtime = Some(seconds as i64);
            }
            Change::Truncate | Change::Append | Change::Write | Change::Rewrite => {
                self.write(&path, &mut file, change, step)?;
            }
        }
        if !file.names.is_empty() {
            self.files.insert(key, file);
        }
        Ok(format!("{change:?} of {name}"))
    }

    fn change_xattr(&mut self, path: &Path, file: &mut Expected, step: u64) -> Result<()> {
        if file.xattr.is_some() && self.random.index(2) == 0 {
            file.xattr = None;
            return removexattr(path, XATTR);
        }
        let value = format!("value {step}").into_bytes();
        setxattr(path, XATTR, &value, 0)?;
        file.xattr = Some(value);
        Ok(())
    }

    /// Changes of the content.
    fn write(&mut self, path: &Path, file: &mut Expected, change: Change, step: u64) -> Result<()> {
        let bytes = |task: &mut Task<'a>, most| {
            let len = 1 + task.random.index(most);
            task.bytes(len, step)
        };
        match change {
            Change::Truncate => {
                let len = self.random.index(12_000);
                OpenOptions::new().write(true).open(path)?.set_len(len as u64)?;
                file.data.resize(len, 0);
                file.mtime = None;
            }
            Change::Append => {
                let data = bytes(self, 3_000);
                OpenOptions::new().append(true).open(path)?.write_all(&data)?;
                file.put(file.data.len(), &data);
            }
            Change::Rewrite => {
                let data = bytes(self, 2_000);
                OpenOptions::new().write(true).truncate(true).open(path)?.write_all(&data)?;
                file.data.clear();
                file.put(0, &data);
            }
            _ => {
                let open = OpenOptions::new().write(true).open(path)?;
                for _ in 0..1 + self.random.index(3) {
                    let (at, data) = (self.random.index(file.data.len() + 200), bytes(self, 600));
                    open.write_all_at(&data, at as u64)?;
                    file.put(at, &data);
                }
            }
        }
        Ok(())
    }

    /// All is as it should be, and goes.
    pub fn remove_all(&mut self) -> std::result::Result<(), String> {
        for file in std::mem::take(&mut self.files).into_values() {
            for name in &file.names {
                file.check(&self.root().join(name), true).map_err(|wrong| format!("in the end: {name}: {wrong}"))?;
            }
            for name in &file.names {
                fs::remove_file(self.root().join(name)).map_err(|error| format!("in the end: {name}: {error}"))?;
            }
        }
        Ok(())
    }
}
