// SPDX-License-Identifier: Apache-2.0

//! Files that are encoded while the part of the name space that they are in moves from one metadata server to another and back.

use crate::layout::info;
use nyala_e2e::{Cluster, Options, beside_others, cluster::text, posix::pattern};
use serde_json::Value;
use std::fs;
use std::io::{Seek, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const DIRS: usize = 8;
const FILES: usize = 5;
/// The mount encodes a file so long after its last close.
const ENCODE_AFTER: Duration = Duration::from_secs(10);

fn servers(cluster: &Cluster) -> Vec<Value> {
    cluster.json(&["meta", "list"]).as_array().cloned().unwrap_or_default()
}

/// All that one server has begins to move to the other: a slot after the other, for half a minute or so.
fn begin_drain(cluster: &Cluster, from: &Value) {
    cluster.nyala(["meta", "drain", &from["target"].to_string(), "--yes", "--dir", &text(&cluster.dir())]).must();
}

/// Waits until all of it is there.
fn arrived(cluster: &Cluster) {
    let began = Instant::now();
    while servers(cluster).iter().any(|server| server["leaving"].as_u64() != Some(0)) {
        assert!(began.elapsed() < Duration::from_secs(180), "still on its way: {:?}", servers(cluster));
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn write_all(root: &std::path::Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut made = Vec::new();
    for n in 0..DIRS {
        let dir = root.join(format!("d{n}"));
        fs::create_dir(&dir).unwrap();
        for file in 0..FILES {
            let (path, content) =
                (dir.join(format!("f{file}")), pattern((n * FILES + file) as u64, 700_000 + 4321 * file));
            let mut new = fs::File::create(&path).unwrap();
            if file % 2 == 0 {
                // Such a one is mirrored first; the others are encoded as they are written.
                new.write_all(&content[..1]).unwrap();
                new.sync_all().unwrap();
            }
            let written = new.stream_position().unwrap() as usize;
            new.write_all(&content[written..]).unwrap();
            made.push((path, content));
        }
    }
    made
}

#[test]
fn e2e_slots_move_while_files_are_encoded() {
    let _one = beside_others();
    let more = ["--mirror", "--chunk-size", "64k"].map(str::to_owned).to_vec();
    let cluster = Cluster::start(Options { meta: 2, storage: 4, storage_services: 4, more });
    let root = cluster.test_dir("moves");
    cluster.nyala(["entry", "set", "--pattern", "ec", "--data", "2", "--parity", "1", &text(&root)]).must();
    let made = write_all(&root);
    let began = Instant::now();
    let is_encoded = |path: &PathBuf| info(&cluster, path)["stripe"]["pattern"] == "ec";
    let encoded = made.iter().filter(|(path, _)| is_encoded(path)).count();
    assert_eq!(encoded, DIRS * (FILES / 2), "those that were written as a whole");
    let both = servers(&cluster);
    assert_eq!(both.len(), 2, "{both:?}");
    begin_drain(&cluster, &both[0]);
    arrived(&cluster);
    assert!(began.elapsed() > ENCODE_AFTER, "the mount encodes them meanwhile");
    // What was tried while it moved is tried again.
    cluster.nyala(["entry", "encode", &text(&root)]).must();
    for (path, content) in &made {
        assert!(is_encoded(path), "{} is not encoded", path.display());
        assert!(fs::read(path).unwrap() == *content, "{} has other content", path.display());
    }
    // And what is encoded is cut and written to, and encoded again, while it moves back.
    begin_drain(&cluster, &both[1]);
    for (path, _) in made.iter().step_by(3) {
        fs::write(path, b"cut and new").unwrap();
        assert_eq!(fs::read(path).unwrap(), b"cut and new");
    }
    let whole = cluster.nyala(["entry", "encode", &text(&root)]);
    assert!(whole.ok(), "{}", whole.describe());
    arrived(&cluster);
    cluster.kill("storage1");
    for (n, (path, content)) in made.iter().enumerate() {
        let wanted: &[u8] = if n % 3 == 0 { b"cut and new" } else { content };
        assert!(fs::read(path).unwrap() == wanted, "{} has other content", path.display());
    }
}
