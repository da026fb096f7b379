// SPDX-License-Identifier: Apache-2.0

//! Questions about the history, and their answers.

use super::history::{History, Tier};
use super::series::{Field, Key, Kind};
use super::steps::Steps;
use nyala_metrics::catalog::Source;
use std::sync::Arc;

/// Most series of an answer.
pub const MOST_SERIES: usize = 2000;
/// Most points of a series of an answer.
pub const MOST_POINTS: u64 = 3000;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Name of a metric.
    pub metric: String,
    /// Only of this kind of process.
    pub service: Option<Source>,
    /// Only of this one.
    pub instance: Option<String>,
    /// Only this number of it.
    pub field: Option<Field>,
    /// Only those with all of these labels.
    pub labels: Vec<(String, String)>,
    /// After this time, milliseconds since 1970.
    pub from_ms: u64,
    /// Up to this time.
    pub to_ms: u64,
    /// A point for each step of this length.
    pub step_ms: u64,
    /// Of counters: what they grew by in a second, instead of what they are.
    pub rate: bool,
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The times make no sense.
    #[error("`from` is not before `to`, or `step` is zero")]
    Times,
    /// Too many points.
    #[error("that would be {0} points for each series; ask for at most {MOST_POINTS}, with a longer step or less time")]
    Points(u64),
    /// Too many series.
    #[error("that would be more than {MOST_SERIES} series; name an instance, a field or labels")]
    Series,
    /// No such metric.
    #[error("there is no metric {0:?} in the history; /api/v1/series lists what there is")]
    Metric(String),
}

/// One series of an answer: time (the end of a step, milliseconds since 1970) and value.
pub type Line = (Arc<Key>, Vec<(u64, f64)>);

impl Query {
    fn check(&self) -> Result<(), QueryError> {
        if self.from_ms >= self.to_ms || self.step_ms == 0 {
            return Err(QueryError::Times);
        }
        match (self.to_ms - self.from_ms).div_ceil(self.step_ms) {
            points if points > MOST_POINTS => Err(QueryError::Points(points)),
            _ => Ok(()),
        }
    }

    fn wants(&self, key: &Key) -> bool {
        key.metric == self.metric
            && self.service.is_none_or(|service| service == key.service)
            && self.instance.as_ref().is_none_or(|instance| *instance == key.instance)
            && self.field.is_none_or(|field| field == key.field)
            && self.labels.iter().all(|label| key.labels.contains(label))
    }
}

/// The answer.
pub fn answer(history: &History, query: &Query) -> Result<Vec<Line>, QueryError> {
    query.check()?;
    if !history.keys().any(|key| key.metric == query.metric) {
        return Err(QueryError::Metric(query.metric.clone()));
    }
    let keys: Vec<&Arc<Key>> = history.keys().filter(|key| query.wants(key)).take(MOST_SERIES + 1).collect();
    if keys.len() > MOST_SERIES {
        return Err(QueryError::Series);
    }
    let steps = Steps { from_ms: query.from_ms, to_ms: query.to_ms, step_ms: query.step_ms };
    let line = |key: &Arc<Key>| {
        let samples = samples(history, key, query.from_ms, query.to_ms);
        let rates = query.rate && key.kind == Kind::Counter;
        (key.clone(), if rates { steps.rates(key, &samples) } else { steps.folded(key, samples) })
    };
    Ok(keys.into_iter().map(line).filter(|(_, points)| !points.is_empty()).collect())
}

/// Samples up to a time, and from the last one on that is not after another: as they were sampled where they are kept so.
fn samples(history: &History, key: &Key, from_ms: u64, to_ms: u64) -> Vec<(u64, i64)> {
    let (raw_from, mut all) = (history.raw_from(), Vec::new());
    for tier in [Tier::Folded, Tier::Raw] {
        let concerns =
            |times: &[u64]| times.last().is_some_and(|last| *last >= from_ms) && times.first() <= Some(&to_ms);
        let mut before = None;
        for block in history.blocks(tier) {
            if !concerns(block.times()) {
                before = Some(block);
                continue;
            }
            for block in
                before.take().filter(|before| before.times().last() <= Some(&from_ms)).into_iter().chain([block])
            {
                let values = block.values(key);
                all.extend(values.filter(|(time, _)| *time <= to_ms && (tier == Tier::Raw) == (*time >= raw_from)));
            }
        }
    }
    let base = all.partition_point(|(time, _)| *time <= from_ms).saturating_sub(1);
    all.drain(..base);
    all
}
