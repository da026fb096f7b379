// SPDX-License-Identifier: Apache-2.0

//! `nyala health bundle` of a cluster one of whose storage services is away.

use nyala_e2e::cluster::text;
use nyala_e2e::run::sh;
use nyala_e2e::{Cluster, Options, beside_others};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

/// The names of all files below a directory, from there.
fn files(dir: &Path) -> Vec<String> {
    let found = sh(&format!("cd {} && find . -type f | sort", text(dir)), LIMIT).must();
    found.lines().map(|line| line.trim_start_matches("./").to_owned()).collect()
}

#[test]
fn e2e_bundle_names_who_is_away() {
    let _one = beside_others();
    let cluster = Cluster::start(Options { meta: 1, storage: 2, storage_services: 2, ..Options::default() });
    std::fs::write(cluster.mount().join("file"), vec![7; 1 << 20]).unwrap();
    cluster.stop_service("storage2");
    // A settings file with keys that nobody knows, and a log that says too much.
    let secret = std::fs::read_to_string(cluster.dir().join("secret")).unwrap().trim().to_owned();
    std::fs::write(cluster.dir().join("conf/mon.toml"), "password = \"hunter2hunter2\"\ninterval = \"5s\"\n").unwrap();
    std::fs::write(cluster.dir().join("log/other.log"), format!("the key is {secret}.\n")).unwrap();
    let file = cluster.root().join("bundle.tar.gz");
    let made = cluster.json(&["health", "bundle", "--file", &text(&file)]);
    assert_eq!(made["file"], text(&file));
    let out = cluster.root().join("opened");
    sh(&format!("mkdir {0} && tar -xzf {1} -C {0}", text(&out), text(&file)), LIMIT).must();
    let top = out.join("nyala-bundle");
    let found = files(&top);
    for end in [
        "cluster/map.json",
        "cluster/changes.json",
        "cluster/health.json",
        "host/processes.json",
        "host/facts.json",
        "host/proc/meminfo",
        "manifest.json",
        "-meta1/metrics.txt",
        "-storage1/metrics.txt",
        "-storage1/counters.json",
        "_log_storage2.log",
        "_conf_storage2.toml",
    ] {
        assert!(found.iter().any(|name| name.ends_with(end)), "{end} is missing: {found:#?}");
    }
    assert!(!found.iter().any(|name| name.contains("-storage2/")), "{found:#?}");
    let json = |name: &str| -> Value { serde_json::from_slice(&std::fs::read(top.join(name)).unwrap()).unwrap() };
    let manifest = json("manifest.json");
    let missing = manifest["missing"].as_array().unwrap();
    let away = missing.iter().find(|missing| missing["what"].as_str().unwrap().contains("-storage2/metrics"));
    let why = away.unwrap_or_else(|| panic!("nothing of storage2: {manifest:#}"))["why"].as_str().unwrap();
    assert!(why.contains("refuse"), "{why}");
    assert_eq!(json("cluster/health.json")["healthy"], false);
    let changes = json("cluster/changes.json");
    let sentences: Vec<&str> =
        changes.as_array().unwrap().iter().filter_map(|change| change["what"].as_str()).collect();
    assert!(sentences.iter().any(|what| what.contains("storage2")), "{sentences:?}");
    for name in &found {
        let content = String::from_utf8_lossy(&std::fs::read(top.join(name)).unwrap()).into_owned();
        for planted in [secret.as_str(), "hunter2"] {
            assert!(!content.contains(planted), "{planted} in {name}");
        }
    }
    // Nobody answers at all: this host is there, and the cluster is named.
    cluster.down();
    let second = cluster.root().join("second.tar.gz");
    let dir = text(&cluster.dir());
    let shown = cluster.nyala(["health", "bundle", "--time", "5s", "--dir", &dir, "--file", &text(&second)]).must();
    assert!(shown.contains("Not in it") && shown.contains("cluster/map.json"), "{shown}");
}
