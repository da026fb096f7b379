// SPDX-License-Identifier: Apache-2.0

//! How far a check is, for whoever waits for it: a line on a terminal, or lines in the log; and a line in the log at the end of each pass.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nyala_fsck::looked::Counts;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Between two lines in the log.
const IN_LOG: Duration = Duration::from_secs(10);
/// How often the line on a terminal is drawn, a second.
const DRAWN_A_SECOND: u8 = 5;
/// The line on a terminal: how long it takes so far, and what was looked at.
const LINE: &str = "{spinner} {elapsed_precise} {msg}";

/// Tells how far a pass is.
pub struct Progress {
    what: &'static str,
    bar: ProgressBar,
    in_log: bool,
    began: Instant,
    told: Instant,
    counts: Counts,
    /// Rows and bytes that were compared with a mirror.
    compared: (u64, u64),
}

impl Progress {
    /// Of a pass.
    pub fn of(what: &'static str) -> Progress {
        let in_log = !std::io::stderr().is_terminal();
        let target = match in_log {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr_with_hz(DRAWN_A_SECOND),
        };
        let bar = ProgressBar::with_draw_target(None, target);
        // What is shown does not depend on a style that the library does not take.
        bar.set_style(ProgressStyle::with_template(LINE).unwrap_or_else(|_| ProgressStyle::default_spinner()));
        let now = Instant::now();
        Progress { what, bar, in_log, began: now, told: now, counts: Counts::default(), compared: (0, 0) }
    }

    /// So much was looked at.
    pub fn tell(&mut self, counts: Counts) {
        self.counts = counts;
        self.show();
    }

    /// So many more rows, and bytes of chunk files, were compared with a mirror.
    pub fn compared(&mut self, rows: u64, bytes: u64) {
        self.compared = (self.compared.0 + rows, self.compared.1 + bytes);
        self.show();
    }

    fn show(&mut self) {
        if !self.in_log {
            self.bar.set_message(self.line());
            self.bar.tick();
        } else if self.told.elapsed() >= IN_LOG {
            self.told = Instant::now();
            tracing::info!(pass = self.what, "so far: {}", self.line());
        }
    }

    fn line(&self) -> String {
        let Counts { names, inodes, chunks } = self.counts;
        match self.compared {
            (0, 0) => format!("{}: {names} names, {inodes} inodes, {chunks} chunk files", self.what),
            (rows, bytes) => format!("{}: {rows} rows of metadata, {bytes} bytes of chunk files compared", self.what),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish();
        let seconds = self.began.elapsed().as_secs_f64();
        tracing::info!(pass = self.what, "{} in {seconds:.1} s", self.line());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_was_looked_at() {
        let mut progress = Progress::of("first look");
        progress.tell(Counts { names: 3, inodes: 4, chunks: 5 });
        assert_eq!(progress.line(), "first look: 3 names, 4 inodes, 5 chunk files");
        let mut mirrors = Progress::of("mirrors");
        mirrors.compared(7, 0);
        mirrors.compared(1, 4096);
        assert_eq!(mirrors.line(), "mirrors: 8 rows of metadata, 4096 bytes of chunk files compared");
        assert!(ProgressStyle::with_template(LINE).is_ok());
    }
}
