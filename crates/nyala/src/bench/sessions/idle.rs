// SPDX-License-Identifier: Apache-2.0

//! Sessions that do what a client does that does nothing: connected to every service, one session with each metadata
//! target, a standing question for revocations there and for a newer map at management, and a sign of life in time.
//!
//! They speak the protocol themselves: a whole client has a thread, and ten thousand threads would measure themselves.
//!
//! **Failure model.** Servers refuse, close or do not answer: before all sessions are open that is an error, later the
//! session is counted as lost. Files and ports may run out here: said with the number that is needed.

use nyala_client::ClientConfig;
use nyala_transport::{Endpoint, HandshakeConfig, Pool, PoolOptions, Request, Role as Peer};
use nyala_wire::codec::{decode, encode};
use nyala_wire::map::{ClusterMap, TargetKind};
use nyala_wire::meta::{Grants, MetaOp, MetaReply, MetaRequest, Owner, SessionReply, Want};
use nyala_wire::mgmt::MgmtRequest;
use nyala_wire::{MapVersion, SessionId, Time, message_type};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

/// Handshakes under way at once.
const AT_ONCE: usize = 64;
/// Longest wait for an answer, beside what a standing question waits.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long management is asked to wait with a map.
const WATCH: Duration = Duration::from_secs(20);

/// All sessions; they end when this is dropped.
pub struct Sessions {
    lost: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Sessions {
    /// How many were lost.
    pub fn lost(&self) -> usize {
        self.lost.load(Ordering::Relaxed)
    }
}

/// What all sessions know.
struct Ground {
    handshake: HandshakeConfig,
    meta: Vec<Endpoint>,
    storage: Vec<Endpoint>,
    mgmt: Endpoint,
    map: MapVersion,
    door: Semaphore,
}

/// One session.
struct One {
    ground: Arc<Ground>,
    pool: Pool,
    id: SessionId,
}

/// Lets this process have as many open files as the sessions need.
pub fn raise_file_limit(sessions: usize, services: usize) -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let need = (sessions * services + 4096) as u64;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= need) {
        return Ok(());
    }
    let maximum = limit.maximum.map(|maximum| maximum.max(need));
    setrlimit(Resource::Nofile, Rlimit { current: Some(need), maximum }).map_err(|error| {
        format!("{sessions} sessions need {need} open files here ({error}): `ulimit -n {need}`, as root")
    })
}

/// Opens sessions, and returns when all are open.
pub async fn open(config: &ClientConfig, map: &ClusterMap, count: usize) -> Result<Sessions, String> {
    let mut handshake = HandshakeConfig::new(config.secret.clone(), 0, Peer::Client, 0);
    handshake.encrypt = config.encrypt;
    let endpoints = |kind| {
        let nodes = map.targets_of(kind).filter_map(|target| map.node_of(target.id));
        let mut all: Vec<Endpoint> = nodes.map(|node| Endpoint { addresses: node.addresses.clone() }).collect();
        // A storage service may have several targets; a session with a metadata target is one with its service.
        all.dedup();
        all
    };
    let ground = Arc::new(Ground {
        handshake,
        meta: endpoints(TargetKind::Meta),
        storage: endpoints(TargetKind::Storage),
        mgmt: Endpoint::from(*config.mgmt.first().ok_or("no management address is known")?),
        map: map.version,
        door: Semaphore::new(AT_ONCE),
    });
    let lost = Arc::new(AtomicUsize::new(0));
    let (opened, mut answers) = mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    for _ in 0..count {
        let (ground, lost, opened) = (ground.clone(), lost.clone(), opened.clone());
        tasks.spawn(async move {
            match One::open(ground).await {
                Ok((one, timeout)) => {
                    // why ignored: the benchmark has ended when nobody waits.
                    let _ = opened.send(Ok(()));
                    drop(opened);
                    if one.hold(timeout).await.is_err() {
                        lost.fetch_add(1, Ordering::Relaxed);
                    }
                }
                Err(error) => {
                    let _ = opened.send(Err(error));
                }
            }
        });
    }
    drop(opened);
    for number in 0..count {
        match answers.recv().await {
            Some(result) => result.map_err(|error| format!("idle session {number} of {count}: {error}"))?,
            None => return Err(format!("only {number} of {count} idle sessions were opened")),
        }
    }
    Ok(Sessions { lost, _tasks: tasks })
}

