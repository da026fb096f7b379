// SPDX-License-Identifier: Apache-2.0

//! A cluster in memory behind the client's `Rpc` seam, with faults: requests and replies lost, requests sent twice,
//! refusals, servers away, damaged data, lost sessions. Metadata is the state machine that ships; storage is a fake.

pub mod machines;
pub mod meddling;
pub mod meta;
pub mod storage;
pub mod until;

use machines::LogState;
use meddling::{Accidents, Seen};
use meta::Metas;
use nyala_client::{Client, ClientConfig, FileHandle, OpenOptions, ReachFuture, Rpc, RpcFuture};
use nyala_transport::{Endpoint, Frame, Header, Request, Secret, TransportError};
use nyala_wire::codec::{decode, encode};
use nyala_wire::frame::flags;
use nyala_wire::map::*;
use nyala_wire::meta::{DelegationMode, Grants, MetaOp, MetaReply, MetaRequest, Owner};
use nyala_wire::mgmt::{Capacity, MgmtReply, MgmtRequest, TargetCapacity};
use nyala_wire::mirror::GroupHeader;
use nyala_wire::storage::READ_IN_PLACE;
use nyala_wire::*;
use parking_lot::Mutex;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use storage::Storage;
use tokio::sync::Notify;

pub const META_TARGETS: u16 = 2;
pub const STORAGE_TARGETS: u16 = 3;
pub type Answer = Result<(Vec<u8>, Vec<u8>), WireError>;

/// The root directory.
pub const ROOT: InodeId = InodeId::ROOT;

/// Makes a file in the root directory, which must not be there.
pub async fn make(client: &Client, name: &str) -> FileHandle {
    client.create(ROOT, name.as_bytes(), 0o644, Owner::default(), true).await.unwrap().1
}

pub async fn read(handle: &FileHandle, offset: u64, len: usize) -> Vec<u8> {
    handle.read(offset, len).await.unwrap().concat()
}

/// A cluster and two clients of it.
pub async fn two(seed: u64) -> (Cluster, Client, Client) {
    let cluster = Cluster::new(seed);
    let (one, two) = (cluster.client().await, cluster.client().await);
    (cluster, one, two)
}

/// Two open a file for writing in turn until the server gives neither anything to keep.
pub async fn contend(one: &Client, two: &Client, inode: InodeId) {
    let options = OpenOptions { write: true, ..OpenOptions::default() };
    for _ in 0..10 {
        for client in [one, two] {
            within(client.open(inode, options)).await.unwrap().release().await.unwrap();
        }
        if [one, two].iter().all(|client| client.delegation(inode) == DelegationMode::Uncached) {
            return;
        }
    }
    panic!("{:?} {:?}", one.delegation(inode), two.delegation(inode));
}

/// What has to end soon.
pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(5), future).await.expect("stuck")
}

/// Chances in 1,000 of each fault per request.
#[derive(Clone, Copy, Default)]
pub struct Faults {
    pub lose_request: u32,
    pub lose_reply: u32,
    pub twice: u32,
    pub busy: u32,
    pub damaged: u32,
    pub flip_read: u32,
    pub slow: u32,
    pub forget_session: u32,
}

pub struct Inner {
    pub faults: Faults,
    pub down: Vec<u16>,
    /// Who has another secret, or is somebody else.
    pub strangers: Vec<u16>,
    pub random: u64,
    pub metas: Metas,
    pub accidents: Accidents,
    pub seen: Seen,
    pub storage: Storage,
    pub write_delay: Duration,
    /// How long commits of sizes, small files' content and changes of attributes are on their way.
    pub commit_delay: Duration,
    /// Answers to these requests wait for this on their way.
    pub hold_of: Option<(Predicate, Arc<Notify>)>,
    /// Answers to look-ups that bring content wait for this on their way.
    pub hold: Option<Arc<Notify>>,
    pub held: usize,
    pub map: ClusterMap,
}

#[derive(Clone)]
pub struct Cluster(pub Arc<Mutex<Inner>>);

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

impl Inner {
    fn chance(&mut self, per_mille: u32) -> bool {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.random >> 33) % 1000) < u64::from(per_mille)
    }

    /// The answer of management or storage.
    fn answer(&mut self, request: &Request) -> Answer {
        if request.message_type == message_type::MGMT {
            return self.mgmt(&decode(&request.body)?);
        }
        let (damaged, flip) = (self.chance(self.faults.damaged), self.chance(self.faults.flip_read));
        self.storage.handle(request, damaged, flip)
    }

    fn mgmt(&mut self, request: &MgmtRequest) -> Answer {
        let reply = match request {
            MgmtRequest::WatchMap { have, .. } if *have >= self.map.version => MgmtReply::Unchanged,
            MgmtRequest::WatchMap { .. } => MgmtReply::Map(Box::new(self.map.clone())),
            MgmtRequest::Capacities => {
                let capacity = Capacity { total_bytes: 100, free_bytes: 60, total_inodes: 10, free_inodes: 7 };
                let targets = self.map.targets.iter();
                MgmtReply::Capacities(targets.map(|t| TargetCapacity::new(t.id, capacity)).collect())
            }
            _ => return Err(ErrorCode::UNKNOWN_MESSAGE.into()),
        };
        Ok((encode(&reply), Vec::new()))
    }
}

