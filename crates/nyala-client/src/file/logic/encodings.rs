// SPDX-License-Identifier: Apache-2.0

//! Which files are to be encoded, and when. Pure.
//!
//! A file whose last handle here is closed is due some time later, unless it is opened again meanwhile. One whose data was moved often is
//! written to often: each time costs it a read and a write of all its data and two of its 64 names, so that it waits twice as long.

use nyala_wire::{InodeId, Layout};
use std::collections::HashMap;
use std::time::Duration;

/// More are left to `nyala entry encode`.
const MAX_FILES: usize = 100_000;
/// No file waits longer than 2 to this power times the shortest time.
const MAX_DOUBLINGS: u32 = 9;
/// Files that are encoded at the same time.
const AT_ONCE: usize = 2;
/// A file that others use is tried so often.
const MAX_TRIES: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due {
    at_ms: u64,
    wait_ms: u64,
    tries: u32,
}

/// Files that wait.
#[derive(Debug, Default)]
pub(crate) struct Encodings {
    files: HashMap<InodeId, Due>,
    under_way: usize,
}

impl Encodings {
    /// A file with this layout was closed.
    pub(crate) fn closed(&mut self, inode: InodeId, layout: &Layout, delay: Duration, now_ms: u64) {
        if layout.to_encode().is_none() || (self.files.len() >= MAX_FILES && !self.files.contains_key(&inode)) {
            return;
        }
        let wait_ms = (delay.as_millis() as u64) << (layout.moves / 2).min(MAX_DOUBLINGS);
        self.files.insert(inode, Due { at_ms: now_ms.saturating_add(wait_ms), wait_ms, tries: 0 });
    }

    /// The one that is due longest, which is taken out; none while enough are being encoded.
    pub(crate) fn take_due(&mut self, now_ms: u64) -> Option<Taken> {
        if self.under_way >= AT_ONCE {
            return None;
        }
        let (inode, due) = self.files.iter().filter(|(_, due)| due.at_ms <= now_ms).min_by_key(|(_, due)| due.at_ms)?;
        let taken = Taken { inode: *inode, due: *due };
        self.files.remove(&taken.inode);
        self.under_way += 1;
        Some(taken)
    }

    /// The work on one that was taken is over.
    pub(crate) fn ended(&mut self) {
        assert!(self.under_way > 0, "an encoding ends that did not begin");
        self.under_way -= 1;
    }

    /// Others use it: it is tried again, unless that was done often, or it was closed here again meanwhile.
    pub(crate) fn again(&mut self, taken: Taken, now_ms: u64) {
        let Taken { inode, due } = taken;
        if due.tries < MAX_TRIES {
            let wait_ms = due.wait_ms.saturating_mul(2);
            let due = Due { at_ms: now_ms.saturating_add(wait_ms), wait_ms, tries: due.tries + 1 };
            self.files.entry(inode).or_insert(due);
        }
    }
}

/// A file that is being encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) inode: InodeId,
    due: Due,
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::{ErasureCode, Pattern, TargetId};

    fn layout(moves: u32) -> Layout {
        let code = Some(ErasureCode { data: 2, parity: 1 });
        Layout { pattern: Pattern::Mirror, chunk_bytes: 65_536, targets: vec![TargetId(1)], moves, code }
    }

    #[test]
    fn a_file_is_due_once_some_time_after_its_last_close() {
        let (mut all, delay, file) = (Encodings::default(), Duration::from_secs(10), InodeId(7));
        all.closed(file, &layout(0), delay, 1_000);
        all.closed(file, &layout(0), delay, 3_000);
        assert!(all.take_due(12_999).is_none());
        let taken = all.take_due(13_000).unwrap();
        assert!(taken.inode == file && all.take_due(u64::MAX).is_none());
        all.ended();
        all.again(taken, 13_000);
        assert!(all.take_due(32_999).is_none() && all.take_due(33_000).is_some());
        all.ended();
        all.closed(InodeId(8), &Layout { code: None, ..layout(0) }, delay, 0);
        all.closed(InodeId(9), &Layout { pattern: Pattern::Ec, ..layout(0) }, delay, 0);
        assert!(all.take_due(u64::MAX).is_none(), "nothing is to be done for these");
    }

    #[test]
    fn what_is_written_to_often_waits_longer_and_what_others_use_is_given_up() {
        let (mut all, delay) = (Encodings::default(), Duration::from_secs(10));
        all.closed(InodeId(1), &layout(6), delay, 0);
        assert!(all.take_due(79_999).is_none() && all.take_due(80_000).is_some());
        all.ended();
        all.closed(InodeId(1), &layout(1_000_000), delay, 0);
        let mut taken = all.take_due(10_000 << MAX_DOUBLINGS);
        let mut tries = 0;
        while let Some(one) = taken {
            tries += 1;
            all.ended();
            all.again(one, 0);
            taken = all.take_due(u64::MAX);
        }
        assert_eq!(tries, 1 + MAX_TRIES);
    }
}
