// SPDX-License-Identifier: Apache-2.0

//! Services go to another host, with their disks.

use super::{COPIES, begin, others_run, plain_is_there, storage_disks};
use crate::operating::site::Site;
use nyala_e2e::alone;
use serde_json::Value;

#[test]
fn e2e_life_services_move() {
    let _one = alone();
    let mut site = begin(&["m1", "s1", "s2", "s3"], "s1");
    let m1 = site.address("m1");
    let lines = site.page.block("nyala storage --mgmt", &[("HOST", &m1)]);
    let lines: Vec<String> = lines.lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    dead_host(&mut site, &lines[0]);
    own_directory_lost(&mut site, &lines[0]);
    metadata(&mut site, &lines[1]);
    site.on("m1").sh("nyala umount /mnt/nyala").must();
    others_run(&mut site, &COPIES, 3);
}

/// Id and addresses of the node of a target.
fn node_of(site: &mut Site, target: &str) -> (u64, String) {
    let targets: Value = site.json("nyala target list");
    let id: u64 = target.parse().unwrap();
    let found =
        targets.as_array().unwrap().iter().find(|found| found["id"] == id).unwrap_or_else(|| panic!("{targets}"));
    let node = found["node"].as_u64().unwrap();
    let nodes = site.json("nyala node list");
    let addresses =
        nodes.as_array().unwrap().iter().find(|found| found["id"] == node).map(|found| found["addresses"].to_string());
    (node, addresses.unwrap_or_default())
}

/// A host dies; another one has its disks, its ids, and what was changed meanwhile.
fn dead_host(site: &mut Site, line: &str) {
    let ids = ["/disks/t1", "/disks/t2"].map(|dir| site.target("s2", dir));
    let (node, before) = node_of(site, &ids[0]);
    site.on("s2").stop("storage", "KILL");
    site.on("s2").network().cut();
    site.work();
    for at in ["/disks/own", "/disks/t1", "/disks/t2"] {
        site.on("s2").detach(at);
    }
    storage_disks(site, "s3");
    site.on("s3").start("storage", line);
    site.until_whole(1, 5);
    site.runs("m1", "nyala node list", &[]);
    site.runs("m1", "nyala target list --state", &[]);
    assert_eq!(["/disks/t1", "/disks/t2"].map(|dir| site.target("s3", dir)), ids, "the same targets");
    let (now, after) = node_of(site, &ids[0]);
    let address = site.address("s3");
    assert!(now == node && after.contains(&address) && before != after, "{node} {before}, {now} {after}");
    for id in &ids {
        site.until("it has what was changed meanwhile", |site| site.is_good_member(id));
    }
    site.runs("m1", "nyala mirror resync stats", &[]);
    site.work();
    plain_is_there(site);
    site.runs("m1", "nyala mirror check", &[]);
}

/// The service's own directory is lost: its targets stay what they are, as those of a new node.
fn own_directory_lost(site: &mut Site, line: &str) {
    let id = site.target("s3", "/disks/t1");
    let (old, _) = node_of(site, &id);
    site.on("s3").stop("storage", "TERM");
    site.on("s3").sh("find /disks/own -mindepth 1 -delete").must();
    site.on("s3").start("storage", line);
    site.until("they are of a new node", |site| node_of(site, &id).0 != old);
    site.until_whole(1, 5);
    assert_eq!(site.target("s3", "/disks/t1"), id);
    site.until("the old one is offline", |site| {
        site.tries("m1", "nyala node remove NODE --yes", &[("NODE", &old.to_string())]).ok()
    });
    site.work();
    plain_is_there(site);
}

/// The metadata service goes to another host, while the file system is mounted.
fn metadata(site: &mut Site, line: &str) {
    let id = site.target("s1", "/disks/meta");
    site.on("s1").stop("meta", "TERM");
    site.on("s1").detach("/disks/meta");
    let disk = site.disk("meta");
    site.on("s3").attach(&disk, "/disks/meta");
    site.on("s3").start("meta", line);
    site.until_whole(1, 5);
    assert_eq!(site.target("s3", "/disks/meta"), id);
    site.work();
    plain_is_there(site);
}
