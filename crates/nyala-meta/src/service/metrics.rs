// SPDX-License-Identifier: Apache-2.0

//! What a metadata service counts, and its page of metrics.
//!
//! Failure model: none of its own. It lives as long as the process, over the runs of the service; what a metadata server
//! counts itself begins anew with each run.

use super::busiest;
use super::group_metrics::write_group;
use super::host::Host;
use super::message_ops::names;
use super::server_metrics::write_server;
use super::turn_clock::TurnClock;
use nyala_metrics::catalog::{Source, meta as metrics};
use nyala_metrics::{ByAddress, ByUser, Histograms, Page, Requests};
use nyala_scrape::BusyNow;
use nyala_transport::trace::SlowOperations;
use nyala_transport::{MemoryBudget, PeerInfo, ServerOptions};
use nyala_wire::meta::MetaRequest;
use nyala_wire::mgmt::Capacity;
use tokio::time::Instant;

/// Counts since the process started.
pub struct Metrics {
    requests: Requests,
    clients: ByAddress<1>,
    /// Requests by user, and those of them that change something.
    users: ByUser<2>,
    /// Files and directories.
    pub busy: BusyNow,
    /// How long requests waited for the thread.
    waits: Histograms,
    turn: TurnClock,
    /// Memory of requests: of clients, and of servers.
    clients_budget: MemoryBudget,
    servers_budget: MemoryBudget,
    /// Requests that took too long.
    pub slow: SlowOperations,
}

impl Metrics {
    /// Nothing has happened yet.
    pub fn new(slow: SlowOperations) -> Metrics {
        let ServerOptions { client_budget, server_budget, .. } = ServerOptions::default();
        Metrics {
            requests: Requests::new(names()),
            clients: ByAddress::default(),
            users: ByUser::default(),
            busy: BusyNow::default(),
            waits: Histograms::new(1),
            turn: TurnClock::new(),
            clients_budget: client_budget,
            servers_budget: server_budget,
            slow,
        }
    }

    /// How a server is to run whose requests are counted here.
    pub fn server_options(&self) -> ServerOptions {
        let (client_budget, server_budget) = (self.clients_budget.clone(), self.servers_budget.clone());
        ServerOptions { slow: self.slow.clone(), client_budget, server_budget, ..ServerOptions::default() }
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
        busiest::asked(&self.busy, &request.op);
    }

    /// A request is taken up now.
    pub fn began(&self, now: Instant) {
        let waited = self.turn.waited(now);
        self.waits.add(0, waited.as_secs().wrapping_mul(1_000_000).wrapping_add(waited.subsec_micros().into()));
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
        page.family(&metrics::QUEUE_WAIT).histogram(&[], &self.waits.get(0));
        let mut memory = page.family(&metrics::MEMORY);
        memory.value(&[&"clients"], self.clients_budget.used_bytes() as u64);
        memory.value(&[&"servers"], self.servers_budget.used_bytes() as u64);
        page.family(&metrics::COMMITS).value(&[], host.flusher.writes_done());
        write_server(page, host.serving());
        write_group(page, host.group().as_deref());
    }
}
