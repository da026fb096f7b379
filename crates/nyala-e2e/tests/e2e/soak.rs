// SPDX-License-Identifier: Apache-2.0

//! Two mounts with many delegations and a checked load each; one of two metadata servers is started again under it. From then on
//! nothing happens, and nobody may notice anything: no error, no session that ends, no standstill.

use crate::kills::Load;
use nyala_e2e::cluster::text;
use nyala_e2e::posix::pattern;
use nyala_e2e::{Cluster, Mounts, Options, beside_others, long, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a client says when it has lost its session, and what services say of clients that they gave up.
const SIGNS: [&str; 3] = ["cut off from the servers", "its delegations are no good", "kept a delegation, for too long"];

/// Files that each mount has read and keeps delegations on, spread over directories, and so over both metadata servers.
fn make_files(dir: &Path, count: u64) -> Vec<PathBuf> {
    let path = |number: u64| dir.join(format!("d{}/f{number}", number % 16));
    (0..16).for_each(|number| fs::create_dir(dir.join(format!("d{number}"))).unwrap());
    for number in 0..count {
        fs::write(path(number), pattern(number, 700 + number as usize % 300)).unwrap();
    }
    (0..count).map(path).collect()
}

/// Reads all files again and again, and writes one of a hundred; the first that is wrong.
fn read_all(files: &[PathBuf], writes: bool, ended: &AtomicBool) -> Result<u64, String> {
    let mut rounds = 0;
    while !ended.load(Ordering::Relaxed) {
        for (number, path) in (0..).zip(files) {
            let right = pattern(number, 700 + number as usize % 300);
            let got = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
            if got != right {
                return Err(format!("{}: {} bytes that nobody wrote", path.display(), got.len()));
            }
            if writes && number % 100 == rounds % 100 {
                let file = fs::OpenOptions::new().write(true).open(path);
                let written = file.and_then(|file| {
                    std::os::unix::fs::FileExt::write_all_at(&file, &right, 0)?;
                    file.sync_all()
                });
                written.map_err(|error| format!("write to {}: {error}", path.display()))?;
            }
            if ended.load(Ordering::Relaxed) {
                break;
            }
        }
        rounds += 1;
    }
    Ok(rounds)
}

/// Lines of any log of the cluster that tell of a session's end.
fn signs(cluster: &Cluster) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(cluster.dir().join("log")).unwrap().flatten() {
        let log = String::from_utf8_lossy(&fs::read(entry.path()).unwrap_or_default()).into_owned();
        let lines = log.lines().filter(|line| SIGNS.iter().any(|sign| line.contains(sign)));
        found.extend(lines.map(|line| format!("{}: {line}", text(&entry.path()))));
    }
    found
}

#[test]
fn e2e_a_restart_of_metadata_under_load_leaves_nothing_behind() {
    let _one = beside_others();
    let cluster = Cluster::start(Options { meta: 2, storage: 4, storage_services: 2, ..Options::default() });
    let mounts = Mounts::new(&cluster, 2, "");
    let dirs = mounts.test_dirs("delegations");
    let files = make_files(&dirs[0], if long() { 20_000 } else { 800 });
    let theirs: Vec<PathBuf> = files.iter().map(|path| dirs[1].join(path.strip_prefix(&dirs[0]).unwrap())).collect();
    let (ended, began) = (AtomicBool::new(false), Instant::now());
    let second = dirs[1].parent().unwrap();
    let mut loads = [Load::start(&cluster, "load-a"), Load::start_on(&cluster, second, "load-b")];
    let start_again = cluster.prepare_start("meta2");
    std::thread::scope(|scope| {
        let readers = [
            scope.spawn(|| read_all(&files, true, &ended)),
            scope.spawn(|| read_all(&theirs, false, &ended)),
            scope.spawn(|| read_all(&theirs, false, &ended)),
        ];
        let ahead = |loads: &mut [Load; 2], more| loads.iter_mut().for_each(|load| load.progress(&cluster, more));
        // An error of the load's or of a reader's ends it; a panic here must not wait for readers.
        let watched = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            ahead(&mut loads, 20);
            // sleeps: the load is under way
            std::thread::sleep(Duration::from_secs(if long() { 60 } else { 2 }));
            cluster.kill("meta2");
            // sleeps: the server is away for so long
            std::thread::sleep(Duration::from_millis(500));
            start_again.go().must();
            let (since, lasts) = (Instant::now(), Duration::from_secs(if long() { 900 } else { 10 }));
            while since.elapsed() < lasts {
                ahead(&mut loads, 3);
                let gone: Vec<bool> = readers.iter().map(|reader| reader.is_finished()).collect();
                assert!(!gone.contains(&true), "a reader ended {:?} after the restart", since.elapsed());
                let signs = signs(&cluster);
                assert!(signs.is_empty(), "{:?} after the restart: {signs:#?}", since.elapsed());
                // sleeps: between two looks
                std::thread::sleep(Duration::from_secs(1));
            }
        }));
        ended.store(true, Ordering::Relaxed);
        let rounds = readers.map(|reader| reader.join().unwrap());
        println!("{:?}: rounds {rounds:?}", began.elapsed());
        assert!(rounds.iter().all(Result::is_ok), "{rounds:?}\n{}", run::tail(&cluster.logs(40), 200));
        watched.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    for load in loads {
        load.finish(&cluster);
    }
    cluster.assert_fsck_clean();
}
