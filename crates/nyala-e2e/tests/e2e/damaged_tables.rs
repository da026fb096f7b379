// SPDX-License-Identifier: Apache-2.0

//! Damaged tables of a mirrored metadata server, of every kind: the member gives way to one that has everything and is filled again, by
//! itself, and no program sees an error.

mod flips;
mod mirrored;

use crate::kills::Load;
use flips::KINDS;
use mirrored::Mirrored;
use nyala_e2e::cluster::text;
use nyala_e2e::posix::pattern;
use nyala_e2e::{Cluster, alone, wait_until};
use std::fs;
use std::path::Path;
use std::time::Duration;

const FILES: u64 = 1500;
const LIMIT: Duration = Duration::from_secs(60);

/// Everything is read, past what the mount remembers.
fn check(cluster: &Cluster, root: &Path) {
    cluster.stop_service("mount");
    cluster.start_service("mount");
    for number in 0..FILES {
        let content = fs::read(root.join(format!("f{number}"))).unwrap_or_else(|error| panic!("f{number}: {error}"));
        assert!(content == pattern(number, length(number)), "f{number} is another one");
    }
    assert_eq!(fs::read_dir(root).unwrap().count() as u64, FILES);
}

fn length(number: u64) -> usize {
    if number.is_multiple_of(5) { 4000 } else { number as usize % 300 }
}

/// Each member in turn becomes one that is good and has damage that nobody has come upon, and then the primary.
fn gives_way(members: usize, kinds: &[&str]) {
    let _one = alone();
    let mirrored = Mirrored::start(members);
    let cluster = &mirrored.cluster;
    let root = cluster.test_dir("names");
    for number in 0..FILES {
        fs::write(root.join(format!("f{number}")), pattern(number, length(number))).unwrap();
    }
    for kind in kinds {
        let members = mirrored.good();
        // The one that this test starts by itself cannot be stopped and started like the others.
        let victim = members[1..].iter().find(|member| member.name != "third").unwrap().clone();
        let before = mirrored.refills(&victim);
        mirrored.damage(&victim, kind);
        let members = mirrored.good();
        if members[0].target != victim.target && mirrored.refills(&victim) == before {
            let (group, target) = (victim.group.to_string(), victim.target.to_string());
            cluster.nyala(["mirror", "switch", &group, &target, "--dir", &text(&cluster.dir())]).must();
        }
        check(cluster, &root);
        let mut load = Load::start(cluster, &format!("load-{kind}"));
        load.progress(cluster, 30);
        let refilled = || mirrored.refills(&victim) > before;
        wait_until(LIMIT, refilled, || format!("{kind}: nobody has found it\n{}", cluster.logs(60)));
        mirrored.good();
        load.progress(cluster, 20);
        load.finish(cluster);
        let aside = mirrored.dir(&victim).join("tables.damaged");
        wait_until(LIMIT, || !aside.exists(), || format!("{} is left", aside.display()));
    }
    mirrored.good();
    check(cluster, &root);
    cluster.assert_fsck_clean();
}

#[test]
fn e2e_damaged_tables_of_two_members_are_filled_from_the_other_one() {
    gives_way(2, &KINDS);
}

#[test]
fn e2e_damaged_tables_of_three_members_are_filled_from_the_others() {
    gives_way(3, &["leaf", "branch", "list"]);
}
