// SPDX-License-Identifier: Apache-2.0

//! Positions of changes at one server.

use crate::rpc::logic::effects::ChangedPart;
use nyala_wire::InodeId;
use std::collections::{BTreeMap, HashMap};

/// Last positions of changes of content, and of others.
pub(super) type Mark = [u64; 2];

/// Fewer marks than this are not looked through.
pub(super) const FEW: usize = 1024;
/// Runs of one server whose changes are doubtful or lost; the oldest are forgotten.
pub(super) const MAX_PAST: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Server {
    pub(super) run: u32,
    pub(super) durable: u64,
    /// Last position of each inode's changes, where that may not be on disk.
    pub(super) marks: HashMap<InodeId, Mark>,
    /// So many marks are looked through for those that are on disk by now.
    pub(super) room: usize,
    pub(super) past: BTreeMap<u32, Past>,
}

/// Changes of a run that is over.
#[derive(Debug, Default)]
pub(super) struct Past {
    /// What is there; `None`: not asked yet.
    pub(super) survived: Option<u64>,
    pub(super) marks: HashMap<InodeId, Mark>,
}

pub(super) fn note(marks: &mut HashMap<InodeId, Mark>, (inode, part): (InodeId, ChangedPart), position: u64) {
    let mark = marks.entry(inode).or_default();
    let place = &mut mark[usize::from(part == ChangedPart::Other)];
    *place = position.max(*place);
}

impl Server {
    /// What was lost of its content is back.
    pub(super) fn content_replaced(&mut self, inode: InodeId) {
        for past in self.past.values_mut() {
            if let Some(mark) = past.marks.get_mut(&inode) {
                mark[0] = 0;
                if *mark == Mark::default() {
                    past.marks.remove(&inode);
                }
            }
        }
        self.tidy();
    }

    pub(super) fn next_run(&mut self, run: u32) {
        self.prune();
        let marks = std::mem::take(&mut self.marks);
        if !marks.is_empty() {
            self.past.entry(self.run).or_default().marks.extend(marks);
        }
        (self.run, self.durable, self.room) = (run, 0, 0);
        self.tidy();
    }

    pub(super) fn prune(&mut self) {
        let durable = self.durable;
        self.marks.retain(|_, mark| mark.iter().any(|part| *part > durable));
    }

    pub(super) fn tidy(&mut self) {
        self.past.retain(|_, past| !past.marks.is_empty());
        while self.past.len() > MAX_PAST {
            self.past.pop_first();
        }
    }
}
