// SPDX-License-Identifier: Apache-2.0

//! The replies. Failure model: see the parent module.

use super::params::{pairs, query};
use crate::logic::query::answer as find;
use crate::logic::series::{Key, Kind};
use crate::state::{Shared, now_ms};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Most series that are listed.
const MOST_LISTED: usize = 10_000;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Ok,
    Bad,
    Unauthorized,
    Missing,
    Method,
}

pub(super) fn answer(path: &str, text: &str, shared: &Shared) -> (Status, Value) {
    let pairs = match pairs(text) {
        Ok(pairs) => pairs,
        Err(message) => return (Status::Bad, json!({"code": "invalid", "message": message})),
    };
    match path {
        "/api/v1/sources" => (Status::Ok, sources(shared)),
        "/api/v1/metrics" => (Status::Ok, metrics(shared)),
        "/api/v1/series" => (Status::Ok, series(shared, &pairs)),
        "/api/v1/history" => history(shared, pairs),
        _ => {
            let message =
                "there are /api/v1/sources, /api/v1/metrics, /api/v1/series?metric= and /api/v1/history?metric=";
            (Status::Missing, json!({"code": "missing", "message": message}))
        }
    }
}

/// Who is known, and whether it answered in the last round.
fn sources(shared: &Shared) -> Value {
    let sources = shared.sources.borrow();
    let one = |(instance, failed): (&crate::ask::Instance, &Option<String>)| json!({"service": instance.service.word(), "instance": instance.name, "answers": failed.is_none(), "why": failed});
    let history = shared.history.borrow();
    json!({"time_ms": history.last_ms(), "management": shared.unreachable.borrow().clone(), "sources": sources.iter().map(one).collect::<Vec<_>>()})
}

/// Names of metrics in the history.
fn metrics(shared: &Shared) -> Value {
    let history = shared.history.borrow();
    let names: BTreeSet<&str> = history.keys().map(|key| key.metric.as_str()).collect();
    json!({"metrics": names})
}

fn series(shared: &Shared, pairs: &[(String, String)]) -> Value {
    let wanted = pairs.iter().find(|(name, _)| name == "metric").map(|(_, metric)| metric);
    let history = shared.history.borrow();
    let all: Vec<Value> = history
        .keys()
        .filter(|key| wanted.is_none_or(|metric| *metric == key.metric))
        .take(MOST_LISTED)
        .map(|key| Value::Object(described(key)))
        .collect();
    json!({"series": all, "more": all.len() == MOST_LISTED})
}

fn history(shared: &Shared, pairs: Vec<(String, String)>) -> (Status, Value) {
    let asked = match query(pairs, now_ms()) {
        Ok(query) => query,
        Err(message) => return (Status::Bad, json!({"code": "invalid", "message": message})),
    };
    let history = shared.history.borrow();
    match find(&history, &asked) {
        Err(error) => (Status::Bad, json!({"code": "invalid", "message": error.to_string()})),
        Ok(lines) => {
            let line = |(key, points): (std::sync::Arc<Key>, Vec<(u64, f64)>)| {
                let mut described = described(&key);
                described.insert("points".to_owned(), json!(points));
                Value::Object(described)
            };
            let series: Vec<Value> = lines.into_iter().map(line).collect();
            let times = (asked.from_ms, asked.to_ms, asked.step_ms);
            (
                Status::Ok,
                json!({"from_ms": times.0, "to_ms": times.1, "step_ms": times.2, "rate": asked.rate, "series": series}),
            )
        }
    }
}

fn described(key: &Key) -> Map<String, Value> {
    let labels: Map<String, Value> = key.labels.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let kind = match key.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Peak => "peak",
    };
    let pairs = [
        ("metric", json!(key.metric)),
        ("service", json!(key.service.word())),
        ("instance", json!(key.instance)),
        ("labels", Value::Object(labels)),
        ("field", json!(key.field.word())),
        ("kind", json!(kind)),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
