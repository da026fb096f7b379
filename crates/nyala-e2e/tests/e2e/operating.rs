// SPDX-License-Identifier: Apache-2.0

//! The commands of `docs/operating.md`, word by word, on hosts of their own with the default places of everything; and then what an
//! operator is there for. A command that the page gets and that nobody runs here fails the test.

mod access;
mod bundle;
mod faults;
mod grants;
mod keys;
mod members;
pub mod page;
mod setup;
pub mod site;

use faults::{cuts, moves, not_mounted, recover_management, replace_management};
use keys::{hold_to_rules, part_roles, rotate};
use members::{move_slots, replace_disk, restore_metadata, retire};
use nyala_e2e::beside_others;
use serde_json::Value;
use setup::{leave_disk, look_around, mirror, set_up};
use site::Site;

/// A cluster of its own.
const ACCESS: &str = "the test of access rules has it";
/// What is not run, and why.
const NOT_RUN: [(&str, &str); 17] = [
    ("nyala stats file", "busiest has it, under load"),
    ("nyala stats directory", "busiest has it, under load"),
    ("nyala top", "it needs a terminal; monitoring has it"),
    ("nyala target set-state OTHER good --yes", "it gives up what was acknowledged; nyala-mgmt's tests have it"),
    ("nyala target set-state TARGET good --yes", "evacuation has it, with a disk that fails"),
    ("nyala fsck", "the tests of fsck have it, with damage and under load"),
    ("nyala fsck --classes", "it prints a list"),
    ("nyala meta --spare", "mirrored_metadata has it, by way of nyala up"),
    ("nyala mirror create --auto --kind meta", "mirrored_metadata has it, by way of nyala up"),
    ("nyala up --mirror", "mirrored_metadata has it"),
    ("nyala access set KEY --root /projects --yes", ACCESS),
    ("nyala access set '*' --from NETWORK --read-only --squash root --yes", ACCESS),
    ("nyala access set '*' --from NETWORK --refuse --yes", ACCESS),
    ("nyala access set KEY --from NETWORK --allow --yes", ACCESS),
    ("nyala access list", ACCESS),
    ("nyala access list --key KEY --address IP", ACCESS),
    ("nyala access delete KEY --from NETWORK --yes", ACCESS),
];
/// Run by the other test: a cluster on one machine.
const ONE_MACHINE: [&str; 7] = [
    "nyala up --mgmt 3",
    "nyala up",
    "nyala status",
    "nyala stop NAME",
    "nyala start NAME",
    "nyala stop mgmt --kill",
    "nyala down",
];

const STORAGE: &str = "nyala storage --mgmt HOST --target /data/t1 --target /data/t2";
const META: &str = "nyala meta --mgmt HOST --dir /data/meta";

/// So many management nodes, which all answer the leader and have a vote, and so many targets, online and good.
fn is_whole(nodes: &Value, list: &Value, mgmt: usize, targets: usize) -> bool {
    let there = |node: &&Value| node["reachable"] == true && node["role"] != "learner";
    let good = |target: &&Value| target["reachability"] == "online" && target["consistency"] == "good";
    let (Some(nodes), Some(list)) = (nodes.as_array(), list.as_array()) else { return false };
    let good = (nodes.iter().filter(there).count(), list.iter().filter(good).count());
    (nodes.len(), list.len()) == (mgmt, targets) && good == (mgmt, targets)
}

#[test]
fn e2e_operating_page() {
    let _one = beside_others();
    let mut site = Site::new(&["m1", "m2", "m3", "s1", "s2", "s3"]);
    let part = |site: &mut Site, what: &str, run: fn(&mut Site)| {
        let began = std::time::Instant::now();
        run(site);
        println!("{what}: {:.1} s", began.elapsed().as_secs_f64());
    };
    part(&mut site, "set up", set_up);
    part(&mut site, "files leave a disk", leave_disk);
    part(&mut site, "mirror groups", mirror);
    part(&mut site, "looking", look_around);
    part(&mut site, "the secret is rotated", rotate);
    part(&mut site, "roles are parted", part_roles);
    part(&mut site, "clients are held to rules", hold_to_rules);
    part(&mut site, "cuts", cuts);
    part(&mut site, "management moves", moves);
    part(&mut site, "management is replaced", replace_management);
    part(&mut site, "a majority of management is lost", recover_management);
    part(&mut site, "a disk is not mounted", not_mounted);
    part(&mut site, "a disk is replaced", replace_disk);
    part(&mut site, "a server is retired", retire);
    part(&mut site, "a metadata server comes and goes", move_slots);
    part(&mut site, "metadata is restored", restore_metadata);
    site.on("m1").sh("rm -r /mnt/nyala/mirrored").must();
    site.until("nothing is left in the group", |site| {
        site.tries("m1", "nyala mirror delete GROUP --yes", &[("GROUP", "2")]).ok()
    });
    site.runs("m1", "nyala umount /mnt/nyala", &[]);
    let page = std::mem::replace(&mut site.page, page::Page::read());
    let (left, blocks) = page.unused();
    let known = |said: &&String| !NOT_RUN.iter().any(|(not, _)| not == said) && !ONE_MACHINE.contains(&said.as_str());
    let new: Vec<&String> = left.iter().filter(known).collect();
    assert!(new.is_empty(), "the page says what nobody has tried: {new:?}");
    // The tree of files below DIR is looked at by the other test.
    assert_eq!(blocks.len(), 1, "code blocks that nobody has tried: {blocks:?}");
    let stale = NOT_RUN.iter().map(|(not, _)| *not).chain(ONE_MACHINE).find(|not| !left.iter().any(|said| said == not));
    assert_eq!(stale, None, "it is not on the page any more, or it was run");
}

/// "One machine".
#[test]
fn e2e_operating_page_one_machine() {
    let _one = beside_others();
    let mut site = Site::new(&["box"]);
    site.runs("box", "nyala up --mgmt 3", &[]);
    site.runs("box", "nyala up", &[]);
    site.on("box").sh("echo kept > /mnt/nyala/file; sync /mnt/nyala/file").must();
    let tree = site.page.block("DIR/cluster.toml", &[("DIR", "/var/lib/nyala-up"), ("NAME", "storage1")]);
    for path in tree.split_whitespace().filter(|word| word.starts_with('/')) {
        site.on("box").sh(&format!("ls -d {}", path.trim_end_matches(','))).must();
    }
    site.runs("box", "nyala status", &[]);
    site.runs("box", "nyala stop NAME", &[("NAME", "storage1")]);
    site.runs("box", "nyala start NAME", &[("NAME", "storage1")]);
    site.runs("box", "nyala stop mgmt --kill", &[]);
    site.on("box").sh("test \"$(cat /mnt/nyala/file)\" = kept").must();
    site.runs("box", "nyala down", &[]);
}

/// "Let clients in by address, and keep them to a directory".
#[test]
fn e2e_operating_page_access_rules() {
    let _one = beside_others();
    let mut site = Site::new(&["m1", "c1", "c2"]);
    access::access(&mut site);
}

#[test]
fn e2e_operating_bundle_of_all_hosts() {
    let _one = beside_others();
    bundle::bundle(&mut Site::new(&["m1", "s1", "s2"]));
}
