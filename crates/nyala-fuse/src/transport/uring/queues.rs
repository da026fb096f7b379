// SPDX-License-Identifier: Apache-2.0

//! The entries of one thread's queues: which are the kernel's, which hold a request, and more when they run out.
//!
//! **Failure model.** A request that finds no entry waits in the kernel until one is *given back* with a reply; a newly
//! registered one takes new requests only. So a queue whose entries run low gets more before they run out, and
//! where they did run out at once, those who may wait in the kernel are fetched (`kick`). Requests that cannot be understood are
//! answered here. See also above.

use super::abi::{COMMIT_AND_FETCH, CmdReq, REGISTER};
use super::entry::EntryMem;
use super::kick::{is_kick, kick};
use crate::abi::header::InHeader;
use crate::buf::Buf;
use crate::transport::dev::Device;
use nyala_ring::{Command, Ring};
use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;

/// A queue has at most so many entries; their memory is only backed where it was touched.
const MOST_ENTRIES: usize = 1024;

struct Entry {
    /// Index into `Queues::queues`.
    queue: usize,
    mem: EntryMem,
    /// The inode of its request.
    inode: u64,
}

struct Queue {
    qid: u16,
    entries: usize,
    /// Entries that the kernel has, free for a request.
    with_kernel: usize,
    /// It ran low, and got so many entries, after requests may have begun to wait in the kernel.
    to_fetch: usize,
    told_full: bool,
}

/// The queues of one thread.
pub(super) struct Queues {
    /// The kernel finds the mount by it.
    device: Device,
    payload_bytes: usize,
    queues: Vec<Queue>,
    entries: Vec<Entry>,
    /// What each entry's request is called; zero: the entry is the kernel's. Apart, since it is searched.
    uniques: Vec<u64>,
}

