// SPDX-License-Identifier: Apache-2.0

//! A ring on a real kernel: `/dev/null` answers commands with zero, plain files refuse them.

use nyala_ring::{Command, Event, Ring};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

fn command(file: &File, tag: u64) -> Command {
    Command { fd: file.as_raw_fd(), op: 1, args: [0; 80], memory: (0, 0), tag }
}

fn push(ring: &Ring, file: &File, tag: u64) {
    // SAFETY: neither /dev/null nor a plain file touches any memory for a command.
    unsafe { ring.push(&command(file, tag)) }.unwrap();
}

fn null() -> File {
    File::open("/dev/null").unwrap()
}

async fn done(ring: &Ring) -> (u64, i32) {
    loop {
        if let Event::Done { tag, result } = ring.next().await.unwrap() {
            return (tag, result);
        }
    }
}

fn in_runtime(test: impl AsyncFnOnce(Ring)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { test(Ring::attached(8).unwrap()).await });
}

fn alone(test: impl AsyncFnOnce(&Ring)) {
    let ring = Ring::own_thread(8).unwrap();
    ring.block_on(test(&ring)).unwrap();
}

async fn many(ring: &Ring) {
    let (null, plain) = (null(), tempfile::tempfile().unwrap());
    // Far more than the ring has room for at once.
    for tag in 0..100 {
        push(ring, if tag % 2 == 0 { &null } else { &plain }, tag);
    }
    let mut got = Vec::new();
    for _ in 0..100 {
        got.push(done(ring).await);
    }
    got.sort_unstable();
    for (tag, result) in got {
        assert_eq!(result, if tag % 2 == 0 { 0 } else { -libc::EOPNOTSUPP }, "command {tag}");
    }
}

#[test]
fn each_command_is_answered_by_its_tag() {
    in_runtime(async |ring| many(&ring).await);
    alone(async |ring| many(ring).await);
}

async fn rung(ring: &Ring) {
    for _ in 0..3 {
        let waker = ring.waker();
        let started = Instant::now();
        let other = std::thread::spawn(move || {
            // sleeps: the ring waits by then
            std::thread::sleep(Duration::from_millis(20));
            waker.notify();
        });
        assert_eq!(ring.next().await.unwrap(), Event::Woken);
        assert!(started.elapsed() >= Duration::from_millis(20));
        other.join().unwrap();
    }
}

#[test]
fn the_waker_is_an_event_again_and_again() {
    in_runtime(async |ring| rung(&ring).await);
    alone(async |ring| rung(ring).await);
}

#[test]
fn a_thread_of_its_own_wakes_for_channels_and_foreign_timers() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _entered = runtime.enter();
    alone(async |ring| {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let other = std::thread::spawn(move || {
            // sleeps: the ring waits by then
            std::thread::sleep(Duration::from_millis(10));
            sender.send(5).unwrap();
        });
        assert_eq!(receiver.await, Ok(5));
        other.join().unwrap();
        let started = Instant::now();
        // sleeps: the clock is what is tested
        tokio::time::sleep(Duration::from_millis(30)).await;
        assert!(started.elapsed() >= Duration::from_millis(30));
        let null = null();
        push(ring, &null, 3);
        assert_eq!(done(ring).await, (3, 0));
    });
}

#[test]
fn ten_thousand_wake_ups_from_another_thread_are_all_heard() {
    alone(async |_| {
        let (to, mut from_us) = tokio::sync::mpsc::unbounded_channel::<u32>();
        let (back, mut answers) = tokio::sync::mpsc::unbounded_channel::<u32>();
        let other = std::thread::spawn(move || {
            while let Some(number) = from_us.blocking_recv() {
                back.send(number).unwrap();
            }
        });
        for number in 0..10_000 {
            to.send(number).unwrap();
            assert_eq!(answers.recv().await, Some(number));
        }
        drop(to);
        other.join().unwrap();
    });
}

#[test]
fn a_command_pushed_by_a_task_is_handed_in_while_another_waits() {
    in_runtime(async |ring| {
        let ring = std::rc::Rc::new(ring);
        let local = tokio::task::LocalSet::new();
        let pusher = std::rc::Rc::clone(&ring);
        let null = null();
        local.spawn_local(async move {
            // sleeps: the ring waits by then
            tokio::time::sleep(Duration::from_millis(20)).await;
            push(&pusher, &null, 9);
            std::future::pending::<()>().await;
        });
        let waited = local.run_until(tokio::time::timeout(Duration::from_secs(5), done(&ring))).await;
        assert_eq!(waited.unwrap(), (9, 0));
    });
}

#[test]
fn signals_do_not_end_a_wait() {
    // SAFETY: a handler that does nothing is set for a signal that nobody else in this process uses.
    unsafe {
        extern "C" fn nothing(_: libc::c_int) {}
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGUSR2, &action, std::ptr::null_mut()), 0);
    }
    alone(async |ring| {
        // SAFETY: asks for nothing but the own thread's handle.
        let thread = unsafe { libc::pthread_self() };
        let waker = ring.waker();
        let other = std::thread::spawn(move || {
            for _ in 0..5 {
                // sleeps: the ring waits by then
                std::thread::sleep(Duration::from_millis(5));
                // SAFETY: the thread waits for this one to end before it ends itself.
                unsafe { libc::pthread_kill(thread, libc::SIGUSR2) };
            }
            waker.notify();
        });
        assert_eq!(ring.next().await.unwrap(), Event::Woken);
        other.join().unwrap();
    });
}
