// SPDX-License-Identifier: Apache-2.0

//! What a storage service may be asked for, as requests are counted.

use nyala_wire::message_type;
use nyala_wire::storage::StorageOp;

macro_rules! ops {
    ($($op:ident = $name:literal,)*) => {
        /// What may be asked for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Op {
            $($op,)*
        }

        const NAMES: &[&str] = &[$($name),*];
    };
}

ops! {
    Write = "write",
    Read = "read",
    Truncate = "truncate",
    Punch = "punch",
    Sync = "sync",
    Unlink = "unlink",
    Stat = "stat",
    Seek = "seek",
    Fence = "fence",
    Copy = "copy",
    Repair = "repair",
    Walk = "walk",
    List = "list",
    Allocate = "allocate",
    MirrorWrite = "mirror_write",
    MirrorRead = "mirror_read",
    MirrorOther = "mirror_other",
    Replica = "replica",
    Proofs = "proofs",
    Grants = "grants",
    Raid = "raid",
    Scrub = "scrub",
    Ping = "ping",
    Stats = "stats",
    Metrics = "metrics",
    Busiest = "busiest",
    Unknown = "unknown",
}

impl Op {
    /// The names of all, by number.
    pub fn names() -> Vec<&'static str> {
        NAMES.to_vec()
    }

    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// What a message of this type asks for, as far as that says it.
    pub fn of(message_type: u16) -> Op {
        match message_type {
            message_type::STORAGE_WRITE => Op::Write,
            message_type::STORAGE_READ => Op::Read,
            message_type::STORAGE_REPLICA | message_type::STORAGE_REPLICAS => Op::Replica,
            message_type::STORAGE_PROOFS => Op::Proofs,
            message_type::STORAGE_GRANTS => Op::Grants,
            message_type::STORAGE_RAID => Op::Raid,
            message_type::STORAGE_SCRUB => Op::Scrub,
            message_type::PING => Op::Ping,
            message_type::STATS => Op::Stats,
            message_type::METRICS => Op::Metrics,
            message_type::BUSIEST => Op::Busiest,
            _ => Op::Unknown,
        }
    }

    /// What a request to a mirror group asks for.
    pub fn mirrored(kind: u16) -> Op {
        match kind {
            message_type::STORAGE_WRITE => Op::MirrorWrite,
            message_type::STORAGE_READ => Op::MirrorRead,
            _ => Op::MirrorOther,
        }
    }

    /// What is neither a read nor a write.
    pub fn other(op: &StorageOp) -> Op {
        match op {
            StorageOp::Truncate { .. } => Op::Truncate,
            StorageOp::Punch { .. } => Op::Punch,
            StorageOp::Sync => Op::Sync,
            StorageOp::Unlink => Op::Unlink,
            StorageOp::Stat => Op::Stat,
            StorageOp::Seek { .. } => Op::Seek,
            StorageOp::Fence { .. } => Op::Fence,
            StorageOp::Copy { .. } => Op::Copy,
            StorageOp::Repair { .. } => Op::Repair,
            StorageOp::Walk { .. } => Op::Walk,
            StorageOp::List { .. } => Op::List,
            StorageOp::Allocate { .. } => Op::Allocate,
        }
    }
}
