// SPDX-License-Identifier: Apache-2.0

//! What each simulated process has allocated and not given back. The addresses are the system allocator's: a run is the same with and without
//! counting.
//!
//! Memory belongs to the process that has the turn. That of the simulated kernel (what is on its way between two sockets) and of the disks belongs to
//! the world, as does what a process has left that was killed with it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

/// A process, by the number that the simulated kernel gives it.
type Pid = usize;
/// The world's.
const WORLD: Pid = 0;
/// Processes that are counted, by their numbers; later ones are not.
const MOST: usize = 1024;

#[global_allocator]
static COUNTED: Counted = Counted;
static OWNER: AtomicUsize = AtomicUsize::new(WORLD);
static LIVE: [AtomicI64; MOST] = [const { AtomicI64::new(0) }; MOST];

struct Counted;

/// Only who has the turn is here: nothing comes between the reading and the writing, and a locked addition would cost ten times as much.
fn note(bytes: i64) {
    if let Some(live) = LIVE.get(OWNER.load(Ordering::Relaxed)) {
        live.store(live.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
    }
}

// SAFETY: the system allocator does all of it; beside it only numbers change, without any allocation.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as i64);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        note(-(layout.size() as i64));
        // SAFETY: the caller's.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as i64);
        // SAFETY: the caller's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size as i64 - layout.size() as i64);
        // SAFETY: the caller's.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// A thread of this process has the turn.
pub fn belongs_to(process: Pid) {
    OWNER.store(process, Ordering::Relaxed);
}

/// What is allocated and freed in `work`, which does not wait, is the world's.
pub fn as_world<R>(work: impl FnOnce() -> R) -> R {
    let owner = OWNER.load(Ordering::Relaxed);
    OWNER.store(WORLD, Ordering::Relaxed);
    let done = work();
    OWNER.store(owner, Ordering::Relaxed);
    done
}

/// What a process has allocated and not freed, bytes; `None`: it is not counted.
pub fn live(process: Pid) -> Option<i64> {
    LIVE.get(process).map(|live| live.load(Ordering::Relaxed))
}
