// SPDX-License-Identifier: Apache-2.0

//! epoll, and the counters (eventfd) that wake its threads.

use super::fds::Object;
use super::sched::{self, Tid, Wait};
use super::{Kernel, clock, fails, real, runs, with};
use libc::{c_int, c_uint, epoll_event};
use std::collections::{BTreeMap, VecDeque};

const IN: u32 = libc::EPOLLIN as u32;
const OUT: u32 = libc::EPOLLOUT as u32;
/// Reported whether asked for or not.
const ALWAYS: u32 = (libc::EPOLLERR | libc::EPOLLHUP) as u32;

struct Interest {
    object: Option<Object>,
    events: u32,
    data: u64,
}

#[derive(Default)]
pub struct Epoll {
    interests: BTreeMap<c_int, Interest>,
    /// Descriptors with something to report, in the order in which it came.
    ready: VecDeque<c_int>,
    pub waiters: Vec<Tid>,
}

impl Epoll {
    fn forget(&mut self, fd: c_int) {
        self.interests.remove(&fd);
        self.ready.retain(|ready| *ready != fd);
    }

    fn is_ready(&mut self, fd: c_int) {
        if !self.ready.contains(&fd) {
            self.ready.push_back(fd);
        }
    }
}

/// An eventfd.
#[derive(Default)]
pub struct Counter {
    value: u64,
}

impl Kernel {
    /// The descriptor of an object is closed.
    pub fn forget_descriptor(&mut self, fd: c_int, object: Object) {
        let mut at = 0;
        while let Some(watcher) = self.watchers.get(object, at) {
            if watcher.1 == fd {
                self.watchers.remove(object, watcher);
                self.epolls[watcher.0].forget(fd);
            } else {
                at += 1;
            }
        }
    }

    fn readiness(&self, object: Object) -> u32 {
        match object {
            Object::Socket(socket) => self.sockets[socket].readiness(self),
            Object::Counter(counter) => OUT | if self.counters[counter].value > 0 { IN } else { 0 },
            Object::Epoll(_) => 0,
        }
    }

    /// Something happened that makes `events` true of an object.
    pub fn notify(&mut self, object: Object, events: u32) {
        let (mut at, mut told) = (0, None);
        while let Some((epoll, fd)) = self.watchers.get(object, at) {
            at += 1;
            let it = &mut self.epolls[epoll];
            if it.interests.get(&fd).is_none_or(|interest| (interest.events | ALWAYS) & events == 0) {
                continue;
            }
            it.is_ready(fd);
            // One of those that wait there, however many descriptors it has for this.
            if told.replace(epoll) != Some(epoll) {
                let waiter = it.waiters.first().copied();
                waiter.into_iter().for_each(|thread| self.wake(thread));
            }
        }
    }

    fn collect(&mut self, epoll: usize, room: &mut [epoll_event]) -> usize {
        let (mut found, mut again) = (0, Vec::new());
        while found < room.len()
            && let Some(fd) = self.epolls[epoll].ready.pop_front()
        {
            let Some(interest) = self.epolls[epoll].interests.get(&fd) else { continue };
            let (wanted, data, object) = (interest.events, interest.data, interest.object);
            let events = object.map_or(0, |object| self.readiness(object)) & (wanted | ALWAYS);
            if events != 0 {
                room[found] = epoll_event { events, u64: data };
                found += 1;
                if wanted & libc::EPOLLET as u32 == 0 {
                    again.push(fd);
                }
            }
        }
        again.into_iter().for_each(|fd| self.epolls[epoll].is_ready(fd));
        found
    }

    /// Reads a counter; `None` if it is zero.
    pub fn take_counter(&mut self, counter: usize) -> Option<u64> {
        Some(std::mem::take(&mut self.counters[counter].value)).filter(|value| *value > 0)
    }

    /// Adds to a counter.
    pub fn raise_counter(&mut self, counter: usize, by: u64) {
        self.counters[counter].value += by;
        self.notify(Object::Counter(counter), IN);
    }
}

