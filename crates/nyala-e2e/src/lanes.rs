// SPDX-License-Identifier: Apache-2.0

//! Which tests run at the same time. Each says whether it may run beside others or wants the machine for itself.
//!
//! Alone are tests that measure times, rates or processor time more finely than a busy machine keeps them, that fill or slow the machine,
//! that change something of all of it (`drop_caches`, control groups, mount namespaces with copies of everybody's mounts), or that hang
//! on what a close does: a program that another test starts has all files of this process open until it runs, and closes them then. Meanwhile
//! the last descriptor of a file is not closed yet, and what that close is told of, an fsync of the test may not be told of.
//!
//! [`LANES`] run beside each other. Before one can run alone, the others have to end, and a lane stands idle meanwhile; so those that want
//! the machine for themselves wait until they are [`BATCH`], or nobody else waits, and then run one after another. libtest (`--test-threads`)
//! begins more tests than there are lanes, so that there are some to choose from.
//!
//! With `NYALA_E2E_TIMES=FILE` each test adds a line to that file: how many seconds it ran, whether alone, and its name.

use std::io::Write as _;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Tests that run beside each other: one for each processor of the smallest machine that tests run on.
const LANES: usize = 2;
/// So many tests wait to run alone before it is their turn.
const BATCH: usize = 5;

#[derive(Debug, Default)]
struct State {
    beside: usize,
    alone: bool,
    waiting_beside: usize,
    waiting_alone: usize,
    /// Those that want to run alone have their turn: nobody else begins.
    alone_next: bool,
}

impl State {
    /// Whose turn it is, after anything has changed.
    fn settle(&mut self) {
        let idle = self.waiting_beside == 0;
        self.alone_next = self.waiting_alone > 0 && (self.alone_next || idle || self.waiting_alone >= BATCH);
    }

    fn may_run(&self, alone: bool) -> bool {
        match alone {
            true => !self.alone && self.alone_next && self.beside == 0,
            false => !self.alone && !self.alone_next && self.beside < LANES,
        }
    }

    fn waiting(&mut self, alone: bool) -> &mut usize {
        if alone { &mut self.waiting_alone } else { &mut self.waiting_beside }
    }

    fn begin(&mut self, alone: bool) {
        *self.waiting(alone) -= 1;
        match alone {
            true => self.alone = true,
            false => self.beside += 1,
        }
        self.settle();
    }

    fn end(&mut self, alone: bool) {
        match alone {
            true => self.alone = false,
            false => self.beside -= 1,
        }
        self.settle();
    }
}

/// Who is on the machine.
struct Machine {
    state: Mutex<State>,
    changed: Condvar,
}

static MACHINE: Machine = Machine::new();

impl Machine {
    const fn new() -> Machine {
        let state = State { beside: 0, alone: false, waiting_beside: 0, waiting_alone: 0, alone_next: false };
        Machine { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn change(&self, how: impl FnOnce(&mut State)) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        how(&mut state);
        state.settle();
        self.changed.notify_all();
        state
    }

    /// Waits until it may run, and begins.
    fn run(&self, alone: bool) -> Running<'_> {
        let state = self.change(|state| *state.waiting(alone) += 1);
        let state = self.changed.wait_while(state, |state| !state.may_run(alone));
        state.unwrap_or_else(PoisonError::into_inner).begin(alone);
        self.changed.notify_all();
        Running { machine: self, alone, began: Instant::now() }
    }
}

/// Adds a test's line to the file of `NYALA_E2E_TIMES`.
fn note(seconds: f64, alone: bool) {
    let Some(path) = std::env::var_os("NYALA_E2E_TIMES") else { return };
    let thread = std::thread::current();
    let line = format!("{seconds:.1} {} {}\n", if alone { "alone" } else { "beside" }, thread.name().unwrap_or("?"));
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
        eprintln!("NYALA_E2E_TIMES: {error}");
    }
}

/// Held by a test while it runs.
#[must_use]
pub struct Running<'a> {
    machine: &'a Machine,
    alone: bool,
    began: Instant,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        note(self.began.elapsed().as_secs_f64(), self.alone);
        drop(self.machine.change(|state| state.end(self.alone)));
    }
}

/// Waits until a lane is free, and nobody has a turn to run alone.
pub fn beside_others() -> Running<'static> {
    MACHINE.run(false)
}

/// Waits until it is the turn of those that run alone, and no other test runs. None begins before the value is dropped.
pub fn alone() -> Running<'static> {
    MACHINE.run(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(beside: usize, alone: usize) -> State {
        let mut state = State { waiting_beside: beside, waiting_alone: alone, ..State::default() };
        state.settle();
        state
    }

    #[test]
    fn as_many_as_there_are_lanes_run_beside_each_other() {
        let mut state = waiting(LANES + 1, 1);
        for _ in 0..LANES {
            assert!(state.may_run(false) && !state.may_run(true));
            state.begin(false);
        }
        assert!(!state.may_run(false));
        state.end(false);
        assert!(state.may_run(false));
    }

    #[test]
    fn enough_that_want_to_run_alone_do_one_after_another() {
        let mut state = waiting(3, BATCH - 1);
        state.begin(false);
        *state.waiting(true) += 1;
        state.settle();
        assert!(!state.may_run(false), "who comes later waits");
        assert!(!state.may_run(true), "who runs goes on");
        state.end(false);
        for _ in 0..BATCH {
            assert!(state.may_run(true) && !state.may_run(false));
            state.begin(true);
            assert!(!state.may_run(true) && !state.may_run(false));
            state.end(true);
        }
        assert!(state.may_run(false));
    }

    #[test]
    fn one_runs_alone_when_nobody_else_waits() {
        let mut state = waiting(1, 1);
        assert!(!state.may_run(true));
        state.begin(false);
        assert!(!state.may_run(true), "the last one runs still");
        state.end(false);
        assert!(state.may_run(true));
    }

    #[test]
    fn all_run_and_none_beside_one_that_runs_alone() {
        let (machine, on_it) = (&Machine::new(), &Mutex::new((0, 0)));
        std::thread::scope(|scope| {
            for number in 0..40 {
                scope.spawn(move || {
                    let alone = number % 3 == 0;
                    let running = machine.run(alone);
                    let now = |add: (i32, i32)| {
                        let mut on_it = on_it.lock().unwrap();
                        *on_it = (on_it.0 + add.0, on_it.1 + add.1);
                        let (beside, alone) = *on_it;
                        assert!(alone == 0 && beside <= LANES as i32 || (beside, alone) == (0, 1), "{on_it:?}");
                    };
                    let one = if alone { (0, 1) } else { (1, 0) };
                    now(one);
                    std::thread::yield_now();
                    now((-one.0, -one.1));
                    drop(running);
                });
            }
        });
        let state = machine.state.lock().unwrap();
        assert_eq!((state.beside, state.alone, state.waiting_beside, state.waiting_alone), (0, false, 0, 0));
    }

    #[test]
    fn one_that_panicked_has_left() {
        let machine = &Machine::new();
        let panicked = std::thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _running = machine.run(true);
                panic!("as a test that fails does");
            });
            panics.join().is_err()
        });
        assert!(panicked);
        drop(machine.run(false));
        drop(machine.run(true));
    }
}