/// Mirror groups of two targets each.
fn groups(map: &mut ClusterMap) {
    let targets: Vec<TargetId> = map.targets_of(TargetKind::Storage).map(|target| target.id).collect();
    for (id, members) in (1..).zip(targets.chunks_exact(2)) {
        map.groups.push(Group {
            id: GroupId(id),
            kind: TargetKind::Storage,
            epoch: 1,
            members: members.to_vec(),
            states: vec![MemberState::Good; 2],
            term: 1,
            since: MapVersion(1),
            fencing: Vec::new(),
            resync_stopped: false,
            full: Vec::new(),
            losses: 0,
            serves: None,
        });
    }
}

fn map(targets_of_a_file: u16) -> ClusterMap {
    map_of(STORAGE_TARGETS, targets_of_a_file)
}

fn map_of(storage_targets: u16, targets_of_a_file: u16) -> ClusterMap {
    let mut map = ClusterMap { version: MapVersion(1), ..ClusterMap::default() };
    map.settings.session_timeout_ms = machines::SESSION_TIMEOUT_MS;
    map.settings.default_pattern.chunk_bytes = 65_536;
    map.settings.default_pattern.num_targets = targets_of_a_file;
    map.pools.push(Pool { id: PoolId(1), alias: "default".into() });
    for port in 1..=META_TARGETS + storage_targets {
        let meta = port <= META_TARGETS;
        map.nodes.push(Node {
            id: NodeId(port.into()),
            alias: format!("n{port}"),
            role: if meta { Role::Meta } else { Role::Storage },
            addresses: vec![address(port)],
            reachability: Reachability::Online,
        });
        map.targets.push(Target {
            id: TargetId(port),
            alias: format!("t{port}"),
            kind: if meta { TargetKind::Meta } else { TargetKind::Storage },
            node: NodeId(port.into()),
            pool: PoolId(1),
            reachability: Reachability::Online,
            consistency: Consistency::Good,
            capacity_pool: CapacityPool::Normal,
        });
    }
    map.slots = (0..META_TARGETS).map(|i| SlotRange { first: Slot(i), count: 1, target: TargetId(i + 1) }).collect();
    map
}

impl Cluster {
    pub fn new(seed: u64) -> Cluster {
        Cluster::striped_over(seed, STORAGE_TARGETS)
    }

    /// One whose files have so many targets each.
    pub fn striped_over(seed: u64, targets: u16) -> Cluster {
        Cluster::of(seed, &map(targets))
    }

    /// One with so many storage targets, of which each two are a mirror group too.
    pub fn mirrored(seed: u64, storage_targets: u16) -> Cluster {
        let mut map = map_of(storage_targets, 2);
        groups(&mut map);
        Cluster::of(seed, &map)
    }

    fn of(seed: u64, map: &ClusterMap) -> Cluster {
        let (sender, receiver) = mpsc::channel();
        let cluster = Cluster(Arc::new(Mutex::new(Inner {
            faults: Faults::default(),
            down: Vec::new(),
            strangers: Vec::new(),
            random: seed,
            metas: Metas(sender),
            accidents: Accidents::default(),
            seen: Seen::default(),
            storage: Storage::default(),
            write_delay: Duration::ZERO,
            commit_delay: Duration::ZERO,
            hold_of: None,
            hold: None,
            held: 0,
            map: map.clone(),
        })));
        let (weak, map) = (Arc::downgrade(&cluster.0), map.clone());
        std::thread::spawn(move || machines::serve(&receiver, map, META_TARGETS, weak));
        cluster
    }

    pub fn config(&self) -> ClientConfig {
        let secret = Secret::from_bytes(&[b'x'; 32]).unwrap();
        let mut config = ClientConfig::new(vec![address(99)], secret, "test:/mnt");
        config.retry_timeout = Duration::from_secs(20);
        config
    }

    pub async fn client(&self) -> Client {
        self.client_with(self.config()).await
    }

    pub async fn client_with(&self, config: ClientConfig) -> Client {
        Client::connect_over(config, Arc::new(self.clone())).await.unwrap()
    }

    pub fn set_faults(&self, faults: Faults) {
        self.0.lock().faults = faults;
    }

