// SPDX-License-Identifier: Apache-2.0

//! Ctrl-C and SIGTERM: end the phase, clean up, report what there is. A second one ends the process at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::signal::unix::{SignalKind, signal};

/// Whether the user wants an end. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Whether the end is wanted.
    pub fn wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Asks for the end.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Watches for signals, within a runtime.
    pub fn watch(&self) -> std::io::Result<()> {
        let stop = self.clone();
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
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
}
