// SPDX-License-Identifier: Apache-2.0

//! Splits directories that have outgrown a server, and makes them whole again, step by step while they are in use.
//!
//! The server of a directory does it. It is told which directory to look at by whoever finds one that has grown or shrunk; it counts
//! the fragments' entries, asks [`crate::splitting`] what is to be done next, does that as a transaction, and looks again.
//!
//! **Failure model.** A hint may be lost or come twice: the next one comes with the next entries. Counts and entries are those of a moment
//! ago: a transaction checks, under locks, that fragments and entries are still what it was made for, and comes to nothing otherwise.
//! A server that dies between steps leaves a directory that is right as it is; it goes on with the next hint. Other servers may be away,
//! full, or have given a slot to yet another one: then the directory has its turn again later.

mod counting;
mod merge;
mod own_transaction;
mod servers;
mod step;
mod window;

pub use merge::MergeDir;

use super::state::{Progress, State, Task};
use super::waits::{Event, Wait};
use step::{Step, Turn};

/// Between two steps others have their turn for so long, milliseconds.
const PAUSE_MS: u64 = 5;
/// The same after one that came to nothing.
const AGAIN_MS: u64 = 100;

/// Does what is to be done, one step of one directory after another. Never ends.
#[derive(Default)]
pub struct Resplits {
    at: Option<Step>,
    until_ms: u64,
}

impl Task for Resplits {
    fn step(&mut self, state: &mut State) -> Progress {
        loop {
            let Some(step) = &mut self.at else {
                if state.now.ms < self.until_ms {
                    return Progress::Wait(Wait::until(self.until_ms));
                }
                let Some(dir) = state.considered.next() else {
                    return Progress::Wait(Wait::on(Event::Considered));
                };
                self.at = Step::begin(state, dir);
                continue;
            };
            let (dir, turn) = (step.dir, step.advance(state));
            let pause_ms = match turn {
                Turn::Wait(wait) => return Progress::Wait(wait),
                Turn::Settled => 0,
                Turn::Done => {
                    state.considered.add(dir);
                    PAUSE_MS
                }
                Turn::Again => {
                    state.considered.add(dir);
                    state.count("resplit.again");
                    AGAIN_MS
                }
            };
            self.at = None;
            self.until_ms = state.now.ms + pause_ms;
        }
    }
}
