// SPDX-License-Identifier: Apache-2.0

//! Asks all services for their figures at a rate, on a thread of its own: what takes long here holds up no heartbeat.
//!
//! **Failure model.** Services may be away or slow: see [`nyala_mon::Sampler`]. The thread ends when it is told to, within a moment. What it
//! keeps is bounded ([`nyala_web::History`]), and gone with the process.

use super::logic::busy::with_busy;
use super::logic::figures::figures;
use super::sampled::Sampled;
use crate::MgmtError;
use crate::clock::wall_ms;
use crate::core::Core;
use nyala_mon::logic::busy::Measure;
use nyala_mon::{Busy, BusyAsker, Round};
use nyala_transport::HandshakeConfig;
use nyala_transport::member::monotonic_ms;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// While somebody looks.
const WATCHED: Duration = Duration::from_secs(2);
/// Longest wait for busy inodes and their paths, which are asked for while somebody looks.
const BUSY: Duration = Duration::from_secs(4);
/// Files, and directories, that are asked for.
const MOST_BUSY: usize = 20;

/// The running sampler.
pub(crate) struct Sampler {
    sampled: Arc<Sampled>,
    stop: Option<oneshot::Sender<()>>,
    ended: oneshot::Receiver<()>,
}

impl Sampler {
    /// Begins; does nothing if there is no rate.
    pub fn start(core: &Arc<Core>, handshake: HandshakeConfig, every: Option<Duration>) -> Result<Sampler, MgmtError> {
        let sampled: Arc<Sampled> = Arc::default();
        let ((stop, stopped), (end, ended)) = (oneshot::channel(), oneshot::channel());
        if let Some(every) = every {
            let (core, sampled) = (core.clone(), sampled.clone());
            let failed = |error: std::io::Error| MgmtError::Raft(format!("the sampler does not start: {error}"));
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
            let thread = std::thread::Builder::new().name("sampler".to_owned());
            let run = move || {
                let local = tokio::task::LocalSet::new();
                local.block_on(&runtime, async {
                    tokio::select! {
                        // A dropped sender means stop as well.
                        _ = stopped => {}
                        () = sample(core, handshake, every, &sampled) => {}
                    }
                });
                drop(local);
                // The receiver is gone if nobody waits.
                let _ = end.send(());
            };
            thread.spawn(run).map_err(failed)?;
        }
        Ok(Sampler { sampled, stop: Some(stop), ended })
    }

    /// What it samples.
    pub fn sampled(&self) -> Arc<Sampled> {
        self.sampled.clone()
    }

    /// Stops it.
    pub async fn stop(mut self) {
        // The receiver is gone if it never ran.
        self.stop.take().map(|stop| stop.send(()));
        let _ = self.ended.await;
    }
}

async fn sample(core: Arc<Core>, handshake: HandshakeConfig, every: Duration, sampled: &Sampled) {
    let mut asker = BusyAsker::new(handshake.clone());
    let mut busy = Busy::default();
    let mut sampler = nyala_mon::Sampler::with(Vec::new(), handshake);
    sampler.ask_stats = true;
    let (mut before, mut before_ms) = (Round::new(), monotonic_ms());
    loop {
        let leads = core.check_leading().is_ok();
        let mounts = if leads { core.mounts.lock().list(monotonic_ms()) } else { Vec::new() };
        sampler.know(&core.view.map(), mounts);
        // What is counted goes up to here, as the rates have it.
        let (now_ms, at_ms) = (monotonic_ms(), wall_ms());
        let round = sampler.ask_known().await;
        let seconds = now_ms.saturating_sub(before_ms) as f64 / 1e3;
        // The first round has nothing to compare with: the next one is soon.
        let first = before.is_empty();
        if !first {
            busy = match sampled.is_watched() {
                // Whom it takes too long to ask is as before.
                true => timeout(BUSY, asker.ask(&core.view.map(), Measure::Requests, MOST_BUSY)).await.unwrap_or(busy),
                false => Busy::default(),
            };
            sampled.add(with_busy(figures(at_ms, &before, &round, seconds), &busy));
        }
        (before, before_ms) = (round, now_ms);
        let pause = if first { Duration::from_secs(1).min(every) } else { every };
        let pause = if sampled.is_watched() { pause.min(WATCHED) } else { pause };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = sampled.begun.notified() => tokio::time::sleep(pause.min(WATCHED)).await,
        }
    }
}
