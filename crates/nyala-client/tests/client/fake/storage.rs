// SPDX-License-Identifier: Apache-2.0

//! Storage targets in memory.

use super::Answer;
use nyala_transport::Request;
use nyala_wire::checksum::{crc32c, crc32c_zero_padded};
use nyala_wire::codec::{decode, encode};
use nyala_wire::storage::*;
use nyala_wire::{ErrorCode, InodeId, SessionId, TargetId, message_type};
use std::collections::{BTreeMap, HashMap, HashSet};

#[derive(Default)]
pub struct Storage {
    pub chunks: BTreeMap<(u16, InodeId, u16), Vec<u8>>,
    pub violations: Vec<String>,
    pub fail_writes: Option<ErrorCode>,
    pub corrupt: bool,
    /// Reads that are not compared are sent while somebody writes: with a wrong byte, and it is said.
    pub in_place: bool,
    pub writes: usize,
    pub syncs: usize,
    pub copies: usize,
    /// Chunk files that were cut.
    pub cuts: usize,
    pub fenced: HashSet<SessionId>,
    /// Chunk files with changes that are not on disk.
    pub unsynced: HashSet<(u16, InodeId, u16)>,
    /// What chunk files hold once power was lost.
    durable: HashMap<(u16, InodeId, u16), Vec<u8>>,
    losses: u32,
    losses_of: HashMap<u16, u32>,
    /// Writes of what is encoded fail with this.
    pub fail_encoded: Option<ErrorCode>,
    /// Power is lost when the next sync comes.
    pub cut_before_sync: bool,
    under_way: HashMap<(u16, u64, u16), Vec<(u64, u64)>>,
    /// Targets that have lost what they had.
    pub lost: HashSet<u16>,
}

fn write_header(request: &Request) -> WriteHeader {
    decode_bulk::<WriteHeader>(&request.body).unwrap().0
}

impl Storage {
    /// What was not synced is gone.
    pub fn lose_power(&mut self) {
        self.losses += 1;
        for key in std::mem::take(&mut self.unsynced) {
            self.chunks.insert(key, self.durable.get(&key).cloned().unwrap_or_default());
        }
    }

    /// What was not synced there is gone.
    pub fn lose_power_of(&mut self, targets: &[TargetId]) {
        let there = |(target, _, _): &(u16, InodeId, u16)| targets.contains(&TargetId(*target));
        for key in self.unsynced.iter().copied().filter(there).collect::<Vec<_>>() {
            self.unsynced.remove(&key);
            self.chunks.insert(key, self.durable.get(&key).cloned().unwrap_or_default());
        }
        targets.iter().for_each(|target| *self.losses_of.entry(target.0).or_default() += 1);
    }

    fn verifier(&self, target: u16) -> WriteVerifier {
        let own = self.losses_of.get(&target).copied().unwrap_or(0);
        WriteVerifier { target: TargetId(target), losses: self.losses + own }
    }

    /// Two overlapping writes under way at once are a violation.
    pub fn begin(&mut self, request: &Request) {
        let h = write_header(request);
        let (start, end) = (h.offset.get(), h.offset.get() + u64::from(h.len.get()));
        let list = self.under_way.entry((h.target.get(), h.inode.get(), h.index.get())).or_default();
        if list.iter().any(|(s, e)| *s < end && *e > start) {
            self.violations.push(format!("overlapping writes {start}..{end} on {list:?}"));
        }
        list.push((start, end));
    }

    pub fn writes_under_way(&self) -> usize {
        self.under_way.values().map(Vec::len).sum()
    }

    pub fn end(&mut self, request: &Request) {
        let h = write_header(request);
        let start = h.offset.get();
        let list = self.under_way.entry((h.target.get(), h.inode.get(), h.index.get())).or_default();
        list.retain(|(s, _)| *s != start);
    }

    pub fn handle(&mut self, request: &Request, damaged: bool, flip: bool) -> Answer {
        match request.message_type {
            message_type::STORAGE_WRITE => self.write(request, damaged),
            message_type::STORAGE_READ => self.read(request, flip),
            _ => self.op(decode(&request.body)?),
        }
    }

