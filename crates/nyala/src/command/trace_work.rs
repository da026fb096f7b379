// SPDX-License-Identifier: Apache-2.0

//! The operations of `nyala trace`, each followed under an id of its own. Failure model: see [`super::trace`].

use super::trace_parts::Followed;
use super::trace_records::put_together;
use super::trace_table::Operation;
use crate::cluster::Cluster;
use crate::exit::Failure;
use nyala_client::{Client, OpenOptions};
use nyala_transport::Tracer;
use nyala_wire::meta::Owner;
use nyala_wire::{InodeId, SplitMix64};
use std::time::{Duration, Instant, SystemTime};

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
    /// Each operation, several times.
    pub async fn operations(&self, cluster: &Cluster, count: u16) -> Result<Vec<Vec<Operation>>, Failure> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| Failure::failed(format!("no randomness: {error}")))?;
        let mut ids = SplitMix64::new(u64::from_le_bytes(random));
        // Connections are made, and servers know the session.
        self.pass(&mut ids).await?;
        let mut passes = Vec::new();
        for _ in 0..count {
            passes.push(self.pass(&mut ids).await?);
        }
        Ok(put_together(cluster, &self.client.map(), passes.into_iter().flatten()).await)
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
        operation: &str,
        ids: &mut SplitMix64,
        work: impl Future<Output = T>,
    ) -> ((u64, Followed), T) {
        let trace = ids.bits().max(1);
        let operation = operation.to_owned();
        self.tracer.follow(trace);
        let began = Instant::now();
        let done = work.await;
        let ended = Instant::now();
        self.tracer.follow(0);
        let ended_unix_ns = unix_ns();
        (
            (
                trace,
                Followed {
                    operation,
                    queued: Duration::ZERO,
                    began,
                    ended,
                    ended_unix_ns,
                    exchanges: self.tracer.take(trace),
                },
            ),
            done,
        )
    }
}

/// Now, nanoseconds since 1970.
fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
