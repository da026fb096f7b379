// SPDX-License-Identifier: Apache-2.0

//! What metadata servers say that is not about an inode. Bounded by the number of slots and of transactions under way; of what has no
//! bound the first ones are kept.

use nyala_wire::check::ServerFact;
use nyala_wire::meta_tx::TxId;
use nyala_wire::{InodeId, SessionId, Slot, TargetId};
use std::collections::{BTreeMap, BTreeSet};

/// Things of a kind that are kept.
const MAX_PER_KIND: usize = 10_000;

/// One server.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// Transactions that are prepared.
    pub prepared: BTreeSet<TxId>,
    /// Transactions that are decided, and who has not confirmed them.
    pub committed: BTreeMap<u64, Vec<TargetId>>,
    /// Sessions that there are not, and for which replies are kept.
    pub stray_replies: BTreeSet<SessionId>,
    /// Keys of rows that cannot be read.
    pub unreadable: BTreeSet<Vec<u8>>,
    /// Next sequence numbers.
    pub next: BTreeMap<Slot, u64>,
    /// Largest sequence number of an inode of each slot.
    pub highest: BTreeMap<Slot, u64>,
    /// Inodes, by the server's count.
    pub count: Option<u64>,
    /// Inodes that were seen.
    pub seen: u64,
    /// First and last log position at which it was read.
    pub positions: Option<(u64, u64)>,
}

impl Server {
    /// Whether nothing changed while it was read.
    pub fn is_steady(&self) -> bool {
        self.positions.is_some_and(|(first, last)| first == last)
    }

    /// It was read at this log position.
    pub fn read_at(&mut self, position: u64) {
        let first = self.positions.map_or(position, |(first, _)| first);
        self.positions = Some((first, position));
    }

    /// An inode was seen.
    pub fn see(&mut self, inode: InodeId) {
        self.seen += 1;
        let highest = self.highest.entry(inode.slot()).or_default();
        *highest = (*highest).max(inode.sequence());
    }

    /// Takes in what is not about an inode.
    pub fn take(&mut self, fact: ServerFact) {
        match fact {
            ServerFact::Prepared { tx } if self.prepared.len() < MAX_PER_KIND => drop(self.prepared.insert(tx)),
            ServerFact::Committed { number, waits_for } if self.committed.len() < MAX_PER_KIND => {
                self.committed.insert(number, waits_for);
            }
            ServerFact::StrayReplies { session } if self.stray_replies.len() < MAX_PER_KIND => {
                self.stray_replies.insert(session);
            }
            ServerFact::Unreadable { key } if self.unreadable.len() < MAX_PER_KIND => {
                self.unreadable.insert(key.into());
            }
            ServerFact::NextSequence { slot, next } => drop(self.next.insert(slot, next)),
            ServerFact::Count { inodes } => self.count = Some(inodes),
            _ => {}
        }
    }
}

/// All servers.
pub type Servers = BTreeMap<TargetId, Server>;
