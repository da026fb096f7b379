// SPDX-License-Identifier: Apache-2.0

//! One process for each directory: an exclusive lock on a file in it.
//!
//! # Failure model
//! A process that was killed keeps its locks until its last thread has left the kernel, which a slow disk delays, although
//! nothing but a zombie can be seen of it. Who starts the next one at once waits for that a moment, and is then refused.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// How long a lock may take to be free after its owner was killed.
const WAIT: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(10);

/// Locks a file, which is made if it is missing, until the result is dropped. `None`: another process has it.
pub(crate) fn exclusive(path: &Path) -> io::Result<Option<File>> {
    let file = crate::private::new_file().read(true).truncate(false).open(path)?;
    let began = Instant::now();
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Some(file)),
            Err(Errno::WOULDBLOCK) if began.elapsed() >= WAIT => return Ok(None),
            Err(Errno::WOULDBLOCK) => std::thread::sleep(LOOK),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_let_go_in_time_is_had_and_another_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("LOCK");
        let first = exclusive(&path).unwrap().unwrap();
        let late = std::thread::spawn(move || {
            // sleeps: the lock is held so long
            std::thread::sleep(Duration::from_millis(200));
            drop(first);
        });
        let second = exclusive(&path).unwrap().expect("its owner let it go");
        late.join().unwrap();
        let began = Instant::now();
        assert!(exclusive(&path).unwrap().is_none());
        assert!(began.elapsed() >= WAIT);
        drop(second);
    }
}