fn errno(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

impl Queues {
    pub(super) fn new(device: Device, shares: &[(u16, usize)], payload_bytes: usize) -> io::Result<Queues> {
        let mut queues = Queues { device, payload_bytes, queues: Vec::new(), entries: Vec::new(), uniques: Vec::new() };
        for (index, (qid, entries)) in shares.iter().enumerate() {
            queues.queues.push(Queue { qid: *qid, entries: 0, with_kernel: 0, to_fetch: 0, told_full: false });
            for _ in 0..(*entries).clamp(1, MOST_ENTRIES) {
                queues.add(index)?;
            }
        }
        Ok(queues)
    }

    /// A new entry, not yet the kernel's; its number.
    fn add(&mut self, queue: usize) -> io::Result<usize> {
        let mem = EntryMem::new(self.payload_bytes)?;
        self.entries.push(Entry { queue, mem, inode: 0 });
        self.uniques.push(0);
        self.queues[queue].entries += 1;
        Ok(self.entries.len() - 1)
    }

    fn push(&mut self, index: usize, op: u32, commit_id: u64, memory: (u64, u32), ring: &Ring) -> io::Result<()> {
        let queue = &mut self.queues[self.entries[index].queue];
        let args = CmdReq { commit_id, qid: queue.qid, ..CmdReq::default() }.args();
        let command = Command { fd: self.device.as_raw_fd(), op, args, memory, tag: index as u64 };
        // SAFETY: the entry's memory is as the kernel's FUSE wants it. `entries` keeps it until the ring is gone, and it is
        // touched again only when the command is done.
        unsafe { ring.push(&command) }?;
        queue.with_kernel += 1;
        Ok(())
    }

    fn register(&mut self, index: usize, ring: &Ring) -> io::Result<()> {
        let memory = self.entries[index].mem.iovecs();
        self.push(index, REGISTER, 0, memory, ring)
    }

    /// Gives all entries to the kernel.
    pub(super) fn register_all(&mut self, ring: &Ring) -> io::Result<()> {
        (0..self.entries.len()).try_for_each(|index| self.register(index, ring))
    }

    fn commit(&mut self, index: usize, unique: u64, ring: &Ring) -> io::Result<()> {
        self.uniques[index] = 0;
        self.push(index, COMMIT_AND_FETCH, unique, (0, 0), ring)
    }

    /// An entry came with a request; none if it could not be understood, which has been answered.
    pub(super) fn arrived(&mut self, tag: u64, ring: &Ring) -> io::Result<Option<(InHeader, Buf)>> {
        let index = tag as usize;
        let entry = self.entries.get_mut(index).ok_or_else(|| errno(libc::EPROTO))?;
        let queue = &mut self.queues[entry.queue];
        queue.with_kernel = queue.with_kernel.saturating_sub(1);
        match entry.mem.take() {
            Ok((InHeader { unique, opcode, .. }, buf)) if is_kick(opcode) => {
                drop(buf);
                entry.mem.reply(unique, 0, &[])?;
                self.commit(index, unique, ring)?;
                Ok(None)
            }
            Ok((header, buf)) => {
                self.uniques[index] = header.unique;
                entry.inode = header.nodeid;
                let queue = entry.queue;
                self.replenish(queue, ring)?;
                Ok(Some((header, Buf::Entry(buf))))
            }
            Err(InHeader { unique, opcode, len, .. }) => {
                tracing::error!(unique, opcode, len, "the kernel sent a request of a wrong length; it is refused");
                entry.mem.reply(unique, -libc::EIO, &[])?;
                self.commit(index, unique, ring)?;
                Ok(None)
            }
        }
    }

    /// The kernel did not take an entry back: it is given anew.
    pub(super) fn lost(&mut self, tag: u64, ring: &Ring) -> io::Result<()> {
        let index = tag as usize;
        let entry = self.entries.get(index).ok_or_else(|| errno(libc::EPROTO))?;
        let queue = &mut self.queues[entry.queue];
        queue.with_kernel = queue.with_kernel.saturating_sub(1);
        self.register(index, ring)
    }

    /// Answers a request.
    pub(super) fn reply(&mut self, unique: u64, error: i32, body: &[IoSlice<'_>], ring: &Ring) -> io::Result<()> {
        let index = self.uniques.iter().position(|known| *known == unique).ok_or_else(|| errno(libc::ENOENT))?;
        let mem = &mut self.entries[index].mem;
        if body.iter().map(|part| part.len()).sum::<usize>() > mem.payload_bytes() {
            return Err(errno(libc::EINVAL));
        }
        mem.reply(unique, error, body)?;
        self.commit(index, unique, ring)
    }

    /// Doubles the entries of a queue of which fewer than a quarter are left with the kernel.
    fn replenish(&mut self, index: usize, ring: &Ring) -> io::Result<()> {
        let queue = &mut self.queues[index];
        if queue.with_kernel * 4 >= queue.entries {
            return Ok(());
        }
        let (qid, more) = (queue.qid, queue.entries.min(MOST_ENTRIES - queue.entries));
        if more == 0 && queue.with_kernel == 0 && !std::mem::replace(&mut queue.told_full, true) {
            tracing::warn!(qid, MOST_ENTRIES, "all entries of a queue are in use; new requests wait for replies");
        }
        // The entries counted here may all have been filled already, and requests be waiting.
        queue.to_fetch += more;
        for _ in 0..more {
            let added = self.add(index)?;
            self.register(added, ring)?;
        }
        Ok(())
    }

    /// Whether requests may wait in the kernel although there are entries for them.
    pub(super) fn any_to_fetch(&self) -> bool {
        self.queues.iter().any(|queue| queue.to_fetch > 0)
    }

    /// Fetches them.
    pub(super) fn fetch(&mut self, ring: &Ring) -> io::Result<()> {
        ring.flush()?;
        for index in 0..self.queues.len() {
            let queue = &mut self.queues[index];
            let (qid, times) = (queue.qid, std::mem::take(&mut queue.to_fetch));
            if times == 0 {
                continue;
            }
            let in_use =
                self.entries.iter().zip(&self.uniques).filter(|(entry, unique)| entry.queue == index && **unique != 0);
            let mut inodes: Vec<u64> = in_use.map(|(entry, _)| entry.inode).collect();
            inodes.sort_unstable();
            inodes.dedup();
            // All were answered meanwhile, and with each answer one of those who wait was fetched.
            if inodes.is_empty() {
                continue;
            }
            if let Err(error) = kick(&self.device, qid, times, &inodes) {
                // Sooner or later there is a file among them, or they are answered.
                tracing::debug!(qid, %error, "requests that wait in a queue cannot be fetched now");
                self.queues[index].to_fetch = times;
            }
        }
        Ok(())
    }
}
