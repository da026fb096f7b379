// SPDX-License-Identifier: Apache-2.0

//! Calls that make, bind and ask sockets.

use super::fds::Object;
use super::socket::State;
use super::{clock, fails, io, process, real, runs, sched, with};
use libc::{c_int, c_void, sockaddr, sockaddr_in, socklen_t};
use std::net::{Ipv4Addr, SocketAddrV4};

fn socket_of(fd: c_int) -> Option<usize> {
    match io::object(fd) {
        Some(Object::Socket(socket)) => Some(socket),
        _ => None,
    }
}

fn done(result: Result<(), c_int>) -> c_int {
    result.map_or_else(|errno| fails(errno) as c_int, |()| 0)
}

/// # Safety
/// An address as the C library has them.
unsafe fn read_address(address: *const sockaddr) -> Option<SocketAddrV4> {
    // SAFETY: the family comes first in all of them.
    let address = unsafe {
        if i32::from((*address).sa_family) != libc::AF_INET {
            return None;
        }
        &*address.cast::<sockaddr_in>()
    };
    Some(SocketAddrV4::new(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)), u16::from_be(address.sin_port)))
}

/// # Safety
/// Room for an address and its length, or neither.
unsafe fn write_address(address: SocketAddrV4, into: *mut sockaddr, len: *mut socklen_t) {
    if into.is_null() || len.is_null() {
        return;
    }
    let port = address.port().to_be();
    let s_addr = u32::from(*address.ip()).to_be();
    let address = sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: port,
        sin_addr: libc::in_addr { s_addr },
        sin_zero: [0; 8],
    };
    // SAFETY: the caller's room is at least that of such an address.
    unsafe {
        into.cast::<sockaddr_in>().write(address);
        *len = size_of::<sockaddr_in>() as socklen_t;
    }
}

