// SPDX-License-Identifier: Apache-2.0

//! `nyala bench failure`: what applications see when a storage server goes away and comes back, on a mirrored and on an
//! unmirrored directory, and when the primary of a mirrored metadata server does: throughput and latency over time, the worst
//! pause, every error; printed, drawn and as JSON.
//!
//! - [`figures`] (pure): what the samples mean, state by state. [`draw`] (pure): the same as a picture.
//! - [`worker`]: threads that write and read, in a process of their own, or ([`names`]) make, remove and look up names; [`load`]:
//!   what the study sees of it. [`own`]: the cluster, which is the benchmark's own.
//!
//! **Failure model.** The unmirrored directory stands still while the server is away: operations are late, which is what is
//! measured, and counted into the state in which they end. The cluster may not start, or not become whole again: the error
//! says so with what the cluster says. A signal or an error takes the cluster away.

mod draw;
pub mod figures;
mod load;
pub mod names;
mod options;
mod own;
pub mod worker;

pub use options::Options;

use crate::error::BenchError;
use crate::stop::Stop;
use figures::{Kind, Mark, Report, Run, State};
use own::Own;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Kills of the metadata server's primary.
const METADATA_KILLS: u64 = 3;
/// The directories, and what is done there.
const RUNS: [(&str, Kind); 3] = [("mirrored", Kind::Content), ("unmirrored", Kind::Content), ("metadata", Kind::Names)];

fn kills(kind: Kind) -> u64 {
    if kind == Kind::Names { METADATA_KILLS } else { 1 }
}

/// States of all runs: normal once, and a server away and back for each kill.
pub fn states() -> u64 {
    RUNS.iter().map(|(_, kind)| 1 + 2 * kills(*kind)).sum()
}

/// What was found.
pub struct Study {
    /// The figures.
    pub report: Report,
    /// Throughput and latency over time, an SVG document.
    pub svg: String,
}

/// Runs the study, on the mirrored and on the unmirrored directory, and on names. In a runtime.
pub async fn run(options: &Options, stop: &Stop) -> Result<Study, BenchError> {
    let own = Arc::new(Own::start(options)?);
    // On a thread of its own, so that a wish to stop is heard while an operation hangs in the mount.
    let (done, result) = tokio::sync::oneshot::channel();
    let (studied, wishes) = (own.clone(), options.clone());
    std::thread::spawn(move || {
        let runs: Result<Vec<Run>, BenchError> =
            RUNS.into_iter().map(|(directory, kind)| study(&studied, &wishes, directory, kind)).collect();
        // Nobody waits for it any more after a wish to stop.
        let _ = done.send(runs);
    });
    let runs = tokio::select! {
        runs = result => runs.unwrap_or_else(|_| Err(BenchError::failed("the study ended in a panic"))),
        () = stop.asked() => Err(BenchError::stopped()),
    };
    own.remove();
    let runs = runs?;
    Ok(Study { svg: draw::svg(&runs)?, report: Report::of(&runs) })
}

/// One directory: normal, a server away, it comes back; of names that several times, each time the server that is primary.
fn study(own: &Own, options: &Options, directory: &str, kind: Kind) -> Result<Run, BenchError> {
    let span = options.span;
    let load = load::Load::start(options, &own.directory(directory), kind)?;
    let mut marks = vec![Mark { at_s: load.elapsed(), state: State::Normal }];
    std::thread::sleep(span);
    options.ended.one();
    let mut whole_after_s = 0.0_f64;
    for _ in 0..kills(kind) {
        let victim = own.victim(kind)?;
        marks.push(Mark { at_s: load.elapsed(), state: State::Away });
        own.take_away(&victim)?;
        std::thread::sleep(span);
        options.ended.one();
        own.restart(&victim)?;
        marks.push(Mark { at_s: load.elapsed(), state: State::Returned });
        let back = Instant::now();
        whole_after_s = whole_after_s.max(own.await_whole(kind)?);
        marks.push(Mark { at_s: load.elapsed(), state: State::Whole });
        // Not the whole span: that it works was seen before.
        std::thread::sleep((span / 2).saturating_sub(back.elapsed()).max(Duration::from_secs(1)));
        options.ended.one();
    }
    let end_s = load.elapsed();
    let (samples, errors) = load.stop()?;
    Ok(Run { directory: directory.to_owned(), kind, marks, end_s, whole_after_s, samples, errors })
}
