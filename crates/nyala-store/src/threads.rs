// SPDX-License-Identifier: Apache-2.0

//! The threads of a store: one syncs the log, one makes checkpoints, one compares log and table with their checksums. Blocking calls live here, off the data path.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::StoreError;
use crate::progress::Wake;
use crate::scrub::Scrub;
use crate::shared::Shared;

/// Pause after a checkpoint that found no space.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) fn start(shared: &Arc<Shared>) -> io::Result<Vec<JoinHandle<()>>> {
    let spawn = |name: &str, run: fn(&Shared)| {
        let shared = shared.clone();
        std::thread::Builder::new().name(name.into()).spawn(move || run(&shared))
    };
    let mut threads = Vec::new();
    for (name, run) in
        [("store-sync", sync_loop as fn(&Shared)), ("store-checkpoint", checkpoint_loop), ("store-scrub", scrub_loop)]
    {
        match spawn(name, run) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                shared.progress.stop();
                // They have nothing to tell; they only must be gone before the store is.
                threads.into_iter().for_each(|thread| _ = thread.join());
                return Err(error);
            }
        }
    }
    Ok(threads)
}

fn sync_loop(shared: &Shared) {
    loop {
        let wake = shared.progress.next_sync(shared.options.sync_interval);
        if wake == Wake::Stop {
            return;
        }
        // Nobody wrote for a while, and what was written is on disk. The marker is synced too, and then nothing is left to say.
        if wake == Wake::Timeout && shared.log.vouch().is_err() {
            return;
        }
        // A failure has poisoned the store, and whoever waits has been told.
        if shared.sync().is_err() {
            return;
        }
        shared.log.prepare_spare();
        shared.look_at_space();
        if shared.log.keep_reserve().is_err() {
            return;
        }
    }
}

fn checkpoint_loop(shared: &Shared) {
    let mut interval = shared.options.checkpoint_interval;
    while shared.progress.next_checkpoint(interval) != Wake::Stop {
        interval = match shared.checkpoint() {
            Ok(()) => shared.options.checkpoint_interval,
            Err(error @ StoreError::OrderedFull { .. }) => {
                tracing::error!(%error, "no space for a checkpoint; trying again");
                RETRY_INTERVAL
            }
            Err(_) => return,
        };
    }
}

fn scrub_loop(shared: &Shared) {
    let Some(mut pause) = Scrub::first(&shared.options) else { return };
    while shared.progress.pause(pause) {
        if shared.scrub.lock().begins() {
            shared.scrub_log();
        }
        pause = shared.scrub_slice();
    }
}
