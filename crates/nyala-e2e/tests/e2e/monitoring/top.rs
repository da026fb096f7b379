// SPDX-License-Identifier: Apache-2.0

//! `nyala top` shows what the load did, in each second.

use super::{LINKS, is_near, links};
use nyala_e2e::cluster::text;
use nyala_e2e::{Cluster, Options, alone};
use std::time::Duration;

const SECONDS: f64 = 4.0;

#[test]
fn e2e_top_shows_what_the_load_counted() {
    let _one = alone();
    let cluster = Cluster::start(Options { meta: 1, storage: 2, storage_services: 1, ..Options::default() });
    let dir = cluster.test_dir("seen");
    let (mgmt, secret) = (format!("127.0.0.1:{}", cluster.port()), text(&cluster.dir().join("secret")));
    let top = ["top", "--mgmt", &mgmt, "--secret", &secret, "--table", "operations"];
    let printed = ["--batch", "--count", "1", "--interval", "4s"];
    let shown = std::thread::scope(|scope| {
        let shown = scope.spawn(|| cluster.nyala(top.into_iter().chain(printed)).must());
        // sleeps: its first sample is from before the load
        std::thread::sleep(Duration::from_secs(1));
        links(&dir, 0..LINKS);
        shown.join().unwrap()
    });
    println!("{shown}");
    let line = shown.lines().find(|line| line.starts_with("symlink ")).expect("the operation is there");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[1], "meta", "{line}");
    is_near("top", words[2].parse::<f64>().unwrap() * SECONDS, f64::from(LINKS));
    let refused = cluster.nyala(top);
    assert_eq!(refused.code(), Some(2), "without a terminal: {}", refused.describe());
}
