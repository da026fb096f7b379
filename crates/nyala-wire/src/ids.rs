// SPDX-License-Identifier: Apache-2.0

//! Identifiers. Each is a newtype, so that a node is never taken for a target.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $int:ty) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode, Serialize, Deserialize,
        )]
        #[cbor(transparent)]
        #[serde(transparent)]
        pub struct $name(#[n(0)] pub $int);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = std::num::ParseIntError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map($name)
            }
        }
    };
}

id!(
    /// A service instance registered with management. 0 is nobody.
    NodeId,
    u32
);
id!(
    /// A metadata or storage target. Metadata and storage targets share one number space. 0 is none.
    TargetId,
    u16
);
id!(
    /// A mirror group of targets. 0 is none.
    GroupId,
    u16
);
id!(
    /// A storage pool. 1 is the default pool.
    PoolId,
    u16
);
id!(
    /// The part of the name space that an inode belongs to; the cluster map says which metadata target serves it.
    Slot,
    u16
);
id!(
    /// Version of the cluster map; grows by at least one with every change.
    MapVersion,
    u64
);
impl MapVersion {
    /// From one recovery of management to the next. A cluster never counts so far in between.
    const PER_RECOVERY: u64 = 1 << 32;

    /// How often an operator had given up the majority of management when this version began. Whoever has seen a map of a
    /// higher count takes no word of management with a lower one.
    pub fn recoveries(self) -> u64 {
        self.0 / Self::PER_RECOVERY
    }

    /// The first version after another recovery; `None` when there can be none.
    pub fn after_recovery(self) -> Option<MapVersion> {
        (self.recoveries() + 1).checked_mul(Self::PER_RECOVERY).map(MapVersion)
    }
}
id!(
    /// A client's session with the metadata services: random, unique in the cluster, never 0.
    SessionId,
    u64
);
id!(
    /// Position in a metadata log.
    LogPosition,
    u64
);

/// Number of slots that a cluster can have; slots are numbered from 0.
pub const MAX_SLOTS: u32 = 1 << 16;

/// An inode: the slot in the upper 16 bits, two bits that are zero (clients use them for purposes of their own), a sequence
/// number within the slot in the lower 46. Never reused.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode, Serialize, Deserialize)]
#[cbor(transparent)]
#[serde(transparent)]
pub struct InodeId(#[n(0)] pub u64);

impl SessionId {
    /// Bits that say whose session it is; those above number its client's sessions.
    const CLIENT_BITS: u32 = 52;
    const CLIENT: u64 = (1 << Self::CLIENT_BITS) - 1;
    /// The golden ratio in 64 bits: odd, so that clients go on under numbers that are as random as the first.
    const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;

    /// The id of a client's session with this number, from 0 on. `client` is random. After 4,096 sessions a client goes on under
    /// another random number of its own.
    pub fn of_client(client: u64, number: u64) -> SessionId {
        let round = number >> (u64::BITS - Self::CLIENT_BITS);
        let client = client.wrapping_add(round.wrapping_mul(Self::GOLDEN_RATIO)) & Self::CLIENT;
        SessionId(number << Self::CLIENT_BITS | client.max(1))
    }

    /// What all sessions of a client have in common: who waits for a lock at one server and holds one at another is known by it.
    #[must_use]
    pub fn client(self) -> SessionId {
        SessionId(self.0 & Self::CLIENT)
    }
}

impl InodeId {
    /// The root directory: slot 0, sequence 1, which is also FUSE's root number.
    pub const ROOT: InodeId = InodeId(1);
    /// Largest sequence number within a slot.
    pub const MAX_SEQUENCE: u64 = (1 << 46) - 1;

    /// Puts an inode number together; `None` if the sequence is 0 or does not fit.
    pub fn new(slot: Slot, sequence: u64) -> Option<InodeId> {
        (1..=Self::MAX_SEQUENCE).contains(&sequence).then_some(InodeId(u64::from(slot.0) << 48 | sequence))
    }

    /// The slot that the inode lives in.
    pub fn slot(self) -> Slot {
        Slot((self.0 >> 48) as u16)
    }

    /// The sequence number within the slot.
    pub fn sequence(self) -> u64 {
        self.0 & Self::MAX_SEQUENCE
    }
}

impl fmt::Display for InodeId {
    /// `slot-sequence` in hexadecimal, as it appears in logs, in `entry info` and in the names of chunk files.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}-{:012x}", self.slot().0, self.sequence())
    }
}

