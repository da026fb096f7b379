// SPDX-License-Identifier: Apache-2.0

//! Whether a thread sleeps, and whether somebody called it: the part of [`crate::RingWaker`] that has no lock.
//!
//! **Failure model.** A call must not get lost between "nothing to do" and the sleep. The sleeper says that it is about to
//! sleep and then looks once more; the caller leaves its call and then looks whether somebody sleeps. Both orders are
//! sequentially consistent, so at least one sees the other. Too many wake-ups cost time only. `tests/sleep.rs` tries every
//! order of the steps of three threads.

use crate::sync::{AtomicBool, Ordering::SeqCst};

/// One sleeper's state. Many may call; one thread sleeps.
#[derive(Debug)]
pub(crate) struct Sleep {
    /// Somebody called since the thread last looked.
    called: AtomicBool,
    /// The thread sleeps or is about to.
    asleep: AtomicBool,
}

impl Sleep {
    /// A thread that is awake and was not called.
    pub(crate) fn new() -> Sleep {
        Sleep { called: AtomicBool::new(false), asleep: AtomicBool::new(false) }
    }

    /// Calls the thread. Returns whether it sleeps, so that the caller has to end that sleep.
    pub(crate) fn call(&self) -> bool {
        self.called.store(true, SeqCst);
        self.asleep.load(SeqCst)
    }

    /// Whether somebody called since the last time.
    pub(crate) fn take(&self) -> bool {
        // Mostly nobody did, and looking is cheaper than writing.
        self.called.load(SeqCst) && self.called.swap(false, SeqCst)
    }

    /// Says that the thread is about to sleep. False: somebody called, so it must not.
    pub(crate) fn may_sleep(&self) -> bool {
        self.asleep.store(true, SeqCst);
        if self.called.load(SeqCst) {
            self.asleep.store(false, SeqCst);
            return false;
        }
        true
    }

    /// The thread is up.
    pub(crate) fn awake(&self) {
        self.asleep.store(false, SeqCst);
    }
}
