// SPDX-License-Identifier: Apache-2.0

//! What the benchmarks need of the program that they are part of: its command line, its mounts, its signals.

use crate::exit::{Failure, io};
use crate::mount::table;
use nyala_bench::{Host, Stop};
use std::path::Path;
use tokio::signal::unix::{SignalKind, signal};

/// This program, for what a benchmark has it do.
pub fn this() -> Host {
    // What cannot be told counts as mounted: nothing is removed then.
    let is_mounted = |path: &Path| table::at(path).map_or(true, |found| found.is_some());
    // Also where the file has been replaced since.
    Host { program: "/proc/self/exe".into(), is_mounted }
}

/// Ctrl-C and SIGTERM ask for the end; a second one ends the process at once. In a runtime.
pub fn watch(stop: &Stop) -> Result<(), Failure> {
    let heard = |kind| signal(kind).map_err(io("cannot watch for signals"));
    let (mut interrupt, mut terminate) = (heard(SignalKind::interrupt())?, heard(SignalKind::terminate())?);
    let stop = stop.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if stop.wanted() {
                std::process::exit(130);
            }
            eprintln!("nyala bench: ending and cleaning up; once more ends at once and leaves files behind");
            stop.ask();
        }
    });
    Ok(())
}
