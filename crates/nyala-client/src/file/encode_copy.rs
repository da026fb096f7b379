// SPDX-License-Identifier: Apache-2.0

//! The copy that encoding makes: band by band, what belongs together is read, its parity is computed, and all of it is written.
//!
//! **Failure model.** As of any copy of a move ([`crate::file::move_data`]). Zeros are not written, but the end of every chunk file is: so
//! all of it is there, and a chunk file that ends early is known to have lost something.

use crate::error::{Error, Result};
use crate::file::logic::stripes::{self, Band};
use crate::file::move_copy::Move;
use crate::file::ops::FileOps;
use crate::rpc::storage::ChunkRange;
use bytes::Bytes;
use nyala_wire::storage::WriteVerifier;
use nyala_wire::{ErasureCode, ErrorCode, InodeId, Layout, SessionId};
use std::sync::Arc;
use tokio::task::JoinSet;

/// Bytes of each chunk file that are read, encoded and written at once.
const BAND: u64 = 512 << 10;
/// Bands on their way side by side: so much memory times [`BAND`] and the parts of the code.
const MAX_CONCURRENT: usize = 2;

/// What targets said of what was written, and how many bytes of the file that was.
type Stored = (u64, Vec<(u16, WriteVerifier)>);

/// Copies all of it in its code.
pub(super) async fn encode(work: &mut Move<'_>, code: ErasureCode, moved: &impl Fn(u64)) -> Result<u64> {
    let mut bands = Band::all(&work.to, work.size, BAND);
    let (mut bytes, mut failed, mut under_way) = (0, None, JoinSet::new());
    loop {
        if let Err(error) = work.yielding.check(work.ops, work.file) {
            failed.get_or_insert(error);
        }
        while failed.is_none() && under_way.len() < MAX_CONCURRENT {
            let Some(band) = bands.next() else { break };
            let copy = Copy {
                ops: work.ops.clone(),
                inode: work.file.inode,
                session: work.session,
                size: work.size,
                from: work.from.clone(),
                to: work.to.clone(),
            };
            under_way.spawn(copy.band(code, band));
        }
        // Also after a failure: what is on its way when this returns would come late.
        let Some(done) = under_way.join_next().await else { break };
        match done.unwrap_or(Err(Error::ShutDown)) {
            Ok((len, stored)) => {
                stored.into_iter().for_each(|(index, verifier)| work.stored(index, verifier));
                bytes += len;
                moved(bytes);
            }
            Err(error) => drop(failed.get_or_insert(error)),
        }
    }
    failed.map_or(Ok(bytes), Err)
}

struct Copy {
    ops: Arc<FileOps>,
    inode: InodeId,
    session: SessionId,
    size: u64,
    from: Arc<Layout>,
    to: Arc<Layout>,
}

impl Copy {
    async fn band(self, code: ErasureCode, band: Band) -> Result<Stored> {
        let (mut parts, mut bytes) = (Vec::new(), 0);
        for stripe in 0..self.to.width() {
            let range = band.file_range(&self.to, stripe, self.size);
            bytes += range.end - range.start;
            parts.push(match range.is_empty() {
                true => Bytes::new(),
                false => self.ops.fetch(self.inode, (&self.from, self.size), range).await?.concat(),
            });
        }
        let parity = stripes::encode(code, band.len() as usize, &parts);
        parts.extend(parity.map_err(|_| Error::refused(ErrorCode::INVALID, "there is no such erasure code"))?);
        let (mut writes, mut stored) = (JoinSet::new(), Vec::new());
        for (index, data) in self.to.indices().zip(parts) {
            let offset = band.chunk_offset(&self.to);
            let is_end = offset + data.len() as u64 == self.to.chunk_file_len(index, self.size);
            if data.is_empty() || (!is_end && data.iter().all(|byte| *byte == 0)) {
                continue;
            }
            let chunk = ChunkRange { inode: self.inode, location: self.to.location(index), index, offset };
            let (ops, session) = (self.ops.clone(), self.session);
            writes.spawn(async move { Ok((index, ops.cluster.write_bulk(chunk, data, session).await?)) });
        }
        let mut failed = None;
        while let Some(written) = writes.join_next().await {
            match written.unwrap_or(Err(Error::ShutDown)) {
                Ok(written) => stored.push(written),
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        failed.map_or(Ok((bytes, stored)), Err)
    }
}