#[unsafe(no_mangle)]
extern "C" fn epoll_create1(flags: c_int) -> c_int {
    if !runs() {
        // SAFETY: takes no memory.
        return unsafe { real::libc_call(libc::SYS_epoll_create1, [flags as usize, 0, 0, 0, 0, 0]) as c_int };
    }
    sched::enter("epoll", &[]);
    with(|kernel| {
        kernel.epolls.push(Epoll::default());
        kernel.open(Object::Epoll(kernel.epolls.len() - 1))
    })
}

#[unsafe(no_mangle)]
extern "C" fn eventfd(value: c_uint, flags: c_int) -> c_int {
    if !runs() {
        // SAFETY: takes no memory.
        return unsafe { real::libc_call(libc::SYS_eventfd2, [value as usize, flags as usize, 0, 0, 0, 0]) as c_int };
    }
    sched::enter("eventfd", &[]);
    with(|kernel| {
        kernel.counters.push(Counter { value: value.into() });
        kernel.open(Object::Counter(kernel.counters.len() - 1))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_ctl(epoll: c_int, operation: c_int, fd: c_int, event: *mut epoll_event) -> c_int {
    if !runs() {
        let arguments = [epoll as usize, operation as usize, fd as usize, event as usize, 0, 0];
        // SAFETY: the caller's.
        return unsafe { real::libc_call(libc::SYS_epoll_ctl, arguments) as c_int };
    }
    // SAFETY: the caller's event, if there is one.
    let event = unsafe { event.as_ref() }.copied();
    sched::enter("epoll-ctl", &[fd as u64, operation as u64]);
    let done = with(|kernel| kernel.control(epoll, operation, fd, event));
    done.map_or_else(|errno| fails(errno) as c_int, |()| 0)
}

impl Kernel {
    fn control(&mut self, epoll: c_int, operation: c_int, fd: c_int, event: Option<epoll_event>) -> Result<(), c_int> {
        let Some(Object::Epoll(epoll)) = self.fds.get(epoll) else { return Err(libc::EBADF) };
        let object = self.fds.get(fd);
        let known = self.epolls[epoll].interests.contains_key(&fd);
        match (operation, known, event) {
            (libc::EPOLL_CTL_DEL, true, _) => {
                object.into_iter().for_each(|object| self.watchers.remove(object, (epoll, fd)));
                self.epolls[epoll].forget(fd);
                Ok(())
            }
            (libc::EPOLL_CTL_ADD, true, _) => Err(libc::EEXIST),
            (libc::EPOLL_CTL_ADD, false, Some(event)) | (libc::EPOLL_CTL_MOD, true, Some(event)) => {
                let interest = Interest { object, events: event.events, data: event.u64 };
                let now = object.map_or(0, |object| self.readiness(object)) & (interest.events | ALWAYS);
                object.into_iter().for_each(|object| self.watchers.add(object, (epoll, fd)));
                let at = &mut self.epolls[epoll];
                at.interests.insert(fd, interest);
                if now != 0 {
                    at.is_ready(fd);
                    let waiter = at.waiters.first().copied();
                    waiter.into_iter().for_each(|thread| self.wake(thread));
                }
                Ok(())
            }
            (_, false, _) => Err(libc::ENOENT),
            _ => Err(libc::EFAULT),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_wait(fd: c_int, into: *mut epoll_event, most: c_int, timeout_ms: c_int) -> c_int {
    if !runs() {
        let arguments = [fd as usize, into as usize, most as usize, timeout_ms as usize, 0, 8];
        // SAFETY: the caller's.
        return unsafe { real::libc_call(libc::SYS_epoll_pwait, arguments) as c_int };
    }
    sched::enter("epoll-wait", &[fd as u64]);
    let Some(Object::Epoll(epoll)) = with(|kernel| kernel.fds.get(fd)) else { return fails(libc::EBADF) as c_int };
    // SAFETY: the caller gives so much room.
    let room = unsafe { std::slice::from_raw_parts_mut(into, most.max(1) as usize) };
    let until = u64::try_from(timeout_ms).ok();
    let deadline = until.map(|ms| clock::after(ms * clock::MILLI));
    loop {
        let found = with(|kernel| kernel.collect(epoll, room));
        if found > 0 || timeout_ms == 0 {
            return found as c_int;
        }
        if sched::wait(Wait::Epoll(epoll), deadline) {
            return with(|kernel| kernel.collect(epoll, room)) as c_int;
        }
    }
}
