// SPDX-License-Identifier: Apache-2.0

//! Requests to storage targets.
//!
//! **Failure model.** After a lost reply, a disconnect or a restart a request is simply sent again, unless the session
//! it is bound to has ended meanwhile (`rpc::bound`). A change has the same stamp then, so that a copy which comes late
//! does not undo a newer change. Data may arrive damaged here or there: the server answers DAMAGED and gets it again; a
//! read that does not match is repeated with VERIFY, which tells a bad disk (the server finds it too: EIO) from a bad
//! network, and from data that was written to while the server sent it from where it lies.

use crate::error::{Error, Result};
use crate::rpc::bound::Bound;
use crate::rpc::cluster::Cluster;
use crate::rpc::failure::unexpected_reply;
use crate::rpc::failure::{Again, removed, sort_reply, sort_transport};
use crate::rpc::logic::checksum;
use crate::rpc::logic::segments::Segments;
use crate::rpc::mirror::{Reader, STORAGE_TIMEOUT};
use crate::rpc::retry::Retry;
use crate::rpc::show::{Uses, is_asked_for, show};
use bytes::Bytes;
use nyala_transport::{Frame, Request};
use nyala_wire::codec::{decode, encode};
use nyala_wire::slots::Slots;
use nyala_wire::storage::{
    BLOCK_BYTES, ChunkFileId, ListedFile, MAX_IO_BYTES, READ_IN_PLACE, ReadHeader, ReadReplyHeader, Stamp, StorageOp,
    StorageReply, StorageRequest, WriteHeader, WriteReplyHeader, WriteVerifier, decode_bulk, encode_bulk,
};
use nyala_wire::storage_grants::StorageRights;
use nyala_wire::{DataLocation, ErrorCode, InodeId, SessionId, TargetId, WireError, message_type};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Bulk writes under way with one target.
const WRITES_PER_TARGET: usize = 16;
/// Parts of a chunk file of this length are read from the members of a mirror group in turn.
const SPREAD_BYTES: u64 = 4 << 20;
/// Damaged reads before giving up.
pub(super) const MAX_DAMAGED: u32 = 5;

/// A range of a chunk file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkRange {
    pub(crate) inode: InodeId,
    pub(crate) location: DataLocation,
    pub(crate) index: u16,
    pub(crate) offset: u64,
}

impl ChunkRange {
    /// The target; 0 for a mirror group, whose requests name it elsewhere.
    pub(crate) fn target(&self) -> TargetId {
        match self.location {
            DataLocation::Target(target) => target,
            DataLocation::Group(_) => TargetId(0),
        }
    }

    /// The body of a request for what is there.
    pub(super) fn read_request(&self, len: u64, verify: bool) -> Bytes {
        let header = ReadHeader {
            target: self.target().0.into(),
            index: self.index.into(),
            flags: if verify { ReadHeader::VERIFY } else { 0 }.into(),
            inode: self.inode.0.into(),
            offset: self.offset.into(),
            len: (len as u32).into(),
            reserved: 0.into(),
        };
        Bytes::from(encode_bulk(&header, &[]))
    }
}

/// A change's slot at a target; free when dropped.
struct Slot {
    slots: Arc<Mutex<Slots>>,
    stamp: Stamp,
}

impl Slot {
    fn stamp(&self) -> Stamp {
        self.stamp
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.lock().free(self.stamp.slot);
    }
}

impl Cluster {
    /// What tells the copies of one change of a target from other changes; `None` for mirror groups, whose requests have numbers.
    fn slot_for(&self, location: DataLocation) -> Option<Slot> {
        let DataLocation::Target(target) = location else { return None };
        let slots = self.slots.lock().entry(target).or_default().clone();
        let (slot, number) = slots.lock().take()?;
        Some(Slot { slots, stamp: Stamp { client: self.client_id, number, slot } })
    }

