// SPDX-License-Identifier: Apache-2.0

//! From frames to tasks and back. Failure model: see the parent module; every request is answered.

use super::access::{Asker, Shown};
use super::metrics::Metrics;
use super::mirror::{self, Answered, Mirrors, ThreadContext};
use super::ops::Op;
use super::pass_on::PassOn;
use super::queue::{Outcome, Task, mistake};
use super::read_reply::{Found, read_reply};
use super::request::{self, ReadOp};
use super::scrub::{self, Scrubs};
use super::sessions::Sessions;
use super::target::Target;
use crate::chunk_store::{Author, check_copy, copy_write, pad_copy};
use bytes::Bytes;
use nyala_scrape::Pages;
use nyala_transport::member::Member;
use nyala_transport::trace::{self, part};
use nyala_transport::{Frame, HandshakeConfig, PeerInfo, Reply, Role, Secret, Service};
use nyala_wire::mgmt::ServiceStats;
use nyala_wire::storage::{
    ChunkFileId, MAX_IO_BYTES, Stamp, StorageOp, StorageReply, StorageRequest, blocks_touched, encode_bulk,
};
use nyala_wire::storage_grants::StorageRights;
use nyala_wire::walk::WalkAt;
use nyala_wire::{ErrorCode, TargetId, WireError, codec, message_type};
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Unit in which memory for reads is counted, bytes.
pub(super) const UNIT: usize = 4096;

/// Answers the requests of one core.
pub struct StorageService {
    targets: Arc<HashMap<TargetId, Arc<Target>>>,
    member: Member,
    reads: Arc<Semaphore>,
    thread: Rc<ThreadContext>,
    mirrors: Arc<Mirrors>,
    sessions: Arc<Sessions>,
    scrubs: Arc<Scrubs>,
    pass_on: PassOn,
    secret: Secret,
    shown: Arc<Shown>,
    metrics: Arc<Metrics>,
    pages: Pages,
}

/// Memory for the data of reads, shared by all cores.
pub(super) fn read_budget(bytes: usize) -> Arc<Semaphore> {
    let units = bytes.max(2 * MAX_IO_BYTES as usize).div_ceil(UNIT).min(Semaphore::MAX_PERMITS);
    Arc::new(Semaphore::new(units))
}

impl Service for StorageService {
    fn has_server_at(&self, address: SocketAddr) -> bool {
        self.member.map().has_server_at(address)
    }

    fn relays_to(&self, peer: &PeerInfo, address: SocketAddr) -> bool {
        nyala_transport::may_relay(&self.member.map(), peer, address)
    }

    fn connected(&self, peer: &PeerInfo) {
        self.metrics.connected(peer);
    }

    async fn call(&self, peer: &PeerInfo, request: Frame) -> Reply {
        let (began, payload) = (Instant::now(), request.payload.len());
        let mut op = Op::of(request.message_type());
        let answered = self.answer(peer, request, &mut op).await.map_err(|error| self.softened(error));
        self.metrics.answered(peer, op, began, payload, answered.as_ref().ok());
        trace::operation(op.name());
        let reply = answered.unwrap_or_else(|error| Reply::error(codec::encode(&error)));
        Reply { map_version: self.member.map().version.0, ..reply }
    }
}

impl StorageService {
    pub(super) fn new(
        targets: Arc<HashMap<TargetId, Arc<Target>>>,
        member: Member,
        reads: Arc<Semaphore>,
        mirrors: Arc<Mirrors>,
        (sessions, scrubs, shown): (Arc<Sessions>, Arc<Scrubs>, Arc<Shown>),
        handshake: HandshakeConfig,
        (metrics, pages): (Arc<Metrics>, Pages),
    ) -> StorageService {
        let (pass_on, secret) = (PassOn::new(member.clone(), handshake.clone()), handshake.secret.clone());
        let thread = ThreadContext::new(handshake);
        mirrors.common().add_pool(&thread.pool);
        StorageService {
            targets,
            member,
            reads,
            thread,
            mirrors,
            sessions,
            scrubs,
            pass_on,
            secret,
            shown,
            metrics,
            pages,
        }
    }

    /// The rules of its key are those of its line in the secret file, and those that the map has.
    fn asker(&self, peer: &PeerInfo) -> Asker {
        Asker::new(peer.role, peer.grant.rules, self.member.watch().restriction(peer).as_ref())
    }

