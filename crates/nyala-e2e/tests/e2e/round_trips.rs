// SPDX-License-Identifier: Apache-2.0

//! How many requests to metadata programs cost that unpack, copy, list and remove many small files. Each is a round trip that a program
//! waits for, but for the content of closed files, which goes out with that of others.

use nyala_e2e::{Cluster, Options, alone};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

const DIRS: u64 = 10;
const FILES: u64 = 400;

type Ops = BTreeMap<String, u64>;

fn make(dir: &Path) {
    for number in 0..FILES {
        let sub = dir.join(format!("d{}", number % DIRS));
        fs::create_dir_all(&sub).unwrap();
        fs::write(sub.join(format!("f{number}")), vec![number as u8; 500 + number as usize]).unwrap();
    }
}

/// Requests that the metadata server has answered, by operation.
fn ops(cluster: &Cluster) -> Ops {
    let stats = cluster.json(&["stats", "server"]);
    let ops = stats["meta1"]["ops"].as_object().unwrap_or_else(|| panic!("{stats}"));
    ops.iter().map(|(name, count)| (name.clone(), count.as_u64().unwrap())).collect()
}

/// Runs a program; the requests that clients waited for meanwhile, and those by operation.
fn requests(cluster: &Cluster, program: &str, args: &[&str]) -> (u64, Ops) {
    let before = ops(cluster);
    let status = Command::new(program).args(args).status().unwrap();
    assert!(status.success(), "{program} {args:?}");
    let mut after = ops(cluster);
    after.retain(|name, count| {
        *count -= before.get(name).copied().unwrap_or(0);
        *count > 0
            && !name.starts_with("delegation")
            && !name.starts_with("session")
            && name != "ping"
            && name != "stats"
    });
    let waited = after.iter().filter(|(name, _)| *name != "put_inlines").map(|(_, count)| count).sum();
    eprintln!("{program}: {:.2} requests a file, {after:?}", waited as f64 / FILES as f64);
    (waited, after)
}

#[test]
fn e2e_round_trips_of_programs_that_make_and_remove_small_files() {
    let _one = alone();
    let cluster = Cluster::start(Options { meta: 1, ..Options::default() });
    let (local, dir) = (tempfile::tempdir().unwrap(), cluster.test_dir("round_trips"));
    make(&local.path().join("tree"));
    let (archive, tree) = (local.path().join("a.tar"), local.path().join("tree"));
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let tar = Command::new("tar").args(["-cf", &path(&archive), "-C", &path(&tree), "."]).status().unwrap();
    assert!(tar.success());
    let names = FILES + DIRS;
    // Directories get their mode and times when all in them is there.
    let (unpacked, by) = requests(&cluster, "tar", &["-xpf", &path(&archive), "-C", &path(&dir)]);
    assert_eq!((by["create"], by.get("put_inline")), (FILES, None), "{by:?}");
    assert!(unpacked <= names * 5 / 4, "{unpacked}: {by:?}");
    let (copied, by) = requests(&cluster, "cp", &["-a", &path(&tree), &path(&dir.join("copy"))]);
    assert!(copied <= names * 5 / 4, "{copied}: {by:?}");
    let same = Command::new("diff").args(["-r", &path(&tree), &path(&dir.join("copy"))]).status().unwrap();
    assert!(same.success());
    let (removed, by) = requests(&cluster, "rm", &["-r", &path(&dir.join("copy"))]);
    assert_eq!((by["unlink"], by["rmdir"]), (FILES, DIRS + 1), "{by:?}");
    assert!(removed <= names * 5 / 4, "{removed}: {by:?}");
}
