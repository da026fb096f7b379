// SPDX-License-Identifier: Apache-2.0

//! A cluster in memory behind the client's `Rpc` seam, with faults: requests and replies lost, requests sent twice,
//! refusals, servers away, damaged data, lost sessions.
#![allow(dead_code)] // why: every test binary uses another part of it

pub mod delegations;
pub mod log;
pub mod meta;
pub mod storage;

use meta::{Meta, MetaOp, Owner};
use nyala_client::{Client, ClientConfig, FileHandle, ReachFuture, Rpc, RpcFuture};
use nyala_transport::{Endpoint, Frame, Header, Request, Secret, TransportError};
use nyala_wire::codec::{decode, encode};
use nyala_wire::frame::flags;
use nyala_wire::map::*;
use nyala_wire::mgmt::{Capacity, MgmtReply, MgmtRequest, TargetCapacity};
use nyala_wire::storage::READ_IN_PLACE;
use nyala_wire::*;
use parking_lot::Mutex;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use storage::Storage;
use tokio::sync::Notify;
use zerocopy::IntoBytes;

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
    pub metas: Vec<Meta>,
    pub storage: Storage,
    pub log: Vec<String>,
    pub write_delay: Duration,
    /// How long commits of sizes, small files' content and changes of attributes are on their way.
    pub commit_delay: Duration,
    /// Answers to those wait for this on their way.
    pub hold_commits: Option<Arc<Notify>>,
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

    fn answer(&mut self, port: u16, request: &Request) -> Answer {
        match request.message_type {
            message_type::MGMT => self.mgmt(&decode(&request.body)?),
            message_type::META => {
                let at = usize::from(port - 1);
                let request: meta::MetaRequest = decode(&request.body)?;
                if self.faults.forget_session > 0 && self.chance(self.faults.forget_session) {
                    self.metas[at].forget(&mut self.storage);
                }
                let (grants, reply) = self.metas[at].handle(&request, &mut self.storage, &mut self.log)?;
                let mut body = grants.head().as_bytes().to_vec();
                body.extend(encode(&reply));
                Ok((body, Vec::new()))
            }
            _ => {
                let (damaged, flip) = (self.chance(self.faults.damaged), self.chance(self.faults.flip_read));
                self.storage.handle(request, damaged, flip)
            }
        }
    }

    fn mgmt(&mut self, request: &MgmtRequest) -> Answer {
        let reply = match request {
            MgmtRequest::WatchMap { have, .. } if *have >= self.map.version => MgmtReply::Unchanged,
            MgmtRequest::WatchMap { .. } => MgmtReply::Map(Box::new(self.map.clone())),
            MgmtRequest::Capacities => {
                let capacity = Capacity { total_bytes: 100, free_bytes: 60, total_inodes: 10, free_inodes: 7 };
                let targets = self.map.targets.iter();
                MgmtReply::Capacities(targets.map(|t| TargetCapacity { target: t.id, capacity }).collect())
            }
            _ => return Err(ErrorCode::UNKNOWN_MESSAGE.into()),
        };
        Ok((encode(&reply), Vec::new()))
    }
}

fn map() -> ClusterMap {
    let mut map = ClusterMap { version: MapVersion(1), ..ClusterMap::default() };
    map.settings.session_timeout_ms = meta::SESSION_TIMEOUT_MS;
    for port in 1..=META_TARGETS + STORAGE_TARGETS {
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
        let metas = (0..META_TARGETS).map(|i| Meta::new(Slot(i))).collect();
        Cluster(Arc::new(Mutex::new(Inner {
            faults: Faults::default(),
            down: Vec::new(),
            strangers: Vec::new(),
            random: seed,
            metas,
            storage: Storage::default(),
            log: Vec::new(),
            write_delay: Duration::ZERO,
            commit_delay: Duration::ZERO,
            hold_commits: None,
            hold: None,
            held: 0,
            map: map(),
        })))
    }

    pub fn config(&self) -> ClientConfig {
        let secret = Secret::from_bytes(&[b'x'; 32]).unwrap();
        let mut config = ClientConfig::new(vec![address(9)], secret, "test:/mnt");
        config.retry_timeout = Duration::from_secs(20);
        config
    }

    pub async fn client(&self) -> Client {
        self.client_with(self.config()).await
    }

    pub async fn client_with(&self, config: ClientConfig) -> Client {
        Client::connect_over(config, Arc::new(self.clone())).await.unwrap()
    }

    /// Metadata ends all sessions, as after a long silence.
    pub fn forget_sessions(&self) {
        let mut inner = self.0.lock();
        let inner = &mut *inner;
        inner.metas.iter_mut().for_each(|meta| meta.forget(&mut inner.storage));
    }

    pub fn set_faults(&self, faults: Faults) {
        self.0.lock().faults = faults;
    }

    /// Answers a frame that came over a real connection; no faults.
    pub fn answer(&self, port: u16, frame: Frame) -> Answer {
        let request = Request::new(frame.message_type(), frame.body).with_payload(vec![frame.payload]);
        self.0.lock().answer(port, &request)
    }

    /// Metadata requests since the last call, sessions and keep-alives left out.
    pub fn take_log(&self) -> Vec<String> {
        let log = std::mem::take(&mut self.0.lock().log);
        log.into_iter().filter(|entry| !entry.starts_with("Session")).collect()
    }

    /// Panics if a request was done twice or a reply acknowledged that was still waited for.
    pub fn check(&self) {
        let inner = self.0.lock();
        for meta in &inner.metas {
            assert!(meta.violations.is_empty(), "{:?}", meta.violations);
        }
        assert!(inner.storage.violations.is_empty(), "{:?}", inner.storage.violations);
    }
}

