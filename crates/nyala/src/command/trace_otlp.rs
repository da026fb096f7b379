// SPDX-License-Identifier: Apache-2.0

//! Operations as spans of OpenTelemetry: the JSON of OTLP. Pure.
//!
//! Each operation is a trace: a span for itself, one for each request that it took, one for what the service did, and below it one for each part. Clocks of
//! two machines are never compared: a service's span stands in the middle of its request, and its parts in the order in which they began. What another
//! member of a mirror group did stands where the service that asked it began.

use super::trace_table::{Asked, Operation, Part};
use nyala_wire::SplitMix64;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Whose spans those of the client are.
const CLIENT: &str = "nyala-client";
/// Kinds of spans.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;
const CALL: u8 = 3;

/// A request to export traces.
pub fn spans<'a>(operations: impl Iterator<Item = &'a Operation>) -> Value {
    let mut by_service: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    operations.for_each(|operation| Spans::of(operation, &mut by_service).all());
    let resource = |(service, spans): (String, Vec<Value>)| {
        json!({
            "resource": { "attributes": [attribute("service.name", &service)] },
            "scopeSpans": [{ "scope": { "name": "nyala" }, "spans": spans }],
        })
    };
    json!({ "resourceSpans": by_service.into_iter().map(resource).collect::<Vec<_>>() })
}

fn attribute(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// The spans of one operation.
struct Spans<'a> {
    operation: &'a Operation,
    ids: SplitMix64,
    by_service: &'a mut BTreeMap<String, Vec<Value>>,
}

/// A span that is known: its id, and when it began, microseconds since the operation did.
#[derive(Clone)]
struct Known {
    id: String,
    began_us: f64,
}

impl<'a> Spans<'a> {
    fn of(operation: &'a Operation, by_service: &'a mut BTreeMap<String, Vec<Value>>) -> Spans<'a> {
        // The lower half of the id: 16 digits.
        let seed = operation.trace.get(16..).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0);
        Spans { operation, ids: SplitMix64::new(seed), by_service }
    }

    /// Adds one, from and for so many microseconds.
    fn add(
        &mut self,
        service: &str,
        parent: Option<&Known>,
        name: &str,
        kind: u8,
        (began_us, us): (f64, f64),
    ) -> Known {
        let id = format!("{:016x}", self.ids.bits().max(1));
        // Never before the operation, never less than nothing.
        let at = |us: f64| self.operation.began_unix_ns.saturating_add((us.max(0.0) * 1e3) as u64);
        let span = json!({
            "traceId": self.operation.trace,
            "spanId": id,
            "parentSpanId": parent.map_or("", |parent| &parent.id),
            "name": name,
            "kind": kind,
            "startTimeUnixNano": at(began_us).to_string(),
            "endTimeUnixNano": at(began_us + us.max(0.0)).to_string(),
        });
        self.by_service.entry(service.to_owned()).or_default().push(span);
        Known { id, began_us }
    }

    fn all(mut self) {
        let one = self.operation;
        let whole = self.add(CLIENT, None, &one.operation, INTERNAL, (0.0, one.whole_us));
        if one.queue_us > 0.0 {
            self.add(CLIENT, Some(&whole), "queue", INTERNAL, (0.0, one.queue_us));
        }
        let mut servers: Vec<(&str, Known)> = Vec::new();
        for asked in &one.requests {
            let server = self.request(&whole, asked);
            servers.extend(server.map(|server| (asked.service.as_str(), server)));
        }
        for passed in &one.passed_on {
            let by = servers.iter().find(|(service, _)| *service == passed.asked_by).map(|(_, known)| known.clone());
            let by = by.unwrap_or_else(|| whole.clone());
            let span = self.add(&passed.service, Some(&by), &passed.message, SERVER, (by.began_us, passed.us));
            self.parts(&passed.service, &span, &passed.parts);
        }
    }

    /// The service's span, if it recorded something.
    fn request(&mut self, whole: &Known, asked: &Asked) -> Option<Known> {
        let call = self.add(CLIENT, Some(whole), &asked.message, CALL, (asked.at_us, asked.us));
        let network = asked.network_us?;
        let times = (asked.at_us + network / 2.0, asked.us - network);
        let server = self.add(&asked.service, Some(&call), &asked.message, SERVER, times);
        self.parts(&asked.service, &server, &asked.parts);
        Some(server)
    }

    fn parts(&mut self, service: &str, of: &Known, parts: &[Part]) {
        let mut at_us = of.began_us;
        for part in parts {
            self.add(service, Some(of), &part.name, INTERNAL, (at_us, part.us));
            at_us += part.us;
        }
    }
}

#[cfg(test)]
mod tests;