impl One {
    async fn open(ground: Arc<Ground>) -> Result<(Arc<One>, Duration), String> {
        let id = SessionId(getrandom::u64().map_err(|error| error.to_string())?.max(1));
        let pool = Pool::new(ground.handshake.clone(), PoolOptions { connections_per_peer: 1, kept_buffer_bytes: 0 });
        let one = Arc::new(One { ground: ground.clone(), pool, id });
        let _turn = ground.door.acquire().await.map_err(|error| error.to_string())?;
        let mut timeout = Duration::MAX;
        for meta in &ground.meta {
            timeout = timeout.min(Duration::from_millis(one.greet(meta).await?.timeout_ms.into()));
        }
        for storage in &ground.storage {
            one.call(storage, Request::new(message_type::PING, Vec::new()), Duration::ZERO).await?;
        }
        Ok((one, timeout))
    }

    /// Goes on until something fails.
    async fn hold(self: &Arc<One>, timeout: Duration) -> Result<(), String> {
        let mut parts = JoinSet::new();
        for number in 0..self.ground.meta.len() {
            let one = self.clone();
            parts.spawn(async move { one.answer_revocations(number).await });
            let one = self.clone();
            parts.spawn(async move {
                loop {
                    tokio::time::sleep(timeout / 3).await;
                    one.greet(&one.ground.meta[number]).await?;
                }
            });
        }
        let one = self.clone();
        parts.spawn(async move { one.watch_map().await });
        match parts.join_next().await {
            Some(Ok(result)) => result,
            _ => Err("a part of the session died".to_owned()),
        }
    }

    async fn answer_revocations(&self, number: usize) -> Result<(), String> {
        let meta = &self.ground.meta[number];
        let boot = self.greet(meta).await?.boot;
        loop {
            // It was granted nothing, so there is nothing to give back.
            self.meta(meta, MetaOp::LeasePoll { boot }).await?;
        }
    }

    async fn watch_map(&self) -> Result<(), String> {
        loop {
            let watch = MgmtRequest::WatchMap { have: self.ground.map, wait_ms: WATCH.as_millis() as u32 };
            self.call(&self.ground.mgmt, Request::new(message_type::MGMT, encode(&watch)), WATCH).await?;
        }
    }

    async fn greet(&self, meta: &Endpoint) -> Result<SessionReply, String> {
        match self.meta(meta, MetaOp::SessionOpen { client: "nyala bench sessions".to_owned() }).await? {
            MetaReply::Session(reply) => Ok(reply),
            _ => Err("a metadata server answered something else than was asked".to_owned()),
        }
    }

    async fn meta(&self, to: &Endpoint, op: MetaOp) -> Result<MetaReply, String> {
        let (now, want) = (Time::default(), Want::NOTHING);
        let owner = Owner::default();
        let request = MetaRequest { session: self.id, sequence: 0, acked_below: 0, owner, now, op, want };
        let request = Request::new(message_type::META, encode(&request)).at(self.ground.map.0, 0);
        let body = self.call(to, request, WATCH).await?;
        let (_, rest) = Grants::split(&body).map_err(|error| error.to_string())?;
        decode(rest).map_err(|error| error.to_string())
    }

    async fn call(&self, to: &Endpoint, request: Request, wait: Duration) -> Result<Vec<u8>, String> {
        let frame = self.pool.call(to, request.with_timeout(PATIENCE + wait)).await.map_err(|e| e.to_string())?;
        if frame.is_error() {
            return Err(decode::<nyala_wire::WireError>(&frame.body).map_or_else(|e| e.to_string(), |e| e.to_string()));
        }
        Ok(frame.body.to_vec())
    }
}
