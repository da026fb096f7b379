// SPDX-License-Identifier: Apache-2.0

//! Whoever is killed, or has waited for as long as a call may take, is answered though the work is not done. On a real
//! mount (as root).

use crate::harness::{Mounted, wait};
use crate::memfs::{Knobs, MemFs};
use nyala_fuse::mount::Via;
use nyala_fuse::types::Ino;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::os::unix::thread::JoinHandleExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

fn mounted(knobs: Knobs) -> Mounted {
    Mounted::start(Default::default(), Via::System, MemFs::with(knobs))
}

fn spawn(script: &str) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn stuck(mounted: &Mounted, count: u64) {
    wait("a request that does not end", || mounted.fs.stuck.load(Ordering::SeqCst) == count);
}

fn send(child: &Child, signal: i32) {
    // SAFETY: plain system call; the child is not reaped yet, so that the number is its own.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

fn dies_soon(child: &mut Child, signal: i32) {
    let since = Instant::now();
    wait("the killed process", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().signal(), Some(signal));
    assert!(since.elapsed() < Duration::from_secs(3), "{:?}", since.elapsed());
}

#[test]
fn a_process_that_is_killed_does_not_wait_for_its_answer() {
    let mounted = mounted(Knobs::default());
    for (count, signal) in [(1, libc::SIGKILL), (2, libc::SIGTERM)] {
        let mut child = spawn(&format!("exec stat {}", mounted.path("stuck").display()));
        stuck(&mounted, count);
        send(&child, signal);
        dies_soon(&mut child, signal);
    }
}

/// What a program handles must not end its file operations: a timer's signal would. A kill that follows still does.
#[test]
fn a_signal_that_is_handled_changes_nothing() {
    extern "C" fn nothing(_: i32) {}
    let mounted = mounted(Knobs::default());
    // SAFETY: the handler does nothing; the thread it is sent to is joined below and lives until then.
    unsafe { libc::signal(libc::SIGUSR1, nothing as *const () as usize) };
    let path = mounted.path("stuck");
    let waiter = std::thread::spawn(move || fs::metadata(path).map(drop));
    stuck(&mounted, 1);
    for _ in 0..3 {
        // SAFETY: as above.
        assert_eq!(unsafe { libc::pthread_kill(waiter.as_pthread_t(), libc::SIGUSR1) }, 0);
        std::thread::sleep(Duration::from_millis(150)); // sleeps: nothing is to happen in that time
        assert!(!waiter.is_finished());
    }
    mounted.fs.let_go.notify_waiters();
    wait("the answer", || waiter.is_finished());
    assert_eq!(waiter.join().unwrap().unwrap_err().raw_os_error(), Some(libc::ENOENT));

    // The shell handles the first signal while its child, which is the one that waits, ignores it.
    let mut child = spawn(&format!("trap '' USR1; exec stat {}", mounted.path("stuck").display()));
    stuck(&mounted, 2);
    send(&child, libc::SIGUSR1);
    std::thread::sleep(Duration::from_millis(300)); // sleeps: nothing is to happen in that time
    assert!(child.try_wait().unwrap().is_none());
    send(&child, libc::SIGKILL);
    dies_soon(&mut child, libc::SIGKILL);
}

#[test]
fn a_call_ends_at_the_time_limit_and_what_it_opened_is_released() {
    let limit = Duration::from_millis(300);
    let mounted = mounted(Knobs { time_limit: Some(limit), stuck_opens: true, ..Knobs::default() });
    let path = mounted.path("file");
    drop(File::create(&path).unwrap());
    wait("the creator's release", || mounted.fs.seen.releases.lock().len() == 1);
    let since = Instant::now();
    assert_eq!(File::open(&path).unwrap_err().raw_os_error(), Some(libc::ETIMEDOUT));
    assert!(since.elapsed() >= limit && since.elapsed() < limit * 8, "{:?}", since.elapsed());
    assert_eq!(mounted.fs.seen.releases.lock().len(), 1, "it is not open yet");
    mounted.fs.let_go.notify_waiters();
    wait("the late open's release", || mounted.fs.seen.releases.lock().len() == 2);
}

/// A process that exits does not wait long for its closes: nobody could end it any more.
#[test]
fn an_exiting_process_does_not_wait_for_its_closes() {
    let mounted = mounted(Knobs { stuck_flushes: true, ..Knobs::default() });
    let path = mounted.path("file");
    let creator = std::thread::spawn({
        let path = path.clone();
        move || drop(File::create(path).unwrap())
    });
    stuck(&mounted, 1);
    mounted.fs.let_go.notify_waiters();
    wait("the creator", || creator.is_finished());
    let opens = mounted.fs.seen.opens.load(Ordering::SeqCst);
    let mut child = spawn(&format!("exec tail -f -s 60 {}", path.display()));
    wait("its open file", || mounted.fs.seen.opens.load(Ordering::SeqCst) > opens);
    std::thread::sleep(Duration::from_millis(200)); // sleeps: it waits for more by then
    send(&child, libc::SIGTERM);
    dies_soon(&mut child, libc::SIGTERM);
    stuck(&mounted, 2);
}

/// The data of a write that goes on stays what it was, whatever comes through the same ring entry behind it.
#[test]
fn a_killed_writer_does_not_wait_and_its_write_goes_on() {
    let mounted = mounted(Knobs { direct: true, ..Knobs::default() });
    let data = |number: u64| vec![b'a' + number as u8; 50_000];
    mounted.fs.stuck_writes.store(true, Ordering::SeqCst);
    for number in 0..4 {
        let from = tempfile::NamedTempFile::new().unwrap();
        fs::write(from.path(), data(number)).unwrap();
        let to = mounted.path(&number.to_string());
        let mut child = spawn(&format!("exec dd bs=50000 if={} of={}", from.path().display(), to.display()));
        stuck(&mounted, number + 1);
        send(&child, libc::SIGKILL);
        dies_soon(&mut child, libc::SIGKILL);
    }
    mounted.fs.stuck_writes.store(false, Ordering::SeqCst);
    for _ in 0..100 {
        fs::write(mounted.path("other"), vec![b'z'; 60_000]).unwrap();
    }
    mounted.fs.let_go.notify_waiters();
    for number in 0..4 {
        let written = || {
            mounted.fs.elsewhere(|state| {
                let inode = state.child(Ino(1), number.to_string().as_bytes()).unwrap();
                state.node(Ino(inode)).unwrap().data.clone()
            })
        };
        wait("the write's end", || written().len() == 50_000);
        assert!(written() == data(number), "file {number} has what another request brought");
    }
}
