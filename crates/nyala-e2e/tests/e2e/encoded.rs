// SPDX-License-Identifier: Apache-2.0

//! Erasure coded files on real services: encoded after the close, read with two services killed, written to meanwhile, whole afterwards.

use crate::layout::{chunk_files, info, target_dirs};
use nyala_e2e::mounts::Mounts;
use nyala_e2e::{Cluster, Options, beside_others, cluster::text, posix::pattern, sys};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const SIZES: [usize; 5] = [70_000, 300_000, 1_000_001, 5 << 20, (9 << 20) + 4321];

fn stripe(cluster: &Cluster, path: &Path) -> Value {
    info(cluster, path)["stripe"].clone()
}

fn is_encoded(cluster: &Cluster, path: &Path) -> bool {
    stripe(cluster, path)["pattern"] == "ec"
}

fn check(made: &[(PathBuf, Vec<u8>)]) {
    for (path, content) in made {
        assert!(fs::read(path).unwrap() == *content, "{} has other content", path.display());
    }
}

/// The storage services that have the targets of a file, one for each part.
fn services(cluster: &Cluster, path: &Path) -> Vec<String> {
    let targets = cluster.json(&["target", "list"]);
    let nodes = cluster.json(&["node", "list"]);
    let node_of = |id: &Value| targets.as_array().unwrap().iter().find(|one| one["id"] == *id).unwrap()["node"].clone();
    let name_of =
        |node: Value| nodes.as_array().unwrap().iter().find(|one| one["id"] == node).unwrap()["alias"].clone();
    let on = stripe(cluster, path)["targets"].as_array().unwrap().clone();
    on.iter().map(|id| name_of(node_of(id)).as_str().unwrap().to_owned()).collect()
}

/// Waits until the mount has encoded files. Looking at one recalls its delegation, and who encodes it then tries again later: so it is seldom done.
fn wait_encoded(cluster: &Cluster, made: &[(PathBuf, Vec<u8>)]) {
    let began = Instant::now();
    loop {
        // sleeps: the mount waits 10 s after the close, and is to be left alone meanwhile
        std::thread::sleep(Duration::from_secs(14));
        if made.iter().all(|(path, _)| is_encoded(cluster, path)) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(200), "files are not encoded");
    }
}

#[test]
fn e2e_encoded_files_outlive_two_storage_services() {
    let _one = beside_others();
    let more = ["--mirror", "--chunk-size", "64k"].map(str::to_owned).to_vec();
    let cluster = Cluster::start(Options { meta: 1, storage: 6, storage_services: 6, more });
    let dir = cluster.test_dir("encoded");
    cluster.nyala(["entry", "set", "--pattern", "ec", "--data", "4", "--parity", "2", &text(&dir)]).must();
    let mut made: Vec<(PathBuf, Vec<u8>)> = (0..)
        .zip(SIZES)
        .map(|(n, size)| (dir.join(format!("f{n}")), pattern(n, size)))
        .chain([(dir.join("small"), pattern(50, 900))])
        .collect();
    for (path, content) in &made {
        fs::write(path, content).unwrap();
    }
    assert_eq!(stripe(&cluster, &made[0].0)["pattern"], "mirror", "until some time after the close");
    assert_eq!(stripe(&cluster, &made[4].0)["pattern"], "ec", "as it was written");
    wait_encoded(&cluster, &made[..SIZES.len()]);
    check(&made);
    let parts = services(&cluster, &made[4].0);
    assert_eq!((parts.len(), stripe(&cluster, &made[4].0)["code"]["parity"].as_u64()), (6, Some(2)));
    assert_eq!(parts.iter().collect::<BTreeSet<_>>().len(), 6, "each on a service of its own");

    let (mut killed, groups) = (vec![parts[0].clone()], cluster.json(&["mirror", "list"]));
    killed.push(other_group(&cluster, &groups, &parts));
    let (path, content) = (dir.join("live"), pattern(60, 8 << 20));
    let mut live = fs::File::create(&path).unwrap();
    live.write_all(&content[..5 << 20]).unwrap();
    cluster.kill_all(&killed);
    live.write_all(&content[5 << 20..]).unwrap();
    live.sync_all().unwrap();
    drop(live);
    made.push((path, content));
    // Another mount has read nothing yet.
    let mut mounts = Mounts::new(&cluster, 1, "");
    let fresh = mounts.add("").join("encoded");
    check(
        &made
            .iter()
            .map(|(path, content)| (fresh.join(path.file_name().unwrap()), content.clone()))
            .collect::<Vec<_>>(),
    );
    writes_go_on(&cluster, &mut made);
    for name in &killed {
        cluster.start_service(name);
    }
    cluster.wait_healthy();
    check(&made);
    cluster.nyala(["entry", "encode", &text(&dir)]).must();
    assert!(made.iter().all(|(path, _)| path.ends_with("small") || is_encoded(&cluster, path)));
    check(&made);
    let repaired = cluster.nyala(["entry", "encode", "--repair", &text(&made[1].0)]);
    assert!(repaired.err.contains("1 file encoded"), "{}", repaired.describe());
    check(&made);
    cluster.assert_fsck_clean();
    a_part_is_lost(&cluster, &mut mounts, &made[4]);
    check(&made);
    cluster.assert_fsck_clean();
}

