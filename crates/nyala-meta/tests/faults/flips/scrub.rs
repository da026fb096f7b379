// SPDX-License-Identifier: Apache-2.0

//! What `nyala scrub` does: finds damage on a target, has it repaired from the other member, and looks again.

use nyala_client::Client;
use nyala_transport::{Endpoint, HandshakeConfig, Pool, PoolOptions, Request};
use nyala_wire::storage::{BLOCK_BYTES, StorageOp, StorageReply, StorageRequest};
use nyala_wire::walk::{WalkAt, WalkPiece, runs};
use nyala_wire::{GroupId, InodeId, TargetId, WireError, codec, message_type};
use std::time::Duration;

const STEP: Duration = Duration::from_secs(10);

/// A way to a target.
pub struct Scrub<'a> {
    pub client: &'a Client,
    pool: Pool,
}

impl<'a> Scrub<'a> {
    pub fn new(client: &'a Client, handshake: HandshakeConfig) -> Scrub<'a> {
        Scrub { client, pool: Pool::new(handshake, PoolOptions::default()) }
    }

    /// All pieces with damage.
    async fn damaged(&self, target: TargetId) -> Result<Vec<WalkPiece>, String> {
        let (mut next, mut bad) = (Some(WalkAt::default()), Vec::new());
        while let Some(at) = next {
            let op = StorageOp::Walk { offset: at.offset, bytes: 1 << 20, verify: true };
            let map = self.client.map();
            let node = map.node_of(target).ok_or("the target is not in the map")?;
            let endpoint = Endpoint { addresses: node.addresses.clone() };
            let body = codec::encode(&StorageRequest::new(target, at.file, op));
            let request = Request::new(message_type::STORAGE, body).at(map.version.0, 0).with_timeout(STEP);
            let frame = self.pool.call(&endpoint, request).await.map_err(|error| error.to_string())?;
            if frame.is_error() {
                let error: WireError = codec::decode(&frame.body).map_err(|error| error.to_string())?;
                return Err(error.to_string());
            }
            let Ok(StorageReply::Walked { pieces, next: then }) = codec::decode(&frame.body) else {
                return Err("another answer".into());
            };
            bad.extend(pieces.into_iter().filter(|piece| piece.bad != 0));
            next = then.filter(|then| *then > at);
        }
        Ok(bad)
    }

    /// Repairs what is mirrored. Gives the damage that is left there, in words. An error: not all of the target can be looked at.
    pub async fn repair(
        &self,
        group: GroupId,
        target: TargetId,
        mirrored: impl Fn(InodeId) -> bool,
    ) -> Result<(usize, Vec<String>), String> {
        let its = |piece: &WalkPiece| mirrored(piece.at.file.inode);
        let damaged: Vec<WalkPiece> = self.damaged(target).await?.into_iter().filter(its).collect();
        for piece in &damaged {
            for (first, count) in runs(piece.bad) {
                let range = (piece.at.offset + first * BLOCK_BYTES, (count * BLOCK_BYTES) as u32);
                let repaired = self.client.repair_copy(group, piece.at.file, range, target).await;
                repaired.map_err(|error| format!("repair: {error}"))?;
            }
        }
        let left = self.damaged(target).await?;
        Ok((damaged.len(), left.iter().filter(|piece| its(piece)).map(|piece| format!("{:?}", piece.at)).collect()))
    }
}
