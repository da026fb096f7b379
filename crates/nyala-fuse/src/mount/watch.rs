// SPDX-License-Identifier: Apache-2.0

//! Whether reading renews access times on a mount as it is now: `mount -o remount` changes that, and tells no file system of it
//! whose kernel part leaves access times to its server. The kernel says when the table of mounts changes (proc(5), poll on
//! `/proc/self/mountinfo`).
//!
//! **Failure model.** A change is seen a moment after it was made, and several may be seen as one; the table is read anew
//! each time. The mount may be moved, and mounted a second time with other flags (a bind mount): it is known by its device
//! number, and what counts is its oldest place. Without `/proc` nothing is seen, and the mount stays as it was made.

use super::table;
use std::fs::File;
use std::io;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Looks after one mount's flags.
#[derive(Debug)]
pub struct FlagsWatch {
    table: AsyncFd<File>,
    number: String,
}

impl FlagsWatch {
    /// For the mount with this device number. In a runtime.
    pub(super) fn new(number: String) -> io::Result<FlagsWatch> {
        let table = File::open(table::PATH)?;
        // SAFETY: the descriptor is the file's own, never replaced, and open for as long as the AsyncFd holds it.
        let table = unsafe { AsyncFd::register_with_interest(table, Interest::PRIORITY) }.map_err(io::Error::from)?;
        Ok(FlagsWatch { table, number })
    }

    /// Waits until some mount has changed; then whether reading renews access times on this one. `None`: it is not there.
    pub async fn changed(&self) -> io::Result<Option<bool>> {
        // The event is the message: there is nothing to read here until it comes again.
        self.table.ready(Interest::PRIORITY).await?.clear_ready();
        Ok(table::oldest(&self.number)?.map(|entry| entry.renews_access_times))
    }
}
