// SPDX-License-Identifier: Apache-2.0

//! Whose turn it is, and what time.
//!
//! A thread has the turn until it waits. Then the next one is drawn from those that can run; if there is none, the clock moves to the next
//! timer. A system call takes a moment, and now and then another thread gets the turn at it.

use super::process::{Pid, WORLD};
use super::switch::{self, Context};
use super::timers::{Timer, Timers};
use super::{Kernel, real, with};
use crate::memory;
use crate::random::Random;
use std::cell::Cell;

/// Nanoseconds since the simulation began.
pub type Nanos = u64;
/// A thread.
pub type Tid = usize;

/// What a system call takes.
const CALL: Nanos = 400;
/// A thread that has made so many calls without waiting may lose its turn at each of them, once in so many times.
const TURN_LOST: u64 = 24;
/// A thread that asks for the time so often without doing anything else waits for it to pass.
const READS_OF_CLOCK: u32 = 100;

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    Futex(usize),
    Epoll(usize),
    End(Tid),
    Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Has the turn or waits for it.
    Ready,
    Waits(Wait),
    Ended,
    /// Its process was killed: it never runs again.
    Killed,
}

pub struct Thread {
    pub process: Pid,
    pub state: State,
    /// Where it is while another one has the turn.
    context: Box<Context>,
    /// Tells timers of an earlier wait from one of this.
    waits: u64,
    timed_out: bool,
    reads_of_clock: u32,
    pub handle: libc::pthread_t,
    pub claimed: bool,
}

pub struct Scheduler {
    pub now: Nanos,
    pub threads: Vec<Thread>,
    ready: Vec<Tid>,
    timers: Timers,
    /// No process stands still any more from then on.
    pub all_go_on: Nanos,
    random: Random,
    /// Real threads that have ended and may not be gone yet.
    ending: Vec<i32>,
    pub turns: u64,
}

thread_local! {
    static ME: Cell<Tid> = const { Cell::new(0) };
}

/// The thread that asks.
pub fn me() -> Tid {
    ME.get()
}

impl Scheduler {
    pub fn new(random: Random) -> Scheduler {
        let mut scheduler = Scheduler {
            now: 0,
            threads: Vec::new(),
            ready: Vec::new(),
            timers: Timers::default(),
            all_go_on: 0,
            random,
            ending: Vec::new(),
            turns: 0,
        };
        let world = scheduler.add(WORLD);
        *scheduler.threads[world].context = Context::of_this_thread();
        switch::choose();
        scheduler
    }

    /// A thread that cannot run yet.
    pub fn add(&mut self, process: Pid) -> Tid {
        self.threads.push(Thread {
            process,
            state: State::Ready,
            context: Box::default(),
            waits: 0,
            timed_out: false,
            reads_of_clock: 0,
            handle: 0,
            claimed: false,
        });
        self.threads.len() - 1
    }

    pub fn set_timer(&mut self, at: Nanos, timer: Timer) {
        self.timers.set(at, timer);
    }

    /// Threads of some processes wait until other times than they did.
    pub fn move_wakes(&mut self, of: impl Fn(Pid) -> bool, to: impl Fn(Nanos) -> Nanos) {
        let threads = &self.threads;
        self.timers.move_some(|timer| matches!(timer, Timer::Wake(thread, _) if of(threads[*thread].process)), to);
    }

    /// The thread can run, unless it is dead.
    pub fn make_ready(&mut self, thread: Tid) {
        let it = &mut self.threads[thread];
        if !matches!(it.state, State::Ended | State::Killed) {
            it.state = State::Ready;
            self.ready.push(thread);
        }
    }

    /// The thread never runs again.
    pub fn kill(&mut self, thread: Tid) {
        self.threads[thread].state = State::Killed;
        self.ready.retain(|ready| *ready != thread);
    }

    fn draw(&mut self, stands: impl Fn(Pid) -> bool) -> Option<Tid> {
        let can = |threads: &[Thread], tid: &Tid| !stands(threads[*tid].process);
        let count = self.ready.iter().filter(|tid| can(&self.threads, tid)).count();
        if count == 0 {
            return None;
        }
        let chosen = self.random.index(count);
        let at = self.ready.iter().enumerate().filter(|(_, tid)| can(&self.threads, tid)).nth(chosen)?.0;
        Some(self.ready.swap_remove(at))
    }
}

impl Kernel {
    fn fire_due(&mut self) {
        while let Some(timer) = self.sched.timers.take_due(self.sched.now) {
            match timer {
                Timer::Wake(thread, waits) => {
                    let it = &mut self.sched.threads[thread];
                    if it.waits == waits && matches!(it.state, State::Waits(_)) {
                        it.timed_out = true;
                        self.wake(thread);
                    }
                }
                Timer::Arrival(segment) => self.arrives(segment),
            }
        }
    }

    /// Ends a thread's wait.
    pub fn wake(&mut self, thread: Tid) {
        if let State::Waits(wait) = self.sched.threads[thread].state {
            match wait {
                Wait::Futex(_) => self.futexes.retain(|(_, waiter)| *waiter != thread),
                Wait::Epoll(epoll) => self.epolls[epoll].waiters.retain(|waiter| *waiter != thread),
                Wait::End(_) | Wait::Time => {}
            }
            self.sched.make_ready(thread);
        }
    }

