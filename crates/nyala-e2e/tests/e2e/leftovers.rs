// SPDX-License-Identifier: Apache-2.0

//! Chunk files that no file needs are found, and those of files never are.

use crate::layout::{chunk_files, info, target_dirs};
use nyala_e2e::cluster::text;
use nyala_e2e::locker::Locker;
use nyala_e2e::posix::pattern;
use nyala_e2e::run::sh;
use nyala_e2e::{Cluster, Mounts, Options, beside_others, cleanup};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const LEN: usize = (1 << 20) + 777;

fn write(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap();
    fs::File::open(path).unwrap().sync_all().unwrap();
}

fn inode(cluster: &Cluster, path: &Path) -> String {
    info(cluster, path)["inode"].as_str().unwrap().to_owned()
}

/// What a scrub that looks for leftovers says of the only target, in order of reasons.
fn scrub(cluster: &Cluster, more: &[&str]) -> Vec<Value> {
    let dir = text(&cluster.dir());
    let args = ["scrub", "--leftovers", "--grace", "5s", "--output", "json", "--dir", &dir];
    let done = cluster.nyala(args.iter().chain(more));
    assert_eq!(done.code(), Some(0), "{}", done.describe());
    let all: Value = serde_json::from_str(&done.out).unwrap();
    let mut found = all[0]["leftovers"].as_array().unwrap_or_else(|| panic!("{all}")).clone();
    found.sort_by_key(|left| left["reason"].to_string());
    found
}

/// Inode and reason of each leftover.
fn leftovers(cluster: &Cluster) -> Vec<(Value, Value)> {
    scrub(cluster, &[]).iter().map(|left| (left["inode"].clone(), left["reason"].clone())).collect()
}

/// Metadata goes back to an older state, as after a power cut: a file was not created, another one's content not moved.
#[test]
fn e2e_scrub_lists_chunk_files_that_no_file_needs() {
    let _one = beside_others();
    let cluster = Cluster::start(Options { meta: 1, storage: 1, storage_services: 1, more: vec![] });
    let dir = cluster.test_dir("leftovers");
    let [kept, small, new, removed] = ["kept", "small", "new", "removed"].map(|name| dir.join(name));
    write(&kept, &pattern(1, LEN));
    write(&small, b"inline");
    assert!(leftovers(&cluster).is_empty());
    let (meta, copy) = (cluster.dir().join("meta1"), cluster.root().join("copy"));
    let limit = Duration::from_secs(30);
    cluster.down().must();
    sh(&format!("cp -a '{}' '{}'", meta.display(), copy.display()), limit).must();
    cluster.up().must();
    cluster.wait_healthy();
    write(&small, &pattern(2, LEN));
    write(&new, &pattern(3, LEN));
    write(&removed, &pattern(4, LEN));
    fs::remove_file(&removed).unwrap();
    assert!(leftovers(&cluster).is_empty(), "what is needed, and what a removal takes away");
    let (of_small, of_new) = (inode(&cluster, &small), inode(&cluster, &new));
    cluster.down().must();
    sh(&format!("rm -r '{0}' && mv '{1}' '{0}'", meta.display(), copy.display()), limit).must();
    cluster.up().must();
    cluster.wait_healthy();
    let found = leftovers(&cluster);
    assert_eq!(found, [(json!(of_small), json!("inline")), (json!(of_new), json!("no-file"))]);
    assert_eq!(leftovers(&cluster), found, "nothing was removed");
    let target = &target_dirs(&cluster)[0].1;
    assert!([&of_small, &of_new].iter().all(|inode| !chunk_files(target, inode).is_empty()));
    assert!(fs::read(&kept).unwrap() == pattern(1, LEN));

    // Without --yes it is said what that could cost, and nothing goes.
    let args = ["scrub", "--leftovers", "--remove", "--grace", "5s", "--dir", &text(&cluster.dir())];
    let done = cluster.nyala(args);
    assert_eq!(done.code(), Some(2), "{}", done.describe());
    assert!(done.err.contains("put back from a copy"), "{}", done.describe());
    assert_eq!(leftovers(&cluster), found);
    // What metadata does not know goes. Beside inline content nothing tells who left it: that stays.
    let removed = scrub(&cluster, &["--remove", "--yes"]);
    let of = |field: &str| removed.iter().map(|left| left[field].clone()).collect::<Vec<_>>();
    assert_eq!(of("removed"), [json!(false), json!(true)], "{removed:?}");
    assert!(removed[0]["kept"].is_string() && removed[1]["kept"].is_null(), "{removed:?}");
    assert_eq!(leftovers(&cluster), found[..1]);
    assert!(chunk_files(target, &of_new).is_empty());
    assert!(fs::read(&kept).unwrap() == pattern(1, LEN) && fs::read(&small).unwrap() == b"inline");
}

/// A client dies when storage has what metadata was never told of: what it left is found, and can be removed.
#[test]
fn e2e_what_a_killed_client_left_at_storage_is_removed() {
    let _one = beside_others();
    let more = vec!["--session-timeout".into(), "4s".into()];
    let cluster = Cluster::start(Options { meta: 1, storage: 1, storage_services: 1, more });
    let mut mounts = Mounts::new(&cluster, 1, "");
    let point = mounts.add(",max-dirty-age=60s");
    let dirs = mounts.test_dirs("killed");
    let files = ["small", "empty"];
    write(&dirs[0].join("small"), b"inline");
    write(&dirs[0].join("empty"), b"");
    let inodes: Vec<String> = files.iter().map(|name| inode(&cluster, &dirs[0].join(name))).collect();
    let mut victims = files.map(|name| Locker::start(&[dirs[1].join(name)]));
    for victim in &mut victims {
        assert_eq!(victim.ask("write 0 0 v"), "ok");
    }
    // Metadata hears of nothing any more, and storage takes it.
    cluster.kill("meta1");
    for victim in &mut victims {
        victim.tell(&format!("fill 0 0 {LEN} v"));
        victim.tell("sync 0");
    }
    let target = &target_dirs(&cluster)[0].1;
    let stored = || inodes.iter().all(|inode| !chunk_files(target, inode).is_empty());
    let until = Instant::now() + Duration::from_secs(20);
    while !stored() && Instant::now() < until {
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(stored());
    cleanup::signal(mounts.pid(&point), libc::SIGKILL);
    cluster.start_service("meta1");
    drop(victims);
    cleanup::detach(&point);
    cluster.wait_healthy();
    let wanted: Vec<(Value, Value)> = inodes.iter().map(|inode| (json!(inode), json!("inline"))).collect();
    let mut found = Vec::new();
    // Metadata waits for the client that died before it answers.
    for _ in 0..10 {
        found = leftovers(&cluster);
        if found.len() == 2 {
            break;
        }
    }
    found.sort_by_key(|(inode, _)| inode.to_string());
    assert_eq!(found, wanted);
    let removed = scrub(&cluster, &["--remove", "--yes"]);
    assert!(removed.len() == 2 && removed.iter().all(|left| left["removed"] == true), "{removed:?}");
    assert_eq!(leftovers(&cluster), []);
    let [small, empty] = files.map(|name| fs::read(dirs[0].join(name)).unwrap());
    assert_eq!((small.as_slice(), empty.len()), (b"inline".as_slice(), 0));
    cluster.assert_fsck_clean();
}
