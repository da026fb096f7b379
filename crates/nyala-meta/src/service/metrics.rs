// SPDX-License-Identifier: Apache-2.0

//! What a metadata service counts, and its page of metrics.
//!
//! Failure model: none of its own. It lives as long as the process, over the runs of the service; what a metadata server
//! counts itself begins anew with each run.

use super::group_metrics::write_group;
use super::host::{Host, Serving};
use nyala_metrics::catalog::{Source, meta as metrics};
use nyala_metrics::{ByAddress, ByUser, Metric, Page, Requests};
use nyala_namespace::recall_report::recall_report;
use nyala_namespace::server::op_names::OP_NAMES;
use nyala_transport::PeerInfo;
use nyala_transport::trace::SlowOperations;
use nyala_wire::message_type::{
    META_CHECKPOINT, META_FENCES, META_LOCATE, META_REPLICA, META_SCAN, META_TX, METRICS, PING, STATS,
};
use nyala_wire::meta::MetaRequest;
use nyala_wire::mgmt::Capacity;
use tokio::time::Instant;

/// What is not an operation of a client, behind those.
const OTHERS: [&str; 10] =
    ["transaction", "fences", "replica", "scan", "checkpoint", "locate", "ping", "stats", "metrics", "unknown"];

/// Counts since the process started.
pub struct Metrics {
    requests: Requests,
    clients: ByAddress<1>,
    /// Requests by user, and those of them that change something.
    users: ByUser<2>,
    /// Requests that took too long.
    pub slow: SlowOperations,
}

/// The number of a message that is not an operation of a client; that of one is known when it is decoded.
pub fn op_of(message_type: u16) -> usize {
    let known = [META_TX, META_FENCES, META_REPLICA, META_SCAN, META_CHECKPOINT, META_LOCATE, PING, STATS, METRICS];
    OP_NAMES.len() + known.iter().position(|known| *known == message_type).unwrap_or(known.len())
}

/// The name of a number that [`op_of`] gave, or that an operation has.
pub fn op_name(op: usize) -> &'static str {
    OP_NAMES.get(op).or_else(|| OTHERS.get(op - OP_NAMES.len())).copied().unwrap_or_default()
}

impl Metrics {
    /// Nothing has happened yet.
    pub fn new(slow: SlowOperations) -> Metrics {
        let names = OP_NAMES.iter().copied().chain(OTHERS).collect();
        Metrics { requests: Requests::new(names), clients: ByAddress::default(), users: ByUser::default(), slow }
    }

    /// Somebody has connected.
    pub fn connected(&self, peer: &PeerInfo) {
        if !peer.role.is_server() {
            self.clients.connected(peer.address.ip());
        }
    }

    /// A client has asked for something that it may ask for.
    pub fn asked(&self, request: &MetaRequest) {
        self.users.add(request.user, [1, u64::from(request.op.is_change())]);
    }

    /// A request that came at `began` has its reply.
    pub fn answered(&self, peer: &PeerInfo, op: usize, began: Instant, failed: bool) {
        self.requests.answered(op, began.elapsed(), failed);
        if !peer.role.is_server() {
            self.clients.add(peer.address.ip(), [1]);
        }
    }

    /// Requests of clients and users as counters by name.
    pub fn counters(&self) -> Vec<(String, u64)> {
        let mut counters = self.clients.counters(["requests"]);
        counters.extend(self.users.counters(["requests", "changes"]));
        counters.extend(self.slow.counters());
        counters
    }

    /// The page while the service has not joined its cluster.
    pub fn write_joining(page: &mut Page) {
        nyala_scrape::process(page, Source::Meta);
    }

    /// The whole page.
    pub fn write(&self, page: &mut Page, host: &Host, capacity: Capacity) {
        nyala_scrape::process(page, Source::Meta);
        nyala_scrape::slow(page, &self.slow);
        nyala_scrape::links(page, host.member.links());
        nyala_scrape::member(page, &host.member, &[(host.me, capacity)]);
        nyala_store::metrics::write(page, &[(&host.me, &host.tables.store)]);
        self.requests.write(page, &metrics::REQUESTS, &metrics::ERRORS);
        let mut clients = page.family(&metrics::CLIENTS);
        self.clients.get().iter().for_each(|(client, [count])| clients.value(&[client], *count));
        let users = self.users.get();
        let mut requests = page.family(&metrics::USERS);
        users.iter().for_each(|(user, [count, _])| requests.value(&[user], *count));
        let mut changes = page.family(&metrics::USER_CHANGES);
        users.iter().for_each(|(user, [_, count])| changes.value(&[user], *count));
        page.family(&metrics::COMMITS).value(&[], host.flusher.writes());
        write_server(page, host.serving());
        write_group(page, host.group().as_deref());
    }
}

/// What the metadata server counts; samples are missing while none works here.
fn write_server(page: &mut Page, serving: Option<Serving>) {
    let server = serving.as_ref().map(|serving| serving.driver.server());
    let state = server.as_ref().map(|server| server.state());
    let figures = state.map(|state| state.delegations.figures());
    let content = state.map(|state| state.counters.get("lookup.content").copied().unwrap_or(0));
    let mut put = |metric: &Metric, value: Option<u64>| {
        let mut family = page.family(metric);
        value.into_iter().for_each(|value| family.value(&[], value));
    };
    put(&metrics::WAITING, serving.as_ref().map(|serving| serving.driver.waiting() as u64));
    put(&metrics::TASKS, state.map(|state| state.tasks() as u64));
    put(&metrics::SESSIONS, state.map(|state| state.sessions.len() as u64));
    put(&metrics::DELEGATIONS, figures.map(|(held, _)| held as u64));
    put(&metrics::REVOCATIONS, figures.map(|(_, revocations)| revocations));
    put(&metrics::CONTENT, content);
    put(&metrics::RECALLS_ANSWERED, state.map(|state| state.delegations.answer_times().0));
    let recalls = state.map(recall_report);
    put(&metrics::RECALLS, recalls.as_ref().map(|recalls| recalls.outstanding));
    let age_ms = recalls.map(|recalls| recalls.oldest.first().map_or(0, |client| client.age_ms));
    let time_ms = state.map(|state| state.delegations.answer_times().1);
    for (metric, ms) in [(&metrics::RECALL_AGE, age_ms), (&metrics::RECALL_TIME, time_ms)] {
        let mut family = page.family(metric);
        ms.into_iter().for_each(|ms| family.micros(&[], ms.saturating_mul(1000)));
    }
}
