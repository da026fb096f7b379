// SPDX-License-Identifier: Apache-2.0

//! Facts as they are sorted: by inode.

use crate::locations::ChunkAt;
use minicbor::{Decode, Encode};
use nyala_wire::check::Fact;
use nyala_wire::{InodeId, TargetId, codec};
use std::io;

/// A fact and who states it, as it is sorted.
#[derive(Encode, Decode)]
pub enum Stated {
    /// A metadata target states it.
    #[n(0)]
    Meta(#[n(0)] TargetId, #[n(1)] Fact),
    /// A storage target has it.
    #[n(1)]
    Chunk(#[n(0)] ChunkAt),
}

impl Stated {
    /// The record of what is stated of an inode.
    pub fn record(&self, inode: InodeId) -> Vec<u8> {
        let mut record = inode.0.to_be_bytes().to_vec(); // why big-endian: records are ordered by their bytes
        record.extend(codec::encode(self));
        record
    }
}

/// The inode of a record, and what is stated of it.
pub fn parse(record: &[u8]) -> io::Result<(InodeId, Stated)> {
    let bad = || io::Error::from(io::ErrorKind::InvalidData);
    let (inode, stated) = record.split_first_chunk::<8>().ok_or_else(bad)?;
    let inode = inode.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
    Ok((InodeId(inode), codec::decode(stated).map_err(|_| bad())?))
}
