// SPDX-License-Identifier: Apache-2.0

//! How the turn goes from one thread to another.
//!
//! Each thread is one of the real kernel, with its stack and its thread-local memory. Handing the turn over through the kernel costs two system calls and a
//! change of threads, which was a quarter of a run. So one real thread, the process's first, runs all of them: it puts down the registers of the one, and
//! takes up those of the other with its stack and its thread-local memory (the register `fs`). The real thread of each sleeps from its first moment on, without
//! touching its stack, and goes on where its simulated one is at its end, to end as the C library wants it.
//!
//! Where the processor does not let a program set `fs`, and for tools that follow each thread by itself (callgrind: `SIM_REAL_THREADS=1`), the turn goes through the kernel.

use super::real;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

/// The processor has `wrfsbase`, and the kernel allows it: in the auxiliary vector's second word of capabilities.
const FSGSBASE: libc::c_ulong = 2;

/// Where a thread is while it does not run. The assembly below knows the places of the first four.
#[repr(C)]
#[derive(Default)]
pub struct Context {
    stack: usize,
    fs: usize,
    /// 1: the thread has the turn (through the kernel), or its real thread is to end it.
    word: AtomicU32,
    /// 1: its real thread sleeps, and will not touch its stack.
    parked: AtomicU32,
    number: AtomicI32,
}

// `park` runs on a thread's own real thread, and comes back on the first one; `leave` is called there and comes back on its own.
std::arch::global_asm!(
    ".macro nyala_sim_put_down",
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "mov [rdi], rsp",
    ".endm",
    ".macro nyala_sim_take_up",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "ret",
    ".endm",
    ".globl nyala_sim_park",
    "nyala_sim_park:",
    "nyala_sim_put_down",
    "mov rbx, rdi",
    "mov dword ptr [rbx + 20], 1",
    "2:",
    "mov eax, 202", // futex: wait, private, while it is 0
    "lea rdi, [rbx + 16]",
    "mov esi, 128",
    "xor edx, edx",
    "xor r10d, r10d",
    "syscall",
    "cmp dword ptr [rbx + 16], 1",
    "jne 2b",
    "mov rsp, [rbx]",
    "nyala_sim_take_up",
    ".globl nyala_sim_switch",
    "nyala_sim_switch:",
    "nyala_sim_put_down",
    "mov rsp, [rsi]",
    "mov rax, [rsi + 8]",
    "wrfsbase rax",
    "nyala_sim_take_up",
    ".globl nyala_sim_leave",
    "nyala_sim_leave:",
    "nyala_sim_put_down",
    "mov rsp, [rsi]",
    "mov rax, [rsi + 8]",
    "wrfsbase rax",
    "mov dword ptr [rdi + 16], 1",
    "mov eax, 202", // futex: wake, private, one
    "add rdi, 16",
    "mov esi, 129",
    "mov edx, 1",
    "syscall",
    "nyala_sim_take_up",
);

unsafe extern "C" {
    fn nyala_sim_park(own: *const Context);
    fn nyala_sim_switch(from: *const Context, to: *const Context);
    fn nyala_sim_leave(from: *const Context, to: *const Context);
}

static ON_ONE_THREAD: AtomicBool = AtomicBool::new(false);

/// Decides how it is done, for the whole run; called by the first thread.
pub fn choose() {
    // SAFETY: takes nothing.
    let can = unsafe { libc::getauxval(libc::AT_HWCAP2) } & FSGSBASE != 0;
    let wanted = std::env::var("SIM_REAL_THREADS").is_ok_and(|value| value == "1");
    ON_ONE_THREAD.store(can && !wanted, Ordering::Relaxed);
}

fn on_one_thread() -> bool {
    ON_ONE_THREAD.load(Ordering::Relaxed)
}

impl Context {
    /// That of the thread which calls it.
    pub fn of_this_thread() -> Context {
        let mut context = Context::default();
        context.note_self();
        context
    }

    fn note_self(&mut self) {
        // SAFETY: the first word of a thread's control block, to which `fs` points, is its own address.
        unsafe { std::arch::asm!("mov {}, fs:[0]", out(reg) self.fs, options(nostack, readonly, preserves_flags)) };
        self.number.store(real::thread_number(), Ordering::Relaxed);
    }

    /// The number of its real thread.
    pub fn number(&self) -> i32 {
        self.number.load(Ordering::Relaxed)
    }

    /// Sleeps until this has the turn through the kernel.
    fn await_turn(&self) {
        while self.word.swap(0, Ordering::Acquire) != 1 {
            real::wait(&self.word, 0);
        }
    }

    fn give_turn(&self) {
        self.word.store(1, Ordering::Release);
        real::wake(&self.word);
    }
}

/// The first thing that a new thread does: comes back when it has the turn.
///
/// # Safety
/// The context is the thread's own, and stays where it is; nobody else uses it before [`await_parked`].
pub unsafe fn begin(own: *mut Context) {
    // SAFETY: the caller's.
    unsafe {
        (*own).note_self();
        match on_one_thread() {
            true => nyala_sim_park(own),
            false => (*own).await_turn(),
        }
    }
}

/// Waits until a new thread can be given the turn.
///
/// # Safety
/// The context of a thread that begins, or has begun.
pub unsafe fn await_parked(of: *const Context) {
    // SAFETY: the caller's; the field alone, since the thread writes to others.
    let parked = unsafe { &(*of).parked };
    while on_one_thread() && parked.load(Ordering::Acquire) == 0 {
        // SAFETY: takes nothing.
        unsafe { real::call(libc::SYS_sched_yield, [0; 6]) };
    }
}

/// Gives the turn to another thread, and comes back with it.
///
/// # Safety
/// `from` is the caller's context; both stay where they are.
pub unsafe fn hand_over(from: *const Context, to: *const Context) {
    // SAFETY: the caller's. The thread of `to` has put its registers down, in `begin` or here.
    unsafe {
        if on_one_thread() {
            return nyala_sim_switch(from, to);
        }
        (*to).give_turn();
        (*from).await_turn();
    }
}

/// Gives the turn to another thread for good; comes back on the caller's real thread, which is to end.
///
/// # Safety
/// As [`hand_over`].
pub unsafe fn leave(from: *const Context, to: *const Context) {
    // SAFETY: the caller's.
    match on_one_thread() {
        true => unsafe { nyala_sim_leave(from, to) },
        false => unsafe { (*to).give_turn() },
    }
}
