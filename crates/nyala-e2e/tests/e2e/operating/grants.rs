// SPDX-License-Identifier: Apache-2.0

//! Files larger than what lies with the inode, for a client that is kept to a directory and whose root is nobody: storage lets it use their chunks by
//! grants of the metadata server, also after it was killed and has forgotten them.

use super::STORAGE;
use super::access::{mount, umount};
use super::site::Site;

const SAID: &str = "/root/written-meanwhile";

/// Where the storage service serves its metrics: it counts the messages that show grants.
pub const METRICS: &str = "--metrics 127.0.0.1:9803";

fn as_user(uid: u32, what: &str) -> String {
    format!("cd /mnt/nyala; setpriv --reuid {uid} --regid {uid} --clear-groups sh -c '{what}'")
}

/// Whether a file has the numbers up to `last`; not from the kernel's cache.
fn same(name: &str, last: u32) -> String {
    let read = format!("dd if={name} bs=1M iflag=direct status=none | sha1sum");
    format!("test \"$({read})\" = \"$(seq 1 {last} | sha1sum)\"")
}

/// Messages with grants that the storage service answered since it was started.
fn shown(site: &mut Site) -> u64 {
    let page = site.on("m1").sh("curl -s http://127.0.0.1:9803/metrics").must();
    let count = |line: &str| line.contains("_count{") && line.contains("op=\"grants\"");
    let counts =
        page.lines().filter(|line| count(line)).filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
    counts.sum()
}

#[track_caller]
fn refused(site: &mut Site, uid: u32, what: &str) {
    let refused = site.on("c1").sh(&as_user(uid, what));
    assert!(!refused.ok() && refused.err.contains("Permission denied"), "{uid}: {what}: {}", refused.describe());
}

/// Files that no client has read yet: what is read again comes from the client's memory, and storage is not asked.
fn files(site: &mut Site, round: u32) {
    let made = format!(
        "cd /mnt/nyala/projects; seq 1 50000 > all{round}; umask 077; for name in of-root{round} of-2000-{round}; do seq 1 50000 > $name; done; \
         chown 2000:2000 of-2000-{round}; sync -f ."
    );
    site.on("m1").sh(&made).must();
}

/// What each user may do with a large file, and no more. Storage is shown grants of three of them.
fn rights(site: &mut Site, round: u32) {
    files(site, round);
    let before = shown(site);
    let (own, all) = (format!("own{round}"), format!("all{round}"));
    let theirs = format!("of-2000-{round}");
    let ok = |site: &mut Site, uid: u32, what: &str| site.on("c1").sh(&as_user(uid, what)).must();
    ok(site, 1000, &format!("umask 077; seq 1 60000 > {own} && sync {own} && {}", same(&own, 60_000)));
    ok(site, 1000, &same(&all, 50_000));
    ok(site, 2000, &format!("{} && seq 1 40000 > {theirs} && sync {theirs}", same(&theirs, 50_000)));
    // Root is nobody there, and nobody may read what all may.
    ok(site, 0, &same(&all, 50_000));
    for (uid, what) in
        [(1000, format!("cat {theirs}")), (1000, format!("echo x >> {all}")), (0, format!("cat of-root{round}"))]
    {
        refused(site, uid, &what);
    }
    let kept = format!("{} && {} && {}", same(&own, 60_000), same(&theirs, 40_000), same(&all, 50_000));
    site.on("m1").sh(&format!("cd /mnt/nyala/projects; {kept}")).must();
    site.until("grants of three files were shown", |site| shown(site) >= before + 3);
}

/// A key that is kept to `/projects` gets a rule about users as well; storage is killed meanwhile, and the client is another one in the end.
pub fn users_at_storage(site: &mut Site) {
    let before = shown(site);
    site.on("m1")
        .sh("chmod 1777 /mnt/nyala/projects; nyala access set lab --root /projects --squash root --yes")
        .must();
    let squashed = "f=$(mktemp -p /mnt/nyala probe.XXXXXX); seq 1 5000 > $f; sync $f; test $(stat -c %u $f) = 65534";
    site.until("the rule is known", |site| site.on("c1").sh(squashed).ok() && shown(site) > before);
    rights(site, 1);

    site.on("m1").stop("storage", "KILL");
    let meanwhile = as_user(1000, "seq 1 70000 > meanwhile && sync meanwhile");
    site.on("c1").sh(&format!("({meanwhile} && echo well > {SAID}) > /dev/null 2>&1 < /dev/null &")).must();
    let m1 = site.address("m1");
    site.serves("m1", STORAGE, &[("HOST", m1.as_str())], METRICS);
    site.until("what was written meanwhile is synced", |site| site.on("c1").sh(&format!("test -e {SAID}")).ok());
    site.until_whole(1, 3);
    // What the client had of the file before is shown to storage again.
    let shown_before = shown(site);
    site.on("c1").sh(&as_user(1000, "seq 1 65000 > own1 && sync own1")).must();
    site.until("a grant is shown again", |site| shown(site) > shown_before);
    rights(site, 2);

    umount(site, "c1");
    mount(site, "c1").must();
    for (name, last) in [("meanwhile", 70_000), ("own1", 65_000), ("own2", 60_000), ("all1", 50_000)] {
        site.on("c1").sh(&as_user(1000, &same(name, last))).must();
    }
    refused(site, 2000, "cat own1");
    refused(site, 0, "cat of-root1");
    let clean = "cd /mnt/nyala/projects; rm -f *[12] meanwhile probe.*; nyala access set lab --root /projects --yes";
    site.on("m1").sh(clean).must();
}
