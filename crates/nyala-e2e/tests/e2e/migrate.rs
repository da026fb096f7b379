// SPDX-License-Identifier: Apache-2.0

//! `nyala entry migrate`: files leave a target while they are used, and are what they were.

use crate::layout::{chunk_files, info, target_dirs};
use nyala_e2e::{Cluster, beside_others, cluster::text, posix::pattern, run::wait_until, shared};
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

struct Made {
    path: PathBuf,
    content: Vec<u8>,
}

fn make(dir: &Path, name: &str, content: Vec<u8>) -> Made {
    let path = dir.join(name);
    fs::write(&path, &content).unwrap();
    Made { path, content }
}

fn files(dir: &Path) -> Vec<Made> {
    let mut made: Vec<Made> =
        (0..12).map(|n| make(dir, &format!("plain{n}"), pattern(n, 300_000 + n as usize * 77_777))).collect();
    made.push(make(dir, "large", pattern(99, (20 << 20) + 12_345)));
    made.push(make(dir, "inline", pattern(100, 900)));
    made.push(make(dir, "empty", Vec::new()));
    let mut sparse = make(dir, "sparse", Vec::new());
    let file = File::create(&sparse.path).unwrap();
    file.write_all_at(&pattern(101, 100_000), 30 << 20).unwrap();
    file.set_len(40 << 20).unwrap();
    sparse.content = fs::read(&sparse.path).unwrap();
    made.push(sparse);
    fs::hard_link(dir.join("plain0"), dir.join("linked")).unwrap();
    made
}

/// The targets that a file lies on.
pub fn on(cluster: &Cluster, path: &Path) -> Vec<u64> {
    info(cluster, path)["stripe"]["targets"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect()
}

fn found(cluster: &Cluster, dir: &Path, target: &str) -> Vec<String> {
    let out = cluster.nyala(["entry", "find", &text(dir), "--type", "file", "--targets", target]).must();
    out.lines().map(str::to_owned).collect()
}

#[test]
fn e2e_entry_migrate_moves_data_off_a_target_while_it_is_used() {
    let _one = beside_others();
    let cluster = shared();
    let dir = cluster.test_dir("migrate");
    cluster
        .nyala(["entry", "set", "--num-targets", "2", "--chunk-size", "64k", "--pattern", "raid0", &text(&dir)])
        .must();
    let made = files(&dir);
    let (id, target) = target_dirs(&cluster).remove(0);
    let id = id.to_string();
    let before = found(&cluster, &dir, &id);
    assert!(!before.is_empty(), "one of 16 files lies on one of four targets");

    let dry = cluster.nyala(["entry", "migrate", &text(&dir), "--targets", &id]).must();
    assert_eq!(dry.lines().collect::<Vec<_>>(), before);
    assert_eq!(found(&cluster, &dir, &id), before, "without --yes nothing moves");

    let held = before.iter().map(Path::new).find(|path| fs::metadata(path).unwrap().len() > 0);
    open_files_stay(&cluster, &id, held.expect("a file that is not empty on one of four targets"));
    let stats: Vec<_> = made.iter().map(|one| fs::metadata(&one.path).unwrap()).collect();
    move_under_load(&cluster, &dir, &id);
    assert_eq!(found(&cluster, &dir, &id), Vec::<String>::new());
    for (one, stat) in made.iter().zip(&stats) {
        let now = fs::metadata(&one.path).unwrap();
        assert_eq!((now.ino(), now.mtime_nsec(), now.nlink()), (stat.ino(), stat.mtime_nsec(), stat.nlink()));
        assert!(fs::read(&one.path).unwrap() == one.content, "{} is another file", one.path.display());
        let inode = info(&cluster, &one.path)["inode"].as_str().unwrap().to_owned();
        wait_until(
            Duration::from_secs(20),
            || chunk_files(&target, &inode).is_empty(),
            || format!("the target that was left has chunk files of {}", one.path.display()),
        );
    }
    as_pattern_says(&cluster, &made[0]);
    cluster.assert_fsck_clean();
    let inode = info(&cluster, &made[0].path)["inode"].as_str().unwrap().to_owned();
    let left = || target_dirs(&cluster).iter().map(|(_, dir)| chunk_files(dir, &inode).len()).sum::<usize>();
    wait_until(Duration::from_secs(20), || left() == 1, || format!("{} chunk files of a file with one target", left()));
}

/// A file that a mount has open is named and left; nothing of it is moved.
fn open_files_stay(cluster: &Cluster, id: &str, held: &Path) {
    let file = OpenOptions::new().read(true).write(true).open(held).unwrap();
    let was = on(cluster, held);
    let said = cluster.nyala(["entry", "migrate", &text(held), "--targets", id, "--yes"]);
    assert_eq!(said.code(), Some(1), "{}", said.describe());
    assert!(said.err.contains("in use"), "{}", said.describe());
    assert_eq!(on(cluster, held), was);
    let mut first = [0];
    file.read_exact_at(&mut first, 0).unwrap();
    file.write_all_at(&first, 0).unwrap();
    file.sync_all().unwrap();
}

/// Everything goes, while a program makes, writes, reads and removes files beside it.
fn move_under_load(cluster: &Cluster, dir: &Path, id: &str) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            let mut rounds = 0;
            while !stop.load(Ordering::Relaxed) {
                let path = dir.join(format!("busy{}", rounds % 3));
                let content = pattern(rounds, 150_000 + rounds as usize % 7 * 9_999);
                fs::write(&path, &content).unwrap();
                let mut file = OpenOptions::new().append(true).open(&path).unwrap();
                file.write_all(b"and more").unwrap();
                file.sync_all().unwrap();
                let expected = [&content[..], b"and more"].concat();
                assert!(fs::read(&path).unwrap() == expected, "round {rounds}");
                if rounds % 5 == 4 {
                    fs::remove_file(&path).unwrap();
                }
                rounds += 1;
            }
            rounds
        });
        let moved = cluster.nyala(["entry", "migrate", &text(dir), "--targets", id, "--yes", "--output", "json"]);
        stop.store(true, Ordering::Relaxed);
        assert!(load.join().unwrap() > 0);
        assert!(matches!(moved.code(), Some(0 | 1)), "{}", moved.describe());
        let list: Vec<Value> = serde_json::from_str(&moved.out).unwrap();
        let avoided = |one: &Value| !one["to"].as_array().unwrap().contains(&id.parse::<u64>().unwrap().into());
        assert!(!list.is_empty() && list.iter().all(avoided), "{list:?}");
    });
    cluster.nyala(["entry", "migrate", &text(dir), "--targets", id, "--yes"]).must();
}

fn as_pattern_says(cluster: &Cluster, one: &Made) {
    for wanted in ["4", "1"] {
        cluster.nyala(["entry", "migrate", &text(&one.path), "--to-num-targets", wanted, "--yes"]).must();
        assert_eq!(on(cluster, &one.path).len().to_string(), wanted);
        assert!(fs::read(&one.path).unwrap() == one.content);
    }
    let again = cluster.nyala(["entry", "migrate", &text(&one.path), "--to-num-targets", "1", "--yes"]);
    assert!(again.err.contains("0 files moved"), "{}", again.describe());
    assert_eq!(cluster.nyala(["entry", "migrate", &text(&one.path)]).code(), Some(2));
}
