// SPDX-License-Identifier: Apache-2.0

//! Which tests may run at the same time. libtest runs as many as `--test-threads` says; each test says here whether it may run beside
//! others or wants the machine for itself.
//!
//! Alone are tests that measure times, rates or processor time more finely than a busy machine keeps them, that fill or slow the machine,
//! that change something of all of it (`drop_caches`, control groups, mount namespaces with copies of everybody's mounts), or that find out
//! at once whether the last descriptor of a file is closed: a program that another test starts has all files of this process open until it runs.

use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Who is on the machine. A test that panicked has left it, like any other.
struct Machine {
    /// Held while waiting for the machine: those that come later wait behind a test that wants it for itself.
    turn: Mutex<()>,
    tests: RwLock<()>,
}

static MACHINE: Machine = Machine::new();

impl Machine {
    const fn new() -> Machine {
        Machine { turn: Mutex::new(()), tests: RwLock::new(()) }
    }

    fn share(&self) -> RwLockReadGuard<'_, ()> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.tests.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> RwLockWriteGuard<'_, ()> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.tests.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until no test runs or waits that wants the machine for itself. Held by a test while it runs.
pub fn beside_others() -> RwLockReadGuard<'static, ()> {
    MACHINE.share()
}

/// Waits until no other test runs; none begins before the value is dropped. Held by a test while it runs.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.take()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    const NOT_YET: Duration = Duration::from_millis(100);
    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn who_comes_after_one_that_waits_for_all_of_it_waits_too() {
        let machine = &Machine::new();
        let first = machine.share();
        drop(machine.share());
        let (tell, told) = mpsc::channel();
        std::thread::scope(|scope| {
            let taker = tell.clone();
            scope.spawn(move || {
                let taken = machine.take();
                taker.send("alone").unwrap();
                drop(taken);
            });
            // It waits: nobody has a turn meanwhile.
            while machine.turn.try_lock().is_ok() {
                std::thread::yield_now();
            }
            scope.spawn(move || {
                let _shared = machine.share();
                tell.send("beside").unwrap();
            });
            assert!(told.recv_timeout(NOT_YET).is_err(), "the first one is there still");
            drop(first);
            assert_eq!([told.recv_timeout(SOON), told.recv_timeout(SOON)], [Ok("alone"), Ok("beside")]);
        });
    }

    #[test]
    fn one_that_panicked_has_left() {
        let machine = &Machine::new();
        let panicked = std::thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _taken = machine.take();
                panic!("as a test that fails does");
            });
            panics.join().is_err()
        });
        assert!(panicked);
        drop(machine.share());
        drop(machine.take());
    }
}
