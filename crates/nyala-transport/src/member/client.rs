// SPDX-License-Identifier: Apache-2.0

//! Requests to whichever management node leads.
//!
//! **Failure model.** A node may refuse connections, hang, have vanished with its host, or not lead: the others are asked,
//! the next one already while one that should answer at once is still silent. So a request may reach two nodes; all
//! requests may be repeated. The nodes that were configured may all be gone one day: every map that passes by says which
//! there are now. Nodes that an operator has given up (`nyala mgmt recover`) may come back and take themselves for the
//! management: once the one that goes on has been heard, by its count of recoveries, they are not believed.

use super::book::{MgmtBook, hinted};
use crate::endpoint::Endpoint;
use crate::error::TransportError;
use crate::handshake::HandshakeConfig;
use crate::path::directory::RelayDirectory;
use crate::peer::Peer;
use crate::pool::{Pool, PoolOptions};
use crate::request::Request;
use bytes::Bytes;
use nyala_wire::error::WireError;
use nyala_wire::map::ClusterMap;
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::{ErrorCode, MapVersion, codec, message_type};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;

/// Longest wait for one management node's answer, unless the caller says otherwise.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// A node that has not answered after this time is not waited for before the next one is asked.
const HEDGE: Duration = Duration::from_millis(250);
/// When all have been asked and some have said "try again", the silent ones have this long.
const LAST: Duration = Duration::from_millis(50);
/// How often one call asks the same node: once, and once more when another says that it leads now.
const MOST_ASKED: usize = 2;

/// Why management did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MgmtError {
    /// None of the management nodes answered; the error is the most telling one.
    #[error("the management service does not answer: {0}")]
    Unreachable(TransportError),
    /// It answered that it will not.
    #[error("the management service refuses: {0}")]
    Refused(#[from] WireError),
    /// It answered something else than what was asked for.
    #[error("the management service gave an answer of another kind; is it of another version?")]
    UnexpectedReply,
}

impl MgmtError {
    /// Whether the same request can succeed later without anybody changing a configuration.
    pub fn is_transient(&self) -> bool {
        match self {
            MgmtError::Refused(error) => error.code.is_transient(),
            MgmtError::UnexpectedReply => false,
            MgmtError::Unreachable(error) => !matches!(
                error,
                TransportError::WrongSecret { .. }
                    | TransportError::RoleNotProven { .. }
                    | TransportError::Secret(_)
                    | TransportError::WrongCluster { .. }
                    | TransportError::VersionMismatch { .. }
                    | TransportError::EncryptionMismatch { .. }
                    | TransportError::NoAddress
            ),
        }
    }
}

/// Sends requests to management. Clones share its connections and what it learns.
#[derive(Clone)]
pub struct MgmtClient {
    shared: Arc<Shared>,
}

struct Shared {
    pool: Pool,
    book: Mutex<MgmtBook>,
    relays: RelayDirectory,
    /// Most recoveries of management that an answer or a map told of.
    recoveries: AtomicU64,
}

impl MgmtClient {
    /// For the management nodes at these addresses; one that answers is enough. Does not connect yet.
    pub fn new(addresses: Vec<SocketAddr>, config: HandshakeConfig) -> MgmtClient {
        let relays = config.relays.clone();
        relays.seed(&addresses);
        let pool = Pool::new(config, PoolOptions { connections_per_peer: 1, kept_buffer_bytes: 0 });
        let shared = Shared { pool, book: Mutex::new(MgmtBook::new(addresses)), relays, recoveries: AtomicU64::new(0) };
        MgmtClient { shared: Arc::new(shared) }
    }

    /// Takes the addresses of all management nodes from a map, and of all servers that may relay.
    pub fn learn(&self, map: &ClusterMap) {
        self.shared.recoveries.fetch_max(map.version.recoveries(), Ordering::AcqRel);
        self.shared.book.lock().learn(map);
        self.shared.relays.learn(map);
    }