#[unsafe(no_mangle)]
extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    let is_stream = kind & !(libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) == libc::SOCK_STREAM;
    if !runs() || domain != libc::AF_INET || !is_stream {
        let arguments = [domain as usize, kind as usize, protocol as usize, 0, 0, 0];
        // SAFETY: takes no memory.
        return unsafe { real::libc_call(libc::SYS_socket, arguments) as c_int };
    }
    sched::enter("socket", &[]);
    with(|kernel| {
        let socket = kernel.new_socket();
        kernel.open(Object::Socket(socket))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bind(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    let Some(socket) = socket_of(fd) else {
        let arguments = [fd as usize, address as usize, len as usize, 0, 0, 0];
        // SAFETY: the caller's.
        return unsafe { real::libc_call(libc::SYS_bind, arguments) as c_int };
    };
    // SAFETY: the caller's address.
    let address = unsafe { read_address(address) };
    sched::enter("bind", &[fd as u64]);
    done(address.ok_or(libc::EAFNOSUPPORT).and_then(|address| with(|kernel| kernel.bind(socket, address))))
}

#[unsafe(no_mangle)]
extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    let Some(socket) = socket_of(fd) else {
        // SAFETY: takes no memory.
        return unsafe { real::libc_call(libc::SYS_listen, [fd as usize, backlog as usize, 0, 0, 0, 0]) as c_int };
    };
    with(|kernel| kernel.sockets[socket].state = State::Listening);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn connect(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    let Some(socket) = socket_of(fd) else {
        let arguments = [fd as usize, address as usize, len as usize, 0, 0, 0];
        // SAFETY: the caller's.
        return unsafe { real::libc_call(libc::SYS_connect, arguments) as c_int };
    };
    // SAFETY: the caller's address.
    let address = unsafe { read_address(address) };
    sched::enter("connect", &[fd as u64]);
    done(address.ok_or(libc::EAFNOSUPPORT).and_then(|address| with(|kernel| kernel.connect(socket, address))))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn accept4(fd: c_int, into: *mut sockaddr, len: *mut socklen_t, flags: c_int) -> c_int {
    let Some(listener) = socket_of(fd) else {
        let arguments = [fd as usize, into as usize, len as usize, flags as usize, 0, 0];
        // SAFETY: the caller's.
        return unsafe { real::libc_call(libc::SYS_accept4, arguments) as c_int };
    };
    sched::enter("accept", &[fd as u64]);
    let accepted = with(|kernel| {
        let socket = kernel.sockets[listener].queue.pop_front()?;
        let remote = kernel.sockets[socket].remote;
        Some((kernel.open(Object::Socket(socket)), remote))
    });
    let Some((accepted, remote)) = accepted else { return fails(libc::EAGAIN) as c_int };
    if let Some(remote) = remote {
        // SAFETY: the caller's room.
        unsafe { write_address(remote, into, len) };
    }
    accepted
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getsockname(fd: c_int, into: *mut sockaddr, len: *mut socklen_t) -> c_int {
    let Some(socket) = socket_of(fd) else {
        // SAFETY: the caller's.
        return unsafe {
            real::libc_call(libc::SYS_getsockname, [fd as usize, into as usize, len as usize, 0, 0, 0]) as c_int
        };
    };
    let local = with(|kernel| kernel.sockets[socket].local);
    // SAFETY: the caller's room.
    unsafe { write_address(local, into, len) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getpeername(fd: c_int, into: *mut sockaddr, len: *mut socklen_t) -> c_int {
    let Some(socket) = socket_of(fd) else {
        // SAFETY: the caller's.
        return unsafe {
            real::libc_call(libc::SYS_getpeername, [fd as usize, into as usize, len as usize, 0, 0, 0]) as c_int
        };
    };
    let open = with(|kernel| {
        let socket = &kernel.sockets[socket];
        socket.remote.filter(|_| socket.state == State::Open)
    });
    let Some(remote) = open else { return fails(libc::ENOTCONN) as c_int };
    // SAFETY: the caller's room.
    unsafe { write_address(remote, into, len) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, len: socklen_t) -> c_int {
    let Some(socket) = socket_of(fd) else {
        let arguments = [fd as usize, level as usize, name as usize, value as usize, len as usize, 0];
        // SAFETY: the caller's.
        return unsafe { real::libc_call(libc::SYS_setsockopt, arguments) as c_int };
    };
    if (level, name) == (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT) && len as usize >= size_of::<u32>() {
        // SAFETY: the caller's value of that length.
        let ms = u64::from(unsafe { value.cast::<u32>().read_unaligned() });
        with(|kernel| kernel.sockets[socket].user_timeout = ms.max(1) * clock::MILLI);
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getsockopt(fd: c_int, level: c_int, name: c_int, into: *mut c_void, len: *mut socklen_t) -> c_int {
    let Some(socket) = socket_of(fd) else {
        let arguments = [fd as usize, level as usize, name as usize, into as usize, len as usize, 0];
        // SAFETY: the caller's.
        return unsafe { real::libc_call(libc::SYS_getsockopt, arguments) as c_int };
    };
    let value = match (level, name) {
        (libc::SOL_SOCKET, libc::SO_ERROR) => with(|kernel| kernel.sockets[socket].error.take().unwrap_or(0)),
        (libc::SOL_SOCKET, libc::SO_TYPE) => libc::SOCK_STREAM,
        (libc::SOL_SOCKET, libc::SO_DOMAIN) => libc::AF_INET,
        _ => 0,
    };
    // SAFETY: the caller's room, for a number.
    unsafe {
        into.cast::<c_int>().write_unaligned(value);
        *len = size_of::<c_int>() as socklen_t;
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn shutdown(fd: c_int, how: c_int) -> c_int {
    let Some(socket) = socket_of(fd) else {
        // SAFETY: takes no memory.
        return unsafe { real::libc_call(libc::SYS_shutdown, [fd as usize, how as usize, 0, 0, 0, 0]) as c_int };
    };
    sched::enter("shutdown", &[fd as u64]);
    if how == libc::SHUT_RD {
        return 0;
    }
    done(with(|kernel| kernel.finish(socket)))
}

/// The address of a machine, for those that configure services.
pub fn address(machine: process::MachineId, port: u16) -> std::net::SocketAddr {
    (process::address(machine), port).into()
}
