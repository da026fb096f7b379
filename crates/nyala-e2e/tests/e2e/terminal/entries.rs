// SPDX-License-Identifier: Apache-2.0

//! `nyala entry create`, `entry find` and `entry info --recurse`, next to what the mount says.

use nyala_e2e::Cluster;
use nyala_e2e::cluster::text;
use nyala_e2e::posix::pattern;
use nyala_e2e::run::sh;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

const OWNER: u32 = 12_345;

fn refused(cluster: &Cluster, args: &[&str], code: i32, word: &str) {
    let outcome = cluster.nyala(args);
    assert_eq!(outcome.code(), Some(code), "{}", outcome.describe());
    assert!(outcome.err.contains(word), "{word:?} is not said: {}", outcome.describe());
}

fn json(cluster: &Cluster, args: &[&str]) -> Value {
    let out = cluster.nyala(args.iter().copied().chain(["--output", "json"])).must();
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

/// A directory and files with patterns of their own. `plain/` and its files, for others to look at, are made as well.
pub fn make(cluster: &Cluster) {
    let mount = cluster.mount();
    let (dir, own) = (text(&mount.join("wide")), text(&mount.join("wide/own")));
    let owner = OWNER.to_string();
    let made = json(
        cluster,
        &[
            "entry",
            "create",
            "directory",
            &dir,
            "--pattern",
            "raid0",
            "--num-targets",
            "1",
            "--chunk-size",
            "1m",
            "--mode",
            "2750",
            "--user",
            &owner,
        ],
    );
    assert_eq!((&made["stripe"]["pattern"], &made["stripe"]["num_targets"]), (&"raid0".into(), &1.into()), "{made}");
    let seen = fs::metadata(&dir).unwrap();
    assert_eq!((seen.mode() & 0o7777, seen.uid()), (0o2750, OWNER));
    let made = json(
        cluster,
        &[
            "entry",
            "create",
            "file",
            &own,
            "--num-targets",
            "3",
            "--chunk-size",
            "64k",
            "--inline-size",
            "0",
            "--mode",
            "640",
        ],
    );
    let stripe = &made["stripe"];
    assert_eq!((&stripe["chunk_size"], stripe["targets"].as_array().unwrap().len()), (&65_536.into(), 3), "{made}");
    assert_eq!((&made["inline"], &made["size"]), (&false.into(), &0.into()), "{made}");
    assert_eq!(fs::metadata(&own).unwrap().mode() & 0o7777, 0o640);
    let content = pattern(7, 300_001);
    fs::write(&own, &content).unwrap();
    assert!(fs::read(&own).unwrap() == content);
    // Files that programs make there are as the directory says.
    fs::write(mount.join("wide/small"), b"small").unwrap();
    fs::write(mount.join("wide/one"), pattern(8, 3 << 20)).unwrap();
    sh(&format!("sync -f {dir}"), Duration::from_secs(20)).must();
    let given = json(cluster, &["entry", "info", &text(&mount.join("wide/one"))]);
    assert_eq!((&given["stripe"]["num_targets"], &given["stripe"]["chunk_size"]), (&1.into(), &(1 << 20).into()));
    fs::create_dir_all(mount.join("plain/deep/deeper")).unwrap();
    fs::write(mount.join("plain/deep/deeper/mirrored"), pattern(9, 2 << 20)).unwrap();
    std::os::unix::fs::symlink("deep", mount.join("plain/link")).unwrap();
    sh(&format!("sync -f {dir}"), Duration::from_secs(20)).must();
    refused(cluster, &["entry", "create", "file", &own], 1, "exists");
    refused(cluster, &["entry", "create", "directory", &dir], 1, "exists");
    refused(cluster, &["entry", "create", "file", &text(&mount.join("no/where"))], 1, "No such file");
    refused(cluster, &["entry", "create", "file", &text(&mount.join("x")), "--pool", "none"], 1, "pool list");
    refused(cluster, &["entry", "create", "file", &text(&mount.join("x")), "--chunk-size", "5k"], 1, "power of two");
    refused(cluster, &["entry", "create", "file", &text(&mount.join("x")), "--mode", "rw"], 2, "octal");
    assert!(!mount.join("x").exists());
}

/// Paths that `entry find` prints, below the mount.
fn found(cluster: &Cluster, args: &[&str]) -> BTreeSet<String> {
    let mount = text(&cluster.mount());
    let out = cluster.nyala(["entry", "find", &mount].iter().chain(args)).must();
    out.lines().map(|line| line.strip_prefix(&mount).unwrap().to_owned()).collect()
}

fn paths(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(ToString::to_string).collect()
}

/// What is found is what there is, by each condition.
pub fn find(cluster: &Cluster) {
    let mount = cluster.mount();
    let listed = sh(&format!("cd {} && find . -mindepth 1 | cut -c2-", text(&mount)), Duration::from_secs(20)).must();
    let all: BTreeSet<String> = listed.lines().map(str::to_owned).chain([String::new()]).collect();
    assert_eq!(found(cluster, &[]), all);
    assert_eq!(found(cluster, &["--max-depth", "0"]), paths(&[""]));
    assert_eq!(found(cluster, &["--type", "symlink"]), paths(&["/plain/link"]));
    let owner = OWNER.to_string();
    assert_eq!(found(cluster, &["--user", &owner]), paths(&["/wide"]));
    let files = ["/wide/own", "/wide/small", "/wide/one", "/plain/deep/deeper/mirrored"];
    assert_eq!(found(cluster, &["--type", "file"]), paths(&files));
    assert_eq!(found(cluster, &["--type", "file", "--min-size", "2m"]), paths(&[files[2], files[3]]));
    assert_eq!(found(cluster, &["--max-size", "5"]), paths(&["/wide/small"]));
    assert_eq!(found(cluster, &["--type", "file", "--newer", "1h"]), paths(&files));
    assert_eq!(found(cluster, &["--older", "1h"]), paths(&[]));
    assert_eq!(found(cluster, &["--type", "file", "--pattern", "mirror"]), paths(&[files[3]]));
    targets(cluster, &mount, &files);
    recursed(cluster, &mount);
    // Several paths are walked by one client, in their order.
    let [wide, plain] = ["wide", "plain"].map(|name| text(&mount.join(name)));
    let both = cluster.nyala(["entry", "find", &wide, &plain, &wide, "--type", "file"]).must();
    let of_wide = cluster.nyala(["entry", "find", &wide, "--type", "file"]).must();
    assert_eq!(both, format!("{of_wide}{}\n{of_wide}", text(&mount.join("plain/deep/deeper/mirrored"))));
    refused(cluster, &["entry", "find", &wide, &text(&mount.join("none"))], 1, "none: cannot look at");
    let zeros = cluster.nyala(["entry", "find", &text(&mount), "--type", "symlink", "--null"]).must();
    assert_eq!(zeros, format!("{}\0", text(&mount.join("plain/link"))));
    refused(cluster, &["entry", "find", &text(&mount), "--targets", "999"], 1, "target list");
    refused(cluster, &["entry", "find", &text(&mount), "--mirror-groups", "99"], 1, "mirror list");
    refused(cluster, &["entry", "find", &text(&mount.join("none"))], 1, "No such file");
    refused(cluster, &["entry", "find", "/proc"], 2, "not on a nyala mount");
    refused(cluster, &["entry", "info", &text(&mount), "--type", "file"], 2, "--recurse");
    // A reader that has seen enough ends the walk, and that is no error.
    let nyala = text(nyala_e2e::binary::nyala());
    let again = format!("{} ", text(&mount)).repeat(200);
    let piped = format!("bash -c 'set -o pipefail; {nyala} entry find {again} | head -n 1'");
    assert_eq!(sh(&piped, Duration::from_secs(30)).must(), format!("{}\n", text(&mount)));
}

/// By what layouts name: targets by id and by alias, nodes, mirror groups.
fn targets(cluster: &Cluster, mount: &Path, files: &[&str]) {
    let one =
        json(cluster, &["entry", "info", &text(&mount.join("wide/one"))])["stripe"]["targets"][0].as_u64().unwrap();
    let list = cluster.json(&["target", "list"]);
    let list = list.as_array().unwrap();
    for target in list.iter().filter(|target| target["kind"] == "storage") {
        let id = target["id"].as_u64().unwrap();
        let by_id = found(cluster, &["--targets", &id.to_string()]);
        assert_eq!(by_id, found(cluster, &["--targets", target["alias"].as_str().unwrap()]));
        for file in files {
            let stripe = json(cluster, &["entry", "info", &text(&mount.join(&file[1..]))])["stripe"].clone();
            let on = stripe["targets"].as_array().unwrap().contains(&id.into());
            assert_eq!(by_id.contains(*file), on, "{file} and target {id}");
        }
        assert_eq!(by_id.contains("/wide/one"), id == one);
    }
    assert_eq!(found(cluster, &["--nodes", "storage1,storage2"]), paths(files));
    let groups = cluster.json(&["mirror", "list"]);
    let of_storage = groups.as_array().unwrap().iter().filter(|group| group["type"] == "storage");
    let ids: Vec<String> = of_storage.map(|group| group["id"].to_string()).collect();
    assert_eq!(found(cluster, &["--mirror-groups", &ids.join(",")]), paths(&[files[3]]));
    // Either metadata service may have become the one that serves.
    let server = json(cluster, &["entry", "info", &text(mount)])["meta_target"].to_string();
    assert_eq!(found(cluster, &["--meta", &server]), found(cluster, &[]));
    assert_eq!(found(cluster, &["--pool", "default"]), found(cluster, &["--pool", "1"]));
}

/// Each entry as `entry info` shows it alone.
fn recursed(cluster: &Cluster, mount: &Path) {
    let list = json(cluster, &["entry", "info", "--recurse", &text(&mount.join("plain"))]);
    let list = list.as_array().unwrap();
    assert_eq!(list.len(), 5, "{list:?}");
    for entry in list {
        assert_eq!(*entry, json(cluster, &["entry", "info", entry["path"].as_str().unwrap()]));
    }
    let text =
        cluster.nyala(["entry", "info", "--recurse", &text(&mount.join("plain")), "--type", "file,symlink"]).must();
    assert_eq!((text.matches("Path: ").count(), text.matches("\n\nPath: ").count()), (2, 1), "{text}");
}
