// SPDX-License-Identifier: Apache-2.0

//! Finds the services and mounts of a cluster and asks them for their figures: a round of samples.
//!
//! **Failure model.** Management may be away: those that were known are asked. A service may be away, hang, be of an older version that
//! does not say its figures, or send a page that is none: it has no samples in this round, and it is said why. Nobody is waited for longer than
//! [`ANSWER`], and not many are asked at once. Mounts are asked at addresses that they said themselves, and so may be anything that answers.

use crate::answer::ask;
use crate::ask::{ANSWER, Asked, Instance};
use crate::round::Round;
use nyala_metrics::catalog::Source;
use nyala_transport::member::{MgmtClient, MgmtError};
use nyala_transport::{HandshakeConfig, Role, Secret};
use nyala_wire::MapVersion;
use nyala_wire::map::{ClusterMap, Role as NodeRole};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest, MountAt};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// So many are asked at once.
const MAX_CONCURRENT: usize = 32;

/// Asks a cluster's services and mounts.
pub struct Sampler {
    handshake: HandshakeConfig,
    mgmt: MgmtClient,
    known: BTreeMap<Instance, Vec<SocketAddr>>,
    asked: BTreeMap<Instance, Asked>,
    places: Arc<Semaphore>,
    /// Whether services are asked what they say of themselves, besides their figures.
    pub ask_stats: bool,
    /// Why management was not heard the last time.
    pub unreachable: Option<String>,
    /// The cluster map, once there is one.
    pub map: Option<Rc<ClusterMap>>,
}

impl Sampler {
    /// For the cluster of these management services. Does not connect yet.
    pub fn new(mgmt: Vec<SocketAddr>, secret: Secret, encrypt: bool) -> Sampler {
        Sampler::with(mgmt, HandshakeConfig { encrypt, ..HandshakeConfig::new(secret, 0, Role::Mon, 0) })
    }

    /// One that greets services in this way.
    pub fn with(mgmt: Vec<SocketAddr>, handshake: HandshakeConfig) -> Sampler {
        let handshake = HandshakeConfig { connect_timeout: ANSWER, handshake_timeout: ANSWER, ..handshake };
        Sampler {
            mgmt: MgmtClient::new(mgmt, handshake.clone()),
            handshake,
            known: BTreeMap::new(),
            asked: BTreeMap::new(),
            places: Arc::new(Semaphore::new(MAX_CONCURRENT)),
            ask_stats: false,
            unreachable: None,
            map: None,
        }
    }

    /// Asks everybody once. In a `LocalSet`.
    pub async fn round(&mut self) -> Round {
        if let Err(error) = self.find().await {
            self.unreachable = Some(error.to_string());
        } else {
            self.unreachable = None;
        }
        self.ask_known().await
    }

    /// Asks those that are known, without a look at who there is.
    pub async fn ask_known(&mut self) -> Round {
        self.asked.retain(|instance, _| self.known.contains_key(instance));
        let mut asking = JoinSet::new();
        for (instance, at) in &self.known {
            let mut asked = match self.asked.remove(instance) {
                Some(asked) if asked.at == *at => asked,
                _ => Asked::at(at.clone()),
            };
            let (instance, places, handshake) = (instance.clone(), self.places.clone(), self.handshake.clone());
            let ask_stats = self.ask_stats;
            asking.spawn_local(async move {
                // The semaphore is never closed.
                let _place = places.acquire().await;
                let answered = ask(&mut asked, &instance, &handshake, ask_stats).await;
                if answered.failed.is_some() {
                    asked.hang_up();
                }
                (instance, asked, answered)
            });
        }
        let mut round = Round::new();
        while let Some(ended) = asking.join_next().await {
            let Ok((instance, asked, answered)) = ended else { continue };
            self.asked.insert(instance.clone(), asked);
            round.insert(instance, answered);
        }
        round
    }

    /// Asks management who there is.
    async fn find(&mut self) -> Result<(), MgmtError> {
        let have = self.map.as_ref().map_or(MapVersion(0), |map| map.version);
        match self.mgmt.call_within(&MgmtRequest::WatchMap { have, wait_ms: 0 }, ANSWER).await? {
            MgmtReply::Map(map) => {
                self.mgmt.learn(&map);
                self.map = Some(Rc::from(map));
            }
            MgmtReply::Unchanged => {}
            _ => return Err(MgmtError::UnexpectedReply),
        }
        let mounts = match self.mgmt.call_within(&MgmtRequest::Mounts, ANSWER).await {
            Ok(MgmtReply::Mounts(mounts)) => mounts,
            // An older version knows no mounts.
            Ok(_) | Err(MgmtError::Refused(_)) => Vec::new(),
            Err(error) => return Err(error),
        };
        if let Some(map) = self.map.clone() {
            self.know(&map, mounts);
        }
        Ok(())
    }

    /// These are all there is.
    pub fn know(&mut self, map: &ClusterMap, mounts: Vec<MountAt>) {
        let nodes = map.nodes.iter().filter_map(|node| {
            let service = match node.role {
                NodeRole::Mgmt => Source::Mgmtd,
                NodeRole::Meta => Source::Meta,
                NodeRole::Storage => Source::Storage,
                NodeRole::Client => return None,
            };
            Some((Instance { service, name: node.alias.clone() }, node.addresses.clone()))
        });
        self.known = nodes.chain(mounts.into_iter().filter_map(mount)).collect();
    }
}

fn mount(MountAt { name, address }: MountAt) -> Option<(Instance, Vec<SocketAddr>)> {
    Some((Instance { service: Source::Mount, name }, vec![address.parse().ok()?]))
}
