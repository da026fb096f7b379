// SPDX-License-Identifier: Apache-2.0

//! What connection threads hand to the members of mirror groups. Failure model: see the parent module.

use super::action::{Answered, Event, Incoming};
use super::common::Common;
use super::groups_thread::GroupsThread;
use super::parse::{self, Asked, ChangeOp};
use super::shell::{SharedMember, Shell};
use super::thread_context::ThreadContext;
use crate::service::access::Asker;
use crate::service::queue::{Outcome, Task, mistake, stopping};
use crate::service::target::Target;
use nyala_replica::ByNumber;
use nyala_transport::member::monotonic_us;
use nyala_transport::trace::part;
use nyala_transport::{Frame, Reply};
use nyala_wire::mirror::GroupHeader;
use nyala_wire::storage::{StorageOp, StorageReply, StorageRequest, WriteVerifier, encode_bulk};
use nyala_wire::storage_grants::StorageRights;
use nyala_wire::{ErrorCode, GroupId, InodeId, SessionId, TargetId, WireError, codec};
use parking_lot::{Mutex, RwLock};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};

/// Longest wait until a session is fenced in a group, and its writes are over.
const FENCE_WITHIN: Duration = Duration::from_secs(10);

/// The way to one member.
pub(super) struct Mirror {
    pub shared: Arc<SharedMember>,
    pub events: mpsc::UnboundedSender<Event>,
    /// The group's, as the newest map that the member may know has it.
    pub losses: AtomicU32,
}

/// All members of groups in this service.
#[derive(Default)]
pub struct Mirrors {
    pub(super) groups: RwLock<ByNumber<GroupId, Arc<Mirror>>>,
    /// Started for the first group.
    pub(super) thread: Mutex<Option<GroupsThread>>,
    /// Of groups that are gone from the map.
    pub(super) stopping: Mutex<Vec<Arc<SharedMember>>>,
    pub(super) common: Arc<Common>,
}

impl Mirrors {
    pub(super) fn find(&self, group: u16) -> Result<Arc<Mirror>, WireError> {
        let found = self.groups.read().get(&GroupId(group)).cloned();
        found.ok_or_else(|| ErrorCode::WRONG_SERVER.with(format!("mirror group {group} is not here")))
    }

    /// A client's request. The second value says what a read needs memory for: offset and length.
    pub fn parse(&self, frame: &Frame) -> Result<(Call, Option<(u64, u32)>), WireError> {
        let (header, inner) = GroupHeader::split(&frame.body)?;
        let mirror = self.find(header.group.get())?;
        let asked = parse::request(header.kind.get(), frame.body.slice_ref(inner), frame.payload.clone())?;
        let memory = match &asked {
            Asked::Read(_, _, parse::ReadKind::Bulk { offset, len, .. }) => Some((*offset, *len)),
            _ => None,
        };
        // Before it is done: one that a later loss does not concern may seem lost, never the other way round.
        let verifier = WriteVerifier { target: TargetId(0), losses: mirror.losses.load(Ordering::Acquire) };
        Ok((Call { mirror, header, epoch: frame.header.group_epoch, asked, verifier }, memory))
    }

    /// A session that is fenced on this target is fenced in its mirror groups. Returns when none of its writes is under way there.
    pub async fn fence(&self, target: &Arc<Target>, session: SessionId) -> Result<(), WireError> {
        let mine: Vec<Arc<Mirror>> = {
            let groups = self.groups.read();
            groups.values().filter(|mirror| Arc::ptr_eq(&mirror.shared.setup.target, target)).cloned().collect()
        };
        for mirror in mine {
            let (done, fenced) = oneshot::channel();
            mirror.events.send(Event::Fence(session, done)).map_err(|_| stopping())?;
            let late =
                || ErrorCode::NOT_READY.with("a member does not answer, or writes of that session are under way");
            tokio::time::timeout(FENCE_WITHIN, fenced).await.map_err(|_| late())?.map_err(|_| stopping())??;
        }
        Ok(())
    }

    /// What all members have in common.
    pub fn common(&self) -> &Common {
        &self.common
    }
}

impl Mirror {
    /// Nothing happens in the group any more.
    pub fn stop(&self) -> Arc<SharedMember> {
        self.shared.stop();
        // An error means that its task has ended.
        let _ = self.events.send(Event::Stop);
        self.shared.clone()
    }
}

