// SPDX-License-Identifier: Apache-2.0

//! Does an operation through one mount and compares what comes of it with the model.

use super::plan::{BLOCK, How};
use super::{Action, Model};
use crate::sys::{self, Mapping};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file, open through one mount in several ways.
pub struct Mounted {
    path: PathBuf,
    max: usize,
    plain: File,
    direct: File,
    synchronous: File,
    append: File,
    /// Stays while others change the file.
    mapping: Option<Mapping>,
}

/// Something that did not go as it should.
type Checked = Result<(), String>;

fn open(path: &Path, flags: i32) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).custom_flags(flags).open(path)
}

fn failed(error: io::Error) -> String {
    format!("failed: {error}")
}

impl Mounted {
    /// Opens the file, which is made if it is not there.
    pub fn open(path: &Path, max: usize) -> io::Result<Mounted> {
        Ok(Mounted {
            path: path.to_owned(),
            max,
            plain: open(path, 0)?,
            direct: open(path, libc::O_DIRECT)?,
            synchronous: open(path, libc::O_DSYNC)?,
            append: OpenOptions::new().append(true).open(path)?,
            mapping: None,
        })
    }

    /// Does it, with the content of this number if it writes.
    pub fn act(&mut self, action: &Action, model: &mut Model, number: u64) -> Checked {
        match *action {
            Action::Write { at, len, how } => self.write(model.write(number, at, len), at, how),
            Action::Append { len } => {
                let piece = model.write(number, model.bytes().len(), len);
                self.append.write_all(&piece).map_err(failed)
            }
            Action::Read { at, len, direct } => self.read(at, len, direct, model),
            Action::MapRead { at, len } => {
                let found = self.mapped(model)?.bytes()[at..at + len].to_vec();
                same(&found, model.slice(at, len), at)
            }
            Action::MapWrite { at, len } => {
                let piece = model.write(number, at, len);
                let mapping = self.mapped(model)?;
                mapping.bytes()[at..at + len].copy_from_slice(&piece);
                mapping.sync().map_err(failed)
            }
            Action::Truncate { size, by_path } => {
                model.truncate(size);
                let by_path = by_path.then(|| OpenOptions::new().write(true).open(&self.path));
                let opened = by_path.transpose().map_err(failed)?;
                opened.as_ref().unwrap_or(&self.plain).set_len(size as u64).map_err(failed)
            }
            Action::Punch { at, len } => {
                model.zero(at, len);
                self.fallocate(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, at, len)
            }
            Action::Zero { at, len, keep_size } => {
                if !keep_size {
                    model.grow(at + len);
                }
                model.zero(at, len);
                self.fallocate(libc::FALLOC_FL_ZERO_RANGE | keep(keep_size), at, len)
            }
            Action::Allocate { at, len, keep_size } => {
                if !keep_size {
                    model.grow(at + len);
                }
                self.fallocate(keep(keep_size), at, len)
            }
            Action::Copy { from, to, len } => {
                // Linux itself bounds the copy by the size that it knows.
                self.size_is(model)?;
                let want = model.copy(from, to, len);
                let copied = sys::copy_file_range(&self.plain, from as i64, &self.plain, to as i64, len);
                let copied = copied.map_err(failed)?;
                if copied == want { Ok(()) } else { Err(format!("copied {copied} bytes, not {want}")) }
            }
            Action::Stat => self.size_is(model),
            Action::SeekData { at } => self.seek(at, model, libc::SEEK_DATA),
            Action::SeekHole { at } => self.seek(at, model, libc::SEEK_HOLE),
            Action::Sync { data_only: true } => self.plain.sync_data().map_err(failed),
            Action::Sync { data_only: false } => self.plain.sync_all().map_err(failed),
            Action::Reopen => {
                *self = Mounted::open(&self.path, self.max).map_err(failed)?;
                Ok(())
            }
            Action::DropCache => sys::drop_cache(&self.plain).map_err(failed),
        }
    }

