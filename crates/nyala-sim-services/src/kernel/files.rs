// SPDX-License-Identifier: Apache-2.0

//! What is simulated of real files: syncs do nothing, locks end with their process, and every file system has the same size.
//! What power cuts take lies on simulated disks, above this.

use super::process::{Pid, WORLD};
use super::sched::me;
use super::{real, runs, with};
use libc::{c_char, c_int, statvfs64 as Size};

/// Of every file system.
const BYTES: u64 = 64 << 30;
const INODES: u64 = 1 << 20;
const BLOCK: u64 = 4096;

/// Real files that are locked, and by whom.
static LOCKED: std::sync::Mutex<Vec<(c_int, Pid)>> = std::sync::Mutex::new(Vec::new());

#[unsafe(no_mangle)]
extern "C" fn flock(fd: c_int, operation: c_int) -> c_int {
    // SAFETY: takes no memory.
    let done = unsafe { real::libc_call(libc::SYS_flock, [fd as usize, operation as usize, 0, 0, 0, 0]) as c_int };
    if runs() && done == 0 && operation & libc::LOCK_UN == 0 {
        let process = with(|kernel| kernel.sched.threads[me()].process);
        LOCKED.lock().expect("nobody panics with it").push((fd, process));
    }
    done
}

/// The process is gone, though the real kernel does not know.
pub fn unlock_all_of(process: Pid) {
    debug_assert_ne!(process, WORLD);
    LOCKED.lock().expect("nobody panics with it").retain(|(fd, owner)| {
        if *owner == process {
            // SAFETY: takes no memory. Descriptors of dead processes stay open, so the number still means the same file.
            unsafe { real::call(libc::SYS_flock, [*fd as usize, libc::LOCK_UN as usize, 0, 0, 0, 0]) };
        }
        *owner != process
    });
}

fn sync(number: i64, fd: c_int) -> c_int {
    if runs() {
        return 0;
    }
    // SAFETY: takes no memory.
    unsafe { real::libc_call(number, [fd as usize, 0, 0, 0, 0, 0]) as c_int }
}

#[unsafe(no_mangle)]
extern "C" fn fsync(fd: c_int) -> c_int {
    sync(libc::SYS_fsync, fd)
}

#[unsafe(no_mangle)]
extern "C" fn fdatasync(fd: c_int) -> c_int {
    sync(libc::SYS_fdatasync, fd)
}

fn size() -> Size {
    // SAFETY: numbers only.
    let mut size: Size = unsafe { std::mem::zeroed() };
    (size.f_bsize, size.f_frsize) = (BLOCK, BLOCK);
    (size.f_blocks, size.f_bfree, size.f_bavail) = (BYTES / BLOCK, BYTES / BLOCK, BYTES / BLOCK);
    (size.f_files, size.f_ffree, size.f_favail) = (INODES, INODES, INODES);
    size.f_namemax = 255;
    size
}

#[unsafe(no_mangle)]
unsafe extern "C" fn statvfs64(_path: *const c_char, into: *mut Size) -> c_int {
    // SAFETY: the caller's room.
    unsafe { *into = size() };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn statvfs(_path: *const c_char, into: *mut Size) -> c_int {
    // SAFETY: the caller's room; both have one layout on this machine.
    unsafe { *into = size() };
    0
}
