// SPDX-License-Identifier: Apache-2.0

//! The real kernel and C library below the simulation.

use std::ffi::{CStr, CString};
use std::sync::atomic::AtomicU32;

/// A real system call; the kernel's own result (a negative error number).
///
/// # Safety
/// As the call itself.
pub unsafe fn call(number: i64, arguments: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the x86-64 convention of system calls: rcx and r11 are clobbered, the rest is kept.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") arguments[0], in("rsi") arguments[1], in("rdx") arguments[2],
            in("r10") arguments[3], in("r8") arguments[4], in("r9") arguments[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// The same with the C library's way to tell errors.
///
/// # Safety
/// As the call itself.
pub unsafe fn libc_call(number: i64, arguments: [usize; 6]) -> isize {
    // SAFETY: the caller's.
    let result = unsafe { call(number, arguments) };
    if (-4095..0).contains(&result) { super::fails(-result as i32) } else { result }
}

/// A function of the C library that this program defines itself.
pub fn next(name: &CStr) -> *mut libc::c_void {
    // SAFETY: a name that ends with a zero byte.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    assert!(!found.is_null(), "the C library has no {name:?}");
    found
}

/// Sleeps until `word` is not `value` any more, or for no reason.
pub fn wait(word: &AtomicU32, value: u32) {
    let operation = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: a word that lives; no timeout.
    unsafe { call(libc::SYS_futex, [word.as_ptr() as usize, operation, value as usize, 0, 0, 0]) };
}

/// Wakes whoever sleeps on `word`.
pub fn wake(word: &AtomicU32) {
    let operation = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: a word that lives.
    unsafe { call(libc::SYS_futex, [word.as_ptr() as usize, operation, 1, 0, 0, 0]) };
}

/// The number of this thread in the real kernel.
pub fn thread_number() -> i32 {
    // SAFETY: takes nothing.
    unsafe { call(libc::SYS_gettid, [0; 6]) as i32 }
}

/// Waits until a real thread is gone, with all that its end does to memory.
pub fn await_end(thread: i32) {
    // SAFETY: signal 0 only asks.
    while unsafe { call(libc::SYS_tgkill, [std::process::id() as usize, thread as usize, 0, 0, 0, 0]) } == 0 {
        // SAFETY: takes nothing.
        unsafe { call(libc::SYS_sched_yield, [0; 6]) };
    }
}

/// Monotonic time of the real machine, nanoseconds.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for the answer.
    unsafe { call(libc::SYS_clock_gettime, [libc::CLOCK_MONOTONIC as usize, &raw mut time as usize, 0, 0, 0, 0]) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Ends the real process at once.
pub fn end(code: i32) -> ! {
    // SAFETY: does not return.
    unsafe { call(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]) };
    unreachable!() // why: the call above ends the process
}

/// Writes to a real descriptor.
pub fn write_all(fd: i32, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: bytes that live.
        let n = unsafe { call(libc::SYS_write, [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) };
        if n <= 0 {
            return;
        }
        bytes = &bytes[n as usize..];
    }
}

/// Makes or empties a real file, to be written to; its descriptor, or a negative error number.
pub fn create_file(path: &str) -> i32 {
    let path = CString::new(path).expect("a path has no zero byte");
    let flags = (libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC) as usize;
    // SAFETY: a path that ends with a zero byte.
    unsafe { call(libc::SYS_open, [path.as_ptr() as usize, flags, 0o644, 0, 0, 0]) as i32 }
}