/// A client's request, ready to be asked.
pub struct Call {
    mirror: Arc<Mirror>,
    header: GroupHeader,
    epoch: u32,
    asked: Asked,
    verifier: WriteVerifier,
}

impl Call {
    /// The type of the message that is inside.
    pub fn kind(&self) -> u16 {
        self.header.kind.get()
    }

    /// The reply, if all that there is to say is that it is done.
    pub fn done(&self) -> Reply {
        let verifier = self.verifier;
        let stored = match &self.asked {
            Asked::Sync => true,
            Asked::Read(..) => false,
            Asked::Change(_, request) => match &request.op {
                ChangeOp::Write(_) => return Reply::ok(encode_bulk(&verifier.header(), &[])),
                ChangeOp::Other(_, op) => op.is_stored(),
            },
        };
        let reply = if stored { StorageReply::Stored(verifier) } else { StorageReply::Done };
        Reply::ok(codec::encode(&reply))
    }

    /// May this peer ask that?
    pub fn check(&self, asker: Asker) -> Result<(), WireError> {
        match &self.asked {
            Asked::Sync | Asked::Read(..) => Ok(()),
            Asked::Change(_, request) => match &request.op {
                ChangeOp::Write(_) => asker.may_write(),
                ChangeOp::Other(_, op) => asker.op(op),
            },
        }
    }

    /// The inode of the file that it changes, and for which session.
    pub fn changes(&self) -> Option<(InodeId, SessionId)> {
        match &self.asked {
            Asked::Change(change, request) if request.op.is_bound() => Some((change.file.inode, request.session)),
            _ => None,
        }
    }

    /// The inodes of all files whose chunks it uses, and how.
    pub fn uses(&self) -> Vec<(InodeId, StorageRights)> {
        match &self.asked {
            Asked::Change(change, request) => match &request.op {
                ChangeOp::Write(_) => vec![(change.file.inode, StorageRights::Write)],
                ChangeOp::Other(file, op) => op.uses(file.inode),
            },
            Asked::Read(file, ..) => vec![(file.inode, StorageRights::Read)],
            Asked::Sync => Vec::new(),
        }
    }

    /// The inode of the file that it is about.
    pub fn inode(&self) -> Option<InodeId> {
        match &self.asked {
            Asked::Change(change, _) => Some(change.file.inode),
            Asked::Read(file, ..) => Some(file.inode),
            Asked::Sync => None,
        }
    }

    /// Asks the group's member here, on this thread.
    pub async fn ask(self, thread: &Rc<ThreadContext>) -> Result<Answered, WireError> {
        let Call { mirror, header, epoch, asked, .. } = self;
        let shell = Shell { shared: mirror.shared.clone(), thread: thread.clone() };
        let (client, number, lowest) = (header.client.get(), header.number.get(), header.lowest.get());
        let came_us = monotonic_us();
        if let Some(found) = part("disk", shell.read_ahead(&asked, epoch, came_us)).await {
            return Ok(Answered::Read(found));
        }
        let (answer, mut answered) = oneshot::channel();
        let incoming = Incoming { client, number, lowest, epoch, asked, came_us, answer };
        part("own copy", shell.carry_out_here(shell.asked(incoming))).await;
        match answered.try_recv() {
            Ok(answer) => return answer,
            Err(TryRecvError::Closed) => return Err(stopping()),
            Err(TryRecvError::Empty) => {}
        }
        // Who waits for too long is told so by the groups' thread: no timer for each request.
        part("mirrors", answered).await.unwrap_or_else(|_| Err(stopping()))
    }
}

/// A good member gives another one what it has, for a repair.
pub(super) async fn fetch(target: &Target, request: &[u8]) -> Result<Reply, WireError> {
    let StorageRequest { file, op, .. } = codec::decode(request)?;
    let StorageOp::Repair { offset, len, .. } = op else {
        return Err(ErrorCode::BAD_MESSAGE.with("a region is asked for with `Repair`"));
    };
    let end = offset.saturating_add(len.into());
    match target.call(Task::Export { file, start: offset, end, as_is: false }).await? {
        Outcome::Region(region) => Ok(Reply::ok(codec::encode(&region.header)).with_payload(vec![region.data])),
        _ => Err(mistake()),
    }
}
