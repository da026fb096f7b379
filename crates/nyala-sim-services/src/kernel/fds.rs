// SPDX-License-Identifier: Apache-2.0

//! Descriptors of simulated things. Each has a number that the real kernel knows too (a copy of one for `/dev/null`), so that no
//! real file gets the same.

use super::process::Pid;
use super::sched::me;
use super::{Kernel, real, with};
use std::ffi::c_int;

/// What a descriptor stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    Socket(usize),
    Epoll(usize),
    Counter(usize),
}

#[derive(Default)]
pub struct Table {
    entries: Vec<Option<(Object, Pid)>>,
    null: Option<c_int>,
}

impl Table {
    pub fn get(&self, fd: c_int) -> Option<Object> {
        Some(self.entries.get(usize::try_from(fd).ok()?)?.as_ref()?.0)
    }

    fn insert(&mut self, fd: c_int, object: Object, process: Pid) {
        let at = fd as usize;
        if self.entries.len() <= at {
            self.entries.resize(at + 1, None);
        }
        self.entries[at] = Some((object, process));
    }

    fn is_open(&self, object: Object) -> bool {
        self.entries.iter().flatten().any(|(open, _)| *open == object)
    }
}

impl Kernel {
    /// A new descriptor, of the process that asks.
    pub fn open(&mut self, object: Object) -> c_int {
        let null = *self.fds.null.get_or_insert_with(|| {
            // SAFETY: a path that ends with a zero byte.
            let flags = (libc::O_RDWR | libc::O_CLOEXEC) as usize;
            unsafe { real::call(libc::SYS_open, [c"/dev/null".as_ptr() as usize, flags, 0, 0, 0, 0]) as c_int }
        });
        self.duplicate(null, object)
    }

    fn duplicate(&mut self, of: c_int, object: Object) -> c_int {
        let arguments = [of as usize, libc::F_DUPFD_CLOEXEC as usize, 3, 0, 0, 0];
        // SAFETY: takes no memory.
        let fd = unsafe { real::call(libc::SYS_fcntl, arguments) } as c_int;
        assert!(fd >= 0, "the real kernel has no descriptors left");
        let process = self.sched.threads[me()].process;
        self.fds.insert(fd, object, process);
        fd
    }

    /// Another descriptor for the same.
    pub fn copy_of(&mut self, fd: c_int, object: Object) -> c_int {
        self.duplicate(fd, object)
    }

    /// Closes a descriptor, and what it stands for with the last one.
    fn close(&mut self, fd: c_int) {
        let Some((object, _)) = self.fds.entries.get_mut(fd as usize).and_then(Option::take) else { return };
        // SAFETY: the number is ours.
        unsafe { real::call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) };
        self.forget_descriptor(fd, object);
        if !self.fds.is_open(object)
            && let Object::Socket(socket) = object
        {
            self.close_socket(socket);
        }
    }
}

/// Closes one; `None` if it is not simulated.
pub fn close(fd: c_int) -> Option<()> {
    with(|kernel| {
        kernel.fds.get(fd)?;
        kernel.close(fd);
        Some(())
    })
}

/// Closes all of a process that is gone.
pub fn close_all_of(process: Pid) {
    with(|kernel| {
        let of = |(fd, entry): (usize, &Option<(Object, Pid)>)| {
            entry.is_some_and(|(_, owner)| owner == process).then_some(fd as c_int)
        };
        let open: Vec<c_int> = kernel.fds.entries.iter().enumerate().filter_map(of).collect();
        open.into_iter().for_each(|fd| kernel.close(fd));
    });
}
