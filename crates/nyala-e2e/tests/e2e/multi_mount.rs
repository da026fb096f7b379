// SPDX-License-Identifier: Apache-2.0

//! Verified operations on one file that hop between three mounts.

use nyala_e2e::cluster::{sibling, text};
use nyala_e2e::{beside_others, long, run, shared};
use std::fs;
use std::process::Command;
use std::time::Duration;

/// Seeds, and the largest size of each file: within the metadata at first, within one stripe, over several stripes.
const RUNS: [(u64, usize); 5] = [(1, 12_000), (22, 300_000), (333, 300_000), (4444, 3_000_000), (55_555, 300_000)];

/// 500,000 operations in the long form; with those of `e2e_fsx_five_seeds` they are 1,000,000.
#[test]
fn e2e_three_mounts_agree_on_one_file() {
    let _one = beside_others();
    let cluster = shared();
    let mut dirs = vec![cluster.test_dir("multi-mount")];
    let points = ["multi-mount2", "multi-mount3"].map(|name| cluster.root().join(name));
    for point in &points {
        fs::create_dir(point).unwrap();
        let source = format!("127.0.0.1:{}:/", cluster.port());
        let secret = format!("secret={}", text(&cluster.dir().join("secret")));
        cluster.nyala(["mount", &source, &text(point), "-o", &secret]).must();
        dirs.push(point.join("multi-mount"));
    }
    let (operations, limit) = if long() { (100_000, 3600) } else { (2_500, 120) };
    for (seed, max) in RUNS {
        let mut command = Command::new(sibling("nyala-e2e-multi-mount"));
        command.args([seed, operations, max as u64].map(|number| number.to_string()));
        let outcome = run::run(command.arg(format!("seed{seed}")).args(&dirs), Duration::from_secs(limit));
        println!("seed {seed}: {operations} operations in {:.1} s: {}", outcome.took.as_secs_f64(), outcome.out.trim());
        assert!(outcome.ok(), "{}\n{}", outcome.describe(), cluster.logs(30));
    }
    for point in &points {
        cluster.nyala(["umount", &text(point)]).must();
        fs::remove_dir(point).unwrap();
    }
    fs::remove_dir_all(&dirs[0]).unwrap();
}
