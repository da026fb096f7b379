// SPDX-License-Identifier: Apache-2.0

//! Writes to the database what it has not, and notes how far it is.
//!
//! **Failure model.** The database may be away: see [`Outbox`]. The note may be lost: then points are written once more.

use crate::disk::Disk;
use crate::influx::Influx;
use crate::logic::outbox::{Answer, Outbox};
use crate::state::Shared;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, Notify};

/// Pause before it is noted again how far the database is.
const NOTE: Duration = Duration::from_secs(10);
/// Looked whether there is something to write, at least so often.
const LOOK: Duration = Duration::from_millis(500);

/// Notes how far the database is.
pub async fn note(disk: &Arc<Mutex<Disk>>, sent_ms: u64) {
    if sent_ms == 0 {
        return;
    }
    let disk = disk.clone().lock_owned().await;
    let noted = tokio::task::spawn_blocking(move || disk.set_sent_ms(sent_ms)).await;
    if let Ok(Err(error)) = noted {
        tracing::warn!(%error, "it is not noted how far the database is; points would be written once more");
    }
}

fn count(shared: &Shared, answer: Answer, values: u64, sent_ms: u64) {
    let mut counters = shared.counters.borrow_mut();
    match answer {
        Answer::Written => counters.written += values,
        Answer::Refused => counters.refused += 1,
        Answer::Failed => counters.write_failures += 1,
        Answer::TooLong => {}
    }
    counters.sent_ms = Some(sent_ms);
}

/// Writes to the database what it has not, for ever.
pub async fn write(
    shared: &Shared,
    influx: Option<Influx>,
    outbox: &mut Outbox,
    disk: &Arc<Mutex<Disk>>,
    sampled: &Notify,
) -> Infallible {
    let Some(mut influx) = influx else { return std::future::pending().await };
    let (began, mut noted) = (Instant::now(), Instant::now());
    let now = || u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    loop {
        if let Some(last_ms) = shared.set_back_ms.take() {
            outbox.set_back(last_ms.saturating_sub(1));
        }
        let batch = outbox.next(now(), &shared.history.borrow());
        let Some(batch) = batch else {
            // A pause after a failure ends without a round.
            let _ = tokio::time::timeout(LOOK, sampled.notified()).await;
            continue;
        };
        let answer = influx.write(&batch).await;
        outbox.answered(now(), &batch, answer);
        count(shared, answer, batch.values as u64, outbox.sent_ms());
        if noted.elapsed() >= NOTE {
            note(disk, outbox.sent_ms()).await;
            noted = Instant::now();
        }
    }
}
