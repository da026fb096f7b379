// SPDX-License-Identifier: Apache-2.0

//! A storage service's page of metrics. Failure model: none of its own; a directory that does not say its size has size 0.

use super::metrics::Metrics;
use super::mirror::Mirrors;
use super::scrub::{self, Scrubs};
use super::set_metrics;
use super::target::Target;
use crate::chunk_store::Count;
use nyala_metrics::catalog::{Source, mirror, storage as metrics};
use nyala_metrics::{Metric, Page};
use nyala_transport::MemoryBudget;
use nyala_transport::member::Member;
use nyala_wire::TargetId;
use nyala_wire::mgmt::Capacity;
use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What is on the page.
pub(super) struct MetricsPage {
    pub metrics: Arc<Metrics>,
    pub member: Member,
    pub targets: Arc<HashMap<TargetId, Arc<Target>>>,
    pub mirrors: Arc<Mirrors>,
    pub scrubs: Arc<Scrubs>,
    pub clients: MemoryBudget,
    pub servers: MemoryBudget,
    /// Memory for data of reads, in units of [`super::handler::UNIT`].
    pub reads: Arc<Semaphore>,
    pub read_units: usize,
}

type Value = fn(&Target) -> u64;

/// Operations of a target by what they are, without reads and writes of walks.
const OPS: [(&str, Count); 4] =
    [("write", Count::Writes), ("read", Count::Reads), ("sync", Count::Syncs), ("other", Count::Others)];

/// Metrics of targets.
const PER_TARGET: [(&Metric, Value); 12] = [
    (&metrics::READ, |target| target.count(Count::ReadBytes)),
    (&metrics::WRITTEN, |target| target.count(Count::WriteBytes)),
    (&metrics::INLINE, |target| target.count(Count::WithoutWorker)),
    (&metrics::ZERO_COPY, |target| target.count(Count::ZeroCopy)),
    (&metrics::FAILED, |target| target.count(Count::Failed)),
    (&metrics::CHECKSUM_ERRORS, |target| target.count(Count::ChecksumErrors)),
    (&metrics::DAMAGED, |target| target.count(Count::Damaged)),
    (&metrics::IO_ERRORS, |target| target.count(Count::IoErrors) + target.count(Count::SyncErrors)),
    (&metrics::TORN, |target| target.count(Count::TornBlocks)),
    (&metrics::RECHECKED, |target| target.count(Count::RecheckedBlocks)),
    (&metrics::SCRUBBED, |target| target.count(Count::CheckedBytes)),
    (&metrics::REMOVED, |target| target.count(Count::Removed)),
];

impl MetricsPage {
    /// The page while the service has not joined its cluster.
    pub fn write_joining(page: &mut Page) {
        nyala_scrape::process(page, Source::Storage);
    }

    /// The whole page.
    pub fn write(&self, page: &mut Page) {
        let mut targets: Vec<(TargetId, &Target)> = self.targets.iter().map(|(id, target)| (*id, &**target)).collect();
        targets.sort_by_key(|(id, _)| *id);
        nyala_scrape::process(page, Source::Storage);
        nyala_scrape::slow(page, &self.metrics.slow);
        nyala_scrape::links(page, self.member.links());
        let capacities: Vec<(TargetId, Capacity)> =
            targets.iter().map(|(id, target)| (*id, target.capacity())).collect();
        nyala_scrape::member(page, &self.member, &capacities);
        let stores: Vec<_> = targets.iter().map(|(id, target)| (id as &dyn Display, target.kv())).collect();
        nyala_store::metrics::write(page, &stores);
        self.metrics.requests.write(page, &metrics::REQUESTS, &metrics::ERRORS);
        self.write_clients(page);
        for (metric, value) in PER_TARGET {
            let mut family = page.family(metric);
            targets.iter().for_each(|(id, target)| family.value(&[id], value(target)));
        }
        let mut ops = page.family(&metrics::OPS);
        for (id, target) in &targets {
            OPS.iter().for_each(|(name, count)| ops.value(&[id, name], target.count(*count)));
        }
        scrub::write(page, &self.scrubs, targets.iter().map(|(id, _)| *id));
        set_metrics::write(page, &targets);
        write_times(page, &targets);
        self.write_memory(page);
        self.write_mirrors(page);
    }

    fn write_clients(&self, page: &mut Page) {
        let clients = self.metrics.clients.get();
        for (n, metric) in [&metrics::CLIENTS, &metrics::CLIENT_READ, &metrics::CLIENT_WRITTEN].into_iter().enumerate()
        {
            let mut family = page.family(metric);
            clients.iter().for_each(|(client, counts)| family.value(&[client], counts[n]));
        }
    }

    fn write_memory(&self, page: &mut Page) {
        let reads = self.read_units.saturating_sub(self.reads.available_permits()) * super::handler::UNIT;
        let mut memory = page.family(&metrics::MEMORY);
        memory.value(&[&"clients"], self.clients.used_bytes() as u64);
        memory.value(&[&"servers"], self.servers.used_bytes() as u64);
        memory.value(&[&"reads"], reads as u64);
    }

    /// Figures of members have names of the form `mirror.GROUP.TARGET.WHAT`.
    fn write_mirrors(&self, page: &mut Page) {
        let figures = self.mirrors.common().figures();
        for (what, metric) in [
            ("taken_bytes", &metrics::TAKEN),
            ("copied_bytes", &mirror::RESYNC_COPIED),
            ("left_bytes", &mirror::RESYNC_LEFT),
            ("bytes_per_s", &mirror::RESYNC_SPEED),
        ] {
            let mut family = page.family(metric);
            for (name, value) in &figures {
                if let ["mirror", group, target, is] = name.split('.').collect::<Vec<_>>()[..]
                    && is == what
                {
                    family.value(&[&group, &target], *value);
                }
            }
        }
    }
}

fn write_times(page: &mut Page, targets: &[(TargetId, &Target)]) {
    let jobs: Vec<_> = targets.iter().map(|(id, target)| (id, target.jobs())).collect();
    let mut depth = page.family(&metrics::QUEUE);
    jobs.iter().for_each(|(id, (now, _, _))| depth.value(&[id], *now));
    let mut waits = page.family(&metrics::QUEUE_WAIT);
    jobs.iter().for_each(|(id, (_, times, _))| waits.histogram(&[id], times));
    let mut turns = page.family(&metrics::DISK);
    jobs.iter().for_each(|(id, (_, _, times))| turns.histogram(&[id], times));
    let mut syncs = page.family(&metrics::DISK_SYNC);
    targets.iter().for_each(|(id, target)| syncs.histogram(&[id], &target.store.sync_times().get()));
}