/// A chunk file is gone from a disk: fsck says it, reads are right, and the mount that reads it makes the file whole.
fn a_part_is_lost(cluster: &Cluster, mounts: &mut Mounts<'_>, (path, whole): &(PathBuf, Vec<u8>)) {
    let (of, inode) = (services(cluster, path)[1].clone(), info(cluster, path)["inode"].as_str().unwrap().to_owned());
    let on = stripe(cluster, path)["targets"][1].as_u64().unwrap().to_string();
    let (_, dir) = target_dirs(cluster).into_iter().find(|(id, _)| id.to_string() == on).unwrap();
    cluster.stop_service(&of);
    let lost: Vec<_> = chunk_files(&dir, &inode).into_iter().map(|(_, file)| fs::remove_file(file).unwrap()).collect();
    assert_eq!(lost.len(), 1, "one part on a target");
    cluster.start_service(&of);
    cluster.wait_healthy();
    let found = cluster.nyala(["fsck", "--output", "json", "--dir", &text(&cluster.dir())]);
    assert!(found.code() == Some(6) && found.out.contains("part-lost"), "{}", found.describe());
    let fresh = mounts.add("");
    // Nobody else reads it meanwhile: the first one that misses the part makes the file whole.
    assert!(fs::read(fresh.join("encoded").join(path.file_name().unwrap())).unwrap() == *whole);
    assert!(counted(&fresh, "rebuilt.reads") > 0);
    let began = Instant::now();
    while counted(&fresh, "repaired.files") == 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "the file is not made whole");
        // sleeps: between two looks at what a mount counts, which touch no file
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// What a mount has counted.
fn counted(mount: &Path, what: &str) -> u64 {
    let stats = sys::getxattr(mount, "user.nyala.stats").unwrap();
    let stats = String::from_utf8(stats).unwrap();
    let line = stats.lines().find_map(|line| line.strip_prefix(what)).unwrap();
    line.trim().parse().unwrap()
}

/// A service that has a part and is in no mirror group with the first one.
fn other_group(cluster: &Cluster, groups: &Value, parts: &[String]) -> String {
    let targets = cluster.json(&["target", "list"]);
    let nodes = cluster.json(&["node", "list"]);
    let nodes = nodes.as_array().unwrap();
    let service = |id: &Value| {
        let target = targets.as_array().unwrap().iter().find(|one| one["id"] == *id).unwrap();
        nodes.iter().find(|one| one["id"] == target["node"]).unwrap()["alias"].as_str().unwrap().to_owned()
    };
    let with_first: Vec<String> = groups
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["members"].as_array().unwrap().iter().map(|one| service(&one["target"])).collect::<Vec<_>>())
        .find(|members| members.contains(&parts[0]))
        .unwrap();
    parts.iter().find(|name| !with_first.contains(name)).unwrap().clone()
}

/// An encoded file is changed and a new one is made while two services are away.
fn writes_go_on(cluster: &Cluster, made: &mut Vec<(PathBuf, Vec<u8>)>) {
    let (path, content) = &mut made[3];
    content[1_000_000..1_000_007].copy_from_slice(b"changed");
    let file = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    file.write_all_at(b"changed", 1_000_000).unwrap();
    assert_eq!(stripe(cluster, path)["pattern"], "mirror", "it was moved back for the first write");
    file.sync_all().unwrap();
    let cut = &mut made[2];
    cut.1.truncate(123_456);
    fs::OpenOptions::new().write(true).open(&cut.0).unwrap().set_len(123_456).unwrap();
    let new = (cluster.mount().join("encoded/new"), pattern(77, 2 << 20));
    fs::write(&new.0, &new.1).unwrap();
    made.push(new);
    check(made);
}
