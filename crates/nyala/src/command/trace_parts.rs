// SPDX-License-Identifier: Apache-2.0

//! An operation in parts: what its client saw of its requests, and what the services recorded of them, put together. Pure.

use super::trace_table::{Asked, Operation, Part, PassedOn};
use nyala_transport::trace::Exchange;
use nyala_wire::message_type;
use nyala_wire::trace::{MountRequest, MountTrace, TracedRequest};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// An operation that was done, with what is known of it.
pub struct Followed {
    /// What was done.
    pub operation: String,
    /// How long it waited in its mount's queue, from when it began.
    pub queued: Duration,
    /// When it began and ended.
    pub began: Instant,
    /// See above.
    pub ended: Instant,
    /// When it ended, by the clock, nanoseconds since 1970.
    pub ended_unix_ns: u64,
    /// Its requests.
    pub exchanges: Vec<Exchange>,
}

fn us(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

impl Followed {
    /// Puts together what both sides know; `records` are of this operation's trace alone, `who` and `node` give names to services.
    pub fn with(
        mut self,
        trace: u64,
        records: &[(SocketAddr, TracedRequest)],
        who: impl Fn(SocketAddr) -> String,
        node: impl Fn(u32) -> String,
    ) -> Operation {
        // What ended later was not waited for.
        self.exchanges.retain(|exchange| exchange.began >= self.began && exchange.ended <= self.ended);
        self.exchanges.sort_by_key(|exchange| exchange.began);
        let (mut covered, mut upto) = (Duration::ZERO, self.began);
        for exchange in &self.exchanges {
            covered += exchange.ended.saturating_duration_since(exchange.began.max(upto));
            upto = upto.max(exchange.ended);
        }
        let (began, whole) = (self.began, self.ended - self.began);
        let requests = self.exchanges.iter().map(|exchange| {
            let same = |(address, record): &&(SocketAddr, TracedRequest)| {
                *address == exchange.address
                    && record.request == exchange.request
                    && record.message_type == exchange.message_type
            };
            let record = records.iter().find(same).map(|(_, record)| record);
            let took = us(exchange.ended - exchange.began);
            Asked {
                service: who(exchange.address),
                message: message(exchange.message_type),
                at_us: us(exchange.began - began),
                us: took,
                network_us: record.map(|record| took - record.total_ns as f64 / 1e3),
                parts: record.map_or_else(Vec::new, parts),
            }
        });
        let whole_ns = u64::try_from(whole.as_nanos()).unwrap_or(u64::MAX);
        Operation {
            trace: format!("{trace:032x}"),
            began_unix_ns: self.ended_unix_ns.saturating_sub(whole_ns),
            operation: self.operation,
            whole_us: us(whole),
            queue_us: us(self.queued),
            client_us: us(whole.saturating_sub(covered + self.queued)),
            followed: 1,
            requests: requests.collect(),
            passed_on: passed_on(records, &who, &node),
        }
    }
}

/// What services had others do; `records` are of one trace.
fn passed_on(
    records: &[(SocketAddr, TracedRequest)],
    who: &impl Fn(SocketAddr) -> String,
    node: &impl Fn(u32) -> String,
) -> Vec<PassedOn> {
    let mut passed_on: Vec<PassedOn> = Vec::new();
    let mut seen: Vec<(String, &TracedRequest)> = Vec::new();
    for (address, record) in records {
        let (Some(from), service) = (record.from_node, who(*address)) else { continue };
        // A service that was asked under several addresses says it under each.
        if seen.iter().any(|(known, said)| *known == service && *said == record) {
            continue;
        }
        seen.push((service.clone(), record));
        let (us, parts) = (record.total_ns as f64 / 1e3, parts(record));
        passed_on.push(PassedOn { service, asked_by: node(from), message: message(record.message_type), us, parts });
    }
    passed_on
}

fn parts(record: &TracedRequest) -> Vec<Part> {
    record.parts.iter().map(|part| Part { name: part.name.clone(), us: part.ns as f64 / 1e3 }).collect()
}

fn message(kind: u16) -> String {
    let name = match kind {
        message_type::META => "metadata request",
        message_type::STORAGE => "storage request",
        message_type::STORAGE_WRITE => "write",
        message_type::STORAGE_READ => "read",
        message_type::STORAGE_GROUP => "mirrored request",
        message_type::STORAGE_REPLICA | message_type::STORAGE_REPLICAS | message_type::META_REPLICA => {
            "mirrors' change"
        }
        message_type::META_TX => "step of a transaction",
        message_type::MGMT => "management request",
        other => return format!("message {other:#06x}"),
    };
    name.to_owned()
}

/// Of several times that an operation was done, the one that took neither long nor short.
pub fn middle(mut all: Vec<Operation>) -> Option<Operation> {
    all.sort_by(|a, b| a.whole_us.total_cmp(&b.whole_us));
    let followed = all.len();
    (followed > 0).then(|| Operation { followed, ..all.swap_remove(followed / 2) })
}

impl From<MountTrace> for Followed {
    /// As a mount saw it, at some moment.
    fn from(trace: MountTrace) -> Followed {
        let (began, ns) = (Instant::now(), Duration::from_nanos);
        let exchange = |asked: &MountRequest| Exchange {
            trace: trace.trace,
            address: asked.address,
            request: asked.request,
            message_type: asked.message_type,
            began: began + ns(asked.at_ns),
            ended: began + ns(asked.at_ns.saturating_add(asked.ns)),
        };
        let exchanges = trace.requests.iter().map(exchange).collect();
        let (queued, ended) = (ns(trace.queue_ns), began + ns(trace.total_ns));
        let ended_unix_ns = trace.ended_unix_ns;
        Followed { operation: trace.operation, queued, began, ended, ended_unix_ns, exchanges }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::trace::TracedPart;

    #[test]
    fn parts_of_both_sides_add_up() {
        let began = Instant::now();
        let at = |us: u64| began + Duration::from_micros(us);
        let address: SocketAddr = "10.0.0.1:8003".parse().unwrap();
        let exchange = |request, from, to| Exchange {
            trace: 7,
            address,
            request,
            message_type: message_type::STORAGE_GROUP,
            began: at(from),
            ended: at(to),
        };
        let exchanges = vec![exchange(4, 60, 90), exchange(3, 10, 50), exchange(5, 80, 200)];
        let parts =
            vec![TracedPart { name: "disk".into(), ns: 20_000 }, TracedPart { name: "mirrors".into(), ns: 5_000 }];
        let (group, replica) = (message_type::STORAGE_GROUP, message_type::STORAGE_REPLICA);
        let record = TracedRequest { request: 3, message_type: group, total_ns: 25_000, parts, from_node: None };
        let parts = vec![TracedPart { name: "own copy".into(), ns: 3_000 }];
        let member = TracedRequest { request: 9, message_type: replica, total_ns: 4_000, parts, from_node: Some(1) };
        let other: SocketAddr = "10.0.0.2:8003".parse().unwrap();
        let operation = "write".to_owned();
        let followed = Followed {
            operation,
            queued: Duration::from_micros(4),
            began,
            ended: at(100),
            ended_unix_ns: 1_000_000,
            exchanges,
        };
        let records = [(address, record), (other, member.clone()), (other, member)];
        let who = |at: SocketAddr| if at == address { "storage1" } else { "storage2" }.to_owned();
        let operation = followed.with(7, &records, who, |node| format!("node {node}"));
        let [passed] = &operation.passed_on[..] else { panic!("said twice, counted once: {operation:?}") };
        assert_eq!((passed.service.as_str(), passed.asked_by.as_str(), passed.us), ("storage2", "node 1", 4.0));
        assert_eq!((operation.whole_us, operation.queue_us, operation.client_us), (100.0, 4.0, 26.0));
        assert_eq!(operation.requests.len(), 2, "what ended later is left out");
        let first = &operation.requests[0];
        assert_eq!((first.at_us, first.us, first.network_us), (10.0, 40.0, Some(15.0)));
        let sum: f64 = first.parts.iter().map(|part| part.us).sum();
        assert_eq!(first.us, sum + 15.0);
        assert_eq!(operation.requests[1].network_us, None);
    }

    #[test]
    fn requests_at_once_are_counted_once() {
        let began = Instant::now();
        let at = |us: u64| began + Duration::from_micros(us);
        let address: SocketAddr = "10.0.0.1:1".parse().unwrap();
        let exchange =
            |from, to| Exchange { trace: 7, address, request: from, message_type: 1, began: at(from), ended: at(to) };
        let exchanges = vec![exchange(0, 50), exchange(10, 40), exchange(30, 80)];
        let operation = Followed {
            operation: "x".to_owned(),
            queued: Duration::ZERO,
            began,
            ended: at(100),
            ended_unix_ns: 0,
            exchanges,
        };
        let operation = operation.with(7, &[], |address| address.to_string(), |node| node.to_string());
        assert_eq!(operation.client_us, 20.0);
        let of = |whole_us| Operation { whole_us, ..operation.clone() };
        let middle_one = middle(vec![of(3.0), of(1.0), of(2.0)]).unwrap();
        assert_eq!((middle_one.whole_us, middle_one.followed), (2.0, 3));
        assert_eq!(middle(vec![]), None);
    }

    #[test]
    fn what_a_mount_followed_is_an_operation() {
        let address: SocketAddr = "10.0.0.1:8003".parse().unwrap();
        let asked = MountRequest { address, request: 3, message_type: message_type::META, at_ns: 20_000, ns: 70_000 };
        let trace = MountTrace {
            trace: 7,
            operation: "create".to_owned(),
            inode: nyala_wire::InodeId(9),
            queue_ns: 5_000,
            total_ns: 100_000,
            requests: vec![asked],
            ended_unix_ns: 2_000_000,
        };
        let operation = Followed::from(trace).with(7, &[], |address| address.to_string(), |node| node.to_string());
        assert_eq!((operation.whole_us, operation.queue_us, operation.client_us), (100.0, 5.0, 25.0));
        assert_eq!((operation.began_unix_ns, operation.trace.len()), (1_900_000, 32));
        let [asked] = &operation.requests[..] else { panic!("{operation:?}") };
        assert_eq!((asked.at_us, asked.us, operation.operation.as_str()), (20.0, 70.0, "create"));
    }
}
