// SPDX-License-Identifier: Apache-2.0

//! An operation in parts: what its client saw of its requests, and what the services recorded of them, put together. Pure.

use crate::output::Table;
use nyala_transport::trace::Exchange;
use nyala_wire::message_type;
use nyala_wire::trace::TracedRequest;
use serde::Serialize;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// An operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Operation {
    /// What was done.
    pub operation: &'static str,
    /// How long it took, microseconds.
    pub whole_us: f64,
    /// Time in which none of its requests was under way: the client's own.
    pub client_us: f64,
    /// Its requests, by their beginning.
    pub requests: Vec<Asked>,
}

/// A request of an operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Asked {
    /// Who was asked.
    pub service: String,
    /// For what.
    pub message: String,
    /// When, since the operation began, microseconds. Requests may be under way at the same time.
    pub at_us: f64,
    /// Until its reply was there, microseconds.
    pub us: f64,
    /// What the service did not see of it: networks, kernels and queues of both sides. Missing where the service recorded nothing.
    pub network_us: Option<f64>,
    /// What the service recorded.
    pub parts: Vec<Part>,
}

/// A part of what a service recorded.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What was done, or waited for.
    pub name: String,
    /// How long, microseconds.
    pub us: f64,
}

/// An operation that was done, with what is known of it.
pub struct Followed {
    /// What was done.
    pub operation: &'static str,
    /// When it began and ended.
    pub began: Instant,
    /// See above.
    pub ended: Instant,
    /// Its requests.
    pub exchanges: Vec<Exchange>,
}

fn us(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

impl Followed {
    /// Puts together what both sides know; `records` are of this operation's trace alone.
    pub fn with(mut self, records: &[(SocketAddr, TracedRequest)], who: impl Fn(SocketAddr) -> String) -> Operation {
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
            let part =
                |part: &nyala_wire::trace::TracedPart| Part { name: part.name.clone(), us: part.ns as f64 / 1e3 };
            Asked {
                service: who(exchange.address),
                message: message(exchange.message_type),
                at_us: us(exchange.began - began),
                us: took,
                network_us: record.map(|record| took - record.total_ns as f64 / 1e3),
                parts: record.map_or_else(Vec::new, |record| record.parts.iter().map(part).collect()),
            }
        });
        Operation {
            operation: self.operation,
            whole_us: us(whole),
            client_us: us(whole.saturating_sub(covered)),
            requests: requests.collect(),
        }
    }
}

fn message(kind: u16) -> String {
    let name = match kind {
        message_type::META => "metadata request",
        message_type::STORAGE => "storage request",
        message_type::STORAGE_WRITE => "write",
        message_type::STORAGE_READ => "read",
        message_type::STORAGE_GROUP => "mirrored request",
        message_type::MGMT => "management request",
        other => return format!("message {other:#06x}"),
    };
    name.to_owned()
}

/// Of several times that an operation was done, the one that took neither long nor short.
pub fn middle(mut all: Vec<Operation>) -> Option<Operation> {
    all.sort_by(|a, b| a.whole_us.total_cmp(&b.whole_us));
    let middle = all.len() / 2;
    (!all.is_empty()).then(|| all.swap_remove(middle))
}

/// As a table: a line for the whole of each operation, and one for each part.
pub fn render(operations: &[Operation]) -> String {
    let mut table = Table::new(&["OPERATION", "WHERE", "PART", "US", "SHARE"]);
    for one in operations {
        let share = |us: f64| format!("{:.0} %", 100.0 * us / one.whole_us.max(1e-9));
        let mut line = |what: &str, place: &str, part: &str, us: f64| {
            table.row([what.to_owned(), place.to_owned(), part.to_owned(), format!("{us:.1}"), share(us)]);
        };
        line(one.operation, "", "", one.whole_us);
        line("", "client", "", one.client_us);
        for asked in &one.requests {
            match asked.network_us {
                Some(network) => line("", &asked.service, "network", network),
                None => line("", &asked.service, &format!("{}: nothing recorded", asked.message), asked.us),
            }
            asked.parts.iter().for_each(|part| line("", &asked.service, &part.name, part.us));
        }
    }
    table.render()
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
        let record = TracedRequest { request: 3, message_type: message_type::STORAGE_GROUP, total_ns: 25_000, parts };
        let followed = Followed { operation: "write", began, ended: at(100), exchanges };
        let operation = followed.with(&[(address, record)], |_| "storage1".to_owned());
        assert_eq!((operation.whole_us, operation.client_us), (100.0, 30.0));
        assert_eq!(operation.requests.len(), 2, "what ended later is left out");
        let first = &operation.requests[0];
        assert_eq!((first.at_us, first.us, first.network_us), (10.0, 40.0, Some(15.0)));
        let sum: f64 = first.parts.iter().map(|part| part.us).sum();
        assert_eq!(first.us, sum + 15.0);
        assert_eq!(operation.requests[1].network_us, None);
        let text = render(&[operation]);
        for line in ["write  ", "client", "disk", "mirrors", "nothing recorded"] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn requests_at_once_are_counted_once() {
        let began = Instant::now();
        let at = |us: u64| began + Duration::from_micros(us);
        let address: SocketAddr = "10.0.0.1:1".parse().unwrap();
        let exchange =
            |from, to| Exchange { trace: 7, address, request: from, message_type: 1, began: at(from), ended: at(to) };
        let exchanges = vec![exchange(0, 50), exchange(10, 40), exchange(30, 80)];
        let operation =
            Followed { operation: "x", began, ended: at(100), exchanges }.with(&[], |address| address.to_string());
        assert_eq!(operation.client_us, 20.0);
        let of = |whole_us| Operation { whole_us, ..operation.clone() };
        assert_eq!(middle(vec![of(3.0), of(1.0), of(2.0)]).unwrap().whole_us, 2.0);
        assert_eq!(middle(vec![]), None);
    }
}
