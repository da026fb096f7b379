// SPDX-License-Identifier: Apache-2.0

//! The commands of `docs/life.md`, word by word, on hosts of their own: services move with their disks, names change, management and
//! metadata are lost and put back. A command that the page gets and that nobody runs here fails a test.

mod copies;
mod moves;

use crate::operating::page::Page;
use crate::operating::site::Site;
use std::collections::BTreeSet;

/// Run by [`moves`].
const MOVES: [&str; 4] =
    ["nyala node list", "nyala target list --state", "nyala mirror resync stats", "nyala node remove NODE --yes"];
/// Run by [`copies`].
const COPIES: [&str; 2] = ["nyala health check", "nyala umount /mnt/nyala"];

fn page() -> Page {
    Page::of("docs/life.md")
}

/// What a test has not run is what the other one runs, and so many code blocks.
fn others_run(site: &mut Site, others: &[&str], blocks: usize) {
    let (left, left_blocks) = std::mem::replace(&mut site.page, page()).unused();
    let others: BTreeSet<String> = others.iter().map(ToString::to_string).collect();
    assert_eq!(left.into_iter().collect::<BTreeSet<_>>(), others);
    assert_eq!(left_blocks.len(), blocks, "{left_blocks:?}");
}

/// A cluster with one management and one metadata service on `m1` and `meta`, mirrored storage on `s1` and `s2`, mounted on `m1`.
/// The disks of `meta` and `s2` can be taken to other machines.
fn begin(names: &[&'static str], meta: &'static str) -> Site {
    let mut site = Site::with(page(), names);
    site.on("m1").sh("nyala secret").must();
    let (secret, m1) = (site.on("m1").sh("cat /etc/nyala/secret").must(), site.address("m1"));
    for name in site.names().into_iter().skip(1) {
        site.on(name).sh(&format!("umask 077; printf '%s' '{secret}' > /etc/nyala/secret")).must();
    }
    site.on("m1").sh(&format!("echo 'mgmt = [\"{m1}\"]' > /etc/nyala/client.toml")).must();
    // A metadata service that is put back waits so long for clients that it knew.
    site.on("m1").start("mgmtd", "nyala mgmtd --session-timeout 5s");
    let disk = site.disk("meta");
    site.on(meta).attach(&disk, "/disks/meta");
    site.on(meta).start("meta", &format!("nyala meta --mgmt {m1} --dir /disks/meta"));
    // All on one file system: targets of which some have far more room than others are named as short of it.
    for name in ["t1", "t2"] {
        let disk = site.disk(&format!("s1-{name}"));
        site.on("s1").attach(&disk, &format!("/data/{name}"));
    }
    site.on("s1").start("storage", &format!("nyala storage --mgmt {m1} --target /data/t1 --target /data/t2"));
    storage_disks(&mut site, "s2");
    let storage = format!("nyala storage --mgmt {m1} --dir /disks/own --target /disks/t1 --target /disks/t2");
    site.on("s2").start("storage", &storage);
    site.until_whole(1, 5);
    site.on("m1").sh("nyala mirror create --auto --ignore-space").must();
    site.on("m1").sh(&format!("nyala mount {m1}:/ /mnt/nyala")).must();
    site.on("m1")
        .sh("mkdir /mnt/nyala/mirrored /mnt/nyala/plain; nyala entry set --pattern mirror /mnt/nyala/mirrored")
        .must();
    let plain = "nyala entry set --num-targets 4 /mnt/nyala/plain; cd /mnt/nyala/plain; \
                 head -c 9000000 /dev/urandom > /root/o; cp /root/o f; sync f";
    site.on("m1").sh(plain).must();
    site.work();
    site
}

/// The movable disks of a storage service.
fn storage_disks(site: &mut Site, machine: &str) {
    for name in ["own", "t1", "t2"] {
        let disk = site.disk(name);
        site.on(machine).attach(&disk, &format!("/disks/{name}"));
    }
}

/// What is on one target only is there, on all four.
fn plain_is_there(site: &mut Site) {
    let same = "echo 3 > /proc/sys/vm/drop_caches 2>/dev/null || true; cmp /root/o /mnt/nyala/plain/f";
    let same = site.on("m1").sh(same);
    assert!(same.ok(), "{}\n{}", same.describe(), site.logs(25));
}
