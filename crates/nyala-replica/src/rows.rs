// SPDX-License-Identifier: Apache-2.0

//! What a member remembers on disk: rows of an ordered table, by name.
//!
//! **Failure model.** A row is written inside a record of the store's log, which has its own checksum and is never torn: a row
//! is there as a whole or not. The last records may be lost by a power cut unless they were asked for as durable; the order in
//! which [`crate::tracking`] writes them makes that harmless. A row that cannot be read is refused by name, not skipped: it
//! might be the one that says what differs.

use crate::regions::Runs;
use minicbor::{Decode, Encode};
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{TargetId, WireError, codec};

/// Names a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub enum RowKey {
    /// Write intent: regions of a file whose newest changes may not be on disk here, or not on other members.
    #[n(0)]
    Intent(#[n(0)] ChunkFileId),
    /// Regions of a file that changed here while that member got no changes.
    #[n(1)]
    Dirty(#[n(0)] TargetId, #[n(1)] ChunkFileId),
}

/// A row, or that there is none any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub key: RowKey,
    /// Its runs; `None` removes it.
    pub runs: Option<Runs>,
}

impl Row {
    /// The file that it is about.
    pub fn file(&self) -> ChunkFileId {
        match self.key {
            RowKey::Intent(file) | RowKey::Dirty(_, file) => file,
        }
    }
}

const VERSION: u8 = 1;

#[derive(Encode, Decode)]
struct Value {
    #[n(0)]
    version: u8,
    #[n(1)]
    runs: Runs,
}

impl RowKey {
    /// As the key of a table.
    pub fn encode(&self) -> Vec<u8> {
        codec::encode(self)
    }

    /// From a table.
    pub fn decode(bytes: &[u8]) -> Result<RowKey, WireError> {
        codec::decode(bytes)
    }
}

/// The value of a row.
pub fn encode_runs(runs: &Runs) -> Vec<u8> {
    codec::encode(&Value { version: VERSION, runs: runs.clone() })
}

/// From a table.
pub fn decode_runs(bytes: &[u8]) -> Result<Runs, WireError> {
    let value: Value = codec::decode(bytes)?;
    if value.version != VERSION {
        let message = format!("a dirty-region row of version {}, this build knows {VERSION}", value.version);
        return Err(nyala_wire::ErrorCode::NOT_SUPPORTED.with(message));
    }
    let mut runs = Runs::default();
    value.runs.iter().for_each(|run| runs.insert(run));
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regions::Span;
    use nyala_wire::InodeId;

    /// The bytes of `docs/replication.md`.
    #[test]
    fn the_format_on_disk_stays_as_it_is() {
        let file = ChunkFileId { inode: InodeId(7), index: 2 };
        let hex = |bytes: Vec<u8>| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        assert_eq!(hex(RowKey::Intent(file).encode()), "820081820702");
        assert_eq!(hex(RowKey::Dirty(TargetId(9), file).encode()), "82018209820702");
        let mut runs = Runs::default();
        runs.insert(Span { start: 1, end: 4 });
        assert_eq!(hex(encode_runs(&runs)), "820181820104");
        assert_eq!(decode_runs(&encode_runs(&runs)), Ok(runs));
        for key in [RowKey::Intent(file), RowKey::Dirty(TargetId(9), file)] {
            assert_eq!(RowKey::decode(&key.encode()), Ok(key));
        }
        assert!(decode_runs(&[0x82, 0x02, 0x80]).unwrap_err().message.contains("version 2"));
        assert!(decode_runs(&[0x82]).is_err() && RowKey::decode(&[0]).is_err());
    }
}
