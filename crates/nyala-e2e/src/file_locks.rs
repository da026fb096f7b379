// SPDX-License-Identifier: Apache-2.0

//! Locks of applications: `flock`, byte ranges of processes (`fcntl`) and of open files (OFD).

use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::AsRawFd;

/// Whose lock it is and what it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `flock`: the whole file, of the open file.
    Flock,
    /// `F_SETLK`: a range, of the process.
    Fcntl,
    /// `F_OFD_SETLK`: a range, of the open file.
    Ofd,
}

impl Way {
    /// All of them.
    pub const ALL: [Way; 3] = [Way::Flock, Way::Fcntl, Way::Ofd];

    /// By its name on a command line.
    pub fn parse(name: &str) -> Option<Way> {
        Way::ALL.into_iter().find(|way| way.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Way::Flock => "flock",
            Way::Fcntl => "fcntl",
            Way::Ofd => "ofd",
        }
    }
}

/// How it is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Shared.
    Read,
    /// Exclusive.
    Write,
    /// Given up.
    Unlock,
}

impl Kind {
    fn fcntl(self) -> i16 {
        (match self {
            Kind::Read => libc::F_RDLCK,
            Kind::Write => libc::F_WRLCK,
            Kind::Unlock => libc::F_UNLCK,
        }) as i16
    }
}

fn range(kind: Kind, start: i64, len: i64) -> libc::flock {
    libc::flock { l_type: kind.fcntl(), l_whence: libc::SEEK_SET as i16, l_start: start, l_len: len, l_pid: 0 }
}

/// Takes a lock or gives one up; `len` 0 is to the end, wherever that is. Waits if told to.
pub fn set(file: &File, way: Way, kind: Kind, start: i64, len: i64, wait: bool) -> Result<()> {
    let fd = file.as_raw_fd();
    let range = range(kind, start, len);
    let result = match way {
        Way::Flock => {
            let kind = match kind {
                Kind::Read => libc::LOCK_SH,
                Kind::Write => libc::LOCK_EX,
                Kind::Unlock => libc::LOCK_UN,
            };
            // SAFETY: a system call without memory.
            unsafe { libc::flock(fd, if wait { kind } else { kind | libc::LOCK_NB }) }
        }
        Way::Fcntl => {
            // SAFETY: the structure lives through the call.
            unsafe { libc::fcntl(fd, if wait { libc::F_SETLKW } else { libc::F_SETLK }, &range) }
        }
        Way::Ofd => {
            // SAFETY: the structure lives through the call.
            unsafe { libc::fcntl(fd, if wait { libc::F_OFD_SETLKW } else { libc::F_OFD_SETLK }, &range) }
        }
    };
    if result == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

/// What stands in the way of a lock of the process (`F_GETLK`): kind, start, length (0: to the end).
pub fn get(file: &File, kind: Kind, start: i64, len: i64) -> Result<Option<(Kind, i64, i64)>> {
    let mut range = range(kind, start, len);
    // SAFETY: the structure lives through the call.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &mut range) } != 0 {
        return Err(Error::last_os_error());
    }
    Ok(match libc::c_int::from(range.l_type) {
        libc::F_RDLCK => Some((Kind::Read, range.l_start, range.l_len)),
        libc::F_WRLCK => Some((Kind::Write, range.l_start, range.l_len)),
        _ => None,
    })
}