    /// `op` becomes what is asked for, where the message alone does not say it.
    async fn answer(&self, peer: &PeerInfo, request: Frame, op: &mut Op) -> Result<Reply, WireError> {
        let asker = self.asker(peer);
        asker.message(request.message_type())?;
        match request.message_type() {
            message_type::PING => Ok(Reply::ok(Bytes::new())),
            message_type::STATS => Ok(Reply::ok(codec::encode(&self.stats()))),
            message_type::METRICS => Ok(Reply::ok(Bytes::new()).with_payload(self.pages.payload().await?)),
            message_type::BUSIEST => Ok(Reply::ok(self.metrics.busy.answer(&request.body)?)),
            message_type::STORAGE_WRITE => self.write(peer, asker, request).await,
            message_type::STORAGE_READ => self.read(asker, &request).await,
            message_type::STORAGE_PROOFS => {
                self.shown.proofs(asker, &request.body, &self.secret, self.member.cluster())?;
                Ok(Reply::ok(Bytes::new()))
            }
            message_type::STORAGE_GRANTS => {
                self.shown.grants(asker, &request.body, &self.secret, self.member.cluster())?;
                Ok(Reply::ok(Bytes::new()))
            }
            message_type::STORAGE => Box::pin(part("disk", self.other(peer, asker, &request, op))).await,
            message_type::STORAGE_GROUP => self.mirrored(peer, asker, &request, op).await,
            message_type::STORAGE_RAID => super::raid::answer(&self.targets, &request).await,
            message_type::STORAGE_SCRUB => scrub::answer(&self.scrubs, &request),
            message_type::STORAGE_REPLICA => mirror::message(&self.mirrors, &self.thread, &request).await,
            message_type::STORAGE_REPLICAS => mirror::bundle(&self.mirrors, &self.thread, &request).await,
            other => {
                Err(ErrorCode::UNKNOWN_MESSAGE.with(format!("a storage service has no message type {other:#06x}")))
            }
        }
    }

    /// Where drives of other hosts are away the service starts again: what failed for that is not the end.
    fn softened(&self, error: WireError) -> WireError {
        let fails = matches!(error.code, ErrorCode::IO | ErrorCode::CHECKSUM);
        match fails && self.targets.values().any(|target| target.has_stopped().is_some()) {
            true => ErrorCode::NOT_READY.with("drives of a storage target are away"),
            false => error,
        }
    }

    fn target(&self, id: TargetId) -> Result<&Arc<Target>, WireError> {
        let target = self.targets.get(&id);
        let target = target.ok_or_else(|| ErrorCode::WRONG_SERVER.with(format!("storage target {id} is not here")))?;
        if !self.member.lease_valid() {
            return Err(ErrorCode::NOT_READY.with("this storage service has lost contact to management"));
        }
        Ok(target)
    }

    async fn write(&self, peer: &PeerInfo, asker: Asker, request: Frame) -> Result<Reply, WireError> {
        let written = request.payload.len() as u64;
        let (id, mut op) = request::write(&request.body, request.payload)?;
        asker.uses(&self.shown, op.file.inode, StorageRights::Write)?;
        trace::inode(op.file.inode);
        self.metrics.uses(op.file.inode, true, (0, written));
        let target = self.target(id)?;
        self.sessions.admit(peer, request.header.map_version, op.file.inode, op.session)?;
        op.compare();
        part("disk", self.thread.inline_path.write(target, op)).await?;
        Ok(Reply::ok(encode_bulk(&target.verifier(id).header(), &[])))
    }

    async fn read(&self, asker: Asker, request: &Frame) -> Result<Reply, WireError> {
        let (id, ReadOp { file, offset, len, verify }) = request::read(&request.body)?;
        asker.uses(&self.shown, file.inode, StorageRights::Read)?;
        trace::inode(file.inode);
        self.metrics.uses(file.inode, false, (len.into(), 0));
        let target = self.target(id)?;
        let memory = self.read_memory(offset, len).await?;
        let found = match verify {
            false => part("disk", self.thread.inline_path.read(target, file, offset, len)).await?,
            true => match Box::pin(part("disk", target.call(Task::Read { file, offset, len, verify }))).await? {
                Outcome::Read(out) => Found::Copied(out),
                _ => return Err(mistake()),
            },
        };
        Ok(read_reply(found, memory))
    }

    /// A request to a mirror group.
    async fn mirrored(&self, peer: &PeerInfo, asker: Asker, request: &Frame, op: &mut Op) -> Result<Reply, WireError> {
        let (call, reads) = self.mirrors.parse(request)?;
        *op = Op::mirrored(call.kind());
        call.inode().into_iter().for_each(trace::inode);
        call.check(asker)?;
        if asker.shows() {
            call.uses().into_iter().try_for_each(|(inode, rights)| asker.uses(&self.shown, inode, rights))?;
        }
        if let Some((inode, session)) = call.changes() {
            self.sessions.admit(peer, request.header.map_version, inode, session)?;
        }
        let (offset, len) = reads.unwrap_or((0, 0));
        if let Some(inode) = call.inode() {
            self.metrics.uses(inode, call.changes().is_some(), (len.into(), request.payload.len() as u64));
        }
        let memory = self.read_memory(offset, len).await?;
        if let Some(primary) = self.pass_on.wanted(request)?.filter(|primary| !self.targets.contains_key(primary)) {
            return Box::pin(self.pass_on.call(primary, request)).await;
        }
        let done = call.done();
        Ok(match call.ask(&self.thread).await? {
            Answered::Done => done,
            Answered::Read(found) => read_reply(found, memory),
            Answered::Reply(reply) => Reply::ok(codec::encode(&reply)),
        })
    }

