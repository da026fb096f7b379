// SPDX-License-Identifier: Apache-2.0

//! Sessions that do what a client does that does nothing: connected to every service, one session with each metadata
//! target, a standing question for revocations there and for a newer map at management, and a sign of life in time.
//!
//! They speak the protocol themselves: a whole client has a thread, and ten thousand threads would measure themselves.
//!
//! **Failure model.** Servers refuse, close or do not answer: before all sessions are open that is an error, later the
//! session is counted as lost; connections that are lost are counted apart, and made anew. Files and ports may run out here: said with the number that is needed.

use super::one::One;
use nyala_client::ClientConfig;
use nyala_transport::{Endpoint, HandshakeConfig, Role as Peer};
use nyala_wire::MapVersion;
use nyala_wire::map::{ClusterMap, TargetKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

/// Handshakes under way at once.
const MAX_HANDSHAKES: usize = 64;

/// All sessions; they end when this is dropped.
pub struct Sessions {
    lost: Arc<AtomicUsize>,
    ground: Arc<Ground>,
    _tasks: JoinSet<()>,
}

impl Sessions {
    /// How many were lost.
    pub fn lost(&self) -> usize {
        self.lost.load(Ordering::Relaxed)
    }

    /// How many requests had to be sent again, since their connection was lost.
    pub fn again(&self) -> usize {
        self.ground.again.load(Ordering::Relaxed)
    }
}

/// What all sessions know.
pub struct Ground {
    /// Who they are.
    pub handshake: HandshakeConfig,
    /// Metadata services.
    pub meta: Vec<Endpoint>,
    /// Storage services.
    pub storage: Vec<Endpoint>,
    /// A management service.
    pub mgmt: Endpoint,
    /// The map that they have.
    pub map: MapVersion,
    /// Lets a few in at a time.
    pub door: Semaphore,
    /// Requests that were sent again.
    pub again: AtomicUsize,
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
        door: Semaphore::new(MAX_HANDSHAKES),
        again: AtomicUsize::new(0),
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
    Ok(Sessions { lost, ground, _tasks: tasks })
}
