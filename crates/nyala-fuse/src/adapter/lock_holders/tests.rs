// SPDX-License-Identifier: Apache-2.0

//! The rule without a kernel: processes and times that are moved by hand.

use super::rule::{LIMIT, LOOK, MAX_PROCESSES, QUIET};
use super::*;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::time::Duration;

const FILE: Ino = Ino(5);
const FLOCK: Holding = Holding { fh: Fh(10), owner: 77, flock: true };
const RANGE: Holding = Holding { fh: Fh(11), owner: 78, flock: false };

/// A machine whose processes have threads of the same number and the ten after it.
#[derive(Default)]
struct Machine {
    gone: RefCell<HashSet<u32>>,
    queued: Cell<bool>,
}

impl Around for Machine {
    fn is_alive(&self, process: &Process) -> bool {
        process.pid != 0 && !self.gone.borrow().contains(&process.pid)
    }

    fn is_of(&self, thread: u32, process: &Process) -> bool {
        (process.pid..process.pid + 10).contains(&thread)
    }

    fn has_requests(&self) -> bool {
        self.queued.get()
    }
}

fn process(pid: u32) -> Process {
    Process { pid, seen: Duration::ZERO }
}

/// The verdict on a lock after a question has waited for so long, the kernel's queue having been empty or not.
fn verdict(holders: &LockHolders, holding: Holding, waited: Duration, idle: bool, machine: &Machine) -> Verdict {
    let began = Instant::now() + Duration::from_secs(1);
    let Holding { owner, flock, .. } = holding;
    holders.verdict(FILE, &Question { owner, flock, began, now: began + waited, idle }, machine)
}

fn is_settled(holders: &LockHolders, holding: Holding, machine: &Machine) -> bool {
    verdict(holders, holding, Duration::ZERO, true, machine) == Verdict::Settled
}

#[test]
fn a_lock_of_a_live_process_that_did_not_close_stands_at_once() {
    let (holders, machine) = (LockHolders::default(), Machine::default());
    assert!(is_settled(&holders, FLOCK, &machine), "nothing is locked");
    holders.note_lock(FILE, FLOCK, process(100));
    assert!(is_settled(&holders, FLOCK, &machine));
    // Another one's close, and one of another open file, are none of its.
    drop(holders.begin_close(FILE, FLOCK.fh, 1, 200, &machine));
    drop(holders.begin_close(FILE, Fh(99), 1, 100, &machine));
    assert!(is_settled(&holders, FLOCK, &machine));
    drop(holders.begin_close(FILE, FLOCK.fh, 1, 103, &machine));
    assert!(!is_settled(&holders, FLOCK, &machine), "a thread of it has closed the file");
    holders.note_lock(FILE, FLOCK, process(100));
    assert!(is_settled(&holders, FLOCK, &machine), "it locked again, through a duplicate");
    machine.gone.borrow_mut().insert(100);
    assert!(!is_settled(&holders, FLOCK, &machine));
    holders.note_lock(FILE, FLOCK, process(300));
    assert!(is_settled(&holders, FLOCK, &machine), "a child that inherited it took it too");
}

#[test]
fn a_doubtful_lock_is_settled_when_it_was_quiet_and_the_queue_was_empty() {
    let (holders, machine) = (LockHolders::default(), Machine::default());
    holders.note_lock(FILE, FLOCK, process(0));
    let after = |waited, idle| verdict(&holders, FLOCK, waited, idle, &machine);
    assert_eq!(after(Duration::ZERO, true), Verdict::Unsure(QUIET));
    assert_eq!(after(QUIET / 4, true), Verdict::Unsure(QUIET - QUIET / 4));
    assert_eq!(after(QUIET, true), Verdict::Settled);
    assert_eq!(after(QUIET, false), Verdict::Unsure(LOOK), "the kernel had something queued all the time");
    assert_eq!(after(LIMIT, false), Verdict::Settled, "it is bounded");
    let ending = holders.begin_close(FILE, FLOCK.fh, 1, 0, &machine);
    assert_eq!(after(QUIET, true), Verdict::Unsure(LIMIT - QUIET), "a close is under way");
    assert_eq!(after(LIMIT, true), Verdict::Settled);
    drop(ending);
    assert_eq!(after(QUIET, true), Verdict::Settled, "that close was not the last one");
}

#[test]
fn an_end_under_way_is_waited_for_and_forgets() {
    let (holders, machine) = (LockHolders::default(), Machine::default());
    holders.note_lock(FILE, FLOCK, process(100));
    holders.note_lock(FILE, RANGE, process(100));
    let ending = holders.released(FILE, FLOCK.fh);
    assert!(!is_settled(&holders, FLOCK, &machine), "the server does not know yet");
    assert!(is_settled(&holders, RANGE, &machine), "another open file");
    drop(ending);
    assert!(is_settled(&holders, FLOCK, &machine));
    // The locks of a process end with its flush.
    let ending = holders.begin_close(FILE, Fh(99), RANGE.owner, 100, &machine);
    assert!(!is_settled(&holders, RANGE, &machine));
    drop(ending);
    assert!(holders.by_inode.lock().is_empty() && holders.count.load(Ordering::Relaxed) == 0);
    assert!(holders.begin_close(FILE, Fh(1), 1, 1, &machine).is_none() && holders.released(FILE, Fh(1)).is_none());
    holders.note_lock(FILE, FLOCK, process(100));
    holders.gave_up(FILE, FLOCK);
    assert!(holders.by_inode.lock().is_empty());
}

#[test]
fn known_processes_are_bounded() {
    let (holders, machine) = (LockHolders::default(), Machine::default());
    for pid in 0..100 {
        holders.note_lock(FILE, FLOCK, process(pid * 10));
    }
    assert_eq!(holders.by_inode.lock()[&FILE.0].holders[0].processes.len(), MAX_PROCESSES);
    assert!(is_settled(&holders, FLOCK, &machine));
}

#[test]
fn whoever_asks_goes_on_when_the_release_has_ended() {
    let (holders, machine) = (LockHolders::default(), Machine::default());
    machine.queued.set(true);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        holders.note_lock(FILE, FLOCK, process(100));
        machine.gone.borrow_mut().insert(100);
        let released = Cell::new(false);
        let release = async {
            // sleeps: in the middle of the time that is under test
            tokio::time::sleep(QUIET / 2).await;
            let ending = holders.released(FILE, FLOCK.fh);
            // sleeps: longer than the time that is under test
            tokio::time::sleep(QUIET * 2).await;
            released.set(true);
            drop(ending);
        };
        let settle = async {
            holders.settle(FILE, FLOCK.owner, FLOCK.flock, &machine).await;
            assert!(released.get());
        };
        tokio::join!(release, settle);
    });
}
