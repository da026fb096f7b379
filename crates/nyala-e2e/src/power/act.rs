// SPDX-License-Identifier: Apache-2.0

//! Makes files, syncs them, and changes them.

use super::model::{Change, File};
use crate::sys;
use std::fs::{self, File as Open, OpenOptions};
use std::io::{Result, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Files are made by so many threads.
const MAKERS: usize = 8;

/// Makes all files, syncs them and their directory.
pub fn make(dir: &Path, files: &[File]) -> Result<()> {
    let one = |file: &File| {
        if let Some(old) = &file.old {
            synced(&dir.join(&file.name), old)?;
        }
        if file.change == Change::Replace {
            synced(&dir.join(format!("{}.new", file.name)), &file.new)?;
        }
        Ok(())
    };
    let some = |from: usize| files.iter().skip(from).step_by(MAKERS).try_for_each(one);
    std::thread::scope(|scope| {
        let makers: Vec<_> = (0..MAKERS).map(|from| scope.spawn(move || some(from))).collect();
        let join = |maker: std::thread::ScopedJoinHandle<'_, Result<()>>| maker.join().expect("it returns its error");
        makers.into_iter().try_for_each(join)
    })?;
    Open::open(dir)?.sync_all()?;
    Open::open(dir.parent().unwrap_or(dir))?.sync_all()
}

fn synced(path: &Path, content: &[u8]) -> Result<()> {
    let mut file = Open::create_new(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Changes a file through the mount that `dir` is in, and syncs what is to be synced elsewhere through the other. Gives what
/// stays open.
pub fn change(dir: &Path, elsewhere: &Path, file: &File) -> Result<Option<Open>> {
    let path = dir.join(&file.name);
    let changed = match file.change {
        Change::None => return Ok(None),
        Change::Replace => {
            fs::rename(dir.join(format!("{}.new", file.name)), &path)?;
            return Ok(None);
        }
        Change::Move => {
            fs::rename(&path, dir.join(format!("{}.moved", file.name)))?;
            return Ok(None);
        }
        Change::Unlink => {
            let held = existing(&path)?;
            fs::remove_file(&path)?;
            held
        }
        Change::Rewrite(_) | Change::Create(_) => {
            let mut to = Open::create(&path)?;
            to.write_all(&file.new)?;
            to
        }
        Change::Append { gap: 0, .. } => appended(&path, file)?,
        Change::Sync(_) => {
            let to = appended(&path, file)?;
            to.sync_data()?;
            to
        }
        Change::SyncElsewhere(_) => {
            let to = appended(&path, file)?;
            Open::open(elsewhere.join(&file.name))?.sync_all()?;
            to
        }
        Change::Truncate(_) | Change::Append { .. } | Change::Overwrite { .. } | Change::Zero { .. } => {
            let to = existing(&path)?;
            change_inside(&to, file)?;
            to
        }
    };
    Ok(file.open.then_some(changed))
}

fn existing(path: &Path) -> Result<Open> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// What the file had before, bytes.
fn old_len(file: &File) -> usize {
    file.old.as_ref().map_or(0, Vec::len)
}

/// Opens the file to append, and appends what is new.
fn appended(path: &Path, file: &File) -> Result<Open> {
    let to = OpenOptions::new().append(true).open(path)?;
    (&to).write_all(&file.new[old_len(file)..])?;
    Ok(to)
}

/// Changes that say where in the file they are; others do nothing here.
fn change_inside(to: &Open, file: &File) -> Result<()> {
    match file.change {
        Change::Truncate(len) => to.set_len(len as u64),
        Change::Append { gap, .. } => {
            let at = old_len(file) + gap;
            to.write_all_at(&file.new[at..], at as u64)
        }
        Change::Overwrite { at, len } => to.write_all_at(&file.new[at..at + len], at as u64),
        Change::Zero { at, len, punch } => {
            let mode = if punch { libc::FALLOC_FL_PUNCH_HOLE } else { libc::FALLOC_FL_ZERO_RANGE };
            sys::fallocate(to, mode | libc::FALLOC_FL_KEEP_SIZE, at as i64, len as i64)
        }
        _ => Ok(()),
    }
}
