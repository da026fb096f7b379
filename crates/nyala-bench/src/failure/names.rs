// SPDX-License-Identifier: Apache-2.0

//! A load of names: threads that make and remove files, each in a directory of its own, and threads that look up names that nobody
//! has asked for before, so that no cache knows them.
//!
//! **Failure model.** Each result is known beforehand: a name that is there already, or is not there, though this thread alone has
//! changed it, is an error: something was done twice, or lost.

use super::worker::{Job, Notes, until_end};
use crate::error::{BenchError, io};
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Names of a thread that are there at a time.
const LIVE_NAMES: u64 = 64;

/// The load's own process, with so many threads of each kind: until its input ends.
pub fn run(directory: &Path, tasks: u16) -> Result<(), BenchError> {
    let mut jobs: Vec<Job<'_>> = Vec::new();
    for task in 0..tasks {
        let (changed, looked_at) =
            (directory.join(format!("changed{task}")), directory.join(format!("looked-at{task}")));
        for dir in [&changed, &looked_at] {
            std::fs::create_dir(dir).map_err(io(dir.display()))?;
        }
        File::create(looked_at.join("there")).map_err(io(looked_at.display()))?;
        jobs.push(Box::new(move |began, notes| change(&changed, began, notes)));
        jobs.push(Box::new(move |began, notes| look_for(&looked_at, began, notes)));
    }
    until_end(&jobs)
}

fn change(dir: &Path, began: Instant, notes: &Notes) {
    let name = |number: u64| -> PathBuf { dir.join(format!("f{number}")) };
    let mut next = 0;
    while !notes.ended() {
        let (made, removed) = (name(next), next.checked_sub(LIVE_NAMES).map(name));
        let make = || OpenOptions::new().write(true).create_new(true).open(&made).map(drop);
        notes.timed(began, true, 0, || format!("making {}", made.display()), make);
        if let Some(removed) = removed {
            let what = || format!("removing {}", removed.display());
            notes.timed(began, true, 0, what, || std::fs::remove_file(&removed));
        }
        next += 1;
    }
}

fn look_for(dir: &Path, began: Instant, notes: &Notes) {
    let mut next = 0_u64;
    while !notes.ended() {
        let missing = dir.join(format!("none{next}"));
        let what = || format!("looking for {}", missing.display());
        notes.timed(began, false, 0, what, || match std::fs::symlink_metadata(&missing) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(_) => Err(Error::other("nobody has made it")),
        });
        next += 1;
    }
}
