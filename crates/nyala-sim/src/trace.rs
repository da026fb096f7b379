// SPDX-License-Identifier: Apache-2.0

//! The last things that went on, for a seed that fails.

use std::collections::VecDeque;

/// Lines that are kept; `NYALA_SIM_LINES` has another number.
const LINES: usize = 60;

/// A short memory.
pub struct Trace {
    keep: usize,
    wrong: Option<String>,
    lines: VecDeque<String>,
}

impl Trace {
    /// One that keeps lines, or one that costs nothing.
    pub fn new(on: bool) -> Trace {
        let wished = std::env::var("NYALA_SIM_LINES").ok().and_then(|text| text.parse().ok());
        Trace { keep: if on { wished.unwrap_or(LINES) } else { 0 }, wrong: None, lines: VecDeque::new() }
    }

    /// Something went on.
    pub fn line(&mut self, now_us: u64, text: impl FnOnce() -> String) {
        if self.keep > 0 {
            if self.lines.len() == self.keep {
                self.lines.pop_front();
            }
            self.lines.push_back(format!("{:>9.3} ms  {}", now_us as f64 / 1000.0, text()));
        }
    }

    /// Something was judged; the first fault counts.
    pub fn judge(&mut self, verdict: Result<(), String>) {
        if let Err(what) = verdict {
            self.wrong.get_or_insert(what);
        }
    }

    /// The first fault.
    pub fn verdict(&self) -> Result<(), String> {
        self.wrong.clone().map_or(Ok(()), Err)
    }

    /// What it remembers.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}
