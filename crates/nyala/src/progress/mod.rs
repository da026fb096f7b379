// SPDX-License-Identifier: Apache-2.0

//! How far a command is, for whoever waits for it: a line on a terminal, drawn again and again; elsewhere lines in the log. Always on
//! standard error, so that standard output has results only. What lasts less than two seconds shows nothing.
//!
//! **Failure model.** What is counted may be an estimate, go back, or not be known: the line then says less ([`Pace`]). A terminal that
//! does not take the line is the library's business: nothing of it fails a command.

mod layout;
mod pace;
mod part;

pub use pace::{Counted, Pace};
pub use part::Part;

use indicatif::{ProgressBar, ProgressDrawTarget};
use layout::{BAR, LINE, fitting, style};
use std::cell::RefCell;
use std::future::Future;
use std::io::IsTerminal;
use std::pin::pin;
use std::time::{Duration, Instant};

/// Nothing is shown before.
const AFTER: Duration = Duration::from_secs(2);
/// Between two lines in the log.
const IN_LOG: Duration = Duration::from_secs(5);
/// Between two looks at how far something is.
const LOOK: Duration = Duration::from_millis(250);
/// How often the line on a terminal is drawn, a second.
const DRAWN_A_SECOND: u8 = 5;

/// Where it is shown.
pub struct Shown {
    bar: ProgressBar,
    in_log: bool,
    began: Instant,
    last_line: Instant,
    has_bar: bool,
}

impl Default for Shown {
    fn default() -> Shown {
        let in_log = !std::io::stderr().is_terminal();
        let target = match in_log {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr_with_hz(DRAWN_A_SECOND),
        };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(style(LINE));
        let now = Instant::now();
        Shown { bar, in_log, began: now, last_line: now, has_bar: false }
    }
}

impl Shown {
    /// Since when.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Shows a line, if it is time for one; and a bar, where the part that is done is known.
    pub fn tell(&mut self, line: impl FnOnce() -> String, part: Option<Part>) {
        if self.in_log {
            if self.last_line.elapsed() >= IN_LOG {
                self.last_line = Instant::now();
                tracing::info!("so far: {}", line());
            }
            return;
        }
        if self.began.elapsed() < AFTER {
            return;
        }
        let (has_bar, message) = match part {
            None => (false, line()),
            Some(Part { done, total, brief }) => {
                self.bar.set_length(total);
                self.bar.set_position(done.min(total));
                fitting(usize::from(console::Term::stderr().size().1), line(), brief)
            }
        };
        if has_bar != self.has_bar {
            self.has_bar = has_bar;
            self.bar.set_style(style(if has_bar { BAR } else { LINE }));
        }
        self.bar.set_message(message);
        self.bar.tick();
    }

    /// Writes something else to the terminal that the line is on; the line goes meanwhile.
    pub fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }
}

impl Drop for Shown {
    /// What comes out is what counts; the line goes.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Does something, and shows meanwhile how far it is. `look` says how much is done, and of how much, as far as it is known.
pub async fn during<T>(
    what: &str,
    unit: Counted,
    look: impl Fn() -> (u64, Option<u64>),
    work: impl Future<Output = T>,
) -> T {
    during_on(&RefCell::new(Shown::default()), what, unit, look, work).await
}

/// The same on a line that the work itself may write beside ([`Shown::aside`]). The work holds no borrow of it while it waits.
pub async fn during_on<T>(
    shown: &RefCell<Shown>,
    what: &str,
    unit: Counted,
    look: impl Fn() -> (u64, Option<u64>),
    work: impl Future<Output = T>,
) -> T {
    let mut pace = Pace::default();
    let (mut work, mut looks) = (pin!(work), tokio::time::interval(LOOK));
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            _ = looks.tick() => {
                let (done, total) = look();
                let mut shown = shown.borrow_mut();
                pace.note(shown.began().elapsed(), done);
                let total = total.filter(|total| *total >= done && *total > 0);
                let part = total.map(|total| Part::of(&pace, (what, unit), done, total));
                shown.tell(|| pace.line(what, unit, total), part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[tokio::test]
    async fn work_is_done_and_looked_at_meanwhile() {
        let looks = Cell::new(0);
        let look = || {
            looks.set(looks.get() + 1);
            (looks.get(), None)
        };
        let work = async {
            // sleeps: work that takes so long
            tokio::time::sleep(LOOK * 4).await;
            7
        };
        assert_eq!(during("test", Counted::Things("looks"), look, work).await, 7);
        assert!((1..=5).contains(&looks.get()), "{} looks", looks.get());
    }
}
