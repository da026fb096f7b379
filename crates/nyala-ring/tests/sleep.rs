// SPDX-License-Identifier: Apache-2.0

//! Orders of the steps of a sleeper and its callers, all of them with one caller: no call gets lost.

/// What the code under test takes for the standard library's atomics.
mod sync {
    pub(crate) use shuttle::sync::atomic::{AtomicBool, Ordering};
}

#[path = "../src/sleep.rs"]
#[allow(dead_code, reason = "the crate uses all of it")]
mod sleep;

use shuttle::scheduler::DfsScheduler;
use shuttle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::{Config, Runner, thread};
use sleep::Sleep;

/// Orders that are tried at most.
const MOST: usize = 300_000;

/// An eventfd: a counter whose reader waits while it is zero.
#[derive(Default)]
struct Eventfd {
    count: Mutex<u32>,
    readable: Condvar,
}

impl Eventfd {
    fn write(&self) {
        *self.count.lock().unwrap() += 1;
        self.readable.notify_one();
    }

    fn read(&self) {
        let mut count = self.count.lock().unwrap();
        while *count == 0 {
            count = self.readable.wait(count).unwrap();
        }
        *count = 0;
    }
}

/// The loop of `Ring::block_on`, until the work of all callers was seen. With `careless` it sleeps without the second look.
fn sleeper(sleep: &Sleep, fd: &Eventfd, work: &AtomicU32, callers: u32, careless: bool) {
    loop {
        if sleep.take() && work.load(SeqCst) == callers {
            return;
        }
        if sleep.may_sleep() || careless {
            fd.read();
        }
        sleep.awake();
    }
}

fn calls(callers: u32, careless: bool) {
    let shared = Arc::new((Sleep::new(), Eventfd::default(), AtomicU32::new(0)));
    let caller = |shared: Arc<(Sleep, Eventfd, AtomicU32)>| {
        let (sleep, fd, work) = &*shared;
        work.fetch_add(1, SeqCst);
        if sleep.call() {
            fd.write();
        }
    };
    let threads: Vec<_> = (0..callers)
        .map(|_| {
            let shared = shared.clone();
            thread::spawn(move || caller(shared))
        })
        .collect();
    sleeper(&shared.0, &shared.1, &shared.2, callers, careless);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Tries the orders one after the other; returns how many.
fn orders(callers: u32) -> usize {
    Runner::new(DfsScheduler::new(Some(MOST), false), Config::new()).run(move || calls(callers, false))
}

#[test]
fn no_call_is_lost_in_any_order_of_steps() {
    let (one, two) = (orders(1), orders(2));
    println!("{one} orders with one caller, {two} with two, of at most {MOST}: no call lost");
    assert!((100..MOST).contains(&one), "all orders with one caller, and more than a few: {one}");
    assert!(two > one, "{two}");
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_sleeper_that_does_not_look_twice_is_found() {
    shuttle::check_dfs(|| calls(1, true), None);
}
