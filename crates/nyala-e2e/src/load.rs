// SPDX-License-Identifier: Apache-2.0

//! A load that knows what it was promised: it works in a directory of the mount, writes down each step that the file
//! system acknowledged, and [`verify()`] compares what is there afterwards with what was written down.
//!
//! Failure model: services die under it at any moment; the file system may then be late, never wrong. The load's journal
//! lies outside the mount on a machine that stays up, so that a line written is a line kept. A step that was under way
//! when the load itself was broken off (the mount died) may have happened or not: a line is written before (`try`) and
//! after it. Contents are functions of (file, generation, block), so that an old or a foreign block is recognised.

mod big;
mod small;
mod verify;

pub use verify::{Verified, verify};

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Makes the directories that the load works in (several, so that they lie on different metadata servers), runs the
/// load until the file `stop` appears, and gives the first error.
pub fn run(mount_dir: &Path, journals: &Path, stop: &Path) -> std::io::Result<()> {
    for number in 0..small::DIRS {
        std::fs::create_dir_all(mount_dir.join(format!("d{number}")))?;
    }
    let ended = AtomicBool::new(false);
    let going = || !stop.exists() && !ended.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        let threads = [
            scope.spawn(|| end(&ended, small::run(mount_dir, &Journal::new(journals, "small0")?, 0, &going))),
            scope.spawn(|| end(&ended, small::run(mount_dir, &Journal::new(journals, "small1")?, 1, &going))),
            scope.spawn(|| end(&ended, big::run(mount_dir, &Journal::new(journals, "big")?, &going))),
        ];
        let mut first = Ok(());
        for thread in threads {
            let result = thread.join().expect("a load thread returns its error and does not panic");
            first = first.and(result);
        }
        first
    })
}

fn end(ended: &AtomicBool, result: std::io::Result<()>) -> std::io::Result<()> {
    if result.is_err() {
        ended.store(true, Ordering::Relaxed);
    }
    result
}

/// Where a load thread writes down what it did.
pub struct Journal(File);

impl Journal {
    fn new(dir: &Path, name: &str) -> std::io::Result<Journal> {
        Ok(Journal(OpenOptions::new().create_new(true).append(true).open(dir.join(name))?))
    }

    /// One line, handed to the kernel before this returns.
    fn line(&self, line: &str) -> std::io::Result<()> {
        (&self.0).write_all(format!("{line}\n").as_bytes())
    }
}

/// Adds to an error what was being done; steps that take long (a service was away) are reported on standard error.
fn step<T>(what: &str, path: &Path, action: impl FnOnce() -> std::io::Result<T>) -> std::io::Result<T> {
    let began = Instant::now();
    let result = action();
    if began.elapsed() > Duration::from_secs(1) {
        eprintln!("stall: {what} {} took {:.1} s", path.display(), began.elapsed().as_secs_f64());
    }
    result.map_err(|error| std::io::Error::new(error.kind(), format!("{what} {}: {error}", path.display())))
}
