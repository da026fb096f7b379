// SPDX-License-Identifier: Apache-2.0

//! From connection threads to the shells of mirror groups and back. Failure model: see the parent module.

use super::fencing::Fenced;
use super::parse::{self, Asked, ChangeOp, Sent};
use crate::service::queue::{Outcome, Task, mistake, stopping};
use crate::service::read_reply::Found;
use crate::service::target::Target;
use nyala_replica::Envelope;
use nyala_transport::member::monotonic_us;
use nyala_transport::{Frame, Reply};
use nyala_wire::map::ClusterMap;
use nyala_wire::mirror::{GroupHeader, ReplicaHeader, replica_kind};
use nyala_wire::storage::{StorageOp, StorageReply, StorageRequest, WriteVerifier, encode_bulk};
use nyala_wire::{ErrorCode, GroupId, InodeId, SessionId, TargetId, WireError, codec};
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Longest wait for a shell's answer to a client.
const CLIENT_WITHIN: Duration = Duration::from_secs(60);
/// Longest wait for its answer to another member, which asks again.
const MEMBER_WITHIN: Duration = Duration::from_secs(3);
/// Longest wait until a session is fenced in a group, and its writes are over.
const FENCE_WITHIN: Duration = Duration::from_secs(10);

/// What came of a request.
pub(in crate::service) enum Answered {
    Done,
    Read(Found),
    Reply(StorageReply),
}

/// A client's request on its way to the shell.
pub(super) struct Incoming {
    pub client: u64,
    pub number: u64,
    pub lowest: u64,
    pub epoch: u32,
    pub asked: Asked,
    /// When it came, by [`monotonic_us`].
    pub came_us: u64,
    pub answer: oneshot::Sender<Result<Answered, WireError>>,
}

/// What happens to a shell.
pub(super) enum Event {
    Request(Box<Incoming>),
    Message {
        from: TargetId,
        envelope: Envelope,
        sent: Box<Sent>,
        answer: oneshot::Sender<Envelope>,
    },
    Map(Arc<ClusterMap>, oneshot::Sender<()>),
    /// The session is fenced on the target. Answer when it is in the group, and no write of the session is under way.
    Fence(SessionId, Fenced),
    Stop,
}

/// The way to one shell.
#[derive(Clone)]
pub(super) struct Mirror {
    pub me: TargetId,
    pub target: Arc<Target>,
    pub events: mpsc::UnboundedSender<Event>,
    /// The group's, as the newest map that the shell may know has it.
    pub losses: Arc<AtomicU32>,
}

/// All shells of this service.
#[derive(Default)]
pub(in crate::service) struct Mirrors {
    pub(super) groups: RwLock<HashMap<GroupId, Mirror>>,
    pub(super) threads: Mutex<HashMap<GroupId, JoinHandle<()>>>,
    /// Threads of groups that are gone from the map.
    pub(super) ending: Mutex<Vec<(GroupId, JoinHandle<()>)>>,
    /// Figures by name.
    pub(super) figures: Mutex<BTreeMap<String, u64>>,
}

impl Mirrors {
    fn find(&self, group: u16) -> Result<Mirror, WireError> {
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

    /// A message of another member.
    pub async fn message(&self, frame: &Frame) -> Result<Reply, WireError> {
        let (header, envelope, rest) = ReplicaHeader::split(&frame.body)?;
        let mirror = self.find(header.group.get())?;
        if mirror.me.0 != header.to.get() {
            return Err(ErrorCode::WRONG_SERVER.with(format!("target {} is not in that mirror group here", header.to)));
        }
        if header.kind.get() == replica_kind::FETCH {
            return fetch(&mirror, rest).await;
        }
        let envelope: Envelope = codec::decode(envelope)?;
        let rest = frame.body.slice_ref(rest);
        let sent = parse::sent(header.kind.get(), &envelope.body, rest, frame.payload.clone())?;
        let (answer, answered) = oneshot::channel();
        let (from, sent) = (TargetId(header.from.get()), Box::new(sent));
        let event = Event::Message { from, envelope, sent, answer };
        mirror.events.send(event).map_err(|_| stopping())?;
        match tokio::time::timeout(MEMBER_WITHIN, answered).await {
            Ok(Ok(envelope)) => Ok(Reply::ok(codec::encode(&envelope))),
            // Answers that take longer, or that there are none of, come as messages of their own.
            _ => Ok(Reply::ok(Vec::new())),
        }
    }

    /// A session that is fenced on this target is fenced in its mirror groups. Returns when none of its writes is under way there.
    pub async fn fence(&self, target: &Arc<Target>, session: SessionId) -> Result<(), WireError> {
        let mine: Vec<Mirror> = {
            let groups = self.groups.read();
            groups.values().filter(|mirror| Arc::ptr_eq(&mirror.target, target)).cloned().collect()
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

    /// Figures for the service's statistics.
    pub fn figures(&self) -> Vec<(String, u64)> {
        self.figures.lock().iter().map(|(name, value)| (name.clone(), *value)).collect()
    }

    /// Adds to a figure.
    pub(super) fn count(&self, name: &str, value: u64) {
        *self.figures.lock().entry(name.to_owned()).or_insert(0) += value;
    }
}

/// A client's request, ready to be asked.
pub(in crate::service) struct Call {
    mirror: Mirror,
    header: GroupHeader,
    epoch: u32,
    asked: Asked,
    verifier: WriteVerifier,
}

impl Call {
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

    /// The inode of the file that it changes, and for which session.
    pub fn changes(&self) -> Option<(InodeId, SessionId)> {
        match &self.asked {
            Asked::Change(change, request) if request.op.is_bound() => Some((change.file.inode, request.session)),
            _ => None,
        }
    }

    /// Asks the group's member here.
    pub async fn ask(self) -> Result<Answered, WireError> {
        let Call { mirror, header, epoch, asked, .. } = self;
        let (answer, answered) = oneshot::channel();
        let (client, number, lowest) = (header.client.get(), header.number.get(), header.lowest.get());
        let incoming = Incoming { client, number, lowest, epoch, asked, came_us: monotonic_us(), answer };
        mirror.events.send(Event::Request(Box::new(incoming))).map_err(|_| stopping())?;
        match tokio::time::timeout(CLIENT_WITHIN, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(stopping()),
            Err(_) => Err(ErrorCode::NOT_READY.with("the mirror group could not do that in time; send it again")),
        }
    }
}

/// A good member gives another one what it has, for a repair.
async fn fetch(mirror: &Mirror, request: &[u8]) -> Result<Reply, WireError> {
    let StorageRequest { file, op, .. } = codec::decode(request)?;
    let StorageOp::Repair { offset, len, .. } = op else {
        return Err(ErrorCode::BAD_MESSAGE.with("a region is asked for with `Repair`"));
    };
    let end = offset.saturating_add(len.into());
    match mirror.target.call(Task::Export { file, start: offset, end }).await? {
        Outcome::Region(region) => Ok(Reply::ok(codec::encode(&region.header)).with_payload(vec![region.data])),
        _ => Err(mistake()),
    }
}
