// SPDX-License-Identifier: Apache-2.0

//! Threads begin, end and are waited for.

use super::process::Pid;
use super::sched::{self, State, Tid, Wait};
use super::switch::{self, Context};
use super::{real, runs, with};
use libc::{c_int, c_void, pthread_attr_t, pthread_t};
use std::cell::Cell;

type Main = extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, Main, *mut c_void) -> c_int;
type Join = unsafe extern "C" fn(pthread_t, *mut *mut c_void) -> c_int;
type Detach = unsafe extern "C" fn(pthread_t) -> c_int;

unsafe extern "C" {
    fn __cxa_thread_atexit_impl(work: unsafe extern "C" fn(*mut u8), of: *mut u8, module: *mut u8) -> c_int;
    static __dso_handle: u8;
}

struct Begin {
    thread: Tid,
    context: *mut Context,
    main: Main,
    argument: *mut c_void,
}

thread_local! {
    /// The process that the next thread of this one begins in, if it is another.
    static OTHER_PROCESS: Cell<Option<Pid>> = const { Cell::new(None) };
}

/// Begins what `begin` begins in another process.
pub fn in_process<R>(process: Pid, begin: impl FnOnce() -> R) -> R {
    OTHER_PROCESS.set(Some(process));
    let begun = begin();
    OTHER_PROCESS.set(None);
    begun
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    handle: *mut pthread_t,
    attributes: *const pthread_attr_t,
    main: Main,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the function has this type.
    let create = unsafe { std::mem::transmute::<*mut c_void, Create>(real::next(c"pthread_create")) };
    if !runs() {
        // SAFETY: the caller's.
        return unsafe { create(handle, attributes, main, argument) };
    }
    let process = OTHER_PROCESS.get();
    let thread = with(|kernel| {
        let process = process.unwrap_or(kernel.sched.threads[sched::me()].process);
        kernel.sched.add(process)
    });
    let context = sched::context_of(thread);
    let begin = Box::new(Begin { thread, context, main, argument });
    let begin = Box::into_raw(begin).cast();
    // SAFETY: the caller's; the new thread owns what it begins with.
    let failed = unsafe { create(handle, attributes, trampoline, begin) };
    if failed == 0 {
        // SAFETY: the thread's own context.
        unsafe { switch::await_parked(context) };
    }
    with(|kernel| {
        if failed == 0 {
            // SAFETY: the call has filled it.
            kernel.sched.threads[thread].handle = unsafe { *handle };
            kernel.sched.make_ready(thread);
        } else {
            kernel.sched.threads[thread].state = State::Ended;
        }
    });
    sched::enter("thread", &[thread as u64]);
    failed
}

extern "C" fn trampoline(begin: *mut c_void) -> *mut c_void {
    let begin: *mut Begin = begin.cast();
    // SAFETY: made by `pthread_create` for this thread. Nothing is allocated or freed before the turn.
    unsafe { sched::begin_thread((*begin).thread, (*begin).context) };
    // SAFETY: from a box, and nobody else has it. What is registered first runs last, after all of the thread's own.
    let begin = unsafe {
        __cxa_thread_atexit_impl(ended, std::ptr::null_mut(), (&raw const __dso_handle).cast_mut());
        Box::from_raw(begin)
    };
    let (main, argument) = (begin.main, begin.argument);
    drop(begin);
    main(argument)
}

unsafe extern "C" fn ended(_: *mut u8) {
    sched::end_thread();
}

/// The thread that a handle means: handles are used again once they were given back.
fn of_handle(handle: pthread_t) -> Option<Tid> {
    with(|kernel| kernel.sched.threads.iter().rposition(|thread| thread.handle == handle && !thread.claimed))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(handle: pthread_t, result: *mut *mut c_void) -> c_int {
    if runs()
        && let Some(thread) = of_handle(handle)
    {
        sched::enter("join", &[thread as u64]);
        while with(|kernel| kernel.sched.threads[thread].state != State::Ended) {
            sched::wait(Wait::End(thread), None);
        }
        with(|kernel| kernel.sched.threads[thread].claimed = true);
    }
    // SAFETY: the function has this type; the rest is the caller's.
    unsafe { std::mem::transmute::<*mut c_void, Join>(real::next(c"pthread_join"))(handle, result) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_detach(handle: pthread_t) -> c_int {
    if runs()
        && let Some(thread) = of_handle(handle)
    {
        with(|kernel| kernel.sched.threads[thread].claimed = true);
    }
    // SAFETY: the function has this type; the rest is the caller's.
    unsafe { std::mem::transmute::<*mut c_void, Detach>(real::next(c"pthread_detach"))(handle) }
}

#[unsafe(no_mangle)]
extern "C" fn sched_yield() -> c_int {
    if !runs() {
        // SAFETY: takes nothing.
        return unsafe { real::libc_call(libc::SYS_sched_yield, [0; 6]) as c_int };
    }
    sched::enter("yield", &[]);
    sched::give_way();
    0
}
