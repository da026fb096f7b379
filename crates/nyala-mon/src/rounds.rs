// SPDX-License-Identifier: Apache-2.0

//! Rounds of samples, one after the other.
//!
//! **Failure model.** A round that takes longer than the interval delays the next one; none are made up for. The disk may hang: then rounds wait
//! for it, and whoever watches the service ([`Mon::alive`](crate::Mon::alive)) sees that there are none. The clock may be set: see
//! [`History::sample`](crate::logic::history::History::sample).

use crate::disk::Disk;
use crate::logic::history::Change;
use crate::round::Round;
use crate::sampler::Sampler;
use crate::state::{Shared, now_ms};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, Notify};
use tokio::time::MissedTickBehavior;

/// Takes rounds, for ever.
pub async fn sample(
    shared: &Shared,
    mut sampler: Sampler,
    disk: &Arc<Mutex<Disk>>,
    interval: Duration,
    sampled: &Notify,
    rounds: &AtomicU64,
) -> Infallible {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let began = Instant::now();
        let mut round = sampler.round().await;
        let (time_ms, took) = (now_ms(), began.elapsed());
        shared.counters.borrow_mut().add_round(&round, took.as_micros() as u64, sampler.unreachable.is_none());
        log_changes(shared, &round, &sampler);
        let values = round.values_mut().flat_map(|answered| std::mem::take(&mut answered.values)).collect();
        let changes = {
            let mut history = shared.history.borrow_mut();
            let before = history.last_ms();
            let changes = history.sample(time_ms, values);
            if history.last_ms() < before {
                shared.set_back_ms.set(history.last_ms());
            }
            changes
        };
        let failures = carry_out(disk, changes).await;
        shared.counters.borrow_mut().disk_errors += failures;
        rounds.fetch_add(1, Ordering::Relaxed);
        sampled.notify_one();
    }
}

/// Remembers who answered, and logs what has changed about that.
fn log_changes(shared: &Shared, round: &Round, sampler: &Sampler) {
    let now = round.iter().map(|(instance, answered)| (instance.clone(), answered.failed.clone())).collect();
    let before = shared.sources.replace(now);
    for (instance, answered) in round {
        let was = before.get(instance);
        let (service, name) = (instance.service.word(), &instance.name);
        match &answered.failed {
            Some(why) if was.is_none_or(|was| was.is_none()) => {
                tracing::warn!(service, name, "gives no figures: {why}")
            }
            None if was.is_some_and(Option::is_some) => tracing::info!(service, name, "gives figures again"),
            _ => {}
        }
    }
    let before = shared.unreachable.replace(sampler.unreachable.clone());
    match &sampler.unreachable {
        Some(why) if before.is_none() => tracing::warn!("management does not say who there is: {why}"),
        None if before.is_some() => tracing::info!("management answers again"),
        _ => {}
    }
}

/// Carries changes out on a thread that may block.
async fn carry_out(disk: &Arc<Mutex<Disk>>, changes: Vec<Change>) -> u64 {
    let mut disk = disk.clone().lock_owned().await;
    // It fails only if it panicked, which is logged.
    tokio::task::spawn_blocking(move || disk.carry_out(&changes)).await.unwrap_or(1)
}
