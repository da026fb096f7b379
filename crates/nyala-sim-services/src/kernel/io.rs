// SPDX-License-Identifier: Apache-2.0

//! Reading and writing by descriptor: of simulated things, or else the real ones.

use super::fds::{self, Object};
use super::{Kernel, fails, real, runs, sched, with};
use libc::{c_int, c_ulong, c_void, iovec, msghdr, off_t, size_t, ssize_t};

/// The simulated thing, if it is one.
pub fn object(fd: c_int) -> Option<Object> {
    if runs() { with(|kernel| kernel.fds.get(fd)) } else { None }
}

fn answer(result: Result<usize, c_int>) -> ssize_t {
    result.map_or_else(fails, |n| n as ssize_t)
}

unsafe fn pieces<'a>(vector: *const iovec, count: usize) -> Vec<&'a [u8]> {
    if count == 0 {
        return Vec::new();
    }
    // SAFETY: the caller's vector.
    let vector = unsafe { std::slice::from_raw_parts(vector, count) };
    let used = vector.iter().filter(|piece| piece.iov_len > 0);
    // SAFETY: and what it points to.
    used.map(|piece| unsafe { std::slice::from_raw_parts(piece.iov_base.cast(), piece.iov_len) }).collect()
}

impl Kernel {
    fn write_object(&mut self, object: Object, pieces: &[&[u8]]) -> Result<usize, c_int> {
        match object {
            Object::Socket(socket) => self.transmit(socket, pieces),
            Object::Counter(counter) => {
                let value = pieces.first().and_then(|piece| piece.first_chunk().copied()).ok_or(libc::EINVAL)?;
                // The kernel's counters are in the machine's own order, which is this one.
                self.raise_counter(counter, u64::from_le_bytes(value));
                Ok(8)
            }
            Object::Epoll(_) => Err(libc::EINVAL),
        }
    }

    fn read_object(&mut self, object: Object, into: &mut [u8], peek: bool) -> Result<usize, c_int> {
        match object {
            Object::Socket(socket) => self.receive(socket, into, peek),
            Object::Counter(counter) => {
                let value = self.take_counter(counter).ok_or(libc::EAGAIN)?;
                into.get_mut(..8).ok_or(libc::EINVAL)?.copy_from_slice(&value.to_le_bytes());
                Ok(8)
            }
            Object::Epoll(_) => Err(libc::EINVAL),
        }
    }
}

fn write_to(fd: c_int, object: Object, pieces: &[&[u8]]) -> ssize_t {
    let len: usize = pieces.iter().map(|piece| piece.len()).sum();
    sched::enter("write", &[fd as u64, len as u64]);
    answer(with(|kernel| kernel.write_object(object, pieces)))
}