impl Rpc for Cluster {
    fn is_reachable<'a>(&'a self, _endpoint: &'a Endpoint) -> ReachFuture<'a> {
        Box::pin(async { true })
    }

    fn call<'a>(&'a self, endpoint: &'a Endpoint, request: Request) -> RpcFuture<'a> {
        let port = endpoint.addresses[0].port();
        Box::pin(async move {
            let lost =
                |reason: &str| Err(TransportError::Disconnected { address: address(port), reason: reason.to_string() });
            if let Ok(MgmtRequest::WatchMap { wait_ms: 1.., .. }) = decode(&request.body)
                && request.message_type == message_type::MGMT
            {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            let op: Option<meta::MetaRequest> =
                decode(&request.body).ok().filter(|_| request.message_type == message_type::META);
            let commit = op.as_ref().is_some_and(|request| {
                matches!(request.op, MetaOp::Commit(_) | MetaOp::SetAttr { .. } | MetaOp::PutInline(_))
            });
            let lookup = op.as_ref().is_some_and(|request| matches!(request.op, meta::MetaOp::Lookup { .. }));
            let poll = op.and_then(|request| match request.op {
                meta::MetaOp::DelegationPoll { boot, .. } => Some(boot),
                _ => None,
            });
            let bulk = request.message_type != message_type::MGMT;
            let (delay, lose_reply, twice) = {
                let mut inner = self.0.lock();
                let faults = if bulk { inner.faults } else { Faults::default() };
                if inner.down.contains(&port) {
                    return Err(TransportError::ConnectRefused { address: address(port) });
                }
                if inner.strangers.contains(&port) {
                    return Err(TransportError::WrongSecret { address: address(port) });
                }
                if inner.chance(faults.lose_request) {
                    return lost("request lost");
                }
                if inner.chance(faults.busy) {
                    let body = encode(&ErrorCode::NOT_READY.with("test"));
                    return Ok(frame(&request, flags::REPLY | flags::ERROR, body, Vec::new()));
                }
                let write = request.message_type == message_type::STORAGE_WRITE;
                let mut delay = match (write, commit) {
                    (true, _) => inner.write_delay,
                    (_, true) => inner.commit_delay,
                    _ => Duration::ZERO,
                };
                if inner.chance(faults.slow) {
                    delay += Duration::from_millis(inner.random >> 60);
                }
                if write {
                    inner.storage.begin(&request);
                }
                (delay, inner.chance(faults.lose_reply), inner.chance(faults.twice))
            };
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            } else {
                tokio::task::yield_now().await;
            }
            let mut answer = {
                let mut inner = self.0.lock();
                if request.message_type == message_type::STORAGE_WRITE {
                    inner.storage.end(&request);
                }
                if twice {
                    // why ignored: nobody waits for the first answer.
                    let _ = inner.answer(port, &request);
                }
                inner.answer(port, &request)
            };
            let (asked, timeout) = (Instant::now(), Duration::from_secs(if poll.is_some() { 1 } else { 10 }));
            while asked.elapsed() < timeout && (is_busy(&answer) || poll.is_some_and(|boot| has_no_news(&answer, boot)))
            {
                tokio::time::sleep(Duration::from_millis(1)).await;
                let mut inner = self.0.lock();
                if inner.down.contains(&port) {
                    return lost("it went away");
                }
                answer = inner.answer(port, &request);
            }
            let hold = {
                let mut inner = self.0.lock();
                let hold = inner.hold.clone().filter(|_| lookup && is_opened(&answer));
                let hold = hold.or_else(|| inner.hold_commits.clone().filter(|_| commit));
                inner.held += usize::from(hold.is_some());
                hold
            };
            if let Some(hold) = hold {
                hold.notified().await;
            }
            if lose_reply {
                return lost("reply lost");
            }
            let mut answered = match answer {
                Ok((body, payload)) => {
                    let in_place = request.message_type == message_type::STORAGE_READ && self.0.lock().storage.in_place;
                    let own = if in_place { READ_IN_PLACE } else { 0 };
                    frame(&request, flags::REPLY | own, body, payload)
                }
                Err(error) => frame(&request, flags::REPLY | flags::ERROR, encode(&error), Vec::new()),
            };
            if request.message_type == message_type::META {
                self.0.lock().metas[usize::from(port - 1)].log.stamp(&mut answered.header);
            }
            Ok(answered)
        })
    }
}

fn is_busy(answer: &Answer) -> bool {
    matches!(answer, Err(error) if error.code == ErrorCode::BUSY && error.message == "delegations")
}

/// A poll's answer that need not be given yet.
fn has_no_news(answer: &Answer, asked: u64) -> bool {
    let Ok((body, _)) = answer else { return false };
    matches!(decode(&body[16..]), Ok(meta::MetaReply::Revocations { list, boot, .. }) if list.is_empty() && boot == asked)
}

fn is_opened(answer: &Answer) -> bool {
    matches!(answer, Ok((body, _)) if matches!(decode(&body[16..]), Ok(meta::MetaReply::Opened(_))))
}

fn frame(request: &Request, flags: u32, body: Vec<u8>, payload: Vec<u8>) -> Frame {
    let header = Header { message_type: request.message_type, flags, ..Header::default() };
    Frame { header, body: body.into(), payload: payload.into() }
}