impl fmt::Debug for InodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for InodeId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let bad = || IdError { what: "inode (slot-sequence in hexadecimal)", text: text.to_owned() };
        let (slot, sequence) = text.split_once('-').ok_or_else(bad)?;
        if slot.len() != 4 || sequence.len() != 12 {
            return Err(bad());
        }
        let slot = u16::from_str_radix(slot, 16).map_err(|_| bad())?;
        let sequence = u64::from_str_radix(sequence, 16).map_err(|_| bad())?;
        InodeId::new(Slot(slot), sequence).ok_or_else(bad)
    }
}

/// The cluster's identity, random at set-up; every service and target directory carries it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct ClusterId(#[cbor(n(0), with = "minicbor::bytes")] pub [u8; 16]);

impl ClusterId {
    /// All zero: not known yet.
    pub const UNKNOWN: ClusterId = ClusterId([0; 16]);
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for ClusterId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let bad = || IdError { what: "cluster id (32 hexadecimal digits)", text: text.to_owned() };
        if text.len() != 32 || !text.is_ascii() {
            return Err(bad());
        }
        let mut id = [0; 16];
        for (byte, pair) in id.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| bad())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| bad())?;
        }
        Ok(ClusterId(id))
    }
}

impl Serialize for ClusterId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ClusterId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// An identifier in text that is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a valid {what}")]
pub struct IdError {
    what: &'static str,
    text: String,
}

/// Names a chunk file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub struct ChunkFileId {
    /// The file.
    #[n(0)]
    pub inode: InodeId,
    /// Stripe index.
    #[n(1)]
    pub index: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_a_client_have_ids_of_their_own_and_the_client_in_common() {
        for client in [1, 7, 1 << 60, u64::MAX, u64::MAX - 0x9e37_79b9_7f4a_7c14] {
            let ids: std::collections::BTreeSet<SessionId> =
                (0..10_000).map(|n| SessionId::of_client(client, n)).collect();
            assert_eq!(ids.len(), 10_000);
            assert!(!ids.contains(&SessionId(0)), "that is no session");
            let clients: std::collections::BTreeSet<SessionId> =
                (0..4096).map(|n| SessionId::of_client(client, n).client()).collect();
            assert_eq!(clients.len(), 1);
        }
        assert_ne!(SessionId::of_client(7, 3).client(), SessionId::of_client(8, 3).client());
    }

    #[test]
    fn inode_parts_and_text() {
        let inode = InodeId::new(Slot(0xabc), 77).unwrap();
        assert_eq!((inode.slot(), inode.sequence()), (Slot(0xabc), 77));
        assert_eq!(inode.to_string().parse::<InodeId>().unwrap(), inode);
        assert_eq!(InodeId::new(Slot(0), 1), Some(InodeId::ROOT));
        assert_eq!(InodeId::new(Slot(0), 0), None);
        assert_eq!(InodeId::new(Slot(0), 1 << 48), None);
        for bad in ["", "1", "0000-0", "zzzz-000000000001", "0000-000000000000", "0000_000000000001"] {
            assert!(bad.parse::<InodeId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn cluster_id_text() {
        let id = ClusterId(std::array::from_fn(|i| i as u8 * 11));
        assert_eq!(id.to_string().parse::<ClusterId>().unwrap(), id);
        assert!("00".parse::<ClusterId>().is_err());
        assert!("zz".repeat(16).parse::<ClusterId>().is_err());
    }
}
