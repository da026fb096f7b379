// SPDX-License-Identifier: Apache-2.0

//! A client that is stopped while much of it is under way to one target: its session ends, others take over what it held,
//! write and sync. When it goes on, nothing of what it had accepted before reaches their files.
//!
//! Failure model: the calls that wait in the stopped client return some time after it went on. One that succeeds was made
//! then, and may be seen; one that fails was not made. What had returned before is lost or overwritten.

use nyala_e2e::locker::Locker;
use nyala_e2e::{Cluster, Mounts, Options, beside_others, cleanup, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const TIMEOUT: &str = "3s";
const LIMIT: Duration = Duration::from_secs(60);
const MIB: usize = 1 << 20;
/// What the victim has under way, and what others write over it.
const UNDER_WAY: usize = 40 * MIB;
const OVER: usize = 64 * MIB;
/// The victim's files: data, size, and what is asked for when it stops.
const FILES: [&str; 5] = ["data", "grown", "punched", "copied", "cut"];

/// Calls that wait in the victim: the file and what is done to it.
const WAITING: [(usize, &str); 4] =
    [(0, "sync"), (2, "punch 0 1048576"), (3, "copy 1048576 0 1048576"), (4, "truncate 4096")];

/// The victim's processes, one for each file, with data that only the victim has.
fn victims(its: &Path) -> Vec<Locker> {
    let mut victims: Vec<Locker> = FILES.iter().map(|name| Locker::start(&[its.join(name)])).collect();
    assert_eq!(victims[0].ask(&format!("fill 0 0 {UNDER_WAY} v")), "ok");
    for (number, from) in [(1, 2 * MIB), (2, 0), (3, MIB), (4, 0)] {
        assert_eq!(victims[number].ask(&format!("fill 0 {from} {} v", 3 * MIB)), "ok");
    }
    victims
}

/// Others write over everything, shorten one file, and sync.
fn write_over(ours: &Path) {
    for (name, len) in FILES.iter().zip([OVER, MIB, 4 * MIB, 4 * MIB, 4 * MIB]) {
        let mut other = Locker::start(&[ours.join(name)]);
        for command in [format!("truncate 0 {len}"), format!("fill 0 0 {len} o"), "sync 0".into()] {
            other.tell(&command);
            assert_eq!(other.end_of(&command, LIMIT), "ok", "{name}");
        }
    }
}

/// What is wrong with a file that others wrote, `len` bytes of it; what a call that succeeded may have changed is left out.
fn wrong(path: &Path, len: usize, excused: bool) -> Option<String> {
    let content = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let foreign = content.iter().filter(|byte| **byte != b'o').count();
    let fenced = content.iter().filter(|byte| **byte == b'v').count();
    let right = excused || content.len() == len && foreign == 0;
    (!right).then(|| {
        format!(
            "{}: {} bytes of {len}, {foreign} are not what others wrote, {fenced} are the fenced client's",
            path.display(),
            content.len()
        )
    })
}

/// One round; what is wrong afterwards.
fn round(
    cluster: &Cluster,
    mounts: &mut Mounts<'_>,
    victim: &Path,
    number: usize,
    stop_after: Duration,
) -> Vec<String> {
    let name = format!("fenced{number}");
    let ours = cluster.test_dir(&name);
    for file in FILES {
        fs::write(ours.join(file), vec![b'b'; 4 * MIB]).unwrap();
        run::sh(&format!("sync '{}'", ours.join(file).display()), LIMIT).must();
    }
    let mut victims = victims(&victim.join(&name));
    let pid = mounts.pid(victim);
    for (file, command) in WAITING {
        let (word, rest) = command.split_once(' ').unwrap_or((command, ""));
        victims[file].tell(format!("{word} 0 {rest}").trim_end());
    }
    // sleeps: calls are under way for so long when the client stops
    std::thread::sleep(stop_after);
    cleanup::signal(pid, libc::SIGSTOP);
    write_over(&ours);
    cleanup::signal(pid, libc::SIGCONT);
    let mut answers = vec![String::new(); FILES.len()];
    for (file, command) in WAITING {
        answers[file] = victims[file].end_of(command, LIMIT);
    }
    // sleeps: what was under way has arrived, if it ever does
    std::thread::sleep(Duration::from_secs(2));
    drop(victims);
    // A mount that has kept nothing shows what the servers have.
    let fresh: PathBuf = mounts.add("").join(&name);
    let lens = [OVER, MIB, 4 * MIB, 4 * MIB, 4 * MIB];
    let all = FILES.iter().zip(lens).enumerate();
    let found: Vec<String> = all
        // The data was handed over by calls that had returned: a sync that succeeds excuses nothing.
        .filter_map(|(at, (file, len))| wrong(&fresh.join(file), len, at > 1 && answers[at] == "ok"))
        .collect();
    println!("stopped {stop_after:?} after the calls began: {answers:?}; wrong: {found:#?}");
    found
}

#[test]
fn e2e_fenced_client_with_much_under_way_touches_nothing() {
    let _one = beside_others();
    let more = vec!["--session-timeout".into(), TIMEOUT.into()];
    let cluster = Cluster::start(Options { meta: 1, storage: 1, storage_services: 1, more });
    let mut mounts = Mounts::new(&cluster, 1, "");
    let victim = mounts.add(",max-dirty-age=60s");
    let mut wrong = Vec::new();
    for (number, millis) in [1, 4, 10].into_iter().enumerate() {
        wrong.extend(round(&cluster, &mut mounts, &victim, number, Duration::from_millis(millis)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    cluster.assert_fsck_clean_but_for_dead_clients();
}
