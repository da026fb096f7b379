// SPDX-License-Identifier: Apache-2.0

//! Many small files: made under a temporary name, written, fsynced, renamed to another directory, some removed again.

use super::{Journal, step};
use crate::posix::pattern;
use std::fs::{self, OpenOptions};
use std::io::{Error, Write};
use std::path::{Path, PathBuf};

/// How many directories the files are in.
pub const DIRS: u64 = 6;

/// Length of a small file: empty, inline, and on storage targets.
pub fn len(number: u64) -> usize {
    match number % 5 {
        0 => 0,
        1 => 1 + (number as usize * 37) % 300,
        2 => 4000 + (number as usize) % 200,
        3 => 10_000 + (number as usize * 13) % 10_000,
        _ => 1000,
    }
}

/// Content of a small file of a worker.
pub fn content(worker: u64, number: u64) -> Vec<u8> {
    pattern(worker << 32 | number, len(number))
}

/// Final name of a small file.
pub fn path(dir: &Path, worker: u64, number: u64) -> PathBuf {
    dir.join(format!("d{}", (number + worker) % DIRS)).join(format!("w{worker}-{number}"))
}

/// Name of a small file before it is complete.
pub fn temporary(dir: &Path, worker: u64, number: u64) -> PathBuf {
    dir.join(format!("d{}", (number / 2 + worker + 1) % DIRS)).join(format!("tmp-w{worker}-{number}"))
}

/// Runs until told to stop or something fails.
pub fn run(dir: &Path, journal: &Journal, worker: u64, going: &dyn Fn() -> bool) -> std::io::Result<()> {
    for number in 0.. {
        if !going() {
            break;
        }
        make(dir, journal, worker, number)?;
        if number >= 10 {
            check(dir, worker, number - 3)?;
            if number % 3 == 0 {
                let gone = number - 7;
                journal.line(&format!("try-unlink {gone}"))?;
                let path = path(dir, worker, gone);
                step("unlink", &path, || fs::remove_file(&path))?;
                journal.line(&format!("unlink {gone}"))?;
            }
        }
    }
    Ok(())
}

fn make(dir: &Path, journal: &Journal, worker: u64, number: u64) -> std::io::Result<()> {
    let (temporary, path) = (temporary(dir, worker, number), path(dir, worker, number));
    journal.line(&format!("try-make {number}"))?;
    let mut file = step("create", &temporary, || OpenOptions::new().write(true).create_new(true).open(&temporary))?;
    step("write", &temporary, || file.write_all(&content(worker, number)))?;
    step("fsync", &temporary, || file.sync_all())?;
    drop(file);
    step("rename", &temporary, || fs::rename(&temporary, &path))?;
    journal.line(&format!("make {number}"))
}

/// Reads a file made a moment ago, while services come and go. A file made may have been removed, by rule.
fn check(dir: &Path, worker: u64, number: u64) -> std::io::Result<()> {
    let path = path(dir, worker, number);
    let got = step("read", &path, || fs::read(&path))?;
    if got != content(worker, number) {
        return Err(Error::other(format!("{}: wrong content while the load ran", path.display())));
    }
    Ok(())
}
