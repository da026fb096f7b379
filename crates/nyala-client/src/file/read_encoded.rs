// SPDX-License-Identifier: Apache-2.0

//! Reading of encoded files: from the targets that have the data, and from as many others where one does not give it.
//!
//! **Failure model.** A target that is away, or has lost what it had, is an erasure ([`crate::rpc::unit`]); what a unit is computed from was checked
//! in the same way, and chunk files of encoded data do not change, so that a result is right or there is none. Parts that are gone for good are told,
//! and the file is encoded again later ([`crate::file::encode_later`]). Where more are away than
//! there is parity, they are waited for as long as for any other target; where more are damaged, the read fails. What is read and
//! computed at once is bounded for the whole client.

use crate::error::{Error, Result};
use crate::file::encode_later::repair_later;
use crate::file::logic::stripes::{self, Band};
use crate::file::ops::FileOps;
use crate::rpc::failure::Again;
use crate::rpc::logic::segments::Segments;
use crate::rpc::retry::Retry;
use crate::rpc::storage::ChunkRange;
use crate::rpc::unit::{Erasure, read_unit};
use bytes::Bytes;
use nyala_wire::{ErasureCode, ErrorCode, Layout, TargetId};
use std::sync::Arc;
use tokio::task::JoinSet;

/// No target has this number: in a layout's place of one that is known to have lost its part.
pub(super) const NOWHERE: TargetId = TargetId(u16::MAX);

/// A part of a file in one chunk file, for one request.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) chunk: ChunkRange,
    pub(super) len: u64,
    /// Offset in the file.
    pub(super) at: u64,
}

/// Why a unit cannot be computed.
#[derive(Default)]
struct TooFew {
    /// So many targets have lost what they had.
    lost: usize,
    /// Of one or more parts that does not come back.
    for_good: bool,
    last: Option<Error>,
}

impl TooFew {
    fn note(&mut self, erasure: Erasure) {
        self.lost += usize::from(matches!(erasure, Erasure::Lost(_)));
        self.for_good |= erasure.is_for_good();
        let error = erasure.into_error();
        // The data is elsewhere now: that explains all the others.
        if !self.last.as_ref().is_some_and(|last| last.is(ErrorCode::STALE)) {
            self.last = Some(error);
        }
    }
}

pub(super) async fn read_encoded(
    ops: &FileOps,
    (layout, code): (&Arc<Layout>, ErasureCode),
    size: u64,
    piece: Piece,
) -> Result<Segments> {
    let Piece { chunk, len, at } = piece;
    let stored = len.min(size.saturating_sub(at));
    let mut out = Segments::new(at);
    let mut retry = Retry::new("read encoded data");
    while out.len() < stored {
        let mut failed = TooFew::default();
        match read_unit(&ops.cluster, chunk, stored, at).await {
            Ok(segments) => {
                out = segments;
                continue;
            }
            Err(erasure) => failed.note(erasure),
        }
        let rebuilt = rebuild(ops, (layout, code), size, Piece { len: stored, ..piece }, &mut failed).await;
        if failed.for_good && !layout.targets.contains(&NOWHERE) {
            repair_later(ops, chunk.inode, layout);
        }
        match (rebuilt, failed) {
            (Some(bytes), _) => out.push(bytes),
            (None, TooFew { lost, last: Some(error), .. }) if lost > usize::from(code.parity) => return Err(error),
            (None, TooFew { last, .. }) => {
                let why = last.map_or_else(String::new, |error| error.to_string());
                retry.pause(&ops.cluster, Again::Connection(why)).await?;
            }
        }
    }
    out.push_zeros(len - stored);
    Ok(out)
}

/// The bytes of a piece from those at the same place of others; absent: too few of them are to be had.
async fn rebuild(
    ops: &FileOps,
    (layout, code): (&Arc<Layout>, ErasureCode),
    size: u64,
    piece: Piece,
    failed: &mut TooFew,
) -> Option<Bytes> {
    let _one = ops.rebuilding.acquire().await.ok()?;
    let (band, needed) = (Band::around(layout, piece.chunk.offset, piece.len), usize::from(code.data));
    let lost = layout.stripe(piece.chunk.index) as usize;
    let mut others = layout.indices().enumerate().filter(|(part, _)| *part != lost);
    let (mut there, mut reads): (Vec<(usize, Bytes)>, _) = (Vec::with_capacity(needed), JoinSet::new());
    loop {
        while there.len() + reads.len() < needed {
            let Some((part, index)) = others.next() else { break };
            let stored = band.stored(layout, part as u64, size);
            if stored == 0 {
                there.push((part, Bytes::new()));
                continue;
            }
            let chunk = ChunkRange { location: layout.location(index), index, ..piece.chunk };
            let cluster = ops.cluster.clone();
            reads.spawn(async move { (part, read_unit(&cluster, chunk, stored, 0).await) });
        }
        match reads.join_next().await {
            None => break,
            Some(Ok((part, Ok(segments)))) => there.push((part, segments.concat())),
            Some(Ok((_, Err(erasure)))) => failed.note(erasure),
            Some(Err(_)) => failed.last = Some(Error::ShutDown),
        }
    }
    let bytes = stripes::decode(code, piece.len as usize, lost, &there).ok()?;
    ops.ctx.stats.rebuilt_reads.add(1);
    Some(bytes)
}
