// SPDX-License-Identifier: Apache-2.0

//! What the metadata server itself counts, on the service's page of metrics. Failure model: none of its own.

use super::host::Serving;
use nyala_metrics::catalog::meta as metrics;
use nyala_metrics::{Metric, Page};
use nyala_namespace::recall_report::recall_report;

/// What the metadata server counts; samples are missing while none works here.
pub fn write_server(page: &mut Page, serving: Option<Serving>) {
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