    /// Waits until there is memory for a read.
    async fn read_memory(&self, offset: u64, len: u32) -> Result<OwnedSemaphorePermit, WireError> {
        // Blocks at both ends make the data longer than asked for.
        let units = match offset.checked_add(u64::from(len)) {
            Some(_) => blocks_touched(offset, u64::from(len)) as u32 + 1,
            None => return Err(ErrorCode::FILE_TOO_BIG.with("the read ends beyond the largest offset")),
        };
        let memory = part("memory", self.reads.clone().acquire_many_owned(units)).await;
        memory.map_err(|_| ErrorCode::NOT_READY.with("the storage service is stopping"))
    }

    async fn other(&self, peer: &PeerInfo, asker: Asker, request: &Frame, name: &mut Op) -> Result<Reply, WireError> {
        let StorageRequest { target: id, file, op, session, stamp } = codec::decode(&request.body)?;
        *name = Op::other(&op);
        trace::inode(file.inode);
        asker.op(&op)?;
        if asker.shows() {
            op.uses(file.inode).into_iter().try_for_each(|(inode, rights)| asker.uses(&self.shown, inode, rights))?;
        }
        let target = self.target(id)?;
        let done = if op.is_stored() { StorageReply::Stored(target.verifier(id)) } else { StorageReply::Done };
        if op.is_change() {
            self.sessions.admit(peer, request.header.map_version, file.inode, session)?;
        }
        self.metrics.uses(file.inode, op.is_change(), (0, 0));
        let by = Author { session, stamp: stamp.unwrap_or_default() };
        let reply = match op {
            StorageOp::Copy { from, from_offset, offset, len } => {
                self.copy(target, by, (from, from_offset), (file, offset), len).await?;
                done
            }
            StorageOp::Walk { offset, bytes, verify } => {
                super::walk::walk(target, WalkAt { file, offset }, bytes, verify).await?
            }
            StorageOp::List { most } => self.list(peer, (id, target), file, most, stamp).await?,
            op @ StorageOp::Fence { session } => {
                target.call(Task::Other(file, op)).await?;
                self.mirrors.fence(target, session).await?;
                done
            }
            op if op.is_change() => {
                target.call(Task::Change(by, file, op)).await?;
                done
            }
            StorageOp::Sync => {
                part("sync", target.call(Task::Other(file, StorageOp::Sync))).await?;
                done
            }
            op => match target.call(Task::Other(file, op)).await? {
                Outcome::Stat(len, blocks) => StorageReply::Stat { len, blocks },
                Outcome::Offset(offset) => StorageReply::Offset(offset),
                _ => done,
            },
        };
        Ok(Reply::ok(codec::encode(&reply)))
    }

    /// A page of the list of chunk files; clients get it of a target whose disk fails.
    async fn list(
        &self,
        peer: &PeerInfo,
        (id, target): (TargetId, &Target),
        from: ChunkFileId,
        most: u32,
        stamp: Option<Stamp>,
    ) -> Result<StorageReply, WireError> {
        if peer.role != Role::Client {
            return super::list::list(target, from, most).await;
        }
        target.evacuator.admit(self.member.map().is_failing(id), stamp, Instant::now())?;
        let listed = super::list::list(target, from, most).await?;
        // One file is asked for by who says that it is there still.
        if most > 1 && matches!(listed, StorageReply::Listed { next: None, .. }) {
            target.evacuator.ended(Instant::now());
        }
        Ok(listed)
    }

    async fn copy(
        &self,
        target: &Arc<Target>,
        by: Author,
        from: (ChunkFileId, u64),
        to: (ChunkFileId, u64),
        len: u32,
    ) -> Result<(), WireError> {
        check_copy(from.1, to.1, len)?;
        if len == 0 {
            return Ok(());
        }
        let _memory = self.read_memory(from.1, len).await?;
        let read = Task::Read { file: from.0, offset: from.1, len, verify: true };
        let Outcome::Read(mut read) = target.call(read).await? else {
            return Err(mistake());
        };
        let start = pad_copy(&mut read, from.1, len);
        let data = Bytes::from_owner(read.data).slice(start..);
        target.call(Task::Write(copy_write(by, to.0, to.1, data))).await?;
        Ok(())
    }

    fn stats(&self) -> ServiceStats {
        let mut sums = BTreeMap::new();
        for (name, value) in self.targets.values().flat_map(|target| target.counters()) {
            *sums.entry(name.to_owned()).or_insert(0) += value;
        }
        sums.extend(self.targets.iter().flat_map(|(id, target)| target.disk_counters(*id)));
        let map = self.member.map();
        let failing = self.targets.iter().filter(|(id, _)| map.is_failing(**id));
        sums.extend(
            failing.filter_map(|(id, target)| Some((format!("failing.{id}.data_bytes"), target.counted_bytes()?))),
        );
        sums.extend(self.mirrors.common().figures());
        sums.extend(self.scrubs.counters());
        sums.extend(self.metrics.clients.counters(["requests", "read_bytes", "written_bytes"]));
        sums.extend(self.metrics.slow.counters());
        let links = self.member.links().map(|links| links.report());
        ServiceStats { links, ..nyala_transport::process::stats(sums.into_iter().collect()) }
    }
}
