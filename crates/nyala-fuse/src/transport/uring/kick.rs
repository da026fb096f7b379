// SPDX-License-Identifier: Apache-2.0

//! Makes the kernel look at a queue again.
//!
//! The kernel hands a request that found no entry to the next entry that is *given back* with a reply; one that is newly
//! registered takes new requests only. Where nothing is given back, because all wait, the kernel is asked for a
//! retrieval of nothing from a file in use (`FUSE_NOTIFY_RETRIEVE`). It comes as a NOTIFY_REPLY in the queue of the CPU
//! that asked, in a new entry; giving that back brings the first request that waits.
//!
//! **Failure model.** The kernel does this with regular files only, and the file may be gone: others are tried. The queue's CPU may
//! be closed to this process. Then what waits goes on when any request of its queue is answered, which is said.

use super::cpus;
use crate::abi::notify::{RETRIEVE, RetrieveOut};
use crate::abi::opcode::Opcode;
use crate::transport::dev::Device;
use rustix::thread::{sched_getaffinity, sched_setaffinity};
use std::io::{self, IoSlice};
use zerocopy::IntoBytes;

/// The kernel's own numbers count up from 2 in steps of 2 and will never come here.
const UNIQUE: u64 = 1 << 62;

/// Whether a request is what [`kick`] has brought about.
pub(super) fn is_kick(opcode: u32) -> bool {
    opcode == Opcode::NotifyReply as u32
}

/// Has so many requests of no content put into a queue, for one of these inodes.
pub(super) fn kick(device: &Device, qid: u16, times: usize, inodes: &[u64]) -> io::Result<()> {
    let before = sched_getaffinity(None)?;
    cpus::pin(usize::from(qid))?;
    let mut asked = Err(io::Error::from_raw_os_error(libc::ENOENT));
    for nodeid in inodes {
        let ask = RetrieveOut { notify_unique: UNIQUE, nodeid: *nodeid, ..RetrieveOut::default() };
        asked = (0..times).try_for_each(|_| device.write(0, RETRIEVE, &[IoSlice::new(ask.as_bytes())]));
        if asked.is_ok() {
            break;
        }
    }
    sched_setaffinity(None, &before)?;
    asked
}
