// SPDX-License-Identifier: Apache-2.0

//! Watches the ways to other servers: each address of each, all the time, whether it is used or not. So an address that is lost is known before
//! the last one is, and one that comes and goes is known although connections are made again.
//!
//! - [`watched`]: which addresses. Pure.
//! - [`history`]: what became of one, and what is reported. Pure.
//! - `measure`: a test of one way that an operator asks for.
//! - [`watch`]: one connection to each, over which a test is sent every second. Services know nothing of it: it is answered by the transport.
//!
//! **Failure model.** As of [`crate::path`]. A service that is slow, stopped or dead is no lost way: its host's kernel acknowledges what is
//! sent, or refuses. An address that has never answered this process is not reported: there may be no way to it on purpose, as between a
//! host with one network and one with two. What is watched is bounded ([`watched::MOST`]), and so are reports.

mod history;
mod known;
pub(crate) mod measure;
mod watch;
mod watched;

use crate::handshake::HandshakeConfig;
use crate::member::clock::monotonic_ms;
use history::History;
use known::{Known, Link};
use nyala_wire::NodeId;
use nyala_wire::map::{ClusterMap, Reachability};
use nyala_wire::mgmt::{LinkReport, LinkState, MAX_REPORTED_LINKS};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;
use watched::Address;

/// How often the cluster map is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// The ways to other servers. Watching ends when it is dropped.
pub struct Links {
    known: Arc<Known>,
    supervisor: AbortHandle,
}

impl Drop for Links {
    fn drop(&mut self) {
        self.supervisor.abort();
        self.known.0.lock().clear();
    }
}

/// What is known of an address, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFigures {
    /// The other server.
    pub node: NodeId,
    /// The address.
    pub address: SocketAddr,
    /// Whether it answers.
    pub answers: bool,
    /// How often it was lost since the start.
    pub breaks: u64,
}

impl Links {
    /// Begins to watch, as node `own`, what is in the map of the moment. Needs a tokio runtime.
    pub fn start(handshake: HandshakeConfig, own: NodeId, map: impl Fn() -> Arc<ClusterMap> + Send + 'static) -> Links {
        let known: Arc<Known> = Arc::default();
        let supervised = known.clone();
        let supervise = async move {
            loop {
                follow(&supervised, &map(), own, &handshake);
                tokio::time::sleep(LOOK).await;
            }
        };
        Links { known, supervisor: tokio::spawn(supervise).abort_handle() }
    }

    /// The worst of them now. Servers that management knows to be away are not among them: they would fill the report.
    pub fn report(&self) -> LinkReport {
        let (now_ms, known) = (monotonic_ms(), self.known.0.lock());
        let online = known.iter().filter(|(_, link)| link.online);
        let states = online.filter_map(|((node, address), link)| link.history.state(*node, *address, now_ms));
        let mut worst: Vec<LinkState> = states.collect();
        worst.sort_by_key(|state| std::cmp::Reverse((state.silent_ms, state.breaks)));
        let more = worst.len().saturating_sub(MAX_REPORTED_LINKS) as u64;
        worst.truncate(MAX_REPORTED_LINKS);
        LinkReport { worst, more, watched: known.len() as u64 }
    }

    /// All of them now.
    pub fn figures(&self) -> Vec<LinkFigures> {
        let figures = |(&(node, address), link): (&Address, &Link)| LinkFigures {
            node,
            address,
            answers: link.history.answers(),
            breaks: link.history.total(),
        };
        self.known.0.lock().iter().map(figures).collect()
    }
}

/// Watches what is to be watched by this map, and nothing else.
fn follow(known: &Arc<Known>, map: &ClusterMap, own: NodeId, handshake: &HandshakeConfig) {
    let wanted = watched::watched(map, own);
    let mut links = known.0.lock();
    links.retain(|address, _| wanted.contains(address));
    for address in wanted {
        let online = map.node(address.0).is_some_and(|node| node.reachability == Reachability::Online);
        let link = links.entry(address).or_insert_with(|| {
            let task = tokio::spawn(watch::watch(address, handshake.clone(), known.clone())).abort_handle();
            Link { history: History::default(), online, task }
        });
        if online && !link.online {
            link.history.begin_again(monotonic_ms());
        }
        link.online = online;
    }
}
