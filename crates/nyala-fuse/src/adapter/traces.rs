// SPDX-License-Identifier: Apache-2.0

//! Requests of the kernel that a mount follows for a while, for `nyala trace --mount`.
//!
//! Root asks for it with an attribute, and gets what was followed with another one: neither is in a listing, and nothing of them is stored. Each request
//! that is followed has an id of its own, under which its requests to services are followed, too; services keep their parts.
//!
//! **Failure model.** Whoever asks may go and never come back: following ends by itself after the time that was asked for, ten minutes at most. What is
//! kept is bounded, and the oldest goes first. A request that never ends, or ends after following did, is not in it, nor what is left to the background when one is answered.

use super::convert::inode;
use crate::Errno;
use crate::abi::opcode::Opcode;
use crate::types::{Arrived, Ino, Result};
use nyala_wire::trace::{MountRequest, MountTrace};
use nyala_wire::{InodeId, codec};
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Asks for it: `EVERY SECONDS`, one request in so many, for so long; `0 0` ends it. Of the root all requests are meant, of others those about this inode
/// or about names in it. Write only.
pub const TRACE: &[u8] = b"system.nyala.trace";
/// What was followed since it was asked for, the newest first: a list of [`MountTrace`] in CBOR. Read only.
pub const TRACES: &[u8] = b"system.nyala.traces";

/// Requests that are kept.
const MAX_TRACES: usize = 512;
/// Longest value: the kernel takes no longer one.
const MOST_BYTES: usize = 65_536;
const LONGEST: Duration = Duration::from_secs(600);

/// A request to a service, as the client saw it.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Who was asked.
    pub address: SocketAddr,
    /// Its id in its connection.
    pub request: u64,
    /// What was asked.
    pub message_type: u16,
    /// When it began and ended.
    pub took: (Instant, Instant),
}

/// What is to be followed, and what was.
#[derive(Debug, Default)]
pub struct Traces {
    /// One in so many; 0: none.
    every: AtomicU32,
    seen: AtomicU32,
    next: AtomicU64,
    wanted: Mutex<Wanted>,
}

#[derive(Debug, Default)]
struct Wanted {
    until: Option<Instant>,
    of: Option<InodeId>,
    kept: VecDeque<MountTrace>,
}

impl Traces {
    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody asks for it, of this inode.
    pub fn ask(&self, ino: Ino, value: &[u8], now: Instant) -> Result<()> {
        let words = std::str::from_utf8(value).ok().and_then(|text| text.trim().split_once(' '));
        let numbers = words.and_then(|(every, seconds)| Some((every.parse().ok()?, seconds.parse().ok()?)));
        let (every, seconds): (u32, u64) = numbers.ok_or(Errno::EINVAL)?;
        let mut wanted = self.wanted();
        if every > 0 {
            wanted.kept.clear();
            wanted.of = Some(inode(ino)).filter(|inode| *inode != InodeId::ROOT);
            wanted.until = Some(now + Duration::from_secs(seconds).min(LONGEST));
            // Ids that no other mount has, nor this one had before.
            self.next.store(RandomState::new().build_hasher().finish(), Ordering::Relaxed);
        }
        self.every.store(every, Ordering::Relaxed);
        Ok(())
    }

    /// The id under which a request is followed that comes now.
    #[inline(always)]
    pub fn id(&self, arrived: &Arrived) -> Option<u64> {
        match self.every.load(Ordering::Relaxed) {
            0 => None,
            every => self.sampled(arrived, every),
        }
    }

    #[cold]
    fn sampled(&self, arrived: &Arrived, every: u32) -> Option<u64> {
        let wanted = self.wanted();
        if wanted.until.is_none_or(|until| until < arrived.came) {
            self.every.store(0, Ordering::Relaxed);
            return None;
        }
        if wanted.of.is_some_and(|of| of != inode(arrived.ino)) {
            return None;
        }
        let seen = self.seen.fetch_add(1, Ordering::Relaxed);
        seen.is_multiple_of(every).then(|| self.next.fetch_add(1, Ordering::Relaxed).max(1))
    }

    /// A request that was followed is done now. When following has ended meanwhile, as by the request that ends it, it is not kept.
    pub fn add(&self, trace: u64, arrived: Arrived, now: Instant, asked: impl Iterator<Item = Asked>) {
        if self.every.load(Ordering::Relaxed) == 0 {
            return;
        }
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let since = |at: Instant| ns(at.saturating_duration_since(arrived.came) + arrived.queued);
        // What ended later was not waited for.
        let asked = asked.filter(|asked| asked.took.1 <= now).map(|asked| MountRequest {
            address: asked.address,
            request: asked.request,
            message_type: asked.message_type,
            at_ns: since(asked.took.0),
            ns: ns(asked.took.1.saturating_duration_since(asked.took.0)),
        });
        let followed = MountTrace {
            trace,
            operation: Opcode::from_number(arrived.opcode).map_or("unknown", Opcode::word).to_owned(),
            inode: inode(arrived.ino),
            queue_ns: ns(arrived.queued),
            total_ns: since(now),
            requests: asked.collect(),
            ended_unix_ns: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, ns),
        };
        let kept = &mut self.wanted().kept;
        kept.drain(..kept.len().saturating_sub(MAX_TRACES - 1));
        kept.push_back(followed);
    }

    /// The value of [`TRACES`]: as many as fit.
    pub fn value(&self) -> Vec<u8> {
        let mut newest: Vec<MountTrace> = self.wanted().kept.iter().rev().cloned().collect();
        while codec::encode(&newest).len() > MOST_BYTES {
            newest.truncate(newest.len() * 3 / 4);
        }
        codec::encode(&newest)
    }
}

#[cfg(test)]
mod tests;
