// SPDX-License-Identifier: Apache-2.0

//! What programs do on delegated files while a metadata server is away: each request ends within the retry timeout, and whoever
//! is killed ends at once, whatever the timeout.

use nyala_e2e::cluster::text;
use nyala_e2e::locker::Locker;
use nyala_e2e::{Cluster, Mounts, Options, beside_others, cleanup};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What `nyala up --session-timeout` is told; delegations are good for two thirds of it.
const SESSION: &str = "3s";
/// When they are good no longer.
const STALE: Duration = Duration::from_millis(2_500);
/// The retry timeout of the mount whose calls end by themselves, and what may be added by a busy machine.
const RETRY: Duration = Duration::from_secs(2);
const BEYOND: Duration = Duration::from_secs(3);
/// Requests that Linux makes of one `read`, each of which may take so long: attributes, read-ahead, the page.
const REQUESTS: u32 = 3;
/// What requests under way have when a mount ends, before what is unwritten has its own retry timeout.
const DRAIN: Duration = Duration::from_secs(5);
/// How long a killed process may live.
const KILLED: Duration = Duration::from_secs(3);

/// A process with a small and a large file, both written to and not written out.
fn holder(dir: &Path) -> Locker {
    fs::write(dir.join("small"), b"before").unwrap();
    fs::write(dir.join("large"), vec![b'x'; 300_000]).unwrap();
    let mut holder = Locker::start(&["small", "large"].map(|name| dir.join(name)));
    for file in 0..2 {
        assert_eq!(holder.ask(&format!("write {file} 0 dirty.....")), "ok");
    }
    holder
}

/// Ends with an error, within the retry timeout.
fn fails_in_time(locker: &mut Locker, command: &str) {
    let since = Instant::now();
    locker.tell(command);
    let said = locker.end_of(command, RETRY * REQUESTS + BEYOND);
    assert!(said.starts_with("error"), "`{command}` without a metadata server: {said}");
    println!("{command}: {said} after {:.1} s", since.elapsed().as_secs_f64());
}

fn dir_on(point: &Path) -> PathBuf {
    let dir = point.join("waits").join(point.file_name().expect("a mount point has a name"));
    fs::create_dir_all(&dir).unwrap();
    dir
}

#[test]
fn e2e_calls_on_delegated_files_end_in_time_and_killed_programs_at_once() {
    let _one = beside_others();
    let more = vec!["--session-timeout".into(), SESSION.into()];
    let cluster = Cluster::start(Options { meta: 1, storage: 2, storage_services: 1, more });
    let mut mounts = Mounts::new(&cluster, 1, "");
    let patient = mounts.add(",max-dirty-age=60s");
    let hasty = mounts.add(&format!(",max-dirty-age=60s,retry-timeout={}s", RETRY.as_secs()));
    let mut stuck: Vec<Locker> = (0..3).map(|_| holder(&dir_on(&patient))).collect();
    let (mut failing, mut closing) = (holder(&dir_on(&hasty)), holder(&dir_on(&hasty)));
    cluster.kill("meta1");
    // sleeps: delegations are good no longer
    std::thread::sleep(STALE);

    // Three programs that wait: for a read, for a write, for a sync. They are killed; one by a signal it does not handle.
    // The kernel lets one of several write to or sync one file, and no signal ends the wait of the others for that.
    for (locker, command) in stuck.iter_mut().zip(["read 0", "write 1 5 more", "sync 0"]) {
        locker.tell(command);
    }
    for command in ["read 0", "read 1", "write 1 3 more", "sync 0", "sync 1"] {
        fails_in_time(&mut failing, command);
    }
    for (locker, signal) in stuck.iter_mut().zip([libc::SIGKILL, libc::SIGTERM, libc::SIGKILL]) {
        assert!(locker.answer(Duration::from_millis(1)).is_none(), "it waits still");
        locker.signal(signal);
        assert!(locker.ends(KILLED), "a killed process lives on for more than {KILLED:?}");
    }

    // A close waits no longer than any other call; a process that exits does not wait for its closes.
    closing.tell("close 1");
    closing.end_of("close", RETRY * REQUESTS + BEYOND);
    failing.signal(libc::SIGTERM);
    assert!(failing.ends(KILLED), "an exit waits for a close");
    drop((failing, closing, stuck));

    let pid = mounts.pid(&hasty);
    let since = Instant::now();
    let ended = cluster.nyala(["umount", &text(&hasty)]);
    println!("umount after {:.1} s: {}", since.elapsed().as_secs_f64(), ended.describe());
    assert!(since.elapsed() < DRAIN + RETRY + BEYOND, "{}", ended.describe());
    assert!(!cleanup::alive(pid, cluster.root()), "its daemon is gone");

    cluster.start_service("meta1");
    cluster.wait_healthy();
    assert_eq!(fs::read(cluster.mount().join("waits").join("mnt-1").join("large")).unwrap().len(), 300_000);
    cluster.assert_fsck_clean_but_for_dead_clients();
}