    /// The addresses in the order in which they would be asked now.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.shared.book.lock().order()
    }

    /// Asks the node that leads, or one after the other until one does not say "try again".
    pub async fn call(&self, request: &MgmtRequest) -> Result<MgmtReply, MgmtError> {
        self.call_within(request, CALL_TIMEOUT).await
    }

    /// The same, with another longest wait for each node. The time that a `WatchMap` may wait is added to it.
    pub async fn call_within(&self, request: &MgmtRequest, each: Duration) -> Result<MgmtReply, MgmtError> {
        let MgmtRequest::WatchMap { have, wait_ms: wait_ms @ 1.. } = request else {
            return self.find(request, each).await;
        };
        // A long poll may be silent for long, so the leader is found by a short one first.
        match self.find(&MgmtRequest::WatchMap { have: *have, wait_ms: 0 }, each).await? {
            MgmtReply::Unchanged => {}
            news => return Ok(news),
        }
        let Some(leader) = self.addresses().first().copied() else {
            return Err(MgmtError::Unreachable(TransportError::NoAddress));
        };
        let wait = each + Duration::from_millis(u64::from(*wait_ms));
        let body = Bytes::from(codec::encode(request));
        let answer = ask(self.clone(), leader, body, wait).await;
        match answer {
            Ok(MgmtReply::NotLeader { .. }) => Err(no_leader()),
            Err(error) => {
                self.shared.book.lock().failed(leader);
                Err(error)
            }
            decided => decided,
        }
    }

    fn peer(&self, address: SocketAddr) -> Peer {
        self.shared.pool.peer(&Endpoint::from(address))
    }

    /// Takes nothing from management that was given up for one that this client has heard.
    fn check_recoveries(&self, version: MapVersion) -> Result<(), MgmtError> {
        let heard = self.shared.recoveries.fetch_max(version.recoveries(), Ordering::AcqRel);
        if version.recoveries() >= heard {
            return Ok(());
        }
        Err(ErrorCode::NOT_READY.with("it belongs to management that was given up (nyala mgmt recover)").into())
    }

    async fn find(&self, request: &MgmtRequest, each: Duration) -> Result<MgmtReply, MgmtError> {
        let mut search = Search {
            client: self,
            body: Bytes::from(codec::encode(request)),
            each,
            next: self.addresses().into(),
            asked: Vec::new(),
            silent: Vec::new(),
            gone: Vec::new(),
            leader: None,
            running: JoinSet::new(),
        };
        let mut outcome = Err(MgmtError::Unreachable(TransportError::NoAddress));
        loop {
            if search.running.is_empty() && !search.ask_next() {
                return outcome;
            }
            let pause = if search.next.is_empty() { LAST } else { HEDGE };
            let Ok(done) = tokio::time::timeout(pause, search.running.join_next()).await else {
                // What answered has said "try again"; those that are silent would not say more, unless one of them leads.
                let done = !search.ask_next() && matches!(outcome, Err(MgmtError::Refused(_)));
                if done && !search.leader_may_answer() {
                    return outcome;
                }
                continue;
            };
            let Some(Ok((address, answer))) = done else { continue };
            if let Some(decided) = search.weigh(address, answer, &mut outcome) {
                return decided;
            }
            search.ask_next();
        }
    }
}

/// One request on its way to a node that does it.
struct Search<'a> {
    client: &'a MgmtClient,
    body: Bytes,
    each: Duration,
    next: VecDeque<SocketAddr>,
    asked: Vec<SocketAddr>,
    /// Asked, without an answer yet.
    silent: Vec<SocketAddr>,
    /// Could not be asked.
    gone: Vec<SocketAddr>,
    /// Who leads, as another one says.
    leader: Option<SocketAddr>,
    running: JoinSet<(SocketAddr, Result<MgmtReply, MgmtError>)>,
}

impl Search<'_> {
    fn ask_next(&mut self) -> bool {
        let Some(address) = self.next.pop_front() else { return false };
        self.asked.push(address);
        self.silent.push(address);
        let (client, body, each) = (self.client.clone(), self.body.clone(), self.each);
        self.running.spawn(async move { (address, ask(client, address, body, each).await) });
        true
    }

    /// What an answer means: the end, or that the next one is asked.
    fn weigh(
        &mut self,
        address: SocketAddr,
        answer: Result<MgmtReply, MgmtError>,
        outcome: &mut Result<MgmtReply, MgmtError>,
    ) -> Option<Result<MgmtReply, MgmtError>> {
        self.silent.retain(|other| *other != address);
        let error = match answer {
            Ok(MgmtReply::NotLeader { addresses, .. }) => {
                self.client.shared.book.lock().failed(address);
                self.leader = hinted(&addresses);
                if let Some(leader) = self.leader {
                    self.prefer(leader);
                }
                no_leader()
            }
            Err(error) if error.is_transient() || matches!(error, MgmtError::Unreachable(_)) => {
                self.client.shared.book.lock().failed(address);
                if matches!(error, MgmtError::Unreachable(_)) {
                    self.gone.push(address);
                }
                error
            }
            decided => {
                self.client.shared.book.lock().answered(address);
                match &decided {
                    Ok(MgmtReply::Map(map)) => self.client.learn(map),
                    Ok(MgmtReply::Registered(registered)) => self.client.learn(&registered.map),
                    _ => {}
                }
                return Some(decided);
            }
        };
        let telling = !error.is_transient() || !matches!(outcome, Err(MgmtError::Refused(_)));
        if telling {
            *outcome = Err(error);
        }
        None
    }

    /// Whether the one that leads is being asked, and is there: it may just be slow.
    fn leader_may_answer(&self) -> bool {
        let asked = self.leader.filter(|leader| self.silent.contains(leader));
        asked.is_some_and(|leader| self.client.peer(leader).is_connected())
    }

    /// Somebody says that this one leads: it is asked next, unless it is being asked, or known to be gone.
    fn prefer(&mut self, leader: SocketAddr) {
        let times = self.asked.iter().filter(|address| **address == leader).count();
        if times < MOST_ASKED && !self.silent.contains(&leader) && !self.gone.contains(&leader) {
            self.next.retain(|address| *address != leader);
            self.next.push_front(leader);
        }
    }
}

fn no_leader() -> MgmtError {
    ErrorCode::NOT_READY.with("no management node leads at the moment").into()
}

async fn ask(client: MgmtClient, address: SocketAddr, body: Bytes, each: Duration) -> Result<MgmtReply, MgmtError> {
    let request = Request::new(message_type::MGMT, body).with_timeout(each);
    let frame = client.peer(address).call(request).await.map_err(MgmtError::Unreachable)?;
    client.check_recoveries(MapVersion(frame.header.map_version))?;
    if frame.header.is_error() {
        let error = codec::decode::<WireError>(&frame.body);
        return Err(error.unwrap_or_else(|_| ErrorCode::BAD_MESSAGE.with("an error that cannot be read")).into());
    }
    codec::decode(&frame.body).map_err(|_| MgmtError::UnexpectedReply)
}