    /// Sends to a target, or to the primary of a mirror group.
    async fn call_at(
        self: &Arc<Cluster>,
        what: &'static str,
        (location, uses): (DataLocation, Uses<'_>),
        retry: &mut Retry,
        make: impl FnMut() -> Request,
    ) -> Result<Frame> {
        match location {
            DataLocation::Target(target) => self.storage_call(what, (target, uses), retry, make).await,
            DataLocation::Group(group) => self.group_call(what, (group, uses), None, retry, make).await,
        }
    }

    /// Sends to a target until it answers with success or an error that repetition does not cure. `uses`: whose chunks are used, and how.
    pub(super) async fn storage_call(
        self: &Arc<Cluster>,
        what: &'static str,
        (target, uses): (TargetId, Uses<'_>),
        retry: &mut Retry,
        mut make: impl FnMut() -> Request,
    ) -> Result<Frame> {
        let mut shown = 0;
        loop {
            let view = self.maps.view();
            let why = match view.endpoint(target) {
                None => Again::Connection(format!("storage target {target} is not in the map")),
                Some(endpoint) => {
                    let request = make().at(view.map.version.0, 0).with_timeout(STORAGE_TIMEOUT);
                    match self.rpc.call(endpoint, request).await {
                        Ok(frame) if !frame.is_error() => return Ok(frame),
                        Ok(frame) => {
                            let error: WireError = decode(&frame.body).map_err(Error::server(what))?;
                            if is_asked_for(error.code) {
                                show(self, what, endpoint, (error.code, uses), &mut shown).await?;
                                continue;
                            }
                            sort_reply(what, error)?
                        }
                        Err(error) => sort_transport(what, error)?,
                    }
                }
            };
            if view.map.target(target).is_none() && self.maps.is_newest(view.map.version).await {
                return Err(removed(what, &format!("storage target {target}")));
            }
            if matches!(&why, Again::Server(e) if matches!(e.code, ErrorCode::WRONG_SERVER | ErrorCode::MAP_BEHIND))
                || view.endpoint(target).is_none()
            {
                // why ignored: if management is away too, the pause and the next try deal with it.
                let _ = self.maps.refresh(view.map.version).await;
            }
            retry.pause(self, why).await?;
        }
    }

    fn writes_to(&self, location: DataLocation) -> Arc<Semaphore> {
        self.write_slots.lock().entry(location).or_insert_with(|| Arc::new(Semaphore::new(WRITES_PER_TARGET))).clone()
    }

    /// Writes data that was accepted under `session`; returns when the target has it. Where that is `UNBOUND`, and a target
    /// refuses the session of the moment for good (it was ended while we were cut off), it is written under the next one.
    pub(crate) async fn write_bulk(
        self: &Arc<Cluster>,
        chunk: ChunkRange,
        data: Bytes,
        session: SessionId,
    ) -> Result<WriteVerifier> {
        loop {
            let bound = Bound::new(chunk.inode, session);
            let sender = if bound.is_free() { self.session_of(chunk.inode) } else { session };
            match self.write_once(chunk, data.clone(), bound, sender).await {
                Err(error) if error.is(ErrorCode::FENCED) => {
                    self.fenced(chunk.inode, sender).await;
                    if !bound.is_free() || self.ctx.is_stopped() {
                        return Err(error);
                    }
                }
                result => return result,
            }
        }
    }

    /// Storage refuses a session: this client goes on as another one.
    async fn fenced(self: &Arc<Cluster>, inode: InodeId, refused: SessionId) {
        if let Some(target) = self.maps.view().map.slot_target(inode.slot()) {
            self.clone().renew_session(self.session(target), refused).await;
        }
    }

    async fn write_once(
        self: &Arc<Cluster>,
        chunk: ChunkRange,
        data: Bytes,
        bound: Bound,
        sender: SessionId,
    ) -> Result<WriteVerifier> {
        let slots = self.writes_to(chunk.location);
        let _slot = slots.acquire().await.map_err(|_| Error::ShutDown)?;
        let slot = self.slot_for(chunk.location);
        let stamp = slot.as_ref().map(Slot::stamp).unwrap_or_default();
        self.check_bound(bound)?;
        let checksums = checksum::of_pieces(chunk.offset, &data);
        let header = WriteHeader {
            target: chunk.target().0.into(),
            index: chunk.index.into(),
            flags: 0.into(),
            inode: chunk.inode.0.into(),
            offset: chunk.offset.into(),
            session: sender.0.into(),
            len: (data.len() as u32).into(),
            checksums: (checksums.len() as u32).into(),
            client: stamp.client.into(),
            number: stamp.number.into(),
            slot: stamp.slot.into(),
            reserved: 0.into(),
        };
        let body = Bytes::from(encode_bulk(&header, &checksums));
        let make = || {
            self.ctx.stats.storage_writes.add(1);
            Request::new(message_type::STORAGE_WRITE, body.clone()).with_payload(vec![data.clone()])
        };
        let reply = self
            .call_at(
                "write data",
                (chunk.location, &[(chunk.inode, StorageRights::Write)]),
                &mut Retry::bound("write data", bound),
                make,
            )
            .await?;
        let (header, _) = decode_bulk::<WriteReplyHeader>(&reply.body).map_err(|_| unexpected_reply("write data"))?;
        Ok(header.verifier())
    }

    /// Reads and checks data: exactly `len` bytes, zeros where nothing is stored, as segments that start at `at` in the file.
    pub(crate) async fn read_bulk(self: &Arc<Self>, chunk: ChunkRange, len: u64, at: u64) -> Result<Segments> {
        let mut retry = Retry::new("read data");
        let (mut damaged, mut doubtful) = (0, 0);
        let mut reader = Reader::new(chunk.inode.0 ^ u64::from(chunk.index) ^ (chunk.offset / SPREAD_BYTES));
        loop {
            let body = chunk.read_request(len, damaged > 0);
            let make = || {
                self.ctx.stats.storage_reads.add(1);
                Request::new(message_type::STORAGE_READ, body.clone())
            };
            let uses = &[(chunk.inode, StorageRights::Read)];
            let answer = match chunk.location {
                DataLocation::Target(target) => self.storage_call("read data", (target, uses), &mut retry, make).await,
                DataLocation::Group(group) => {
                    self.group_call("read data", (group, uses), Some(&mut reader), &mut retry, make).await
                }
            };
            let frame = match answer {
                Err(error) if error.is(ErrorCode::CHECKSUM) => {
                    self.ctx.stats.checksum_errors.add(std::mem::take(&mut doubtful));
                    if self.repaired(chunk, len, &mut reader).await {
                        damaged = 0;
                        continue;
                    }
                    return Err(self.bad_data(chunk));
                }
                other => other?,
            };
            if let Some(segments) = check_read(chunk, len, at, &frame)? {
                return Ok(segments);
            }
            damaged += 1;
            if damaged == 1 && frame.header.flags & READ_IN_PLACE != 0 {
                // Most likely somebody writes there; the next answer, which is compared, knows.
                doubtful = 1;
                continue;
            }
            self.ctx.stats.checksum_errors.add(1);
            tracing::warn!(
                inode = %chunk.inode, location = %chunk.location, offset = chunk.offset,
                "data arrived with a wrong checksum, reading again"
            );
            if damaged >= MAX_DAMAGED {
                return Err(self.bad_data(chunk));
            }
        }
    }

    pub(super) fn bad_data(&self, chunk: ChunkRange) -> Error {
        let name = self
            .observer()
            .and_then(|observer| observer.name_of(chunk.inode))
            .unwrap_or_else(|| "name not known".into());
        tracing::error!(
            inode = %chunk.inode, name, location = %chunk.location, index = chunk.index, offset = chunk.offset,
            "stored data does not match its checksum"
        );
        Error::Checksum { inode: chunk.inode, target: chunk.target(), offset: chunk.offset }
    }

    /// A member's copy is damaged: has it repaired where another one is there, which is asked then.
    async fn repaired(self: &Arc<Cluster>, chunk: ChunkRange, len: u64, reader: &mut Reader) -> bool {
        let (DataLocation::Group(group), Some(bad)) = (chunk.location, reader.last) else { return false };
        reader.avoid.push(bad);
        if !self.other_copy(group, &reader.avoid).await {
            return false;
        }
        self.ctx.stats.checksum_errors.add(1);
        tracing::warn!(inode = %chunk.inode, %group, %bad, offset = chunk.offset, "a member's copy is damaged");
        let offset = chunk.offset / BLOCK_BYTES * BLOCK_BYTES;
        let end = (chunk.offset + len).next_multiple_of(BLOCK_BYTES).min(offset + u64::from(MAX_IO_BYTES));
        let op = StorageOp::Repair { offset, len: (end - offset) as u32, bad };
        if let Err(error) = self.storage_done("repair data", chunk, op).await {
            tracing::warn!(%group, %bad, %error, "its repair was not begun");
        }
        true
    }

    /// A change that is no bulk data, accepted under `session`.
    pub(crate) async fn storage_change(
        self: &Arc<Cluster>,
        what: &'static str,
        chunk: ChunkRange,
        session: SessionId,
        op: StorageOp,
    ) -> Result<WriteVerifier> {
        match self.bound_op(what, chunk, session, op).await? {
            StorageReply::Stored(verifier) => Ok(verifier),
            _ => Err(unexpected_reply(what)),
        }
    }

    /// Cuts a chunk file to at most `len` bytes; on disk when this returns.
    pub(crate) async fn storage_cut(
        self: &Arc<Cluster>,
        chunk: ChunkRange,
        session: SessionId,
        len: u64,
    ) -> Result<()> {
        let what = "cut what was left behind the end";
        match self.bound_op(what, chunk, session, StorageOp::Truncate { len }).await? {
            StorageReply::Done => Ok(()),
            _ => Err(unexpected_reply(what)),
        }
    }

    async fn bound_op(
        self: &Arc<Cluster>,
        what: &'static str,
        chunk: ChunkRange,
        session: SessionId,
        op: StorageOp,
    ) -> Result<StorageReply> {
        let bound = Bound::new(chunk.inode, session);
        self.check_bound(bound)?;
        let sender = if bound.is_free() { self.session_of(chunk.inode) } else { session };
        let reply = self.send_op(what, chunk, op, sender, Retry::bound(what, bound)).await;
        if let Err(error) = &reply
            && error.is(ErrorCode::FENCED)
        {
            self.fenced(chunk.inode, sender).await;
        }
        reply
    }

    /// What changes nothing that somebody wrote.
    pub(crate) async fn storage_op(
        self: &Arc<Cluster>,
        what: &'static str,
        chunk: ChunkRange,
        op: StorageOp,
    ) -> Result<StorageReply> {
        let retry = if matches!(op, StorageOp::Sync) { Retry::keeping(what) } else { Retry::new(what) };
        let sender = if op.is_change() { self.session_of(chunk.inode) } else { SessionId(0) };
        self.send_op(what, chunk, op, sender, retry).await
    }

    /// What changes something names the session that it was accepted under, however often it is sent.
    async fn send_op(
        self: &Arc<Cluster>,
        what: &'static str,
        chunk: ChunkRange,
        op: StorageOp,
        sender: SessionId,
        mut retry: Retry,
    ) -> Result<StorageReply> {
        let file = ChunkFileId { inode: chunk.inode, index: chunk.index };
        let slot = if op.is_change() { self.slot_for(chunk.location) } else { None };
        let stamp = slot.as_ref().map(Slot::stamp);
        let uses = op.uses(chunk.inode);
        let request = StorageRequest { stamp, ..StorageRequest::new(chunk.target(), file, op).of_session(sender) };
        let body = Bytes::from(encode(&request));
        let make = || Request::new(message_type::STORAGE, body.clone());
        let frame = self.call_at(what, (chunk.location, &uses), &mut retry, make).await?;
        decode(&frame.body).map_err(Error::server(what))
    }

    /// What tells this client from others: random, for the life of its process.
    pub(crate) fn client_id(&self) -> u64 {
        self.client_id
    }

    /// Chunk files of a target whose disk fails, from one on, and where the list goes on: for the one client that empties it.
    pub(crate) async fn list_failing(
        self: &Arc<Cluster>,
        target: TargetId,
        from: ChunkFileId,
        most: u32,
    ) -> Result<(Vec<ListedFile>, Option<ChunkFileId>)> {
        let what = "list the chunk files of a target whose disk fails";
        let stamp = Some(Stamp { client: self.client_id, ..Stamp::default() });
        let request = StorageRequest { stamp, ..StorageRequest::new(target, from, StorageOp::List { most }) };
        let body = Bytes::from(encode(&request));
        let make = || Request::new(message_type::STORAGE, body.clone());
        let frame = self.storage_call(what, (target, &[]), &mut Retry::new(what), make).await?;
        match decode(&frame.body).map_err(Error::server(what))? {
            StorageReply::Listed { files, next } => Ok((files, next)),
            _ => Err(unexpected_reply(what)),
        }
    }

    /// The same where the reply is just success.
    pub(crate) async fn storage_done(
        self: &Arc<Cluster>,
        what: &'static str,
        chunk: ChunkRange,
        op: StorageOp,
    ) -> Result<()> {
        match self.storage_op(what, chunk, op).await? {
            StorageReply::Done => Ok(()),
            _ => Err(unexpected_reply(what)),
        }
    }
}

/// The reply to a read of `len` bytes from `chunk` on; `None` if a block does not match its checksum.
pub(crate) fn check_read(chunk: ChunkRange, len: u64, file_offset: u64, frame: &Frame) -> Result<Option<Segments>> {
    let wrong = |detail| Error::Protocol { what: "read data", detail };
    let (header, checksums) =
        decode_bulk::<ReadReplyHeader>(&frame.body).map_err(|_| wrong("the reply's header is cut off"))?;
    let payload = &frame.payload;
    let start = header.start.get();
    let skip = chunk.offset.checked_sub(start).filter(|skip| *skip < BLOCK_BYTES);
    let skip = skip.filter(|_| start.is_multiple_of(BLOCK_BYTES)).ok_or(wrong("it starts elsewhere"))?;
    if header.len.get() as usize != payload.len() || checksums.len() != header.checksums.get() as usize {
        return Err(wrong("lengths do not fit"));
    }
    if checksums.len() as u64 != (payload.len() as u64).div_ceil(BLOCK_BYTES) {
        return Err(wrong("number of checksums does not fit"));
    }
    if checksum::first_bad(payload, checksums.iter().map(|sum| sum.get())).is_some() {
        return Ok(None);
    }
    let have = (payload.len() as u64).saturating_sub(skip).min(len);
    let mut segments = Segments::new(file_offset);
    if have > 0 {
        segments.push(payload.slice(skip as usize..(skip + have) as usize));
    }
    segments.push_zeros(len - have);
    Ok(Some(segments))
}
