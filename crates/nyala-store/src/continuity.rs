// SPDX-License-Identifier: Apache-2.0

//! Whether a store has all that its last process handed to the operating system, synced or not.
//!
//! A service says so once it answers for what it writes ([`Continuity::vouch`]): a stamp in `LOCK`, which needs no sync, as it says nothing after
//! a loss of power. Whoever opens the store next finds it there, if it is still true.
//!
//! # Failure model
//! A stamp that is believed wrongly would keep clients from saying again what was lost. It names the kernel's run and the mount, as
//! [`crate::boot_id()`] does, and the file that it is in by number and birth, which no copy has. Where the kernel does not tell two mounts
//! apart for ever (before Linux 6.8), or the file system knows no births, nothing is claimed. A log whose sync failed may have lost what was not yet on
//! disk without a loss of power: whoever is told so withdraws the stamp. Who opens the store and finds another stamp, or none, removes it, so
//! that it is not believed later.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use parking_lot::Mutex;
use rustix::fs::{AtFlags, StatxFlags};

use crate::StoreError;
use crate::boot_id::{UNIQUE_MOUNT, kernel_run};

/// The open lock file of a store's directory, and what it said.
#[derive(Debug)]
pub(crate) struct Continuity {
    lock: Mutex<File>,
    whole: bool,
}

impl Continuity {
    /// Looks at the stamp of a store that has just been opened, and whose log `ends` where it says so: no process tears what was handed over.
    pub fn of(mut lock: File, ends: bool) -> Result<Continuity, StoreError> {
        let mut found = String::new();
        // One that is no text is none.
        let read = lock.rewind().and_then(|()| lock.read_to_string(&mut found));
        let whole = ends && read.is_ok() && !found.is_empty() && stamp(&lock).is_some_and(|now| now == found);
        if !whole {
            lock.set_len(0).map_err(|error| StoreError::io("write", "LOCK", error))?;
        }
        Ok(Continuity { lock: Mutex::new(lock), whole })
    }

    /// Whether it was there, and true.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// From now on everything that is written is also there for the next process, if the machine does not lose it.
    pub fn vouch(&self) -> io::Result<()> {
        let mut lock = self.lock.lock();
        let Some(stamp) = stamp(&lock) else { return Ok(()) };
        lock.set_len(0)?;
        lock.seek(SeekFrom::Start(0))?;
        lock.write_all(stamp.as_bytes())
    }

    /// That is not so any more.
    pub fn withdraw(&self) -> io::Result<()> {
        self.lock.lock().set_len(0)
    }
}

/// What changes where bytes that were written and not synced may be gone; `None`: that cannot be told.
fn stamp(lock: &File) -> Option<String> {
    let wanted = UNIQUE_MOUNT | StatxFlags::INO | StatxFlags::BTIME;
    let about = rustix::fs::statx(lock, "", AtFlags::EMPTY_PATH, wanted).ok()?;
    let known = StatxFlags::from_bits_retain(about.stx_mask);
    if !known.contains(wanted) {
        return None;
    }
    let run = kernel_run().ok()?;
    let born = &about.stx_btime;
    let (device, file) = ((about.stx_dev_major, about.stx_dev_minor), about.stx_ino);
    let birth = format!("{}.{:09}", born.tv_sec, born.tv_nsec);
    Some(format!("{run} {} {}:{} {file} {birth}\n", about.stx_mnt_id, device.0, device.1))
}

#[cfg(test)]
mod tests {
    use crate::{Batch, Options, Store};
    use std::fs;
    use std::path::Path;

    fn open(dir: &Path) -> Store {
        Store::open(dir, Options::default()).unwrap().0
    }

    #[test]
    fn what_is_written_is_vouched_for_until_somebody_withdraws_it() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        assert!(!store.is_whole(), "nobody has vouched for anything");
        store.vouch().unwrap();
        store.apply(Batch::new().put("key", "value")).unwrap();
        store.flush().unwrap();
        drop(store);
        let store = open(dir.path());
        let known = super::stamp(&fs::File::open(dir.path().join("LOCK")).unwrap()).is_some();
        assert_eq!(store.is_whole(), known, "as far as this kernel and file system can tell");
        drop(store);
        let store = open(dir.path());
        assert_eq!(store.is_whole(), known, "who only looks changes nothing");
        store.withdraw().unwrap();
        drop(store);
        assert!(!open(dir.path()).is_whole());
    }

    #[test]
    fn no_copy_and_no_other_run_of_the_machine_is_vouched_for() {
        let dir = tempfile::tempdir().unwrap();
        let (here, there) = (dir.path().join("here"), dir.path().join("there"));
        let store = open(&here);
        store.vouch().unwrap();
        drop(store);
        fs::create_dir(&there).unwrap();
        fs::copy(here.join("LOCK"), there.join("LOCK")).unwrap();
        assert!(!open(&there).is_whole(), "a file of another birth");
        let stamp = fs::read_to_string(here.join("LOCK")).unwrap();
        fs::write(here.join("LOCK"), stamp.replacen(|c: char| c.is_ascii_hexdigit(), "x", 1)).unwrap();
        assert!(!open(&here).is_whole(), "another boot");
        fs::write(here.join("LOCK"), [0xff, 0xfe]).unwrap();
        assert!(!open(&here).is_whole());
        assert!(fs::read(here.join("LOCK")).unwrap().is_empty(), "not believed later, either");
    }
}
