// SPDX-License-Identifier: Apache-2.0

//! Directories that are split over metadata servers while programs on two mounts use them, and servers die.

mod program;

use nyala_e2e::{Cluster, Mounts, Options, beside_others, long, wait_until};
use nyala_wire::SplitMix64;
use program::Program;
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Names with which a directory is split here.
const ABOVE: usize = 32;
const STABLE: usize = 200;

/// A cluster that splits directories early.
fn start() -> Cluster {
    let cluster = Cluster::start(Options::default());
    for meta in ["meta1", "meta2"] {
        let conf = cluster.dir().join(format!("conf/{meta}.toml"));
        let mut file = OpenOptions::new().append(true).open(conf).unwrap();
        writeln!(file, "\nsplit-above = {ABOVE}").unwrap();
        cluster.kill(meta);
        cluster.start_service(meta);
    }
    cluster.wait_healthy();
    cluster
}

/// On how many metadata servers the names of a directory are.
fn servers(cluster: &Cluster, dir: &Path) -> usize {
    let info = cluster.json(&["entry", "info", dir.to_str().unwrap()]);
    info["split"]
        .as_array()
        .map_or(1, |split| split.iter().map(|target| target.as_u64()).collect::<BTreeSet<_>>().len())
}

fn becomes(cluster: &Cluster, dir: &Path, wanted: usize) {
    wait_until(
        Duration::from_secs(60),
        || servers(cluster, dir) == wanted,
        || format!("{wanted} servers\n{}", cluster.logs(40)),
    );
}

#[test]
fn e2e_split_directories() {
    let _one = beside_others();
    let cluster = start();
    let mounts = Mounts::new(&cluster, 2, "");
    let dirs = mounts.test_dirs("large");
    for n in 0..STABLE {
        fs::write(dirs[0].join(format!("stable{n}")), n.to_string()).unwrap();
    }
    becomes(&cluster, &dirs[0], 2);

    let (stop, rounds) = (AtomicBool::new(false), if long() { 40 } else { 4 });
    std::thread::scope(|scope| {
        let programs: Vec<_> = (0..4)
            .map(|n| {
                let (dir, stop) = (dirs[n % 2].clone(), &stop);
                let mut program = Program::new(format!("p{n}"), dir, SplitMix64::new(n as u64), n * 150);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        program.step();
                    }
                    let steps = program.steps;
                    program.end();
                    steps
                })
            })
            .collect();
        for round in 0..rounds {
            std::thread::sleep(Duration::from_secs(2)); // sleeps: programs work for so long before the next server dies
            let dies = if round % 2 == 0 { "meta1" } else { "meta2" };
            cluster.kill(dies);
            cluster.start_service(dies);
        }
        std::thread::sleep(Duration::from_secs(2)); // sleeps: programs work for so long with both servers
        stop.store(true, Ordering::Relaxed);
        let steps: Vec<usize> = programs.into_iter().map(|program| program.join().unwrap()).collect();
        println!("steps: {steps:?}");
    });

    // Attributes and what new files get are those of one directory, on both mounts.
    (0..10).for_each(|n| fs::create_dir(dirs[1].join(format!("below{n}"))).unwrap());
    std::os::unix::fs::chown(&dirs[0], Some(3), Some(7)).unwrap();
    fs::set_permissions(&dirs[0], std::os::unix::fs::PermissionsExt::from_mode(0o2775)).unwrap();
    for n in 0..20 {
        let path = dirs[1].join(format!("inherits{n}"));
        fs::write(&path, "").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().gid(), 7);
    }
    for dir in &dirs {
        let seen = fs::metadata(dir).unwrap();
        assert_eq!((seen.nlink(), seen.len(), seen.mode() & 0o7777), (12, STABLE as u64 + 30, 0o2775));
    }
    let before = fs::metadata(&dirs[0]).unwrap();
    fs::rename(dirs[0].join("below0"), dirs[0].join("stable0-below")).unwrap();
    assert!(fs::metadata(&dirs[1]).unwrap().mtime_nsec() != before.mtime_nsec());
    assert_eq!(fs::remove_dir(&dirs[1]).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);

    cluster.nyala(["fsck", "--dir", cluster.dir().to_str().unwrap()]).must();
    for entry in fs::read_dir(&dirs[1]).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => fs::remove_dir(entry.path()).unwrap(),
            false => fs::remove_file(entry.path()).unwrap(),
        }
    }
    fs::write(dirs[0].join("one"), "").unwrap();
    becomes(&cluster, &dirs[0], 1);
    fs::remove_file(dirs[1].join("one")).unwrap();
    fs::remove_dir(&dirs[0]).unwrap();
    assert!(!dirs[1].exists());
}

/// A directory is removed, or replaced, though it is still split.
#[test]
fn e2e_split_directories_go() {
    let _one = beside_others();
    let cluster = start();
    for round in 0..4 {
        let (dir, other) = (cluster.mount().join("large"), cluster.mount().join("other"));
        fs::create_dir(&dir).unwrap();
        for n in 0..400 {
            fs::write(dir.join(n.to_string()), "").unwrap();
        }
        becomes(&cluster, &dir, 2);
        for n in 0..400 {
            fs::remove_file(dir.join(n.to_string())).unwrap();
        }
        match round % 2 {
            0 => fs::remove_dir(&dir).unwrap(),
            _ => {
                fs::create_dir(&other).unwrap();
                fs::rename(&other, &dir).unwrap();
                fs::remove_dir(&dir).unwrap();
            }
        }
        assert!(!dir.exists() && !other.exists());
    }
    cluster.nyala(["fsck", "--dir", cluster.dir().to_str().unwrap()]).must();
}