    fn write(&mut self, request: &Request, damaged: bool) -> Answer {
        let (h, sums) = decode_bulk::<WriteHeader>(&request.body)?;
        if self.fenced.contains(&SessionId(h.session.get())) {
            return Err(ErrorCode::FENCED.into());
        }
        if damaged {
            return Err(ErrorCode::DAMAGED.into());
        }
        if let Some(code) = self.fail_writes {
            return Err(code.with("test"));
        }
        if let Some(code) = self.fail_encoded.filter(|_| h.index.get() / 1024 % 2 == 1) {
            return Err(code.with("test"));
        }
        let data = request.payload.concat();
        let (offset, mut at) = (h.offset.get(), 0);
        let pieces: Vec<usize> = block_pieces(offset, data.len() as u64).collect();
        if h.len.get() as usize != data.len() || pieces.len() != sums.len() || data.len() > MAX_IO_BYTES as usize {
            self.violations.push("write header does not fit".into());
        }
        for (len, sum) in pieces.into_iter().zip(sums) {
            if crc32c(&data[at..at + len]) != sum.get() {
                self.violations.push("wrong checksum in a write".into());
            }
            at += len;
        }
        self.writes += 1;
        let key = (h.target.get(), InodeId(h.inode.get()), h.index.get());
        self.unsynced.insert(key);
        let chunk = self.chunks.entry(key).or_default();
        let end = offset as usize + data.len();
        if chunk.len() < end {
            chunk.resize(end, 0);
        }
        chunk[offset as usize..end].copy_from_slice(&data);
        let verifier = self.verifier(h.target.get());
        Ok((encode_bulk(&verifier.header(), &[]), Vec::new()))
    }

    fn read(&mut self, request: &Request, flip: bool) -> Answer {
        let (h, _) = decode_bulk::<ReadHeader>(&request.body)?;
        if self.lost.contains(&h.target.get()) {
            return Err(ErrorCode::CHECKSUM.into());
        }
        let empty = Vec::new();
        let chunk = self.chunks.get(&(h.target.get(), InodeId(h.inode.get()), h.index.get())).unwrap_or(&empty);
        let start = h.offset.get() / BLOCK_BYTES * BLOCK_BYTES;
        let end = (h.offset.get() + u64::from(h.len.get())).next_multiple_of(BLOCK_BYTES).min(chunk.len() as u64);
        let mut data = chunk[(start.min(end)) as usize..end as usize].to_vec();
        let sums: Vec<u32> = data.chunks(4096).map(crc32c_zero_padded).collect();
        if self.corrupt && h.flags.get() & ReadHeader::VERIFY != 0 {
            return Err(ErrorCode::CHECKSUM.into());
        }
        let moving = self.in_place && h.flags.get() & ReadHeader::VERIFY == 0;
        if (flip || self.corrupt || moving) && !data.is_empty() {
            let middle = data.len() / 2;
            data[middle] ^= 1;
        }
        let reply = ReadReplyHeader {
            start: start.into(),
            len: (data.len() as u32).into(),
            checksums: (sums.len() as u32).into(),
        };
        Ok((encode_bulk(&reply, &sums), data))
    }

    fn op(&mut self, request: StorageRequest) -> Answer {
        let key = (request.target.0, request.file.inode, request.file.index);
        if matches!(request.op, StorageOp::Sync) && std::mem::take(&mut self.cut_before_sync) {
            self.lose_power();
        }
        let stored = StorageReply::Stored(self.verifier(request.target.0));
        if matches!(request.op, StorageOp::Copy { .. } | StorageOp::Punch { .. }) {
            self.unsynced.insert(key);
        }
        if let StorageOp::Copy { from, from_offset, offset, len } = &request.op {
            self.copies += 1;
            let source = self.chunks.get(&(request.target.0, from.inode, from.index)).cloned().unwrap_or_default();
            let mut bytes: Vec<u8> = source.into_iter().skip(*from_offset as usize).take(*len as usize).collect();
            bytes.resize(*len as usize, 0);
            let chunk = self.chunks.entry(key).or_default();
            let (start, end) = (*offset as usize, *offset as usize + bytes.len());
            chunk.resize(chunk.len().max(end), 0);
            chunk[start..end].copy_from_slice(&bytes);
            return Ok((encode(&stored), Vec::new()));
        }
        let chunk = self.chunks.entry(key).or_default();
        let reply = match request.op {
            StorageOp::Truncate { len } => {
                chunk.truncate(len as usize);
                self.cuts += 1;
                StorageReply::Done
            }
            StorageOp::Punch { offset, len } => {
                let end = ((offset + len) as usize).min(chunk.len());
                let start = (offset as usize).min(end);
                chunk[start..end].fill(0);
                stored
            }
            StorageOp::Sync => {
                self.syncs += 1;
                self.unsynced.remove(&key);
                self.durable.insert(key, chunk.clone());
                stored
            }
            StorageOp::Allocate { .. } => stored,
            StorageOp::Seek { offset, hole } => {
                let rest = chunk.iter().skip(offset as usize).position(|byte| (*byte == 0) == hole);
                let at = rest.map(|at| offset + at as u64);
                StorageReply::Offset(if hole { Some(at.unwrap_or(chunk.len() as u64)) } else { at })
            }
            StorageOp::Stat => {
                // Blocks of zeros are holes.
                let used = chunk.chunks(4096).filter(|block| block.iter().any(|byte| *byte != 0)).count();
                StorageReply::Stat { len: chunk.len() as u64, blocks: used as u64 * 8 }
            }
            _ => return Err(ErrorCode::UNKNOWN_MESSAGE.into()),
        };
        Ok((encode(&reply), Vec::new()))
    }
}