    /// Who runs next; the clock moves if it has to.
    fn next(&mut self) -> Tid {
        loop {
            self.fire_due();
            let now = self.sched.now;
            let processes = &self.processes;
            if let Some(next) = self.sched.draw(|process| processes[process].stands_until > now) {
                self.sched.turns += 1;
                self.trace.event("turn", &[next as u64, now]);
                return next;
            }
            let standing = self.first_to_go_on();
            let timer = self.sched.timers.first();
            let Some(at) = standing.into_iter().chain(timer).min() else {
                self.trace.finish();
                eprintln!("nobody can run any more:\n{}", self.threads_as_text());
                real::end(3);
            };
            self.sched.now = now.max(at);
        }
    }

    /// When the first of those goes on that stand still, if any does.
    fn first_to_go_on(&self) -> Option<Nanos> {
        let now = self.sched.now;
        if self.sched.all_go_on <= now {
            return None;
        }
        self.processes.iter().map(|process| process.stands_until).filter(|until| *until > now).min()
    }

    /// What every thread does, for people.
    pub fn threads_as_text(&self) -> String {
        let alive = self.sched.threads.iter().enumerate().filter(|(_, thread)| thread.state != State::Ended);
        let line = |(tid, thread): (Tid, &Thread)| {
            format!("  {tid} of {}: {:?}\n", self.processes[thread.process].name, thread.state)
        };
        alive.map(line).collect()
    }
}

/// The thread has the turn now.
fn has_turn(thread: Tid) {
    let (process, ending) =
        with(|kernel| (kernel.sched.threads[thread].process, std::mem::take(&mut kernel.sched.ending)));
    memory::belongs_to(process);
    ending.into_iter().for_each(real::await_end);
}

/// Gives the turn to whom it belongs, and comes back with it.
fn hand_over() {
    let me = me();
    let next = with(Kernel::next);
    if next != me {
        let [from, to] = [me, next].map(context_of);
        // SAFETY: contexts are never freed while the simulation runs.
        unsafe { switch::hand_over(from, to) };
        has_turn(me);
    }
}

/// Where a thread is while it does not run.
pub fn context_of(thread: Tid) -> *mut Context {
    with(|kernel| &raw mut *kernel.sched.threads[thread].context)
}

/// The first thing that a new thread does: waits for its first turn.
///
/// # Safety
/// The context is the thread's own.
pub unsafe fn begin_thread(thread: Tid, own: *mut Context) {
    ME.set(thread);
    // SAFETY: the caller's; contexts are never freed while the simulation runs.
    unsafe { switch::begin(own) };
    has_turn(thread);
}

/// The last thing that a thread does.
pub fn end_thread() {
    let me = me();
    let next = with(|kernel| {
        kernel.sched.threads[me].state = State::Ended;
        let number = kernel.sched.threads[me].context.number();
        kernel.sched.ending.push(number);
        let waits_for_it = |(tid, thread): (Tid, &Thread)| (thread.state == State::Waits(Wait::End(me))).then_some(tid);
        let waiters: Vec<Tid> = kernel.sched.threads.iter().enumerate().filter_map(waits_for_it).collect();
        waiters.into_iter().for_each(|waiter| kernel.wake(waiter));
        kernel.next()
    });
    let [from, to] = [me, next].map(context_of);
    // SAFETY: as in `hand_over`. What comes after it touches nothing of the simulation.
    unsafe { switch::leave(from, to) };
}

/// Waits, until something calls [`Kernel::wake`] or the time comes; whether the time came.
pub fn wait(wait: Wait, deadline: Option<Nanos>) -> bool {
    let me = me();
    with(|kernel| {
        let it = &mut kernel.sched.threads[me];
        it.waits += 1;
        it.timed_out = false;
        it.reads_of_clock = 0;
        it.state = State::Waits(wait);
        let waits = it.waits;
        match wait {
            Wait::Futex(address) => kernel.futexes.push((address, me)),
            Wait::Epoll(epoll) => kernel.epolls[epoll].waiters.push(me),
            Wait::End(_) | Wait::Time => {}
        }
        if let Some(at) = deadline {
            kernel.sched.set_timer(at, Timer::Wake(me, waits));
        }
    });
    hand_over();
    with(|kernel| kernel.sched.threads[me].timed_out)
}

/// Lets others run first.
pub fn give_way() {
    let me = me();
    with(|kernel| kernel.sched.ready.push(me));
    hand_over();
}

/// A system call begins: it takes a moment, and another thread may get the turn.
pub fn enter(what: &'static str, numbers: &[u64]) {
    let lost = with(|kernel| {
        let me = me();
        kernel.sched.now += CALL;
        kernel.sched.threads[me].reads_of_clock = 0;
        kernel.trace.event(what, numbers);
        kernel.fire_due();
        kernel.sched.random.one_in(TURN_LOST)
    });
    if lost {
        give_way();
    }
}

/// The time, for a thread that asks. It does not move by that, unless the thread does nothing else.
pub fn read_clock() -> Nanos {
    let spins = with(|kernel| {
        let it = &mut kernel.sched.threads[me()];
        it.reads_of_clock += 1;
        it.reads_of_clock > READS_OF_CLOCK
    });
    if spins {
        with(|kernel| kernel.sched.now += CALL);
        give_way();
    }
    with(|kernel| kernel.sched.now)
}

/// Gives the turn away for ever: this thread has been killed.
pub fn never_again() -> ! {
    hand_over();
    unreachable!() // why: a thread that was killed is never drawn
}
