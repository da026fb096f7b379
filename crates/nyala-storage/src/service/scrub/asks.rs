// SPDX-License-Identifier: Apache-2.0

//! What a scrub asks of others: metadata, whose a damaged chunk file is; a mirror group's primary, to have a copy replaced.
//!
//! **Failure model.** A question may be lost, or go to who does not serve that any more: it is asked again for a moment. After that nothing
//! is known, and whoever asked looks at the damage again later. A metadata server speaks only of slots that it serves: what it does
//! not know there does not exist.

use crate::scrub::Owner;
use nyala_transport::member::Member;
use nyala_transport::{Endpoint, HandshakeConfig, Pool, PoolOptions, Request};
use nyala_wire::check::{Fact, ScanReply, ScanRequest};
use nyala_wire::mirror::GroupHeader;
use nyala_wire::storage::{ChunkFileId, StorageOp, StorageRequest};
use nyala_wire::{ErrorCode, GroupId, TargetId, WireError, codec, message_type};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Longest wait for one answer.
const WITHIN: Duration = Duration::from_secs(10);
/// So often it is asked,
const TRIES: usize = 5;
/// with this pause.
const PAUSE: Duration = Duration::from_millis(300);

/// The way to other services.
pub(super) struct Asks {
    member: Member,
    pool: Pool,
    /// As whom mirror groups know this service, and its requests so far.
    client: u64,
    number: AtomicU64,
}

fn away(why: impl Into<String>) -> WireError {
    ErrorCode::NOT_READY.with(why.into())
}

impl Asks {
    pub fn new(member: Member, handshake: HandshakeConfig) -> Asks {
        let pool = Pool::new(handshake, PoolOptions::default());
        // Without randomness two runs may look like one to a group, which takes the later one's requests for repeated ones.
        let client = getrandom::u64().unwrap_or(1).max(1);
        Asks { member, pool, client, number: AtomicU64::new(0) }
    }

    /// Whose a chunk file is.
    pub async fn owner(&self, file: ChunkFileId) -> Result<Owner, WireError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.owner_once(file).await {
                Err(error) if error.code.is_transient() && tries < TRIES => tokio::time::sleep(PAUSE).await,
                other => return other,
            }
        }
    }

    async fn owner_once(&self, file: ChunkFileId) -> Result<Owner, WireError> {
        let map = self.member.map();
        let server = map.slot_target(file.inode.slot()).ok_or_else(|| away("nobody serves the slot of its inode"))?;
        let node = map.server_node(server).ok_or_else(|| away("its metadata server is on no node of the map"))?;
        let (from, compare) = (Vec::new().into(), None);
        let body = codec::encode(&ScanRequest { inodes: false, from, most: 0, of: vec![file.inode], compare });
        let request = Request::new(message_type::META_SCAN, body).at(map.version.0, 0);
        let reply = self.call(&node.addresses, request).await?;
        let ScanReply { facts, .. } = codec::decode(&reply)?;
        let mut unreadable = false;
        for fact in facts {
            match fact {
                Fact::Inode(found) if found.inode == file.inode => return Ok(Owner::by(found.layout.as_ref(), file)),
                Fact::Server(_) => unreadable = true,
                _ => {}
            }
        }
        match unreadable {
            true => Err(ErrorCode::IO.with("metadata cannot read what it has of the file")),
            false => Ok(Owner::Gone),
        }
    }

    /// Has a group replace a place of a member's copy by what a good one has. That it returns does not say that it worked.
    pub async fn replace(&self, group: GroupId, file: ChunkFileId, (offset, len): (u64, u32), bad: TargetId) {
        let number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        let inner = codec::encode(&StorageRequest::new(bad, file, StorageOp::Repair { offset, len, bad }));
        let header = GroupHeader {
            group: group.0.into(),
            kind: message_type::STORAGE.into(),
            pass_on: 0.into(),
            client: self.client.into(),
            number: number.into(),
            // Targets ask side by side; each keeps waiting for few.
            lowest: number.saturating_sub(LATEST).into(),
        };
        let body = header.wrap(&inner);
        for tried in 1..=TRIES {
            match self.replace_once(group, &body).await {
                Err(error) if error.code.is_transient() && tried < TRIES => tokio::time::sleep(PAUSE).await,
                Err(error) => {
                    return tracing::warn!(%group, target_id = %bad, inode = %file.inode, %error, "a repair was not begun");
                }
                Ok(()) => return,
            }
        }
    }

    async fn replace_once(&self, group: GroupId, body: &[u8]) -> Result<(), WireError> {
        let map = self.member.map();
        let known = map.group(group).and_then(|known| Some((known.epoch, known.primary()?)));
        let (epoch, primary) = known.ok_or_else(|| away("the group is not in the map"))?;
        let node = map.node_of(primary).ok_or_else(|| away("its primary is on no node of the map"))?;
        let request = Request::new(message_type::STORAGE_GROUP, body.to_vec()).at(map.version.0, epoch);
        self.call(&node.addresses, request).await.map(drop)
    }

    async fn call(&self, addresses: &[std::net::SocketAddr], request: Request) -> Result<bytes::Bytes, WireError> {
        let endpoint = Endpoint { addresses: addresses.to_vec() };
        let called = self.pool.call(&endpoint, request.with_timeout(WITHIN)).await;
        let frame = called.map_err(|error| away(error.to_string()))?;
        if frame.is_error() { Err(codec::decode(&frame.body)?) } else { Ok(frame.body) }
    }
}

/// Requests of this service that a group still has to know answers of.
const LATEST: u64 = 256;
