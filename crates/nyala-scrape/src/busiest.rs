// SPDX-License-Identifier: Apache-2.0

//! What a service answers to BUSIEST: which inodes it does the most for.
//!
//! **Failure model.** Memory is fixed, whatever clients use; a reading holds up a thread that counts for some microseconds. What is counted is
//! of this process: it begins anew with it.

use nyala_metrics::Heavy;
use nyala_metrics::busiest::{Busiest, SAMPLED, Top, covered_ms, is_sampled};
use nyala_wire::busiest::{BusiestReply, BusiestRequest, BusyInode, BusyInodes, MAX_BUSIEST};
use nyala_wire::{InodeId, WireError, codec};
use std::time::Instant;

/// The busiest inodes of a service, by all measures.
#[derive(Debug)]
pub struct BusyNow {
    began: Instant,
    requests: Busiest,
    bytes: Busiest,
    directories: Busiest,
}

/// A request that is looked at, and stands for others that are not.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    of: &'a BusyNow,
    now_ms: u64,
}

impl Default for BusyNow {
    fn default() -> BusyNow {
        let (requests, bytes, directories) = Default::default();
        BusyNow { began: Instant::now(), requests, bytes, directories }
    }
}

impl BusyNow {
    /// The request that this thread has now, if it is one of those that are looked at. To be asked once for each request.
    #[inline(always)]
    pub fn sample(&self) -> Option<Sample<'_>> {
        is_sampled().then(|| Sample { of: self, now_ms: self.now_ms() })
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Answers.
    pub fn answer(&self, body: &[u8]) -> Result<Vec<u8>, WireError> {
        let BusiestRequest { most } = codec::decode(body)?;
        let (now_ms, most) = (self.now_ms(), usize::from(most.min(MAX_BUSIEST)));
        let top = |busiest: &Busiest| inodes(busiest.top(now_ms, most));
        Ok(codec::encode(&BusiestReply {
            covered_ms: covered_ms(now_ms),
            sampled: SAMPLED as u32,
            requests: top(&self.requests),
            bytes: top(&self.bytes),
            directories: top(&self.directories),
        }))
    }
}

impl Sample<'_> {
    /// It is about this inode.
    pub fn inode(self, inode: InodeId, changes: bool) {
        self.of.requests.add(self.now_ms, inode.0, 1, changes.into());
    }

    /// It is about a name in this directory.
    pub fn directory(self, dir: InodeId, changes: bool) {
        self.of.directories.add(self.now_ms, dir.0, 1, changes.into());
    }

    /// It moves so many bytes of this file.
    pub fn bytes(self, inode: InodeId, bytes: u64, writes: bool) {
        self.of.bytes.add(self.now_ms, inode.0, bytes, if writes { bytes } else { 0 });
    }
}

fn inodes(top: Top) -> BusyInodes {
    let one = |Heavy { key, count, error, part }| BusyInode { inode: InodeId(key), count, error, part };
    BusyInodes { inodes: top.keys.into_iter().map(one).collect(), missed: top.missed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_are_said_by_each_measure() {
        let busy = BusyNow::default();
        let all = (0..32_000).filter_map(|n| Some((n, busy.sample()?)));
        for (n, sample) in all {
            let file = InodeId(7 + n % 4 / 3);
            sample.inode(file, n % 2 == 0);
            sample.directory(InodeId(1), true);
            sample.bytes(file, 1000, file.0 == 8);
        }
        let answer = |most| codec::decode(&busy.answer(&codec::encode(&BusiestRequest { most })).unwrap()).unwrap();
        let BusiestReply { requests, bytes, directories, sampled, .. } = answer(9);
        let near = |count: u64, of: u64| count.abs_diff(of) * 10 < of;
        let [seven, eight] = requests.inodes[..] else { panic!("{requests:?}") };
        assert_eq!((seven.inode, eight.inode, seven.error, sampled), (InodeId(7), InodeId(8), 0, 16));
        assert!(near(seven.count, 24_000) && near(eight.count, 8_000) && eight.part == 0, "{requests:?}");
        assert!(near(bytes.inodes[0].count, 24_000_000) && bytes.inodes[0].part == 0, "{bytes:?}");
        assert_eq!(bytes.inodes[1].part, bytes.inodes[1].count);
        assert_eq!((directories.inodes.len(), directories.inodes[0].inode), (1, InodeId(1)));
        assert_eq!(answer(1).requests.inodes, [seven]);
        assert!(busy.answer(b"?").is_err());
    }
}