    /// Answers a frame that came over a real connection; no faults.
    pub async fn answer(&self, port: u16, frame: Frame) -> Answer {
        let request = Request::new(frame.message_type(), frame.body).with_payload(vec![frame.payload]);
        match request.message_type {
            message_type::META => self.meta(port, &decode(&request.body)?, false).await.expect("it is up").0,
            _ => self.0.lock().answer(&request),
        }
    }

    /// Metadata requests since the last call, sessions and keep-alives left out.
    pub fn take_log(&self) -> Vec<String> {
        let log = std::mem::take(&mut self.0.lock().seen.log);
        log.into_iter().filter(|entry| !entry.starts_with("Session")).collect()
    }

    /// Panics if a client broke a rule.
    pub fn check(&self) {
        let inner = self.0.lock();
        assert!(inner.seen.violations.is_empty(), "{:?}", inner.seen.violations);
        assert!(inner.storage.violations.is_empty(), "{:?}", inner.storage.violations);
    }

    /// The answer of a metadata server; `None` if it goes away first.
    async fn meta(&self, port: u16, request: &MetaRequest, twice: bool) -> Option<(Answer, LogState)> {
        let (at, mut sent) = (usize::from(port - 1), request.clone());
        let (metas, forgets, late, cut) = {
            let mut inner = self.0.lock();
            inner.seen.request(request);
            inner.check_only_copy(request);
            if let Some(refused) = inner.accidents.refuse(request) {
                inner.seen.reply(request, &refused);
                return Some((refused.map(|body| (body, Vec::new())), LogState::default()));
            }
            inner.accidents.change(&mut sent);
            let forgets = inner.faults.forget_session;
            let opens = matches!(request.op, MetaOp::SessionOpen { .. });
            let late = opens && inner.accidents.late_openings > 0;
            inner.accidents.late_openings -= usize::from(late);
            let cut = opens && inner.accidents.cut_openings > 0;
            inner.accidents.cut_openings -= usize::from(cut);
            (inner.metas.clone(), forgets > 0 && inner.chance(forgets), late, cut)
        };
        if forgets {
            self.end_sessions(at);
        }
        if twice {
            // why dropped: nobody waits for the first answer.
            drop(metas.request(at, sent.clone()));
        }
        let mut reply = metas.request(at, sent);
        let (mut result, log) = loop {
            tokio::select! {
                replied = &mut reply => break replied.ok()?,
                // sleeps: between two looks
                () = tokio::time::sleep(Duration::from_millis(2)) => {
                    if self.0.lock().down.contains(&port) {
                        return None;
                    }
                }
            }
        };
        if cut {
            metas.with(move |machines| machines.restart(at, true));
            return None;
        }
        if late {
            self.end_sessions(at);
            result = Err(ErrorCode::NOT_READY.with("the answer was lost"));
        }
        self.0.lock().seen.reply(request, &result);
        Some((result.map(|body| (body, Vec::new())), log))
    }
}

impl Rpc for Cluster {
    fn is_reachable<'a>(&'a self, _endpoint: &'a Endpoint) -> ReachFuture<'a> {
        Box::pin(async { true })
    }

    fn call<'a>(&'a self, endpoint: &'a Endpoint, request: Request) -> RpcFuture<'a> {
        let port = endpoint.addresses[0].port();
        Box::pin(self.carry(port, request))
    }
}

/// What befalls a request.
enum Outcome {
    /// It arrives, after a delay.
    Arrives { delay: Duration, twice: bool, lose_reply: bool },
    /// Its sender hears this at once.
    Heard(Box<Result<Frame, TransportError>>),
}

impl Inner {
    fn outcome(&mut self, port: u16, request: &Request, op: Option<&MetaOp>) -> Outcome {
        let heard = |what| Outcome::Heard(Box::new(what));
        let mut faults = if request.message_type == message_type::MGMT { Faults::default() } else { self.faults };
        if matches!(op, Some(MetaOp::DelegationPoll { .. })) {
            // A server says again what was lost, but not before it has waited for seconds.
            (faults.lose_reply, faults.twice) = (faults.lose_reply / 4, 0);
        }
        if self.down.contains(&port) {
            return heard(Err(TransportError::ConnectRefused { address: address(port) }));
        }
        if self.strangers.contains(&port) {
            return heard(Err(TransportError::WrongSecret { address: address(port) }));
        }
        if self.chance(faults.lose_request) {
            return heard(lost(port, "request lost"));
        }
        if self.chance(faults.busy) {
            let body = encode(&ErrorCode::NOT_READY.with("test"));
            return heard(Ok(frame(request, flags::REPLY | flags::ERROR, body, Vec::new())));
        }
        let mut delay = match op {
            Some(op) if is_commit(op) => self.commit_delay,
            _ if request.message_type == message_type::STORAGE_WRITE => self.write_delay,
            _ => Duration::ZERO,
        };
        if self.chance(faults.slow) {
            delay += Duration::from_millis(self.random >> 60);
        }
        let (lose_reply, twice) = (self.chance(faults.lose_reply), self.chance(faults.twice));
        Outcome::Arrives { delay, twice, lose_reply }
    }
}

