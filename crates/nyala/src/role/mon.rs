// SPDX-License-Identifier: Apache-2.0

//! `nyala mon`: runs the monitoring service until SIGTERM or SIGINT.

use super::{ServiceArgs, block_on, manager, stop_signal};
use crate::config::MonSettings;
use crate::exit::{Exit, Failure, Outcome};
use nyala_mon::{Mon, MonError};
use std::sync::atomic::Ordering;

/// Flags of `nyala mon`.
#[derive(Clone, Debug, clap::Args)]
pub struct MonArgs {
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    settings: MonSettings,
}

/// Runs the service.
pub fn run(args: MonArgs) -> Outcome {
    args.service.detach();
    super::make_files_private();
    let config = args.service.settings(args.settings)?.resolve()?;
    block_on(async {
        let stop = stop_signal()?;
        let failed = |error: MonError| {
            tracing::error!(%error, "the monitoring service ends");
            Failure::from(error)
        };
        let mon = Mon::open(config).map_err(failed)?;
        let (rounds, mut seen) = (mon.alive(), 0);
        let alive = async move || {
            let before = std::mem::replace(&mut seen, rounds.load(Ordering::Relaxed));
            seen > before
        };
        let service = async { mon.run(stop).await.map_err(failed) };
        manager::watched_by(alive, "takes samples", service).await
    })?;
    Ok(Exit::Ok)
}
