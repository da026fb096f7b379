// SPDX-License-Identifier: Apache-2.0

//! The operations of `nyala trace`, each followed under an id of its own. Failure model: see [`super::trace`].

use super::trace_parts::{Followed, middle};
use super::trace_table::Operation;
use crate::cluster::{Cluster, recorded};
use crate::exit::Failure;
use nyala_client::{Client, OpenOptions};
use nyala_transport::{Connection, Tracer};
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::Owner;
use nyala_wire::trace::TracedRequest;
use nyala_wire::{InodeId, NodeId, SplitMix64};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Instant;

/// More than any directory keeps with the inode: behind the first write, content is on storage servers.
const CONTENT: usize = 128 << 10;

/// What is worked on, and with what.
pub struct TracedWork<'a> {
    /// Its requests are followed.
    pub client: &'a Client,
    /// By this.
    pub tracer: &'a Tracer,
    /// The directory.
    pub dir: InodeId,
    /// Bytes of the write and of the read.
    pub size: usize,
}

impl TracedWork<'_> {
    /// Each operation, the one in the middle of several.
    pub async fn operations(&self, cluster: &Cluster, count: u16) -> Result<Vec<Operation>, Failure> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| Failure::failed(format!("no randomness: {error}")))?;
        let mut ids = SplitMix64::new(u64::from_le_bytes(random));
        // Connections are made, and servers know the session.
        self.pass(&mut ids).await?;
        let mut passes = Vec::new();
        for _ in 0..count {
            passes.push(self.pass(&mut ids).await?);
        }
        let map = self.client.map();
        let who = |address: SocketAddr| {
            let node = map.nodes.iter().find(|node| node.addresses.contains(&address));
            node.map_or_else(|| address.to_string(), |node| node.alias.clone())
        };
        let asked: BTreeSet<SocketAddr> = passes
            .iter()
            .flatten()
            .flat_map(|(_, one)| one.exchanges.iter().map(|exchange| exchange.address))
            .collect();
        let mut connections = Vec::new();
        for address in asked.iter().copied().chain(other_members(&map, &asked)) {
            // Without a record, the request stands there as a whole.
            if let Ok(connection) = Connection::connect(address, &cluster.handshake()).await {
                connections.push((address, connection));
            }
        }
        let node = |id: u32| map.node(NodeId(id)).map_or_else(|| format!("node {id}"), |node| node.alias.clone());
        let mut done: Vec<(&'static str, Vec<Operation>)> = Vec::new();
        for (trace, followed) in passes.into_iter().flatten() {
            let mut records: Vec<(SocketAddr, TracedRequest)> = Vec::new();
            for (address, connection) in &connections {
                let found = recorded(connection, trace).await;
                records.extend(found.into_iter().map(|record| (*address, record)));
            }
            let name = followed.operation;
            let operation = followed.with(&records, who, node);
            match done.iter_mut().find(|(known, _)| *known == name) {
                Some((_, all)) => all.push(operation),
                None => done.push((name, vec![operation])),
            }
        }
        Ok(done.into_iter().filter_map(|(_, all)| middle(all)).collect())
    }

    /// All operations once, each under an id of its own.
    async fn pass(&self, ids: &mut SplitMix64) -> Result<Vec<(u64, Followed)>, Failure> {
        let name = format!(".nyala-trace.{:016x}", ids.bits());
        let name = name.as_bytes();
        let mut passed = Vec::new();
        let (create, made) =
            self.follow("create", ids, self.client.create(self.dir, name, 0o600, Owner::default(), true)).await;
        let (attr, handle) = made?;
        passed.push(create);
        let outcome = async {
            handle.write(0, &vec![1; CONTENT]).await?;
            handle.fsync(false).await?;
            let data = vec![2; self.size];
            let pushed = async {
                handle.write(0, &data).await?;
                handle.flush().await
            };
            let (write, wrote) = self.follow("write", ids, pushed).await;
            wrote?;
            let (sync, synced) = self.follow("sync", ids, handle.fsync(false)).await;
            synced?;
            passed.extend([write, sync]);
            handle.release().await?;
            let handle = self.client.open(attr.inode, OpenOptions::default()).await?;
            let (read, got) = self.follow("read", ids, handle.read(0, self.size)).await;
            got?;
            let (stat, looked) = self.follow("stat", ids, self.client.getattr(attr.inode)).await;
            looked?;
            passed.extend([read, stat]);
            handle.release().await
        };
        let outcome = outcome.await;
        let (unlink, removed) = self.follow("unlink", ids, self.client.unlink(self.dir, name)).await;
        outcome?;
        removed?;
        passed.push(unlink);
        Ok(passed)
    }

    /// Does one operation.
    async fn follow<T>(
        &self,
        operation: &'static str,
        ids: &mut SplitMix64,
        work: impl Future<Output = T>,
    ) -> ((u64, Followed), T) {
        let trace = ids.bits().max(1);
        self.tracer.follow(trace);
        let began = Instant::now();
        let done = work.await;
        let ended = Instant::now();
        self.tracer.follow(0);
        ((trace, Followed { operation, began, ended, exchanges: self.tracer.take(trace) }), done)
    }
}

/// Where those are asked who are in a mirror group with somebody that the client asked, and were not asked themselves.
fn other_members(map: &ClusterMap, asked: &BTreeSet<SocketAddr>) -> BTreeSet<SocketAddr> {
    let was_asked =
        |target| map.node_of(target).is_some_and(|node| node.addresses.iter().any(|address| asked.contains(address)));
    let groups = map.groups.iter().filter(|group| group.members.iter().any(|member| was_asked(*member)));
    let members = groups.flat_map(|group| group.members.iter().copied()).filter(|member| !was_asked(*member));
    members.filter_map(|member| map.node_of(member)?.addresses.first().copied()).collect()
}
