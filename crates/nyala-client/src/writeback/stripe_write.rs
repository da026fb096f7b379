// SPDX-License-Identifier: Apache-2.0

//! Writing a stripe: its data, the parity that belongs to it, and holes where the file ends with it. Failure model: [`super::whole_stripes`].

use crate::error::{Error, Result};
use crate::file::logic::stripes::{self, Band};
use crate::rpc::storage::ChunkRange;
use crate::writeback::owner::Writeback;
use crate::writeback::stripe_in_flight::StripeInFlight;
use bytes::Bytes;
use nyala_transport::trace::{carried, under};
use nyala_wire::map::{ClusterMap, Consistency, Reachability};
use nyala_wire::{ErasureCode, ErrorCode, Layout, TargetId};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Between looks whether a target that is written to is away.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// A stripe to be written.
pub(super) struct Stripe {
    pub(super) range: Range<u64>,
    pub(super) to: Arc<Layout>,
    pub(super) code: ErasureCode,
    /// Bytes of the largest part of a chunk that is one write.
    pub(super) unit: u64,
    pub(super) pieces: Vec<(u64, Bytes)>,
    /// The file ends with it: what it has not is a hole.
    pub(super) last: bool,
}

/// Writes a stripe that has departed.
pub(super) async fn send(sending: StripeInFlight, stripe: Stripe) {
    let written = tokio::select! {
        written = stripe.write(&sending) => written,
        error = target_away(sending.writeback(), &stripe.to) => Err(error),
    };
    sending.finish(written);
}

impl Stripe {
    /// Writes all its parts; what has not ended when this is dropped is given up.
    async fn write(&self, sending: &StripeInFlight) -> Result<()> {
        let mut writes = JoinSet::new();
        for band in Band::within(&self.to, self.range.clone(), self.unit) {
            for (index, offset, data) in self.parts(&band)? {
                let (inode, location) = (sending.inode(), self.to.location(index));
                let chunk = ChunkRange { inode, location, index, offset };
                let (cluster, session) = (sending.writeback().cluster.clone(), sending.session());
                let write =
                    async move { cluster.write_bulk(chunk, data, session).await.map(|verifier| (index, verifier)) };
                writes.spawn(carried(under(), write));
            }
        }
        let mut result = Ok(());
        while let Some(done) = writes.join_next().await {
            match done.unwrap_or(Err(Error::ShutDown)) {
                Ok((index, verifier)) => sending.stored(index, verifier),
                Err(error) => result = result.and(Err(error)),
            }
        }
        result
    }

    /// What a band has for each chunk file: its index, the offset there, and the bytes. Holes are left out but where a chunk file ends.
    fn parts(&self, band: &Band) -> Result<Vec<(u16, u64, Bytes)>> {
        let end = self.range.end;
        let mut parts: Vec<Bytes> =
            (0..self.to.width()).map(|part| self.bytes(band.file_range(&self.to, part, end))).collect();
        let parity = stripes::encode(self.code, band.len() as usize, &parts)
            .map_err(|_| Error::refused(ErrorCode::INVALID, "there is no such erasure code"))?;
        parts.extend(parity);
        let offset = band.chunk_offset(&self.to);
        let wanted = |(index, data): &(u16, Bytes)| {
            let is_end = offset + data.len() as u64 == self.to.chunk_file_len(*index, end);
            !data.is_empty() && (!self.last || is_end || data.iter().any(|byte| *byte != 0))
        };
        Ok(self.to.indices().zip(parts).filter(wanted).map(|(index, data)| (index, offset, data)).collect())
    }

    /// The bytes of a part of the file, zeros where it has none.
    fn bytes(&self, range: Range<u64>) -> Bytes {
        let inside = |(at, data): &&(u64, Bytes)| *at < range.end && *at + data.len() as u64 > range.start;
        let mut pieces = self.pieces.iter().filter(inside);
        match (pieces.next(), pieces.next()) {
            (Some((at, data)), None) if *at == range.start && data.len() as u64 == range.end - range.start => {
                data.clone()
            }
            _ => stripes::filled_range(&self.pieces, range),
        }
    }
}

/// Ends when a target of a layout is away: what is encoded does not wait for it.
pub(super) async fn target_away(writeback: &Writeback, layout: &Layout) -> Error {
    loop {
        let map = writeback.cluster.maps.view().map.clone();
        if let Some(target) = layout.targets.iter().find(|target| !is_there(&map, **target)) {
            return Error::TimedOut {
                what: "write encoded data",
                after: Duration::ZERO,
                last: format!("storage target {target} is away"),
            };
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

fn is_there(map: &ClusterMap, target: TargetId) -> bool {
    map.target(target)
        .is_some_and(|target| target.reachability != Reachability::Offline && target.consistency != Consistency::Bad)
}