impl Cluster {
    async fn carry(&self, port: u16, request: Request) -> Result<Frame, TransportError> {
        let request = of_group(request);
        if request.message_type == message_type::MGMT
            && let Ok(MgmtRequest::WatchMap { wait_ms: 1.., .. }) = decode(&request.body)
        {
            // sleeps: the pause is what is played
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let meta = (request.message_type == message_type::META).then(|| decode::<MetaRequest>(&request.body).unwrap());
        let op = meta.as_ref().map(|request| &request.op);
        let write = request.message_type == message_type::STORAGE_WRITE;
        let (delay, twice, lose_reply) = {
            let mut inner = self.0.lock();
            let (delay, twice, lose_reply) = match inner.outcome(port, &request, op) {
                Outcome::Arrives { delay, twice, lose_reply } => (delay, twice, lose_reply),
                Outcome::Heard(heard) => return *heard,
            };
            if write {
                inner.storage.begin(&request);
            }
            (delay, twice, lose_reply)
        };
        match delay {
            Duration::ZERO => tokio::task::yield_now().await,
            // sleeps: the pause is what is played
            delay => tokio::time::sleep(delay).await,
        }
        let (answer, log) = match &meta {
            Some(meta) => match self.meta(port, meta, twice).await {
                Some(answered) => answered,
                None => return lost(port, "it went away"),
            },
            None => {
                let mut inner = self.0.lock();
                if write {
                    inner.storage.end(&request);
                }
                if twice {
                    // why ignored: nobody waits for the first answer.
                    let _ = inner.answer(&request);
                }
                (inner.answer(&request), LogState::default())
            }
        };
        self.hold(op, &answer).await;
        if lose_reply {
            return lost(port, "reply lost");
        }
        let mut answered = match answer {
            Ok((body, payload)) => {
                let in_place = request.message_type == message_type::STORAGE_READ && self.0.lock().storage.in_place;
                let own = if in_place { READ_IN_PLACE } else { 0 };
                frame(&request, flags::REPLY | own, body, payload)
            }
            Err(error) => frame(&request, flags::REPLY | flags::ERROR, encode(&error), Vec::new()),
        };
        let header = &mut answered.header;
        (header.run, header.log_position, header.unsynced_records) = (log.run, log.durable, log.unsynced);
        Ok(answered)
    }

    /// Answers that a test holds up wait on their way.
    async fn hold(&self, op: Option<&MetaOp>, answer: &Answer) {
        let hold = {
            let mut inner = self.0.lock();
            let content = matches!(op, Some(MetaOp::Lookup { .. }))
                && answer.as_ref().is_ok_and(|(body, _)| has_content(&Ok(body.clone())));
            let hold = inner.hold.clone().filter(|_| content);
            let of = inner.hold_of.as_ref().filter(|(is_held, _)| op.is_some_and(is_held));
            let hold = hold.or_else(|| of.map(|(_, hold)| hold.clone()));
            inner.held += usize::from(hold.is_some());
            hold
        };
        if let Some(hold) = hold {
            hold.notified().await;
        }
    }
}

/// What a request to a mirror group asks of it: all its members hold the same, under target number 0.
fn of_group(request: Request) -> Request {
    if request.message_type != message_type::STORAGE_GROUP {
        return request;
    }
    let (header, inner) = GroupHeader::split(&request.body).unwrap();
    Request { message_type: header.kind.get(), body: inner.to_vec().into(), ..request }
}

fn lost(port: u16, reason: &str) -> Result<Frame, TransportError> {
    Err(TransportError::Disconnected { address: address(port), reason: reason.to_string() })
}

/// Which requests are meant.
pub type Predicate = fn(&MetaOp) -> bool;

pub fn is_commit(op: &MetaOp) -> bool {
    matches!(op, MetaOp::Commit(_) | MetaOp::SetAttr { .. } | MetaOp::PutInline(_))
}

/// Whether a look-up brings content.
fn has_content(reply: &Result<Vec<u8>, WireError>) -> bool {
    let Ok(body) = reply else { return false };
    Grants::split(body).is_ok_and(|(_, reply)| matches!(decode(reply), Ok(MetaReply::Opened(_))))
}

fn frame(request: &Request, flags: u32, body: Vec<u8>, payload: Vec<u8>) -> Frame {
    let header = Header { message_type: request.message_type, flags, ..Header::default() };
    Frame { header, body: body.into(), payload: payload.into() }
}
