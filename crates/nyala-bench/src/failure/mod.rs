// SPDX-License-Identifier: Apache-2.0

//! `nyala bench failure`: what applications see when a storage server goes away and comes back, on a mirrored and on an
//! unmirrored directory: throughput and latency over time, the worst pause, every error; printed, drawn and as JSON.
//!
//! - [`figures`] (pure): what the samples mean, state by state. [`draw`] (pure): the same as a picture.
//! - [`worker`]: threads that write and read, in a process of their own; [`load`]: what the study sees of it. [`own`]: the
//!   cluster, which is the benchmark's own.
//!
//! **Failure model.** The unmirrored directory stands still while the server is away: operations are late, which is what is
//! measured, and counted into the state in which they end. The cluster may not start, or not become whole again: the error
//! says so with what the cluster says. A signal or an error takes the cluster away.

mod draw;
pub mod figures;
mod load;
mod options;
mod own;
pub mod worker;

pub use options::Options;

use crate::error::BenchError;
use crate::stop::Stop;
use figures::{Mark, Report, Run};
use own::Own;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What was found.
pub struct Study {
    /// The figures.
    pub report: Report,
    /// Throughput and latency over time, an SVG document.
    pub svg: String,
}

/// Runs the study, on the mirrored and on the unmirrored directory. In a runtime.
pub async fn run(options: &Options, stop: &Stop) -> Result<Study, BenchError> {
    let own = Arc::new(Own::start(options)?);
    // On a thread of its own, so that a wish to stop is heard while an operation hangs in the mount.
    let (done, result) = tokio::sync::oneshot::channel();
    let (studied, wishes) = (own.clone(), options.clone());
    std::thread::spawn(move || {
        let runs = study(&studied, &wishes, "mirrored").and_then(|m| Ok([m, study(&studied, &wishes, "unmirrored")?]));
        // Nobody waits for it any more after a wish to stop.
        let _ = done.send(runs);
    });
    let runs = tokio::select! {
        runs = result => runs.unwrap_or_else(|_| Err(BenchError::failed("the study ended in a panic"))),
        () = stop.asked() => Err(BenchError::stopped()),
    };
    own.remove();
    let runs = runs?;
    Ok(Study { svg: draw::svg(&[&runs[0], &runs[1]])?, report: Report::of(&runs) })
}

/// One directory: normal, a server away, it comes back.
fn study(own: &Own, options: &Options, directory: &str) -> Result<Run, BenchError> {
    let span = options.span;
    let load = load::Load::start(&options.host, &own.directory(directory), options.tasks, options.file_bytes)?;
    let mut marks = vec![Mark { at_s: load.elapsed(), state: figures::State::Normal }];
    std::thread::sleep(span);
    marks.push(Mark { at_s: load.elapsed(), state: figures::State::Away });
    own.take_away()?;
    std::thread::sleep(span);
    own.bring_back()?;
    marks.push(Mark { at_s: load.elapsed(), state: figures::State::Returned });
    let back = Instant::now();
    let whole = own.await_whole();
    marks.push(Mark { at_s: load.elapsed(), state: figures::State::Whole });
    // Not the whole span: that it works was seen before.
    std::thread::sleep((span / 2).saturating_sub(back.elapsed()).max(Duration::from_secs(1)));
    let end_s = load.elapsed();
    let (samples, errors) = load.stop()?;
    Ok(Run { directory: directory.to_owned(), marks, end_s, whole_after_s: whole?, samples, errors })
}
