// SPDX-License-Identifier: Apache-2.0

//! How far a check is, for whoever waits for it: a line on a terminal, or lines in the log.

use nyala_fsck::looked::Counts;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

const ON_TERMINAL: Duration = Duration::from_millis(500);
const IN_LOG: Duration = Duration::from_secs(10);

/// Tells how far a pass is.
pub struct Progress {
    what: &'static str,
    terminal: bool,
    told: Instant,
    shown: bool,
}

impl Progress {
    /// Of a pass.
    pub fn of(what: &'static str) -> Progress {
        Progress { what, terminal: std::io::stderr().is_terminal(), told: Instant::now(), shown: false }
    }

    /// So much was looked at.
    pub fn tell(&mut self, counts: Counts) {
        if self.told.elapsed() < if self.terminal { ON_TERMINAL } else { IN_LOG } {
            return;
        }
        self.told = Instant::now();
        let Counts { names, inodes, chunks } = counts;
        if self.terminal {
            self.shown = true;
            // Nobody needs it who does not see it.
            let _ = write!(std::io::stderr(), "\r{}: {names} names, {inodes} inodes, {chunks} chunk files", self.what);
        } else {
            tracing::info!(pass = self.what, names, inodes, chunks, "looked at so far");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = writeln!(std::io::stderr());
        }
    }
}