unsafe fn read_from(fd: c_int, object: Object, into: *mut c_void, len: size_t, peek: bool) -> ssize_t {
    sched::enter("read", &[fd as u64]);
    if len == 0 {
        return 0;
    }
    // SAFETY: the caller gives so much room.
    let into = unsafe { std::slice::from_raw_parts_mut(into.cast(), len) };
    let result = with(|kernel| {
        let result = kernel.read_object(object, into, peek);
        kernel.trace.event("got", &[result.map_or(u64::MAX, |n| n as u64)]);
        result
    });
    answer(result)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: c_int, from: *const c_void, len: size_t) -> ssize_t {
    match object(fd) {
        // SAFETY: the caller's bytes.
        Some(object) => write_to(fd, object, &[unsafe { std::slice::from_raw_parts(from.cast(), len) }]),
        // SAFETY: the caller's.
        None => unsafe { real::libc_call(libc::SYS_write, [fd as usize, from as usize, len, 0, 0, 0]) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn read(fd: c_int, into: *mut c_void, len: size_t) -> ssize_t {
    match object(fd) {
        // SAFETY: the caller's room.
        Some(object) => unsafe { read_from(fd, object, into, len, false) },
        // SAFETY: the caller's.
        None => unsafe { real::libc_call(libc::SYS_read, [fd as usize, into as usize, len, 0, 0, 0]) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn writev(fd: c_int, vector: *const iovec, count: c_int) -> ssize_t {
    match object(fd) {
        // SAFETY: the caller's vector.
        Some(object) => write_to(fd, object, &unsafe { pieces(vector, count as usize) }),
        // SAFETY: the caller's.
        None => unsafe { real::libc_call(libc::SYS_writev, [fd as usize, vector as usize, count as usize, 0, 0, 0]) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readv(fd: c_int, vector: *const iovec, count: c_int) -> ssize_t {
    let Some(object) = object(fd) else {
        let arguments = [fd as usize, vector as usize, count as usize, 0, 0, 0];
        // SAFETY: the caller's.
        return unsafe { real::libc_call(libc::SYS_readv, arguments) };
    };
    // SAFETY: the caller's vector. What is there goes into the first piece with room; a stream may give less than was asked for.
    let first = unsafe { std::slice::from_raw_parts(vector, count as usize) }.iter().find(|piece| piece.iov_len > 0);
    // SAFETY: the caller's room.
    first.map_or(0, |piece| unsafe { read_from(fd, object, piece.iov_base, piece.iov_len, false) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn send(fd: c_int, from: *const c_void, len: size_t, flags: c_int) -> ssize_t {
    match object(fd) {
        // SAFETY: the caller's bytes.
        Some(object) => write_to(fd, object, &[unsafe { std::slice::from_raw_parts(from.cast(), len) }]),
        None => {
            let arguments = [fd as usize, from as usize, len, flags as usize, 0, 0];
            // SAFETY: the caller's.
            unsafe { real::libc_call(libc::SYS_sendto, arguments) }
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recv(fd: c_int, into: *mut c_void, len: size_t, flags: c_int) -> ssize_t {
    match object(fd) {
        // SAFETY: the caller's room.
        Some(object) => unsafe { read_from(fd, object, into, len, flags & libc::MSG_PEEK != 0) },
        None => {
            let arguments = [fd as usize, into as usize, len, flags as usize, 0, 0];
            // SAFETY: the caller's.
            unsafe { real::libc_call(libc::SYS_recvfrom, arguments) }
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    match object(fd) {
        // SAFETY: the caller's message.
        Some(object) => write_to(fd, object, &unsafe { pieces((*message).msg_iov, (*message).msg_iovlen) }),
        // SAFETY: the caller's.
        None => unsafe { real::libc_call(libc::SYS_sendmsg, [fd as usize, message as usize, flags as usize, 0, 0, 0]) },
    }
}

/// Sockets of the simulation take no files: whoever would send one reads it instead.
#[unsafe(no_mangle)]
unsafe extern "C" fn sendfile(to: c_int, from: c_int, offset: *mut off_t, len: size_t) -> ssize_t {
    if object(to).is_some() {
        return fails(libc::EINVAL);
    }
    // SAFETY: the caller's.
    unsafe { real::libc_call(libc::SYS_sendfile, [to as usize, from as usize, offset as usize, len, 0, 0]) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendfile64(to: c_int, from: c_int, offset: *mut off_t, len: size_t) -> ssize_t {
    // SAFETY: the caller's.
    unsafe { sendfile(to, from, offset, len) }
}

#[unsafe(no_mangle)]
extern "C" fn close(fd: c_int) -> c_int {
    if object(fd).is_some() {
        sched::enter("close", &[fd as u64]);
        fds::close(fd);
        return 0;
    }
    // SAFETY: takes no memory; whose the descriptor is, the caller says.
    unsafe { real::libc_call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) as c_int }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int {
    match (object(fd), command) {
        (Some(object), libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) => with(|kernel| kernel.copy_of(fd, object)),
        (Some(_), libc::F_GETFL) => libc::O_RDWR | libc::O_NONBLOCK,
        (Some(_), _) => 0,
        // SAFETY: the caller's.
        (None, _) => unsafe {
            real::libc_call(libc::SYS_fcntl, [fd as usize, command as usize, argument, 0, 0, 0]) as c_int
        },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: usize) -> c_int {
    if object(fd).is_some() {
        // All sockets are non-blocking anyway.
        return if request == libc::FIONBIO { 0 } else { fails(libc::ENOTTY) as c_int };
    }
    // SAFETY: the caller's.
    unsafe { real::libc_call(libc::SYS_ioctl, [fd as usize, request as usize, argument, 0, 0, 0]) as c_int }
}