    fn write(&self, piece: Vec<u8>, at: usize, how: How) -> Checked {
        let file = match how {
            How::Plain => &self.plain,
            How::Synchronous => &self.synchronous,
            How::Direct => {
                let mut aligned = Aligned::new(piece.len());
                aligned.bytes().copy_from_slice(&piece);
                return self.direct.write_all_at(aligned.bytes(), at as u64).map_err(failed);
            }
        };
        file.write_all_at(&piece, at as u64).map_err(failed)
    }

    fn read(&self, at: usize, len: usize, direct: bool, model: &Model) -> Checked {
        let file = if direct { &self.direct } else { &self.plain };
        let mut buffer = Aligned::new(len);
        let found = file.read_at(buffer.bytes(), at as u64).map_err(failed)?;
        same(&buffer.bytes()[..found], model.slice(at, len), at)
    }

    /// The mapping, after a look at the size: this kernel must know that the file is long enough.
    fn mapped(&mut self, model: &Model) -> Result<&mut Mapping, String> {
        self.size_is(model)?;
        if self.mapping.is_none() {
            self.mapping = Some(Mapping::new(&self.plain, self.max).map_err(failed)?);
        }
        self.mapping.as_mut().ok_or_else(|| "not mapped".to_owned())
    }

    fn fallocate(&self, mode: i32, at: usize, len: usize) -> Checked {
        sys::fallocate(&self.plain, mode, at as i64, len as i64).map_err(failed)
    }

    fn size_is(&self, model: &Model) -> Checked {
        let (size, want) = (self.plain.metadata().map_err(failed)?.len(), model.bytes().len() as u64);
        if size == want { Ok(()) } else { Err(format!("the size is {size}, not {want}")) }
    }

    /// What is skipped as a hole must be zeros, and nothing lies behind the end.
    fn seek(&self, at: usize, model: &Model, whence: i32) -> Checked {
        let size = model.bytes().len();
        let found = match sys::seek(&self.plain, at as i64, whence) {
            Ok(found) => found as usize,
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {
                let rest = if whence == libc::SEEK_DATA { model.slice(at, size) } else { model.slice(at, 1) };
                let right =
                    if whence == libc::SEEK_DATA { rest.iter().all(|byte| *byte == 0) } else { rest.is_empty() };
                return if right { Ok(()) } else { Err("ENXIO where there is something".into()) };
            }
            Err(error) => return Err(failed(error)),
        };
        let skipped_data = whence == libc::SEEK_DATA && model.slice(at, found - at).iter().any(|byte| *byte != 0);
        if found < at || found > size || skipped_data { Err(format!("found {found} of {size}")) } else { Ok(()) }
    }
}

fn keep(keep_size: bool) -> i32 {
    if keep_size { libc::FALLOC_FL_KEEP_SIZE } else { 0 }
}

fn same(found: &[u8], want: &[u8], at: usize) -> Checked {
    if found.len() != want.len() {
        return Err(format!("{} bytes at {at}, not {}", found.len(), want.len()));
    }
    match found.iter().zip(want).position(|(found, want)| found != want) {
        None => Ok(()),
        Some(first) => {
            let bad = found.iter().zip(want).filter(|(found, want)| found != want).count();
            let (found, want) = (found[first], want[first]);
            Err(format!("byte {} is {found:02x}, not {want:02x}; {bad} bytes from there on are wrong", at + first))
        }
    }
}

/// Memory as direct I/O wants it. Of our own: this crate stands on none of what it tests.
struct Aligned {
    memory: Vec<u8>,
    from: usize,
    len: usize,
}

impl Aligned {
    fn new(len: usize) -> Aligned {
        let memory = vec![0; len + BLOCK];
        let from = memory.as_ptr().align_offset(BLOCK);
        Aligned { memory, from, len }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.from..self.from + self.len]
    }
}
